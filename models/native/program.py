"""The program of a problem as a modeller gets it, with everything named, and the lines that print its conditions."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
from scipy import sparse

from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.engines.losses import norm_text
from pgsr.figures.html import facts_table
from pgsr.methods.gate import Stopped
from pgsr.models.formulate import formulate
from pgsr.models.program import LabelBlock, Labels, Program, SolverProgram, in_cells
from pgsr.problems.problem import Problem
from pgsr.problems.programs.formulation import names_of
from pgsr.problems.programs.rows import ordered_from, program_of, regions_with_total, stated_sides

MOST = 10
"""The lines of one kind that are shown; a further line counts the rest."""


def program_to_state(problem: Problem, finite: bool) -> Program:
    """Formulate the problem of a native model, with bounds as near as the solver needs them.

    Args:
        problem: of counts or cumulative counts, as it is to be solved, relaxed or not.
        finite: whether all unknowns need finite bounds that some optimum satisfies.

    Raises:
        Stopped: finite bounds are asked for, and no point satisfies the conditions or none was found in time.
    """
    choosing = problem.conditions is not None and problem.conditions.choices is not None
    try:
        return formulate(problem) if finite or choosing else program_of(problem)
    except Stopped:
        if finite:
            raise
        return program_of(problem)


def stated_program(problem: Problem, program: Program) -> SolverProgram:
    """State a problem's program, in deviations z = x - origin, with names by level.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> problem = Problem.of([[0, 3], [1, 2], [0, 1]], tree, groups=5)
        >>> program = stated_program(problem, program_of(problem))
        >>> [(block.name, block.shape) for block in program.labels.unknown_blocks]
        [('z[0]', (1, 2)), ('z[1]', (2, 2))]
        >>> [(block.name, block.shape) for block in program.labels.row_blocks]
        [('consistency[0]', (1, 2)), ('total[0]', (1,))]
    """
    names, equal, order = names_of(problem, program)
    stated = replace(
        in_cells(program, None),
        quadratic=program.weight.astype(float) if program.norm == 2 else np.zeros(program.n),
        labels=Labels(
            problem.label,
            tuple(names),
            (*equal, *order),
            tuple(_unknown_blocks(problem, program, names)),
            tuple(_row_blocks(problem, equal, order)),
            _upward(problem, len(order)),
        ),
    )
    return _with_magnitudes(stated, program) if program.norm == 1 else stated


def _with_magnitudes(stated: SolverProgram, program: Program) -> SolverProgram:
    """Add z = up - down for every unknown with a weight, at the cost w (up + down), rows behind the equalities."""
    cells, labels = np.flatnonzero(program.weight), stated.labels
    assert labels is not None
    k, n, m = len(cells), program.n, len(program.right)
    one, w = sparse.eye_array(k), program.weight[cells].astype(float)
    own = sparse.csr_array((np.ones(k), (np.arange(k), cells)), shape=(k, n))
    wider = lambda matrix: sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], 2 * k))], format="csr")  # noqa: E731
    low, high = program.reach
    sides = np.maximum(high[cells], 0.0), np.maximum(-low[cells], 0.0)
    kinds = [[f"{kind}{labels.unknowns[j][1:]}" for j in cells.tolist()] for kind in ("up", "down", "distance")]
    last = LabelBlock("distance", slice(m, m + k), (k,))
    moved = [replace(b, part=slice(b.part.start + k, b.part.stop + k)) for b in labels.row_blocks if b.part.start >= m]
    return replace(
        stated,
        quadratic=np.zeros(n + 2 * k),
        linear=np.concatenate([stated.linear, w, w]),
        matrix=sparse.csr_array(sparse.vstack([wider(program.matrix), sparse.hstack([own, -one, one])])),
        right=np.append(program.right, np.zeros(k, np.int64)),
        order=wider(program.order),
        lower=np.append(program.lower, np.zeros(2 * k)),
        upper=np.append(program.upper, np.full(2 * k, np.inf)),
        integer=np.append(stated.integer, np.zeros(2 * k, bool)),
        reach=(np.append(low, np.zeros(2 * k)), np.concatenate([high, *sides])),
        labels=replace(
            labels,
            unknowns=(*labels.unknowns, *kinds[0], *kinds[1]),
            rows=(*labels.rows[:m], *kinds[2], *labels.rows[m:]),
            unknown_blocks=(
                *labels.unknown_blocks,
                LabelBlock("up", slice(n, n + k), (k,), least="up"),
                LabelBlock("down", slice(n + k, n + 2 * k), (k,), least="down"),
            ),
            row_blocks=(*(b for b in labels.row_blocks if b.part.start < m), last, *moved),
            n_links=k,
        ),
    )


def _unknown_blocks(problem: Problem, program: Program, names: list[str]) -> Iterator[LabelBlock]:
    """Cut unknowns into the cells of every level and the kinds of what follows them."""
    start = 0
    for level, table in enumerate(problem.tables):
        part = slice(start, start + table.size)
        low = program.lower[part] + program.origin[part]
        least = "nonnegative" if (low == 0).all() else "lower"
        yield LabelBlock(f"z[{level}]", part, table.shape, f"{least}[{level}]", f"upper[{level}]")
        start += table.size
    for kind, part in _runs(names, start):
        yield LabelBlock(kind, part, (part.stop - part.start,), f"lower {kind}", f"upper {kind}")


def _row_blocks(problem: Problem, equal: list[str], order: list[str]) -> Iterator[LabelBlock]:
    """Cut rows into those of every kind and level; stated conditions are blocks of their own."""
    tree, sizes, start = problem.hierarchy, problem.sizes.max_sizes, 0
    stated = [0, 0, 0] if problem.conditions is None else [int(s.sum()) for s in stated_sides(problem.conditions)]
    n_regions = np.diff(tree.level_start).tolist()

    def block(name: str, *shape: int) -> Iterator[LabelBlock]:
        nonlocal start
        n = int(np.prod(shape))
        if n:
            yield LabelBlock(name, slice(start, start + n), shape)
            start += n

    if problem.consistent:
        for level in range(tree.n_levels - 1):
            yield from block(f"consistency[{level}]", n_regions[level], sizes[level + 1] + 1)
    with_total = np.bincount(tree.level_of[regions_with_total(problem)], minlength=tree.n_levels)
    for level, n in enumerate(with_total.tolist()):
        yield from block(f"total[{level}]", n)
    for kind, part in _runs(equal[: len(equal) - stated[0]], start):
        yield from block(kind, part.stop - part.start)
    for name in equal[len(equal) - stated[0] :]:
        yield from block(name, 1)
    if problem.monotone:
        for level, largest in enumerate(sizes):
            yield from block(f"order[{level}]", n_regions[level], largest - ordered_from(problem, level))
    own = len(order) - stated[1] - stated[2]
    for kind, part in _runs(order[:own], start - len(equal)):
        yield from block(kind, part.stop - part.start)
    for name in order[own:]:
        yield from block(name, 1)


def _runs(names: list[str], start: int) -> Iterator[tuple[str, slice]]:
    """Cut names from a place on into runs of one kind, the word before the bracket."""
    for kind, run in groupby(names[start:], key=lambda name: name.partition("[")[0]):
        stop = start + len(list(run))
        yield kind, slice(start, stop)
        start = stop


def _upward(problem: Problem, n_order: int) -> np.ndarray:
    """Say which inequalities were stated as lower limits: the last ones."""
    n_below = 0 if problem.conditions is None else int(stated_sides(problem.conditions)[2].sum())
    return np.arange(n_order) >= n_order - n_below


def model_text(head: str, stated: Problem, changed: bool) -> str:
    """Write a model as lines: its head, then its statements, one line per condition."""
    found = facts(stated, changed)
    width = max(map(len, found))
    lines = []
    for name, part in found.items():
        lines += [f"  {head:{width}}  {line}" for head, line in zip([name] + [""] * len(part), part, strict=False)]
    return "\n".join([head, *lines])


def model_html(head: str, stated: Problem, changed: bool) -> str:
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
