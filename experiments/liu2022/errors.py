"""The experiments HP1 and HP3: errors on queries of groups and persons (Liu and Wu 2022, figures 2 and 4)."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Scale
from pgsr.experiments.engine.summary import LevelErrors
from pgsr.experiments.engine.verdicts import Verdict, separated
from pgsr.experiments.liu2022 import published as liu
from pgsr.experiments.liu2022.arms import (
    HPD_FIXED,
    HPD_GEN,
    MARGINALS,
    PRINTED,
    TUNED,
    query_grid,
    scales,
    synthesis_memory,
    synthesis_record,
)
from pgsr.experiments.liu2022.data import NHTS, NHTS_REDUCED, REFERRALS, SMALL_REDUCED
from pgsr.experiments.liu2022.error_figures import (
    LARGEST,
    MEAN,
    cause_of,
    error_figure,
    errors_of,
    share,
    smaller_than,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ASKED = ("Q_G + Q_I",)
ARMS = (PRINTED, TUNED, HPD_FIXED, HPD_GEN, MARGINALS)


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per data set: the largest error against epsilon."""
    return error_figure(frame, LARGEST, ARMS, "HP1: figure 2, largest error of a 3-way query of groups or persons")


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims on figure 2, and whether HPD-Fixed beats independent marginals."""
    found = errors_of(frame, LARGEST)
    return [
        *smaller_than(found, liu.CLAIMS["figure 2a"], HPD_FIXED, HPD_GEN),
        *smaller_than(found, liu.CLAIMS["figure 2b"], PRINTED, HPD_GEN),
        *smaller_than(found, f"{TUNED.label}, has a smaller largest error than HPD-Gen", TUNED, HPD_GEN, Cause.READING),
        *_small_is_worse(found),
        *_beats_independence(found, "largest error"),
    ]


def plot_means(frame: "pd.DataFrame") -> "Figure":
    """Draw the same panels with the mean error."""
    return error_figure(frame, MEAN, ARMS, "HP3: figure 4, mean error of the 3-way queries of groups and persons")


def verdicts_on_means(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims on figure 4, whose order is said to be that of figure 2, and our claims by mean errors."""
    found = errors_of(frame, MEAN)
    return [
        *smaller_than(found, liu.CLAIMS["figure 4a"], HPD_FIXED, HPD_GEN),
        *smaller_than(found, liu.CLAIMS["figure 4b"], PRINTED, HPD_GEN),
        *smaller_than(found, f"{TUNED.label}, has a smaller mean error than HPD-Gen", TUNED, HPD_GEN, Cause.READING),
        *_beats_independence(found, "mean error"),
    ]


def _beats_independence(found: LevelErrors, what: str) -> Iterator[Verdict]:
    claim = f"HPD-Fixed has a smaller {what} than {MARGINALS.label} at epsilon 1"
    yield from smaller_than(found, claim, HPD_FIXED, MARGINALS, Cause.OURS, epsilon=1.0)


def _small_is_worse(found: LevelErrors) -> Iterator[Verdict]:
    """Judge whether errors on referrals are larger than on the larger data sets, which have independent noise."""
    large = [name for name in found.values_of("data") if name in [d.name for d in NHTS.with_fallbacks()]]
    for epsilon in found.values_of("epsilon"):
        for arm in (HPD_FIXED, HPD_GEN):
            small = found.one(data=REFERRALS.name, epsilon=epsilon, arm=arm.label)
            other = found.one(data=large[0], epsilon=epsilon, arm=arm.label) if large else None
            if small is not None and other is not None:
                words = f"{small.data} {share(small.mean)}, {other.data} {share(other.mean)}"
                where = f"{arm.label}, epsilon {epsilon:g}"
                apart, cause = separated(small.values.values(), other.values.values()), cause_of(small, Cause.CLAIM)
                yield Verdict(liu.CLAIMS["figure 2c"], where, apart, words, cause)


EXPERIMENT = Experiment(
    id="HP1",
    title="Synthetic populations, largest error",
    paper=liu.PAPER,
    part="figure 2",
    question="How well do private synthetic households answer queries of households and of persons?",
    arms=ARMS,
    profiles=scales(
        ASKED,
        SMALL_REDUCED,
        Scale(
            (NHTS_REDUCED, NHTS, REFERRALS),
            (Fraction(1, 10), Fraction(1)),
            replicates=5,
            time_limit=120,
            grid=query_grid(ASKED, 50, 30),
        ),
        (NHTS_REDUCED, NHTS, REFERRALS),
    ),
    plot=plot,
    verdicts=verdicts,
    measure=synthesis_record,
    memory=synthesis_memory,
    seed="HP1",
)

MEANS = replace(
    EXPERIMENT,
    id="HP3",
    title="Synthetic populations, mean error",
    paper=liu.PAPER,
    part="figure 4",
    question="And on average over the queries? (cells of HP1)",
    plot=plot_means,
    verdicts=verdicts_on_means,
    cells_of=EXPERIMENT,
)
