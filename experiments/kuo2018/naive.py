"""The experiment K2: the naive method at the top level (Kuo et al. 2018, section 4.1).

The printed errors do not come from the projection that the paper states. Cutting negative counts off and letting the
total go gives errors of their size, as the cumulative difference then grows up to K. Both readings are run, and Hc
beside them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr import CountOfCounts, Problem, Result, View
from pgsr.algorithms import SimplexProjection
from pgsr.data import Estimate
from pgsr.estimators import NoConsistency
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale
from pgsr.experiments.engine.figures import draw_printed, error_axis, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import stand_beside
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared, not_judged
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, ONE, WithSmallestSize, per_level
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_NATION,
    SMALL_ROOT,
    SYNTHETIC_ROOT,
    TAXI_ROOT,
    WHITE_ROOT,
    cause_on,
    is_the_papers,
    paper_name,
)
from pgsr.experiments.kuo2018.epsilon_figures import BARS, compared_words
from pgsr.figures.drawing import finish, head, legend_below, new_figure
from pgsr.methods.gate import judged_release
from pgsr.methods.method import Seconds
from pgsr.noise import Measurement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ClippedAtZero:
    """A post-process that only sets negative counts to 0: at epsilon 1 an empty size gains 0.96 groups on average."""

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        estimate = Estimate(measurement.hierarchy, View.COUNTS, np.maximum(measurement.matrix, 0))
        return judged_release(measurement, estimate, Seconds())


def clip_sizes(truth: CountOfCounts, parameters: Mapping[str, Any]) -> CountOfCounts:
    """Count sizes above K as K."""
    size = int(parameters["K"])
    if size >= truth.max_size:
        return truth
    counts = truth.counts
    kept = np.concatenate([counts[:, :size], counts[:, size:].sum(axis=1, keepdims=True)], axis=1)
    return CountOfCounts(truth.hierarchy, kept, truth.name)


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per K at epsilon 1: error by data set, printed numbers as dashes."""
    errors = level_errors(frame, "cumulative_l1", ["K"]).where(epsilon=1)
    grid, order = errors.values_of("parameters"), [*kuo.DATA, ""]
    names = sorted(errors.values_of("data"), key=lambda name: order.index(paper_name(name)))
    style = arm_looks([arm.label for arm in ARMS])
    figure = new_figure(max(6.4, 1.35 * len(names) * max(1, len(grid))), 4.6)
    panels = figure.subplots(1, max(1, len(grid)), squeeze=False, sharey=True)[0]
    for axes, free in zip(panels, grid, strict=False):
        of_size = errors.where(parameters=free)
        for i, (label, look) in enumerate(style.items()):
            rows = [(j, row) for j, name in enumerate(names) for row in of_size.where(data=name, arm=label)]
            axes.errorbar(
                [j + (i - 1) * 0.15 for j, _ in rows], [row.mean for _, row in rows],
                [row.standard_error for _, row in rows],
                label=label, linestyle="", **look.marks, markersize=7, capsize=3,
            )  # fmt: skip
        for j, name in enumerate(names):
            of_data = [p for p in kuo.K2 if p.data == paper_name(name)]
            draw_printed(axes, [(j, p.value) for p in of_data], 0.6, own=is_the_papers(name))
        axes.set_yscale("log")
        axes.set_xlim(-0.6, max(0.6, len(names) - 0.4))
        axes.set_xticks(range(len(names)), [wrapped(name) for name in names], fontsize="small")
        left = axes is panels[0]
        label = "cumulative L1 distance at the root (entities), log\nEMD where the total is right" if left else ""
        finish(axes, "", label, f"K = {int(dict(free)['K']):,}")
    error_axis(panels[0])  # all panels share the vertical axis
    legend_below(figure, panels, 2)
    head(figure, f"K2: section 4.1, two readings of the naive method, epsilon 1\n{BARS}")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the naive method against Hc, in either reading."""
    errors = level_errors(frame, "cumulative_l1", ["K"])
    return list(_worse(errors))


def _worse(errors: LevelErrors) -> Iterator[Verdict]:
    for data, epsilon, free in errors.values_of("data", "epsilon", "parameters"):
        part = errors.where(data=data, epsilon=epsilon, parameters=free)
        hc = part.one(arm=ARMS[2].label)
        for arm in ARMS[:2]:
            naive = part.one(arm=arm.label)
            if naive is None or hc is None:
                continue
            # Two orders of magnitude are the least that "orders" can mean.
            found = compared(naive.values, hc.values, times=100)
            if not paper_name(data):
                found = not_judged("no data set of the paper")
            words = compared_words("naive", naive, "Hc", hc)
            place = f"{data}, epsilon {epsilon:g}, K = {int(dict(free)['K']):,}, {arm.label}"
            declared = Cause.READING if _reading(arm, free) else Cause.CLAIM
            yield Verdict(kuo.NAIVE_IS_FAR_WORSE.words, place, found, words, cause_on(data, declared))


def _reading(arm: Arm, free: tuple) -> str:
    """Name what the paper does not state: clipping, or another K. The projection at its K is what it states."""
    words, size = ("projection" if arm is ARMS[0] else "clipped"), int(dict(free)["K"])
    return "" if arm is ARMS[0] and free == GRID[0] else f"{words}, K = {size:,}"


ARMS = (
    Arm("projection as stated", per_level(View.COUNTS), SimplexProjection(), Problem.naive),
    Arm("clipped at zero, total not kept", per_level(View.COUNTS), ClippedAtZero()),
    Arm("Hc", per_level(HC), WithSmallestSize(NoConsistency)),
)

GRID = ((("K", 100_000),), (("K", 20_000),))
ROOTS = (TAXI_ROOT, HAWAIIAN_NATION, WHITE_ROOT, SYNTHETIC_ROOT)

PRINTED_NUMBERS = tuple(
    each
    for free, arm in product(GRID, ARMS[:2])
    for root in ROOTS
    for data in root.with_fallbacks()
    if free == GRID[0] or is_the_papers(data.name)
    for each in stand_beside(
        kuo.K2,
        [replace(data, fallback=None)],
        {"naive": [arm.label]},
        {"metric": "cumulative_l1"} | dict(free),
        reading=_reading(arm, free),
    )
)
"""Both readings at either K; on other data than the paper's at its own K alone."""

EXPERIMENT = Experiment(
    id="K2",
    title="The naive method",
    paper=kuo.PAPER,
    part="section 4.1: table of the naive method",
    question="How large is the error of noisy counts projected to the right total, and whose are the printed numbers?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_ROOT,), (ONE,), replicates=2, time_limit=60, grid=((("K", 200),), (("K", 50),))),
        Profile.QUICK: Scale(ROOTS, (ONE,), replicates=5, time_limit=120, grid=GRID),
        Profile.PAPER: Scale(ROOTS, EPSILONS, replicates=10, time_limit=600, grid=GRID),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    prepare=clip_sizes,
)
