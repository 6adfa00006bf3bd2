"""The panels of errors by arm, an arm a line from top to bottom: a mark per level, or the spread over all places."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from pgsr.experiments.engine.summary import LevelErrors
from pgsr.figures.drawing import BLUE, LEVELS, VERMILION, level_name, log_labels, tex

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_by_arm(axes: "Axes", part: LevelErrors, arms: Sequence[str], *, labelled: bool) -> None:
    """Draw the means of these arms with two standard errors, on a logarithmic axis, which shows no mean of 0."""
    for level in range(part.n_levels):
        # Leaves look alike in trees of two and of three levels, which stand side by side.
        look = LEVELS[2 if part.n_levels == 2 and level == 1 else level]
        shown = [(place, row) for place, label in enumerate(arms) if (row := part.one(arm=label, level=level))]
        axes.errorbar(
            [row.mean for _, row in shown], [place for place, _ in shown],
            xerr=[2 * row.standard_error for _, row in shown], linestyle="", **look.marks,
            markersize=5, label=level_name(level, part.n_levels),
        )  # fmt: skip
    axes.set_xscale("log")
    log_labels(axes.xaxis)
    axes.set_yticks(range(len(arms)), [*map(tex, arms)] if labelled else [""] * len(arms))
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.grid(axis="x", color="#e5e5e5")


SPREAD = "mark: median; line: smallest to largest"


def draw_spread(axes: "Axes", values: Mapping[str, Sequence[float]], chosen: str = "") -> None:
    """Draw of every arm the median of its values, a line from the smallest to the largest, and the largest in figures.

    Args:
        values: by label, in the order of lines from top to bottom; an arm without values has an empty line.
        chosen: the arm that is coloured.
    """
    for place, (label, found) in enumerate(values.items()):
        if found:
            colour = VERMILION if label == chosen else BLUE
            axes.plot([min(found), max(found)], [place, place], color=colour, linewidth=1.4)
            axes.plot([median(found)], [place], marker="o", markersize=6, linestyle="", color=colour)
            axes.annotate(short(max(found)), (max(found), place), (6, 0), textcoords="offset points", color=colour,
                          fontsize="small", va="center")  # fmt: skip
    axes.set_yticks(range(len(values)), [*map(tex, values)])
    axes.set_ylim(max(len(values), 1) - 0.5, -0.5)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** 0.2)
    log_labels(axes.xaxis)
    axes.grid(axis="x", color="#e5e5e5")


def by_worst(values: Mapping[str, Sequence[float]]) -> list[str]:
    """Sort labels by the largest of their values; those without any are left out.

    Example:
        >>> by_worst({"a": [1, 9], "b": [2, 3], "c": []})
        ['b', 'a']
    """
    return sorted((label for label, found in values.items() if found), key=lambda label: max(values[label]))


def short(ratio: float) -> str:
    """Write a ratio in two figures at least, below 10 with a digit behind the point.

    Example:
        >>> short(1.648), short(112.4)
        ('1.6', '112')
    """
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"
