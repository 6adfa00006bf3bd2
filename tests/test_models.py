"""Solver models against the specialised algorithm, and their honesty about what they cannot do."""

import subprocess
import sys
from dataclasses import dataclass, replace

import naive
import numpy as np
import pytest
from instances import random_tree, scale

from models import Cvxpy, Flow, Gurobi, MathOpt
from models.availability import solvers
from models.formulate import formulate
from models.gurobi_ import BUNDLED_QUADRATIC_LIMIT
from models.judge import judge_continuous, judge_integer
from pgsr import Geometric, Hierarchy, PgsrError, Problem, Seeded, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.method import Seconds

RELAXING = [Cvxpy("CLARABEL"), Cvxpy("PIQP"), Cvxpy("OSQP", {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000})]


def states_problem(epsilon="1", max_size=10):
    truth = census_like(regions="divisions", max_size=max_size, groups=1_000_000)
    return Problem.m_h(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("models")))


def random_problem(rng, max_regions=20, n_sizes=None):
    tree = random_tree(rng, max_regions=max_regions)
    noisy = rng.integers(-9, 40, (tree.n_regions, n_sizes or int(rng.integers(2, 12))))
    return naive.problem_of(tree, noisy, int(rng.integers(1, 300)))


def test_flow_equals_tree_projection():
    rng = np.random.default_rng(31)
    for _ in range(scale(150, 2_000)):
        problem = random_problem(rng)
        flow, exact = Flow().solve(problem), TreeProjection().solve(problem)
        assert flow.status is Status.OPTIMAL
        assert flow.certificate.objective == exact.certificate.objective


def test_flow_equals_tree_projection_with_weights_and_large_counts():
    rng = np.random.default_rng(32)
    for _ in range(scale(20, 200)):
        problem = random_problem(rng)
        y = problem.target + rng.integers(0, 10**7, problem.target.shape)
        problem = naive.problem_of(problem.hierarchy, y, int(y[0].sum()), rng.integers(1, 6, len(y)))
        assert Flow().solve(problem).certificate.objective == TreeProjection().solve(problem).certificate.objective


@pytest.mark.parametrize("method", [MathOpt("GSCIP"), Gurobi()], ids=repr)
def test_branch_and_bound_equals_tree_projection(method):
    rng = np.random.default_rng(33)
    for _ in range(scale(12, 150)):
        problem = random_problem(rng, max_regions=9, n_sizes=5)
        result = method.solve(problem, time_limit=60)
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == TreeProjection().solve(problem).certificate.objective


@pytest.mark.parametrize("method", [*RELAXING, Gurobi()], ids=repr)
def test_relaxations_agree(method):
    """Independent quadratic solvers and ours, to 1e-6 relative."""
    rng = np.random.default_rng(34)
    for _ in range(scale(15, 100)):
        problem = random_problem(rng, max_regions=12, n_sizes=6).relaxed()
        ours, theirs = TreeProjection().solve(problem), method.solve(problem)
        assert theirs.status is Status.OPTIMAL, theirs
        assert theirs.certificate.objective == pytest.approx(ours.certificate.objective, rel=1e-6, abs=1e-6)


def test_a_relaxed_answer_is_rounded_and_bounded():
    problem = states_problem()
    result = Cvxpy("CLARABEL").solve(problem)
    best = TreeProjection().solve(problem).certificate.objective
    assert result.status is Status.RELAXED
    assert result.certificate.bound <= best
    assert result.certificate.bound >= 0.99 * best
    assert result.certificate.violations["integrality"] == 0
    assert result.certificate.violations["consistency"] > 0, "rounding every cell alone cannot stay consistent here"
    assert result.certificate.gap is None


def test_a_false_solved_is_a_failed_row():
    """OSQP with a loose tolerance says 'solved'; our residuals say otherwise."""
    result = Cvxpy("OSQP", {"eps_abs": 1e-1, "eps_rel": 1e-1}).solve(states_problem("0.1"))
    assert result.status is Status.FAILED
    assert "OSQP says it solved" in result.reason
    with pytest.raises(PgsrError, match="no estimate"):
        _ = result.estimate


def test_answers_that_are_wrong_are_refused():
    problem = states_problem()
    program = formulate(problem)
    duals = np.zeros(program.m)
    wrong = judge_continuous("X", problem, program, np.zeros(program.n), duals, Seconds())
    assert wrong.status is Status.FAILED
    assert judge_continuous("X", problem, program, np.full(program.n, np.nan), duals, Seconds()).status is Status.FAILED
    best = (TreeProjection().solve(problem).estimate.values - problem.target).ravel()
    assert judge_integer("X", problem, program, best, Seconds(), True, None).status is Status.OPTIMAL
    assert judge_integer("X", problem, program, best + 0.3, Seconds(), True, None).status is Status.FAILED
    assert judge_integer("X", problem, program, best + 1, Seconds(), True, None).status is Status.FAILED
    worse = best.reshape(problem.target.shape).copy()
    worse[:, 3] += problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    worse[:, 5] -= problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    refuted = judge_integer("X", problem, program, worse.ravel(), Seconds(), True, None)
    assert refuted.status is Status.FAILED
    assert "refutes" in refuted.reason
    assert judge_integer("X", problem, program, worse.ravel(), Seconds(), False, 1.0).status is Status.FEASIBLE


