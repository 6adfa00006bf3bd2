"""The experiment K6: two consistent levels beside the omniscient reference (Kuo et al. 2018, figure 5).

The reference knows which sizes occur and measures those alone: sqrt(2) / epsilon entities per size that occurs. It is a
yardstick, not a bound; its constant is restored, not read off the paper.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgsr.estimators import Matching
from pgsr.experiments.engine.experiment import Experiment, Profile, Scale
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.summary import level_errors
from pgsr.experiments.engine.verdicts import Verdict, at_most, compared, not_judged
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import (
    EPSILONS,
    HALF,
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
    HAWAIIAN_STATES,
    SMALL_STATES,
    SYNTHETIC_PART_STATES,
    SYNTHETIC_STATES,
    WHITE_STATES,
    cause_on,
    paper_name,
)
from pgsr.experiments.kuo2018.epsilon_figures import (
    Line,
    compared_words,
    epsilon_panels,
    number,
    where,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CONSISTENT, OMNISCIENT = "consistent", "omniscient"
OMNISCIENT_LABEL = "omniscient reference (not a method)"

COMPARABLE = 3.0
"""The paper says "comparable" without a number; this factor is ours."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw error against epsilon per level, the omniscient line dashed."""
    style = arm_looks([arm.label for arm in ARMS])
    lines = [Line(label, level_errors(frame, CONSISTENT).where(arm=label), look) for label, look in style.items()]
    omniscient = level_errors(frame, OMNISCIENT).where(arm=ARMS[0].label)
    lines.append(Line(OMNISCIENT_LABEL, omniscient, arm_looks([OMNISCIENT_LABEL])[OMNISCIENT_LABEL], "--"))
    return epsilon_panels(lines, "K6 (figure 5): two levels, consistent")


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the better of both against the reference, and which is better on which data."""
    return [*_as_good(frame), *_none_dominates(frame)]


def _as_good(frame: "pd.DataFrame") -> Iterator[Verdict]:
    errors, reference = level_errors(frame, CONSISTENT), level_errors(frame, OMNISCIENT)
    for data, epsilon, level in errors.values_of("data", "epsilon", "level"):
        rows = errors.where(data=data, epsilon=epsilon, level=level).rows
        best = min(rows, key=lambda row: row.mean)
        line = reference.one(data=data, epsilon=epsilon, level=level, arm=best.arm)
        if line is None:
            continue
        found = at_most(best.values, line.values, COMPARABLE)
        place, words = where(best, errors.n_levels), compared_words(best.arm, best, OMNISCIENT, line)
        yield Verdict(kuo.AS_GOOD_AS_OMNISCIENT.words, place, found, words, cause_on(data))


def _none_dominates(frame: "pd.DataFrame") -> Iterator[Verdict]:
    errors = level_errors(frame, CONSISTENT)
    for data, epsilon, level in errors.values_of("data", "epsilon", "level"):
        part = errors.where(data=data, epsilon=epsilon, level=level)
        hc, hg = (part.one(arm=arm.label) for arm in ARMS)
        if hc is None or hg is None:
            continue
        # The paper says which is better on White and Synthetic; elsewhere the figures speak for themselves.
        pair = {"Synthetic": (hc, hg), "White": (hg, hc)}.get(paper_name(data))
        found = not_judged("no claim on this data set") if pair is None else compared(pair[0].values, pair[1].values)
        remark = "" if pair is not None else f"; {'Hc' if hc.mean < hg.mean else 'Hg'} is better by {_less(hc, hg)}"
        words = compared_words("Hc x Hc", hc, "Hg x Hg", hg) + remark
        yield Verdict(kuo.NONE_DOMINATES.words, where(hc, errors.n_levels), found, words, cause_on(data))


def _less(one, other) -> str:
    return f"{number(abs(one.mean - other.mean))} entities"


ARMS = tuple(one_arm(combined(views), *views) for views in ((HC, HC), (HG, HG)))

EXPERIMENT = Experiment(
    id="K6",
    title="Two consistent levels",
    paper=kuo.PAPER,
    part="figure 5",
    question="How far are consistent releases from one that knows which sizes occur?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_STATES,), (TENTH, ONE), replicates=2, time_limit=60),
        Profile.QUICK: Scale(
            (SYNTHETIC_PART_STATES, HAWAIIAN_STATES, WHITE_STATES), (TENTH, HALF, ONE), 5, time_limit=120
        ),
        Profile.PAPER: Scale((SYNTHETIC_STATES, HAWAIIAN_STATES, WHITE_STATES), EPSILONS, 10, time_limit=1_200),
    },
    plot=plot,
    verdicts=verdicts,
    measure=posts_record({CONSISTENT: WithSmallestSize(Matching)}),
    memory=ranked_memory,
)
