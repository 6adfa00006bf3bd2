"""The nearest whole counts that keep bounds of single cells, add up over regions, and have public totals.

    minimise    sum over regions r, sizes s of  (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],   lower[r, s] <= x[r, s] <= upper[r, s],   x integer,
                sum over s of x[root, s] = G,   or of every region  sum over s of x[r, s] = G[r].

Such counts are a flow (`pgsr.engines.quadratic_flow`): G units start at one vertex, go on to a vertex for every size of
the root, from there down to the regions below, size by size, and from the cells of a lowest region into its total, or
into the ground where its total is not public. The units on the way to a cell are its count.

**Bounds.** The flows there have a least, 0, and no most. A fixed cell is no arc but a supply at both ends. Any other
lower bound is taken off, x = lower + x'. An upper bound x' <= u makes two arcs of one that leads from a to b: x' goes
from a to a vertex of its own which wants u units, and u - x' comes to it from b, which gets these u from outside. The
cost of x' is shared, half of it on either arc, so it is the same; all other arcs have weight 2 then, and these 1.

**Ties.** Searches start from prices 0, at which every flow is y itself, and move what violates bounds, in integers. So
the same y gives the same x on every machine, and where y keeps the bounds already, x is y.

Complexity: O(regions x sizes) to set up, and a search for a shortest path for every unit by which y misses the bounds,
which may visit many vertices. With 11,000 such units in 3,214 regions x 101 sizes it took more than two minutes on a
busy machine.
"""

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.quadratic_flow.integers import cheapest_flow
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.errors import ProblemError
from pgsr.problems.conditions.stated import UNBOUNDED


def nearest_within_bounds(
    tree: Hierarchy, y: np.ndarray, lower: np.ndarray, upper: np.ndarray, totals: np.ndarray, *, start_at_y: bool = True
) -> np.ndarray:
    """Find the nearest counts within bounds.

    Args:
        tree: the regions.
        y: int64, shape (regions, K + 1), of any sign.
        lower: of the counts, from 0 up; int64, shape (regions, K + 1).
        upper: likewise, `UNBOUNDED` where there is none.
        totals: public numbers of groups, int64: of every region, shape (regions,), or of the root alone, shape (1,).
        start_at_y: whether searches start at y, so that the answer is the same on every machine. If not they start at
            prices in floating point, which are near the answer where y is far from all counts within the bounds; then
            another machine may choose other counts that are as near.

    Returns:
        x, int64, shape (regions, K + 1).

    Raises:
        ProblemError: no counts keep the bounds and the totals.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> y = np.array([[3, 4], [2, 1], [1, 3]])
        >>> upper = np.full((3, 2), UNBOUNDED)
        >>> upper[1, 1] = 0
        >>> nearest_within_bounds(tree, y, np.zeros((3, 2), np.int64), upper, np.array([7, 3, 4]))
        array([[3, 4],
               [3, 0],
               [0, 4]])

    Shown equal to exhaustive search by `tests/test_algorithms_nearest_within_bounds.py`.
    """
    if (lower > upper).any():
        raise ProblemError("a lower bound of a count is above its upper bound")
    network, arc = _network(tree, y, lower, upper, totals)
    start = np.zeros(network.n_vertices) if start_at_y else None
    near = np.maximum(network.y, 0) if start_at_y else None
    units = cheapest_flow(network, start, near).x
    x = lower.astype(np.int64)
    moving = arc >= 0
    x[moving] += units[arc[moving]]
    return x


def _network(
    tree: Hierarchy, y: np.ndarray, lower: np.ndarray, upper: np.ndarray, totals: np.ndarray
) -> tuple[FlowNetwork, np.ndarray]:
    """Make the network, and number the arc of every cell; -1 where it has none. Shape (regions, K + 1)."""
    n_regions, n_sizes = y.shape
    fixed, bounded = lower == upper, (lower < upper) & (upper < UNBOUNDED)
    n_bounded, n_totals = int(bounded.sum()), (n_regions - tree.n_inner) * (len(totals) > 1)
    # Vertices: the ground, those of bounded cells, the totals of the lowest regions, cells of inner regions from the
    # last region up, and the source. So arcs lead to smaller numbers, as `Network` wants them.
    own = np.zeros(y.shape, np.int64)
    own[bounded] = 1 + np.arange(n_bounded)
    below = 1 + n_bounded + n_totals
    source = below + tree.n_inner * n_sizes
    place = np.zeros(y.shape, np.int64)  # where the units of a cell go on
    place[: tree.n_inner] = source - 1 - np.arange(tree.n_inner * n_sizes).reshape(tree.n_inner, n_sizes)
    if n_totals:
        place[tree.n_inner :] = (1 + n_bounded + np.arange(n_totals))[::-1, None]
    above = np.concatenate([np.full((1, n_sizes), source), place[tree.parent[1:]]])
    supply = np.zeros(source + 1, np.int64)
    supply[source] = totals[0]
    if n_totals:
        supply[place[tree.n_inner :, 0]] = -totals[tree.n_inner :]
    np.add.at(supply, place.ravel(), lower.ravel())
    np.subtract.at(supply, above.ravel(), lower.ravel())
    room = (upper - lower)[bounded]
    supply[own[bounded]] = -room
    np.add.at(supply, place[bounded], room)

    wanted, ends = y - lower, np.where(bounded, own, place)
    start = np.concatenate([above[~fixed], place[bounded]])
    end = np.concatenate([ends[~fixed], own[bounded]])
    targets = np.concatenate([wanted[~fixed], room - wanted[bounded]])
    weights = np.concatenate([np.where(bounded, 1, 2)[~fixed], np.ones(n_bounded, np.int64)])
    idle = np.setdiff1d(np.arange(1, source + 1), np.concatenate([start, end]))
    if supply[idle].any():
        raise ProblemError("fixed counts do not add up")
    # Vertices all of whose cells are fixed get an arc into the ground, since Newton's method wants one at every vertex.
    start, end = np.concatenate([start, idle]), np.concatenate([end, np.zeros(len(idle), np.int64)])
    targets = np.concatenate([targets, np.zeros(len(idle), np.int64)])
    weights = np.concatenate([weights, np.ones(len(idle), np.int64)])
    order = np.argsort(start, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    arc = np.full(y.shape, -1)
    arc[~fixed] = rank[: int((~fixed).sum())]
    made = start[order], end[order], targets[order], weights[order], np.zeros(len(order), bool)
    return FlowNetwork.of(*made, n_vertices=source + 1, supply=supply), arc
