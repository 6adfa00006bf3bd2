"""The experiment K9: absolute values against squares in the isotonic fits of Hc and Hg (Kuo et al. 2018, section 4.3).

Hc is fitted by absolute values in the paper, Hg by squares. All arms of one view see the same noise.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgsr import View
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1, isotonic_l2_means
from pgsr.estimators import NoConsistency
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import draw_printed, error_axis, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import stand_beside
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared, worst
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, HG, ONE, WithSmallestSize, per_level, ranked_memory
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_NATION,
    SMALL_ROOT,
    SYNTHETIC_PART_ROOT,
    TAXI_ROOT,
    WHITE_ROOT,
    cause_on,
    is_the_papers,
    paper_name,
)
from pgsr.experiments.kuo2018.epsilon_figures import BARS, compared_words
from pgsr.figures.drawing import finish, head, legend_below, new_figure
from pgsr.methods import metrics

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def fitted(trial: Trial) -> Record:
    """Measure the error at the root, and the share of fitted values that are whole before any rounding."""
    of_arm = trial.arm.post
    assert isinstance(of_arm, WithSmallestSize)
    measurement = trial.noise.measure(trial.truth, trial.source)
    result = trial.mechanism.post_process(measurement, trial.time_limit)
    view, row = measurement.view_of(0), measurement.row(0)
    least = trial.data.smallest_size
    if view is HC:
        values, norm, low, high = row[least:-1], of_arm.fit.cumulative_norm, 0, int(measurement.region_totals[0])
    else:
        values, norm, low, high = row, of_arm.fit.ranked_norm, least, measurement.max_size
    optimum = of_arm.fit.optimum
    raw = isotonic_l1(values, low, high, optimum) if norm == 1 else isotonic_l2_means(values, low, high)
    emd = metrics.level_means(trial.truth, metrics.emd(trial.truth, result.estimate))
    return {"status": result.status.name, "reason": "", "levels": {"emd": emd, "whole": [float((raw % 1 == 0).mean())]}}


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw the error and the share of fitted values that are whole, by data set at epsilon 1."""
    figure = new_figure(10.5, 4.6)
    panels = figure.subplots(1, 2)
    style = arm_looks([arm.label for arm in ARMS])
    names = sorted(level_errors(frame, "emd").values_of("data"))
    for axes, metric, unit in zip(
        panels, ("emd", "whole"), ("EMD at the root (entities), log", "part of fitted values"), strict=True
    ):
        errors = level_errors(frame, metric).where(epsilon=1)
        for i, (label, look) in enumerate(style.items()):
            rows = [(j, row) for j, name in enumerate(names) for row in errors.where(data=name, arm=label)]
            axes.errorbar(
                [j + (i - 2) * 0.13 for j, _ in rows], [row.mean for _, row in rows],
                [row.standard_error for _, row in rows],
                label=label, linestyle="", **look.marks, markersize=6, capsize=3,
            )  # fmt: skip
        axes.set_xlim(-0.6, max(0.6, len(names) - 0.4))
        axes.set_xticks(range(len(names)), [wrapped(name) for name in names], fontsize="small")
        finish(axes, "", unit, "error" if metric == "emd" else "whole numbers before rounding")
    for place, name in enumerate(names):
        for printed, shift in ((p, {"Hc": -0.26, "Hg": 0.13}[p.arm]) for p in kuo.K3 if p.data == paper_name(name)):
            draw_printed(panels[0], [(place + shift, printed.value)], 0.13, own=is_the_papers(name))
    error_axis(panels[0])
    panels[1].set_ylim(-0.03, 1.05)
    legend_below(figure, panels, 3)
    head(
        figure, f"K9: section 4.3, absolute values (L1) against squares (L2), epsilon 1\n{BARS}; printed: Hc L1, Hg L2"
    )
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge L1 against L2 for Hc and for Hg, and the share of whole values."""
    errors, whole = level_errors(frame, "emd"), level_errors(frame, "whole")
    return [*_better(errors), *_whole(whole)]


def _better(errors: LevelErrors) -> Iterator[Verdict]:
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        for better, other, claim, declared in PAIRS:
            one, two = part.one(arm=better), part.one(arm=other)
            if one is not None and two is not None:
                words = compared_words(better, one, other, two)
                found, cause = compared(two.values, one.values), cause_on(data, declared)
                yield Verdict(claim, f"{data}, epsilon {epsilon:g}", found, words, cause)


def _whole(whole: LevelErrors) -> Iterator[Verdict]:
    for data, epsilon in whole.values_of("data", "epsilon"):
        rows = {arm.label: whole.one(data=data, epsilon=epsilon, arm=arm.label) for arm in ARMS[:3]}
        words = ", ".join(f"{label} {100 * row.mean:.1f} %" for label, row in rows.items() if row is not None)
        one = rows[ARMS[0].label]
        middle = rows[ARMS[1].label]
        if one is not None and middle is not None:
            mostly = worst(compared(row.values, 0.5) for row in (one, middle))
            place, words = f"{data}, epsilon {epsilon:g}", f"whole values: {words}"
            yield Verdict(kuo.L1_IS_INTEGRAL.words, place, mostly, words, cause_on(data))


def _arm(label: str, view: View, fit: IsotonicFit) -> Arm:
    return Arm(label, per_level(view), WithSmallestSize(NoConsistency, fit))


ARMS = (
    _arm("Hc L1, smallest optimum", HC, IsotonicFit()),
    _arm("Hc L1, midpoint of optima", HC, IsotonicFit(optimum=Optimum.MIDPOINT)),
    _arm("Hc L2", HC, IsotonicFit(cumulative_norm=2)),
    _arm("Hg L2", HG, IsotonicFit()),
    _arm("Hg L1, smallest optimum", HG, IsotonicFit(ranked_norm=1)),
)

PAIRS = (
    (ARMS[0].label, ARMS[2].label, kuo.L1_IS_BETTER.words, Cause.CLAIM),
    (ARMS[1].label, ARMS[2].label, kuo.L1_IS_BETTER.words, Cause.READING),
    (ARMS[3].label, ARMS[4].label, "for Hg the square is better than the absolute value", Cause.OURS),
)
"""The one that should be better, the other, the claim, and whose. The paper does not say which L1 optimum it takes."""

ROOTS = (TAXI_ROOT, HAWAIIAN_NATION, WHITE_ROOT, SYNTHETIC_PART_ROOT)

AS_PRINTED = {"Hc": [ARMS[0].label], "Hg": [ARMS[3].label]}
"""Our arms by the paper's names: its Hc is fitted by absolute values, its Hg by squares."""

EXPERIMENT = Experiment(
    id="K9",
    title="L1 against L2",
    paper=kuo.PAPER,
    part="section 4.3",
    question="Are absolute values better than squares in isotonic fits, and are their solutions whole?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_ROOT,), (ONE,), replicates=2, time_limit=60),
        Profile.QUICK: Scale(ROOTS, (ONE,), replicates=5, time_limit=120),
        Profile.PAPER: Scale(ROOTS, EPSILONS, replicates=10, time_limit=600),
    },
    plot=plot,
    verdicts=verdicts,
    printed=(
        *stand_beside(kuo.K3, ROOTS, AS_PRINTED),
        *stand_beside(kuo.K3, ROOTS, {"Hc": [ARMS[1].label]}, reading="midpoint of optima"),
    ),
    measure=fitted,
    memory=ranked_memory,
)
