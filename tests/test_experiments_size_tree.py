"""The tree of sizes: against dense least squares, exact rationals, and all neighbours of small worlds."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from instances import scale
from test_privacy_sensitivity import Case, at_most, pairs

from pgsr.errors import ProblemError
from pgsr.experiments.benchmarks.size_tree import SizeTree
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity

SHAPES = [*product((0, 1, 2, 3, 4, 6, 7, 8, 10, 20, 33), (2, 3, 5, 16)), (100, 4)]


def matrix(tree: SizeTree) -> np.ndarray:
    """The 0-1 matrix of the tree's ranges, written from their definition; the top is left out."""
    rows, width = [], 1
    while True:
        starts = range(0, tree.max_size + 1, width)
        rows += [[int(start <= s < start + width) for s in range(tree.max_size + 1)] for start in starts]
        if len(starts) <= tree.branching:
            return np.array(rows)
        width *= tree.branching


@pytest.mark.parametrize(("max_size", "branching"), SHAPES)
def test_numbers_of_the_tree(max_size: int, branching: int) -> None:
    tree = SizeTree(max_size, branching)
    counts = np.random.default_rng(1).integers(0, 9, (4, max_size + 1))
    assert np.array_equal(tree.of(counts), counts @ matrix(tree).T)
    assert tree.n_values == len(matrix(tree))


@pytest.mark.parametrize(("max_size", "branching"), SHAPES)
def test_estimates_and_variances_against_dense_least_squares(max_size: int, branching: int) -> None:
    """The estimates minimise the squares under the total; the variances are those of the dense linear map."""
    tree, rng = SizeTree(max_size, branching), np.random.default_rng(2)
    n, a = max_size + 1, matrix(tree)
    inverse = np.linalg.inv(a.T @ a)
    share = inverse.sum(axis=1) / inverse.sum()
    free = inverse @ a.T
    known = free - np.outer(share, free.sum(axis=0))
    noisy, totals = rng.normal(0, 5, (3, tree.n_values)), np.array([0.0, 7.0, -3.0])
    assert np.allclose(tree.counts(noisy, totals), noisy @ known.T + totals[:, None] * share)
    ones = np.tril(np.ones((n, n)))
    assert np.allclose(tree.cumulative_variances(), ((ones @ known) ** 2).sum(axis=1))
    with_top = np.linalg.pinv(np.vstack([a, np.ones(n)]))
    assert np.allclose(tree.cumulative_variances(total_known=False), ((ones @ with_top) ** 2).sum(axis=1))


@pytest.mark.parametrize(("max_size", "branching"), [(3, 2), (6, 2), (8, 3)])
def test_the_normal_equations_hold_in_fractions(max_size: int, branching: int) -> None:
    """Integers in, an estimate whose gradient is the same in every count: exactly optimal, up to rounding."""
    tree = SizeTree(max_size, branching)
    noisy = np.random.default_rng(3).integers(-9, 9, (1, tree.n_values))
    found = [Fraction(float(x)) for x in tree.counts(noisy, np.array([5]))[0]]
    left = [
        sum(a * x for a, x in zip(row, found, strict=True)) - int(y)
        for row, y in zip(matrix(tree).tolist(), noisy[0], strict=True)
    ]
    gradient = [
        sum(row[s] * r for row, r in zip(matrix(tree).tolist(), left, strict=True)) for s in range(max_size + 1)
    ]
    assert abs(sum(found) - 5) < 1e-12
    assert max(gradient) - min(gradient) < 1e-12


@pytest.mark.parametrize("branching", [2, 16])
def test_without_noise_the_counts_come_back(branching: int) -> None:
    tree = SizeTree(50, branching)
    counts = np.random.default_rng(4).integers(0, 30, (5, 51))
    assert np.allclose(tree.counts(tree.of(counts), counts.sum(axis=1)), counts)


def test_the_variance_is_that_of_drawn_noise() -> None:
    tree, rng = SizeTree(12, 3), np.random.default_rng(5)
    n_draws = scale(20_000, 400_000)
    drawn = np.cumsum(tree.counts(rng.normal(size=(n_draws, tree.n_values)), np.zeros(n_draws)), axis=1)
    stated = tree.cumulative_variances()
    assert np.abs(drawn.var(axis=0) - stated).max() < 5 * (2 / n_draws) ** 0.5 * stated.max()


TREE_CASES = [
    *(Case(Unit.GROUP, relation, max_size=k) for relation in Relation for k in (1, 3, 4)),
    Case(Unit.ENTITY, Relation.ADD_REMOVE, max_size=4, max_groups=3),
    Case(Unit.ENTITY, Relation.MOVE, max_size=4, max_groups=3),
    Case(Unit.entity_in_groups(2), Relation.ADD_REMOVE, max_quantity=2, max_size=4, max_groups=3),
]


@pytest.mark.drawn(7)
@pytest.mark.assure("R6")
@pytest.mark.parametrize("case", TREE_CASES, ids=str)
@pytest.mark.parametrize("branching", [2, 3])
def test_sensitivity_by_enumeration(case: Case, branching: int, counted) -> None:
    """No neighbours differ by more; for groups the norms are reached, and a level less is found."""
    tree = SizeTree(case.max_size, branching)
    stated = tree.sensitivity(case.unit, case.relation, max_quantity=case.max_quantity)
    all_worlds, found = pairs(case)
    trees = np.array([_of_leaves(world, case, tree) for world in all_worlds])
    change = np.unique(-np.sort(-np.abs(trees[found[:, 0]] - trees[found[:, 1]]), axis=1), axis=0)
    changes = [tuple(int(x) for x in row if x) for row in change]
    assert all(at_most(one, stated) for one in changes)
    if case.unit.is_group:
        assert max(map(sum, changes)) == stated.l1
        assert max(sum(x * x for x in one) for one in changes) == stated.l2_squared
        smaller = Sensitivity(tuple(one[:-1] for one in stated.changes))
        assert not all(at_most(one, smaller) for one in changes)
    counted(len(found), "neighbour pairs of a tree of sizes")


def _of_leaves(world, case: Case, tree: SizeTree) -> np.ndarray:
    counts = np.zeros((2, case.max_size + 1), int)
    for leaf, size in world:
        counts[leaf, min(size, case.max_size)] += 1
    return (counts @ matrix(tree).T).ravel()


@pytest.mark.parametrize(("max_size", "branching"), [(-1, 2), (3, 1), (3.0, 2), (3, True)])
def test_no_tree(max_size, branching) -> None:
    with pytest.raises(ProblemError, match="give a public whole number"):
        SizeTree(max_size, branching)
