"""Lagrangian bounds of every kind of problem, and node potentials, against exhaustive search and dense programs."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, PgsrError, Problem, View
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import is_decided
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.certificates.potentials import is_potential_optimal
from pgsr.certificates.priced_chain_kernel import NONE, bound_l2_rows, fit_l1_rows
from pgsr.data import Estimate
from pgsr.noise import Totals
from pgsr.problems.conditions.matrices import Conditions

NO_CELLS = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64)

KINDS = [
    (view, norm, integer, totals, monotone)
    for view in (View.COUNTS, View.CUMULATIVE)
    for norm in (1, 2)
    for integer in (True, False)
    for totals in (None, Totals.ROOT, Totals.REGIONS)
    for monotone in (False, True)
]


def totals_of(rng, tree, most=3):
    return tree.sum_up(rng.integers(0, most + 1, tree.n_regions - tree.n_inner))


def problem_of(rng, tree, noisy, kind, sums, **conditions):
    """A problem of this kind on these noisy values; inner regions may have no weight."""
    view, norm, integer, totals, monotone = kind
    measurement = replace(naive.measurement_of(tree, noisy, 0, view), public=Totals.REGIONS, totals=sums)
    if totals is Totals.ROOT:
        measurement = replace(measurement, public=Totals.ROOT, totals=sums[:1])
    weights = rng.integers(0, 3, tree.n_regions)
    weights[tree.leaves] += 1
    return Problem.about(
        measurement, "test", totals=totals, norm=norm, integer=integer, monotone=monotone, weights=weights, **conditions
    )


def wild_multipliers(rng, problem, spread):
    tree, n_sizes = problem.hierarchy, problem.target.shape[1]
    n_totals = {None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals]
    prices = rng.normal(0, spread, tree.n_inner * n_sizes), rng.normal(0, spread, n_totals)
    if rng.random() < 0.5:
        prices = np.rint(prices[0]), np.rint(prices[1])  # ties
    return Multipliers(prices[0].reshape(-1, n_sizes), prices[1])


def vectors_of(problem, most):
    """Integer vectors of a region that satisfy the conditions on single regions but for totals."""
    low = 0 if problem.nonnegative else -2
    n_sizes = problem.target.shape[1]
    vectors = np.array(list(np.ndindex(*(most - low + 1,) * n_sizes))) + low
    return vectors[(np.diff(vectors, axis=1) >= 0).all(axis=1)] if problem.monotone else vectors


def best_integers(problem, most=3):
    """The smallest objective over feasible integer points whose leaves have values of at most `most`."""
    tree, y, w = problem.hierarchy, problem.target, problem.w
    vectors = vectors_of(problem, most)
    n_public = {None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals]
    of = (lambda x: x[..., -1]) if problem.view is View.CUMULATIVE else (lambda x: x.sum(axis=-1))
    wanted = problem.groups
    if not problem.consistent:
        best = 0
        for r in range(tree.n_regions):
            allowed = vectors[of(vectors) == wanted[r]] if r < n_public else vectors
            if not len(allowed):
                return np.inf
            best += w[r] * (np.abs(allowed - y[r]) ** problem.norm).sum(axis=1).min()
        return best
    points = naive.consistent_points(tree, vectors)
    points = points[(of(points)[:, :n_public] == wanted[:n_public]).all(axis=1)]
    values = (np.abs(points - y) ** problem.norm * w[:, None]).sum(axis=(1, 2))
    return values.min() if len(values) else np.inf


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", KINDS)
def test_wild_multipliers_give_a_bound(kind):
    """Whatever the multipliers, the bound is finite and no feasible point is below it."""
    rng = rng_of(61)
    for _ in range(scale(12, 800)):
        tree = random_tree(rng, max_regions=5)
        while tree.n_regions - tree.n_inner > 3:
            tree = random_tree(rng, max_regions=5)
        n_sizes = int(rng.integers(1, 4 if tree.n_regions - tree.n_inner < 3 else 3))
        noisy = rng.integers(-3, 7, (tree.n_regions, n_sizes))
        conditions = {"nonnegative": rng.random() < 0.8, "consistent": rng.random() < 0.8}
        problem = problem_of(rng, tree, noisy, kind, totals_of(rng, tree), **conditions)
        best = best_integers(problem)
        for spread in (0.3, 2.0, 30.0, 1e9):
            bound = lagrangian_bound(problem, wild_multipliers(rng, problem, spread))
            assert np.isfinite(bound)
            assert bound <= best


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", KINDS)
def test_good_multipliers_reach_the_relaxed_optimum(kind):
    """The bound at the duals of a dense program is the continuous optimum to 1e-6, also at counts of 1e8."""
    rng = rng_of(62)
    for big in (0, 10**8):
        for _ in range(scale(2, 30)):
            tree = random_tree(rng, max_regions=9, n_levels=int(rng.integers(1, 4)))
            n_sizes = int(rng.integers(2, 7))
            leaves = rng.integers(0, 9, (tree.n_regions - tree.n_inner, n_sizes)) + big
            truth = tree.sum_up(leaves)
            sums = truth.sum(axis=1)
            if kind[0] is View.CUMULATIVE:
                truth = np.cumsum(truth, axis=1)
            if kind[0] is View.COUNTS and kind[-1]:
                truth = np.sort(truth, axis=1)
            noisy = truth + rng.integers(-9, 10, truth.shape)
            problem = problem_of(rng, tree, noisy, kind, sums).relaxed()
            best, multipliers = dense_optimum(problem)
            bound = lagrangian_bound(problem, multipliers)
            assert bound <= best * (1 + 1e-6) + 1e-6
            assert bound == pytest.approx(best, rel=1e-6, abs=1e-5)
            whole = replace(problem, integer=True)
            assert lagrangian_bound(whole, multipliers) >= bound - 1e-9 * (1 + abs(bound))


def dense_optimum(problem):
    """The continuous optimum in z = x - y and its duals, from a general solver: HiGHS for norm 1, Clarabel for 2."""
    tree, y = problem.hierarchy, problem.target
    n_regions, n = y.shape
    incidence = np.eye(n_regions)[: tree.n_inner]
    for child in range(1, n_regions):
        incidence[tree.parent[child], child] = -1
    consistency = np.kron(incidence, np.eye(n))
    n_public = {None: 0, Totals.ROOT: 1, Totals.REGIONS: n_regions}[problem.totals]
    row = np.eye(n)[-1:] if problem.view is View.CUMULATIVE else np.ones((1, n))
    totals = np.kron(np.eye(n_regions)[:n_public], row)
    equal = np.vstack([consistency, totals])
    right = np.concatenate([-consistency @ y.ravel(), problem.groups[:n_public] - totals @ y.ravel()])
    order = np.kron(np.eye(n_regions), np.eye(n)[:-1] - np.eye(n)[1:]) if problem.monotone else np.zeros((0, y.size))
    weights = np.repeat(problem.w, n).astype(float)
    if problem.norm == 1:
        from scipy.optimize import linprog

        eye = np.eye(y.size)
        rows = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.hstack([order, 0 * order])])
        solved = linprog(
            np.concatenate([np.zeros(y.size), weights]),
            A_ub=rows,
            b_ub=np.concatenate([np.zeros(2 * y.size), -order @ y.ravel()]),
            A_eq=np.hstack([equal, 0 * equal]),
            b_eq=right,
            bounds=[(-float(v), None) for v in y.ravel()] + [(0, None)] * y.size,
        )
        assert solved.status == 0, solved.message
        best, duals = solved.fun, -solved.eqlin.marginals
    else:
        cvxpy = pytest.importorskip("cvxpy")
        z = cvxpy.Variable(y.size)
        # Conditions with room for a million cannot bind, and such numbers would cost the solver its digits.
        rows, room = np.vstack([order, -np.eye(y.size)]), np.concatenate([-order @ y.ravel(), y.ravel()])
        conditions = [equal @ z == right, rows[room < 10**6] @ z <= room[room < 10**6]]
        program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(weights, cvxpy.square(z)))), conditions)
        best, duals = program.solve(solver="CLARABEL"), conditions[0].dual_value
    return best, Multipliers(duals[: len(consistency)].reshape(-1, n), -duals[len(consistency) :])


@pytest.mark.parametrize("norm", [1, 2])
def test_slightly_wrong_prices_cost_little(norm):
    """Prices off by a solver's 1e-9 lose no more than that, although chains could fall by 1e8 groups."""
    rng = rng_of(63)
    for _ in range(scale(20, 300)):
        tree = random_tree(rng, max_regions=9, n_levels=2)
        truth = tree.sum_up(np.cumsum(rng.integers(0, 10**8, (tree.n_regions - 1, 5)), axis=1))
        kind = (View.CUMULATIVE, norm, False, Totals.ROOT, True)
        noisy = truth + rng.integers(-20, 21, truth.shape)
        problem = problem_of(rng, tree, noisy, kind, truth[:, -1])
        best, multipliers = dense_optimum(problem)
        prices = multipliers.consistency + rng.normal(0, 1e-9, multipliers.consistency.shape)
        assert lagrangian_bound(problem, Multipliers(prices, multipliers.totals)) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("integer", [True, False])
