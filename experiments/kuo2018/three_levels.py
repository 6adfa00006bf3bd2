"""The experiment K7: three levels without and with consistency (Kuo et al. 2018, figure 6)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgsr.estimators import Matching, NoConsistency
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Profile, Scale
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.summary import level_errors
from pgsr.experiments.engine.verdicts import Judgement, TestOutcome, Verdict, at_most, compared, worst
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import (
    EPSILONS,
    HC,
    HG,
    ONE,
    TENTH,
    WithSmallestSize,
    combined,
    one_arm,
    posts_record,
    ranked_memory,
)
from pgsr.experiments.kuo2018.data import (
    CENSUS_STATES,
    HAWAIIAN_WEST,
    SYNTHETIC_PART_WEST,
    SYNTHETIC_WEST,
    TAXI,
    WHITE_WEST,
    cause_on,
    why_other,
)
from pgsr.experiments.kuo2018.epsilon_figures import Line, compared_words, epsilon_panels, where

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CONSISTENT, ALONE = "consistent", "alone"

CHEAP = 1.1
"""The paper gives no number; consistency that costs at most a tenth counts as cheap here."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw error against epsilon per level: solid lines with consistency, dotted ones without."""
    style = arm_looks([arm.label for arm in ARMS])
    lines = [
        Line(f"{label}, {words}", level_errors(frame, metric).where(arm=label), look, dashes)
        for label, look in style.items()
        for metric, words, dashes in ((CONSISTENT, "consistent", "-"), (ALONE, "without consistency", ":"))
    ]
    return epsilon_panels(lines, "K7 (figure 6): three levels, without and with consistency")


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge what consistency costs, Hc against Hg by level, and over all levels."""
    return [*_cost(frame), *_better(frame), *_overall(frame)]


def _cost(frame: "pd.DataFrame") -> Iterator[Verdict]:
    consistent, alone = level_errors(frame, CONSISTENT), level_errors(frame, ALONE)
    for ours in consistent:
        other = alone.one(data=ours.data, epsilon=ours.epsilon, arm=ours.arm, level=ours.level)
        if other is not None:
            found = at_most(ours.values, other.values, CHEAP)
            words = compared_words("consistent", ours, "alone", other)
            place = f"{where(ours, 3)}, {ours.arm}"
            yield Verdict(kuo.CONSISTENCY_IS_CHEAP.words, place, found, words, cause_on(ours.data))


def _better(frame: "pd.DataFrame") -> Iterator[Verdict]:
    errors = level_errors(frame, CONSISTENT)
    for hc in errors.where(arm=ARMS[0].label):
        hg = errors.one(data=hc.data, epsilon=hc.epsilon, level=hc.level, arm=ARMS[1].label)
        if hg is not None:
            words = compared_words("Hc", hc, "Hg", hg)
            claim = f"{kuo.HC_BETTER_OVERALL.words}, by level"
            yield Verdict(claim, where(hc, 3), compared(hg.values, hc.values), words, Cause.READING)


def _overall(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge whether Hc wins more panels than Hg, counted by data set, epsilon and level."""
    better = list(_better(frame))
    found = [verdict.finding for verdict in better]
    wins, losses = (sum(finding is which for finding in found) for which in (TestOutcome.HOLDS, TestOutcome.FAILS))
    if found:
        overall = _majority(wins, losses, [verdict.judgement for verdict in better])
        words = f"of {len(found)} panels and epsilons Hc is better in {wins}, Hg in {losses}"
        names = level_errors(frame, CONSISTENT).values_of("data")
        cause = Cause.STAND_IN if any(map(why_other, names)) else Cause.CLAIM
        yield Verdict(kuo.HC_BETTER_OVERALL.words, "all data sets", overall, words, cause)


def _majority(wins: int, losses: int, each: list[Judgement]) -> Judgement:
    """Judge by the majority of panels that a test decides; not judged if too few replicates decide none."""
    judged = [one for one in each if one.finding is not TestOutcome.NOT_JUDGED]
    if not judged:
        return worst(each)
    finding = TestOutcome.HOLDS if wins > losses else TestOutcome.FAILS if wins < losses else TestOutcome.UNDECIDED
    test = "majority of the panels that a t-test decides at 5 %"
    return Judgement(finding, test, min(one.replicates or 0 for one in judged))


ARMS = tuple(one_arm(combined(views), *views) for views in ((HC,) * 3, (HG,) * 3))

EXPERIMENT = Experiment(
    id="K7",
    title="Three levels, without and with consistency",
    paper=kuo.PAPER,
    part="figure 6",
    question="What does consistency cost on three levels, and is Hc or Hg better?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((CENSUS_STATES,), (TENTH, ONE), replicates=2, time_limit=60),
        Profile.QUICK: Scale((SYNTHETIC_PART_WEST, HAWAIIAN_WEST, WHITE_WEST, TAXI), (TENTH, ONE), 5, time_limit=120),
        Profile.PAPER: Scale(
            (SYNTHETIC_WEST, HAWAIIAN_WEST, WHITE_WEST, TAXI), EPSILONS, replicates=10, time_limit=1_200
        ),
    },
    plot=plot,
    verdicts=verdicts,
    measure=posts_record({CONSISTENT: WithSmallestSize(Matching), ALONE: WithSmallestSize(NoConsistency)}),
    memory=ranked_memory,
)
