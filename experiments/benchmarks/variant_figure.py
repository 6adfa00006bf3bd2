"""The figure of a comparison of variants: time by method, and error by level, a line per variant."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgsr.comparison.row import Row
from pgsr.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    LEVELS,
    ORANGE,
    PINK,
    VERMILION,
    Look,
    finish,
    head,
    legend_below,
    level_name,
    log_labels,
    new_figure,
)
from pgsr.methods.method import ANSWERED, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES: dict[str, tuple[tuple[str, ...], Look]] = {
    "pgsr, no solver": ((), Look(BLACK, "o")),
    "CVXPY": (("Cvxpy",), Look(BLUE, "s")),
    "Gurobi": (("Gurobi",), Look(VERMILION, "^")),
    "OR-tools": (("MathOpt", "CpSat", "Flow"), Look(ORANGE, "D")),
    "SciPy, SCIP": (("Scip",), Look(GREEN, "v")),
    "matching by a solver": (("Matching(T", "Matching(A"), Look(PINK, "P")),
}
"""Families of methods: how their labels begin, and how they are drawn."""


def figure(title: str, sections: Sequence[tuple[str, Sequence[Row]]]) -> "Figure":
    """Draw times on the left, and on the right errors of the first arm of every variant that has an answer.

    Args:
        title: of the comparison.
        sections: the words of every variant, and its rows.
    """
    sections = list(_lines(sections))
    drawn = new_figure(13.0, 2.2 + 0.36 * len(sections))
    times, errors = drawn.subplots(1, 2, sharey=True)
    _times(times, sections)
    _errors(errors, sections)
    times.set_yticks(range(len(sections)), [words for words, _ in sections])
    times.set_ylim(len(sections) - 0.5, -0.5)
    legend_below(drawn, [times, errors], 10)
    head(drawn, title)
    return drawn


def family(method: str) -> str:
    """Name the family of a method by its label.

    Example:
        >>> [family(label) for label in ("Cvxpy('HIGHS')", "TreeProjection()", "Flow()")]
        ['CVXPY', 'pgsr, no solver', 'OR-tools']
    """
    found = [name for name, (starts, _) in FAMILIES.items() if method.startswith(starts)]
    return found[0] if found else next(iter(FAMILIES))


def _lines(sections: Sequence[tuple[str, Sequence[Row]]]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Give the lines of the figure: a problem with all its methods, or one release."""
    for words, rows in sections:
        name = words.partition(":")[0]
        yield from [(row.method, [row]) for row in rows] if name == "releases" else [(name, rows)]


def _times(axes: "Axes", sections: Sequence[tuple[str, Sequence[Row]]]) -> None:
    axes.set_xscale("log")
    for name, (_, look) in FAMILIES.items():
        for proved in (True, False):
            marks = Look(look.colour, look.marker, open=not proved).marks
            found = [
                (row.result.seconds.total, place)
                for place, (_, rows) in enumerate(sections)
                for row in rows
                if row.status in ANSWERED and (row.status is Status.OPTIMAL) is proved and family(row.method) == name
            ]
            label = name if proved else f"{name}: not proved optimal"
            axes.plot([s for s, _ in found], [p for _, p in found], linestyle="", markersize=7, label=label, **marks)
    for place, (_, rows) in enumerate(sections):
        without = sum(row.status not in ANSWERED for row in rows)
        if without:
            words = "no answer" if without == len(rows) else f"{without} without an answer"
            axes.annotate(words, (0.99, place), xycoords=("axes fraction", "data"), ha="right", va="center",
                          fontsize="small", style="italic", color="#555555")  # fmt: skip
    least, most = axes.get_xlim()
    axes.set_xlim(least, most * 40)  # room for the words
    log_labels(axes.xaxis)
    finish(axes, "time to formulate, solve and round (s), log", "", "time of every method")
    axes.grid(axis="x", color="#e5e5e5")


def _errors(axes: "Axes", sections: Sequence[tuple[str, Sequence[Row]]]) -> None:
    axes.set_xscale("log")
    answered = [
        (place, row.errors["cumulative_l1"])
        for place, (_, rows) in enumerate(sections)
        for row in [next((row for row in rows if row.errors), None)]
        if row is not None
    ]
    levels = max((len(values) for _, values in answered), default=0)
    for level in range(levels):
        look = LEVELS[level % len(LEVELS)]
        found = [(values[level], place) for place, values in answered if values[level] > 0]
        axes.plot([e for e, _ in found], [p for _, p in found], linestyle="", markersize=7,
                  label=f"error, {level_name(level, levels)}", **look.marks)  # fmt: skip
    log_labels(axes.xaxis)
    finish(axes, "EMD per region (members), log", "", "error of the first answer")
    axes.grid(axis="x", color="#e5e5e5")
