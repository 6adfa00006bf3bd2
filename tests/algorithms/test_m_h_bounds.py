"""TreeProjection with bounds of cells: against exhaustive search, with its proofs, and what it refuses."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, Problem, Status
from pgsr.algorithms import TreeProjection
from pgsr.certificates import certify
from pgsr.certificates.certificate import EXCHANGE_TEST
from pgsr.engines.nearest_tree.bounds import NO_BOUND
from pgsr.problems.conditions import cells
from pgsr.problems.conditions.matrices import Conditions

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


@pytest.mark.slow
def test_equals_brute_force():
    """Integers are optimal, and the relaxed optimum is proved and no larger; without solutions both are infeasible."""
    rng = rng_of(31)
    statuses = []
    for _ in range(scale(400, 20_000)):
        problem, points = small_instance(rng)
        stated = problem.conditions
        flat = points.reshape(len(points), -1)
        inside = points[((flat >= stated.lower) & (flat <= stated.upper)).all(axis=1)]
        result, relaxed = TreeProjection().solve(problem), TreeProjection().solve(problem.relaxed())
        statuses.append(result.status)
        if not len(inside):
            assert result.status is relaxed.status is Status.INFEASIBLE
            continue
        assert result.status is relaxed.status is Status.OPTIMAL
        assert result.certificate.bound_by == EXCHANGE_TEST
        assert result.certificate.objective == naive.objectives(problem, inside).min()
        assert relaxed.certificate.gap <= 1e-9
        assert relaxed.certificate.objective <= result.certificate.objective + 1e-9
        values = relaxed.estimate.values.ravel()
        assert (values >= stated.lower - 1e-9).all()
        assert (values <= stated.upper + 1e-9).all()
    assert statuses.count(Status.INFEASIBLE) > 50
    assert statuses.count(Status.OPTIMAL) > 100


def test_relaxed_optimum_of_medium_trees_is_proved():
    """With bounds at every level, of unmeasured regions, too: the Lagrangian bound closes the gap."""
    rng = rng_of(32)
    for number in range(scale(30, 18_000)):
        problem = medium_instance(rng, (3, 30, 10**4)[number % 3])
        relaxed = TreeProjection().solve(problem.relaxed())
        assert relaxed.status is Status.OPTIMAL, relaxed.reason
        assert TreeProjection().solve(problem).status is Status.OPTIMAL


def test_a_child_that_rounding_starts_where_it_stops():
    """The child's two breakpoints have one price and come in either order; their sum with the siblings' is kept."""
    problem = medium_instance(rng_of(1228), 3)
    result = TreeProjection().solve(problem.relaxed())
    assert result.status is Status.OPTIMAL, result.reason


def test_a_modeller_states_zeros_invariants_and_bounds():
    problem = Problem.of([[2, 4, 3], [1, 2, -1], [3, 2, 1]], TREE, groups=9, label="M_H")
    stated = problem.where(cells(size=0) == 0, cells(region=("US", "GA"), size=1) == 1, cells(level=0, size=2) <= 3)
    result = TreeProjection().solve(stated)
    assert result.certificate.optimal
    assert result.estimate.values.tolist() == [[0, 6, 3], [0, 1, 1], [0, 5, 2]]
    free = TreeProjection().solve(problem)
    assert not certify(stated, free.estimate).feasible
    worse = replace(result.estimate, values=np.array([[0, 6, 3], [0, 1, 2], [0, 5, 1]]))
    certificate = certify(stated, worse)
    assert certificate.feasible
    assert certificate.bound is None  # the exchange test is not passed


def with_bounds(problem, lower, upper):
    stated = replace(Conditions.none(lower.size), lower=lower.ravel(), upper=upper.ravel())
    return replace(problem, conditions=stated)


def medium_instance(rng, largest):
    """A tree of up to 90 regions, of which some are unmeasured, and bounds that hidden counts keep."""
    tree, n_sizes = random_tree(rng, 90, int(rng.integers(1, 6))), int(rng.integers(1, 12))
    hidden = tree.sum_up(rng.integers(0, largest, (tree.n_regions - tree.n_inner, n_sizes)))
    y = hidden + np.rint(rng.laplace(0, rng.choice([1, 8, 60]), hidden.shape)).astype(np.int64)
    lower, upper = np.full(y.shape, -NO_BOUND), np.full(y.shape, NO_BOUND)
    shares = rng.random((3, 1, 1)) * rng.choice([0.05, 0.5, 1.0])  # up to bounds that leave nothing free
    some = rng.random((3, *y.shape)) < shares
    lower[some[0]], upper[some[1]] = (hidden - rng.integers(0, 4, y.shape))[some[0]], hidden[some[1]]
    lower[some[2]], upper[some[2]] = hidden[some[2]], hidden[some[2]]
    weights = rng.integers(1, rng.choice([2, 10, 10_000]), tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.7
    return with_bounds(naive.problem_of(tree, y, int(hidden[0].sum()), weights), lower, upper)


def small_instance(rng):
    """A random small M_H problem with bounds, and all points of its total."""
    tree = random_tree(rng, max_regions=6)
    n_leaves, n_sizes = tree.n_regions - tree.n_inner, int(rng.integers(1, 4))
    groups = int(rng.integers(0, 5 if n_leaves * n_sizes <= 6 else 4))
    weights = rng.integers(1, 4, tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    problem = naive.problem_of(tree, rng.integers(-3, 6, (tree.n_regions, n_sizes)), groups, weights)
    shape, some = problem.target.shape, rng.random((3, *problem.target.shape)) < 0.4 * rng.random()
    number = rng.integers(0, 3, shape)
    lower = np.where(some[0] | some[2], number, -NO_BOUND)
    upper = np.where(some[2], number, np.where(some[1], number + rng.integers(0, 2, shape), NO_BOUND))
    return with_bounds(problem, lower, upper), naive.feasible_points(tree, n_sizes, groups)
