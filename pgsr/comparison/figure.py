"""The figure of a comparison: time and status by arm, and errors by arm and level."""

from textwrap import fill
from typing import TYPE_CHECKING

from pgsr.comparison.row import Row
from pgsr.figures.drawing import BLACK, LEVELS, Look, finish, head, legend_below, level_name, log_labels, new_figure
from pgsr.methods.method import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATUS_LOOKS = {
    Status.OPTIMAL: (Look(BLACK, "o"), "proved optimal"),
    Status.FEASIBLE: (Look(BLACK, "o", open=True), "feasible, not proved"),
    Status.RELAXED: (Look(BLACK, "D", open=True), "conditions relaxed"),
}
"""All black: colours are those of levels."""


def figure(rows: list[Row], title: str) -> "Figure":
    """Draw time to solve by arm, and the L1 error by arm and level if a truth was given."""
    scored = any(row.errors for row in rows)
    drawn = new_figure(6.4 * (2 if scored else 1), 2.4 + 0.36 * len(rows))
    panels = drawn.subplots(1, 2 if scored else 1, squeeze=False, sharey=True)[0]
    _times(panels[0], rows)
    if scored:
        _errors(panels[1], rows)
    panels[0].set_yticks(range(len(rows)), [row.method for row in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    legend_below(drawn, panels, 6)
    head(drawn, fill(title, 65 * len(panels)))
    return drawn


def _times(axes: "Axes", rows: list[Row]) -> None:
    """A mark per answer. An arm without one has its status in words, and no place on the axis."""
    axes.set_xscale("log")
    for status, (look, words) in STATUS_LOOKS.items():
        ran = [(row.result.seconds.total, place) for place, row in enumerate(rows) if row.status is status]
        timed = [(seconds, place) for seconds, place in ran if seconds > 0]
        axes.plot([s for s, _ in timed], [p for _, p in timed], linestyle="", markersize=8, label=words, **look.marks)
        for seconds, place in timed:
            axes.annotate(_seconds(seconds), (seconds, place), (8, 0), textcoords="offset points", va="center")
        for _, place in set(ran) - set(timed):
            _say(axes, place, f"{words}; no time reported")
    for place, row in enumerate(rows):
        if row.status not in STATUS_LOOKS:
            _say(axes, place, f"no answer: {row.status.name.lower().replace('_', ' ')}")
    axes.margins(x=0.25)
    _finish(axes, "time to formulate, solve and round (s), log", "time")


def _errors(axes: "Axes", rows: list[Row]) -> None:
    """A mark per level. An error of 0 has no place on a logarithmic axis and is said in words."""
    axes.set_xscale("log")
    n_levels = max(len(row.errors.get("l1", ())) for row in rows)
    for level in range(n_levels):
        known = [(row.errors["l1"][level], place) for place, row in enumerate(rows) if row.errors]
        shown = [(error, place) for error, place in known if error > 0]
        look = Look(LEVELS[level % len(LEVELS)].colour, LEVELS[level % len(LEVELS)].marker, level >= len(LEVELS))
        axes.plot([e for e, _ in shown], [p for _, p in shown], linestyle="", markersize=8,
                  label=level_name(level, n_levels), **look.marks)  # fmt: skip
    for place, row in enumerate(rows):
        exact = [level_name(level, n_levels) for level, error in enumerate(row.errors.get("l1", ())) if error == 0]
        if exact:
            _say(axes, place, f"no error: {', '.join(exact)}", least=True)
        if not row.errors:
            _say(axes, place, "no answer")
    _finish(axes, "L1 error against the truth, summed over a level (groups), log", "error")


def _say(axes: "Axes", place: int, words: str, least: bool = False) -> None:
    """Words on an arm's line, at the end of the largest values or of the least."""
    x, side = (0.01, "left") if least else (0.99, "right")
    axes.annotate(words, (x, place), xycoords=("axes fraction", "data"), va="center", ha=side, color="#555555",
                  style="italic")  # fmt: skip


def _finish(axes: "Axes", x_label: str, title: str) -> None:
    log_labels(axes.xaxis)
    finish(axes, x_label, "", title)
    axes.grid(axis="x", color="#e5e5e5")


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"