def test_priced_squares_of_a_chain(integer, bounded):
    """The bound of a chain is its minimum, in integers and in reals, between two ends or bounds of every cell."""
    rng = rng_of(64)
    for _ in range(scale(200, 5_000)):
        n = int(rng.integers(1, 5))
        y, w, net = rng.integers(-3, 6, (1, n)), rng.integers(1, 4, 1), rng.normal(0, 4, (1, n))
        if rng.random() < 0.5:
            net = np.rint(net)
        if bounded:
            low = np.sort(rng.integers(-2, 4, (1, n)))
            high = np.maximum(low, np.sort(rng.integers(-2, 6, (1, n))))
            ends, cells = (low[:, 0], high[:, -1]), (low, high)
        else:
            low, high = np.full((1, n), rng.integers(-2, 2)), np.full((1, n), rng.integers(2, 5))
            free = rng.random(2) < 0.3
            ends = np.where(free[0], -NONE, low[:, 0]), np.where(free[1], NONE, high[:, 0])
            cells = NO_CELLS
            far = 10 if integer else 40  # beyond which no minimum lies
            low, high = low - far * free[0], high + far * free[1]
        values, magnitudes = np.empty((2, 1, n))
        bound_l2_rows(y, w, net, *ends, *cells, integer, values, magnitudes)
        if integer:
            every = naive.monotone_vectors(n, np.arange(low.min(), high.max() + 1))
            d = every[((every >= low) & (every <= high)).all(axis=1)] - y[0]
            best = (w[0] * d**2 + net[0] * d).sum(axis=1).min()
        elif bounded:
            best = float(naive.bounded_chain_minimum_l2(y[0], net[0], int(w[0]), low[0], high[0]))
        else:
            best = naive.priced_chain_minimum_l2(y[0], net[0], int(w[0]), int(low.min()), int(high.max()))
        assert values.sum() == pytest.approx(best, rel=1e-12, abs=1e-9)


