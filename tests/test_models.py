"""Solver models against the specialised algorithm, and their honesty about what they cannot do."""

import subprocess
import sys
import time
from dataclasses import dataclass, replace

import naive
import numpy as np
import pytest
from instances import random_tree, scale

from pgsr import CountOfCounts, Geometric, Hierarchy, PgsrError, Problem, Seeded, Status, Totals, View, compare
from pgsr.algorithms import RegionTotalsProjection, TreeProjection
from pgsr.datasets import census_like
from pgsr.models import CpSat, Cvxpy, Flow, Gurobi, MathOpt, Scip, Scipy
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.availability import capabilities, solvers
from pgsr.models.cvxpy_ import SOLVERS
from pgsr.models.formulate import formulate
from pgsr.models.gurobi_ import BUNDLED_QUADRATIC_LIMIT
from pgsr.models.judge import Answer, Claim, judged
from pgsr.models.program import Kind

RELAXING = [Cvxpy("CLARABEL"), Cvxpy("PIQP"), Cvxpy("OSQP")]


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


def test_flow_around_a_continuous_optimum_equals_flow_from_scratch():
    """Every region's total public, larger than the agreement matrix has it; node potentials prove each answer."""
    for max_size in scale([12], [12, 40, 100]):
        truth = census_like(regions="divisions", max_size=max_size, groups=300_000)
        problem = Problem.m_h(Geometric(View.COUNTS, "1/2").measure(truth, Seeded("flow")), totals="regions")
        scratch, around = Flow().solve(problem), Flow(around=RegionTotalsProjection()).solve(problem)
        assert scratch.status is around.status is Status.OPTIMAL, (scratch, around)
        assert scratch.certificate.objective == around.certificate.objective == around.certificate.bound
        assert around.certificate.bound_by == "node potentials"


@pytest.mark.parametrize("method", [MathOpt("GSCIP"), Gurobi(), Scip()], ids=repr)
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


def test_osqp_passes_our_checks_unless_it_keeps_its_own_tolerances():
    steps = noisy_steps(census_like("divisions", 10, 1_000_000))
    problems = [states_problem("0.1"), states_problem(), states_problem(max_size=30), Problem.m_c(steps)]
    for problem in [*problems, Problem.m_c(steps, norm=1), replace(problems[1], totals=Totals.REGIONS)]:
        assert Cvxpy("OSQP").solve(problem.relaxed()).status is Status.OPTIMAL
        own = Cvxpy("OSQP", own_tolerances=True).solve(problem.relaxed())
        assert own.status is Status.FAILED
        assert "tighten its tolerances" in own.reason
        assert own.refused.values.shape == problem.target.shape
    assert eval(repr(Cvxpy("OSQP", own_tolerances=True))) == Cvxpy("OSQP", own_tolerances=True)


def test_answers_that_are_wrong_are_refused():
    problem = states_problem()
    program, relaxed = formulate(problem), formulate(problem.relaxed())
    duals = np.zeros(len(program.right))

    def judgement(z, claim=Claim.OPTIMAL, bound=None):
        return judged("X", problem, program, Answer(claim, "", z, bound=bound))

    def relaxed_judgement(z):
        return judged("X", problem, relaxed, Answer(Claim.OPTIMAL, "", z, duals, np.zeros(0)))

    assert relaxed_judgement(np.zeros(program.n)).status is Status.FAILED
    assert relaxed_judgement(np.full(program.n, np.nan)).status is Status.FAILED
    best = (TreeProjection().solve(problem).estimate.values - problem.target).ravel()
    assert judgement(best).status is Status.OPTIMAL
    assert judgement(best + 0.3).status is Status.FAILED
    assert judgement(best + 1).status is Status.FAILED
    worse = best.reshape(problem.target.shape).copy()
    worse[:, 3] += problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    worse[:, 5] -= problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    refuted = judgement(worse.ravel())
    assert refuted.status is Status.FAILED
    assert "refutes" in refuted.reason
    assert judgement(worse.ravel(), Claim.STOPPED, 1.0).status is Status.FEASIBLE
    assert judgement(best, Claim.STOPPED).status is Status.OPTIMAL, "our own test proves it"
    assert judgement(None, Claim.STOPPED).status is Status.TIMED_OUT
    assert judgement(None, Claim.FAILED).status is Status.FAILED
    assert judgement(None, Claim.INFEASIBLE).status is Status.FAILED, "it is never so here"


