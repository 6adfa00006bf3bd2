"""The tables of the papers' pages: printed numbers beside ours, verdicts, data sets and runs, as pages quote them.

Pages of docs/study are written by hand, in a paper's own order. What they say of results stands between marks, and is
written from docs/results by `python -m pgsr.experiments quote`. One rule says whether a printed number agrees with
ours.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import Effect, ratio_words
from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.engine.printed import Beside, Paper, Printed, StandsFor
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict, half_width
from pgsr.experiments.report.claims import by_claim
from pgsr.experiments.report.content import as_printed, decimal, number
from pgsr.experiments.report.items import tried_data
from pgsr.experiments.report.publication import PublishedResults

if TYPE_CHECKING:
    import pandas as pd

Found = Sequence[tuple[Experiment, PublishedResults, "pd.DataFrame"]]

TOLERANCE = 0.1
"""How far the ratio of ours over a printed number may be from 1."""


class Agreement(StrEnum):
    """How a printed number compares with ours; STAND_IN and NOTHING where it cannot be compared."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    STAND_IN = "other data"
    NOTHING = "nothing beside it"


def agreement(values: Sequence[float], printed: float) -> Agreement:
    """Compare the mean of our replicates with a printed number: by the 95 % interval of the ratio.

    It agrees if all of the interval is within `TOLERANCE` of 1, differs if none is, and is undecided otherwise.

    Example:
        >>> [str(agreement(values, 100)) for values in ([99, 100, 102, 101], [120, 121, 122], [104, 112, 101, 117])]
        ['agrees', 'differs', 'undecided']
    """
    low, high = interval(values, printed)
    if low >= 1 - TOLERANCE and high <= 1 + TOLERANCE:
        return Agreement.AGREES
    return Agreement.DIFFERS if high < 1 - TOLERANCE or low > 1 + TOLERANCE else Agreement.UNDECIDED


def interval(values: Sequence[float], printed: float) -> tuple[float, float]:
    """Compute the 95 % interval of the ratio of our mean over a printed number, which counts as exact."""
    mean, half = fmean(values), half_width(values)
    return max(0.0, mean - half) / printed, (mean + half) / printed


@dataclass(frozen=True)
class NumberBesideOurs:
    """A printed number, and the values of ours that stand beside it.

    Attributes:
        beside: the number, and where ours is from.
        values: one per replicate.
    """

    beside: Beside
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def ratio(self) -> float | None:
        return self.mean / self.beside.number.value if self.beside.number.value else None

    @property
    def agreement(self) -> Agreement:
        if self.beside.remark:
            return Agreement.STAND_IN
        if not self.beside.number.value:
            return Agreement.DIFFERS if any(self.values) else Agreement.AGREES
        return agreement(self.values, self.beside.number.value)

    @property
    def error(self) -> str:
        """The standard error; "" for numbers without noise."""
        return number(stdev(self.values) / len(self.values) ** 0.5) if len(self.values) > 1 else ""

    @property
    def words(self) -> str:
        """The ratio with its interval, which a number without noise has not."""
        if self.ratio is None:
            return ""
        if len(self.values) == 1:
            return "1" if self.ratio == 1 else ratio_words(self.ratio)
        low, high = interval(self.values, self.beside.number.value)
        return f"{ratio_words(self.ratio)} [{ratio_words(low)}, {ratio_words(high)}]"


def comparisons(experiment: Experiment, frame: "pd.DataFrame") -> dict[Printed, list[NumberBesideOurs]]:
    """Collect, for every printed number of an experiment, what of its published cells stands beside it."""
    found: dict[Printed, list[NumberBesideOurs]] = {}
    for each in experiment.printed:
        values = _values(each, frame)
        if values:
            found.setdefault(each.number, []).append(NumberBesideOurs(each, values))
    return found


