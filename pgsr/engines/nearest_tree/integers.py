"""The nearest integers on a tree: optimal prices, then ever wider windows until the exchange test is passed."""

from collections.abc import Iterator

import numpy as np

from pgsr.checks import what_to_lower
from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.nearest_tree.exchange import passes_exchange_test
from pgsr.engines.nearest_tree.size_trees import SizeTrees, root_price
from pgsr.errors import ProblemError, TooLargeError

SLACK = 0.25
"""How far, in units, the windows of the integers may lie off at the root, so that the last prices can be spared."""

WIDEST = 10_000
"""Half width of the windows beyond which the search ends."""

LARGEST = 2**50
"""Largest number times weight times levels: sums along a branch and over sizes then stay within 64 bits."""


def nearest_integers(tree: Hierarchy, y: np.ndarray, w: np.ndarray, total: int | None) -> np.ndarray:
    """Find the consistent non-negative integers nearest to y, proved by the exchange test; int64 of the shape of y.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0 integer,   sum_s x[root, s] = total if given.

    Args:
        tree: the regions.
        y: integers, shape (regions, sizes).
        w: non-negative integers, shape (regions,), positive at leaves.
        total: 0 or more, or None.

    Raises:
        ProblemError: numbers beyond 64-bit arithmetic, or a negative total.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> nearest_integers(tree, np.array([[9], [4], [-2]]), np.ones(3, int), None).ravel()
        array([6, 6, 0])

    Shown equal to exhaustive search by `test_m_h_projection.py::test_equals_brute_force`.
    """
    if total is not None and total < 0:
        raise ProblemError(f"no non-negative numbers add up to {total:,}; give a total of 0 or more")
    if max(int(np.abs(y).max()), total or 0) * int(w.max()) * tree.n_levels > LARGEST:
        raise TooLargeError(f"counts times weights times levels exceed 2^50; {what_to_lower(w)}")
    trees = SizeTrees.of(tree, y, w, None)
    _, below = optimal_prices(trees, total, SLACK)
    for x in widening(trees, below, total):
        if x is not None and passes_exchange_test(tree, w, x, y, total is not None):
            return x
    raise ProblemError(f"no proved optimum in windows of {WIDEST:,}; this is a defect, please report it")


def optimal_prices(trees: SizeTrees, total: int | None, slack: float) -> tuple[float, np.ndarray]:
    """Find the price that the root is paid, and those paid by inner regions, shape (inner regions, sizes).

    Args:
        trees: without bounds; `bounded_prices` has them for others.
        total: of the root over all sizes, or None.
        slack: with it the prices are those of a root that is off by at most this many units, see `root_price`.
    """
    if total == 0:  # no region may take anything at this total
        return trees.lowest_prices()
    below = trees.highest_prices()
    ask = trees.asked(below)
    if total is None:
        ask(0.0)
        return 0.0, below
    return root_price(ask, total, slack), below


def widening(trees: SizeTrees, below: np.ndarray, total: int | None) -> Iterator[np.ndarray | None]:
    """Find the optimal integers in windows around the continuous point of prices `below`; widen them as needed.

    None stands for windows that do not reach the total or are empty. Ends
    beyond `WIDEST`.
    """
    width = 1
    while width <= 2 * WIDEST + 1:
        merged = trees.merge(below, width)
        roots = merged.root.cheapest(total)
        yield None if roots is None else merged.distribute(roots)
        width = 2 * width + 1
