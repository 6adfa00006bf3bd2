"""Lagrangian bounds with costs of ranks: chains against all monotone vectors, whole problems against all points."""

import naive
import numpy as np
import pytest
from instances import random_truth, scale

from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.certificates.ranked_chain_kernel import fit_chain, least_point
from pgsr.data import Estimate, Split
from pgsr.models import Cvxpy
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
DEEP = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])


def random_problem(rng: np.random.Generator, tree: Hierarchy, max_count: int = 1) -> Problem:
    truth = random_truth(rng, tree, max_size=3, max_count=max_count)
    views = (Split(1), Split(2), Split(1))[: tree.n_levels]
    return Problem.m_c(Geometric(views, "1/2").measure(truth, Seeded(int(rng.integers(1 << 30)))))


def chain_costs(problem: Problem, region: int, vectors: np.ndarray) -> np.ndarray:
    """What vectors of a region's cells but the last cost; shape (vectors,)."""
    t, y, ranks = int(problem.ranks.threshold[region]), problem.target[region, :-1], problem.ranks
    squares = problem.w[region] * ((vectors - y)[:, :t] ** 2).sum(axis=1)
    return squares + ranks.costs(region, vectors[:, t:]).sum(axis=1) * (problem.w[region] // 1024)


def fit(problem: Problem, region: int, net: np.ndarray, integer: bool) -> np.ndarray:
    """A region's best values in order by the compiled loop."""
    n, groups = problem.max_size, int(problem.region_totals[region])
    _, starts, slopes, _ = problem.ranks.slopes(slice(region, region + 1), problem.w[region : region + 1])
    x = np.empty(n)
    bounds = np.zeros(n, np.int64), np.full(n, groups)
    work = (*np.empty((3, n)), np.empty(n, np.int64), np.empty(n))
    y, t, w = problem.target[region, :-1].copy(), int(problem.ranks.threshold[region]), float(problem.w[region])
    fit_chain(y, w, net, t, starts, slopes, *bounds, integer, *work, x)
    return x


def test_a_chain_takes_its_best_values() -> None:
    """In integers the least cost of all vectors; in reals no more than of many vectors nearby."""
    rng = np.random.default_rng(1)
    for number in range(scale(40, 400)):
        problem = random_problem(rng, TREE)
        region = number % 3
        groups, n = int(problem.region_totals[region]), problem.max_size
        net = rng.normal(0, 3000, n).round()

        def cost(vectors: np.ndarray, problem=problem, region=region, net=net) -> np.ndarray:
            return chain_costs(problem, region, vectors) + vectors @ net

        whole = naive.monotone_vectors(n, np.arange(groups + 1))
        x = fit(problem, region, net, True)
        assert cost(x[None])[0] == pytest.approx(cost(whole).min(), abs=1e-6)
        real = fit(problem, region, net, False)
        assert (np.diff(real) >= 0).all()
        assert cost(real[None])[0] <= cost(whole).min() + 1e-6
        nearby = np.sort(np.clip(real + rng.normal(0, 0.3, (200, n)), 0, groups), axis=1)
        assert cost(real[None])[0] <= cost(nearby).min() + 1e-6
    start, slope = np.array([0, 2, 3, 7]), np.array([-5, 0, 4])
    for a, b, k in rng.integers((0, -9, 0), (3, 10, 3), (200, 3)).tolist():
        steps = [a * (v + 0.5) + b + k * slope[np.searchsorted(start, v, side="right") - 1] for v in range(7)]
        expected = next((v for v, step in enumerate(steps) if step >= 0), 7)
        assert least_point(float(a), float(b), float(k), start, slope, True) == expected


def test_priced_ranks_of_a_chain() -> None:
    """The bound at any prices is the sum of regions' least costs, of integers by trying all, of reals by fits."""
    rng = np.random.default_rng(2)
    for number in range(scale(25, 250)):
        tree = (TREE, DEEP)[number % 2]
        problem = random_problem(rng, tree)
        prices = rng.normal(0, 3000, (tree.n_inner, problem.max_size + 1)).round()
        prices[:, -1] = 0
        least, real = 0.0, 0.0
        for region in range(tree.n_regions):
            net = (prices[region] if region < tree.n_inner else 0.0) - (prices[tree.parent[region]] if region else 0.0)
            net = np.broadcast_to(net, problem.max_size + 1)[:-1].copy()
            vectors = naive.monotone_vectors(problem.max_size, np.arange(int(problem.region_totals[region]) + 1))
            least += (chain_costs(problem, region, vectors) + vectors @ net).min()
            x = fit(problem, region, net, False)[None]
            real += float(chain_costs(problem, region, x)[0] + x[0] @ net)
        given = Multipliers(prices, np.zeros(tree.n_regions))
        assert lagrangian_bound(problem, given) == pytest.approx(least, abs=1e-5)
        assert lagrangian_bound(problem.relaxed(), given) == pytest.approx(real, abs=1e-5)


def test_the_bound_of_good_prices_is_the_relaxed_optimum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(scale(6, 60)):
        problem = random_problem(rng, DEEP, max_count=6)
        result = Cvxpy("CLARABEL").solve(problem.relaxed())
        assert result.certificate.bound == pytest.approx(result.certificate.objective, rel=1e-6, abs=1e-3)


def test_bounds_of_cells_are_kept() -> None:
    rng = np.random.default_rng(4)
    for _ in range(scale(10, 100)):
        problem = random_problem(rng, TREE).where(cells(level=1, size=1) <= 2, cells(level=1, size=2) >= 1)
        if problem.contradiction is not None:
            continue
        prices = rng.normal(0, 3000, (1, problem.max_size + 1)).round()
        prices[:, -1] = 0
        least = 0.0
        for region in range(3):
            vectors = naive.monotone_vectors(problem.max_size, np.arange(int(problem.region_totals[region]) + 1))
            if region:
                vectors = vectors[(vectors[:, 1] <= 2) & (vectors[:, 2] >= 1)]
            costs = chain_costs(problem, region, vectors) + (1 if region == 0 else -1) * vectors @ prices[0, :-1]
            least += costs.min()
        assert lagrangian_bound(problem, Multipliers(prices, np.zeros(3))) == pytest.approx(least, abs=1e-5)


def test_huge_counts_keep_a_bound_below_every_point() -> None:
    """A hundred million groups, with columns and ranks whose costs are of 2^50: rounded down by what is rounded."""
    truth = np.zeros((2, 6), np.int64)
    truth[:, 1], truth[:, 5] = 10**8, 3
    problem = Problem.m_c(Geometric(Split(2), "1/2").measure(CountOfCounts(TREE, truth), Seeded("huge")))
    x = np.cumsum(TREE.sum_up(truth), axis=1)
    certificate = certify(problem, Estimate(TREE, View.CUMULATIVE, x), Multipliers(np.zeros((1, 6)), np.zeros(3)))
    assert certificate.feasible
    assert 0 <= certificate.bound <= certificate.objective == objective(problem, Estimate(TREE, View.CUMULATIVE, x))
    assert certificate.bound > certificate.objective // 100