def test_priced_absolute_values_of_a_chain():
    """The fit is a minimiser, in exact integers; without bounds a chain that falls without end is recognised."""
    rng = rng_of(65)
    for _ in range(scale(500, 10_000)):
        n = int(rng.integers(1, 5))
        y, w, net = rng.integers(-3, 6, (1, n)), rng.integers(1, 4, 1), rng.integers(-5, 6, (1, n))
        lower, upper = int(rng.integers(-2, 2)), int(rng.integers(2, 5))
        x = np.zeros((1, n), np.int64)
        assert fit_l1_rows(y, w, net, np.array([lower]), np.array([upper]), x)
        assert (np.diff(x[0], prepend=lower, append=upper) >= 0).all()
        cost = lambda x: float((w[0] * np.abs(x - y) + net * (x - y)).sum())  # noqa: B023, E731
        best = naive.priced_chain_minimum(y[0], net[0], w[0], 1, np.arange(lower, upper + 1))
        assert cost(x) == best
        finite = fit_l1_rows(y, w, net, np.array([-NONE]), np.array([NONE]), x)
        near, far = (
            naive.priced_chain_minimum(y[0], net[0], w[0], 1, np.array([-edge, *range(-4, 7), edge]))
            if n < 4
            else naive.priced_chain_minimum(y[0], net[0], w[0], 1, np.array([-edge, *np.unique(y), edge]))
            for edge in (50, 60)
        )
        assert finite == (near == far)
        if finite:
            assert cost(x) == near


