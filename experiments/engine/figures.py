"""How figures look: colours that anyone can tell apart, a marker each for print in black and white."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008; yellow comes last, because it is weak on paper.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str


PRINTED = Look("#000000", "_")
"""Numbers printed in a paper."""


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """A look per label, in order.

    Example:
        >>> looks(["Hc", "Hg"])["Hg"]
        Look(colour='#E69F00', marker='s')
    """
    return {label: Look(_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]) for i, label in enumerate(labels)}


def level_name(level: int, n_levels: int) -> str:
    """
    Example:
        >>> [level_name(level, 3) for level in range(3)]
        ['root', 'level 1', 'leaves']
    """
    return "root" if level == 0 else "leaves" if level == n_levels - 1 else f"level {level}"


def finish(axes: "Axes", x_label: str, y_label: str, title: str) -> None:
    """Labels with units, a light grid, no box."""
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize="medium")
    axes.grid(axis="y", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def head(figure: "Figure", title: str) -> None:
    """The title above all panels; lines too long for the figure are wrapped."""
    most = int(LETTERS * figure.get_figwidth())
    lines = (piece for line in title.split("\n") for piece in wrap(line, most))
    figure.suptitle("\n".join(lines), fontsize="medium")


def legend_below(figure: "Figure", panels: "Iterable[Axes]", columns: int = 4) -> None:
    """One legend below: every label of any panel once, if something is drawn for it, in as many columns as fit."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if _is_drawn(handle):
                found.setdefault(label, handle)
    if found:
        widest = HANDLE + max(map(len, found)) / LETTERS
        columns = max(1, min(columns, int(figure.get_figwidth() / widest)))
        place = "outside lower center"
        figure.legend([*found.values()], [*found], loc=place, ncols=columns, fontsize="small", frameon=False)


LETTERS = 13.0
"""Per inch of text in a title; text in a legend is smaller."""

HANDLE = 0.55
"""Inches beside the text of a legend's entry."""


def _is_drawn(handle: "Artist") -> bool:
    """Whether a line, or the line of error bars, has points."""
    line = handle[0] if isinstance(handle, tuple) else handle
    points = getattr(line, "get_xdata", None)
    return points is None or len(points()) > 0
