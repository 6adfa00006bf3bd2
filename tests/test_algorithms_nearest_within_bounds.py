"""The nearest counts within bounds, against exhaustive search on small trees and against a proof on larger ones."""

import numpy as np
import pytest
from instances import scale
from naive import counts_within_bounds

from pgsr import Hierarchy
from pgsr.algorithms.nearest_within_bounds import nearest_within_bounds
from pgsr.errors import ProblemError
from pgsr.problems.conditions.stated import UNBOUNDED

TREES = [
    Hierarchy.from_paths([("US", "GA"), ("US", "MI")]),
    Hierarchy.from_paths([("US", "GA", "a"), ("US", "MI", "b")]),
    Hierarchy.from_paths([("US",)]),
]


def instance(rng: np.random.Generator, tree: Hierarchy, n_sizes: int, most: int, *, whole: bool):
    """Counts, bounds that some of them keep, and totals; what is near is another table."""
    leaves = rng.integers(0, most + 1, (tree.n_regions - tree.n_inner, n_sizes))
    truth, y = tree.sum_up(leaves), rng.integers(-2, 2 * most + 2, (tree.n_regions, n_sizes))
    lower, upper = np.zeros_like(truth), np.full(truth.shape, UNBOUNDED)
    kind = rng.integers(0, 6, truth.shape)
    slack = rng.integers(0, 3, truth.shape)
    lower = np.where(kind == 0, truth, np.where(kind == 1, np.maximum(truth - slack, 0), lower))
    upper = np.where(kind == 0, truth, np.where((kind == 1) | (kind == 2), truth + slack, upper))
    totals = truth.sum(axis=1)
    return y, lower, upper, totals if whole else totals[:1]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("whole", [False, True], ids=["root", "regions"])
@pytest.mark.parametrize("start_at_y", [True, False])
def test_equals_exhaustive_search(whole, start_at_y):
    rng = np.random.default_rng(3)
    for number in range(scale(60, 1_000)):
        tree = TREES[number % len(TREES)]
        y, lower, upper, totals = instance(rng, tree, 3 if tree.n_regions < 4 else 2, 2, whole=whole)
        x = nearest_within_bounds(tree, y, lower, upper, totals, start_at_y=start_at_y)
        best, _ = counts_within_bounds(tree, y, lower, upper, totals)
        assert ((lower <= x) & (x <= upper)).all()
        assert np.array_equal(tree.sum_up(x[tree.leaves]), x)
        assert np.array_equal(x.sum(axis=1)[: len(totals)], totals)
        assert ((x - y) ** 2).sum() == best


def test_what_cannot_be_is_found_exactly_then():
    rng, refused = np.random.default_rng(4), 0
    for number in range(scale(60, 600)):
        tree = TREES[number % 2]
        y, lower, upper, totals = instance(rng, tree, 2, 2, whole=bool(number % 3))
        totals = totals + rng.integers(0, 2)
        if len(totals) > 1:
            totals = tree.sum_up(totals[tree.leaves])
        best, _ = counts_within_bounds(tree, y, lower, upper, totals)
        for start_at_y in (True, False):
            if best is None:
                with pytest.raises(ProblemError):
                    nearest_within_bounds(tree, y, lower, upper, totals, start_at_y=start_at_y)
                refused += 1
            else:
                x = nearest_within_bounds(tree, y, lower, upper, totals, start_at_y=start_at_y)
                assert ((x - y) ** 2).sum() == best
    assert refused > 5


def test_counts_that_keep_the_bounds_stay():
    rng = np.random.default_rng(5)
    tree = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(5) for j in range(6)])
    _, lower, upper, totals = instance(rng, tree, 20, 9, whole=True)
    x = nearest_within_bounds(tree, tree.sum_up(np.zeros((30, 20), np.int64)), lower, upper, totals)
    assert np.array_equal(nearest_within_bounds(tree, x, lower, upper, totals), x)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("whole", [False, True], ids=["root", "regions"])
def test_both_starts_are_as_near(whole):
    """On trees too large for a search of all counts, two ways of computing find the same distance."""
    rng = np.random.default_rng(6)
    tree = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(6) for j in range(8)])
    for _ in range(scale(3, 30)):
        y, lower, upper, totals = instance(rng, tree, 30, 20, whole=whole)
        one, other = (nearest_within_bounds(tree, y, lower, upper, totals, start_at_y=start) for start in (True, False))
        assert ((one - y) ** 2).sum() == ((other - y) ** 2).sum()
        assert ((lower <= one) & (one <= upper)).all()
