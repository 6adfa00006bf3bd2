"""M_c with costs of ranks by our own methods: the proximal dual, leaves that settle, and optima against solvers."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, scale

from pgsr import CountOfCounts, Estimate, Geometric, Hierarchy, Problem, Seeded, Split, Status, View
from pgsr.algorithms import METHODS, CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_c.ranked import settled
from pgsr.algorithms.m_c.ranked_dual import RankedDual
from pgsr.algorithms.m_c.ranked_settle_kernel import settle
from pgsr.certificates import objective
from pgsr.datasets import census_like
from pgsr.methods.gate import NO_LIMIT, Besides
from pgsr.methods.method import Method
from pgsr.models import Cvxpy, Scipy
from pgsr.problems.conditions import cells

DEEP = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])
TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])


def random_problem(rng: np.random.Generator, tree: Hierarchy, shares: tuple | None = None, **limits: int) -> Problem:
    truth = random_truth(rng, tree, **limits)
    views = tuple(
        Split(int(rng.integers(0, truth.max_size)), None if i % 2 else int(rng.integers(1, 4)))
        for i in range(tree.n_levels)
    )
    return Problem.m_c(Geometric(views, "1/2", shares).measure(truth, Seeded(int(rng.integers(1 << 30)))))


def proximal_cost(problem: Problem, region: int, x: np.ndarray, centre: np.ndarray, rho: float) -> np.ndarray:
    """A region's cost with its proximal term, of vectors without the last cell; shape (vectors,)."""
    t, y, w = int(problem.ranks.threshold[region]), problem.target[region, :-1], int(problem.w[region])
    squares = w * ((x - y)[..., :t] ** 2).sum(axis=-1)
    near = w * rho / 2 * ((x - centre[region, :-1])[..., t:] ** 2).sum(axis=-1)
    return squares + problem.ranks.costs(region, x[..., t:]).sum(axis=-1) * (w // 1024) + near


def test_the_proximal_dual_is_the_definition() -> None:
    """What regions take at prices costs no more than anything nearby; value and gradient follow from it."""
    rng, rho = np.random.default_rng(1), 0.3
    for number in range(scale(12, 120)):
        shares = None if number % 3 else ("1/2", "0", "1/2")
        problem = random_problem(rng, DEEP, shares, max_size=4, max_count=5).relaxed()
        dual, n = RankedDual(problem), problem.max_size
        centre = DEEP.sum_up(np.sort(rng.random((4, n + 1)), axis=1) * problem.region_totals[DEEP.leaves, None])
        dual.towards(centre, rho, 0.03)
        prices = rng.normal(0, 2000, dual.shape)
        point = dual.at(prices)
        leaves = dual._expanded(slice(0, 4), np.zeros(dual.y.shape))[:, :n]
        value, summed = 0.0, np.zeros(dual.shape)
        for l, region in enumerate(range(DEEP.n_inner, DEEP.n_regions)):
            paid = prices[dual.leaf_node[l]]
            whole = np.sort(np.clip(leaves[l] + rng.normal(0, 0.3, (300, n)), 0, problem.region_totals[region]), axis=1)
            costs = proximal_cost(problem, region, np.vstack([leaves[l], whole]), centre, rho)
            costs -= (np.vstack([leaves[l], whole]) - problem.target[region, :-1]) @ paid
            assert (np.diff(leaves[l]) >= 0).all()
            assert costs[0] <= costs[1:].min() + 1e-6
            value += costs[0]
            summed[dual.leaf_node[l]] += leaves[l]
        for node, region in enumerate(dual.kept):
            own = dual.own[node] + problem.target[region, :-1]
            above = prices[dual.parent[node]] if node else 0.0
            net = prices[node] - above
            for i in range(n):
                tried = np.tile(own, (200, 1))
                tried[1:, i] = np.clip(own[i] + rng.normal(0, 0.3, 199), 0, problem.region_totals[region])
                costs = proximal_cost(problem, region, tried, centre, rho) + (tried - problem.target[region, :-1]) @ net
                assert costs[0] <= costs.min() + 1e-6
            value += costs[0]
            if node:
                summed[dual.parent[node]] += own
        y = np.zeros(dual.shape)
        np.add.at(y, dual.leaf_node, problem.target[DEEP.leaves, :n])
        np.add.at(y, dual.parent[1:], problem.target[dual.kept[1:], :n])
        taken = dual.own + problem.target[dual.kept, :n]
        assert np.allclose(point.gradient, taken - summed, atol=1e-6)
        assert point.value == pytest.approx(value + (prices * (problem.target[dual.kept, :n] - y)).sum(), rel=1e-9)


def test_accuracy_is_the_gap_of_the_step() -> None:
    """The objective and the proximal terms of the sums of the leaves, less the dual's value."""
    rng, rho = np.random.default_rng(7), 0.2
    for _ in range(scale(10, 100)):
        problem = random_problem(rng, DEEP, max_size=4, max_count=5).relaxed()
        dual = RankedDual(problem)
        centre = DEEP.sum_up(np.sort(rng.random((4, 5)), axis=1) * problem.region_totals[DEEP.leaves, None])
        dual.towards(centre, rho, 0.03)
        point = dual.at(rng.normal(0, 2000, dual.shape))
        found, x = dual.accuracy(point), dual.feasible(point)
        value = objective(problem, Estimate(DEEP, View.CUMULATIVE, x))
        whole = sum(float(proximal_cost(problem, r, x[r, :-1], centre, rho)) for r in range(DEEP.n_regions))
        assert found.objective == pytest.approx(value, rel=1e-9, abs=1e-4)
        assert found.moved == pytest.approx(whole - value, rel=1e-6, abs=1e-2)
        assert found.error == pytest.approx(whole - point.value, rel=1e-6, abs=1e-2)
        assert found.error >= -1e-4


def test_soft_takings_are_integers_at_the_end() -> None:
    problem = random_problem(np.random.default_rng(2), DEEP, max_size=4, max_count=5).relaxed()
    dual = RankedDual(problem)
    dual.towards(problem.target.astype(float), 0.1, 0.03)
    prices = np.random.default_rng(3).normal(0, 500, dual.shape)
    real = dual.at(prices).gradient
    dual.softness = 0.0
    whole = dual.at(prices).gradient
    assert np.array_equal(whole, np.rint(whole))
    assert 0 < np.abs(whole - real).max() <= 0.5 * 3


def test_a_leaf_settles_where_all_vectors_say() -> None:
    """One leaf of two after the other; the first sweep does no better than the best of all vectors, and no worse."""
    rng, moved = np.random.default_rng(4), 0
    for _ in range(scale(25, 250)):
        problem = random_problem(rng, TREE, max_size=4, max_count=2)
        dual, n = RankedDual(problem), problem.max_size
        groups = problem.region_totals[1:]
        x = np.stack([np.sort(rng.integers(0, g + 1, n + 1)) for g in groups])
        x[:, -1] = groups

        def value(leaves: np.ndarray, problem: Problem = problem) -> int:
            return int(objective(problem, Estimate(TREE, View.CUMULATIVE, TREE.sum_up(leaves))))

        best = x.copy()
        for leaf in (0, 1):
            vectors = naive.monotone_vectors(n, np.arange(groups[leaf] + 1))
            vectors = np.append(vectors, np.full((len(vectors), 1), groups[leaf]), axis=1)
            tried = [np.stack([v, best[1]] if leaf == 0 else [best[0], v]) for v in vectors]
            best = min(tried, key=value)
        leaves = x[:, :-1].copy()
        sums, before = leaves.sum(axis=0)[None].copy(), value(x)
        saved = settle(dual.leaf_rows, dual.inner_rows, dual.parent, dual.leaf_node, np.arange(2), leaves, sums)
        after = np.append(leaves, x[:, -1:], axis=1)
        assert np.array_equal(sums[0], leaves.sum(axis=0))
        assert value(after) == before - saved
        assert saved >= 0
        alone = np.stack([best[0], x[1]])
        assert value(np.stack([after[0], x[1]])) == value(alone)
        moved += saved > 0
        assert value(settled(dual, TREE.sum_up(x), NO_LIMIT)[1:]) <= value(after)
    assert moved > 15


def test_relaxed_optima_equal_clarabel() -> None:
    rng = np.random.default_rng(5)
    for number in range(scale(12, 120)):
        tree = random_tree(rng, 9)
        below = tree.n_levels - 1
        shares = ("0", *(f"1/{below}",) * below) if number % 4 == 0 and below else None
        problem = random_problem(rng, tree, shares, max_count=8).relaxed()
        ours, theirs = CumulativeProjection().solve(problem), Cvxpy("CLARABEL").solve(problem)
        assert ours.status is Status.OPTIMAL, (number, ours.reason)
        assert ours.certificate.objective == pytest.approx(theirs.certificate.objective, rel=3e-6, abs=0.1)
        assert ours.certificate.feasible


def test_integers_are_near_the_optimum_and_bounds_below_it() -> None:
    """On two levels and three: the mean excess is that of a heuristic, the bound is below every optimum."""
    rng, excess, missing = np.random.default_rng(6), [], []
    for number in range(scale(10, 100)):
        problem = random_problem(rng, (TREE, DEEP)[number % 2], max_count=8)
        ours, best = CumulativeIntegers().solve(problem), Scipy().solve(problem).certificate.objective
        assert ours.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert ours.certificate.feasible
        assert ours.certificate.bound <= best <= ours.certificate.objective
        if ours.status is Status.OPTIMAL:
            assert ours.certificate.objective == best
        excess.append((ours.certificate.objective - best) / max(best, 1024))
        missing.append((best - ours.certificate.bound) / max(best, 1024))
    assert np.mean(excess) < 0.05
    assert np.mean(missing) < 0.01


def test_states_have_a_proved_gap() -> None:
    """52 regions and 31 sizes: below 1e-6 relaxed, below 1e-3 in integers."""
    truth = census_like("states", max_size=30, groups=3_000)
    problem = Problem.m_c(Geometric(Split(5), "1/2").measure(truth, Seeded(1)))
    relaxed, whole = CumulativeProjection().solve(problem.relaxed()), CumulativeIntegers().solve(problem)
    assert relaxed.status is Status.OPTIMAL
    assert whole.certificate.feasible
    assert whole.certificate.gap < 1e-3
    assert relaxed.certificate.objective <= whole.certificate.objective


def test_who_takes_ranks() -> None:
    noisy = Geometric(Split(2), 1).measure(CountOfCounts(TREE, [[0, 4, 1, 1], [0, 3, 2, 0]]), Seeded("takes"))
    problem = Problem.m_c(noisy)
    for entry in METHODS:
        if isinstance(entry.method, Method):
            for stated in (problem, problem.relaxed()):
                taken = entry.method.supports(stated) is None
                assert taken is (
                    (stated.integer and entry.method == CumulativeIntegers()) or entry.method == CumulativeProjection()
                )
    assert Besides.RANKS.value in METHODS[0].method.supports(problem)
    stated = problem.where(cells(level=1, size=2) >= 1)
    for method, asked in ((CumulativeIntegers(), stated), (CumulativeProjection(), stated.relaxed())):
        assert "no conditions beside costs of ranks, such as" in method.supports(asked)
    rounded = CumulativeProjection().solve(problem)
    assert rounded.status is (Status.OPTIMAL if rounded.certificate.optimal else Status.RELAXED)
    assert "takes no start of ranks" in CumulativeProjection().no_start(problem.relaxed())
    for method, asked in ((CumulativeIntegers(), problem), (CumulativeProjection(), problem.relaxed())):
        late = method.solve(asked, time_limit=1e-9)
        assert late.status in (Status.FEASIBLE, Status.TIMED_OUT, Status.OPTIMAL)
    empty = replace(noisy, totals=np.zeros(3, int), values=tuple(row[:2] for row in noisy.values))
    assert CumulativeIntegers().solve(Problem.m_c(empty)).certificate.feasible
    lone = Problem.m_c(
        Geometric(Split(1), 1).measure(CountOfCounts(Hierarchy.from_paths([("x",)]), [[0, 2, 1]]), Seeded(0))
    )
    assert CumulativeIntegers().solve(lone).status is Status.OPTIMAL
