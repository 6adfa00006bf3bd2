"""The solver models against the specialised algorithm, and their honesty about answers that are not optimal."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale
from model_problems import noisy_steps, random_problem, states_problem

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.models import CpSat, Cvxpy, Direct, MathOpt, Scipy
from pgsr.models.formulate import formulate
from pgsr.models.judge import SolverAnswer, SolverClaim, judged
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.problems.conditions import entities


def test_a_rounded_answer_is_optimal_where_a_certificate_proves_it_and_nowhere_else():
    rng, statuses = rng_of(35), []
    for _ in range(scale(20, 400)):
        problem = random_problem(rng, max_regions=4, n_sizes=3)
        result = Cvxpy("CLARABEL").solve(problem)
        known = result.certificate
        best = TreeProjection().solve(problem).certificate.objective
        assert 0.5 * best - 9 <= known.bound <= best
        assert known.violations["integrality"] == 0
        proved = not any(known.violations.values()) and known.objective == best
        assert result.status is (Status.OPTIMAL if proved else Status.RELAXED)
        assert known.gap == (0 if proved else None)
        statuses.append(result.status)
    assert {Status.OPTIMAL, Status.RELAXED} == set(statuses)


def test_a_false_solved_is_a_failed_row():
    """OSQP with a loose tolerance says 'solved'; our residuals say otherwise."""
    result = Direct("OSQP", options={"eps_abs": 1e-1, "eps_rel": 1e-1}).solve(states_problem("0.1"))
    assert result.status is Status.FAILED
    assert "OSQP says it solved" in result.reason
    assert result.refused.values.shape == states_problem().target.shape
    with pytest.raises(PgsrError, match="no estimate"):
        _ = result.estimate


def test_osqp_passes_our_checks_unless_it_has_the_tolerances_of_cvxpy():
    steps = noisy_steps(census_like("divisions", 10, 1_000_000))
    problems = states_problem("0.1"), Problem.m_c(steps), Problem.m_c(steps, norm=1)
    for stated in problems:
        assert Direct("OSQP").solve(stated.relaxed()).status is Status.OPTIMAL
    loose = Direct("OSQP", options={"eps_abs": 1e-5, "eps_rel": 1e-5}).solve(problems[-1].relaxed())
    assert loose.status is Status.FAILED
    assert "tighten its tolerances" in loose.reason


def test_answers_that_are_wrong_are_refused():
    problem = states_problem()
    program, relaxed = formulate(problem), formulate(problem.relaxed())
    duals = np.zeros(len(program.right))

    def judgement(z, claim=SolverClaim.OPTIMAL, bound=None):
        return judged("X", problem, program, SolverAnswer(claim, "", z, bound=bound))

    def relaxed_judgement(z):
        return judged("X", problem, relaxed, SolverAnswer(SolverClaim.OPTIMAL, "", z, duals, np.zeros(0)))

    assert relaxed_judgement(np.zeros(program.n)).status is Status.FAILED
    assert relaxed_judgement(np.full(program.n, np.nan)).status is Status.FAILED
    best = (TreeProjection().solve(problem).estimate.values - problem.target).ravel()
    assert judgement(best).status is Status.OPTIMAL
    assert judgement(best + 0.3).status is Status.FAILED
    assert judgement(best + 1).status is Status.FAILED
    assert judgement(best + 1).claimed == judgement(best + 0.3).claimed == "optimal, by X"
    worse = best.reshape(problem.target.shape).copy()
    worse[:, 3] += problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    worse[:, 5] -= problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])
    refuted = judgement(worse.ravel())
    assert refuted.status is Status.FAILED
    assert "refutes" in refuted.reason
    assert refuted.claimed == judgement(best).claimed != ""
    assert judgement(worse.ravel(), SolverClaim.STOPPED, 1.0).status is Status.FEASIBLE
    assert judgement(best, SolverClaim.STOPPED).status is Status.OPTIMAL, "our own test proves it"
    assert judgement(None, SolverClaim.STOPPED).status is Status.TIMED_OUT
    assert judgement(None, SolverClaim.FAILED).status is Status.FAILED
    assert judgement(None, SolverClaim.INFEASIBLE).status is Status.FAILED, "it is never so here"


def test_a_solvers_word_is_no_proof():
    """M_c in integers has no exact test: OPTIMAL stands on a bound of ours, and a claim of the solver stays a claim."""
    problem = Problem.m_c(Geometric(View.CUMULATIVE, 1).measure(census_like("divisions", 4, 1_000), Seeded(3)))
    program = formulate(problem)
    right = Scipy().solve(problem)
    assert right.status is Status.OPTIMAL
    assert right.certificate.bound == right.certificate.objective
    assert right.certificate.bound_by == "Lagrangian bound"
    best = (right.estimate.values - problem.target).ravel()
    worse = best.reshape(problem.target.shape).copy()
    worse[:, 1] += problem.hierarchy.sum_up(np.eye(51, dtype=int)[0])  # a group of one leaf is smaller than it was
    judgement = lambda z, bound: judged("X", problem, program, SolverAnswer(SolverClaim.OPTIMAL, "", z, bound=bound))  # noqa: E731
    for bound in (right.certificate.objective, None, 0.9 * right.certificate.objective):
        assert judgement(best, bound).status is Status.OPTIMAL, "prices of our own prove it, whatever the solver says"
        wrong = judgement(worse.ravel(), bound)
        assert wrong.status is Status.FAILED, "a better point refutes it"
        assert "but a point of objective 1,813 is feasible" in wrong.reason
    stopped = judged("X", problem, program, SolverAnswer(SolverClaim.STOPPED, "", worse.ravel(), bound=5.5), 1.0)
    assert stopped.status is Status.FEASIBLE
    assert stopped.claimed == "no answer is below 5.5, by X"
    assert stopped.certificate.bound == right.certificate.objective < stopped.certificate.objective


@pytest.mark.parametrize("claim", [SolverClaim.OPTIMAL, SolverClaim.STOPPED])
def test_ranked_sizes_out_of_bounds_or_order_are_violations(claim):
    """They were clipped and sorted before they were judged, so that no answer of ranked sizes was infeasible."""
    truth = CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 1, 2, 1]])
    problem = Problem.isotonic(Geometric(View.RANKED, "1/10").measure(truth, Seeded("ranked")))
    program = formulate(problem)

    def judge(sizes):
        return judged("X", problem, program, SolverAnswer(claim, "", np.array(sizes, float) - program.origin))

    for sizes, kind in (([1, 2, 2, 4], "totals"), ([-1, 2, 2, 3], "totals"), ([2, 1, 2, 3], "monotone")):
        result = judge(sizes)
        assert result.status is Status.FAILED
        assert "infeasible" in result.reason
        assert {name: n for name, n in result.certificate.violations.items() if n} == {kind: 1}
    assert judge([1, 2, 2, 3]).certificate.feasible


@pytest.mark.parametrize("method", [Direct("CLARABEL"), Direct("PIQP"), Direct("HIGHS"), MathOpt("PDLP")], ids=repr)
def test_counts_of_1e8_are_no_harder(method):
    """Programs are centred on the noisy values, so tolerances are relative to the noise, not to the counts."""
    rng = rng_of(5)
    tree = random_tree(rng, max_regions=9, n_levels=3)
    truth = CountOfCounts(tree, rng.integers(10**7, 10**8, (tree.n_regions - tree.n_inner, 6)))
    counts, steps = (Geometric(view, "1/2").measure(truth, Seeded("M_c L1")) for view in (View.COUNTS, View.CUMULATIVE))
    for problem in (Problem.m_h(counts, totals="regions"), Problem.m_c(steps), Problem.m_c(steps, norm=1)):
        if method.supports(problem.relaxed()) is None:
            result = method.solve(problem.relaxed(), time_limit=60)
            assert result.status is Status.OPTIMAL, result
            assert result.residuals.primal <= 1e-6
            assert abs(result.residuals.gap) <= 1e-6


@pytest.mark.parametrize("method", [Direct("CLARABEL"), Direct("PIQP"), MathOpt("PDLP")], ids=repr)
def test_noise_of_any_size_is_no_harder(method):
    """Programs are divided by the size of the noise; without it CLARABEL calls these infeasible.

    (HiGHS' quadratic solver ends here with an error of its own, which is a FAILED row.)
    """
    problem = states_problem("1/10000").relaxed()
    result, best = method.solve(problem, time_limit=60), TreeProjection().solve(problem).certificate.objective
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.feasible
    assert result.certificate.objective == pytest.approx(best, rel=1e-6)


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


def test_cpsat_reaches_every_optimum():
    """Its finite bounds must hold an optimum whatever is stated: signs free, weights 0, totals of some regions only."""
    rng = rng_of(6)
    for _ in range(scale(25, 600)):
        tree = random_tree(rng, max_regions=5)
        y = rng.integers(-5, 6, (tree.n_regions, int(rng.integers(1, 4))))
        weights = rng.integers(0, 4, tree.n_regions)
        weights[tree.leaves] += 1
        measurement = naive.measurement_of(
            tree, y, int(rng.integers(0, 4)), view := rng.choice([View.COUNTS, View.CUMULATIVE])
        )
        totals = rng.choice([None, Totals.ROOT])
        problem = Problem.about(
            measurement, "any", totals=totals, norm=int(rng.integers(1, 3)), nonnegative=bool(rng.random() < 0.5),
            monotone=view is View.CUMULATIVE and bool(rng.random() < 0.7), weights=weights,
        )  # fmt: skip
        ours, theirs = CpSat().solve(problem), Scipy().solve(problem)
        assert ours.status is theirs.status is Status.OPTIMAL, (problem, ours, theirs)
        assert ours.certificate.objective == theirs.certificate.objective
    totals = replace(naive.measurement_of(tree := Hierarchy.from_parents(["a", "b", "c"], [-1, 0, 0]),
                                          np.array([[1, 1], [0, 2], [3, 4]]), 3),
                     public=Totals.REGIONS, totals=np.array([3, 2, 9]))  # fmt: skip
    assert CpSat().solve(Problem.naive(totals)).certificate.objective == 3


def test_cpsat_reaches_optima_of_free_signs_with_entities_and_of_ordered_counts():
    tree = Hierarchy.from_parents(["a", "b", "c"], [-1, 0, 0])
    y = np.array([[5, -10, 5], [3, -6, 3], [2, -4, 2]])  # no groups and no entities in any region: feasible as it is
    signed = [replace(Problem.of(y, tree, groups=0, norm=norm), nonnegative=False) for norm in (1, 2)]
    asked = [problem.where(entities(level=0) == 0) for problem in signed]
    asked += [replace(Problem.of([[9, 0], [9, 0], [0, 0]], tree, groups=9), monotone=True)]
    for problem, best in zip(asked, (0, 0, 92), strict=True):
        ours, theirs = CpSat().solve(problem), Scipy().solve(problem)
        for found in (ours, theirs):
            assert found.status is Status.OPTIMAL, found  # the last one by a search of ours
            assert found.claimed.startswith("optimal, by ")
            assert found.certificate.objective == best


def test_highs_through_cvxpy_without_a_point_has_no_answer(monkeypatch):
    """Stopped before it has a point, HiGHS hands on zeros, which are none of its answers."""
    from pgsr.models import cvxpy_program
    from pgsr.models.cvxpy_program import has_point

    monkeypatch.setattr(cvxpy_program, "has_point", lambda solver, found: False)
    problem = random_problem(rng_of(3))
    result = Cvxpy("HIGHS").solve(problem, 20)
    assert result.status in (Status.FAILED, Status.TIMED_OUT)
    assert "no answer" in result.reason

    class Info:
        primal_solution_status = 0

    assert not has_point("HIGHS", Info)
    assert has_point("SCIP", {})


@pytest.mark.parametrize(
    ("solver", "options"),
    [("GUROBI", {"TimeLimit": 0.0}), ("HIGHS", {"time_limit": 0.0}), ("SCIP", {"scip_params": {"limits/time": 0.0}})],
)
def test_a_limit_before_any_point_is_a_time_out_through_cvxpy(solver, options, monkeypatch):
    """CVXPY calls it infeasible of Gurobi and an error of SCIP, and hands on zeros of HiGHS."""
    monkeypatch.setattr("pgsr.models.cvxpy_program.out_of_time", lambda spent, limit: True)
    rng = rng_of(0)
    tree = Hierarchy.from_parents(["US", *(f"r{i}" for i in range(12))], [-1] + [0] * 12)
    truth = tree.sum_up(rng.integers(0, 30, (12, 8)))
    problem = Problem.of(truth + rng.integers(-5, 5, truth.shape), tree, groups=truth.sum(axis=1), norm=1)
    problem = problem.where(entities() == truth @ np.arange(8))
    method = Cvxpy(solver, options=options)
    for result in (method.solve(problem, 60), method.model(problem).solve(problem, 60)):
        assert result.status is Status.TIMED_OUT, result
        assert "no answer at the time limit" in result.reason


def test_options_of_scip_leave_the_time_limit_in_place():
    stated = Cvxpy("SCIP", options={"scip_params": {"presolving/maxrounds": 0}})
    assert stated.solver_options(7, True) == {
        "scip_params": {"limits/time": 7, "limits/gap": 0.0, "presolving/maxrounds": 0}
    }
