"""The integer M_c: every loop against a slow twin, answers against branch and bound, and the method's own claims."""

import math
from dataclasses import replace
from types import SimpleNamespace

import naive
import numpy as np
import pytest
from instances import rng_of, scale
from test_m_c_projection import TOTALS, with_bounds
from test_m_c_projection import random_problem as random_relaxed

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeIntegers
from pgsr.algorithms.m_c import integers_kernel as kernels
from pgsr.algorithms.m_c import moves_kernel, tree_kernel
from pgsr.algorithms.m_c.arrays import LeafTerms, Tails, Wishes
from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.algorithms.m_c.integers_dual import RoundedDual
from pgsr.algorithms.m_c.moves import GroupMoves
from pgsr.certificates import certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.datasets import census_like
from pgsr.methods.gate import Deadline
from pgsr.noise import Geometric
from pgsr.noise.measurement import Totals
from pgsr.privacy import Seeded


def softly(value, softness):
    """Soft rounding as its docstring says it, at one number."""
    whole = math.floor(value)
    if softness == 0.0:
        return float(whole + (value - whole > 0.5))
    return whole + min(1.0, max(0.0, (value - whole - 0.5) / softness + 0.5))


@pytest.mark.parametrize("totals", TOTALS)
def test_the_gradient_is_what_regions_take_softly_rounded(totals):
    rng = rng_of(501)
    for _ in range(scale(5, 200)):
        problem, rounded = random_dual(rng, totals)
        dual, tree = rounded.dual, problem.hierarchy
        w = np.repeat(problem.w[:, None].astype(float), problem.target.shape[1], axis=1)
        for spread, softness in ((0.3, 1.0), (3.0, 0.3), (3.0, 0.0), (20.0, 0.05)):
            prices = rng.normal(0, spread, dual.shape)
            prices[0, : dual.first_free] = 0.0
            everywhere = np.zeros((tree.n_inner, dual.n)) if tree.n_levels == 1 else prices[dual.node_of]
            held = float(problem.root_total) if dual.held else None
            costs = naive.CellCosts(w, problem.target)
            _, x = naive.cumulative_dual(tree, costs, everywhere, np.full(len(dual.y), np.inf), held)
            x = np.vectorize(softly, otypes=[float])(x, softness)  # rounding half down and half up cost the same
            leaves = np.clip(x[tree.leaves], 0, dual.upper[:, None])
            taken = np.zeros(dual.shape)
            np.add.at(taken, dual.leaf_node, leaves)
            nodes = np.zeros(dual.shape) if tree.n_levels == 1 else x[dual.kept]
            for r, above in enumerate(dual.parent):
                if r:
                    taken[above] += nodes[r]
            expected = nodes - taken
            expected[0, : dual.first_free] = 0.0
            close = np.abs(rounded.gradient(prices, softness) - expected) < 1e-6
            assert close.all() or (softness == 0.0 and close.mean() > 0.9)  # means may lie on a half but for rounding
            np.testing.assert_allclose(rounded.leaves(prices, softness).x, leaves, atol=1e-6 if softness else 1.0)


@pytest.mark.parametrize("totals", TOTALS)
def test_soft_fits_within_bounds_are_the_real_ones_rounded(totals):
    rng = rng_of(509)
    for _ in range(scale(12, 300)):
        problem = with_bounds(rng, random_relaxed(rng, totals))
        if problem.contradiction is not None:
            continue
        dual = SquaresDual(problem)
        prices = rng.normal(0, 3, dual.shape)
        prices[0, : dual.first_free] = 0.0
        dual.at(prices)
        real = np.zeros((len(dual.y), dual.n))
        tree_kernel.expand(0, len(real), dual.blocks, dual.upper, real)
        for softness in (1.0, 0.3):
            soft = RoundedDual(dual).leaves(prices, softness).x
            np.testing.assert_allclose(soft, np.vectorize(softly, otypes=[float])(real, softness), atol=1e-6)


