"""The numbers of runs in columns, the table of a problem, and errors as bars."""

from collections.abc import Callable
from html import escape
from math import isnan, nan

from pgsr.comparison.findings import release_name
from pgsr.comparison.items import slug
from pgsr.comparison.runs import MethodRow, ProblemRows
from pgsr.comparison.strips import STATUS
from pgsr.comparison.wording import factor, math, number, time

COMPILED = 0.5
"""Seconds from which compilation is shown; importing numba and loading compiled code take less."""


def columns(runs: list[MethodRow]) -> dict[str, list[tuple[float, str]]]:
    """Collect numbers with their words, by the heads of columns; columns without any are left out."""
    exact = all(run.error(level)[1] for run in runs if run.scored for level in range(len(run.levels)))
    found = {
        "objective": ("objective", number),
        "gap": ("gap", lambda gap: "0" if gap == 0 else "< 1e-9" if abs(gap) < 1e-9 else f"{gap:.1e}"),
        "time": ("", time),
        "compile": ("compile_s", lambda seconds: time(seconds) if seconds >= COMPILED else ""),
        "memory, MB": ("memory_mb", _short),
    }
    for kind, head in (("emd", "EMD") if exact else ("cumulative_l1", "cum. L1"), ("times_bound", "times the bound")):
        for level, name in enumerate(next((run.levels for run in runs if run.scored), [])):
            found[f"{head}, {name}"] = (
                f"{kind}_level{level}",
                _short if head != "times the bound" else "{:.2f}".format,
            )
    cells = {head: [_cell(run, *how) for run in runs] for head, how in found.items()}
    return {head: column for head, column in cells.items() if any(words for _, words in column)}


def _cell(run: MethodRow, column: str, write: Callable[[float], str]) -> tuple[float, str]:
    value = run.number(column) if column else run.seconds
    hidden = isnan(value) or (not run.answered and column != "compile_s") or (column == "gap" and run.broken)
    return (nan, "") if hidden else (value, write(value))


def _short(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def problem_table(problem: ProblemRows) -> str:
    """Write the numbers of a problem's runs, proofs first, to be unfolded."""
    runs = sorted(problem.runs, key=lambda run: (not run.answered, not run.proved, run.seconds))
    shown = {head: _bold(runs, head, column) for head, column in columns(runs).items()}
    lines = []
    for i, run in enumerate(runs):
        said = STATUS.get(run.status, run.status.lower().replace("_", " "))
        sign = "●" if run.proved else "○" if run.answered else "✕"
        why = f"breaks {run.broken}" if run.broken else run.text("bound_by") if run.proved else run.reason
        cells = "".join(f"<td class=n>{column[i]}</td>" for column in shown.values())
        lines.append(f'<tr class="{slug(run.solver.family)}"><td>{escape(run.method)}</td><td>{sign} {said}</td>{cells}'
                     f'<td class="why">{escape(why)}</td></tr>')  # fmt: skip
    heads = "".join(f'<th class="n">{escape(head)}</th>' for head in shown)
    sentence = f": {math(problem.sentence)}" if problem.sentence else ""
    first, short = next(iter(problem.proved), None), "no proof"
    if first is not None:
        optimum = number(round(first.objective, 3))
        short = f"optimum {optimum}, first proved by {problem.label(first)} in {time(first.seconds)}"
    return (
        f'<details><summary><b>{math(problem.name)}</b>{sentence} <span class="mute">{escape(short)}</span></summary>'
        f'<div class="scroll"><table class="rows"><thead><tr><th>method</th><th>answer</th>{heads}'
        f"<th>proof, or what is wrong</th></tr></thead><tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _bold(runs: list[MethodRow], head: str, column: list[tuple[float, str]]) -> list[str]:
    """Mark the least among answers that break nothing, of times among proofs, unless all are equal."""
    fair = [run.answered and not run.broken and (run.proved or head != "time") for run in runs]
    able = [cell for cell, is_fair in zip(column, fair, strict=True) if is_fair and cell[1]]
    differ = head not in ("gap", "compile") and len({words for _, words in able}) > 1
    best = min(able)[1] if differ else None
    shown = zip(fair, (escape(words) for _, words in column), strict=True)
    return [f"<b>{words}</b>" if is_fair and words == best else words for is_fair, words in shown]


STAR = "* groups are not as many as in truth, so the same sum is shown, which is no distance."


def errors_table(part: str, runs: list[MethodRow]) -> str:
    """Write a line per run and a column of bars per level; a bar's scale is its column's own."""
    body, off = "", any(not run.error(level)[1] for run in runs for level in range(len(run.levels)))
    for run in runs:
        name, shares = release_name(run.method)
        body += f'<tr><th scope="row">{math(name)} <small>{escape(shares)}</small></th>'
        for level in range(len(run.levels)):
            (value, exact), column = run.error(level), [other.error(level)[0] for other in runs]
            best, width = " best" if value <= min(column) < max(column) else "", 100 * value / max(*column, 1e-9)
            body += (
                f'<td class="bar{best}"><span class="num">{factor(value)}{"" if exact else "*"}</span>'
                f'<span class="track"><span style="width:{max(1.5, width):.1f}%"></span></span></td>'
            )
        body += f'<td class="n">{time(run.seconds)}</td></tr>'
    heads = "".join(f"<th>{escape(name)}</th>" for name in ["method", *runs[0].levels])
    note = f"Sorted by the geometric mean of the levels; the least of a level is bold. {STAR if off else ''}"
    return (
        f'<div class="scroll"><table class="errors"><thead><tr>{heads}<th class="n">time</th></tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="note">{escape(part)}. {note}</p>'
    )