def test_potentials_equal_brute_force():
    """A point with every region's total is proved if and only if none is better; the twin's cycle says the same."""
    rng = rng_of(66)
    checked = 0
    while checked < scale(250, 60_000):
        tree = random_tree(rng, max_regions=7)
        n_sizes = int(rng.integers(2, 4))
        sums = totals_of(rng, tree, 2)
        if sums[0] > 5:
            continue
        noisy = rng.integers(-3, 6, (tree.n_regions, n_sizes))
        kind = (View.COUNTS, 2, True, Totals.REGIONS, False)
        problem = problem_of(rng, tree, noisy, kind, sums)
        assert is_decided(problem)
        points = naive.feasible_points(tree, n_sizes, int(sums[0]))
        points = points[(points.sum(axis=2) == sums).all(axis=1)]
        values = naive.objectives(problem, points)
        multipliers = wild_multipliers(rng, problem, 5.0)
        for index in [*np.argsort(values)[:6], *rng.choice(len(points), min(len(points), 6), replace=False)]:
            optimal = values[index] == values.min()
            estimate = Estimate(tree, View.COUNTS, points[index])
            certificate = certify(problem, estimate, multipliers)
            assert certificate.optimal == optimal
            assert (certificate.bound_by == "node potentials") == optimal
            assert is_potential_optimal(problem, estimate) == optimal
            if checked % 10 == 0:
                assert naive.has_negative_cycle(problem, points[index]) != optimal
            if not optimal:
                assert certificate.bound <= values.min()
            checked += 1


def test_conditions_without_any_fix_no_total():
    """A lone region whose number of groups is free: three more of each size is not the nearest."""
    tree, noisy = Hierarchy.from_parents(["US"], [-1]), np.array([[1, 2, 3]])
    problem = replace(Problem.of(noisy, tree, groups=6), totals=None, conditions=Conditions.none(3))
    for more in (3, 0):
        certificate = certify(problem, Estimate(tree, View.COUNTS, noisy + more))
        assert certificate.optimal == (more == 0), certificate


def test_potentials_guard_64_bits():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = np.array([[2, 0], [2**31, 0], [0, 0]])
    measurement = replace(naive.measurement_of(tree, noisy, 0), public=Totals.REGIONS, totals=np.array([2, 1, 1]))
    problem = Problem.about(measurement, "M_H", totals=Totals.REGIONS, weights=np.full(3, 2**40))
    with pytest.raises(PgsrError, match="64-bit"):
        certify(problem, Estimate(tree, View.COUNTS, np.array([[2, 0], [1, 0], [1, 0]])))


def test_useless_numbers_give_no_bound():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = naive.problem_of(tree, np.zeros((3, 2), int), 1).relaxed()
    estimate = Estimate(tree, View.COUNTS, np.array([[1.0, 0], [1, 0], [0, 0]]))
    for useless in (np.nan, np.inf, 1e200):
        assert certify(problem, estimate, Multipliers(np.full((1, 2), useless), np.zeros(1))).bound is None
    with pytest.raises(PgsrError, match="prices of consistency"):
        certify(problem, estimate, Multipliers(np.zeros((2, 2)), np.zeros(1)))
    with pytest.raises(PgsrError, match="prices of totals"):
        certify(problem, estimate, Multipliers(np.zeros((1, 2)), np.zeros(3)))