def test_an_optimum_on_a_solvers_word_is_held_against_our_bound():
    """M_c in integers has no exact test: a claim needs a bound, and one above its own answer is a contradiction."""
    problem = Problem.m_c(Geometric(View.CUMULATIVE, 1).measure(census_like("divisions", 4, 1_000), Seeded(3)))
    program = formulate(problem)
    right = Scipy().solve(problem)
    assert right.status is Status.OPTIMAL
    assert "word" in right.reason
    z = (right.estimate.values - problem.target).ravel()
    judgement = lambda bound: judged("X", problem, program, Answer(Claim.OPTIMAL, "", z, bound=bound)).status  # noqa: E731
    objective = right.certificate.objective
    assert judgement(objective) is Status.OPTIMAL
    assert judgement(None) is Status.FEASIBLE
    assert judgement(0.9 * objective) is Status.FEASIBLE
    assert judgement(2 * objective) is Status.FAILED


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
    [
        (Cvxpy("CLARABEL"), "cvxpy"),
        (Gurobi(), "gurobipy"),
        (MathOpt(), "ortools"),
        (CpSat(), "ortools"),
        (Scip(), "pyscipopt"),
        (Flow(), "ortools"),
    ],
    ids=repr,
)
def test_a_missing_package_is_a_sentence(method, package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    result = method.solve(random_problem(np.random.default_rng(0)))
    assert result.status is Status.NOT_INSTALLED
    assert f"pip install {package}" in result.reason


def test_unsupported_problems_are_sentences():
    truth = census_like(regions="divisions", max_size=4, groups=1_000)
    counts, steps, sizes = (Geometric(view, 1).measure(truth, Seeded(0)) for view in View)
    for method, problem in (
        (Flow(), Problem.m_c(steps)),
        (Flow(), Problem.m_h(counts).relaxed()),
        (Flow(around=TreeProjection()), Problem.m_h(counts, totals="regions")),
        (Scipy(), Problem.m_h(counts).relaxed()),
        (MathOpt("GSCIP"), Problem.mean_consistency(counts)),
        (CpSat(), Problem.isotonic(steps).relaxed()),
        (Cvxpy(), Problem.isotonic(sizes).relaxed()),
    ):
        result = method.solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert len(result.reason) > 20


@pytest.mark.slow
def test_time_limits_end_in_an_honest_status():
    problem = states_problem("0.1", max_size=30)
    for method in (MathOpt("GSCIP"), Scip(), CpSat(), Scipy()):
        start = time.perf_counter()
        result = method.solve(problem, time_limit=1)
        assert result.status in (Status.TIMED_OUT, Status.FEASIBLE, Status.OPTIMAL), method
        assert time.perf_counter() - start < 15, method


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
    assert "CLARABEL" in SOLVERS


def test_every_solver_is_listed_with_its_state():
    rows = {repr(info.method): info for info in solvers()}
    assert {"Flow()", "Gurobi()", "CpSat()", "Scip()", "Cvxpy('CLARABEL')", "MathOpt('GSCIP')"} <= set(rows)
    assert all(info.installed or info.remedy.startswith("pip install") for info in rows.values())


@dataclass(frozen=True)
class DenseLeastSquares(SolverModel):
    """A toy: equality-constrained least squares by a dense KKT system. This is all it takes to add a solver."""

    off_by: float = 0.0

    @property
    def takes(self):
        return frozenset({Kind.QP})

    def unavailable(self):
        return None

    def too_large(self, program):
        bounded = np.isfinite(program.lower).any() or len(program.order_right)
        return "inequalities are beyond this toy" if bounded else None

    def run(self, program, time_limit):
        start = time.perf_counter()
        rows = program.matrix.toarray()
        kkt = np.block([[np.diag(2 * program.quadratic), rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        solution = np.linalg.solve(kkt, np.concatenate([-program.linear, program.right]))
        values, duals = solution[: program.n] + self.off_by, solution[program.n :]
        return Run(Answer(Claim.OPTIMAL, "", values, duals, np.zeros(0)), 0.0, time.perf_counter() - start)


def test_a_new_solver_is_one_subclass():
    """Nothing is registered; statuses, limits, rounding and honesty come with the base class."""
    truth = census_like(regions="divisions", max_size=4, groups=1_000)
    noisy = Geometric(View.COUNTS, 1).measure(truth, Seeded(0))
    problem = Problem.mean_consistency(noisy)
    table = compare(problem, [DenseLeastSquares(), Cvxpy(), DenseLeastSquares(off_by=0.1)], progress=False)
    statuses = [row.status for row in table.rows]
    assert statuses == [Status.OPTIMAL, Status.OPTIMAL, Status.FAILED], table
    objectives = [row.result.certificate.objective for row in table.rows[:2]]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
    assert DenseLeastSquares().solve(Problem.m_h(noisy)).status is Status.TOO_LARGE
    assert DenseLeastSquares().solve(Problem.m_c(noisy_steps(truth), norm=1)).status is Status.UNSUPPORTED


def noisy_steps(truth):
    return Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(0))


@pytest.mark.parametrize("method", [Cvxpy("CLARABEL"), Cvxpy("PIQP"), Cvxpy("HIGHS"), MathOpt("PDLP")], ids=repr)
@pytest.mark.parametrize("kind", ["M_H", "M_H, regions", "M_c", "M_c L1"])
def test_counts_of_1e8_are_no_harder(method, kind):
    """Programs are centred on the noisy values, so tolerances are relative to the noise, not to the counts."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng, max_regions=9, n_levels=3)
    leaves = rng.integers(10**7, 10**8, (tree.n_regions - tree.n_inner, 6))
    from pgsr import CountOfCounts

    view = View.CUMULATIVE if "M_c" in kind else View.COUNTS
    noisy = Geometric(view, "1/2").measure(CountOfCounts(tree, leaves), Seeded(kind))
    problem = {
        "M_H": lambda: Problem.m_h(noisy),
        "M_H, regions": lambda: Problem.m_h(noisy, totals="regions"),
        "M_c": lambda: Problem.m_c(noisy),
        "M_c L1": lambda: Problem.m_c(noisy, norm=1),
    }[kind]().relaxed()
    if method.supports(problem) is not None:
        pytest.skip(method.supports(problem))
    result = method.solve(problem, time_limit=60)
    assert result.status is Status.OPTIMAL, result
    assert result.residuals.primal <= 1e-6
    assert abs(result.residuals.gap) <= 1e-6


def test_who_solves_what():
    noisy = Geometric(View.COUNTS, 1).measure(census_like("divisions", 4, 1_000), Seeded(0))
    problem = Problem.m_h(noisy)
    found = capabilities([problem, problem.relaxed()], [Flow(), Scipy(), Cvxpy(), Gurobi()])
    assert found == {
        "Flow()": {"M_H, root": "exact", "M_H^r, root": ""},
        "Scipy()": {"M_H, root": "steps", "M_H^r, root": ""},
        "Cvxpy('CLARABEL')": {"M_H, root": "rounded", "M_H^r, root": "exact"},
        "Gurobi()": {"M_H, root": "exact", "M_H^r, root": "exact"},
    }


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


@pytest.mark.slow
@pytest.mark.parametrize("order", [("cvxpy", "highspy", "ortools"), ("ortools", "highspy", "cvxpy")], ids="-".join)
def test_solvers_share_one_process(order):
    """Newer HiGHS builds and OR-tools cannot be loaded together; the pinned versions can, in both orders."""
    first, second, third = (name if name != "ortools" else "ortools.linear_solver.pywraplp" for name in order)
    code = SOLVE_WITH_EACH.format(first=first, second=second, third=third)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n")


@pytest.mark.parametrize("method", [Cvxpy(), Gurobi(), MathOpt(), Flow(), Scipy(), CpSat(), Scip()], ids=repr)
@pytest.mark.parametrize("limit", [-1, 0, float("nan"), float("inf"), "x", True])
def test_malformed_time_limits_are_sentences(method, limit):
    with pytest.raises(PgsrError, match="seconds above 0"):
        method.solve(random_problem(np.random.default_rng(2)), limit)


@dataclass(frozen=True)
class Broken(SolverModel):
    """Answers in every wrong way."""

    how: str

    @property
    def takes(self):
        return frozenset(Kind)

    def unavailable(self):
        return None

    def __repr__(self):
        return f"Broken({self.how!r})"

    def run(self, program, time_limit):
        if self.how == "raises":
            raise KeyError("inside")
        if self.how == "short":
            return Run(Answer(Claim.OPTIMAL, "", np.zeros(2)), 0.0, 0.0)
        if self.how == "silent":
            return Run(Answer(Claim.OPTIMAL, "", np.zeros(program.n)), 0.0, 0.0)
        return Run(Answer(Claim.INFEASIBLE), 0.0, 0.0)


@pytest.mark.parametrize(
    ("how", "reason"),
    [("raises", "KeyError"), ("short", "instead of"), ("infeasible", "not so"), ("silent", "duals|residual|violates")],
)
def test_whatever_a_solver_does_is_a_status(how, reason):
    problem = states_problem()
    for stated in (problem, problem.relaxed()):
        result = Broken(how).solve(stated)
        assert result.status is Status.FAILED, result
        assert how == "silent" or len(result.reason) > 20
    assert __import__("re").search(reason, result.reason)
    assert compare(problem, [Broken(how)], progress=False).rows[0].status is Status.FAILED


@pytest.mark.parametrize("epsilon", ["1/1000", "1/10000"])
@pytest.mark.parametrize("method", [Cvxpy("CLARABEL"), Cvxpy("PIQP"), MathOpt("PDLP")], ids=repr)
def test_noise_of_any_size_is_no_harder(method, epsilon):
    """Programs are divided by the size of the noise; without it CLARABEL calls these infeasible.

    (HiGHS' quadratic solver ends here with an error of its own, which is a FAILED row.)
    """
    problem = states_problem(epsilon, max_size=30).relaxed()
    result, best = method.solve(problem, time_limit=60), TreeProjection().solve(problem).certificate.objective
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.feasible
    assert result.certificate.objective == pytest.approx(best, rel=1e-6)


def test_a_time_limit_below_any_solver_is_a_status():
    problem = states_problem(max_size=30)
    for method in (Scipy(), CpSat(), MathOpt("HIGHS"), MathOpt("GLOP"), Cvxpy("SCIPY"), Flow(), Scip(), Gurobi()):
        result = method.solve(problem, 0.001)
        assert isinstance(result.status, Status)
    steps = Problem.m_c(noisy_steps(census_like("divisions", 60, 1_000_000)), norm=1).relaxed()
    for name in ("GLOP", "PDLP"):
        assert MathOpt(name).solve(steps, 0.02).status in (Status.TIMED_OUT, Status.FAILED)


def test_wrong_options_are_a_status_or_a_sentence():
    problem = states_problem().relaxed()
    for solver in ("CLARABEL", "PIQP", "SCS", "OSQP"):
        assert Cvxpy(solver, {"no_such_option": 1}).solve(problem).status is Status.FAILED
    wrongs = [lambda: Cvxpy("CLARABEL", None), lambda: Gurobi(threads=-5), lambda: Gurobi(threads="a")]
    wrongs += [lambda: CpSat(threads=0), lambda: CpSat(threads=True), lambda: CpSat(threads="a")]
    for wrong in wrongs:
        with pytest.raises(PgsrError):
            wrong()
    assert len({hash(Cvxpy()), hash(Cvxpy("OSQP", TIGHT))}) == 2


def test_cp_sat_searches_on_one_thread_unless_told(monkeypatch):
    """Threads race each other, and which of many optima comes first is then left to chance."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    used, solve = [], cp_model.CpSolver.solve

    def record(solver, model):
        used.append(solver.parameters.num_workers)
        return solve(solver, model)

    monkeypatch.setattr(cp_model.CpSolver, "solve", record)
    truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 2, 1], [0, 1, 1]])
    problem = Problem.m_h(Geometric(View.COUNTS, 1).measure(truth, Seeded("threads")))
    for method, threads in ((CpSat(), 1), (CpSat(threads=2), 2)):
        used.clear()
        assert method.solve(problem).status is Status.OPTIMAL
        assert set(used) == {threads}  # squares are refined, so there are several searches


TIGHT = {"eps_abs": 1e-9}


def test_a_licence_that_is_none_is_said_by_cvxpy_too(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    problem = random_problem(np.random.default_rng(0), max_regions=5, n_sizes=3).relaxed()
    # In a process of its own: gurobipy keeps the licence that it found first.
    row = compare(problem, [Cvxpy("GUROBI")], progress=False).rows[0]
    assert row.status is Status.UNLICENSED, row.reason


def test_cvxpy_with_gurobi_and_weights_stays_below_its_limit():
    rng = np.random.default_rng(4)
    tree = random_tree(rng, max_regions=20)
    noisy = rng.integers(-9, 40, (tree.n_regions, 7))
    problem = naive.problem_of(tree, noisy, 99, rng.integers(1, 6, tree.n_regions)).relaxed()
    assert problem.n_unknowns <= BUNDLED_QUADRATIC_LIMIT
    assert Cvxpy("GUROBI").solve(problem).status is Status.OPTIMAL


def test_counts_beyond_exact_arithmetic_are_too_large():
    tree = Hierarchy.from_parents(["a", "b", "c"], [-1, 0, 0])
    problem = naive.problem_of(tree, np.full((3, 2), 10**7), 10, np.full(3, 2**40))
    for method in (Scipy(), Gurobi(), Flow(), Cvxpy(), MathOpt()):
        assert method.solve(problem).status is Status.TOO_LARGE, method


def test_cpsat_reaches_every_optimum():
    """Its finite bounds must hold an optimum whatever is stated: signs free, weights 0, totals of some regions only."""
    from dataclasses import replace

    from pgsr import Totals

    rng = np.random.default_rng(6)
    for _ in range(scale(60, 600)):
        tree = random_tree(rng, max_regions=5)
        y = rng.integers(-5, 6, (tree.n_regions, int(rng.integers(1, 4))))
        weights = rng.integers(0, 4, tree.n_regions)
        weights[tree.leaves] += 1
        measurement = naive.measurement_of(
            tree, y, int(rng.integers(0, 4)), view := rng.choice([View.COUNTS, View.CUMULATIVE])
        )
        totals = rng.choice([None, Totals.ROOT])
        problem = Problem.about(
            measurement, "any", totals, norm=int(rng.integers(1, 3)), nonnegative=bool(rng.random() < 0.5),
            monotone=view is View.CUMULATIVE and bool(rng.random() < 0.7), weights=weights,
        )  # fmt: skip
        ours, theirs = CpSat().solve(problem), Scipy().solve(problem)
        assert ours.status is theirs.status is Status.OPTIMAL, (problem, ours, theirs)
        assert ours.certificate.objective == theirs.certificate.objective
    totals = replace(naive.measurement_of(tree := Hierarchy.from_parents(["a", "b", "c"], [-1, 0, 0]),
                                          np.array([[1, 1], [0, 2], [3, 4]]), 3),
                     public=Totals.REGIONS, totals=np.array([3, 2, 9]))  # fmt: skip
    assert CpSat().solve(Problem.naive(totals)).certificate.objective == 3
