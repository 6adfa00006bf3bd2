"""The rows of a comparison, and how they look as data frame, text, HTML and figure."""

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgsr.method import ANSWERED, Result, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("integrality", "sign", "consistency", "totals", "entities", "monotone")
"""Of conditions, in the order of columns."""

# Okabe and Ito's palette, distinguishable with any colour vision, and a marker each for print in black and white.
_LOOKS: dict[Status | None, tuple[str, str, str]] = {
    Status.OPTIMAL: ("#009E73", "o", "proved optimal"),
    Status.FEASIBLE: ("#0072B2", "s", "feasible, not proved"),
    Status.RELAXED: ("#E69F00", "D", "conditions relaxed"),
    None: ("#999999", "x", "no accepted answer"),
}
_LEVEL_LOOKS = (
    ("#0072B2", "o"),
    ("#E69F00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#56B4E9", "v"),
    ("#D55E00", "P"),
)


@dataclass(frozen=True, eq=False)
class Row:
    """One arm of a comparison.

    Attributes:
        method: label of the method.
        problem: label of the problem or view it worked on; objectives compare only within one problem.
        result: its result; failures are results too.
        peak_bytes: most memory its process held.
        errors: per kind ("l1", "emd", "cumulative_l1", "total_error") one number per level, root first; empty without
            a truth or an estimate. "l1" and "total_error" are sums of magnitudes over a level's regions, the others
            means; "emd" is there only if every region's total is right.
    """

    method: str
    problem: str
    result: Result
    peak_bytes: int
    errors: dict[str, list[float]] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        return self.result.status

    @property
    def reason(self) -> str:
        return self.result.reason


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows of a comparison, as text, data frame, HTML or figure."""

    rows: list[Row]
    title: str

    def to_frame(self) -> "pd.DataFrame":
        """One row per arm, numbers as numbers: seconds, megabytes, groups and entities.

        `objective_exact` is the objective as text, because integers beyond 2^53 do not fit a float column.
        """
        return frame(self)

    def plot(self) -> "Figure":
        """Time by method, and error by level if a truth was given."""
        return plot(self)

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html(self)


def frame(table: Comparison) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([_record(row) for row in table.rows])


def outcome_frame(table: Comparison) -> "pd.DataFrame":
    """What each arm answered, as text for people."""
    import pandas as pd

    return pd.DataFrame([_outcome(row) for row in table.rows])


def error_frame(table: Comparison) -> "pd.DataFrame":
    """Errors against the truth per level, as text for people; empty without a truth."""
    import pandas as pd

    rows = [row for row in table.rows if row.errors]
    if not rows:
        return pd.DataFrame()
    comparable = all("emd" in row.errors for row in rows)
    distance = "emd" if comparable else "cumulative_l1"
    heads = {"l1": "L1", "emd": "EMD", "cumulative_l1": "cum. L1", "total_error": "totals off"}
    kinds = ["l1", distance] + ([] if comparable else ["total_error"])
    return pd.DataFrame(
        [
            {"method": row.method}
            | {
                f"{heads[kind]}, level {level}": f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"
                for kind in kinds
                for level, value in enumerate(row.errors[kind])
            }
            for row in rows
        ]
    )


def notes(table: Comparison) -> list[str]:
    """The reasons of arms that have one, and how to read the errors."""
    lines = [f"{row.method}: {row.reason}" for row in table.rows if row.reason]
    if any(row.errors for row in table.rows):
        lines.append(READING)
    return lines


READING = (
    "L1: groups counted at the wrong size, summed over the regions of a level. EMD: entities to add or remove to reach "
    "the truth, mean over the regions of a level; where estimated totals differ from the true ones it is not defined, "
    "and 'cum. L1' (the same sum) is shown with 'totals off', the groups by which totals are wrong. Not private."
)


def text(table: Comparison) -> str:
    parts = [table.title, outcome_frame(table).to_string(index=False)]
    errors = error_frame(table)
    if len(errors):
        parts.append(errors.to_string(index=False))
    parts += [textwrap.fill(note, 120, subsequent_indent="  ") for note in notes(table)]
    return "\n\n".join(parts)


def html(table: Comparison) -> str:
    from html import escape

    parts = [f"<p>{escape(table.title)}</p>", outcome_frame(table).to_html(index=False)]
    errors = error_frame(table)
    if len(errors):
        parts.append(errors.to_html(index=False))
    return "".join(parts) + "".join(f"<p>{escape(note)}</p>" for note in notes(table))


def plot(table: Comparison) -> "Figure":
    scored = [row for row in table.rows if row.errors]
    panels = 2 if scored else 1
    figure = new_figure(6.4 * panels, 1.9 + 0.36 * len(table.rows))
    axes = figure.subplots(1, panels, squeeze=False, sharey=True)[0]
    _plot_times(axes[0], table.rows)
    if scored:
        _plot_errors(axes[1], table.rows)
    figure.suptitle("\n".join(textwrap.wrap(table.title, 65 * panels)), fontsize="medium")
    return figure


def new_figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches that notebooks display and that no global state keeps alive."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    pyplot.get_backend()  # makes a notebook register how figures are displayed
    return Figure(figsize=(width, height), layout="constrained")


def _plot_times(axes: "Axes", rows: list[Row]) -> None:
    for place, row in enumerate(rows):
        seconds = row.result.seconds.total
        if seconds > 0:
            colour, marker, _ = _LOOKS[row.status if row.status in _LOOKS else None]
            axes.plot(seconds, place, marker, color=colour, markersize=8)
            axes.annotate(_seconds(seconds), (seconds, place), (8, 0), textcoords="offset points", va="center")
        else:
            where = (0.02, place)
            axes.annotate(row.status.name, where, xycoords=("axes fraction", "data"), va="center", color="#555555")
    axes.set_yticks(range(len(rows)), [row.method for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _finish(axes, "time to formulate, solve and round (s)")
    axes.margins(x=0.3)
    shown = {row.status if row.status in _LOOKS else None for row in rows if row.result.seconds.total > 0}
    _legend(axes, [(look[0], look[1], look[2]) for status, look in _LOOKS.items() if status in shown])


def _plot_errors(axes: "Axes", rows: list[Row]) -> None:
    from matplotlib.ticker import LogFormatter, LogLocator

    n_levels = max(len(row.errors.get("l1", ())) for row in rows)
    looks = [(*_LEVEL_LOOKS[level % len(_LEVEL_LOOKS)], _level_name(level, n_levels)) for level in range(n_levels)]
    for place, row in enumerate(rows):
        for level, error in enumerate(row.errors.get("l1", ())):
            axes.plot(error, place, looks[level][1], color=looks[level][0], markersize=8)
    _finish(axes, "L1 error against the truth, summed over a level (groups)")
    axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))  # few enough labels not to touch
    axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.4)))
    _legend(axes, looks)


def _level_name(level: int, n_levels: int) -> str:
    return "root" if level == 0 else "leaves" if level == n_levels - 1 else f"level {level}"


def _finish(axes: "Axes", label: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(f"{label}, log scale")
    axes.grid(axis="both", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(axes: "Axes", looks: list[tuple[str, str, str]]) -> None:
    """Above the panel, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=c, marker=m, linestyle="", markersize=8, label=name) for c, m, name in looks]
    axes.legend(handles=handles, ncols=2 if len(handles) == 4 else 3, fontsize="small", frameon=False, loc="lower left",
                bbox_to_anchor=(0, 1))  # fmt: skip


