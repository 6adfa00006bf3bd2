"""The parts of figures that only experiments need: axes of epsilons and errors, and names of data sets in short lines.

What all figures share is in `pgsr.figures.drawing`; colours and markers of arms are in `engine.looks`.
"""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from pgsr.figures.drawing import log_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
