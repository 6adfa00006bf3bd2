"""The content of the report, in order, as blocks."""

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from pgsr.comparison.side_by_side import ANSWERED
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import MATERIAL
from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.engine.papers import Printed
from pgsr.experiments.engine.runner import CellCondition
from pgsr.experiments.engine.store import StoredCell
from pgsr.experiments.engine.verdicts import FEWEST, TestOutcome, by, effect_words
from pgsr.experiments.report.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    Heading,
    Link,
    Mark,
    Part,
    Picture,
    TableBlock,
    table,
    text,
)  # fmt: skip
from pgsr.experiments.report.claims import COUNTED, EFFECTS, by_claim
from pgsr.experiments.report.environment import environment
from pgsr.experiments.report.means import Mean
from pgsr.experiments.report.sections import Section
from pgsr.figures.drawing import level_name

SHOWN_KEYS = 5
"""Keys of cells in a note; `python -m pgsr.experiments status` has the rest."""

LONG = 30
"""Rows of a table above which it is folded."""

UNITS = {
    "emd": "EMD, mean per region (entities)",
    "cumulative_l1": "cumulative L1, mean per region (entities)",
    "l1": "L1, sum over regions (groups)",
    "total_error": "totals off, sum over regions (groups)",
}
"""What `release_record` measures; other metrics go by their names."""


def report_blocks(sections: Sequence[Section], profile: Profile) -> list[Block]:
    """Compose the whole report."""
    blocks: list[Block] = [
        Heading(1, "Differentially private group size release: experiments"),
        *_warning(profile),
        text(*_summary(sections, profile)),
        *_by_cause(sections),
        *_advice(sections, profile),
        *_how_to_read(),
        *_all_claims(sections),
        *_environment(sections, profile),
    ]
    for section in sections:
        blocks += _experiment(section)
    return [*blocks, Heading(2, "Sources", "sources"), Bullets(tuple(_linked(source) for source in _sources(sections)))]


def _summary(sections: Sequence[Section], profile: Profile) -> Iterator[Part]:
    ran = [section for section in sections if section.done]
    yield f"{len(ran):,} of {len(sections):,} experiments have results in profile {profile}. "
    counts, findings = _findings(ran, Cause.CLAIM), sum(len(section.verdicts) for section in ran)
    if findings:
        yield f"Of {findings:,} findings, {sum(counts.values()):,} test a claim of a paper as the paper states it: "
        yield ", ".join(f"{counts[finding]:,} {_plural(finding)}" for finding in TestOutcome) + ". "
        yield "The others are about something else, as the table says, and count neither for nor against a paper. "
    instead = {use.instead_of for section in ran for use in section.data if use.instead_of and use.results}
    absent = any(section.remarks for section in ran)
    if instead:
        yield f"Other data stands in for {', '.join(sorted(instead))}; each table says where. "
    elif absent:
        yield "Some data was absent; the sections say which. "
    if not any(use.data.real and use.results for section in ran for use in section.data):
        yield "No result in this report is of real data. "


def _by_cause(sections: Sequence[Section]) -> Iterator[Block]:
    """Count findings by what they are about, so that a failure of ours is not read as one of a paper."""
    rows: list[tuple[Cell, ...]] = []
    for cause in Cause:
        counts = _findings(sections, cause)
        numbers = (f"{counts[finding]:,}" if counts[finding] else "" for finding in TestOutcome)
        rows.append((str(cause), *numbers, cause.meaning))
    if any(section.verdicts for section in sections):
        yield table(
            "Findings by cause: what each is about",
            ("cause", *COUNTED, "meaning"),
            rows,
            numbers=range(1, 1 + len(TestOutcome)),
        )


def _warning(profile: Profile) -> Iterator[Block]:
    if profile is Profile.SMOKE:
        yield text(
            Mark("Smoke profile"), ": shows that everything runs, no number here reproduces anything. Data is small "
            "and generated, and there are too few replicates to judge anything.",
        )  # fmt: skip


