"""The published dynamic program against exhaustive search, the worked examples, and its own claims."""

from dataclasses import dataclass, replace
from itertools import product

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from test_m_h_projection import small_instance

from pgsr import Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.cost_tables.steps import CostTableList
from pgsr.algorithms.cost_tables.windows import domains, half_widths
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, Stopped
from pgsr.models import TableConstraints
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

STEPS = [SlopeMerge(), SlopeGreedy()]
ALL_STEPS = [*STEPS, TableConstraints()]
NOISY = np.array([[4, 1, 3, -1, 1], [3, 1, 0, -1, 0], [0, 1, 2, 0, -1]])


@pytest.mark.parametrize("step", ALL_STEPS, ids=repr)
def test_example_of_cost_tables(step):
    """The cost tables of size 1: Georgia 3, Michigan 0, and the United States 4."""
    georgia, michigan = np.array([9, 4, 1, 0, 1, 4, 9]), np.array([0, 1, 4, 9, 16, 25, 36])
    leaves = CostTableList.quadratic(np.array([3, 0]), np.array([1, 1]), np.array([0, 0]), np.array([6, 6]))
    assert [table.tolist() for table in leaves] == [georgia.tolist(), michigan.tolist()]
    combined = step.combine(leaves, 0, 8, Deadline())
    assert combined.costs.tolist() == [9, 4, 1, 0, 1, 2, 5, 8, 13]
    assert combined.split(3).tolist() == [3, 0]
    for v in range(9):
        x = combined.split(v)
        assert x.sum() == v
        assert georgia[x[0]] + michigan[x[1]] == combined.costs[v]
    assert (combined.costs + (np.arange(9) - 4) ** 2).tolist() == [25, 13, 5, 1, 1, 3, 9, 17, 29]


@pytest.mark.parametrize("step", ALL_STEPS, ids=repr)
@pytest.mark.parametrize("window", ["paper", None, 3])
def test_example_of_a_release(step, window):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    result = CostTables(window, step).solve(naive.problem_of(tree, NOISY, 6))
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == 7
    assert result.estimate.values[0].tolist() == [3, 1, 2, 0, 0]
    assert result.estimate.values[:, 0].tolist() == [3, 3, 0]
    assert result.estimate.values[:, 2].tolist() == [2, 0, 2]
    assert result.estimate.values[1:, 1].tolist() in ([1, 0], [0, 1])


def test_example_of_windows():
    """Three levels: lambda = 2 * 3 / epsilon, delta = 3 ceil(2 lambda^2)."""
    truth = random_truth(rng_of(0), Hierarchy.from_paths([("US", "GA", "x"), ("US", "MI", "y")]))
    for epsilon, delta in [("0.1", 21_600), ("0.5", 864), ("1", 216)]:
        problem = Problem.m_h(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("delta")))
        assert half_widths(problem, "paper") == [delta] * 5


def test_the_window_of_a_level_follows_its_own_epsilon():
    tree = Hierarchy.from_paths([("US", "GA", "x"), ("US", "GA", "y"), ("US", "DC")], pad_ragged=True)
    truth = random_truth(rng_of(1), tree)
    noisy = Geometric(View.COUNTS, 1, shares=("1/3", "0", "2/3")).measure(truth, Seeded(0))
    problem = Problem.m_h(noisy)
    whole = noisy.root_total + int(np.abs(noisy.matrix).max())
    assert half_widths(problem, "paper") == [216, whole, whole, 54, 54, 54]
    assert CostTables().solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_equals_brute_force(step):
    rng = rng_of(2)
    for _ in range(scale(20, 3_000)):
        problem, points = small_instance(rng)
        weights = rng.integers(0, 5, problem.hierarchy.n_regions)
        weights[problem.hierarchy.leaves] += 1
        weighted = replace(problem, weights=weights)
        for stated, window in ((problem, "paper"), (problem, None), (weighted, "paper")):
            result = CostTables(window, step).solve(stated)
            assert result.status is Status.OPTIMAL
            assert result.certificate.objective == naive.objectives(stated, points).min()


def test_small_windows_give_the_best_point_inside_them_and_say_so():
    rng = rng_of(3)
    seen = {Status.OPTIMAL: 0, Status.FEASIBLE: 0}
    for _ in range(scale(80, 5_000)):
        problem, points = small_instance(rng)
        window = int(rng.integers(0, 3))
        within = domains(problem, window)
        inside = points[((points >= within.low) & (points <= within.high)).all(axis=(1, 2))]
        result = CostTables(window).solve(problem)
        best = naive.objectives(problem, points).min()
        assert result.certificate.feasible
        assert result.certificate.objective == naive.objectives(problem, inside).min()
        assert (result.status is Status.OPTIMAL) == (result.certificate.objective == best)
        if result.status is Status.FEASIBLE:
            assert result.certificate.bound is None
            assert "bind" in result.reason
        seen[result.status] += 1
    assert min(seen.values()) > 3


