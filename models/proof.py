"""The proof of an integer answer: bounds in exact integers, by prices of linear programs around the answer."""

import heapq
import itertools
import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.models.feasibility import contradicting_sum, satisfies
from pgsr.models.program import Program, linear_optimum
from pgsr.models.window import magnitudes, window

ROUNDS = 3
"""The programs solved at most: where the linear optimum lies outside the window, it moves."""


MOST_NODES = 200
"""The linear programs of a search at most."""

FRACTION = 1e-6
"""How far from an integer an unknown is fractional."""

UNIT = 2**20
"""Prices are rounded to multiples of 1 / UNIT, so that bounds are computed in integers."""

LARGEST = 2.0**60
"""The largest number that stays exact in 64 bits, with room for a sum of two."""


def integer_bound(program: Program, duals: np.ndarray, order_duals: np.ndarray) -> int | None:
    """Compute an integer that no integer point's objective is below, by any prices v of equalities and mu >= 0:

        sum_j min over integers z of  weight[j] |z|^norm + c[j] z   -  v right  -  mu order_right,

    where c = v matrix + mu order and z lies within its bounds and its reach. It is the Lagrangian's minimum: what rows
    would add to the objective of a feasible point is 0 or negative. Weights and costs are integers, so objectives are,
    and the bound is rounded up. All is computed in integers, of prices in units of 1 / `UNIT`.

    Returns:
        None where numbers leave 64 bits or an unknown without weight has no finite reach.

    Complexity: O(n + entries of rows).
    """
    low = np.ceil(np.maximum(program.lower, program.reach[0]))
    high = np.floor(np.minimum(program.upper, program.reach[1]))
    v, mu = np.rint(duals * UNIT), np.rint(np.maximum(order_duals, 0.0) * UNIT)
    c = program.matrix.T @ v + program.order.T @ mu
    w = UNIT * program.weight.astype(float)
    near = np.where(w > 0, -c / np.maximum(2.0 * w, 1.0), 0.0) if program.norm == 2 else np.zeros(program.n)
    far = np.where((w > 0) & (program.norm == 2), near, np.where(c > 0, low, high))
    points = [np.clip(side, low, high) for side in (np.floor(near), np.ceil(near), far, np.where(w > 0, 0.0, far))]
    points = [np.where((c == 0) & (w == 0), np.clip(0.0, low, high), np.rint(z)) for z in points]
    largest = max(float(np.abs(z).max(initial=0.0)) for z in points)
    sizes = [
        w * largest**program.norm,
        np.abs(c) * largest,
        np.abs(v * program.right),
        np.abs(mu * program.order_right),
    ]
    if not all(np.isfinite(part).all() and part.max(initial=0.0) < LARGEST for part in sizes):
        return None
    exact = lambda a: a.astype(np.int64)  # noqa: E731
    values = [exact(w) * np.abs(exact(z)) ** program.norm + exact(c) * exact(z) for z in points]
    total = sum(np.minimum.reduce(values).tolist())
    total -= sum((exact(v) * exact(program.right)).tolist()) + sum((exact(mu) * exact(program.order_right)).tolist())
    return -(-total // UNIT)


@dataclass(frozen=True, eq=False)
class Search:
    """The outcome of a search for integer points that are better than an answer.

    Attributes:
        bound: no integer point has a smaller objective; None if nothing is known.
        better: a feasible integer point z of smaller objective, shape (n,), or None.
    """

    bound: int | None
    better: np.ndarray | None = None


def search(program: Program, whole: np.ndarray, objective: int, seconds: float, nodes: int = MOST_NODES) -> Search:
    """Bound an integer program around an answer, best first, until nothing can be better or the limits are reached.

    Every node is a box of the unknowns. SciPy's HiGHS solves the linear program of pieces in it, around the answer, and
    its duals give the node's `integer_bound`, which is ours. A node whose bound reaches the objective is done with, as
    is one of which a weighted sum of the conditions shows that it has no point. Others are cut in two at a fraction of
    the linear optimum, of the unknown with the largest coefficient in any row, as a size has in a number of entities:
    it ties the most others. Nothing rests on HiGHS: any duals give a bound that holds.

    Args:
        program: of integers.
        whole: the answer z, integers of shape (n,).
        objective: the answer's.
        seconds, nodes: the limits; one node is the linear program around the answer itself.
    """
    start, place, largest = time.perf_counter(), itertools.count(), _largest_coefficients(program)
    known: int | None = None
    open_: list[tuple[float, int, Program]] = [(-math.inf, next(place), program)]
    while open_ and nodes > 0:
        parent, _, node = heapq.heappop(open_)
        nodes -= 1
        left = seconds - (time.perf_counter() - start)
        found = _linear_optimum(node, whole, left) if left > 0 else None
        if found is None:
            proved_empty = left > 0 and contradicting_sum(node, left) is not None
            if proved_empty:
                continue
            heapq.heappush(open_, (parent, next(place), node))
            break
        bound = integer_bound(node, found.duals, found.order_duals)
        if bound is None:
            heapq.heappush(open_, (parent, next(place), node))
            break
        known = bound if known is None else known
        bound = max(bound, parent)
        if bound >= objective:
            continue
        at = np.flatnonzero(np.abs(found.z - np.rint(found.z)) > FRACTION)
        if not len(at):
            z = np.rint(found.z)
            if _cost(program, z) < objective and satisfies(program, z):
                return Search(known, z.astype(np.int64))
            heapq.heappush(open_, (bound, next(place), node))
            break
        off = np.abs(found.z[at] - np.floor(found.z[at]) - 0.5)
        cut = int(at[np.lexsort((off, -largest[at]))[0]])
        for lower, upper in ((None, math.floor(found.z[cut])), (math.ceil(found.z[cut]), None)):
            heapq.heappush(open_, (bound, next(place), _within(node, cut, lower, upper)))
    least = min((bound for bound, _, _ in open_), default=objective)
    if not math.isfinite(least):
        return Search(known)
    return Search(int(least) if known is None else max(known, int(least)))


@dataclass(frozen=True, eq=False)
class _Linear:
    """The optimum of a linear program of pieces: z, and the duals of the program's rows."""

    z: np.ndarray
    duals: np.ndarray
    order_duals: np.ndarray


def _linear_optimum(program: Program, whole: np.ndarray, seconds: float) -> _Linear | None:
    """Solve the linear program of pieces around an answer; where the optimum lies outside the window, it moves."""
    pieces = magnitudes(program) if program.norm == 1 else window(program, whole.astype(float))
    last = None
    for _ in range(ROUNDS):
        handed = pieces.columns(integers=False, start=None)
        if not len(handed.linear):  # bounds leave one point
            z = pieces.cells(np.zeros(0))
            duals = np.zeros(len(program.right)), np.zeros(len(program.order_right))
            return _Linear(z, *duals) if satisfies(program, z) else None
        found = linear_optimum(handed, handed.linear, options={"time_limit": seconds})
        if found.status != 0:
            return last
        duals = -np.asarray(found.eqlin.marginals), -np.asarray(found.ineqlin.marginals)
        last = _Linear(pieces.cells(found.x), *duals)
        if not pieces.outside(found.x):
            return last
        pieces = pieces.moved(last.z)
    return last


def _largest_coefficients(program: Program) -> np.ndarray:
    """Find the largest coefficient that every unknown has in any row, by size; shape (n,)."""
    rows = sparse.coo_array(sparse.vstack([program.matrix, program.order]))
    largest = np.zeros(program.n)
    np.maximum.at(largest, rows.col, np.abs(rows.data))
    return largest


def _within(program: Program, cell: int, lower: float | None, upper: float | None) -> Program:
    """Bound one unknown."""
    low, high = program.lower.copy(), program.upper.copy()
    low[cell] = low[cell] if lower is None else max(low[cell], lower)
    high[cell] = high[cell] if upper is None else min(high[cell], upper)
    return replace(program, lower=low, upper=high)


def _cost(program: Program, z: np.ndarray) -> int:
    """Compute the objective of integers."""
    whole = z.astype(np.int64)
    return int(program.weight @ np.abs(whole) ** program.norm)
