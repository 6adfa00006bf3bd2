"""The answers of the door: by whoever takes a problem, and judgements of answers that were made elsewhere."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from condition_checks import chosen, random_conditions
from instances import rng_of, scale

import pgsr
from pgsr import Hierarchy, Problem, Status, View
from pgsr.comparison import overlay
from pgsr.data.estimate import Estimate
from pgsr.errors import ArgumentError
from pgsr.front import solution
from pgsr.front.judgement import Outside
from pgsr.problems.conditions import total

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
NOISY = np.array([[1, 9], [0, 5], [-1, 4]])
PROBLEM = Problem.of(NOISY, TREE, groups=10)
ASKED = PROBLEM.where(total(("US", "MI")) >= 6)
KINDS = [(View.COUNTS, 2), (View.COUNTS, 1), (View.CUMULATIVE, 2)]


COUNTIES = Hierarchy.from_paths(
    [("US", state, name) for state, names in (("GA", "ab"), ("MI", "cde")) for name in names]
)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS, ids=["M_H", "M_H L1", "M_c"])
def test_the_default_answers_and_no_proof_contradicts_another(kind):
    """8 regions, 5 sizes, 1 to 3 conditions, every second time a choice besides: 249 problems where counts are full."""
    (view, norm), proved, instances = kind, 0, scale(4, 83)
    for place in range(instances):
        rng = rng_of(78, KINDS.index(kind), place)
        leaves = rng.poisson(rng.choice([1, 5, 30]), (5, 5))
        point = COUNTIES.sum_up(leaves if view is View.COUNTS else leaves.cumsum(axis=1))
        groups = int(leaves.sum())
        problem = Problem.of(point + rng.integers(-6, 7, point.shape), COUNTIES, view, groups=groups, norm=norm)
        written, _ = random_conditions(rng, problem, point + rng.integers(-2, 3, point.shape), int(rng.integers(1, 4)))
        choice = chosen(rng, problem, point) if rng.random() < 0.5 else None
        asked = problem.where(*written, *(choice[:1] if choice else ()))
        default, *named = (pgsr.solve(asked, name, 60) for name in (None, "highs", "scip", "cp-sat", "gurobi"))
        ends = {each.status for each in (default, *named)}
        assert Status.INFEASIBLE not in ends or ends <= {Status.INFEASIBLE, Status.TIMED_OUT, Status.FAILED}
        assert len({each.certificate.objective for each in (default, *named) if each.status is Status.OPTIMAL}) <= 1
        proved += default.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert proved >= 0.98 * instances


def test_the_result_says_who_answered_and_why_not_ours(monkeypatch):
    result = pgsr.solve(ASKED)
    assert (result.status, result.method) == (Status.OPTIMAL, next(r.name for r in pgsr.solvers(ASKED).ready))
    assert "no exact algorithm of pgsr takes problem with 1 condition as stated" in result.reason
    assert pgsr.solve(PROBLEM).method == "pgsr"
    assert pgsr.solve(ASKED, "scipy").method == "scipy"
    assert pgsr.solve(ASKED, "pgsr").status is Status.UNSUPPORTED
    assert "total(US/MI) >= 60" in pgsr.solve(PROBLEM.where(total(("US", "MI")) >= 60)).reason
    for names in ({"gurobi"}, {"clarabel"}, set()):
        only = [row for row in pgsr.solvers(ASKED).rows if row.name in names]
        monkeypatch.setattr(solution, "in_order", lambda problem, reason_of, only=only: only)
        result = pgsr.solve(ASKED)
        assert result.method in names or "no installed solver answered" in result.reason


def test_solvers_are_asked_in_their_order_until_one_keeps_all_conditions():
    places = [(not row.ours, row.how == "relaxed, rounded") for row in pgsr.solvers(PROBLEM).ready]
    assert places == sorted(places)
    assert pgsr.solvers(PROBLEM)[0] == "pgsr"


WORSE = np.array([[1, 9], [0, 5], [1, 4]])
FRAME = pd.DataFrame(WORSE[[2, 1, 0]], index=["US/MI", "US/GA", "US"])


def test_answers_from_elsewhere_are_judged_and_bounded():
    answers = (WORSE, WORSE.tolist(), WORSE.ravel(), WORSE + 1e-9, FRAME, Estimate(TREE, View.COUNTS, WORSE))
    for answer in answers:
        found = pgsr.certify(PROBLEM, answer)
        assert (found.objective, found.bound, found.feasible) == (4, 2, True)
        judged = Outside(answer, "mine").solve(PROBLEM)
        assert (judged.status, judged.certificate.bound) == (Status.FEASIBLE, 2)


def by_hand(problem: Problem) -> tuple[cp.Problem, object]:
    """The same problem as a student writes it down: in CVXPY with a variable of the table's shape, and in Gurobi."""
    y, last = problem.target, -1 if problem.view is View.CUMULATIVE else slice(None)
    model = pytest.importorskip("gurobipy").Model()
    model.Params.OutputFlag = 0
    kind = "I" if problem.integer else "C"
    for x, rows in ((cp.Variable(y.shape, integer=problem.integer), []), (model.addMVar(y.shape, vtype=kind), None)):
        held = [x >= 0, x[0] == x[1] + x[2], x[0, last].sum() == problem.root_total]
        held += [x[:, 1:] >= x[:, :-1]] if problem.monotone else []
        if rows is None:
            model.addConstrs(held[i] for i in range(len(held)))
            model.setObjective(((x - y) * (x - y)).sum())
        else:
            raw = cp.Problem(cp.Minimize(cp.sum_squares(x - y)), held)
    return raw, model


