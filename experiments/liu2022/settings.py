"""The experiment HP0: a small search for the settings of HPD-Fixed, HPD-Gen and MWEM that the other experiments use.

The paper names settings and prints none. Every method gets the same number of trials, on noise that no other experiment
sees. A search on confidential data would cost budget; here it makes a comparison fair, and publishes nothing.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Scale
from pgsr.experiments.engine.figures import error_axis
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.summary import LevelErrors
from pgsr.experiments.engine.verdicts import Verdict, smaller
from pgsr.experiments.liu2022 import published as liu
from pgsr.experiments.liu2022.arms import (
    CHOSEN,
    CHOSEN_MWEM,
    HPD,
    SEARCHED_COMPONENTS,
    SEARCHED_MWEM,
    SEARCHED_RATES,
    SynthesisArm,
    hpd,
    mwem,
    query_grid,
    scales,
    synthesis_memory,
    synthesis_record,
)
from pgsr.experiments.liu2022.data import NHTS_REDUCED, SMALL_REDUCED
from pgsr.experiments.liu2022.error_figures import LARGEST, errors_of, share
from pgsr.figures.drawing import finish, head, legend_below, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ASKED = ("Q_G + Q_I",)
TRIED: dict[str, dict[tuple, SynthesisArm]] = {
    name: {
        (components, rate): hpd(name, components, rate, f"{name}, {components} components, rate {rate:g}")
        for components, rate in product(SEARCHED_COMPONENTS, SEARCHED_RATES[name])
    }
    for name in HPD
}
"""The arms by method and settings."""

TRIED["MWEM"] = {tried: mwem(*tried) for tried in SEARCHED_MWEM}
BEST = {**CHOSEN, "MWEM": CHOSEN_MWEM}


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a column per epsilon: the largest error of HPD against components above, that of MWEM against rounds below.

    A line is a rate of a method, or what MWEM does per round.
    """
    found = errors_of(frame, LARGEST)
    epsilons = sorted(found.values_of("epsilon"))
    of_hpd = {
        f"{name}, rate {rate:g}": [(k, TRIED[name][k, rate]) for k in SEARCHED_COMPONENTS]
        for name in HPD
        for rate in SEARCHED_RATES[name]
    }
    of_mwem: dict[str, list[tuple[int, SynthesisArm]]] = {}
    for (rounds, gamma, passes), arm in TRIED["MWEM"].items():
        of_mwem.setdefault(f"MWEM, gamma {gamma}, passes {passes}", []).append((rounds, arm))
    there = {row.arm for row in found}
    rows = [
        (lines, what)
        for lines, what in ((of_hpd, "components"), (of_mwem, "rounds"))
        if any(arm.label in there for arms in lines.values() for _, arm in arms)
    ]
    figure = new_figure(max(6.4, 4.8 * len(epsilons)), 1.0 + 3.6 * len(rows))
    grid = figure.subplots(max(1, len(rows)), max(1, len(epsilons)), squeeze=False, sharey=True)
    style = arm_looks([*of_hpd, *of_mwem])
    for axes, (lines, what) in zip(grid, rows, strict=False):
        for ax, epsilon in zip(axes, epsilons, strict=False):
            for place, (label, arms) in enumerate(lines.items()):
                known = [(x, row) for x, arm in arms if (row := found.one(arm=arm.label, epsilon=epsilon)) is not None]
                ax.errorbar(
                    [1.04 ** (place - 1.5) * x for x, _ in known], [row.mean for _, row in known],
                    [row.standard_error for _, row in known], label=label, **style[label].marks, capsize=3,
                )  # fmt: skip
            ax.set_xscale("log")
            ticks = sorted({x for arms in lines.values() for x, _ in arms})
            ax.set_xticks(ticks, [f"{x:,}" for x in ticks])
            ax.set_xticks([], minor=True)
            finish(ax, f"{what}, log", "largest error of a query (share), log", f"epsilon {epsilon:g}")
    error_axis(grid[0, 0])
    legend_below(figure, grid.flat, 2)
    head(figure, "HP0: settings of HPD and MWEM, largest error of a 3-way query\nbars: one standard error")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge whether the settings that the other experiments use have the smallest largest errors of those tried."""
    return list(_chosen(errors_of(frame, LARGEST)))


def ranked(found: LevelErrors, name: str) -> list[tuple[float, str]]:
    """List the settings of a method, best first, by the geometric mean over epsilons of their mean errors."""
    labels = [arm.label for arm in TRIED[name].values()]
    means = {label: [np.log(row.mean) for row in found.where(arm=label)] for label in labels}
    return sorted((float(np.exp(fmean(logs))), label) for label, logs in means.items() if logs)


def _chosen(found: LevelErrors) -> Iterator[Verdict]:
    for name, best in BEST.items():
        label = TRIED[name][best].label
        ranking = ranked(found, name)
        if not ranking:
            continue
        words = "; ".join(f"{share(error)} {each}" for error, each in ranking[:3])
        for data, epsilon in found.values_of("data", "epsilon"):
            at = found.where(data=data, epsilon=epsilon)
            others = [at.one(arm=each) for _, each in ranking if each != label]
            claim = f"{label}, its setting in the other experiments, errs least of the {len(ranking)} that were tried"
            yield Verdict(
                claim,
                f"{data}, epsilon {epsilon:g}",
                smaller(at.one(arm=label), *others),
                f"geometric means over epsilons, best first: {words}",
                Cause.OURS,
            )


EXPERIMENT = Experiment(
    id="HP0",
    title="Settings of HPD and MWEM",
    paper=liu.PAPER,
    part="settings, of which it prints none",
    question="With which settings do HPD-Fixed, HPD-Gen and MWEM err least?",
    arms=tuple(arm for arms in TRIED.values() for arm in arms.values()),
    profiles=scales(
        ASKED,
        SMALL_REDUCED,
        Scale((NHTS_REDUCED,), (Fraction(1),), replicates=2, time_limit=300, grid=query_grid(ASKED, 400, 30)),
        (NHTS_REDUCED,),
    ),
    plot=plot,
    verdicts=verdicts,
    measure=synthesis_record,
    memory=synthesis_memory,
    seed="HP0: settings of HPD, on noise of its own",
)
