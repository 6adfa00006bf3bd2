"""The figures of intervals: a band by size, or a bar per region."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgsr.figures.drawing import BLUE, SKY, finish, head, legend_below, new_figure
from pgsr.figures.region_figure import ESTIMATED, MOST_MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_REGIONS = 40
"""Regions up to which every one is named on the axis."""


def sizes_band_figure(title: str, lower: np.ndarray, estimate: np.ndarray, upper: np.ndarray) -> "Figure":
    """Draw a band by size 0..K with the estimate in it; every array has shape (K + 1,)."""
    drawn = new_figure(8.4, 3.6)
    axes = drawn.subplots()
    sizes = np.arange(len(estimate))
    axes.fill_between(sizes, lower, upper, color=SKY, alpha=0.5, linewidth=0, step="mid", label="interval")
    if len(sizes) <= MOST_MARKS:
        axes.plot(sizes, estimate, linestyle="", markersize=5, label="estimate", **ESTIMATED.marks)
    else:
        axes.plot(sizes, estimate, linewidth=0.9, color=BLUE, label="estimate")
    finish(axes, "group size (entities)", "groups (number)", "")
    axes.locator_params(axis="x", integer=True)
    legend_below(drawn, [axes])
    head(drawn, title)
    return drawn


def regions_figure(
    title: str, value: str, names: Sequence[str], lower: np.ndarray, estimate: np.ndarray, upper: np.ndarray
) -> "Figure":
    """Draw an interval of `value` per region, the smallest estimate at the bottom; arrays have shape (regions,)."""
    drawn = new_figure(8.4, 1.6 + 0.22 * min(len(names), MOST_REGIONS))
    axes = drawn.subplots()
    order = np.argsort(estimate, kind="stable")
    places = np.arange(len(names))
    axes.hlines(places, lower[order], upper[order], color=SKY, linewidth=3, label="interval")
    axes.plot(estimate[order], places, linestyle="", markersize=5, label="estimate", **ESTIMATED.marks)
    finish(axes, value, "" if len(names) <= MOST_REGIONS else "regions, by estimate", "")
    axes.grid(axis="x", color="#e5e5e5")
    if len(names) <= MOST_REGIONS:
        axes.set_yticks(places, [str(names[place]) for place in order])
    else:
        axes.set_yticks([])
    legend_below(drawn, [axes])
    head(drawn, title)
    return drawn
