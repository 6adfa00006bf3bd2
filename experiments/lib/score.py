"""The scores of a run: how many instances are solved at which tolerance, who said so and was wrong, and how fast."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCES = (1e-3, 1e-6, 1e-9)
"""The tolerances at which an answer counts as optimal, as in qpbenchmark."""

SHIFT = 10.0
"""Seconds added to every time before the geometric mean, and taken off again, so that milliseconds do not decide."""

REFUSED = ("NOT_INSTALLED", "UNLICENSED", "TOO_LARGE")
"""The statuses of instances that a solver did not take: for want of a licence, or because they are too large for it."""

JUDGED_AT = 1e-6
"""The tolerance at which a solver's "solved" is called wrong."""


def is_optimal(rows: pd.DataFrame, tolerance: float) -> np.ndarray:
    """Say of every row whether its answer is optimal within a relative tolerance; shape (rows,), bool.

    Of integers no condition may be violated; of real numbers the largest residual of a condition has to be within the
    tolerance. The objective has to be within it of the proved optimum, above or below.
    """
    whole = np.array([str(kind).startswith("MI") for kind in rows["kind"]], bool)
    exact, primal = _numbers(rows, "violated") == 0, _numbers(rows, "primal")
    feasible = np.where(whole | np.isnan(primal), exact, primal <= tolerance)
    return feasible & (_numbers(rows, "error") <= tolerance)


def scores(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Make the table of one kind of instances (LP, QP, MILP, MIQP), best method first.

    Columns: instances taken of all of the kind; said: how often the solver said solved; optimal at each tolerance;
    wrong: said solved, and is not within 1e-6; time: the shifted geometric mean over all instances of the kind, where
    one not taken or not solved counts as the limit.
    """
    part = of_kind(rows, kind)
    if not len(part):
        return part
    everything, limit = len(set(part["instance"])), float(_numbers(part, "limit").max())
    records = []
    for method in dict.fromkeys(part["method"]):
        own = part.loc[part["method"] == method]
        said = (
            np.array([value is True for value in own["said_solved"]])
            if "said_solved" in own
            else np.zeros(len(own), bool)
        )
        taken = sum(status not in REFUSED for status in own["status"])
        optimal = {tolerance: is_optimal(own, tolerance) for tolerance in TOLERANCES}
        seconds = np.where(optimal[JUDGED_AT], np.minimum(_numbers(own, "seconds"), limit), limit)
        seconds = np.concatenate([seconds, np.full(everything - len(own), limit)])
        records.append(
            {"method": method, "taken": f"{taken} of {everything}", "said": int(said.sum())}
            | {f"{tolerance:g}": int(found.sum()) for tolerance, found in optimal.items()}
            | {"wrong": int((said & ~optimal[JUDGED_AT]).sum()), "time": shifted_geometric_mean(seconds)}
        )
    return pd.DataFrame(records).sort_values("time", ignore_index=True)


def of_kind(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Choose the rows of one kind of instances."""
    return rows.loc[rows["kind"] == kind]


def _numbers(rows: pd.DataFrame, column: str) -> np.ndarray:
    """A column as floats, NaN where there is nothing."""
    if column not in rows:
        return np.full(len(rows), np.nan)
    return np.array([np.nan if value is None else value for value in rows[column]], float)


def shifted_geometric_mean(seconds: Sequence[float] | np.ndarray) -> float:
    """Compute exp(mean(log(seconds + SHIFT))) - SHIFT.

    Example:
        >>> round(shifted_geometric_mean([0.0, 30.0]), 6)
        10.0
    """
    return float(np.exp(np.mean(np.log(np.asarray(seconds, float) + SHIFT))) - SHIFT)


def duration(seconds: float) -> str:
    """Write a time with three significant digits and its unit.

    Example:
        >>> duration(0.000199), duration(0.016946), duration(5.6912), duration(1234.5)
        ('0.199 ms', '16.9 ms', '5.69 s', '1,230 s')
    """
    value, unit = (seconds, "s") if seconds >= 1 else (1000 * max(0.0, seconds), "ms")
    value = float(f"{value:.3g}")
    decimals = max(0, 2 - math.floor(math.log10(value))) if value else 0
    return f"{value:,.{decimals}f} {unit}"


def markdown(table: pd.DataFrame) -> str:
    """Write a table of scores, whose times are words, in Markdown."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    for row in table.itertuples(index=False):
        cells = [f"`{value}`" if "(" in str(value) else str(value) for value in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


LOOKS = (
    ("#0072B2", "-"), ("#D55E00", "-"), ("#009E73", "-"), ("#CC79A7", "-"), ("#000000", "-"),
    ("#0072B2", "--"), ("#D55E00", "--"), ("#009E73", "--"), ("#CC79A7", "--"), ("#000000", "--"),
    ("#0072B2", ":"), ("#D55E00", ":"), ("#009E73", ":"), ("#CC79A7", ":"), ("#000000", ":"),
)  # fmt: skip
"""Colours that are told apart with any colour vision, and styles of line."""


def profile(rows: pd.DataFrame, kind: str) -> "Figure":
    """Draw what share of all instances of a kind each method has solved (to 1e-6) after so many seconds; log axis.

    The best methods by shifted geometric mean are drawn, in that order in the legend.
    """
    from pgsr.figures.drawing import new_figure

    part = of_kind(rows, kind)
    everything, limit = len(set(part["instance"])), float(_numbers(part, "limit").max())
    figure = new_figure(9, 4.8)
    axes = figure.subplots()
    for (colour, style), method in zip(LOOKS, scores(rows, kind)["method"], strict=False):
        own = part.loc[part["method"] == method]
        solved = np.sort(np.maximum(_numbers(own, "seconds")[is_optimal(own, JUDGED_AT)], 1e-3))
        x = np.concatenate([[1e-3], solved, [limit]])
        y = np.concatenate([[0], np.arange(1, len(solved) + 1), [len(solved)]]) / everything
        axes.step(x, y, where="post", color=colour, linestyle=style, linewidth=1.6, label=method)
    axes.set(xscale="log", xlim=(1e-3, limit), ylim=(0, 1.02))
    axes.set_xlabel("time to formulate, solve and round (s), log scale")
    axes.set_ylabel(f"share of {everything} instances solved to 1e-6")
    axes.grid(color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
    axes.set_title(f"PGSR-LIB, {kind}", loc="left", fontsize="medium")
    return figure
