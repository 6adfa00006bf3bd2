"""The window formulation against enumeration and our exact algorithms, and programs that fall apart."""

import numpy as np
import pytest
from instances import random_tree, rng_of, scale
from naive import problem_of
from scipy.optimize import linprog

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.experiments.benchmarks.agreement import random_problem
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, Scip, Scipy, Squares, gurobi_
from pgsr.models.formulate import formulate
from pgsr.models.parts import parts
from pgsr.models.relaxation import relaxed_optimum
from pgsr.models.window import RADIUS, magnitudes, window
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import total


def solved(handed):
    answer = linprog(
        handed.linear,
        A_ub=handed.order if len(handed.order_right) else None,
        b_ub=handed.order_right if len(handed.order_right) else None,
        A_eq=handed.matrix if len(handed.right) else None,
        b_eq=handed.right if len(handed.right) else None,
        bounds=np.stack([handed.lower, handed.upper], axis=1),
        method="highs-ds",
    )
    assert answer.status == 0
    return answer.fun + handed.constant, answer.x


def cost_of(program, z):
    return program.weight @ np.abs(z) ** program.norm


def random_m_h(rng, max_regions=8):
    tree = random_tree(rng, max_regions=max_regions)
    noisy = rng.integers(-200, 900, (tree.n_regions, int(rng.integers(1, 6))))
    return problem_of(tree, noisy, int(rng.integers(0, 3000)), rng.integers(1, 5, tree.n_regions))


def random_pieces(rng, program, far):
    """Pieces of magnitudes, or of a window somewhere, which has moved by up to so far in half of all cases."""
    if program.norm == 1:
        return magnitudes(program)
    pieces = window(program, None if rng.random() < 0.3 else rng.integers(-30, 30, program.n) + rng.random(program.n))
    moved = rng.integers(-far, far, program.n).clip(program.lower, program.upper)
    return pieces.moved(moved) if rng.random() < 0.5 else pieces


def test_windows_moved_from_either_start_reach_the_integer_optimum():
    """M_H by a sequence of linear programs equals TreeProjection, around relaxed optima at once."""
    rng = rng_of(2)
    for instance in range(scale(16, 500)):
        problem = random_m_h(rng)
        program = formulate(problem)
        near = instance % 2
        pieces, rounds = window(program, relaxed_optimum(problem, program) if near else None), 0
        while True:
            value, v = solved(pieces.columns(False, None))
            rounds += 1
            if not pieces.outside(v):
                break
            pieces = pieces.moved(pieces.cells(v))
        best = TreeProjection().solve(problem).certificate.objective
        assert value == pytest.approx(best, rel=1e-9)
        assert cost_of(program, np.rint(pieces.cells(v))) == best
        assert rounds <= (1 if near else 6)


@pytest.mark.parametrize("name", ["M_H", "M_c", "M_c L1"])
def test_pieces_never_cost_more_and_the_same_within_the_window(name):
    """Any integer point within the bounds, cut into pieces, by the pieces' cost and by that of the program."""
    rng = rng_of(3)
    problem = random_problem(name, rng)
    program = formulate(problem)
    for _ in range(scale(50, 1_000)):
        pieces = random_pieces(rng, program, 20)
        handed = pieces.columns(True, None)
        z = np.clip(rng.integers(-60, 60, program.n), program.lower, program.upper)
        v = pieces.taken(z)
        assert pieces.cells(v) == pytest.approx(z)
        value = handed.linear @ v + handed.constant
        assert value <= cost_of(program, z) + 1e-6
        assert handed.matrix @ v - handed.right == pytest.approx(program.matrix @ z - program.right)
        assert handed.order @ v - handed.order_right == pytest.approx(program.order @ z - program.order_right)
        if not pieces.outside(v):
            assert value == pytest.approx(cost_of(program, z))


@pytest.mark.parametrize("name", ["M_H", "M_c", "M_c L1"])
def test_bends_cost_what_pieces_cost(name):
    """However far a cell is from its window, where windows have moved too; convex, so that Gurobi takes them."""
    rng = rng_of(5)
    for _ in range(scale(10, 300)):
        program = formulate(random_problem(name, rng))
        pieces = random_pieces(rng, program, 2_000)
        columns, bent = pieces.columns(True, None), pieces.bends(True, None)
        z = rng.integers(-60, 60, program.n) * (100 if rng.random() < 0.3 else 1)
        z = np.clip(z, program.lower, program.upper)
        cost = (
            bent.constant + bent.linear @ z + sum(bend_at(bent.bends, j, z[j]) for j in np.unique(bent.bends.unknown))
        )
        assert cost == pytest.approx(columns.linear @ pieces.taken(z) + columns.constant)


def bend_at(bends, unknown, z):
    at, cost = (side[bends.unknown == unknown] for side in (bends.at, bends.cost))
    if len(at) == 1:
        return cost[0]
    slopes = np.diff(cost) / np.diff(at)
    assert (np.diff(at) > 0).all()
    assert (np.diff(slopes) >= 0).all()
    beyond = min(z - at[0], 0) * slopes[0] + max(z - at[-1], 0) * slopes[-1]
    return np.interp(z, at, cost) + beyond


def test_a_window_has_about_six_pieces_per_cell_whatever_the_noise():
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    for large in (1, 10**4, 10**8):
        problem = Problem.of(np.array([[9, 9], [5, 3], [4, 7]]) * large, tree, groups=20 * large)
        program = formulate(problem)
        handed = window(program, relaxed_optimum(problem, program)).columns(False, None)
        assert handed.n <= program.n * (2 * RADIUS + 3)
        assert handed.m == len(program.right) + len(program.order_right)


