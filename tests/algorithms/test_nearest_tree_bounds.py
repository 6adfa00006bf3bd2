"""Trees whose cells have bounds: intervals, prices, integers and their proof against exhaustive search."""

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy
from pgsr.engines.nearest_tree import nearest_integers
from pgsr.engines.nearest_tree.bounded_prices import BoundedPrices, bounded_prices
from pgsr.engines.nearest_tree.bounds import NO_BOUND, CellBounds
from pgsr.engines.nearest_tree.exchange import passes_exchange_test
from pgsr.engines.nearest_tree.integers import SLACK, widening
from pgsr.engines.nearest_tree.size_trees import SizeTrees
from pgsr.errors import ProblemError, TooLargeError


def nearest_within(tree, y, w, total, lower, upper):
    """The nearest integers within bounds, proved by the exchange test: what `TreeProjection` does of one problem."""
    intervals = CellBounds.of(tree, lower, upper)
    reason = intervals.contradiction(tree, total, lower, upper)
    if reason is not None:
        raise ProblemError(reason)
    trees = SizeTrees.of(tree, y, w, intervals)
    _, below = bounded_prices(trees, intervals.clipped, total, SLACK)
    found = (x for x in widening(trees, below, total) if x is not None)
    return next(x for x in found if passes_exchange_test(tree, w, x, y, total is not None, lower, upper))


def test_equals_brute_force_without_total():
    rng = rng_of(92)
    for _ in range(scale(40, 5_000)):
        tree = random_tree(rng, max_regions=5)
        y, w = rng.integers(-2, 3, (tree.n_regions, 2)), rng.integers(1, 4, tree.n_regions)
        points = np.concatenate([naive.feasible_points(tree, 2, total) for total in range(8)])
        lower, upper = random_bounds(rng, y.shape)
        inside = points[((points >= lower) & (points <= upper)).all(axis=(1, 2))]
        if len(inside) and inside[:, 0].sum(axis=1).min() <= 2:
            x = nearest_within(tree, y, w, None, lower, upper)
            assert cost(x, y, w) <= cost(inside, y, w).min()
            assert ((x >= lower) & (x <= upper)).all()
            assert (tree.sum_up(x[tree.leaves]) == x).all()
            if x[0].sum() < 8:
                assert cost(x, y, w) == cost(inside, y, w).min()


def test_intervals_equal_brute_force():
    """An interval is what a cell takes in all solutions; without solutions there is a conflict."""
    rng = rng_of(93)
    for _ in range(scale(700, 20_000)):
        tree = random_tree(rng, max_regions=6)
        most, n_leaves = 4, tree.n_regions - tree.n_inner
        leaves = np.indices((most + 1,) * n_leaves).reshape(n_leaves, -1)
        points = tree.sum_up(leaves)
        lower, upper = random_bounds(rng, (tree.n_regions, 1))
        upper[tree.leaves] = np.minimum(upper[tree.leaves], most)  # so that all solutions are tried
        inside = points[:, ((points >= lower) & (points <= upper)).all(axis=0)]
        found = CellBounds.of(tree, lower, upper)
        assert (found.conflict is None) == (inside.shape[1] > 0)
        if inside.shape[1]:
            assert found.lower[0].tolist() == inside.min(axis=1).tolist()
            assert found.upper[0].tolist() == inside.max(axis=1).tolist()


def test_exchange_test_equals_brute_force():
    """Of all points within the bounds it passes the optimal ones, and no other."""
    rng = rng_of(94)
    passed = 0
    for _ in range(scale(100, 5_000)):
        tree, y, w, _, points = small_instance(rng)
        lower, upper = random_bounds(rng, y.shape)
        inside = points[((points >= lower) & (points <= upper)).all(axis=(1, 2))]
        best = cost(inside, y, w).min(initial=NO_BOUND)
        for x in inside:
            optimal = passes_exchange_test(tree, w, x, y, True, lower, upper)
            assert optimal == (cost(x, y, w) == best)
            passed += optimal
    assert passed > 30


