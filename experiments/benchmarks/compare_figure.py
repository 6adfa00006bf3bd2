"""The figure of a comparison: time and status by arm, and errors by arm and level."""

from textwrap import fill
from typing import TYPE_CHECKING

from pgsr import Comparison, Status
from pgsr.comparison import Row
from pgsr.experiments.engine.figures import finish, head, legend_below, level_name, log_labels, new_figure
from pgsr.experiments.engine.looks import BLACK, GREY, LEVELS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATUS_LOOKS = {
    Status.OPTIMAL: (Look(BLACK, "o"), "proved optimal"),
    Status.FEASIBLE: (Look(BLACK, "o", open=True), "feasible, not proved"),
    Status.RELAXED: (Look(GREY, "D"), "conditions relaxed"),
}
"""Black and grey: colours are those of levels."""


def figure(table: Comparison) -> "Figure":
    """Draw time to solve by arm, and the L1 error by arm and level if a truth was given."""
    scored = [row for row in table.rows if row.errors]
    drawn = new_figure(6.4 * (2 if scored else 1), 2.4 + 0.36 * len(table.rows))
    panels = drawn.subplots(1, 2 if scored else 1, squeeze=False, sharey=True)[0]
    _times(panels[0], table.rows)
    if scored:
        _errors(panels[1], table.rows)
    panels[0].set_yticks(range(len(table.rows)), [row.method for row in table.rows])
    panels[0].set_ylim(len(table.rows) - 0.5, -0.5)
    legend_below(drawn, panels, 6)
    head(drawn, fill(table.title, 65 * len(panels)))
    return drawn


def _times(axes: "Axes", rows: list[Row]) -> None:
    """A mark per answer. An arm without one has its status in words, and no place on the axis."""
    for status, (look, words) in STATUS_LOOKS.items():
        ran = [(row.result.seconds.total, place) for place, row in enumerate(rows) if row.status is status]
        axes.plot([s for s, _ in ran], [p for _, p in ran], linestyle="", markersize=8, label=words, **look.marks)
        for seconds, place in ran:
            axes.annotate(_seconds(seconds), (seconds, place), (8, 0), textcoords="offset points", va="center")
    for place, row in enumerate(rows):
        if row.status not in STATUS_LOOKS:
            words = f"no answer: {row.status.name.lower().replace('_', ' ')}"
            axes.annotate(words, (0.99, place), xycoords=("axes fraction", "data"), va="center", ha="right",
                          color="#555555", style="italic")  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.25)
    log_labels(axes.xaxis)
    finish(axes, "time to formulate, solve and round (s), log", "", "time")
    axes.grid(axis="x", color="#e5e5e5")


def _errors(axes: "Axes", rows: list[Row]) -> None:
    n_levels = max(len(row.errors.get("l1", ())) for row in rows)
    for level, look in enumerate(LEVELS[:n_levels]):
        known = [(row.errors["l1"][level], place) for place, row in enumerate(rows) if row.errors]
        axes.plot([e for e, _ in known], [p for _, p in known], linestyle="", markersize=8,
                  label=level_name(level, n_levels), **look.marks)  # fmt: skip
    axes.set_xscale("log")
    log_labels(axes.xaxis)
    finish(axes, "L1 error against the truth, summed over a level (groups), log", "", "error")
    axes.grid(axis="x", color="#e5e5e5")


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"
