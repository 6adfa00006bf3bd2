"""The rows of a comparison as data frame, text and HTML; the figure is in `pgsr.comparison.figure`."""

import textwrap
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from pgsr.comparison.figure import figure
from pgsr.comparison.row import Row
from pgsr.machine.extras import extra
from pgsr.methods.method import ANSWERED, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows of a comparison, as text, data frame, HTML or figure; `pgsr.compare` makes it.

    Attributes:
        rows: one per arm, with its result.
        title: what was compared.
    """

    rows: list[Row]
    title: str

    def to_frame(self) -> "pd.DataFrame":
        """Make a data frame with one row per arm, numbers as numbers: seconds, megabytes, groups and entities.

        `objective_exact` is the objective as text, because integers beyond 2^53 do not fit a float column.
        """
        return frame(self)

    def plot(self) -> "Figure":
        """Draw the time by method, and the error by level if a truth was given."""
        return figure(self.rows, self.title)

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html(self)


def frame(table: Comparison) -> "pd.DataFrame":
    with extra("release"):
        import pandas as pd

    return pd.DataFrame([_record(row) for row in table.rows])


def outcome_frame(table: Comparison) -> "pd.DataFrame":
    """Tabulate the answer of every arm, as text for people."""
    with extra("release"):
        import pandas as pd

    shown = pd.DataFrame([_outcome(row) for row in table.rows])
    return shown if any(shown["compile"]) else shown.drop(columns="compile")


def error_frame(table: Comparison) -> "pd.DataFrame":
    """Errors against the truth per level, as text for people; empty without a truth."""
    with extra("release"):
        import pandas as pd

    rows = [row for row in table.rows if row.errors]
    if not rows:
        return pd.DataFrame()
    comparable = all("emd" in row.errors for row in rows)
    distance = "emd" if comparable else "cumulative_l1"
    heads = {"l1": "L1", "emd": "EMD", "cumulative_l1": "cum. L1", "total_error": "totals off"}
    heads["times_bound"] = "times the bound"
    kinds = ["l1", distance] + ([] if comparable else ["total_error"])
    kinds += ["times_bound"] * all("times_bound" in row.errors for row in rows)
    return pd.DataFrame(
        [
            {"method": row.method}
            | {
                f"{heads[kind]}, level {level}": _error(value, kind)
                for kind in kinds
                for level, value in enumerate(row.errors[kind])
            }
            for row in rows
        ]
    )


def _error(value: float, kind: str) -> str:
    if kind == "times_bound":
        return "" if isnan(value) else f"{value:.2f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def notes(table: Comparison) -> list[str]:
    """The reasons of arms that have one, and how to read objectives, memory and errors."""
    lines = [f"{row.method}: {row.reason}" for row in table.rows if row.reason]
    late = sum(row.status is Status.TIMED_OUT or "time limit" in row.reason for row in table.rows)
    lines += [f"{late} reached the time limit; a higher one (--time-limit, time_limit=) gives more"] if late else []
    below = dict.fromkeys(row.method for row in table.rows if _is_below_bound(row))
    if below:
        lines.append(f"{BELOW_BOUND} ({', '.join(below)})")
    if any(row.result.seconds.compile >= _COMPILED for row in table.rows):
        lines.append(COMPILING)
    if any(row.solve_bytes is not None for row in table.rows):
        lines.append(MEMORY)
    if any(row.errors for row in table.rows):
        lines.append(READING)
    if any("times_bound" in row.errors for row in table.rows):
        lines.append(TIMES_BOUND)
    return lines


BELOW_BOUND = (
    "objective below bound: no point that satisfies all conditions exactly is below the bound. An answer that violates "
    "some, or satisfies them to our tolerance only (1e-6 of the noise), can be, so it is no better for it"
)

COMPILING = "compile: before the clock started, once per machine; `pgsr warmup` does it beforehand"

_COMPILED = 0.5
"""Seconds from which compilation is shown; importing numba and loading compiled code take less."""

MEMORY = "memory: beyond what a process holds once it has imported the arm's packages and solved a toy"

READING = (
    "L1: groups counted at the wrong size, summed over the regions of a level. EMD: entities to add or remove to reach "
    "the truth, mean over the regions of a level; where estimated totals differ from the true ones it is not defined, "
    "and 'cum. L1' (the same sum) is shown with 'totals off', the groups by which totals are wrong. Not private."
)


TIMES_BOUND = (
    "times the bound: the EMD over what no release of this epsilon can be below on the mean over data near the truth, "
    "though a level gets all of epsilon (docs/derivations/bounds.md); at the truth itself less is possible."
)


def frames(table: Comparison) -> list["pd.DataFrame"]:
    """Give the answers, and the errors if there are any."""
    return [each for each in (outcome_frame(table), error_frame(table)) if len(each)]


def text(table: Comparison) -> str:
    parts = [table.title, *(each.to_string(index=False) for each in frames(table))]
    parts += [textwrap.fill(note, 120, subsequent_indent="  ") for note in notes(table)]
    return "\n\n".join(parts)


def html(table: Comparison) -> str:
    from html import escape

    parts = [f"<p>{escape(table.title)}</p>", *(each.to_html(index=False) for each in frames(table))]
    return "".join(parts) + "".join(f"<p>{escape(note)}</p>" for note in notes(table))


def _record(row: Row) -> dict[str, object]:
    facts = row.result.facts()
    reason = facts.pop("reason")
    record = {"method": row.method, **facts, "problem": row.problem}
    record |= {
        "memory_mb": None if row.solve_bytes is None else row.solve_bytes / 1e6,
        "baseline_mb": row.baseline_bytes / 1e6 if row.baseline_bytes else None,
        "reason": reason,
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
        "compile": _seconds(seconds.compile) if seconds.compile >= _COMPILED else "",
        "memory": "" if row.solve_bytes is None else f"{row.solve_bytes / 1e6:,.0f} MB",
    }


def _is_below_bound(row: Row) -> bool:
    certificate = row.result.certificate
    if certificate is None or certificate.objective is None or certificate.bound is None:
        return False
    return row.status in ANSWERED and certificate.objective < certificate.bound


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