def test_prices_are_those_at_which_regions_take_what_their_children_take():
    """The conditions of optimality, region by region."""
    rng = rng_of(95)
    clipped = 0
    for _ in range(scale(150, 5_000)):
        trees, clipping = random_trees(rng)
        lower, upper, root = trees.lower, trees.upper, float(rng.normal(0, 8))
        assert lower is not None
        assert upper is not None
        below, slope = prices(trees, clipping, root)
        x = trees.continuous(below.T.copy()).T
        for s in range(len(x)):
            low, high = lower[-trees.n_regions :, s], upper[-trees.n_regions :, s]
            assert (x[s] >= low - 1e-6).all()
            assert (x[s] <= high + 1e-6).all()
            for r in range(trees.n_inner):
                taken = x[s, r]
                for c in range(*trees.first_child[r : r + 2]):
                    if c >= trees.n_inner:
                        wanted = trees.y[c, s] + below[s, r] / (2 * trees.w[c])
                        assert x[s, c - len(trees.w)] == pytest.approx(np.clip(wanted, lower[c, s], upper[c, s]))
                above = below[s, trees.parent[r]] if r else root
                net = above - 2 * trees.w[r] * (taken - trees.y[r, s]) - below[s, r]
                clipped += abs(net) > 1e-6
                clips = clipping[s, r]  # a bound that its children keep by themselves has no price
                assert net <= 1e-6 or (clips & 2 and taken >= upper[r, s] - 1e-6)  # it pushes against the bound
                assert net >= -1e-6 or (clips & 1 and taken <= lower[r, s] + 1e-6)
        ahead, _ = prices(trees, clipping, root + 1e-5)
        rise = (trees.continuous(ahead.T.copy())[0] - x[:, 0]) / 1e-5
        assert (np.abs(rise - slope) < 1e-4).mean() > 0.5  # but at kinks
    assert clipped > 30


def test_a_window_that_misses_its_interval_leaves_the_root_none():
    """At these prices GA's leaves take 4, and it is to hold 2 at most; what MI may take does not make up for it."""
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c")])
    y, lower, upper = np.array([[0], [0], [0], [10], [10], [0]]), np.zeros((6, 1), int), np.full((6, 1), NO_BOUND)
    upper[tree.index(("US", "GA"))] = 2
    trees = SizeTrees.of(tree, y, np.ones(6, int), CellBounds.of(tree, lower, upper))
    for width, is_empty in ((1, True), (7, False)):
        assert (trees.merge(np.zeros((3, 1)), width).root.length[0] < 0) == is_empty


def test_sizes_without_bounds_are_solved_as_ever():
    """A bound at one size leaves the prices of the others, so without a total also their integers, bit for bit."""
    rng = rng_of(96)
    tree = random_tree(rng, 60, 4)
    y, w = rng.integers(-9, 30, (tree.n_regions, 40)), rng.integers(1, 4, tree.n_regions)
    lower, upper = np.full(y.shape, -NO_BOUND), np.full(y.shape, NO_BOUND)
    assert (nearest_within(tree, y, w, 500, lower, upper) == nearest_integers(tree, y, w, 500)).all()
    upper[5, 7] = 1
    with_bound, without = nearest_within(tree, y, w, None, lower, upper), nearest_integers(tree, y, w, None)
    assert (np.delete(with_bound, 7, axis=1) == np.delete(without, 7, axis=1)).all()
    assert with_bound[5, 7] <= 1


def test_sentences_name_region_and_size():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    y, w = np.zeros((3, 2), int), np.ones(3, int)
    for cells, total, sentence in [
        ([(1, 1, 5, 3)], 9, "region US/GA, size 1: at least 5 and at most 3"),
        ([(1, 1, 5, 9), (0, 1, 0, 4)], 9, "region US, size 1: .* add up to at least 5, its own are at most 4"),
        ([(1, 0, 0, 2), (2, 0, 0, 1), (0, 0, 4, 9)], 9, "region US, size 0: .* at most 3, its own are at least 4"),
        ([(1, 1, 5, 9)], 4, "at least 5 groups in US, whose public total is 4"),
        ([(0, 0, 0, 1), (0, 1, 0, 1)], 4, "at most 2 groups in US, whose public total is 4"),
    ]:
        lower, upper = np.full((3, 2), -NO_BOUND), np.full((3, 2), NO_BOUND)
        for region, size, low, high in cells:
            lower[region, size], upper[region, size] = low, high
        with pytest.raises(ProblemError, match=sentence):
            nearest_within(tree, y, w, total, lower, upper)
    with pytest.raises(TooLargeError, match=r"2\^60"):
        nearest_within(tree, y, w, None, np.full((3, 2), 2**60), np.full((3, 2), NO_BOUND))


