"""The linearisation of objectives: absolute values at once, squares of integers by programs that end exact."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.models.program import Program, SolverProgram


def absolute_values(program: Program, start: np.ndarray | None = None) -> SolverProgram:
    """Write |z| = up + down with z = base + up - down: two more unknowns and one more row per cell.

        minimise    sum_j weight[j] (up[j] + down[j])    + a constant where a bound keeps z[j] away from 0
        subject to  z = base + up - down,  up, down >= 0,  and the program's own conditions.

    `base` is 0, or the bound nearest to it; `start` are values z from which a solver may start.
    """
    assert program.norm == 1
    base = np.clip(0.0, program.lower, program.upper)
    weight = program.weight.astype(float)
    # Beyond a bound above 0 there is no way down, and conversely.
    up, down = (base >= 0) & (weight > 0), (base <= 0) & (weight > 0)
    return _stepped(program, base, _Steps(np.flatnonzero(up), weight[up], np.full(up.sum(), np.inf)),
                    _Steps(np.flatnonzero(down), weight[down], np.full(down.sum(), np.inf)), start)  # fmt: skip


def unit_steps(
    program: Program, solve: Callable[[SolverProgram], np.ndarray | None], start: np.ndarray | None = None
) -> int:
    """Solve an integer quadratic program by linear ones, exactly.

    At integers a convex square equals the piecewise linear function through its values, whose step from b to b + 1
    costs

        weight ((b + 1)^2 - b^2) = weight (2 b + 1),

    and lies above every one of its steps prolonged to a line. So the largest of some of these lines is a bound, exact
    where the steps next to z are among them. The program with steps at 0, 1, 2, 3, 4, 6, 8, 12, 16, ... from the best
    value of each cell is solved; the steps next to the solution are added where they miss; and so on until none does.
    The last solution is then optimal among integers, if it is integer: the objective solved is nowhere above the true
    one and equal to it there. For networks (M_H, naive, isotonic, M_c with two levels) vertices of the linear program
    are integer; otherwise, with conditions of other rows above all, the unknowns have to be declared so.

    Args:
        program: norm 2.
        solve: solves a linear program and returns z, shape (n,), or None to stop.
        start: values z from which a solver may start, of every program of the sequence; shape (n,).

    Returns:
        The number of programs solved.

    Source: separable convex flows as parallel arcs, Ahuja, Magnanti and Orlin 1993, chapter 14.
    """
    assert program.norm == 2
    base = np.rint(np.clip(0.0, program.lower, program.upper))
    chords = _Chords.first(program, base)
    if start is not None:  # with the steps next to it the start's distance is exact
        chords = chords.refined(program, base, start) or chords
    rounds = 0
    while True:
        rounds += 1
        z = solve(_stepped(program, base, *chords.steps(program, base), start))
        if z is None:
            return rounds
        finer = chords.refined(program, base, z)
        if finer is None:
            return rounds
        chords = finer


@dataclass(frozen=True, eq=False)
class _Steps:
    """The linear pieces in one direction: the cell they belong to, cost per unit, length."""

    cell: np.ndarray
    cost: np.ndarray
    length: np.ndarray

    def taken(self, distance: np.ndarray) -> np.ndarray:
        """Compute what each cell's distance takes of every piece, cheapest pieces first; one below 0 takes none."""
        order = np.lexsort((self.cost, self.cell))
        cell = self.cell[order]
        want = np.maximum(distance[cell], 0.0)
        length = np.minimum(self.length[order], want)
        before = np.cumsum(length) - length
        taken = np.empty(len(cell))
        taken[order] = np.clip(want - (before - before[np.searchsorted(cell, cell)]), 0.0, length)
        return taken


@dataclass(frozen=True, eq=False)
class _Chords:
    """The steps kept per cell, as distances from its base: `offset` 0, 1, 2, ... upwards and downwards alike.

    Sorted by cell and offset, offset 0 always kept.
    """

    up: tuple[np.ndarray, np.ndarray]
    down: tuple[np.ndarray, np.ndarray]

    @classmethod
    def first(cls, program: Program, base: np.ndarray) -> "_Chords":
        reach = 16.0 + 4.0 * float(np.abs(program.right).max(initial=0.0))
        ladder = [0, 1, 2]
        while ladder[-1] < reach:
            ladder.append(ladder[-1] * 2)
        weighed = np.flatnonzero(program.weight)
        cells = np.repeat(weighed, len(ladder))
        offsets = np.tile(np.unique(ladder), len(weighed))
        return cls(
            _kept(cells, offsets, program.upper - base),
            _kept(cells, offsets, base - program.lower),
        )

    def steps(self, program: Program, base: np.ndarray) -> tuple[_Steps, _Steps]:
        return (
            _pieces(*self.up, program.weight, base, program.upper - base),
            _pieces(*self.down, program.weight, -base, base - program.lower),
        )

    def refined(self, program: Program, base: np.ndarray, z: np.ndarray) -> "_Chords | None":
        """Add the steps next to z; None if they are all there."""
        moved = np.where(program.weight > 0, z - base, 0.0)
        up = _missing(self.up, moved, program.upper - base)
        down = _missing(self.down, -moved, base - program.lower)
        if not len(up[0]) and not len(down[0]):
            return None
        return _Chords(_merged(self.up, up), _merged(self.down, down))