def test_a_leaf_settles_where_all_vectors_say():
    """One leaf, two levels above it, against all monotone vectors; soft (one level) and at true costs (two)."""
    rng = rng_of(502)
    for _ in range(scale(60, 1000)):
        n, fixed = int(rng.integers(1, 5)), bool(rng.random() < 0.4)
        top = int(rng.integers(0, 6))
        y = rng.integers(-3, 8, (1, n))
        x = np.sort(rng.integers(0, top + 1, (1, n)), axis=1)
        weight, stiff = rng.integers(1, 4, 1).astype(float), rng.integers(0, 3, 2).astype(float)
        pull = rng.normal(0, 4, (2, n))
        order, first, parent = np.zeros(1, np.int64), np.array([0, 0, 1]), np.array([-1, 0])
        start, wanted, moved = x.copy(), pull.copy(), np.zeros(2, np.int64)
        none = np.zeros((0, 0))
        bounds = (none, none)
        if rng.random() < 0.5:  # around where the leaf is
            bounds = tuple(np.sort(x + rng.integers(0, 3, (1, n)) * side, axis=1).astype(float) for side in (-1, 1))
        leaf, wishes = LeafTerms(y, np.array([float(top)]), *bounds, weight), Wishes(parent, order, first, stiff, pull)
        kernels.settle(0, 2, leaf, wishes, fixed, False, x, moved)

        def cost(v, y=y, start=start, wanted=wanted, stiff=stiff, weight=weight):
            d = v - start[0]
            nodes = sum(s * d * d - 2 * p * d for s, p in zip(stiff, wanted, strict=True) if s > 0)
            return float((weight * (v - y[0]) ** 2 + nodes).sum())

        choices = naive.monotone_vectors(n, np.arange(top + 1))
        if fixed:
            choices = choices[choices[:, -1] == start[0, -1]]
        if bounds[0].size:
            choices = choices[((choices >= bounds[0]) & (choices <= bounds[1])).all(axis=1)]
        assert cost(x[0]) == pytest.approx(min(map(cost, choices)), abs=1e-6)
        np.testing.assert_allclose(pull, wanted - stiff[:, None] * (x - start), atol=1e-9)
        assert moved[1] == (x != start).any()


def test_tails_against_every_start():
    rng = rng_of(503)
    for _ in range(scale(50, 500)):
        n = int(rng.integers(1, 7))
        x, y = np.sort(rng.integers(0, 4, (1, n)), axis=1), rng.integers(-3, 8, (1, n))
        w, path, node = np.array([2.0]), rng.normal(0, 3, (1, n)), np.zeros(1, np.int64)
        bounds = np.zeros((0, 0)), np.zeros((0, 0))
        low, high = np.full(n, -9.0), np.full(n, 99.0)
        if rng.random() < 0.5:
            bounds = tuple(np.sort(x + rng.integers(0, 3, (1, n)) * side, axis=1).astype(float) for side in (-1, 1))
            low, high = bounds[0][0], bounds[1][0]
        for sign in (1.0, -1.0):
            cost, where = np.empty(1), np.zeros(1, np.int64)
            leaf = LeafTerms(y, np.full(1, np.inf), *bounds, w)
            kernels.tail_costs(0, 1, leaf, node, path, sign, x, Tails(cost, where))
            found = {}
            for i in range(n):
                moved = x[0].copy()
                moved[i:] += int(sign)
                if moved[0] >= 0 and (np.diff(moved) >= 0).all() and (moved >= low).all() and (moved <= high).all():
                    found[i] = (w * ((moved - y[0]) ** 2 - (x[0] - y[0]) ** 2)).sum() + path[0, i:].sum()
            assert cost[0] == pytest.approx(min(found.values(), default=np.inf))
            assert not found or cost[0] == pytest.approx(found[int(where[0])])


@pytest.mark.parametrize(
    ("noisy", "total", "best"),
    [
        ([[8, 7, 15, 20], [2, 4, 3, 9], [1, 7, 3, 9], [-4, -3, 1, 9], [-2, 4, 7, 8]], 22, 108),
        ([[-9, 8, 5, 13], [0, -3, 0, -1], [2, -1, 5, 8], [3, 6, 9, 11]], 12, 162),
    ],
)
def test_rounding_alone_is_no_gradient_and_no_curvature(noisy, total, best):
    """The next steps had no length at an optimum that is reached exactly, and 1e21 along a plateau."""
    tree = Hierarchy.from_parents([f"r{i}" for i in range(len(noisy))], [-1] + [0] * (len(noisy) - 1))
    result = CumulativeIntegers().solve(Problem.of(noisy, tree, View.CUMULATIVE, groups=total, label="M_c"))
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == best