def _values(each: Beside, frame: "pd.DataFrame") -> tuple[float, ...]:
    if each.where is None:
        return ()
    where = {"epsilon": each.number.epsilon, "level": each.number.level, "metric": each.number.metric}
    where |= dict(each.where)
    column = where.pop("metric") if (level := where.pop("level")) is None else f"{where.pop('metric')}_level{level}"
    epsilon = where.pop("epsilon")
    if column not in frame:
        return ()
    kept = frame
    if epsilon:
        kept = kept.loc[kept["epsilon_exact"] == str(Fraction(epsilon))]
    for name, value in where.items():
        if name not in kept:
            return ()
        kept = kept.loc[kept[name] == value]
    return tuple(float(value) for value in kept[column].dropna())  # NaN: no accepted answer


READINGS: Mapping[str, tuple[tuple[str, str, Mapping[str, Any]], ...]] = {
    "K2": tuple(
        (f"{words}, K = {top:,}", arm, {"K": top})
        for top in (100_000, 20_000)
        for words, arm in (("projection", "projection as stated"), ("clipped", "clipped at zero, total not kept"))
    ),
    "K8": (("independent noise", "independent noise", {}), ("one seed for all regions", "shared seed", {})),
}
"""Experiments that set several readings beside each number: heads, parts of the arms' labels, parameters. The first one
is what the paper states, and is judged."""

METHODS = {"BU": "bottom-up", "Hc": "H_c", "Hg": "H_g", "naive": "naive"}


def numbers_table(experiment: Experiment, frame: "pd.DataFrame") -> str:
    """Write a row per printed number: printed, ours, standard error, ratio with interval, and whether it agrees."""
    rows = []
    (first, *others) = READINGS.get(experiment.id, (("", "", {}),))
    for printed, every in comparisons(experiment, frame).items():
        for name in dict.fromkeys(each.beside.where["data"] for each in every if each.beside.where):
            ours = [each for each in every if each.beside.where and each.beside.where["data"] == name]
            judged = next(each for each in ours if _is(each, first))
            beside = [next((each.words for each in ours if _is(each, reading)), "") for reading in others]
            what = METHODS[printed.arm] if printed.arm else printed.metric
            level = f"{printed.level}" if experiment.id == "K8" else ""
            rows.append([
                printed.data, what, level, as_printed(printed.value), number(judged.mean), judged.error, judged.words,
                *beside, str(judged.agreement),
            ])  # fmt: skip
    order = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: order.index(row[0]))  # the order stays otherwise
    heads = ["data", "", "level", "printed", "ours", "s.e.", "ratio", *(head for head, *_ in others), "agrees?"]
    if others:
        heads[6] = f"ratio, {first[0]}"
    kept = [
        i for i in range(len(heads)) if any(row[i] for row in rows) and (i != 1 or len({row[1] for row in rows}) > 1)
    ]
    table = [[row[i] for i in kept] for row in rows]
    return markdown_table([heads[i] for i in kept], table, (0, 1 if 1 in kept else 0, len(kept) - 1))


