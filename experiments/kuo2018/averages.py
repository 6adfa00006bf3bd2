"""The experiment K5: weighted against plain averaging on two levels (Kuo et al. 2018, figure 4)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pgsr.estimators import Matching, Merge
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Profile, Scale
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict, compared, worst
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import (
    EPSILONS,
    ONE,
    TENTH,
    WithSmallestSize,
    combinations,
    combined,
    one_arm,
    posts_record,
    ranked_memory,
)
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_STATES,
    SMALL_STATES,
    SYNTHETIC_PART_STATES,
    SYNTHETIC_STATES,
    TAXI_HALVES,
    WHITE_STATES,
    cause_on,
)
from pgsr.experiments.kuo2018.epsilon_figures import (
    Line,
    compared_words,
    epsilon_panels,
    measured,
    where,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WEIGHTED, AVERAGE = "weighted", "average"


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw what plain averages err over what weighted merging errs, by epsilon per level."""
    lines = [Line(label, _ratio(frame, label), look) for label, look in arm_looks([arm.label for arm in ARMS]).items()]
    title = "K5 (figure 4): errors of plain averages over those of weighted ones; above 1 weighting is better"
    return epsilon_panels(lines, title, "average\nover weighted, log")


def _ratio(frame: "pd.DataFrame", label: str) -> LevelErrors:
    """Divide errors with plain averages by those with weighted ones, replicate by replicate."""
    weighted, average = (level_errors(frame, merge).where(arm=label) for merge in (WEIGHTED, AVERAGE))
    found = []
    for row in weighted:
        other = average.one(data=row.data, epsilon=row.epsilon, level=row.level)
        both = row.values.keys() & other.values.keys() if other is not None else ()
        ratios = {r: other.values[r] / row.values[r] for r in sorted(both) if other is not None and row.values[r]}
        if ratios:
            found.append(replace(row, values=ratios))
    return LevelErrors(found)


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge weighted against average by data set, epsilon, combination and level, and which combination is worst."""
    return [*_weighting(frame), *_worst(frame)]


def _weighting(frame: "pd.DataFrame") -> Iterator[Verdict]:
    weighted, average = level_errors(frame, WEIGHTED), level_errors(frame, AVERAGE)
    for ours in weighted:
        other = average.one(data=ours.data, epsilon=ours.epsilon, arm=ours.arm, level=ours.level)
        if other is None:
            continue
        claim = kuo.WEIGHTING_HELPS_BELOW if ours.level else kuo.WEIGHTING_HELPS_AT_THE_TOP
        words = compared_words(WEIGHTED, ours, AVERAGE, other)
        if ours.data == TAXI_HALVES.name:
            words += "; a root with 2 children, the paper looked at 52 states only"
        place, found = f"{where(ours, 2)}, {ours.arm}", compared(other.values, ours.values)
        yield Verdict(claim.words, place, found, words, _cause(ours.data))


def _worst(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge which combination is the worst with plain averaging.

    The paper leaves one out of its figure because it was off the scale, and does not name it.
    """
    average = level_errors(frame, AVERAGE).where(level=0)
    for data, epsilon in average.values_of("data", "epsilon"):
        rows = sorted(average.where(data=data, epsilon=epsilon), key=lambda row: row.mean)
        if len(rows) < len(ARMS):
            continue
        last = rows[-1]
        beyond = [compared(last.values, row.values) for row in rows[:-1]]
        expected = last.arm == ARMS[-1].label
        found = worst(beyond)
        if found.finding is TestOutcome.HOLDS and not expected:
            found = replace(found, finding=TestOutcome.FAILS)  # another one is the worst, beyond doubt
        words = ", ".join(f"{row.arm} {measured(row)}" for row in rows)
        # The paper does not name the combination that is off the scale; this one is our guess.
        place = f"{data}, epsilon {epsilon:g}, root, average"
        yield Verdict(kuo.ONE_IS_OFF_THE_SCALE.words, place, found, words, Cause.READING)


def _cause(data: str) -> Cause:
    """Give a verdict on data where the paper did not look, its taxi data, to our reading."""
    return Cause.READING if data == TAXI_HALVES.name else cause_on(data)


ARMS = tuple(one_arm(combined(views), *views) for views in combinations(2))

STATES = (SYNTHETIC_STATES, HAWAIIAN_STATES, WHITE_STATES, TAXI_HALVES)

EXPERIMENT = Experiment(
    id="K5",
    title="Weighted against plain averages",
    paper=kuo.PAPER,
    part="figure 4",
    question="Does merging by inverse variance beat the plain average, and where?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_STATES,), (TENTH, ONE), replicates=2, time_limit=60),
        Profile.QUICK: Scale(
            (SYNTHETIC_PART_STATES, HAWAIIAN_STATES, WHITE_STATES, TAXI_HALVES), (TENTH, ONE), 5, time_limit=120
        ),
        Profile.PAPER: Scale(STATES, EPSILONS, replicates=10, time_limit=1_200),
    },
    plot=plot,
    verdicts=verdicts,
    measure=posts_record(
        {WEIGHTED: WithSmallestSize(Matching), AVERAGE: WithSmallestSize(partial(Matching, merge=Merge.AVERAGE))},
    ),
    memory=ranked_memory,
)