def _record(row: Row) -> dict[str, object]:
    certificate, seconds = row.result.certificate, row.result.seconds
    objective = None if certificate is None else certificate.objective
    record: dict[str, object] = {
        "method": row.method,
        "problem": row.problem,
        "status": row.status.name,
        "objective": None if objective is None else float(objective),
        "objective_exact": None if objective is None else str(objective),
        "bound": None if certificate is None or certificate.bound is None else float(certificate.bound),
        "bound_by": "" if certificate is None else certificate.bound_by,
        "gap": None if certificate is None else certificate.gap,
    }
    for kind in KINDS:
        record[f"violations_{kind}"] = None if certificate is None else certificate.violations.get(kind, 0)
    record |= {
        "formulate_s": seconds.formulate,
        "solve_s": seconds.solve,
        "round_s": seconds.round,
        "peak_mb": row.peak_bytes / 1e6 if row.peak_bytes else None,
        "reason": row.reason,
    }
    residuals = row.result.residuals
    record |= {
        "primal_residual": None if residuals is None else residuals.primal,
        "dual_residual": None if residuals is None else residuals.dual,
        "relaxed_gap": None if residuals is None else residuals.gap,
    }
    for kind, values in row.errors.items():
        record |= {f"{kind}_level{level}": value for level, value in enumerate(values)}
    return record


def _outcome(row: Row) -> dict[str, str]:
    certificate, seconds = row.result.certificate, row.result.seconds
    shown = certificate if row.status in ANSWERED else None
    violated = {} if shown is None else {kind: n for kind, n in shown.violations.items() if n}
    return {
        "method": row.method,
        "problem": row.problem,
        "status": row.status.name,
        "objective": "" if shown is None or shown.objective is None else _number(shown.objective),
        "bound": "" if shown is None or shown.bound is None else _number(shown.bound),
        "gap": "" if shown is None else _gap(shown.gap),
        "violations": "" if shown is None else ", ".join(f"{n:,} {kind}" for kind, n in violated.items()) or "none",
        "formulate": _seconds(seconds.formulate),
        "solve": _seconds(seconds.solve),
        "round": _seconds(seconds.round),
        "memory": f"{row.peak_bytes / 1e6:,.0f} MB" if row.peak_bytes else "",
    }


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _gap(gap: float | None) -> str:
    if gap is None:
        return ""
    return "0" if gap == 0 else "< 1e-9" if abs(gap) < 1e-9 else f"{gap:.1e}"


def _seconds(value: float) -> str:
    if value == 0:
        return ""
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"
