"""Programs that fall apart: parts that share no row, such as regions that stand alone, solved one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.program import Bends, SolverProgram

WORST = (SolverClaim.OPTIMAL, SolverClaim.NEAR, SolverClaim.STOPPED, SolverClaim.INFEASIBLE, SolverClaim.FAILED)
"""Claims in the order in which the claim of one part is that of the whole."""


@dataclass(frozen=True, eq=False)
class ProgramPart:
    """A part of a program: its own program, and where its unknowns and rows stand in the whole."""

    program: SolverProgram
    unknowns: np.ndarray
    rows: np.ndarray
    order_rows: np.ndarray


def parts(program: SolverProgram, apart: bool) -> Iterator[ProgramPart]:
    """Cut a program into its parts, in the order of their first unknowns; one part of everything if not `apart`.

    Rows that no unknown is in, such as those of fixed cells, are left out where they hold: some interfaces lose count.
    """
    n, m, idle = program.n, len(program.right), _idle(program)
    if not apart and n and not idle.any():
        yield ProgramPart(replace(program, constant=0.0), np.arange(n), np.arange(m), np.arange(program.m - m))
        return
    of_unknown, of_row = _part_of(program) if apart else (np.zeros(n, int), np.zeros(program.m, int))
    n_parts = int(of_unknown.max(initial=-1)) + 1
    of_row = np.where(idle, n_parts, of_row)
    unknowns, rows, order_rows = (_places(of, n_parts) for of in (of_unknown, of_row[:m], of_row[m:]))
    bends = None if program.bends is None else _places(of_unknown[program.bends.unknown], n_parts)
    for part in range(n_parts):
        mine = unknowns[part]
        own = None
        if program.bends is not None and bends is not None:
            at = bends[part]
            own = Bends(np.searchsorted(mine, program.bends.unknown[at]), program.bends.at[at], program.bends.cost[at])
        yield ProgramPart(_cut(program, mine, rows[part], order_rows[part], own), mine, rows[part], order_rows[part])


def joined(program: SolverProgram, found: list[tuple[ProgramPart, SolverAnswer]]) -> SolverAnswer:
    """Join the answers of all parts: values, duals and bound where every part has some, and the worst claim."""
    nothing = SolverAnswer(SolverClaim.OPTIMAL)
    worst = max((answer for _, answer in found), key=lambda answer: WORST.index(answer.claim), default=nothing)
    values, duals, order_duals = (
        _joined(n, [(getattr(part, places), getattr(answer, name)) for part, answer in found])
        for n, places, name in (
            (program.n, "unknowns", "values"),
            (len(program.right), "rows", "duals"),
            (len(program.order_right), "order_rows", "order_duals"),
        )
    )
    bounds = [answer.bound for _, answer in found]
    bound = None if None in bounds else float(sum(b for b in bounds if b is not None)) + program.constant
    return SolverAnswer(worst.claim, worst.note, values, duals, order_duals, bound)


def _idle(program: SolverProgram) -> np.ndarray:
    """Say of every row whether it holds and no unknown is in it."""
    empty = np.append(np.diff(program.matrix.indptr), np.diff(program.order.indptr)) == 0
    return empty & np.append(program.right == 0, program.order_right >= 0)


def _part_of(program: SolverProgram) -> tuple[np.ndarray, np.ndarray]:
    """Number the parts, from 0 in the order of their first unknowns, of every unknown and of every row."""
    rows = sparse.coo_array(sparse.vstack([program.matrix, program.order]))
    n, m = program.n, program.m
    links = sparse.coo_array((np.ones(rows.nnz, bool), (rows.col, n + rows.row)), shape=(n + m, n + m))
    label = connected_components(links, directed=False)[1]
    tied = np.bincount(rows.col, minlength=n) > 0
    label[:n][~tied] = label.max(initial=-1) + 1
    label[n:][np.bincount(rows.row, minlength=m) == 0] = label.max(initial=-1)
    _, first = np.unique(label[:n], return_index=True)
    order = np.full(label.max(initial=-1) + 2, 0)
    order[label[:n][np.sort(first)]] = np.arange(len(first))
    return order[label[:n]], order[label[n:]]


def _places(of: np.ndarray, n: int) -> list[np.ndarray]:
    """List the places of every part, rising; those numbered n are of none."""
    by_part = np.argsort(of, kind="stable")
    return np.split(by_part, np.cumsum(np.bincount(of, minlength=n + 1))[:n])[:n]


def _cut(
    program: SolverProgram, unknowns: np.ndarray, rows: np.ndarray, order_rows: np.ndarray, bends: Bends | None
) -> SolverProgram:
    """Take the program of some unknowns and the rows between them."""
    of_unknowns = ("quadratic", "linear", "lower", "upper", "integer")
    duals, switch = program.start_duals, None if program.switch is None else program.switch[order_rows]
    return replace(
        program,
        **{name: getattr(program, name)[unknowns] for name in of_unknowns},
        matrix=sparse.csr_array(program.matrix[rows][:, unknowns]),
        right=program.right[rows],
        order=sparse.csr_array(program.order[order_rows][:, unknowns]),
        order_right=program.order_right[order_rows],
        reach=(program.reach[0][unknowns], program.reach[1][unknowns]),
        constant=0.0,
        start=None if program.start is None else program.start[unknowns],
        start_duals=None if duals is None else (duals[0][rows], duals[1][order_rows]),
        bends=bends,
        switch=None if switch is None else np.where(switch < 0, -1, np.searchsorted(unknowns, switch)),
    )


def _joined(n: int, pieces: list[tuple[np.ndarray, np.ndarray | None]]) -> np.ndarray | None:
    """Put the numbers of all parts at their places; None if a part has none."""
    out = np.zeros(n)
    for places, numbers in pieces:
        if numbers is None:
            return None
        out[places] = numbers
    return out