def _advice(sections: Sequence[Section], profile: Profile) -> Iterator[Block]:
    """Write the exact commands to run next."""
    items: list[Cell] = []
    left = [section for section in sections if section.unfinished]
    if left:
        names = " ".join(section.experiment.called for section in left)
        command = Code(f"python -m pgsr.experiments run {names} --profile {profile}")
        items.append(("To compute what this report lacks: ", command))
    larger = {Profile.SMOKE: Profile.QUICK, Profile.QUICK: Profile.PAPER}.get(profile)
    next_ones = [s.experiment.called for s in sections if s.done and larger in s.experiment.profiles]
    if larger is not None and next_ones:
        takes = "minutes each" if larger is Profile.QUICK else "hours; the papers' sizes and replicates"
        real = "" if os.environ.get("PGSR_DATA") else "PGSR_DATA=folder-of-the-real-data "
        command = Code(f"{real}python -m pgsr.experiments run {' '.join(next_ones)} --profile {larger}")
        items.append((f"Next, profile {larger} ({takes}): ", command))
        again = Code(f"python -m pgsr.experiments report {' '.join(next_ones)} --profile {larger}")
        items.append(("and then its report: ", again))
    if items:
        yield Heading(2, "What to run next", "next")
        yield Bullets(tuple(items))


def _how_to_read() -> Iterator[Block]:
    yield Heading(2, "How to read", "how-to-read")
    yield Bullets((
        "Means are over independent replicates of the noise; s.e. is the standard error of the mean, s.d. the standard "
        "deviation of a replicate, n the number of replicates. From a single replicate there is neither.",
        (Mark(TestOutcome.HOLDS), " or ", Mark(TestOutcome.FAILS), ": what is claimed, or its opposite, by the test "
         "that stands beside the verdict, with the number of replicates. Tests are at 5 %, two-sided, so of 40 true "
         "claims one may fail by chance. ", Mark(TestOutcome.IMMATERIAL),
         f": the errors differ by less than {MATERIAL:.0%}, where the claim names no factor. ",
         Mark(TestOutcome.UNDECIDED), ": the interval is too wide to say. ",
         Mark(TestOutcome.NOT_JUDGED),
         f": fewer than {FEWEST} replicates, no results, or other data than the paper's."),
        "The effect of a verdict is the ratio of two mean errors with its 95 % interval, Fieller's, and what the claim "
        "needs it to be: above 1, the error that is said to be larger over the other; at most 1.1, say, where a claim "
        "allows so much; about 1, ours over a printed number.",
        "The cause beside a verdict says whose word was tested, and is declared beside the claim, before any result. "
        f"Only findings with the cause \"{Cause.CLAIM}\" speak for or against a paper.",
        "A printed number stands beside ours where the experiment says that both measure the same. Ratio is ours over "
        "theirs. It agrees if the 95 % interval of the ratio, with the noise of the print, lies within 0.9 to 1.1. On "
        "other data than the paper's it is not judged; below the table stands why it is other. Printed numbers that "
        "nothing stands beside are listed with the reason.",
        "EMD is the earth mover's distance: how many entities must be added to or taken from groups to get from the "
        "released histogram to the true one. L1 adds up absolute differences of counts. Less is better.",
        ("An L1 error marked ", Mark("saturated"), " is beyond half of the largest that counts of so many groups can "
         "have, twice their number: it is about that of any guess, and two such errors are not compared."),
        "Real data was published by somebody who counted it; generated data was drawn by this package. A stand-in is "
        "used where the paper's data cannot be had, and its numbers are not the paper's.",
        "Stale results come from sources that changed since; they are shown and counted as such. Failed, torn and "
        "missing cells have no numbers. Seconds are wall time; the first cell of a process pays for its start.",
    ))  # fmt: skip