def _kept(cells: np.ndarray, offsets: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps that start within the room that the bounds leave."""
    inside = offsets < room[cells]
    return cells[inside], offsets[inside]


def _pieces(cells: np.ndarray, offsets: np.ndarray, weight: np.ndarray, base: np.ndarray, room: np.ndarray) -> _Steps:
    """Cut the lines into pieces: those at offsets a < b meet at (a + b + 1) / 2, and the last one goes on to the bound.

    Where they meet between two integers, one piece of length 1 joins their values at these: as good at integers, and
    all lengths are integers.
    """
    if not len(cells):
        return _Steps(cells, np.zeros(0), np.zeros(0))
    following = np.append(offsets[1:], 0)
    last = np.append(cells[1:] != cells[:-1], True)
    first = np.append(True, last[:-1])
    end = np.where(last, room[cells], (offsets + following + 1) // 2)
    joined = np.flatnonzero(~last & ((offsets + following) % 2 == 0))
    start = np.zeros(len(cells))
    start[1:] = end[:-1]
    start[joined + 1] += 1
    start[first] = 0.0
    # The square of base + offset, whichever way: base is 0 or the bound nearest to it, so costs are non-negative.
    cost = weight[cells] * (2.0 * (base[cells] + offsets) + 1.0)
    joints = weight[cells[joined]] * (2.0 * base[cells[joined]] + offsets[joined] + following[joined] + 1.0)
    return _Steps(
        np.concatenate([cells, cells[joined]]),
        np.concatenate([cost, joints]),
        np.concatenate([end - start, np.ones(len(joined))]),
    )


def _missing(
    have: tuple[np.ndarray, np.ndarray], distance: np.ndarray, room: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the steps next to the cells' present distance from their base that are not kept yet."""
    moved = np.flatnonzero(distance > 1e-6)
    near = np.rint(distance[moved])[:, None] + np.array([-1, 0])  # the step that ends here and the one that starts here
    fractional = np.abs(distance[moved] - np.rint(distance[moved])) > 1e-6
    near[fractional] = np.floor(distance[moved][fractional])[:, None]
    cells = np.repeat(moved, 2)
    offsets = np.maximum(near.ravel(), 0).astype(np.int64)
    cells, offsets = _kept(cells, offsets, room)
    stride = 1 + int(max(offsets.max(initial=0), have[1].max(initial=0)))
    new = np.setdiff1d(cells * stride + offsets, have[0] * stride + have[1])
    return new // stride, new % stride


def _merged(have: tuple[np.ndarray, np.ndarray], new: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    cells, offsets = np.concatenate([have[0], new[0]]), np.concatenate([have[1], new[1]])
    order = np.lexsort((offsets, cells))
    return cells[order], offsets[order]


def _stepped(program: Program, base: np.ndarray, up: _Steps, down: _Steps, start: np.ndarray | None) -> SolverProgram:
    """The program in (z, ups, downs) with the link z = base + sum of ups - sum of downs of every z with a weight."""
    n, n_steps = program.n, len(up.cell) + len(down.cell)
    linked = np.flatnonzero(program.weight)
    row = np.cumsum(program.weight > 0) - 1
    columns = np.concatenate([linked, n + np.arange(n_steps)])
    cells = np.concatenate([linked, up.cell, down.cell])
    signs = np.concatenate([np.ones(len(linked)), -np.ones(len(up.cell)), np.ones(len(down.cell))])
    link = sparse.csr_array((signs, (row[cells], columns)), shape=(len(linked), n + n_steps))
    length = np.concatenate([up.length, down.length])
    return SolverProgram(
        quadratic=np.zeros(n + n_steps),
        linear=np.concatenate([program.linear.astype(float), up.cost, down.cost]),
        matrix=sparse.csr_array(sparse.vstack([_widened(program.matrix, n_steps), link])),
        right=np.concatenate([program.right, base[linked]]),
        order=_widened(program.order, n_steps),
        order_right=program.order_right,
        lower=np.concatenate([program.lower, np.zeros(n_steps)]),
        upper=np.concatenate([program.upper, length]),
        integer=np.concatenate([np.full(n, program.integer), np.zeros(n_steps, bool)]),
        reach=(
            np.concatenate([program.reach[0], np.zeros(n_steps)]),
            np.concatenate([program.reach[1], _largest(program, length)]),
        ),
        constant=float(program.weight @ np.abs(base) ** program.norm),
        start=None if start is None else np.concatenate([start, up.taken(start - base), down.taken(base - start)]),
    )


def _largest(program: Program, length: np.ndarray) -> np.ndarray:
    far = max(float(np.abs(side).max(initial=0)) for side in program.reach)
    return np.minimum(length, far)


def _widened(matrix: sparse.csr_array, n_more: int) -> sparse.csr_array:
    n_rows, n_columns = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(n_rows, n_columns + n_more))