def _is(each: NumberBesideOurs, reading: tuple[str, str, Mapping[str, Any]]) -> bool:
    _, part, parameters = reading
    where = each.beside.where or {}
    return part in where["arm"] and all(where.get(name) == value for name, value in parameters.items())


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> str:
    """Write a table; columns are set to the right, but for those in `left`."""
    ends = ["---" if i in set(left) else "--:" for i in range(len(heads))]
    lines = [f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in (heads, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(ends)}|", *lines[1:]])


OF_THE_PAPER = (Cause.CLAIM, Cause.STAND_IN, Cause.SOLVER, Cause.PROFILE)
"""Causes of verdicts on claims as a paper states them, on whatever data and with whatever solver."""


def claims_table(experiment: Experiment, frame: "pd.DataFrame", found: Sequence[Verdict]) -> str:
    """Write on which data sets each claim of the paper holds and fails, and the ratios that decided.

    Of a data set on which it does so at some places alone, the number of them. A claim about another figure is told
    with that.
    """
    names = sorted(map(str, frame["data"].unique()), key=len, reverse=True)
    places: dict[str, list[Verdict]] = {}
    claims = experiment.paper.claims if experiment.paper is not None else ()
    elsewhere = {claim.words for claim in claims if claim.experiment != experiment.id}
    for verdict in found:
        if verdict.cause in OF_THE_PAPER and not _of_numbers(verdict) and verdict.claim not in elsewhere:
            places.setdefault(verdict.claim, []).append(verdict)
    rows = []
    for claim, verdicts in places.items():
        by_name: dict[str, Counter[TestOutcome]] = {}
        for verdict in verdicts:
            name = next((name for name in names if name in verdict.data), verdict.data)
            by_name.setdefault(name, Counter())[verdict.finding] += 1
        cells: dict[str, list[str]] = {"holds": [], "fails": [], "neither": []}
        for name, counted in by_name.items():
            for head, outcomes in _HEADS.items():
                if n := sum(counted[outcome] for outcome in outcomes):
                    cells[head].append(name if n == counted.total() else f"{name} {n} of {counted.total()}")
        effects = [verdict.judgement.effect for verdict in verdicts if verdict.judgement.effect is not None]
        rows.append([_escaped(claim), *("; ".join(cell) for cell in cells.values()), _ratios(effects)])
    return markdown_table(("claim", "holds on", "fails on", "neither", "ratio"), rows, range(5)) if rows else ""


_HEADS = {
    "holds": (TestOutcome.HOLDS,), "fails": (TestOutcome.FAILS,),
    "neither": (TestOutcome.IMMATERIAL, TestOutcome.UNDECIDED, TestOutcome.NOT_JUDGED),
}  # fmt: skip


def verdicts_table(experiment: Experiment, found: Sequence[Verdict]) -> str:
    """Write, folded, what was found of other readings and of claims of ours: how often, and the ratios that decided.

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
        counts = ", ".join(f"{finding} {n}" for finding in TestOutcome if (n := summary.findings[finding]))
        rows.append([_escaped(claim), str(cause), counts, _ratios(summary.effects)])
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


def _ratios(effects: Sequence[Effect]) -> str:
    """Write the smallest and the largest ratio, their median, and what is needed if it is not above 1."""
    if not effects:
        return ""
    ratios = [effect.ratio for effect in effects]
    ends = " to ".join(dict.fromkeys((ratio_words(min(ratios)), ratio_words(max(ratios)))))
    middle = f", median {ratio_words(median(ratios))}" if len(ratios) > 2 else ""
    needed = [needed for needed in dict.fromkeys(effect.needed for effect in effects) if needed != "above 1"]
    return f"{ends}{middle}" + (f"; {' or '.join(needed)} needed" if needed else "")


_PLURAL = {
    TestOutcome.HOLDS: "hold", TestOutcome.FAILS: "fail", TestOutcome.IMMATERIAL: "show no material difference",
    TestOutcome.UNDECIDED: "undecided", TestOutcome.NOT_JUDGED: "not judged",
}  # fmt: skip


def _escaped(words: str) -> str:
    return words.translate(str.maketrans({each: f"\\{each}" for each in "_*|#<>"}))


def counts_sentence(paper: Paper, found: Found) -> str:
    """Say of how many printed numbers what was found; of several readings the first, which is what the paper states.

    A number that stands beside data of the paper's own and beside others counts by its own.
    """
    states: Counter[Agreement] = Counter()
    beside: dict[Printed, list[NumberBesideOurs]] = {}
    for experiment, _, frame in found:
        if experiment.paper == paper:
            for printed, every in comparisons(experiment, frame).items():
                if printed.experiment == experiment.id:
                    beside.setdefault(printed, []).extend(every)
    for printed in paper.numbers:
        every = sorted(beside.get(printed, ()), key=lambda each: bool(each.beside.remark))  # the order stays otherwise
        states[every[0].agreement if every else Agreement.NOTHING] += 1
    words = {
        Agreement.AGREES: ("agrees", "agree"), Agreement.DIFFERS: ("differs", "differ"),
        Agreement.UNDECIDED: ("is undecided", "are undecided"),
        Agreement.STAND_IN: ("is of data in whose place others stand", "are of data in whose place others stand"),
        Agreement.NOTHING: ("has nothing of the kind beside it", "have nothing of the kind beside them"),
    }  # fmt: skip
    said = [f"{n} {words[state][n > 1]}" for state in Agreement if (n := states[state])]
    if len(said) == 1:
        return f"All {said[0].replace(' ', ' printed numbers ', 1)}."
    return f"Of {len(paper.numbers)} printed numbers {', '.join(said[:-1])}, and {said[-1]}."


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
        if experiment.paper is not None and (table := claims_table(experiment, frame, verdicts)):
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
    every = [each for found in comparisons(experiment, frame).values() for each in found]
    heads = ["epsilon", "mechanism"]
    for level in (1, 2, 3):
        heads += [f"level {level} printed", "ours (s.e.)", "ratio"]
    heads += ["#CV printed", "by level", "by region"]
    for data, ours in STANDS_FOR.items():
        of_data = [each for each in every if each.beside.where and each.beside.where["data"] == ours]
        rows = []
        for epsilon, arm in dict.fromkeys((e.beside.number.epsilon, e.beside.number.arm) for e in of_data):
            errors = [_one(of_data, arm, arm, epsilon, level) for level in (0, 1, 2)]
            violations = [_one(of_data, arm, arm, epsilon, None, f"cv_{unit}") for unit in ("levels", "regions")]
            row = [decimal(Fraction(epsilon)), arm]
            for each in errors:
                error = stdev(each.values) / len(each.values) ** 0.5
                row += [as_printed(round(each.beside.number.value / 1_000, 1)), _thousands(each.mean, error)]
                row += [each.words if data == "Census" else ratio_words(each.ratio or 0)]
            row += [as_printed(violations[0].beside.number.value), *(f"{each.mean:,.0f}" for each in violations)]
            rows.append(row)
        yield f"PG4.{data.lower()}", markdown_table(heads, rows, {0, 1})
    census = [each for each in every if each.beside.where and each.beside.where["data"] == STANDS_FOR["Census"]]
    yield "PG4.half-noise", _half_noise(census)


STANDS_FOR = {"Taxi": "Taxi 2014, generated", "Census": "Census by the recipe, generated"}
"""The data sets of ours that table 1 stands beside, by the paper's names."""


def _one(
    of_data: Sequence[NumberBesideOurs], arm: str, label: str, epsilon: str, level: int | None, metric: str = "l1"
) -> NumberBesideOurs:
    """Find what stands beside the number of an arm, by the label of our arm and the metric."""
    wanted = (arm, epsilon, level, label, metric)
    for each in of_data:
        number_, where = each.beside.number, each.beside.where or {}
        metric_of = where.get("metric", number_.metric)
        if (number_.arm, number_.epsilon, number_.level, where["arm"], metric_of) == wanted:
            return each
    raise KeyError(wanted)


def _thousands(mean: float, error: float) -> str:
    """Write groups in thousands, with the standard error.

    Example:
        >>> [_thousands(*of) for of in ((1_695_430, 1_621), (414, 10.2))]
        ['1,695 (1.62)', '0.414 (0.0102)']
    """
    shown = (f"{value / 1_000:,.0f}" if value >= 1e6 else f"{value / 1_000:,.3g}" for value in (mean, error))
    return "{} ({})".format(*shown)


def _half_noise(census: Sequence[NumberBesideOurs]) -> str:
    """Write ours over printed, with the stated noise and with half of it: in total, and by level."""
    rows = []
    for noise, arm in product(("", ", half the noise"), ("M_H^dp", "M_c^dp")):
        for epsilon in ("1/10", "1/2", "1"):
            each = [_one(census, arm, arm + noise, epsilon, level) for level in (0, 1, 2)]
            ratios = [sum(one.mean for one in each) / sum(one.beside.number.value for one in each)]
            ratios += [one.mean / one.beside.number.value for one in each]
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