def test_lower_bounds_as_large_as_no_count_may_be_are_refused():
    """Costs of units beyond 64 bits once made a loop go on for ever."""
    tree, y = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), np.array([[1, 2, 3], [1, 1, 1], [0, 1, 2]])
    lower, upper = np.zeros(y.shape, int), np.full(y.shape, NO_BOUND)
    lower[1, 1] = 2**48
    x = nearest_within(tree, y, np.ones(3, int), None, lower, upper)
    assert x[:, 1].tolist() == [2**48, 2**48, 0]
    with pytest.raises(TooLargeError, match=r"lower bounds .* exceed 2\^50"):
        nearest_within(tree, y, np.array([1, 2**14, 2**14]), None, lower, upper)


def cost(x, y, w):
    return (w[:, None] * (x - y) ** 2).sum(axis=(-2, -1))


def random_bounds(rng, shape):
    """Bounds of some cells: zeros, fixed ones, lower, upper and both."""
    lower, upper = np.full(shape, -NO_BOUND), np.full(shape, NO_BOUND)
    kind, number, width = rng.integers(0, 8, shape), rng.integers(0, 3, shape), rng.integers(0, 2, shape)
    kind[rng.random(shape) < rng.random()] = 0
    lower = np.where((kind == 1) | (kind == 3) | (kind == 4), number, lower)
    upper = np.where((kind == 2) | (kind == 4), number + width, upper)
    upper = np.where(kind == 3, number, np.where(kind == 5, 0, upper))
    return lower, upper


def small_instance(rng):
    """A random small tree with all its consistent points of one total."""
    tree = random_tree(rng, max_regions=7)
    n_leaves, n_sizes = tree.n_regions - tree.n_inner, int(rng.integers(1, 4))
    total = int(rng.integers(0, 5 if n_leaves * n_sizes <= 6 else 4))
    y, w = rng.integers(-3, 6, (tree.n_regions, n_sizes)), rng.integers(1, 4, tree.n_regions)
    w[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    return tree, y, w, total, naive.feasible_points(tree, n_sizes, total)


def prices(trees, clipping, root):
    """The prices of all sizes, and the slopes of the roots."""
    found = BoundedPrices.of(trees, clipping)
    demand = found.demand(root)
    taken = trees.continuous(found.below.T.copy())[0]
    np.testing.assert_allclose(taken - trees.y[0], demand.slope * root + demand.intercept, atol=1e-6)
    return found.below, demand.slope


def random_trees(rng):
    """The trees of a few sizes with bounds that some table satisfies, and which of them clip."""
    tree, n_sizes = random_tree(rng, int(rng.integers(2, 25))), int(rng.integers(1, 4))
    hidden = tree.sum_up(rng.integers(0, 9, (tree.n_regions - tree.n_inner, n_sizes)))
    y, w = hidden + rng.integers(-6, 7, hidden.shape), rng.integers(1, 5, tree.n_regions)
    w[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    lower, upper = np.full(y.shape, -NO_BOUND), np.full(y.shape, NO_BOUND)
    some = rng.random((3, *y.shape)) < rng.random()
    lower[some[0]], upper[some[1]] = (hidden - rng.integers(0, 4, y.shape))[some[0]], hidden[some[1]]
    lower[some[2]], upper[some[2]] = hidden[some[2]], hidden[some[2]]
    intervals = CellBounds.of(tree, lower, upper, bool(rng.integers(2)))
    return SizeTrees.of(tree, y, w, intervals), intervals.clipped
