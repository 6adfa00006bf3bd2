"""The integers of a whole hierarchy of cumulative counts, from the root down, one min-cost flow per inner region."""

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped
from pgsr.models.optional import load, not_installed
from pgsr.models.share import Share


def integers_top_down(
    tree: Hierarchy,
    values: np.ndarray,
    root: np.ndarray,
    weights: np.ndarray,
    target: np.ndarray | None = None,
    totals: np.ndarray | None = None,
    deadline: Deadline = NO_LIMIT,
    exact: bool = False,
) -> np.ndarray:
    """Find integer cumulative counts close to real ones, consistent and monotone, below a given integer root.

    From the root down every inner region, whose integers C are settled by then, shares them among its children j:

        minimise    sum over j, sizes s of  v[j] (c[j, s] - t[j, s])^2
        subject to  sum over j of c[j, s] = C[s],   0 <= c[j, 0] <= ... <= c[j, K],   c integer,
                    c[j, K] = G[j] where it is public.

    Leaves have t = `target` and v = `weights`. An inner child has t = `values` and v = its own weight plus that of its
    children in series, 1 / sum(1 / v): what it costs at least to move it together with all that is below.

    Each of these problems is a min-cost flow: C's increments flow into children, c[j, s] is the flow of child j from s
    to s + 1, and a convex cost becomes parallel unit arcs. Three things make it small. Where C does not grow no child
    can, so a run of such sizes is one column. Children stay between the floor and the ceiling of `values`. And they
    grow only where `values` do, leaves also one column before and after. If no flow exists children may grow
    anywhere, then windows widen, at last to everything.

    Around a relaxed optimum the whole tree is mostly the better for the last restriction: at the same prices a
    run over which a child's values are equal is rounded as one, and an inner child that grew elsewhere would force
    growth upon children that have no reason to. With `exact` they may grow anywhere and windows begin one step wider;
    where an answer touches its window, and not a condition, the window is moved outwards and the flow solved again. An
    answer that touches none is optimal without windows, since the problem is convex.

    Every region gets a feasible share of any non-decreasing root, so the answer is consistent, monotone and
    non-negative by construction. It is the best answer below each region alone, not of the whole tree.

    Args:
        values: real, shape (regions, K + 1); should be nearly consistent and monotone (windows get wide otherwise).
        root: non-negative, non-decreasing integers, shape (K + 1,).
        weights: non-negative, shape (regions,), positive at leaves.
        target: integers, of which the rows of leaves are used; default `values`.
        totals: every region's public total, shape (regions,), or None; must add up, and agree with `root`.
        deadline: asked between regions.
        exact: whether every share is the best for its parent. Costs that are not integers are rounded anyway.

    Returns:
        int64, shape (regions, K + 1).

    Complexity: one flow per inner region, with a node and two arcs for every place where a child's `values` grow, three
    times as many at leaves; with `exact`, (children + 1) x columns nodes and four times as many arcs. Regions are
    solved one after the other: OR-tools keeps Python's lock, so threads gain nothing.

    Raises:
        Stopped: out of time, OR-tools missing, a network beyond `pgsr.models.share.LARGEST`, totals that contradict
            each other; its status and reason say which.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values = np.array([[1.0, 4.2, 7.0], [0.4, 2.1, 3.4], [0.6, 2.1, 3.6]])
        >>> integers_top_down(tree, values, np.array([1, 4, 7]), np.ones(3))
        array([[1, 4, 7],
               [0, 2, 3],
               [1, 2, 4]])

    Source: the scheme is new here; convex costs as parallel arcs, Ahuja, Magnanti and Orlin 1993, section 14.3. Shown
    by `tests/test_models_cumulative_flow.py`.
    """
    solver = load("ortools.graph.python.min_cost_flow")
    if solver is None:
        missing = not_installed("ortools")
        raise Stopped(missing.status, missing.reason)
    out = np.zeros((tree.n_regions, len(root)), np.int64)
    out[0] = root
    v = _moving_weights(tree, weights)
    for region in range(tree.n_inner):
        deadline.check(f"region {region:,} of {tree.n_inner:,} inner ones reached")
        below = slice(tree.children(region).start, tree.children(region).stop)
        last = None if totals is None else totals[below]
        leaves = tree.level_of[region] == tree.n_levels - 2
        aims = target if leaves and target is not None else values
        out[below] = Share(out[region], values[below], aims[below], v[below], last, int(leaves)).solve(solver, exact)
    return out


def _moving_weights(tree: Hierarchy, weights: np.ndarray) -> np.ndarray:
    """Compute the weights of moving a region with all that is below it; shape (regions,), positive."""
    v = np.asarray(weights, float).copy()
    for level in range(tree.n_levels - 2, -1, -1):
        resistance = np.zeros(tree.n_regions)
        resistance[tree.level(level + 1)] = 1.0 / v[tree.level(level + 1)]
        v[tree.level(level)] += 1.0 / tree.sum_children(resistance, level)
    return v
