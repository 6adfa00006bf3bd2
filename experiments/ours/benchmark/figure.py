"""The figure of the benchmark: mean ranks with bars, and errors over the lower bound."""

from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.summary import LevelErrors
from pgsr.experiments.ours.benchmark.standings import Standings
from pgsr.figures.drawing import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    finish,
    head,
    legend_below,
    log_labels,
    new_figure,
    tex,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = ((BLUE, "o"), (ORANGE, "s"), (VERMILION, "^"))
"""Colours and markers of epsilons, from the largest down."""


def drawn(standings: Standings, times_bound: LevelErrors) -> "Figure":
    """Draw an arm a line, best mean rank first: ranks with bars at the left, multiples of the bound at the right."""
    order = np.argsort(standings.ranks, kind="stable")
    labels = [standings.arms[place] for place in order]
    figure = new_figure(10.5, 1.9 + 0.34 * len(labels))
    left, right = figure.subplots(1, 2)
    _ranks(left, standings, order)
    _bounds(right, times_bound, labels)
    for axes in (left, right):
        axes.set_yticks(range(len(labels)), [*map(tex, labels)] if axes is left else [""] * len(labels))
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.grid(axis="x", color="#e5e5e5")
    legend_below(figure, [left, right], 4)
    head(figure, f"B1: {len(labels)} releases, {len(standings.blocks)} data sets and epsilons, equal total epsilon")
    return figure


def _ranks(axes: "Axes", standings: Standings, order: np.ndarray) -> None:
    ranks, bars = standings.ranks[order], standings.rank_bars[:, order]
    apart = np.abs(np.array([ranks - bars[0], bars[1] - ranks]).clip(min=0))
    axes.errorbar(
        ranks, range(len(ranks)), xerr=apart, linestyle="", color=BLACK, marker="o", markersize=5, capsize=3,
        label="mean rank, 95 % over replicates",
    )  # fmt: skip
    axes.plot(
        [1, 1 + standings.critical_difference], [-0.35, -0.35], color=GREY, linewidth=3,
        label=f"Nemenyi's critical difference, {standings.critical_difference:.1f}",
    )  # fmt: skip
    finish(axes, "mean rank, 1 is best", "", "ranks over data sets and epsilons")


def _bounds(axes: "Axes", times: LevelErrors, labels: list[str]) -> None:
    """Draw the geometric mean over data sets and levels of the error over the lower bound, a mark per epsilon."""
    for epsilon, (colour, marker) in zip(sorted(times.values_of("epsilon"), reverse=True), LOOKS, strict=False):
        at = times.where(epsilon=epsilon)
        values = [[row.mean for row in at.where(arm=label) if row.mean > 0] for label in labels]
        places = [place for place, each in enumerate(values) if each]
        means = [float(np.exp(np.log(values[place]).mean())) for place in places]
        axes.plot(means, places, marker, color=colour, markersize=6, label=f"epsilon {epsilon:g}")
    axes.set_xscale("log")
    log_labels(axes.xaxis)
    finish(axes, "EMD, times the lower bound, log", "", "errors of all levels, geometric mean")