def test_gurobi_beyond_its_bundled_licence(monkeypatch, tmp_path):
    monkeypatch.delenv("GRB_LICENSE_FILE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    problem = states_problem()
    assert problem.n_unknowns > BUNDLED_QUADRATIC_LIMIT
    result = Gurobi().solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "200" in result.reason
    assert "GRB_LICENSE_FILE" in result.reason


def test_a_licence_file_that_is_none_is_a_sentence(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    result = Gurobi().solve(states_problem())
    assert result.status in (Status.UNLICENSED, Status.TOO_LARGE)
    assert "licence" in result.reason


@pytest.mark.parametrize(
    ("method", "package"),
    [(Cvxpy("CLARABEL"), "cvxpy"), (Gurobi(), "gurobipy"), (MathOpt(), "ortools"), (Flow(), "ortools")],
    ids=repr,
)
def test_a_missing_package_is_a_sentence(method, package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    result = method.solve(random_problem(np.random.default_rng(0)))
    assert result.status is Status.NOT_INSTALLED
    assert f"pip install {package}" in result.reason


@pytest.mark.parametrize("method", [Cvxpy(), Gurobi(), MathOpt(), Flow()], ids=repr)
def test_unsupported_problems_are_sentences(method):
    truth = census_like(regions="divisions", max_size=4, groups=1_000)
    counts = Geometric(View.COUNTS, 1).measure(truth, Seeded(0))
    steps = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(0))
    for problem in (
        Problem.m_c(steps),
        Problem.m_h(counts, totals="regions"),
        Problem.naive(counts),
        Problem.isotonic(steps, norm=1),
        replace(Problem.m_h(counts), norm=1),
    ):
        result = method.solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert len(result.reason) > 20


def test_time_limits_end_in_an_honest_status():
    problem = states_problem("0.1", max_size=30)
    result = MathOpt().solve(problem, time_limit=1)
    assert result.status in (Status.TIMED_OUT, Status.FEASIBLE)
    assert result.seconds.solve < 15


def test_an_infeasible_problem_is_infeasible():
    """No non-negative counts add up to a negative total."""
    problem = naive.problem_of(Hierarchy.from_parents(["a", "b", "c"], [-1, 0, 0]), np.ones((3, 2), int), -1)
    for method in (Cvxpy("CLARABEL"), MathOpt(), Gurobi()):
        assert method.solve(problem).status is Status.INFEASIBLE, method
    assert Flow().solve(problem).status is Status.INFEASIBLE
    assert TreeProjection().solve(problem).status is Status.INFEASIBLE


def test_unknown_solver_names_list_the_known_ones():
    with pytest.raises(PgsrError, match="CLARABEL"):
        Cvxpy("CLARBEL")
    with pytest.raises(PgsrError, match="GSCIP"):
        MathOpt("CP_SAT")


def test_every_solver_is_listed_with_its_state():
    rows = {info.method: info for info in solvers()}
    assert {"Flow()", "Gurobi()", "Cvxpy('CLARABEL')", "MathOpt('GSCIP')"} <= set(rows)
    assert all(info.installed or info.remedy.startswith("pip install") for info in rows.values())


def test_a_new_solver_is_a_value_like_any_other():
    """Anything with `supports` and `solve` takes part; nothing is registered."""
    from pgsr import Method, Result, compare

    @dataclass(frozen=True)
    class Toy:
        def supports(self, problem):
            return None

        def solve(self, problem, time_limit=None):
            return TreeProjection().solve(problem)

    assert isinstance(Toy(), Method)
    problem = random_problem(np.random.default_rng(1))
    table = compare(problem, [Toy()], progress=False)
    assert isinstance(table.rows[0].result, Result)
    assert table.rows[0].status is Status.OPTIMAL


SOLVE_WITH_EACH = """
import {first}, {second}, {third}
import highspy, numpy
import cvxpy
from ortools.math_opt.python import mathopt
x = cvxpy.Variable(); problem = cvxpy.Problem(cvxpy.Minimize((x - 3) ** 2)); problem.solve(solver="CLARABEL")
assert abs(x.value - 3) < 1e-4
problem.solve(solver="HIGHS"); assert abs(x.value - 3) < 1e-4
model = mathopt.Model(); z = model.add_integer_variable(lb=0, ub=9); model.minimize(z * z - 6 * z)
assert abs(mathopt.solve(model, mathopt.SolverType.GSCIP).objective_value() + 9) < 1e-6
highs = highspy.Highs(); highs.silent(); v = highs.addVariable(lb=1); highs.minimize(v)
assert highs.getObjectiveValue() == 1
print("ok")
"""


@pytest.mark.parametrize("order", [("cvxpy", "highspy", "ortools"), ("ortools", "highspy", "cvxpy")], ids="-".join)
def test_solvers_share_one_process(order):
    """Newer HiGHS builds and OR-tools cannot be loaded together; the pinned versions can, in both orders."""
    first, second, third = (name if name != "ortools" else "ortools.linear_solver.pywraplp" for name in order)
    code = SOLVE_WITH_EACH.format(first=first, second=second, third=third)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n")


@pytest.mark.parametrize("method", [Cvxpy(), Gurobi(), MathOpt(), Flow()], ids=repr)
@pytest.mark.parametrize("limit", [-1, 0, float("nan"), float("inf"), "x", True])
def test_malformed_time_limits_are_sentences(method, limit):
    with pytest.raises(PgsrError, match="seconds above 0"):
        method.solve(random_problem(np.random.default_rng(2)), limit)