def test_windows_that_cannot_reach_the_total_are_widened():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
    noisy = np.array([[-900, 5], [-800, -9], [-7, -999]])
    far = naive.problem_of(tree, noisy, 5_000)
    assert domains(far, "paper").doublings > 0
    for step in STEPS:
        result = CostTables(step=step).solve(far)
        assert result.certificate.feasible
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert CostTables(None, step).solve(far).status is Status.OPTIMAL
    short = naive.problem_of(tree, np.array([[-9, -6], [6, 3], [8, 0]]), 24)
    assert domains(short, 0).delta.tolist() == [7, 7, 7]
    narrow = CostTables(window=0).solve(short)
    assert narrow.status is Status.FEASIBLE
    assert "y +- 7 or less (doubled 3 times to reach the total)" in narrow.reason
    assert CostTables().solve(naive.problem_of(tree, noisy, 0)).certificate.optimal
    children_above_their_parent = naive.problem_of(tree, np.array([[0, 0], [90, 80], [70, 60]]), 100)
    assert CostTables(window=0).solve(children_above_their_parent).certificate.feasible


def test_slope_greedy_and_slope_merge_return_the_same_counts():
    """They break ties alike, so not only the tables but the answers are equal."""
    rng = rng_of(7)
    for _ in range(scale(15, 2_000)):
        tree = random_tree(rng, max_regions=15)
        noisy = rng.integers(-9, 30, (tree.n_regions, int(rng.integers(2, 8))))
        problem = naive.problem_of(tree, noisy, int(rng.integers(0, 200)))
        for window in ("paper", None, 4):
            merge, greedy = (CostTables(window, step).solve(problem).estimate.values for step in STEPS)
            assert (merge == greedy).all()


def test_steps_equal_enumeration():
    """The tables phi are random and convex; steps over the whole range that they reach and over parts of it."""
    rng = rng_of(8)
    for _ in range(scale(150, 3_000)):
        tables = convex_tables(rng)
        lowest, highest = int(tables.low.sum()), int(tables.high.sum())
        phi = {v: [] for v in range(lowest, highest + 1)}
        for x in product(*(range(len(table)) for table in tables)):
            cost = sum(int(table[k]) for table, k in zip(tables, x, strict=True))
            phi[lowest + sum(x)].append(cost)
        low = int(rng.integers(lowest, highest + 1))
        high = int(rng.integers(low, highest + 1))
        for step in STEPS:
            combined = step.combine(tables, low, high, Deadline())
            assert combined.costs.tolist() == [min(phi[v]) for v in range(low, high + 1)]
            for v in range(low, high + 1):
                x = combined.split(v)
                assert x.sum() == v
                assert ((tables.low <= x) & (x <= tables.high)).all()
                paid = sum(int(table[k]) for table, k in zip(tables, x - tables.low, strict=True))
                assert paid == combined.costs[v - low]


def test_all_tables_are_convex():
    """Also a new step in ten lines: nothing is registered."""

    @dataclass(frozen=True)
    class Watching:
        def unavailable(self):
            return None

        def combine(self, tables, low, high, deadline):
            combined = SlopeMerge().combine(tables, low, high, deadline)
            assert all((np.diff(table, 2) >= 0).all() for table in [*tables, combined.costs])
            return combined

    rng = rng_of(9)
    for _ in range(scale(20, 1_000)):
        tree = random_tree(rng, max_regions=12)
        problem = naive.problem_of(tree, rng.integers(-40, 90, (tree.n_regions, 4)), int(rng.integers(0, 300)))
        for window in ("paper", 5, None):
            assert CostTables(window, Watching()).solve(problem).certificate.feasible


def test_table_constraints_equal_slope_merge():
    rng = rng_of(11)
    for _ in range(scale(4, 60)):
        problem, _ = small_instance(rng)
        window = [None, 2][int(rng.integers(2))]
        general, slopes = (CostTables(window, step).solve(problem) for step in (TableConstraints(), SlopeMerge()))
        assert general.status is slopes.status
        assert general.certificate.objective == slopes.certificate.objective