def _all_claims(sections: Sequence[Section]) -> Iterator[Block]:
    yield Heading(2, "All claims", "claims")
    groups = []
    for section in sections:
        link = Link(section.experiment.id, f"#{section.anchor}")
        rows: list[tuple[Cell, ...]] = [
            (link, claim, str(cause), *found.counts, *found.ratios)
            for (claim, cause), found in by_claim(section.verdicts).items()
        ]
        if not rows:
            rows = [(link, "no verdicts" if section.done else "not run", "", *("" for _ in (*COUNTED, *EFFECTS)))]
        groups += rows
    counts = _findings(sections)
    groups.append(("all", "", "", *(f"{counts[finding]:,}" for finding in TestOutcome), *("" for _ in EFFECTS)))
    yield table(
        "Claims and printed numbers: on how many data sets, budgets and levels each holds. Identifiers lead to the "
        "experiments, which list every case.",
        ("experiment", "claim", "cause", *COUNTED, *EFFECTS),
        groups,
        numbers=range(3, 2 + len((*COUNTED, *EFFECTS))),
    )


def _environment(sections: Sequence[Section], profile: Profile) -> Iterator[Block]:
    yield Heading(2, "Environment", "environment")
    entries = [entry for section in sections for entry in section.entries]
    rows = [("profile", str(profile)), *environment(entries)]
    rows.append(("seconds in all cells", f"{sum(section.seconds for section in sections):,.0f}"))
    yield table("Where the results come from", ("what", "which"), rows)


def _experiment(section: Section) -> Iterator[Block]:
    experiment = section.experiment
    yield Heading(2, f"{experiment.id}: {experiment.title}", section.anchor)
    yield text("Reproduces: ", experiment.reproduces)
    yield text(experiment.question)
    if not section.entries:
        yield text(*_not_run(section))
    else:
        yield _data(section)
        yield from arm_notes(experiment)
        if section.drawing is not None:
            yield Picture(section.drawing.png, section.drawing.alt, f"Figure of {experiment.id}")
        yield from _means(section)
        yield from _verdicts(section)
    if section.unmatched:
        yield _unmatched(section)
    yield from _notes(section)


def arm_notes(experiment: Experiment) -> Iterator[Bullets]:
    """List what is to be known of arms, those with the same note together."""
    noted: dict[str, list[str]] = {}
    for arm in experiment.arms:
        if arm.note:
            noted.setdefault(arm.note, []).append(arm.label)
    if noted:
        yield Bullets(tuple(f"{'; '.join(labels)}: {note}" for note, labels in noted.items()))


def _not_run(section: Section) -> Iterator[Part]:
    if section.planned:
        yield "Not run. This runs it: "
    else:
        profiles = ", ".join(section.experiment.profiles)
        yield f"Not run: it has no profile {section.profile}, but {profiles}. This runs it: "
    yield Code(section.command)


def _data(section: Section) -> TableBlock:
    rows = []
    for use in section.data:
        data = use.data
        rows.append((
            data.name, "real" if data.real else "generated", use.instead_of,
            " / ".join(f"{n:,}" for n in data.levels), f"{data.max_size:,}", f"{data.groups:,}", data.note,
            f"{use.results:,}",
        ))  # fmt: skip
    heads = ("data", "kind", "stands in for", "regions by level", "K", "groups", "what it is", "results")
    return table(f"{section.experiment.id}: data used", heads, rows, numbers=(4, 5, 7))


def _means(section: Section) -> Iterator[TableBlock | Bullets]:
    identity = section.experiment.id
    printed = [row for row in section.means if row.printed is not None]
    if printed:
        yield _table_of(f"{identity}: our numbers beside the printed ones", printed, section, folded=False)
        yield from _other_data(printed)
    if section.means:
        caption = f"{identity}: all numbers" + ("" if printed else "; no printed number is set beside them")
        yield _table_of(caption, section.means, section, folded=len(section.means) > LONG)


