"""The certificate: exact objectives, counted violations, bounds that are bounds."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, PgsrError, Problem, View
from pgsr.algorithms import TreeProjection
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.exchange import is_exchange_optimal
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data import Estimate
from pgsr.data.sizes import Sizes


def test_exchange_test_equals_brute_force():
    rng = rng_of(11)
    checked = 0
    while checked < scale(1_000, 60_000):
        tree = random_tree(rng, max_regions=6)
        n_sizes = int(rng.integers(2, 4))
        noisy = rng.integers(-3, 6, (tree.n_regions, n_sizes))
        problem = naive.problem_of(tree, noisy, int(rng.integers(0, 4)))
        points = naive.feasible_points(tree, n_sizes, problem.root_total)
        values = naive.objectives(problem, points)
        for index in rng.choice(len(points), min(len(points), 20), replace=False):
            estimate = Estimate(tree, View.COUNTS, points[index])
            assert is_exchange_optimal(problem, estimate) == (values[index] == values.min())
            checked += 1


def test_integer_multipliers_close_the_gap():
    """The problem is a network, so the integer Lagrangian bound at optimal integer prices equals the optimum."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = np.array([[4, 1, 3, -1, 1], [3, 1, 0, -1, 0], [0, 1, 2, 0, -1]])
    problem = naive.problem_of(tree, noisy, 6)
    prices = [
        Multipliers(np.array([[a, b, c, d, e]], float), np.array([root], float))
        for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) for d in (-1, 0, 1) for e in (-1, 0, 1)
        for root in (-1, 0, 1)
    ]  # fmt: skip
    assert max(lagrangian_bound(problem, p) for p in prices) == pytest.approx(7)


def test_bound_of_the_optimal_prices_at_counts_of_1e9():
    """No cancellation: the bound keeps ten digits although the counts have nine."""
    rng = rng_of(13)
    tree = random_tree(rng, max_regions=50, n_levels=3)
    leaves = rng.integers(0, 10**9, (tree.n_regions - tree.n_inner, 20))
    noisy = tree.sum_up(leaves) + rng.integers(-50, 51, (tree.n_regions, 20))
    certificate = TreeProjection().solve(naive.problem_of(tree, noisy, int(leaves.sum())).relaxed()).certificate
    assert certificate.gap < 1e-10


def test_objective_is_exact_beyond_64_bits():
    tree = Hierarchy.from_parents(["all"], [-1])
    values = np.array([[3_000_000_019, 1, 0], [0, 0, 0]][:1])
    problem = naive.problem_of(tree, np.array([[-4_000_000_007, 0, 0]]), 3_000_000_020)
    assert certify(problem, Estimate(tree, View.COUNTS, values)).objective == 7_000_000_026**2 + 1


def test_violations_are_counted_by_kind():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = naive.problem_of(tree, np.zeros((3, 3), int), 6)
    estimate = Estimate(tree, View.COUNTS, np.array([[3.0, 2, 2], [1.5, 1, 1], [1.5, -1, 2]]))
    found = certify(problem, estimate).violations
    assert found == {"integrality": 2, "sign": 1, "consistency": 2, "totals": 1}
    monotone = replace(problem, monotone=True)
    assert certify(monotone, Estimate(tree, View.COUNTS, estimate.values)).violations["monotone"] == 3


def test_an_estimate_of_another_shape_is_refused():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = naive.problem_of(tree, np.zeros((3, 3), int), 6)
    with pytest.raises(PgsrError, match="differ in view, regions or sizes"):
        certify(problem, Estimate(tree, View.COUNTS, np.zeros((3, 4), int)))


@pytest.mark.parametrize(("changed", "proved"), [({}, True), ({"monotone": False}, False), ({"integer": False}, False)])
def test_ranked_sizes_are_proved_for_what_is_stated(changed, proved):
    """Where order or integrality is not stated something may be nearer: 0.5, or 2 and 0, instead of 1 and 1."""
    tree = Hierarchy.from_parents(["US"], [-1])
    problem = Problem("H_g L2", Sizes.alike(tree, 4), View.RANKED, np.array([2, 0, 4]), groups=np.array([3]),
                      monotone=True, consistent=False)  # fmt: skip
    answer = Estimate(tree, View.COUNTS, np.array([[0, 2, 0, 0, 1]]))
    found = certify(replace(problem, **changed), answer)
    assert found.objective == 2
    assert found.optimal is proved
    assert (found.bound is None) is not proved
