"""The experiment HP0: a small search for the settings of HPD-Fixed and HPD-Gen that the other experiments use.

The paper names settings and prints none. Both methods get the same number of trials, on noise that no other experiment
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
    HPD,
    SEARCHED_COMPONENTS,
    SEARCHED_RATES,
    hpd,
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
TRIED = {
    (name, components, rate): hpd(name, components, rate, f"{name}, {components} components, rate {rate:g}")
    for name in HPD
    for components, rate in product(SEARCHED_COMPONENTS, SEARCHED_RATES[name])
}
"""The arms by method, components and rate."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per epsilon: the largest error against components, a line per method and rate."""
    found = errors_of(frame, LARGEST)
    epsilons = sorted(found.values_of("epsilon"))
    figure = new_figure(max(6.4, 4.8 * len(epsilons)), 4.6)
    panels = figure.subplots(1, max(1, len(epsilons)), squeeze=False, sharey=True)[0]
    lines = {(name, rate): f"{name}, rate {rate:g}" for name in HPD for rate in SEARCHED_RATES[name]}
    style = arm_looks([*lines.values()])
    for axes, epsilon in zip(panels, epsilons, strict=False):
        for place, ((name, rate), label) in enumerate(lines.items()):
            rows = [(k, found.one(arm=TRIED[name, k, rate].label, epsilon=epsilon)) for k in SEARCHED_COMPONENTS]
            there = [(k, row) for k, row in rows if row is not None]
            axes.errorbar(
                [1.04 ** (place - 1.5) * k for k, _ in there], [row.mean for _, row in there],
                [row.standard_error for _, row in there], label=label, **style[label].marks, capsize=3,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(SEARCHED_COMPONENTS, [f"{k:,}" for k in SEARCHED_COMPONENTS])
        axes.set_xticks([], minor=True)
        finish(axes, "components, log", "largest error of a query (share), log", f"epsilon {epsilon:g}")
    error_axis(panels[0])
    legend_below(figure, panels, 2)
    head(figure, "HP0: settings of HPD-Fixed and HPD-Gen, largest error of a 3-way query\nbars: one standard error")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge whether the settings that the other experiments use have the smallest largest errors of those tried."""
    return list(_chosen(errors_of(frame, LARGEST)))


def ranked(found: LevelErrors, name: str) -> list[tuple[float, str]]:
    """List the settings of a method, best first, by the geometric mean over epsilons of their mean errors."""
    labels = [arm.label for (method, *_), arm in TRIED.items() if method == name]
    means = {label: [np.log(row.mean) for row in found.where(arm=label)] for label in labels}
    return sorted((float(np.exp(fmean(logs))), label) for label, logs in means.items() if logs)


def _chosen(found: LevelErrors) -> Iterator[Verdict]:
    for name, chosen in CHOSEN.items():
        label = TRIED[name, *chosen].label
        ranking = ranked(found, name)
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
    title="Settings of HPD",
    paper=liu.PAPER,
    part="settings, of which it prints none",
    question="With how many components and which rate do HPD-Fixed and HPD-Gen err least?",
    arms=tuple(TRIED.values()),
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
