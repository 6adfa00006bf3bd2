"""The lines that a native model prints: its conditions in the words of the modeller."""

from collections.abc import Iterator

from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.engines.losses import norm_text
from pgsr.figures.html import facts_table
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import regions_with_total

MOST = 10
"""The lines of one kind that are shown; a further line counts the rest."""


def text(head: str, stated: Problem, changed: bool) -> str:
    """Write a model as lines: its head, then its statements, one line per condition."""
    found = facts(stated, changed)
    width = max(map(len, found))
    lines = []
    for name, part in found.items():
        lines += [f"  {head:{width}}  {line}" for head, line in zip([name] + [""] * len(part), part, strict=False)]
    return "\n".join([head, *lines])


def html(head: str, stated: Problem, changed: bool) -> str:
    """Write a model as an HTML table, as certificates are."""
    return facts_table(head, {name: "; ".join(part) for name, part in facts(stated, changed).items()})


def facts(problem: Problem, changed: bool) -> dict[str, list[str]]:
    """List the statements of a model by kind, without kinds that have none.

    Args:
        problem: what the model states; its conditions are told as they were written.
        changed: whether a modeller changed the solver's object by hand, of which nothing else is told.
    """
    known = problem.conditions
    found = {
        "least": [f"distance of x to the noisy values: {norm_text(problem.norm)}"],
        "unknowns": [_unknowns(problem)],
        "consistency": [_consistency(problem)] if _adds_up(problem) else [],
        "total": _first(list(_totals(problem))),
        "order": ["cells(r, s) <= cells(r, s + 1)"] if problem.monotone else [],
        "sign": ["cells(every region, :) >= 0"] if problem.nonnegative else [],
        "stated": [] if known is None else _first(list(known.stated or known.names)),
        "changed": ["by hand, after it was made"] if changed else [],
    }
    return {name: part for name, part in found.items() if part}


def _unknowns(problem: Problem) -> str:
    sizes = (f"x[{level}] {len(table):,} x {table.shape[1]:,}" for level, table in enumerate(problem.tables))
    what = "cumulative counts" if problem.view is View.CUMULATIVE else "counts"
    return f"{', '.join(sizes)}: {what}, {'integers' if problem.integer else 'real numbers'}"


def _consistency(problem: Problem) -> str:
    folded = "" if problem.sizes.equal else ", s folded into the children's sizes,"
    return f"cells(r, s){folded} == sum of the cells of r's children"


def _adds_up(problem: Problem) -> bool:
    return problem.consistent and problem.hierarchy.n_levels > 1


def _totals(problem: Problem) -> Iterator[str]:
    values = problem.stated_totals
    if values is not None:
        for region in regions_with_total(problem).tolist():
            yield f"total({region_id(problem.hierarchy.paths[region])}) == {int(values[region]):,}"


def _first(lines: list[str]) -> list[str]:
    rest = len(lines) - MOST
    return [*lines[:MOST], f"and {rest:,} more"] if rest > 0 else lines
