"""How figures look: colours that anyone can tell apart, a marker each for print in black and white."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