TRUTH = pgsr.CountOfCounts(TREE, [[0, 90, 40, 9], [0, 80, 30, 11]], "tiny")
COUNTED, SUMMED = (pgsr.measure(TRUTH, view, epsilon=1, seed="demo") for view in ("counts", "cumulative"))
STATED = (Problem.m_h(COUNTED).relaxed(), Problem.m_c(SUMMED).relaxed(), Problem.m_h(COUNTED), Problem.m_c(SUMMED))
MARKED = [pytest.param(each, marks=pytest.mark.slow if each.label == "M_c" else (), id=each.label) for each in STATED]


@pytest.mark.parametrize("problem", MARKED)
def test_what_a_student_solved_alone_is_proved(problem):
    """A model of one's own, its values as an array or a frame, and an estimate: each has a bound, and is optimal."""
    raw, model = by_hand(problem)
    for unsolved in (raw, model):
        with pytest.raises(ArgumentError, match="solve it first"):
            pgsr.certify(problem, unsolved)
    raw.solve(solver="SCIP" if problem.integer else "CLARABEL")
    model.optimize()
    x = raw.variables()[0].value
    frame = pd.DataFrame(x, index=["US", "US/GA", "US/MI"])
    answers = [raw, model, x, frame, Estimate(TREE, problem.view, np.rint(x).astype(int) if problem.integer else x)]
    for answer in answers:
        found = pgsr.certify(problem, answer)
        assert found.bound is not None
        assert found.gap < 1e-6
    if problem.label == "M_c":
        table = pgsr.compare(problem, ["pgsr", *answers], progress=False)
        assert [row.status for row in table.rows] == [Status.OPTIMAL] * 6, table
        assert [row.method for row in table.rows[1:3]] == ["your cvxpy Problem", "your gurobipy Model"]


def test_what_is_no_answer_is_refused_in_words():
    twice = FRAME.set_axis(["US", "US", "US/GA"])
    for answer, words in (
        (twice, "every region once"),
        ("x", "without numbers"),
        (None, "without numbers"),
        (np.ones((2, 2)), "a row per region"),
    ):
        with pytest.raises(pgsr.PgsrError, match=words):
            pgsr.certify(PROBLEM, answer)
    with pytest.raises(ArgumentError, match="0 variables of the model have 6 entries"):
        pgsr.certify(PROBLEM, cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable(3)))))
    broken = pgsr.certify(PROBLEM, WORSE + 1)
    assert not broken.feasible
    assert broken.gap is None


def test_conditions_are_printed_as_they_were_written():
    assert "stated besides: total(US/MI) >= 6" in str(ASKED)
    assert repr(ASKED.conditions) == "Conditions(total(US/MI) >= 6)"
    assert len(str(pgsr.CountOfCounts(TREE, np.ones((2, 5_000), int))).splitlines()[1]) < 120
    assert overlay(released=pgsr.estimate(SUMMED), truth=TRUTH).axes
