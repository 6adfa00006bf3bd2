"""The figures of regions: counts of one by size, or its sizes by rank, of one or several tables; or a bar for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgsr.figures.drawing import BLACK, BLUE, ORANGE, SKY, Look, finish, head, legend_below, new_figure, tex
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COUNTED, NOISY, ESTIMATED = Look(BLACK, "_"), Look(ORANGE, "x"), Look(BLUE, "o", open=True)
"""What a colour means in every figure of a region: counts as they are, noisy values, what was made of these."""

BARS = {COUNTED: "#C9CDD1", ESTIMATED: SKY}
"""The colours of bars, lighter than those of marks that may lie on them."""

MOST_MARKS = 120
"""Sizes up to which every value has a mark; more are lines."""

MOST_REGIONS = 40
"""Regions up to which every one is named on the axis."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The values of one table in one region.

    Attributes:
        label: in the legend.
        values: by size 0..K; shape (K + 1,).
        look: one of the three above.
    """

    label: str
    values: np.ndarray
    look: Look


def sizes_figure(
    title: str,
    curves: Sequence[Curve],
    cumulative: bool,
    below: Curve | None = None,
    band: Curve | None = None,
) -> "Figure":
    """Draw values by size, and in a second panel how far the others are from the curve `below`, if it is given.

    Exact counts are bars, and so is an estimate that stands alone. A `band` has two rows of values, its lower and its
    upper end; it is drawn around the curve `below`.
    """
    others = [curve for curve in [*curves, band] if curve not in (below, None)] if below is not None else []
    drawn = new_figure(8.4, 3.6 if not others else 5.6)
    rows = drawn.subplots(2 if others else 1, 1, sharex=True, squeeze=False)[:, 0]
    for curve in curves:
        bars = curve.look is COUNTED or (len(curves) == 1 and curve.look is ESTIMATED)
        few = len(curve.values) <= MOST_MARKS
        (_draw_bars if bars and few and not cumulative else _draw)(rows[0], curve, curve.values)
    if band is not None:
        _draw_band(rows[0], band, band.values)
    y_label = "groups of at most\nthis size" if cumulative else "groups of this size"
    _finish(rows[0], "" if others else "group size (entities)", f"{y_label} (number)")
    if below is not None and others:
        rows[1].axhline(0, color=below.look.colour, linewidth=0.8)
        for curve in others:
            draw = _draw_band if curve is band else _draw
            draw(rows[1], curve, curve.values - below.values)
        _finish(rows[1], "group size (entities)", f"difference from {below.label}\n(groups)")
    legend_below(drawn, rows)
    head(drawn, title)
    return drawn


def _draw_band(axes: "Axes", band: Curve, ends: np.ndarray) -> None:
    """Draw a whisker from the lower to the upper end of each size, or fill the space between many of them."""
    sizes = np.arange(ends.shape[1])
    if len(sizes) <= MOST_MARKS:
        middle = ends.mean(axis=0)
        axes.errorbar(sizes, middle, ends[1] - middle, fmt="none", ecolor=BLACK, capsize=3, label=band.label)
        return
    axes.fill_between(
        sizes, *ends, step="mid", color=band.look.colour, alpha=0.3, linewidth=0, label=band.label
    )  # fmt: skip


def _draw_bars(axes: "Axes", curve: Curve, values: np.ndarray) -> None:
    axes.bar(np.arange(len(values)), values, 0.8, color=BARS[curve.look], label=curve.label, zorder=1)


def ranks_figure(title: str, curve: Curve) -> "Figure":
    """Draw sizes by rank, the smallest group first."""
    drawn = new_figure(8.4, 3.6)
    axes = drawn.subplots()
    _draw(axes, curve, curve.values)
    _finish(axes, "rank of the group, smallest first (number)", "group size (entities)")
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
        axes.set_yticks(places, [tex(str(names[place])) for place in order])
    else:
        axes.set_yticks([])
    legend_below(drawn, [axes])
    head(drawn, title)
    return drawn


def _draw(axes: "Axes", curve: Curve, values: np.ndarray) -> None:
    place = np.arange(len(values))
    if len(values) <= MOST_MARKS:
        width = 14 if curve.look is COUNTED else 5
        axes.plot(place, values, linestyle="", markersize=width, markeredgewidth=1.4, label=curve.label,
                  **curve.look.marks)  # fmt: skip
    else:
        axes.plot(place, values, linewidth=0.9, color=curve.look.colour, label=curve.label)


def _finish(axes: "Axes", x_label: str, y_label: str) -> None:
    finish(axes, x_label, y_label, "")
    for axis in (axes.xaxis, axes.yaxis):
        _label(axis)


def _label(axis: "Axis") -> None:
    """Label an axis with at least three whole numbers, thousands apart, however narrow the range is."""
    with extra("plots"):
        from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = axis.get_view_interval()
    if high - low < 3:
        set_limits = axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim
        set_limits(min(low, (low + high) / 2 - 1.5), max(high, (low + high) / 2 + 1.5))
    short = axis is axis.axes.xaxis and high < 100
    axis.set_major_locator(MaxNLocator(nbins=14 if short else 7, min_n_ticks=3, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
