"""Choices decided and proved without a solver, beside exhaustive search and all alternatives one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from condition_checks import KINDS, best_integer, best_real, feasible_points, random_problems
from instances import rng_of, scale

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms import ChoiceTree, TreeProjection
from pgsr.algorithms.choice_tree.bound import choices_bound
from pgsr.algorithms.choice_tree.by_flow import FlowNodes
from pgsr.algorithms.choice_tree.by_methods import MethodNodes
from pgsr.algorithms.choice_tree.search import best_first
from pgsr.certificates import certify
from pgsr.certificates.certificate import ALTERNATIVES
from pgsr.methods.gate import NO_LIMIT
from pgsr.models import Scipy
from pgsr.problems.conditions import cells, either, entities, groups, total, zero_or_at_least
from tests.problems.test_conditions_choices import chosen, within

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
COUNTS = Problem.of([[1, 5, 2, 2], [1, 2, 0, 2], [0, 2, 1, 1]], TREE, groups=10, label="M_H")
DEEP = Hierarchy.from_paths([("US", "GA", "Bibb"), ("US", "GA", "Cobb"), ("US", "MI", "Ionia"), ("US", "MI", "Kent")])


def by_alternatives(problem, choices, solve=None):
    """The least objective over all combinations of alternatives, each of conditions that `where` takes."""
    found = []
    for combination in product(*choices):
        stated = problem.where(*(condition for side in combination for condition in side))
        result = (solve or TreeProjection().solve)(stated)
        assert result.status in (Status.OPTIMAL, Status.INFEASIBLE), result
        if result.status is Status.OPTIMAL:
            found.append(result.certificate.objective)
    return min(found, default=None)


def stated_with(problem, choices):
    return problem.where(*(either(*map(list, sides)) for sides in choices))


def random_sides(rng, problem, n, width):
    """Choices between bounds of cells away from their noisy values, two to three alternatives each."""
    tree, y = problem.hierarchy, problem.target
    made = []
    for _ in range(n):
        sides = []
        for _ in range(int(rng.integers(2, 4))):
            conditions = []
            for _ in range(int(rng.integers(1, 3))):
                r, s = int(rng.integers(tree.n_regions)), int(rng.integers(y.shape[1]))
                off = int(rng.integers(1, width + 1))
                cell = cells(tree.paths[r], size=s)
                conditions.append(
                    cell <= max(0, int(y[r, s]) - off) if rng.random() < 0.5 else cell >= max(0, int(y[r, s]) + off)
                )
            sides.append(tuple(conditions))
        made.append(tuple(sides))
    return made


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_equals_the_best_of_all_points(kind):
    """Bounds hold whatever is stated; what is supported is solved, and proved by flows to the last digit."""
    rng, solved, infeasible = rng_of(31), 0, 0
    for problem, point in random_problems(rng, kind, scale(6, 60)):
        points, last = feasible_points(problem, 4), problem.hierarchy.n_levels - 1
        box = [cells(level=level) <= 4 for level in range(0 if not problem.consistent else last, last + 1)]
        stated = problem.where(*box, zero_or_at_least(cells(level=last), 2))
        leaves = points[:, problem.hierarchy.leaves]
        points = points[((leaves == 0) | (leaves >= 2)).all(axis=(1, 2))]
        choice = chosen(rng, problem, point)
        if choice is not None:
            stated, points = stated.where(choice[0]), within(points, choice[1])
        best, bound = best_integer(stated, points), choices_bound(stated)
        assert bound is None or best is None or bound.value <= best
        assert bound is None or not bound.complete or bound.value == (np.inf if best is None else best)
        if ChoiceTree().supports(stated) is not None:
            continue
        result = ChoiceTree().solve(stated)
        if best is None:
            assert result.status is Status.INFEASIBLE, result
            infeasible += 1
            continue
        assert result.certificate.bound <= best <= result.certificate.objective, (result, stated.conditions.text)
        exact = isinstance(FlowNodes.of(stated), FlowNodes)
        assert result.status is Status.OPTIMAL or not exact, (result, stated.conditions.text)
        solved += result.status is Status.OPTIMAL
    assert solved > 0


@pytest.mark.parametrize("largest", [20, 10**7])
def test_equals_all_combinations_of_alternatives(largest):
    """M_H on three levels, with up to 2^8 combinations, each solved by `TreeProjection`."""
    rng, solved = rng_of(32), 0
    for _ in range(scale(2, 40)):
        leaves = rng.integers(0, largest, (4, 4))
        y = DEEP.sum_up(leaves) + rng.integers(-largest // 3, largest // 3 + 1, (7, 4))
        problem = Problem.of(y, DEEP, groups=int(leaves.sum()), label="M_H", weights=rng.integers(1, 5, 7))
        choices = random_sides(rng, problem, int(rng.integers(3, 6)), largest // 4)
        if int(np.prod([len(sides) for sides in choices])) > 2**8:
            continue
        best, result = by_alternatives(problem, choices), ChoiceTree().solve(stated_with(problem, choices))
        if best is None:
            assert result.status is Status.INFEASIBLE
            continue
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == result.certificate.bound == best
        assert result.certificate.bound_by == ALTERNATIVES
        solved += 1
    assert solved > 0


def test_counts_of_ten_million_to_the_last_digit():
    """Solvers take points for feasible here that are not, by big M, and miss the optimum: tolerances times 10^7."""
    n = 10**7
    tree = Hierarchy.from_paths([("US", "A"), ("US", "B"), ("US", "C")])
    noisy = [[9 * n, 3 * n], [4 * n, n], [3 * n, -2], [2 * n, n]]
    problem = Problem.of(noisy, tree, groups=12 * n, label="M_H")
    first = (cells(("US", "A"), size=0) <= n,), (cells(("US", "B"), size=1) >= 2 * n,)
    others = [((cell == 0,), (cell >= 3 * n // 2,)) for cell in (cells(("US", "C"), size=s) for s in (0, 1))]
    assert by_alternatives(problem, [first, *others]) == 500_000_080_000_004
    stated = problem.where(either(*map(list, first)), zero_or_at_least(cells(("US", "C")), 3 * n // 2))
    result = ChoiceTree().solve(stated)
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == 500_000_080_000_004
    assert choices_bound(stated, upto=500_000_080_000_004).value == 500_000_080_000_004
    wrong = choices_bound(stated, upto=12_100_000_000_000_004)
    assert (wrong.value, wrong.complete) == (500_000_080_000_004, True)
    assert ChoiceTree().solve(replace(stated, norm=1)).certificate.objective == 30_000_002
    relaxed = ChoiceTree().solve(replace(stated, norm=1).relaxed())
    assert (relaxed.status, relaxed.certificate.objective) == (Status.OPTIMAL, 30_000_002.0)


@pytest.mark.parametrize("what", ["totals", "weights of cells"])
def test_totals_and_weights_of_cells(what):
    """Bounds of totals are arcs, too: a leaf's total is 0 or at least 3, no region's is above 7."""
    rng = rng_of(33)
    for problem, _ in random_problems(rng, (View.COUNTS, 2, None, True), scale(5, 100)):
        last, points = problem.hierarchy.n_levels - 1, feasible_points(problem, 4)
        leaves, sums = points[:, problem.hierarchy.leaves], points.sum(axis=2)
        if what == "totals":
            stated = problem.where(cells(level=last) <= 4, zero_or_at_least(total(level=last), 3), total() <= 7)
            leaves, least, kept = leaves.sum(axis=2, keepdims=True), 3, (sums <= 7).all(axis=1)
        else:
            stated = replace(problem, weights=rng.integers(1, 4, problem.target.shape))
            stated = stated.where(cells(level=last) <= 4, zero_or_at_least(cells(level=last), 2))
            least, kept = 2, True
        kept &= ((leaves == 0) | (leaves >= least)).all(axis=(1, 2))
        result = ChoiceTree().solve(stated)
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == best_integer(stated, points[kept])


@pytest.mark.parametrize("nodes", [FlowNodes, MethodNodes])
def test_coefficients_are_divided_away_in_integers(nodes):
    """Three times a cell from 4 on is the cell from 2 on; with other signs and sides alike."""
    rng, ga = rng_of(41), ("US", "GA")
    cell = cells(ga, size=0)
    choices = [
        (either(3 * cell >= 4, cell * -2 >= -1), lambda x: x >= 2 or x <= 0),
        (either(cell * -3 <= -10, 3 * cell <= 2), lambda x: x >= 4 or x <= 0),
        (either(2 * cell == 4, 2 * cell == 3), lambda x: x == 2),
    ]
    for choice, holds in choices:
        for _ in range(scale(4, 20)):
            problem = Problem.of(rng.integers(0, 4, (3, 2)), TREE, groups=7, label="M_H")
            points = feasible_points(problem, 7)
            kept = np.array([point for point in points if holds(point[1, 0])])
            found = best_first(nodes.of(problem.where(choice)), 100, NO_LIMIT)
            assert found.bound == found.best.value == best_integer(problem, kept)


SIGNLESS = [(View.COUNTS, False, True), (View.CUMULATIVE, True, False), (View.COUNTS, True, True)]
"""View, order and consistency of problems whose numbers may be negative."""


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("view", "monotone", "consistent"), SIGNLESS)
def test_numbers_may_be_negative(view, monotone, consistent, norm):
    """All numbers from -3 to 3 in both leaves; without consistency the root takes its own best."""
    rng, solved = rng_of(40), 0
    ga, mi = ("US", "GA"), ("US", "MI")
    for _ in range(scale(3, 20)):
        y = rng.integers(-4, 5, (3, 2))
        problem = Problem.of(y, TREE, view, label="any sign", norm=norm, consistent=consistent)
        problem = replace(problem, nonnegative=False, monotone=monotone)
        box = [cells(level=1) <= 3, cells(level=1) >= -3, cells(level=0) <= 6, cells(level=0) >= -6]
        choice = either(cells(ga, size=0) <= -2, [cells(ga, size=0) >= 2, cells(mi, size=1) >= 1])
        pairs = [pair for pair in product(range(-6, 7), repeat=2) if not monotone or pair[0] <= pair[1]]
        small = [pair for pair in pairs if max(map(abs, pair)) <= 3]
        far = lambda pair, noisy: sum(abs(a - b) ** norm for a, b in zip(pair, noisy.tolist(), strict=True))  # noqa: E731
        alone, found = min(far(pair, y[0]) for pair in pairs), []
        for first, second in product(small, repeat=2):
            if first[0] <= -2 or (first[0] >= 2 and second[1] >= 1):
                above = far((first[0] + second[0], first[1] + second[1]), y[0]) if consistent else alone
                found.append(above + far(first, y[1]) + far(second, y[2]))
        result = ChoiceTree().solve(problem.where(*box, choice))
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == min(found)
        solved += 1
    assert solved


def test_reals_equal_the_best_of_all_alternatives():
    """M_H and M_c in reals; the twin states every alternative of zero_or_at_least in CVXPY."""
    rng, solved = rng_of(36), 0
    for view in (View.COUNTS, View.CUMULATIVE):
        for problem, _ in random_problems(rng, (view, 2, "root", True), scale(2, 12)):
            relaxed, tree = problem.relaxed(), problem.hierarchy
            regions = range(tree.leaves.start, min(tree.leaves.stop, tree.leaves.start + 2))
            stated = relaxed.where(*(zero_or_at_least(cells(tree.paths[r], size=0), 2) for r in regions))
            best = None
            for sides in product((False, True), repeat=len(regions)):
                dense = []
                for r, at_least in zip(regions, sides, strict=True):
                    row = np.zeros(problem.target.shape, np.int64)
                    row[r, 0] = 1
                    dense.append((row, ">=", 2) if at_least else (row, "==", 0))
                value = best_real(problem, dense)
                best = value if best is None else best if value is None else min(best, value)
            result = ChoiceTree().solve(stated)
            assert result.status is Status.OPTIMAL, result
            assert result.certificate.objective == pytest.approx(best, rel=1e-6, abs=1e-5)
            solved += 1
    assert solved > 1


def hard(n, factor=1):
    """A problem whose optimum without choices breaks all n of them, in either direction at about the same cost."""
    tree = Hierarchy.from_paths([("US", f"s{i:02}") for i in range(n)])
    rng = rng_of(37)
    leaves = np.stack([5 * factor + rng.integers(0, 2, n), 40 * factor + rng.integers(-3, 4, n)], axis=1)
    problem = Problem.of(tree.sum_up(leaves), tree, groups=int(leaves.sum()), label="M_H")
    return problem.where(zero_or_at_least(cells(level=1, size=0), 10 * factor))


def test_a_tree_that_is_cut_off_says_its_gap():
    problem = hard(7)
    optimum = ChoiceTree().solve(problem).certificate.objective
    statuses = set()
    for most in (1, 5, 20, 60, 10_000):
        result, bound = ChoiceTree(most).solve(problem), choices_bound(problem)
        statuses.add(result.status)
        assert bound.value == optimum
        if result.status is Status.TIMED_OUT:
            assert "more problems than" in result.reason
            continue
        assert result.certificate.bound <= optimum <= result.certificate.objective
        assert result.status is (Status.OPTIMAL if result.certificate.gap == 0 else Status.FEASIBLE)
        assert ("relative gap" in result.reason) == (result.status is Status.FEASIBLE)
    assert statuses == {Status.TIMED_OUT, Status.FEASIBLE, Status.OPTIMAL}


def test_time_is_a_limit():
    result = ChoiceTree(10**6).solve(hard(14, 10**6), time_limit=0.3)
    assert result.status in (Status.FEASIBLE, Status.TIMED_OUT)
    assert result.seconds.solve < 10


def test_contradictions_are_proved_case_by_case():
    """Every alternative leaves too few groups for the root, which no interval of a cell shows."""
    stated = COUNTS.where(
        cells(("US", "MI")) <= 1,
        either(total(("US", "GA")) <= 5, [total(("US", "GA")) >= 9, total(("US", "MI")) >= 2]),
    )
    result = ChoiceTree().solve(stated)
    assert result.status is Status.INFEASIBLE
    assert "every combination of alternatives contradicts" in result.reason
    assert choices_bound(stated).value == np.inf


def test_m_c_of_three_levels_has_an_honest_gap():
    """No network there: other methods solve cases, in integers with gaps, which the tree hands on."""
    rng = rng_of(38)
    for _ in range(scale(2, 30)):
        leaves = np.cumsum(rng.integers(0, 5, (4, 3)), axis=1)
        y = DEEP.sum_up(leaves) + rng.integers(-5, 6, (7, 3))
        problem = Problem.of(y, DEEP, View.CUMULATIVE, groups=int(leaves[:, -1].sum()), label="M_c")
        stated = problem.where(zero_or_at_least(cells(level=2, size=0), 3))
        assert isinstance(FlowNodes.of(stated), str)
        result = ChoiceTree().solve(stated)
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert result.certificate.feasible
        best = Scipy().solve(stated).certificate.objective
        assert result.certificate.bound <= best <= result.certificate.objective


def test_a_solvers_answer_is_proved_by_the_bound():
    choice = either(total(("US", "GA")) == 7, groups(level=0, size=3) >= 4)
    stated = COUNTS.where(zero_or_at_least(cells(level=1), 2), choice)
    answer = Scipy().solve(stated)
    bound = choices_bound(stated, upto=answer.certificate.objective)
    judged = certify(stated, answer.estimate).with_bound(bound.value, ALTERNATIVES)
    assert judged.optimal
    worse = Scipy().solve(stated.where(cells(("US", "MI"), size=1) >= 4)).estimate
    objective = certify(stated, worse).objective
    assert not certify(stated, worse).with_bound(choices_bound(stated, upto=objective).value, ALTERNATIVES).optimal


def test_bounds_hold_without_rows_that_fit_into_no_flow():
    persons = entities(("US", "GA"))
    stated = COUNTS.where(either(persons == 9, persons >= 14), zero_or_at_least(cells(level=1), 2))
    assert "entities" in ChoiceTree().supports(stated)
    bound, best = choices_bound(stated), Scipy().solve(stated).certificate.objective
    assert not bound.complete
    assert 0 < bound.value <= best