def test_quadratic_and_window_agree_where_a_solver_takes_both():
    rng = rng_of(7)
    for _ in range(scale(2, 60)):
        problem = random_m_h(rng, max_regions=5)
        best = TreeProjection().solve(problem).certificate.objective
        for make in (Gurobi, Scip, lambda **given: MathOpt("GSCIP", **given)):
            for squares in Squares:
                result = make(squares=squares).solve(problem, 30)
                assert result.status is Status.OPTIMAL, result
                assert result.certificate.objective == best
                assert result.form.startswith("window" if squares is Squares.WINDOW else "quadratic")


def test_programs_fall_apart_into_regions_and_come_together():
    """Parts are the regions that stand alone; joined answers are those of the whole."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.naive(naive_measurement(tree))
    program = formulate(problem)
    handed = window(program, None).columns(False, None)
    ends = [(part.program.n, part.program.m) for part in parts(handed, apart=True)]
    assert sum(n for n, _ in ends) == handed.n
    assert [m for _, m in ends] == [1, 1, 1]
    tied = window(formulate(Problem.m_h(naive_measurement(tree))), None).columns(False, None)
    assert len(list(parts(tied, apart=True))) == 1
    assert len(list(parts(handed, apart=False))) == 1
    whole, apart = Scipy().solve(problem), CpSat().solve(problem)
    assert whole.status is apart.status is Status.OPTIMAL
    assert whole.certificate.objective == apart.certificate.objective


@pytest.mark.parametrize(("name", "instance"), [("H_c L1, bounds", 0), ("H_c L1, bounds", 3), ("H_c L2, bounds", 2)])
def test_rows_of_fixed_cells_alone_are_left_out(name, instance):
    """The order of two fixed cells is a row without unknowns, and where all cells are fixed there are no others."""
    problem = random_problem(name, rng_of(0, instance, *name.encode()))
    for method in (Scipy(), Cvxpy("SCIP"), CpSat(), Gurobi()):
        result = method.solve(problem, 60)
        assert result.status is Status.OPTIMAL, (method, result)


@pytest.mark.parametrize("name", ["naive^r", "M_H^r", "M_c^r, regions", "M_H^r, entities"])
def test_relaxed_squares_are_solved_on_finer_and_finer_grids(name, monkeypatch):
    """As Gurobi solves them where the licence takes no squares; its own limit is 200 unknowns."""
    monkeypatch.setattr(gurobi_, "BUNDLED_QUADRATIC_LIMIT", 0)
    for instance in range(scale(2, 60)):
        problem = random_problem(name, rng_of(0, instance, *name.encode()))
        result, other = Gurobi().solve(problem, 60), Cvxpy("CLARABEL").solve(problem, 60)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-6, abs=1e-6)


def test_relaxed_squares_of_more_than_200_unknowns_fit_the_bundled_licence():
    tree = Hierarchy.from_parents(["US", *"abcdefghijkl"], [-1] + [0] * 12)
    leaves = rng_of(0).integers(0, 50, (12, 21))
    truth = CountOfCounts(tree, np.concatenate([leaves.sum(axis=0)[None], leaves]))
    problem = Problem.m_h(Geometric(View.COUNTS, 1).measure(truth, Seeded("parts"))).relaxed()
    result = Gurobi().solve(problem, 60)
    assert result.status is Status.OPTIMAL, result
    assert result.form.startswith("window, 273 columns")
    assert result.certificate.objective == pytest.approx(Cvxpy("CLARABEL").solve(problem).certificate.objective)


def naive_measurement(tree):
    truth = CountOfCounts(tree, [[4, 9, 2], [1, 5, 1], [3, 4, 1]])
    return Geometric(View.COUNTS, 1).measure(truth, Seeded("window"))


def test_the_form_says_how_the_problem_was_handed_over():
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10, label="M_H").where(total(("US", "GA")) >= 5)
    assert Scipy().solve(problem).form.startswith("window, ")
    assert Cvxpy("CLARABEL").solve(problem).form == "quadratic program, 6 columns"
    assert TreeProjection().solve(Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)).form == ""


def test_costs_that_look_non_convex_are_not_branched_on():
    """On its finest grid Gurobi takes costs of 10^14 for such; the grid before it has the answer, and its bound."""
    truth = census_like(regions="divisions", max_size=5)
    problem = Problem.m_h(Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("bench"))).relaxed()
    found, ours = Gurobi().solve(problem, time_limit=30), TreeProjection().solve(problem)
    assert found.status is Status.OPTIMAL
    assert found.certificate.objective == pytest.approx(ours.certificate.objective, rel=1e-6)


def test_windows_are_laid_by_a_relaxation_without_far_bounds():
    """Whether a cell of a million groups is bounded by 0 makes no difference; a cell near 0 keeps its bound."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1_000_003, 4], [1_000_000, -7], [0, 9]], tree, groups=1_000_008)
    problem = problem.where(total(region=("US", "MI")) >= 3)  # which no algorithm of ours takes
    relaxed = relaxed_optimum(problem, formulate(problem))
    exact = Cvxpy("CLARABEL").solve(problem.relaxed())
    assert relaxed is not None
    changes = np.asarray(exact.estimate.as_counts) - np.array([[1_000_003, 4], [1_000_000, -7], [0, 9]])
    assert relaxed == pytest.approx(changes.ravel(), abs=1e-2)
    assert changes[1, 1] == pytest.approx(7, abs=1e-6)
