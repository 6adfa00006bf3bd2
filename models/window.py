"""The window formulation: separable convex objectives as linear pieces, exact at the integers of a window.

A linear program has no squares. At integers, though, the square w z^2 equals the piecewise linear function through its
values, whose step from b to b + 1 costs

    w (b + 1)^2 - w b^2 = w (2 b + 1).

So every cell becomes a sum of few pieces around a point, lo <= z <= hi,

    z = lo + sum of steps b = lo .. hi - 1   each in [0, 1],            cost w (2 b + 1)
           + up                              in [0, upper - hi],        cost w (2 hi + 1)
           - down                            in [0, lo - lower],        cost w (1 - 2 lo),

where `up` and `down` prolong the steps at the ends of the window. Where the window may be far off, they are cut where
the prolonged steps from 4, 8, 16, ... further on overtake them. A step costs more than the one before, so an optimum
takes them in turn, and z has the cost of its square within the window. Beyond the window the prolonged lines lie below
the square. So the program is a relaxation of the integer program, which prices every point of the windows right: *if
its optimum is whole and uses neither `up` nor `down`, it is the optimum among all integers.* Else windows are moved.

Where the matrix is that of a network (naive, isotonic, M_H, M_c of two levels) vertices of the linear program are whole
by themselves; elsewhere the pieces are declared integers.

In real numbers the same pieces are exact at the points of a grid, and finer grids come as near to the optimum as asked.

Source: separable convex costs as parallel arcs, Ahuja, Magnanti and Orlin 1993, chapter 14.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.models.program import Bends, Program, SolverProgram, in_cells

RADIUS = 2
"""The steps on either side of the point around which a window lies: rounding a relaxed optimum rarely moves a cell by
more."""

MOST_RADIUS = 32
"""The steps on either side of a window that has moved often; further off, prolonged steps are enough."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The linear pieces of a program's objective: z = base + the sum of sign times piece; the unknowns v of a solver.

    Attributes:
        program: the program in cells.
        low, high: the window of every cell; shape (n,). Cells without weight are one piece, and their window is empty.
        cell, sign, cost: the piece's cell, direction and cost per unit; shape (k,).
        lower, upper: the bounds of pieces, shape (k,).
        offset: the value of z where the piece begins, shape (k,).
        prolonged: whether the piece lies below the true cost, shape (k,), bool.
        far: whether the window may be far off, so that prolonged steps are cut; shape (n,), bool.
    """

    program: Program
    low: np.ndarray
    high: np.ndarray
    cell: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    offset: np.ndarray
    prolonged: np.ndarray
    far: np.ndarray

    @property
    def base(self) -> np.ndarray:
        """The value of z where all pieces are 0; shape (n,)."""
        return np.where(self.program.weight > 0, self.low, 0.0)

    def cells(self, v: np.ndarray) -> np.ndarray:
        """Add pieces up to z; shape (n,)."""
        return self.base + np.bincount(self.cell, self.sign * v, self.program.n)

    def taken(self, z: np.ndarray) -> np.ndarray:
        """Cut z into pieces, shape (k,): the part of every piece between its beginning and z."""
        return np.clip(self.sign * (z[self.cell] - self.offset), self.lower, self.upper)

    def outside(self, v: np.ndarray) -> bool:
        """Say whether a solution uses a prolonged piece, so that its cost is below the true one."""
        return bool((v[self.prolonged] > 1e-6).any())

    def are_left(self, z: np.ndarray) -> bool:
        """Say whether z lies outside the bends, which reach one step beyond the window."""
        beyond = (z < self.low - 1 - 1e-6) | (z > self.high + 1 + 1e-6)
        return bool(self.prolonged.any() and (beyond & (self.program.weight > 0)).any())

    def columns(self, integers: bool, start: np.ndarray | None) -> SolverProgram:
        """Write the program in its pieces: no rows beside the program's own, whose columns are repeated.

        Args:
            integers: whether the pieces are declared integers.
            start: values z from which a solver may start, shape (n,), or None.
        """
        program, base = self.program, self.base
        choose = sparse.csc_array((self.sign, (self.cell, np.arange(len(self.cell)))), (program.n, len(self.cell)))
        low, high = (self._of_cells(side) for side in program.reach)
        return SolverProgram(
            quadratic=np.zeros(len(self.cell)),
            linear=self.cost,
            matrix=_repeated(program.matrix, choose),
            right=program.right - program.matrix @ base,
            order=_repeated(program.order, choose),
            order_right=program.order_right - program.order @ base,
            lower=self.lower,
            upper=self.upper,
            integer=np.full(len(self.cell), integers),
            reach=(np.minimum(low, high), np.maximum(low, high)),
            constant=self.constant,
            start=None if start is None else self.taken(start),
            cells_first=False,
            switch=self._switch,
        )

    def linked(self, start: np.ndarray | None) -> SolverProgram:
        """Write the continuous program in cells and pieces, with a row that links every cell to its pieces.

        First-order methods converge on it where repeated columns keep them from it.
        """
        program = self.program
        own = np.flatnonzero(program.weight)
        pieces = np.flatnonzero(program.weight[self.cell] > 0)
        pieces = pieces[np.argsort(-self.sign[pieces], kind="stable")]
        place = np.searchsorted(own, self.cell[pieces])
        n, m, p = program.n, len(own), len(pieces)
        link = sparse.hstack(
            [
                sparse.csr_array((np.ones(m), (np.arange(m), own)), shape=(m, n)),
                sparse.csr_array((-self.sign[pieces], (place, np.arange(p))), shape=(m, p)),
            ]
        )
        wider = lambda matrix: sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], p))])  # noqa: E731
        low, high = (self._of_cells(side)[pieces] for side in program.reach)
        return SolverProgram(
            quadratic=np.zeros(n + p),
            linear=np.concatenate([np.zeros(n), self.cost[pieces]]),
            matrix=sparse.csr_array(sparse.vstack([wider(program.matrix), link])),
            right=np.concatenate([program.right, self.base[own]]),
            order=sparse.csr_array(wider(program.order)),
            order_right=program.order_right,
            lower=np.concatenate([program.lower, self.lower[pieces]]),
            upper=np.concatenate([program.upper, self.upper[pieces]]),
            integer=np.zeros(n + p, bool),
            reach=(
                np.concatenate([program.reach[0], np.minimum(low, high)]),
                np.concatenate([program.reach[1], np.maximum(low, high)]),
            ),
            constant=self.constant,
            start=None if start is None else np.concatenate([start, self.taken(start)[pieces]]),
            switch=program.switch,
        )

    def bends(self, integers: bool, start: np.ndarray | None) -> SolverProgram:
        """Write the program in its cells, for solvers that take piecewise linear costs of an unknown."""
        program = self.program
        cell, z, cost = self._points()
        return replace(
            in_cells(program, start),
            integer=np.full(program.n, integers),
            constant=self.constant,
            bends=Bends(cell, z.astype(float), cost.astype(float)),
        )

    def _points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """List the ends of all pieces of cells with a weight: cell, z, and what z costs more than the base; integers.

        Pieces of a cell follow one another from its base up, and then from its base down. Endless ones end after 1.
        """
        w, base = self.program.weight, self.base.astype(np.int64)
        own, weighed = np.flatnonzero(w[self.cell] > 0), np.flatnonzero(w)
        cell, sign = self.cell[own], self.sign[own].astype(np.int64)
        length = np.where(np.isfinite(self.upper[own]), self.upper[own], 1.0).astype(np.int64)
        starts = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(sign, prepend=0) != 0))
        run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(own))))

        def summed(terms: np.ndarray) -> np.ndarray:  # within runs; 64 bits wrap around, and differences are exact
            sums = np.cumsum(terms)
            return sums - (sums - terms)[starts][run]

        at = np.concatenate([base[weighed], base[cell] + summed(sign * length)])
        cost = np.concatenate([np.zeros(len(weighed), int), summed(self.cost[own].astype(np.int64) * length)])
        cell = np.concatenate([weighed, cell])
        order = np.lexsort((at, cell))
        return cell[order], at[order], cost[order]

    @property
    def constant(self) -> float:
        """The objective where all pieces are 0."""
        return float(self.program.weight @ np.abs(self.base) ** self.program.norm)

    def moved(self, z: np.ndarray) -> "Pieces":
        """Lay the windows of the cells that left them anew, around where the cells are now, and up to twice as wide."""
        out = (z < self.low) | (z > self.high)
        radius = np.clip(self.high - self.low, 2 * RADIUS, MOST_RADIUS)
        low = np.where(out, np.floor(z) - radius, self.low)
        high = np.where(out, np.ceil(z) + radius, self.high)
        return _pieces(self.program, low, high, self.far | out)

    @property
    def _switch(self) -> np.ndarray | None:
        """The pieces that switch rows on; what chooses has no weight, so it is one piece."""
        switch = self.program.switch
        return None if switch is None else np.where(switch < 0, -1, np.searchsorted(self.cell, switch))

    def _of_cells(self, side: np.ndarray) -> np.ndarray:
        """Say how long the pieces are if z goes as far as `side`."""
        away = np.clip(self.sign * (side[self.cell] - self.offset), self.lower, self.upper)
        return np.where(np.isfinite(away), away, 0.0)


def window(program: Program, around: np.ndarray | None, radius: int = RADIUS) -> Pieces:
    """Cut the squares of a program into steps around a point, shape (n,), and lines beyond.

    None stands for the noisy values, z = 0, from which optima may be far.
    """
    assert program.norm == 2
    near = np.clip(np.zeros(program.n) if around is None else around, program.lower, program.upper)
    return _pieces(program, np.floor(near) - radius, np.ceil(near) + radius, np.full(program.n, around is None))


def in_units(program: Program, unit: float) -> Program:
    """Write a program of squares in real numbers in z / unit, whose integers are the points of a grid.

    Its objective is divided by unit^2, so its duals by unit.

    Args:
        unit: 1, 1/2, 1/4 or a smaller power of 2, so that right-hand sides and bounds stay integers.
    """
    low, high = program.reach
    return replace(
        program,
        right=program.right / unit,
        order_right=program.order_right / unit,
        lower=program.lower / unit,
        upper=program.upper / unit,
        reach=(low / unit, high / unit),
    )


def magnitudes(program: Program) -> Pieces:
    """Cut absolute values at 0, or at the bound nearest to it: two pieces per cell, which are their cost everywhere."""
    assert program.norm == 1
    base = np.clip(0.0, program.lower, program.upper)
    pieces = _pieces(program, base, base, np.zeros(program.n, bool))
    return replace(pieces, prolonged=np.zeros(len(pieces.cell), bool))


def _pieces(program: Program, low: np.ndarray, high: np.ndarray, far: np.ndarray) -> Pieces:
    """Make the pieces of given windows, within bounds."""
    free, weighed = np.flatnonzero(program.weight == 0), np.flatnonzero(program.weight)
    low, high = (np.clip(side, program.lower, program.upper) for side in (low, high))
    width = (high - low)[weighed].astype(int)
    steps = np.repeat(weighed, width)
    at = np.repeat(low[weighed], width) + _counted(width)
    w, square = program.weight.astype(float), program.norm == 2
    up = _prolonged(high, program.upper, program.reach[1], weighed, far)
    down = _prolonged(-low, -program.lower, -program.reach[0], weighed, far)
    none, one = np.zeros, np.ones
    costs = lambda line: w[line.cell] * (2 * line.slope + 1 if square else 1)  # noqa: E731
    cell = np.concatenate([free, steps, up.cell, down.cell])
    pieces = np.argsort(cell, kind="stable")
    by_cell = lambda *parts: np.concatenate(parts)[pieces]  # noqa: E731
    return Pieces(
        program=program,
        low=low,
        high=high,
        cell=cell[pieces],
        sign=by_cell(one(len(free) + len(steps) + len(up.cell)), -one(len(down.cell))),
        cost=by_cell(none(len(free)), w[steps] * (2 * at + 1), costs(up), costs(down)),
        lower=by_cell(program.lower[free], none(len(steps) + len(up.cell) + len(down.cell))),
        upper=by_cell(program.upper[free], one(len(steps)), up.length, down.length),
        offset=by_cell(none(len(free)), at, up.start, -down.start),
        prolonged=by_cell(none(len(free) + len(steps)), one(len(up.cell) + len(down.cell))) > 0,
        far=far,
    )


@dataclass(frozen=True, eq=False)
class _Lines:
    """Prolonged steps: the cell, where the line begins, its length, and the step whose slope it has."""

    cell: np.ndarray
    start: np.ndarray
    length: np.ndarray
    slope: np.ndarray


def _prolonged(end: np.ndarray, bound: np.ndarray, reach: np.ndarray, cells: np.ndarray, far: np.ndarray) -> _Lines:
    """Prolong the step from the end of a window upwards, as far as the bound.

    The steps from end and from end + 2^k meet between the two. From the first integer at which the further one is not
    below, it takes over: what is paid is at most the larger line, so at most the square.
    """
    open_ = cells[end[cells] < bound[cells]]
    room = np.where(far[open_], np.maximum(reach[open_] - end[open_], 1.0), 1.0)
    n_lines = 1 + np.ceil(np.log2(np.maximum(room, 1.0))).astype(int)
    cell, place = np.repeat(open_, n_lines), _counted(n_lines)
    away = np.where(place == 0, 0.0, 2.0 ** (place + 1))
    before = np.where(place == 1, 0.0, 2.0**place)
    start = np.where(place == 0, 0.0, np.ceil((before + away + 1) / 2))
    inside = start < (bound - end)[cell]
    cell, away, start = cell[inside], away[inside], start[inside]
    stop = np.append(start[1:], 0.0)
    last = np.append(cell[1:] != cell[:-1], True) if len(cell) else np.zeros(0, bool)
    length = np.where(last, (bound - end)[cell], stop) - start
    return _Lines(cell, end[cell] + start, length, end[cell] + away)


def _repeated(matrix: sparse.csr_array, choose: sparse.csc_array) -> sparse.csr_array:
    """Repeat columns of a matrix, in the order in which some solvers want the columns of every row."""
    repeated = sparse.csr_array(matrix @ choose)
    repeated.sort_indices()
    return repeated


def _counted(lengths: np.ndarray) -> np.ndarray:
    """Count 0, 1, ... in every stretch: [2, 3] gives 0, 1, 0, 1, 2."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
