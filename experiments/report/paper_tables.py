"""The tables of the papers' pages: printed numbers beside ours, verdicts, data sets and runs, as pages quote them.

Pages of docs/study are written by hand, in a paper's own order. What they say of results stands between marks, and is
written from docs/results by `python -m pgsr.experiments quote`. `engine.verdicts.agrees` says whether a printed number
agrees with ours, `engine.verdicts.family` what is found of a claim over all its places.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import ratio_words
from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.engine.papers import Paper, Printed, StandsFor
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict
from pgsr.experiments.report.claims import by_claim
from pgsr.experiments.report.content import as_printed, decimal, number
from pgsr.experiments.report.items import tried_data
from pgsr.experiments.report.means import Mean, means
from pgsr.experiments.report.publication import PublishedResults
from pgsr.experiments.report.screen import about_of

if TYPE_CHECKING:
    import pandas as pd

Found = Sequence[tuple[Experiment, PublishedResults, "pd.DataFrame"]]

METHODS = {"BU": "bottom-up", "Hc": "H_c", "Hg": "H_g", "naive": "naive"}


def numbers_table(experiment: Experiment, frame: "pd.DataFrame") -> str:
    """Write a row per printed number: printed, ours, standard error, ratio with interval, and whether it agrees.

    Ours is computed as the paper states it; other readings have a column each, of K8 with the ratio of medians beside
    that of means, because one seed for all regions gives errors with a heavy tail.
    """
    rows, every = [], [mean for mean in means(frame, experiment) if mean.printed is not None]
    readings = list(dict.fromkeys(mean.reading for mean in every if mean.reading))
    for mean in (mean for mean in every if not mean.reading):
        printed = mean.printed
        assert printed is not None, "only printed numbers are kept"
        same = {each.reading: each for each in every if (each.printed, each.data) == (printed, mean.data)}
        others = [same.get(reading) for reading in readings]
        rows.append([
            printed.data, METHODS[printed.arm] if printed.arm else printed.metric,
            f"{printed.level}" if experiment.id == "K8" else "", as_printed(printed.value), number(mean.mean),
            "" if mean.standard_error is None else number(mean.standard_error), mean.compared,
            *(_of_reading(each, experiment.id == "K8") for each in others), mean.agreement,
        ])  # fmt: skip
    order = list(dict.fromkeys(printed.data for printed in experiment.paper.numbers)) if experiment.paper else []
    rows.sort(key=lambda row: order.index(row[0]))  # the order stays otherwise
    words = [f"{reading}: mean, median" if experiment.id == "K8" else reading for reading in readings]
    heads = ["data", "", "level", "printed", "ours", "s.e.", "ratio", *words, "agrees?"]
    kept = [
        i for i in range(len(heads)) if any(row[i] for row in rows) and (i != 1 or len({row[1] for row in rows}) > 1)
    ]
    table = [[row[i] for i in kept] for row in rows]
    return markdown_table([heads[i] for i in kept], table, (0, 1 if 1 in kept else 0, len(kept) - 1))


def _of_reading(mean: Mean | None, medians: bool) -> str:
    if mean is None:
        return ""
    return f"{ratio_words(mean.ratio or 0)}, {ratio_words(mean.median_ratio)}" if medians else mean.compared


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> str:
    """Write a table; columns are set to the right, but for those in `left`."""
    ends = ["---" if i in set(left) else "--:" for i in range(len(heads))]
    lines = [f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in (heads, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(ends)}|", *lines[1:]])


OF_THE_PAPER = (Cause.CLAIM, Cause.STAND_IN, Cause.SOLVER, Cause.PROFILE)
"""Causes of verdicts on claims as a paper states them, on whatever data and with whatever solver."""


def claims_table(experiment: Experiment, found: Sequence[Verdict]) -> str:
    """Write what was found of each claim of the paper, a row for each kind of data that it was tested on.

    A claim about another figure is told with that.
    """
    claims = experiment.paper.claims if experiment.paper is not None else ()
    elsewhere = {claim.words for claim in claims if claim.experiment != experiment.id}
    kept = [v for v in found if v.cause in OF_THE_PAPER and not _of_numbers(v) and v.claim not in elsewhere]
    rows, before = [], ""
    for (claim, about), summary in by_claim(kept, about_of(experiment)).items():
        rows.append(["" if claim == before else _escaped(claim), about, summary.words, summary.ratio_words])
        before = claim
    return markdown_table(("claim", "tested on", "found", "ratio"), rows, range(4)) if rows else ""


def verdicts_table(experiment: Experiment, found: Sequence[Verdict]) -> str:
    """Write, folded, what was found of other readings and of claims of ours, and the ratios that decided.

    For experiments of no paper that is all there is. Printed numbers are told by `numbers_table`.
    """
    shown = [
        verdict
        for verdict in found
        if not _of_numbers(verdict) and (experiment.paper is None or verdict.cause not in OF_THE_PAPER)
    ]
    if not shown:
        return ""
    rows, shared = [], _shared([verdict.claim for verdict in shown]) if experiment.paper is None else {}
    shown = [replace(verdict, claim=shared.get(verdict.claim, verdict.claim)) for verdict in shown]
    for (claim, cause), summary in by_claim(shown).items():
        rows.append([_escaped(claim), cause, summary.words, summary.ratio_words])
    total = Counter(verdict.finding for verdict in shown)
    said = ", ".join(f"{n} {_PLURAL[finding]}" for finding in TestOutcome if (n := total[finding]))
    what = "Verdicts" if experiment.paper is None else "Other readings, and claims of ours,"
    table = markdown_table(("claim", "about", "found", "ratio"), rows, range(4))
    return f'<details markdown="1">\n<summary>{what} in {experiment.id}: {said}</summary>\n\n{table}\n\n</details>'


def _shared(claims: Sequence[str], least: int = 5, few: int = 3) -> dict[str, str]:
    """Give claims that say the same of several methods one name: their common end.

    Example:
        >>> ends = [f"{name} is nowhere beaten in EMD" for name in ("bottom-up, Hc", "M_c", "posterior")]
        >>> _shared(ends)[ends[1]], _shared(["one claim"])
        ('each of 3 is nowhere beaten in EMD', {})
    """
    unique = list(dict.fromkeys(claims))
    ends = Counter(
        " ".join(words[i:]) for words in map(str.split, unique) for i in range(1, max(1, len(words) - least + 1))
    )
    found = {}
    for claim in unique:
        own = [end for end, n in ends.items() if n >= few and claim.endswith(f" {end}")]
        if own:
            best = max(own, key=lambda end: (ends[end], len(end)))
            found[claim] = f"each of {ends[best]}{':' * claim.endswith(f': {best}')} {best}"
    return found


def _of_numbers(verdict: Verdict) -> bool:
    return verdict.claim.startswith(("printed", "number of trips"))


_PLURAL = {
    TestOutcome.HOLDS: "hold", TestOutcome.FAILS: "fail", TestOutcome.IMMATERIAL: "show no material difference",
    TestOutcome.UNDECIDED: "undecided", TestOutcome.NOT_JUDGED: "not judged",
}  # fmt: skip


def _escaped(words: str) -> str:
    return words.translate(str.maketrans({each: f"\\{each}" for each in "_*|#<>"}))


def counts_sentence(paper: Paper, found: Found) -> str:
    """Say of how many printed numbers what was found, by the reading that the paper states; errors apart from counts.

    A number that stands beside data of the paper's own and beside others counts by its own.
    """
    beside: dict[Printed, list[Mean]] = {}
    for experiment, _, frame in found:
        for mean in means(frame, experiment) if experiment.paper == paper else ():
            if mean.printed is not None and mean.printed.experiment == experiment.id:
                beside.setdefault(mean.printed, []).append(mean)
    errors, counts, other = Counter[str](), Counter[str](), Counter[str]()
    in_another = 0
    for printed in paper.numbers:
        every = sorted(beside.get(printed, ()), key=lambda each: (bool(each.remark), bool(each.reading)))
        first = every[0].agreement if every else "nothing"
        into = other if first in ("nothing", "other data") else errors if printed.runs else counts
        into[first] += 1
        if into is errors and first != "agrees":
            in_another += any(each.agreement == "agrees" for each in every[1:])
    said = []
    for kind, what in ((errors, "errors"), (counts, "counts")):
        if kind:
            parts = ", ".join(f"{kind[word]} {words}" for word, words in _STATES.items() if kind[word])
            said.append(f"of {kind.total()} {what} on the paper's own data {parts}")
    if in_another:
        said[0] += f" ({in_another} more agree in another reading)"
    said += [f"{n} are of other data" for n in [other["other data"]] if n]
    said += [f"{n} have nothing of the kind beside them" for n in [other["nothing"]] if n]
    if len(said) == 1:
        n = len(paper.numbers)
        return f"All {n} printed numbers {said[0].removeprefix(f'{n} ')}."
    return f"Of {len(paper.numbers)} printed numbers: {'; '.join(said)}."


_STATES = {"agrees": "agree", "differs": "differ", "undecided": "undecided"}


def data_table(paper: Paper, experiments: Sequence[Experiment]) -> str:
    """Write a row per data set of a paper: which of ours are it, and which stand in for it and why."""
    sets: dict[str, dict[str, StandsFor]] = {}
    for data in (data for each in experiments if each.paper == paper for data in tried_data(each)):
        if data.stands_for is not None:
            sets.setdefault(data.stands_for.name, {})[data.name] = data.stands_for
    rows = []
    for name, ours in sets.items():
        by_reason: dict[StandsFor, list[str]] = {}
        for mine, of in ours.items():
            by_reason.setdefault(of, []).append(mine)
        for of, names in by_reason.items():
            kind = "the paper's own" if of.is_the_papers else "made by its recipe" if of.by_recipe else "stands in"
            rows.append((name, kind, "; ".join(names), of.why_other.removeprefix("stand-in: ")))
    heads = ("data of the paper", "here", "under the name", "why not the paper's own")
    return markdown_table(heads, rows, {0, 1, 2, 3})


def runs_table(found: Found) -> str:
    """Write a row per experiment: its cells, replicates, minutes of the processor, and the commit behind them."""
    rows = []
    for experiment, about, _ in found:
        first, last = about.computed
        cells = f"{about.cells:,}" if about.cells == about.planned else f"{about.cells:,} of {about.planned:,}"
        without = "".join(f"; {n} {reason}" for reason, n in about.without.items())
        rows.append([
            f"[{experiment.id}](../results/{about.experiment}.parquet)", f"{cells}{without}", str(about.profile),
            f"{about.replicates}", duration(about.seconds), first if first == last else f"{first} to {last}",
            about.sources.removeprefix("commit ").replace("with uncommitted", "uncommitted"),
        ])  # fmt: skip
    heads = ("results", "cells", "profile", "replicates", "processor", "computed", "commit")
    return markdown_table(heads, rows, {0, 1, 2, 5, 6})


def duration(seconds: float) -> str:
    """Write a duration.

    Example:
        >>> duration(12.3), duration(754), duration(9_000)
        ('12 s', '13 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


def quoted(
    found: Found, experiments: Sequence[Experiment], pages: Mapping[str, Paper | None]
) -> Iterator[tuple[str, str]]:
    """Yield all tables by the names under which pages quote them.

    Args:
        pages: by the name of a page, the paper that it is about; None for experiments of no paper.
    """
    for experiment, _, frame in found:
        verdicts = experiment.verdicts(frame)
        if experiment.paper is not None and (table := claims_table(experiment, verdicts)):
            yield f"{experiment.id}.claims", table
        if table := verdicts_table(experiment, verdicts):
            yield f"{experiment.id}.verdicts", table
        if experiment.id in ("K1", "K2", "K3", "K8"):
            yield f"{experiment.id}.numbers", numbers_table(experiment, frame)
    for page, paper in pages.items():
        if own := [each for each in found if each[0].paper == paper]:
            yield f"{page}.runs", runs_table(own)
        if paper is not None:
            yield f"{page}.data", data_table(paper, experiments)
            if paper.numbers:
                yield f"{page}.counts", counts_sentence(paper, found)
    for experiment, about, frame in found:
        if experiment.id == "PG4" and about.profile == Profile.PAPER:
            yield from table_1(experiment, frame)
        if experiment.id == "K10":
            yield "K10.sentence", conditions_sentence(frame)


def table_1(experiment: Experiment, frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Yield table 1 of Fioretto and Van Hentenryck: per data set a row per epsilon and mechanism, errors in thousands.

    And the errors on the census over the printed ones, with the stated noise and with half of it.
    """
    every = [mean for mean in means(frame, experiment) if mean.printed is not None]
    heads = ["epsilon", "mechanism"]
    for level in (1, 2, 3):
        heads += [f"level {level} printed", "ours (s.e.)", "ratio"]
    heads += ["#CV printed", "by level", "by region"]
    for data, ours in STANDS_FOR.items():
        of_data = [each for each in every if each.data == ours]
        rows = []
        for epsilon, arm in dict.fromkeys((e.printed.epsilon, e.printed.arm) for e in of_data if e.printed):
            errors = [_one(of_data, arm, arm, epsilon, level) for level in (0, 1, 2)]
            violations = [_one(of_data, arm, arm, epsilon, 0, f"cv_{unit}") for unit in ("levels", "regions")]
            row = [decimal(Fraction(epsilon)), arm]
            for each in errors:
                row += [as_printed(round(_value(each) / 1_000, 1)), _thousands(each.mean, each.standard_error or 0)]
                row += [each.compared if data == "Census" else ratio_words(each.ratio or 0)]
            row += [as_printed(_value(violations[0])), *(f"{each.mean:,.0f}" for each in violations)]
            rows.append(row)
        yield f"PG4.{data.lower()}", markdown_table(heads, rows, {0, 1})
    census = [each for each in every if each.data == STANDS_FOR["Census"]]
    yield "PG4.half-noise", _half_noise(census)


STANDS_FOR = {"Taxi": "Taxi 2014, generated", "Census": "Census by the recipe, generated"}
"""The data sets of ours that table 1 stands beside, by the paper's names."""


def _one(of_data: Sequence[Mean], arm: str, label: str, epsilon: str, level: int, metric: str = "l1") -> Mean:
    """Find what stands beside the number of an arm, by the label of our arm and the metric."""
    for each in of_data:
        printed = each.printed
        if printed and (printed.arm, printed.epsilon, each.level, each.arm, each.metric) == (
            arm,
            epsilon,
            level,
            label,
            metric,
        ):
            return each
    raise KeyError((arm, label, epsilon, level, metric))


def _value(mean: Mean) -> float:
    return mean.printed.value if mean.printed is not None else 0.0


def _thousands(mean: float, error: float) -> str:
    """Write groups in thousands, with the standard error.

    Example:
        >>> [_thousands(*of) for of in ((1_695_430, 1_621), (414, 10.2))]
        ['1,695 (1.62)', '0.414 (0.0102)']
    """
    shown = (f"{value / 1_000:,.0f}" if value >= 1e6 else f"{value / 1_000:,.3g}" for value in (mean, error))
    return "{} ({})".format(*shown)


def _half_noise(census: Sequence[Mean]) -> str:
    """Write ours over printed, with the stated noise and with half of it: in total, and by level."""
    rows = []
    for noise, arm in product(("", ", half the noise"), ("M_H^dp", "M_c^dp")):
        for epsilon in ("1/10", "1/2", "1"):
            each = [_one(census, arm, arm + noise, epsilon, level) for level in (0, 1, 2)]
            ratios = [sum(one.mean for one in each) / sum(map(_value, each))]
            ratios += [one.ratio or 0 for one in each]
            said = f"{arm}, {noise.removeprefix(', ') or 'stated noise'}"
            rows.append([said, decimal(Fraction(epsilon)), *(f"{ratio:.2f}" for ratio in ratios)])
    return markdown_table(("ours over printed", "epsilon", "total", "nation", "states", "counties"), rows, {0})


def conditions_sentence(frame: "pd.DataFrame") -> str:
    """Say how many releases of K10 violate a condition, and what the methods that the paper rejects violate."""
    columns = [column for column in frame.columns if column.startswith("violations_")]
    broken = frame[columns].sum(axis="columns")
    rejected = frame["arm"].str.contains("not a release")
    own = frame.loc[~rejected]
    n_broken = int((broken[~rejected] > 0).sum())
    n_own = f"{n_broken:,} break" if n_broken else "none breaks"
    words = f"Of {len(own):,} releases of {frame['data'].nunique()} hierarchies {n_own} a condition"
    for arm, part in frame.loc[rejected].groupby("arm", sort=False):
        kinds = [
            f"{column.removeprefix('violations_')} in {int((part[column] > 0).sum()):,}"
            for column in columns
            if (part[column] > 0).any()
        ]
        words += f"; *{str(arm).partition(' (')[0]}*, which is no release, breaks {', '.join(kinds)} of {len(part):,}"
    return words + "."