def test_table_constraints_need_no_convexity():
    tables = CostTableList.of([0, 1], [[0, 7, 1], [5, 0, 5]])
    combined = TableConstraints().combine(tables, 1, 5, Deadline())
    assert combined.costs.tolist() == [5, 0, 5, 1, 6]
    assert combined.split(4).tolist() == [2, 2]


@pytest.mark.parametrize("step", ALL_STEPS, ids=repr)
def test_time_limits_end_in_timed_out(step):
    tree = random_tree(rng_of(12), max_regions=30, n_levels=3)
    noisy = rng_of(13).integers(0, 2_000, (tree.n_regions, 30))
    result = CostTables(None, step).solve(naive.problem_of(tree, noisy, 2_000), time_limit=0.01)
    assert result.status is Status.TIMED_OUT
    assert "0.01 s" in result.reason
    assert result.seconds.total < 5
    with pytest.raises(PgsrError, match="no estimate"):
        _ = result.estimate


def test_a_constraint_program_gets_the_time_that_is_left(monkeypatch):
    from ortools.sat.python import cp_model

    given = []
    solve = cp_model.CpSolver.solve

    def watched(self, model, callback=None):
        given.append(self.parameters.max_time_in_seconds)
        return solve(self, model, callback)

    monkeypatch.setattr(cp_model.CpSolver, "solve", watched)
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = naive.problem_of(tree, NOISY, 6)
    assert CostTables(2, TableConstraints()).solve(problem, time_limit=50).status is Status.OPTIMAL
    assert all(0 < seconds <= 50 for seconds in given)
    assert given == sorted(given, reverse=True)
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.UNKNOWN)
    assert CostTables(2, TableConstraints()).solve(problem, time_limit=50).status is Status.TIMED_OUT
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.INFEASIBLE)
    failed = CostTables(2, TableConstraints()).solve(problem)
    assert failed.status is Status.FAILED
    assert "INFEASIBLE" in failed.reason


def test_a_wrong_step_is_refuted():
    """A step that splits badly cannot pass its answer off as the optimum."""

    @dataclass(frozen=True)
    class Wrong:
        def unavailable(self):
            return None

        def combine(self, tables, low, high, deadline):
            right = SlopeMerge().combine(tables, low, high, deadline)
            values = np.arange(low, high + 1)
            splits = {int(v): np.array(next(s for s in spread(int(v), tables))) for v in values}
            return replace(right, split=lambda v: splits[v])

    def spread(v, tables):
        for x in product(*(range(int(a), int(b) + 1) for a, b in zip(tables.low, tables.high, strict=True))):
            if sum(x) == v:
                yield x

    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    result = CostTables(None, Wrong()).solve(naive.problem_of(tree, NOISY + 1, 9))
    assert result.status is Status.FAILED
    assert "refutes" in result.reason


def test_what_is_too_large_is_a_sentence():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = naive.problem_of(tree, np.full((3, 9), 10**10), 10**11)
    result = CostTables(window=None).solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "smaller windows" in result.reason
    consistent = tree.sum_up(np.full((2, 9), 10**10))
    assert CostTables(window=20).solve(naive.problem_of(tree, consistent, 18 * 10**10)).certificate.objective == 0
    heavy = replace(problem, weights=np.array([2**40] * 3))
    assert "weights" in CostTables(window=10**6).solve(heavy).reason
    vast = naive.problem_of(tree, np.full((3, 2), 2**50), 5)
    assert CostTables().solve(vast).status is Status.TOO_LARGE


def test_too_large_for_one_constraint_program_is_a_sentence():
    problem = naive.problem_of(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), NOISY, 60_000)
    result = CostTables(None, TableConstraints()).solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "smaller windows" in result.reason
    with pytest.raises(Stopped, match="CP-SAT"):
        TableConstraints().combine(CostTableList.of([0, 0], [[0, 2**61], [0, 1]]), 0, 1, Deadline())


@pytest.mark.parametrize("window", [-1, "papers", 1.5, True, (1, 2)])
def test_malformed_windows_are_sentences(window):
    with pytest.raises(MethodError, match="'paper', a number of counts"):
        CostTables(window=window)


def convex_tables(rng):
    """One to four random convex tables of up to five values."""
    n_tables = int(rng.integers(1, 5))
    slopes = [np.sort(rng.integers(-5, 6, int(rng.integers(0, 5)))) for _ in range(n_tables)]
    tables = [np.concatenate([[0], np.cumsum(s)]) + int(rng.integers(0, 20)) for s in slopes]
    return CostTableList.of(rng.integers(0, 4, n_tables), tables)