def _other_data(rows: Sequence[Mean]) -> Iterator[Bullets]:
    """List the printed numbers that belong to other data, with the reason, once each."""
    why: dict[str, list[str]] = {}
    for row in rows:
        if row.printed is not None and (row.remark or not row.real):
            names = why.setdefault(row.remark or "generated", [])
            pair = f"{row.data} is not the paper's {row.printed.data}"
            if pair not in names:
                names.append(pair)
    if why:
        yield Bullets(tuple(f"{'; '.join(names)}: {remark}." for remark, names in why.items()))


def _table_of(caption: str, rows: Sequence[Mean], section: Section, *, folded: bool) -> TableBlock:
    beside = any(row.printed is not None for row in rows)
    depth = {use.data.name: len(use.data.levels) for use in section.data}
    n_groups = {use.data.name: use.data.groups for use in section.data}
    groups: dict[str, list[tuple[Cell, ...]]] = {}
    for row in rows:
        error, spread, ratio = row.standard_error, row.standard_deviation, row.ratio
        cells: list[Cell] = [
            UNITS.get(row.metric, row.metric.replace("_", " ")),
            "" if row.level is None else level_name(row.level, depth.get(row.data, 0)),
            _marked(row, n_groups), "" if error is None else number(error),
            "" if spread is None else number(spread), f"{row.n:,}",
        ]  # fmt: skip
        if beside:
            cells += [
                "" if row.printed is None else as_printed(row.printed.value),
                "" if ratio is None else f"{ratio:.3g}",
            ]
            cells += [row.agreement]
        groups.setdefault(_group(row), []).append(tuple(cells))
    columns = ("metric", "level", "ours", "s.e.", "s.d.", "n", *(("printed", "ratio", "in words") if beside else ()))
    grouped = tuple((head, tuple(cells)) for head, cells in groups.items())
    return TableBlock(caption, columns, grouped, numbers=(2, 3, 4, 5, *((6, 7) if beside else ())), folded=folded)


def _marked(row: Mean, n_groups: dict[str, int]) -> Cell:
    """Write a mean, and mark an L1 error beyond half of the largest, twice the number of groups."""
    if row.metric == "l1" and row.mean > n_groups.get(row.data, math.inf):
        return number(row.mean), " ", Mark("saturated")
    return number(row.mean)


def _group(row: Mean) -> str:
    kind = "real" if row.real else "generated"
    free = [f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in row.parameters]
    epsilon = [] if row.epsilon is None else [f"epsilon {decimal(row.epsilon)}"]
    return ", ".join([f"{row.data} ({kind})", *epsilon, *free]) + f": {row.arm}"


def _unmatched(section: Section) -> TableBlock:
    rows = [(*_printed_row(each), why) for each, why in section.unmatched]
    return table(
        f"{section.experiment.id}: printed numbers that no number of ours stands beside",
        ("data", "competitor", "epsilon", "level", "metric", "printed", "source", "why not"),
        rows,
        numbers=(5,),
        folded=len(rows) > LONG // 2,
    )


def _printed_row(each: Printed) -> tuple[str, ...]:
    level = "" if each.level is None else "root" if each.level == 0 else f"level {each.level}"
    metric = UNITS.get(each.metric, each.metric.replace("_", " "))
    return (each.data, each.arm, each.epsilon, level, metric, as_printed(each.value), each.source)


def _verdicts(section: Section) -> Iterator[TableBlock]:
    if section.verdicts:
        rows = [
            (v.claim, v.data, Mark(str(v.finding)), str(v.cause), effect_words(v.judgement), v.words, by(v.judgement))
            for v in section.verdicts
        ]
        heads = ("claim", "where", "verdict", "cause", "effect", "figures", "by")
        yield table(f"{section.experiment.id}: verdicts", heads, rows)


