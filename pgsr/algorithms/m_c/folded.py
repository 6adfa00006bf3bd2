"""The relaxed M_c where levels have sizes of their own, with every region's total; arrays in, arrays out.

    minimise    sum over regions r, sizes s < K of r's level  of  w[r, s] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],  s < k, the largest size of the level below,
                0 <= x[r, 0] <= ... <= x[r, K - 1] <= G[r],     G public for all regions.

**Every size has a tree of its own.** Of counts with sizes per level, the tail of a region and the sizes above it
cross like rows and columns (docs/derivations/m_h_levels.md). Cumulative counts do not: that the tail of a region is
its children's last class says no more than that the numbers of groups add up, which public totals do. What remains
is, for every size s, a tree of the regions whose level tells s from larger sizes; it ends at the last such level.

**The dual.** Only consistency gets prices, p[r, s] for s < k. As elsewhere in this room every region then minimises
on its own w |x - y|^2 - (p[parent] - p[r]) . x, where p[r, s] = 0 from k on. A region without a tail of its own, K = k,
is free: its order follows from its children's. A region with a tail, every leaf among them, is an isotonic regression
within 0..G[r]. The dual is concave and piecewise quadratic, its gradient is what a region takes less what its children
take, and Newton's method maximises it: products with the Hessian average over blocks, and the preconditioner puts their
diagonals on the trees of the sizes, which are eliminated exactly (`folded_dual`).
"""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c.folded_dual import FoldedDual, Prices, Targets, ascend
from pgsr.methods.gate import NO_LIMIT, Deadline

ENOUGH = 0.01
"""Groups by which sums may be off where integers are found next to the answer."""


@dataclass(frozen=True, eq=False)
class Together:
    """The relaxed optimum.

    Attributes:
        values: cumulative counts in real numbers that keep all conditions, the totals last; one table per level, shape
            (regions of the level, K + 1).
        prices: of the sums, per level with children, shape (regions of the level, K of the level below).
        objective: of the values.
        bound: no feasible point has a smaller objective, up to floating-point roundings of the dual.
        missing: the largest number of groups by which what regions take at the prices is off a sum.
        steps: of Newton's method.
    """

    values: tuple[np.ndarray, ...]
    prices: Prices
    objective: float
    bound: float
    missing: float
    steps: int


def together(targets: Targets, tolerance: float = ENOUGH, deadline: Deadline = NO_LIMIT) -> Together:
    """Find the nearest consistent monotone cumulative counts, in real numbers, where sizes fold from level to level.

    Args:
        targets: y, w and G.
        tolerance: groups by which sums may be off at the end of the ascent.
        deadline: asked between steps.

    Memory: about 24 bytes per cell, 100 more per cell of an inner region that its children share.

    Raises:
        Stopped: the deadline passed.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> y = np.array([[1.0, 6.0, 5.0]]), np.array([[2.0], [1.0]])
        >>> totals = np.array([9]), np.array([5, 4])
        >>> found = together(Targets.of(tree, y, totals, (1.0, 1.0)), 1e-9)
        >>> [table.round(3).tolist() for table in found.values], round(found.objective, 6)
        ([[[1.667, 5.5, 5.5, 9.0]], [[1.333, 5.0], [0.333, 4.0]]], 1.833333)

    Extends: the relaxed M_c of Fioretto and Van Hentenryck 2019, section 8, to sizes per level. Shown equal to an
    interior-point solver by `tests/test_m_c_folded.py::test_equals_clarabel`.
    """
    dual = FoldedDual(targets)
    point, steps = ascend(dual, tolerance, deadline)
    if point.missing > tolerance:
        deadline.check(f"sums are off by {point.missing:.2g} groups")
    values = feasible(dual)
    objective = targets.objective([table[:, :-1] for table in values])
    return Together(values, point.prices, objective, point.value, point.missing, steps)


def feasible(dual: FoldedDual) -> tuple[np.ndarray, ...]:
    """Add up the values that leaves take; a tail has the values of its own region, between those below and the total.

    Overwrites what regions take. The totals come last, as in `Together`.
    """
    targets, taken, shared = dual.targets, dual.taken, dual.k
    tables = [taken[-1]]
    for level in range(len(taken) - 2, -1, -1):
        here, k = taken[level], shared[level]
        here[:, :k] = targets.sums(level, tables[0])
        np.minimum(here, targets.totals[level][:, None], out=here)
        if k:
            np.maximum(here[:, k:], here[:, k - 1 : k], out=here[:, k:])
        tables.insert(0, here)
    return tuple(np.append(x, groups[:, None], axis=1) for x, groups in zip(tables, targets.totals, strict=True))