@pytest.mark.parametrize("bounded", [False, True])
def test_moves_are_all_that_cost_little(bounded):
    """Every group to every size, by what the leaf's minimum over the group's own part costs."""
    rng = rng_of(515)
    for _ in range(scale(60, 1000)):
        m, n, within = int(rng.integers(1, 4)), int(rng.integers(1, 7)), float(rng.choice([0.5, 3.0, 20.0]))
        y, x = rng.integers(-3, 9, (m, n)), np.sort(rng.integers(0, 7, (m, n)), axis=1)
        upper = x[:, -1] + rng.integers(0, 4, m).astype(float)
        least, most = np.zeros((m, n)), np.repeat(upper[:, None], n, axis=1)
        if bounded:
            least, most = (np.sort(x + rng.integers(0, 3, (m, n)) * side, axis=1).astype(float) for side in (-1, 1))
            most = np.minimum(most, upper[:, None])
        weight, prices, node = rng.integers(1, 4, m).astype(float), rng.normal(0, 4, (2, n)), rng.integers(0, 2, m)
        bounds = (least, most) if bounded else (np.zeros((0, 0)), np.zeros((0, 0)))
        found, costs = moves_kernel.group_moves(
            LeafTerms(y, upper, *bounds, weight), node, prices, x.astype(np.int64), within
        )
        wanted = {}
        for leaf in range(m):
            for k in range(int(upper[leaf])):
                parts = weight[leaf] * (2 * (k - y[leaf]) + 1)
                size = int((x[leaf] <= k).sum())
                for s in range(n + 1):
                    passed = slice(min(s, size), max(s, size))
                    kept = most[leaf, passed] > k if s < size else least[leaf, passed] <= k
                    if s == size or not kept.all():
                        continue
                    cost = parts[s:].sum() - parts[size:].sum()
                    reduced = cost - prices[node[leaf], s:].sum() + prices[node[leaf], size:].sum()
                    if reduced <= within:
                        wanted[leaf, k, size, s] = cost
        assert {tuple(move): cost for move, cost in zip(found.tolist(), costs, strict=True)} == pytest.approx(wanted)


@pytest.mark.parametrize("totals", TOTALS)
def test_answers_equal_enumeration(totals):
    """Two or three levels, random tables and weights: the least of all tables, nearly always proved."""
    rng = rng_of(516)
    trees = [
        Hierarchy.from_paths([("US", "a"), ("US", "b"), ("US", "c")]),
        Hierarchy.from_paths([("US", "A", "a"), ("US", "A", "b"), ("US", "B", "c")]),
    ]
    vectors = naive.monotone_vectors(2, np.arange(5))
    points = [naive.consistent_points(tree, vectors) for tree in trees]
    proved = 0
    for i in range(n := scale(40, 2000)):
        tree, every = trees[i % 2], points[i % 2]
        truth = every[rng.integers(len(every))]
        noisy = truth + rng.integers(-3, 4, truth.shape)
        about = naive.measurement_of(tree, noisy, int(truth[0, -1]), View.CUMULATIVE)
        if totals == "regions":
            about = replace(about, public=Totals.REGIONS, totals=truth[:, -1].copy())
        problem = Problem.m_c(about, totals=totals or "root")
        problem = replace(problem, weights=rng.integers(1, 4, tree.n_regions))
        problem = problem if totals else replace(problem, totals=None)
        allowed = np.ones(len(every), bool)
        if totals:
            public = slice(0, 1 if totals == "root" else None)
            allowed = (every[:, public, -1] == truth[public, -1]).all(axis=1)
        least = int((problem.w[:, None] * (every[allowed] - problem.target) ** 2).sum(axis=(1, 2)).min())
        result = CumulativeIntegers().solve(problem)
        proved += result.status is Status.OPTIMAL
        assert result.certificate.objective <= least
        assert result.certificate.objective == least or result.estimate.values[tree.leaves].max() > 4
    assert proved >= 0.99 * n


def test_three_levels_whose_linear_program_is_not_whole(monkeypatch):
    """13 regions and 5 sizes, found by random search: 163.5 in fractions, 164 in integers."""
    rng = rng_of(100_949)
    tree = Hierarchy.from_paths([("US", f"S{i // 3}", f"C{i}") for i in range(9)])
    truth = np.stack(tree.sum_up(np.sort(rng.integers(0, 5, (9, 5)), axis=1)))
    most = int(rng.integers(2, 7))
    levels = [truth[tree.level(level)] for level in (2, 1, 0)]
    leaves, states, nation = (table + rng.integers(-most, most + 1, table.shape) for table in levels)
    noisy = naive.measurement_of(tree, np.concatenate([nation, states, leaves]), int(truth[0, -1]), View.CUMULATIVE)
    programs, relaxed = [], GroupMoves.relaxed
    monkeypatch.setattr(GroupMoves, "relaxed", lambda *about: programs.append(relaxed(*about)) or programs[-1])
    result = CumulativeIntegers().solve(Problem.m_c(noisy))
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == 164
    assert lagrangian_bound(Problem.m_c(noisy), result.multipliers) <= 163.5
    assert any((np.abs(one.taken - np.rint(one.taken)) > 1e-6).any() for one in programs)


