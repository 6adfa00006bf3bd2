"""The parts of figures that only experiments need: axes of epsilons and errors, and names of data sets in short lines.

What all figures share is in `pgsr.figures.drawing`; colours and markers of arms are in `engine.looks`.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING

from pgsr.experiments.engine.looks import PRINTED
from pgsr.figures.drawing import log_labels, new_figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def panels_in_rows(n: int, across: int, width: float, height: float) -> "tuple[Figure, np.ndarray]":
    """Make a figure of n panels, so many across, whose first column has room for names of arms at its left.

    Args:
        n: of panels; places that are left in the last row are blank.
        across: the most panels in a row.
        width, height: of a panel in inches.

    Returns:
        The figure, and its panels; shape (rows, columns).
    """
    columns, rows = max(1, min(across, n)), max(1, ceil(n / across))
    figure = new_figure(max(7.5, 2.6 + width * columns), height * rows + 1)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[n:]:
        axes.set_axis_off()
    return figure, grid


def epsilon_axis(axes: "Axes", epsilons: "Sequence[float]") -> None:
    """Make the horizontal axis logarithmic, with a label at every epsilon that was run."""
    axes.set_xscale("log")
    axes.set_xticks(list(epsilons), [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    if epsilons:
        axes.set_xlim(min(epsilons) / 1.5, max(epsilons) * 1.5)


def error_axis(axes: "Axes") -> None:
    """Make the vertical axis logarithmic, with several labels."""
    axes.set_yscale("log")
    log_labels(axes.yaxis)


def wrapped(name: str, width: int = 16) -> str:
    """Break the name of a data set into short lines, for titles and ticks.

    Example:
        >>> wrapped("Census, generated anew, K = 100")
        'Census,\\ngenerated anew,\\nK = 100'
    """
    return "\n".join(wrap(name, width))


def draw_printed(axes: "Axes", at: Iterable[tuple[float, float]], width: float, *, own: bool) -> None:
    """Draw printed numbers by place across and value: as a line on the paper's own data, dotted on other data."""
    for place, value in at:
        axes.plot([place - width / 2, place + width / 2], [value, value], "-" if own else ":", color=PRINTED.colour,
                  linewidth=1.8, label="printed" if own else "printed, of other data")  # fmt: skip
