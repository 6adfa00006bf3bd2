"""The experiment X2: every release of this toolkit at the same total epsilon, on dense and on sparse data.

All numbers of groups are public. Shares of epsilon are fixed in `ours.arms`, for every data set alike, but for the
default release, whose shares the noisy root chooses. No seed and no generated data of this experiment is used anywhere
else.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from pgsr import Result, Status, View
from pgsr.comparison.side_by_side import ANSWERED, errors_by_level
from pgsr.estimators import BottomUp, Matching, Posterior
from pgsr.experiments.data.census2000_race import census2000_race
from pgsr.experiments.engine.data import generated_census
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import panels_in_rows
from pgsr.experiments.engine.release_record import Record, released, result_record
from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Judgement, TestOutcome, Verdict, smaller, worst
from pgsr.experiments.fioretto2019.data import CENSUS_GROUPS, CENSUS_SMALL, FLIGHTS, KUO_TAXI, TAXI, TAXI_SMALL
from pgsr.experiments.ours.arms import (
    CUMULATIVE_EQUAL,
    CUMULATIVE_LEAVES_ONLY,
    KUO,
    M_C_REGIONS,
    SPLIT_BY_ROOT,
    SPLIT_EQUAL,
    SPLIT_FIXED,
    SPLIT_LEAVES_MOSTLY,
    SPLIT_ROOT_HEAVY,
    TWO_STAGE,
    equal_shares,
    leaves_only,
)
from pgsr.experiments.ours.by_arm import SPREAD, by_worst, draw_spread, short
from pgsr.experiments.ours.profiles import profiles
from pgsr.figures.drawing import finish, head, level_name
from pgsr.methods import metrics
from pgsr.noise import Geometric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_RANKED_EQUAL = partial(equal_shares, View.RANKED)
_RANKED_LEAVES_ONLY = partial(leaves_only, View.RANKED)

BOTTOM_UP = Arm("bottom-up, Hc", CUMULATIVE_LEAVES_ONLY, BottomUp())
BOTTOM_UP_RANKED = Arm("bottom-up, Hg", _RANKED_LEAVES_ONLY, BottomUp())
KUO_RANKED = Arm("Hg with matching (Kuo)", _RANKED_EQUAL, Matching())
POSTERIOR = Arm("posterior, equal shares", CUMULATIVE_EQUAL, Posterior())
POSTERIOR_LEAVES = Arm("posterior, leaves only", CUMULATIVE_LEAVES_ONLY, Posterior())
POSTERIOR_RANKED = Arm("posterior, Hg, leaves only", _RANKED_LEAVES_ONLY, Posterior())
KUO_SPLIT = Arm("split with matching (Kuo)", SPLIT_EQUAL, Matching())
DEFAULT = Arm("posterior, split, shares by the root", SPLIT_BY_ROOT, Posterior())
POSTERIOR_SPLIT_FIXED = Arm("posterior, split, fixed shares", SPLIT_FIXED, Posterior())
POSTERIOR_SPLIT_EQUAL = Arm("posterior, split, equal shares", SPLIT_EQUAL, Posterior())
POSTERIOR_SPLIT_ROOT = Arm("posterior, split, root-heavy", SPLIT_ROOT_HEAVY, Posterior())
POSTERIOR_SPLIT_LEAVES = Arm("posterior, split, leaves mostly", SPLIT_LEAVES_MOSTLY, Posterior())
ARMS = (
    BOTTOM_UP,
    BOTTOM_UP_RANKED,
    KUO,
    KUO_RANKED,
    TWO_STAGE,
    M_C_REGIONS,
    POSTERIOR,
    POSTERIOR_LEAVES,
    POSTERIOR_RANKED,
    KUO_SPLIT,
    DEFAULT,
    POSTERIOR_SPLIT_FIXED,
    POSTERIOR_SPLIT_EQUAL,
    POSTERIOR_SPLIT_ROOT,
    POSTERIOR_SPLIT_LEAVES,
)

SHOWN = (BOTTOM_UP, BOTTOM_UP_RANKED, KUO, KUO_RANKED, KUO_SPLIT, TWO_STAGE, M_C_REGIONS, POSTERIOR, POSTERIOR_LEAVES,
         DEFAULT)  # fmt: skip
"""The releases that figures draw: without those that differ in their shares of epsilon alone."""

RANKED_GROUPS = 10_000_000
"""No level is measured as more ranked sizes than this: a number per group, level and step takes gigabytes."""

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))

TAILS = (10, 100, 1_000)
"""Public sizes s, of which those below K are used: the number of groups larger than s is compared."""

QUANTILES = {"median": Fraction(1, 2), "quantile_90": Fraction(9, 10), "quantile_99": Fraction(99, 100)}


def measure(trial: Trial) -> Record:
    """Measure as `release_record` does, with relative errors of tails and means and absolute ones of quantiles.

    In "levels" besides, means over a level's regions: "times_bound", the earth mover's distance over the least mean
    error that any epsilon-DP release has near the truth (`pgsr.bounds.lower_bound`); "tail_<s>" for s of `TAILS`
    below K and "mean_size", relative; "median", "quantile_90" and "quantile_99", in entities. Ranked sizes of too many
    groups are not drawn at all.
    """
    view, groups = trial.noise.view, trial.data.groups
    if view is View.RANKED and groups > RANKED_GROUPS:
        reason = f"{groups:,} ranked sizes per level are too many; {RANKED_GROUPS:,} are allowed, use another view"
        return result_record(Result(Status.TOO_LARGE, reason)) | {"levels": {}}
    result = released(trial)
    return result_record(result) | {
        "levels": errors_by_level(trial.truth, result, trial.cell.epsilon) | _statistics(trial, result)
    }


def _statistics(trial: Trial, result: Result) -> dict[str, list[float]]:
    truth, answer = trial.truth, result.answer
    if answer is None or result.status not in ANSWERED:
        return {}
    errors = {f"tail_{s}": metrics.tail_error(truth, answer, s) for s in TAILS if s < truth.max_size}
    errors["mean_size"] = metrics.mean_size_error(truth, answer)
    errors |= {name: metrics.quantile_error(truth, answer, part) for name, part in QUANTILES.items()}
    return {name: metrics.level_means(truth, per_region) for name, per_region in errors.items()}


def memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate the peak memory in bytes: libraries with solvers, tables, and a window of the posterior on every core.

    Fitted to measured peaks on four data sets, at the smallest epsilon, where windows are widest.

    Shown by `test_experiments_ours.py::test_the_memory_estimate`.
    """
    del parameters
    needed = 380_000_000 + 80 * data.n_regions * (data.max_size + 1)
    if isinstance(arm.post, Posterior):
        assert arm.noise is not None, "every arm here measures"
        noise = arm.noise(min(EPSILONS), len(data.levels))
        assert isinstance(noise, Geometric), "by a pure epsilon"
        scale = float(1 / min(share for share in noise.budget(len(data.levels)).levels if share))
        width = 1_000 + 350 * scale if noise.view is View.RANKED else 100 + 60 * scale
        needed += int(8 * (os.cpu_count() or 1) * (data.max_size + 1) * min(width, data.groups + 1))
    return needed


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per level: by arm the EMD over the best arm's at the same place, over all data sets and epsilons."""
    errors = level_errors(frame, "emd")
    panels: dict[str, dict[str, list[float]]] = {name: {} for name in ("root", "levels between", "leaves")}
    for data, epsilon, level in errors.values_of("data", "epsilon", "level"):
        there = errors.where(data=data, epsilon=epsilon, level=level)
        best, name = min(row.mean for row in there), level_name(level, errors.where(data=data).n_levels)
        for row in there if best else ():
            panel = panels.get(name, panels["levels between"])
            panel.setdefault(row.arm, []).append(row.mean / best)
    everywhere = {arm.label: [each for panel in panels.values() for each in panel.get(arm.label, [])] for arm in SHOWN}
    labels = by_worst(everywhere)
    figure, grid = panels_in_rows(len(panels), across=3, width=2.3, height=2.9)
    for axes, (name, ratios) in zip(grid.flat, panels.items(), strict=True):
        draw_spread(axes, {label: ratios.get(label, []) for label in labels}, DEFAULT.label)
        axes.tick_params(labelleft=axes is grid.flat[0])
        finish(axes, "times the best, log", "", name)
    said = ""
    if labels:
        most = {label: short(max(everywhere[label])) for label in (labels[0], labels[-1])}
        said = f"X2: at worst {labels[0]!r} errs {most[labels[0]]} times as much as the best, "
        said += f"{labels[-1]!r} {most[labels[-1]]} times\n"
    head(figure, f"{said}EMD over that of the best of all releases on the same data, epsilon and level; {SPREAD}")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the posterior releases against those of the same view and shares, and whether one arm is nowhere beaten."""
    errors = level_errors(frame, "emd")
    claims = (
        ("the posterior at equal shares has a smaller EMD than Kuo's matching at every level", POSTERIOR, (KUO,)),
        (
            "the posterior of leaves by Hc has a smaller EMD than bottom-up at every level",
            POSTERIOR_LEAVES,
            (BOTTOM_UP,),
        ),
        (
            "the posterior of leaves by Hg has a smaller EMD than bottom-up at every level",
            POSTERIOR_RANKED,
            (BOTTOM_UP_RANKED,),
        ),
        (
            "the split posterior, mostly of leaves, has a smaller EMD than bottom-up by Hc and by Hg at every level",
            POSTERIOR_SPLIT_LEAVES,
            (BOTTOM_UP, BOTTOM_UP_RANKED),
        ),
        (
            "the split posterior at equal shares has a smaller EMD than that by Hc at every level",
            POSTERIOR_SPLIT_EQUAL,
            (POSTERIOR,),
        ),
        (
            "the default release has a smaller EMD than Kuo's matching by Hc and of split views at every level",
            DEFAULT,
            (KUO, KUO_SPLIT),
        ),
    )
    below = [
        verdict for claim, ours, others in claims for verdict in _smaller_at_every_level(errors, claim, ours, others)
    ]
    standings = [standing for arm in ARMS if (standing := _standing(errors, arm)) is not None]
    return below + [_nowhere_beaten(each) for each in standings] + ([_one_of(standings)] if standings else [])


def _smaller_at_every_level(errors: LevelErrors, claim: str, ours: Arm, others: Iterable[Arm]) -> Iterator[Verdict]:
    """Judge whether an arm has smaller errors than all others at all levels, by data set and epsilon."""
    for data, epsilon in errors.values_of("data", "epsilon"):
        part, judged, words, complete = errors.where(data=data, epsilon=epsilon), [], [], True
        for other in others:
            pairs = [[part.one(arm=arm.label, level=i) for arm in (ours, other)] for i in range(part.n_levels)]
            ratios = [_ratio(*pair) for pair in pairs]
            complete &= None not in ratios
            judged += [smaller(*pair) for pair in pairs]
            words.append(f"over {other.label}: x {' / '.join(f'{ratio:.3g}' for ratio in ratios if ratio is not None)}")
        if complete:
            found = f"EMD by level, root first, {'; '.join(words)}"
            yield Verdict(claim, f"{data}, epsilon {epsilon:g}", worst(judged), found)


@dataclass(frozen=True)
class _Standing:
    """The standing of an arm among all others in EMD, over all places: data sets, epsilons and levels.

    Attributes:
        judged: of every place, whether no other arm is nearer to the truth.
        ratio: the largest over the best other arm.
        where: the place of that ratio, and who is the best there.
        missing: places without anything to compare.
    """

    arm: Arm
    judged: tuple[Judgement, ...]
    ratio: float
    where: str
    missing: int

    @property
    def words(self) -> str:
        beaten = sum(each.finding is TestOutcome.FAILS for each in self.judged)
        places = sum(each.finding is not TestOutcome.NOT_JUDGED for each in self.judged)
        return (
            f"beaten at {beaten} of {places} judged places; over the best other arm at most x {self.ratio:.3g} "
            f"({self.where})" + (f"; nothing to compare at {self.missing} places" if self.missing else "")
        )


def _standing(errors: LevelErrors, arm: Arm) -> _Standing | None:
    """Compare an arm with all others everywhere; None if it ran nowhere."""
    places = errors.values_of("data", "epsilon", "level")
    judged, largest = [], []
    for data, epsilon, level in places:
        part = errors.where(data=data, epsilon=epsilon, level=level)
        mine, others = part.one(arm=arm.label), [row for row in part if row.arm != arm.label]
        judged.append(worst(_unbeaten(smaller(mine, other)) for other in others))
        where = f"{data}, epsilon {epsilon:g}, {level_name(level, errors.where(data=data).n_levels)}"
        ratios = [(ratio, f"{where}: {row.arm}") for row in others if (ratio := _ratio(mine, row)) is not None]
        largest += [max(ratios)] if ratios else []
    if not largest:
        return None
    ratio, where = max(largest)
    return _Standing(arm, tuple(judged), ratio, where, len(places) - len(largest))


def _unbeaten(judged: Judgement) -> Judgement:
    """Count a difference from another arm that does not matter as no defeat."""
    return replace(judged, finding=TestOutcome.HOLDS) if judged.finding is TestOutcome.IMMATERIAL else judged


def _nowhere_beaten(standing: _Standing) -> Verdict:
    claim = f"{standing.arm.label} is nowhere beaten in EMD"
    return Verdict(claim, "all", worst(standing.judged), standing.words)


def _one_of(standings: list[_Standing]) -> Verdict:
    """Judge whether some arm is nowhere beaten, and name it, or else the one that others beat by the least."""
    standings = [each for each in standings if not each.missing] or standings
    kept = [each for each in standings if worst(each.judged).finding is TestOutcome.HOLDS]
    open_ = [each for each in standings if worst(each.judged).finding is not TestOutcome.FAILS]
    best = min(kept or open_ or standings, key=lambda each: each.ratio)
    judgement = worst(best.judged)
    words = f"{best.arm.label}: {best.words}" if kept else f"beaten by the least is {best.arm.label}: {best.words}"
    return Verdict("one setting, fixed beforehand, is nowhere beaten in EMD", "all", judgement, words)


def _ratio(this: LevelError | None, other: LevelError | None) -> float | None:
    """Divide a mean error by another over the replicates that both have; None for no such, infinity over 0."""
    shared = this.values.keys() & other.values.keys() if this and other else ()
    if this is None or other is None or not shared:
        return None
    ours, theirs = (sum(each.values[replicate] for replicate in shared) for each in (this, other))
    return ours / theirs if theirs else 1.0 if not ours else float("inf")


def _race(race: str, name: str, max_size: int = 25_000) -> DataSet:
    """Load states and their block groups by people of a race; block groups without any have size 0."""
    load = partial(census2000_race, race, "states", max_size=max_size)
    note = f"census2000_race: people of a race per block group of 2000, nation / 51 states, K = {max_size:,}"
    of = "" if max_size == 25_000 else f", K = {max_size:,}"
    return DataSet(f"{name} by block group{of}", load, (1, 51), max_size, 193_585, True, note)


RACES = (("white", "White"), ("black", "Black"), ("nhpi", "Hawaiian"))
WHITE, BLACK, HAWAIIAN = (_race(*race) for race in RACES)

OWN_SEED = 20_260
"""Of the generated census: of this experiment alone."""

CENSUS_1_000 = generated_census(
    "Census, generated for X2, K = 1,000",
    "counties",
    1_000,
    CENSUS_GROUPS,
    "census_like with a seed of its own, nation / 51 states / 3,143 counties, K = 1,000",
    seed=OWN_SEED,
)
CENSUS_10_000 = generated_census(
    "Census, generated for X2, K = 10,000",
    "divisions",
    10_000,
    CENSUS_GROUPS,
    "census_like with a seed of its own, nation / 9 divisions / 51 states, K = 10,000",
    seed=OWN_SEED,
)
TAXI_REAL = replace(KUO_TAXI, fallback=TAXI)

_ALL = Scale(
    (TAXI_REAL, FLIGHTS, CENSUS_1_000, WHITE, BLACK, HAWAIIAN, CENSUS_10_000),
    EPSILONS,
    replicates=30,
    time_limit=3_600,
)

_REDUCED = replace(
    _ALL,
    data=(TAXI_REAL, FLIGHTS, *(_race(*race, max_size=5_000) for race in RACES[1:]), CENSUS_1_000),
    epsilons=(Fraction(1, 10), Fraction(1)),
    replicates=5,
    large=(CENSUS_1_000.name,),
)
"""The sizes of people by race end at 5,000, and 3,195 regions have one replicate: larger posteriors take minutes."""

EXPERIMENT = Experiment(
    id="X2",
    title="Every release",
    part="beyond the papers",
    question="Which release is nearest to the truth at the same total epsilon, and is one of them nowhere beaten?",
    arms=ARMS,
    profiles=profiles(_ALL, quick=replace(_ALL, data=(TAXI_SMALL, FLIGHTS, CENSUS_SMALL), epsilons=(Fraction(1),)))
    | {Profile.REDUCED: _REDUCED},
    plot=plot,
    verdicts=verdicts,
    measure=measure,
    memory=memory,
    seed="X2: every release, first used in this experiment",
)