def test_nothing_that_a_solver_says_is_believed(monkeypatch):
    """Answers of the right shape and no sense: whatever comes out is feasible, and OPTIMAL only where it is."""
    rng = rng_of(518)

    def senseless(cost, A_eq=None, **_):
        rows = 0 if A_eq is None else A_eq.shape[0]
        return SimpleNamespace(
            x=rng.random(len(cost)), status=0, eqlin=SimpleNamespace(marginals=rng.normal(0, 3, rows))
        )

    monkeypatch.setattr("scipy.optimize.linprog", senseless)
    monkeypatch.setattr("scipy.optimize.milp", senseless)
    for totals in TOTALS:
        for _ in range(scale(5, 50)):
            problem = random_problem(rng, totals)
            result = CumulativeIntegers().solve(problem)
            assert result.certificate.feasible
            assert result.certificate == certify(problem, result.estimate, result.multipliers)
            assert (result.status is Status.OPTIMAL) == result.certificate.optimal


@pytest.mark.slow
def test_a_nation_is_proved_optimal():
    """3,195 regions of three levels, 31 sizes: the prices of the program prove its integers."""
    noisy = Geometric(View.CUMULATIVE, 1).measure(census_like(regions="counties", max_size=30, seed=1), Seeded("a"))
    problem = Problem.m_c(noisy)
    result = CumulativeIntegers().solve(problem)
    assert result.status is Status.OPTIMAL
    assert certify(problem, result.estimate, result.multipliers).optimal


def test_the_gap_asked_for_is_proved_on_hundreds_of_leaves():
    """A thousandth of what the same bound at the relaxed optimum's prices proves of its roundings, and less."""
    rng = rng_of(508)
    tree = Hierarchy.from_paths([("US", f"S{i // 20}", f"C{i}") for i in range(300)])
    truth = CountOfCounts(tree, rng.poisson(3.0 * np.exp(-np.arange(120) / 20), (300, 120)), name="hundreds")
    problem = Problem.m_c(Geometric(View.CUMULATIVE, "1/10").measure(truth, Seeded("hundreds")))
    result = CumulativeIntegers(gap=1e-4).solve(problem)
    assert result.certificate.gap <= 1e-4, result.certificate
    dual = SquaresDual(problem.relaxed())
    start = dual.multipliers(maximise(dual, 1e-9, Deadline()).point)
    assert lagrangian_bound(problem, result.multipliers) > lagrangian_bound(problem, start)
    assert objective(problem, result.estimate) == result.certificate.objective


def test_a_spent_time_limit_still_gives_feasible_integers():
    problem = random_problem(rng_of(510), "root")
    result = CumulativeIntegers().solve(problem, time_limit=1e-9)
    assert result.certificate.feasible


@pytest.mark.parametrize("missing", [-100_000, -1, 5_000])
def test_any_total_is_met(missing):
    """However far leaves are from the public total: they stay monotone, and `off` says what their sums are."""
    rng = rng_of(512)
    tree = Hierarchy.from_paths([("US", f"S{i // 4}", f"C{i}") for i in range(12)])
    truth = CountOfCounts(tree, rng.integers(0, 2_000, (12, 6)))
    problem = Problem.m_c(Geometric(View.CUMULATIVE, 1).measure(truth, Seeded("total")))
    rounded = RoundedDual(SquaresDual(problem.relaxed()))
    x = np.cumsum(truth.counts[tree.leaves], axis=1)
    x = np.maximum(x - missing // len(x), 0)
    off = rounded.sums_off(x)
    rounded._meet_total(x, off)
    assert x[:, -1].sum() == problem.root_total
    assert (off == rounded.sums_off(x)).all()
    assert x.min() >= 0
    assert (np.diff(x, axis=1) >= 0).all()


def random_problem(rng, totals):
    """The integer version of a random problem, weights and unmeasured levels included."""
    return replace(random_relaxed(rng, totals), integer=True)


def random_dual(rng, totals):
    """A problem, and its dual near the relaxed optimum."""
    problem = random_problem(rng, totals)
    dual = SquaresDual(problem.relaxed())
    maximise(dual, 1e-3, Deadline())
    return problem, RoundedDual(dual)