def _notes(section: Section) -> Iterator[Block]:
    items: list[Cell] = list(section.remarks)
    for condition, reasons in section.trouble.items():
        for reason, keys in reasons.items():
            items.append(f"{len(keys):,} {condition}{': ' + reason if reason else ''}. Cells: {_some(keys)}")
    if section.trouble.keys() & {CellCondition.MISSING, CellCondition.STALE, CellCondition.FAILED, CellCondition.TORN}:
        items.append(("This computes what is missing, stale, failed or torn: ", Code(section.command)))
    items += _without_answer(section.done)
    if section.entries:
        states = ", ".join(f"{section.condition[c]:,} {c}" for c in CellCondition if section.condition[c])
        items.append(f"Cells: {states}. Seconds spent: {section.seconds:,.0f}")
    if items:
        yield Heading(3, f"Notes on {section.experiment.id}")
        yield Bullets(tuple(items))


def _without_answer(done: Iterable[StoredCell]) -> list[Cell]:
    """Select finished cells whose outcome is that there is no answer."""
    accepted, found = {str(status.name) for status in ANSWERED}, {}
    for entry in done:
        status = entry.record.get("status")
        if isinstance(status, str) and status not in accepted:
            found.setdefault((status, entry.cell.arm, entry.reason), []).append(entry.cell.key)
    return [
        f"{len(keys):,} finished with {status}, {arm}{': ' + reason if reason else ''}. Cells: {_some(keys)}"
        for (status, arm, reason), keys in found.items()
    ]


def _some(keys: Sequence[str]) -> str:
    more = f"; and {len(keys) - SHOWN_KEYS:,} more" if len(keys) > SHOWN_KEYS else ""
    return "; ".join(keys[:SHOWN_KEYS]) + more


def _findings(sections: Iterable[Section], cause: Cause | None = None) -> Counter[TestOutcome]:
    """Count the findings of one cause, or of all."""
    every = (verdict for section in sections for verdict in section.verdicts)
    return Counter(verdict.finding for verdict in every if cause in (None, verdict.cause))


def _plural(finding: TestOutcome) -> str:
    return {
        TestOutcome.HOLDS: "hold",
        TestOutcome.FAILS: "fail",
        TestOutcome.IMMATERIAL: "show no material difference",
        TestOutcome.UNDECIDED: "are undecided",
        TestOutcome.NOT_JUDGED: "were not judged",
    }[finding]


def _sources(sections: Sequence[Section]) -> list[str]:
    """List the papers behind these experiments, once each."""
    papers = (section.experiment.paper for section in sections)
    return list(dict.fromkeys(paper.reference for paper in papers if paper is not None))


def _linked(source: str) -> Cell:
    """Write a paper with its arXiv identifier as a link."""
    parts: list[Part] = []
    for piece in re.split(r"(arXiv \d{4}\.\d{4,5})", source):
        is_id = piece.startswith("arXiv ")
        parts.append(Link(piece, f"https://arxiv.org/abs/{piece.removeprefix('arXiv ')}") if is_id else piece)
    return tuple(parts)


def decimal(value: Fraction) -> str:
    """Write a fraction as a decimal number if it has a short one, and as a fraction otherwise.

    Example:
        >>> decimal(Fraction(1, 10)), decimal(Fraction(1, 3)), decimal(Fraction(2))
        ('0.1', '1/3', '2')
    """
    text = f"{float(value):g}"
    return text if Fraction(text) == value else str(value)


def number(value: float) -> str:
    """Write a number with about four digits.

    Example:
        >>> [number(x) for x in (360872, 20731.42, 772.84, 1.049, 0.000123456, 0)]
        ['360,872', '20,731', '772.8', '1.049', '0.0001235', '0']
    """
    if value == int(value) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4g}"


def as_printed(value: float) -> str:
    """Write a number with all its digits.

    Example:
        >>> as_printed(208977518.4), as_printed(78459.0)
        ('208,977,518.4', '78,459')
    """
    return f"{value:,}".removesuffix(".0")
