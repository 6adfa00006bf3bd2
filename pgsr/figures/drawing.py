"""Parts of figures: colours, markers, titles, legends and axes. Matplotlib is imported when something is drawn.

Colours are those of Okabe and Ito 2008, which everybody can tell apart, and a marker goes with each for print in black
and white. Every colour means one thing in a figure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from pgsr.machine.extras import extra

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, BLACK, GREY = "#56B4E9", "#D55E00", "#000000", "#777777"


@dataclass(frozen=True)
class Look:
    """The way one arm is drawn.

    Attributes:
        colour, marker: as Matplotlib names them; no marker for lines.
        open: whether the marker is not filled.
    """

    colour: str
    marker: str
    open: bool = False

    @property
    def marks(self) -> dict[str, Any]:
        """The keywords for `plot` and `errorbar`."""
        return {
            "color": self.colour,
            "marker": self.marker or None,
            "markerfacecolor": "white" if self.open else self.colour,
        }


LEVELS = (Look("#1B3A8A", "o"), Look("#7C7B78", "s"), Look("#C9A227", "^"), Look("#7A3B69", "D"))
"""The looks of the levels of a hierarchy, root first."""


def new_figure(width: float, height: float) -> "Figure":
    """Make a figure of this size in inches, which notebooks display."""
    from pgsr.figures.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")


def level_name(level: int, n_levels: int) -> str:
    """Name a level of a hierarchy.

    Example:
        >>> [level_name(level, 3) for level in range(3)]
        ['root', 'level 1', 'leaves']
    """
    return "root" if level == 0 else "leaves" if level == n_levels - 1 else f"level {level}"


def tex(text: str) -> str:
    """Write words for Matplotlib: names of problems and epsilon as formulas, dollar signs as they are.

    Example:
        >>> tex("M_H^r, L1"), tex("Hc, total epsilon"), tex("epsilon 0.1")
        ('$M_{H}^{r}$, $L_{1}$', '$H_{c}$, total ε', 'ε = 0.1')
    """
    greek = re.sub(r"\bepsilon( (?=\d))?", lambda found: "ε = " if found[1] else "ε", text.replace("$", r"\$"))
    return named(greek, "${}_{{{}}}", "^{{{}}}", "$")


def named(text: str, below: str, above: str, end: str) -> str:
    """Write every name of a problem, such as M_H^dp, with its index and its power in the given formats."""

    def written(found: re.Match[str]) -> str:
        letter, index = filter(None, found.groups()[:-1])
        return below.format(letter, index) + (above.format(found[7].replace("^", ",")) if found[7] else "") + end

    return _NAMES.sub(written, text)


_NAMES = re.compile(r"\b(?:([MH])_([A-Za-z]+)|(H)([cg])\b|(L)([12])\b)(?:\^(split\^r|split|dp|r|OP)\b)?")


def finish(axes: "Axes", x_label: str, y_label: str, title: str) -> None:
    """Finish a panel: labels with units, a light grid, no box."""
    axes.set_xlabel(tex(x_label))
    axes.set_ylabel(tex(y_label))
    axes.set_title(tex(title), fontsize="medium")
    axes.grid(axis="y", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def head(figure: "Figure", title: str) -> None:
    """Write the title above all panels; lines too long for the figure are wrapped."""
    most = int(LETTERS * figure.get_figwidth())
    lines = (piece for line in title.split("\n") for piece in wrap(line, most))
    figure.suptitle(tex("\n".join(lines)), fontsize="medium")


def legend_below(figure: "Figure", panels: "Iterable[Axes]", columns: int = 4) -> None:
    """Write one legend below: every label once, if something is drawn for it, in as many columns as fit."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if _is_drawn(handle):
                found.setdefault(label, handle)
    if found:
        widest = HANDLE + max(map(len, found)) / LETTERS
        columns = max(1, min(columns, int(figure.get_figwidth() / widest)))
        labels, place = [*map(tex, found)], "outside lower center"
        figure.legend([*found.values()], labels, loc=place, ncols=columns, fontsize="small", frameon=False)


LETTERS = 13.0
"""Letters per inch of text in a title; text in a legend is smaller."""


HANDLE = 0.55
"""Inches beside the text of a legend's entry."""


def _is_drawn(handle: "Artist") -> bool:
    """Tell whether a line, or the line of error bars, has points."""
    line = handle[0] if isinstance(handle, tuple) else handle
    points = getattr(line, "get_xdata", None)
    return points is None or len(points()) > 0


def log_labels(axis: "Axis", most: int = 0) -> None:
    """Label a logarithmic axis in plain figures: at least three labels, however short it is.

    An axis too short for three round places is widened. Horizontal axes have room for five short labels, vertical ones
    for seven, unless `most` says otherwise.
    """
    with extra("plots"):
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    horizontal = axis is axis.axes.xaxis
    write, most = (short_number, most or 5) if horizontal else (plain_number, most or 7)
    low, high = axis.get_view_interval()
    smallest, largest = min(low, high), max(low, high)
    places = log_places(smallest, largest, most)
    first, last = min(smallest, places[0]), max(largest, places[-1])
    # Through the limits of the axes, because other panels may share them.
    set_limits = axis.axes.set_xlim if horizontal else axis.axes.set_ylim
    set_limits(*((first, last) if low <= high else (last, first)))
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def log_places(low: float, high: float, most: int) -> list[float]:
    """Choose three to `most` round places on a logarithmic axis from `low` to `high`.

    Example:
        >>> log_places(3, 40, 7), log_places(0.9, 1.1, 7), log_places(1, 1e9, 7)
        ([5.0, 10.0, 20.0], [0.5, 1.0, 2.0], [1.0, 100.0, 10000.0, 1000000.0, 100000000.0])
    """
    first, last = floor(log10(low)), ceil(log10(high))
    decades = range(first - 1, last + 2)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        grid = [round(digit * 10.0**decade, 15 - min(decade, 0)) for decade in decades for digit in digits]
        inside = [place for place in grid if low <= place * (1 + 1e-9) and place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    else:
        step = ceil(len(inside) / most)
        return inside[::step]
    if len(inside) < 3:
        middle = (low * high) ** 0.5
        nearest = sorted(grid, key=lambda place: abs(log10(place / middle)))
        while len(inside) < 3:
            inside = sorted({*inside, next(place for place in nearest if place not in inside)})
    return inside


def plain_number(value: float) -> str:
    """Write a label of an axis.

    Example:
        >>> plain_number(20_000), plain_number(0.05), plain_number(3e7)
        ('20,000', '0.05', '3e7')
    """
    if value >= 1e6 or 0 < value < 1e-4:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.10g}"


def short_number(value: float) -> str:
    """Write a label where there is little room, with k for thousands and M for millions.

    Example:
        >>> short_number(20_000), short_number(0.05), short_number(3e6), short_number(500)
        ('20k', '0.05', '3M', '500')
    """
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if factor <= value < 1_000 * factor:
            return f"{value / factor:.10g}{unit}"
    return plain_number(value)
