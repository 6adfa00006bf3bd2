"""The experiment K3: Hc and Hg at the top level (Kuo et al. 2018, slides: table of the top level)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgsr.estimators import NoConsistency
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale
from pgsr.experiments.engine.figures import draw_printed, error_axis, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import Beside, stand_beside
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, agrees, compared, not_judged
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, HG, ONE, WithSmallestSize, per_level, ranked_memory
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
from pgsr.experiments.kuo2018.epsilon_figures import BARS, compared_words, measured, number
from pgsr.figures.drawing import finish, legend_below, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw error at epsilon 1 by data set, printed numbers as dashes."""
    errors = level_errors(frame, "emd").where(epsilon=1)
    order = [*kuo.DATA, ""]
    names = sorted(errors.values_of("data"), key=lambda name: order.index(paper_name(name)))
    style = arm_looks([arm.label for arm in ARMS])
    figure = new_figure(max(6.4, 1.9 * len(names)), 4.4)
    axes = figure.subplots()
    for shift, (label, look) in zip((-0.12, 0.12), style.items(), strict=True):
        rows = [(i, row) for i, name in enumerate(names) for row in errors.where(data=name, arm=label)]
        axes.errorbar(
            [i + shift for i, _ in rows], [row.mean for _, row in rows], [row.standard_error for _, row in rows],
            label=label, linestyle="", **look.marks, markersize=7, capsize=3,
        )  # fmt: skip
        for i, name in enumerate(names):
            of_data = [p for p in kuo.K3 if (p.data, p.arm) == (paper_name(name), label)]
            draw_printed(axes, [(i + shift, p.value) for p in of_data], 0.2, own=is_the_papers(name))
    error_axis(axes)
    axes.set_xlim(-0.6, max(0.6, len(names) - 0.4))
    kinds = {name: all(row.real for row in errors.where(data=name)) for name in names}
    ticks = [f"{wrapped(name)}\n({'' if kinds[name] else 'not '}real data)" for name in names]
    axes.set_xticks(range(len(names)), ticks, fontsize="small")
    finish(
        axes,
        "",
        "EMD at the root (entities), log",
        f"K3: slides, Hc (L1) and Hg (L2), top level, epsilon 1\n{BARS}",
    )
    legend_below(figure, [axes], 3)
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge which of Hc and Hg is better on which data, and the printed number that is no mean."""
    errors = level_errors(frame, "emd")
    return [*_better(errors), *_single_run(errors)]


def _better(errors: LevelErrors) -> Iterator[Verdict]:
    for data, epsilon in errors.values_of("data", "epsilon"):
        hc, hg = (errors.one(data=data, epsilon=epsilon, arm=arm.label) for arm in ARMS)
        if hc is None or hg is None:
            continue
        sparse = paper_name(data) == "Synthetic"
        claim = kuo.HG_IS_BETTER if sparse else kuo.HC_IS_BETTER
        found = compared(hc.values, hg.values) if sparse else compared(hg.values, hc.values)
        if not paper_name(data):
            found = not_judged("no data set of the paper")
        words = compared_words("Hc", hc, "Hg", hg)
        yield Verdict(claim.words, f"{data}, epsilon {epsilon:g}", found, words, cause_on(data))


def _single_run(errors: LevelErrors) -> Iterator[Verdict]:
    ours = errors.one(data=TAXI_ROOT.name, arm="Hc", epsilon=1)
    if ours is not None:
        single = kuo.K3_SINGLE_RUN
        words = f"printed {number(single.value)}, mean {measured(ours)}"
        found = agrees(ours.values.values(), single.value, single.runs)
        claim = "the single run of the authors' README is one like ours"
        yield Verdict(claim, f"{ours.data}, epsilon 1", found, words, Cause.NUMBER)


ARMS = (
    Arm("Hc", per_level(HC), WithSmallestSize(NoConsistency)),
    Arm("Hg", per_level(HG), WithSmallestSize(NoConsistency)),
)

ROOTS = (TAXI_ROOT, HAWAIIAN_NATION, WHITE_ROOT, SYNTHETIC_ROOT)

PRINTED_NUMBERS = (
    *stand_beside(kuo.K3, ROOTS, {"Hc": ["Hc"], "Hg": ["Hg"]}),
    Beside(None, kuo.K3_SINGLE_RUN, "a single run is no mean; a verdict tells whether it is like our runs"),
)

EXPERIMENT = Experiment(
    id="K3",
    title="Hc and Hg at the top level",
    paper=kuo.PAPER,
    part="slides: table of the top level",
    question="How accurate are Hc and Hg for one region, and which is better on which data?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_ROOT,), (ONE,), replicates=2, time_limit=60),
        Profile.QUICK: Scale(ROOTS, (ONE,), 5, time_limit=120),
        Profile.PAPER: Scale(ROOTS, EPSILONS, replicates=10, time_limit=600),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    memory=ranked_memory,
)
