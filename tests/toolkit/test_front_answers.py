"""The answers of the door: by whoever takes a problem, and judgements of answers that were made elsewhere."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from condition_checks import (
    best_integer,
    chosen,
    feasible_points,
    random_conditions,
    random_problems,
    satisfying,
    within,
)
from instances import rng_of, scale

import pgsr
from pgsr import Hierarchy, Problem, Status, View
from pgsr.comparison import overlay
from pgsr.data.estimate import Estimate
from pgsr.errors import ArgumentError
from pgsr.front import solving
from pgsr.front.taking import SolverTable
from pgsr.noise import Totals
from pgsr.problems.conditions import total

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
NOISY = np.array([[1, 9], [0, 5], [-1, 4]])
PROBLEM = Problem.of(NOISY, TREE, groups=10)
ASKED = PROBLEM.where(total(("US", "MI")) >= 6)
KINDS = [(view, norm, Totals.ROOT, True) for view, norm in ((View.COUNTS, 2), (View.COUNTS, 1), (View.CUMULATIVE, 2))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=["M_H", "M_H L1", "M_c"])
def test_the_default_proves_optima_under_conditions(kind):
    """Whatever is stated, the default finds the least objective of all integer points, or says that there is none."""
    rng, proved, instances = rng_of(78, KINDS.index(kind)), 0, scale(8, 83)
    for problem, point in random_problems(rng, kind, instances):
        conditions, dense = random_conditions(rng, problem, point, int(rng.integers(1, 4)))
        points, asked = satisfying(feasible_points(problem, 2), dense), problem.where(*conditions)
        if rng.random() < 0.5:
            choice, twins = chosen(rng, problem, point)
            points, asked = within(points, twins), asked.where(choice)
        result, least = pgsr.solve(asked), best_integer(problem, points)
        assert least is None or result.status is not Status.INFEASIBLE
        if least is not None and result.status is Status.OPTIMAL:
            assert result.certificate.objective <= least
        proved += result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert proved >= 0.98 * instances


def test_the_result_says_who_answered_and_why_not_ours(monkeypatch):
    result = pgsr.solve(ASKED)
    assert (result.status, result.method) == (Status.OPTIMAL, next(r.name for r in pgsr.solvers(ASKED).ready))
    assert "no exact algorithm of pgsr takes problem with 1 condition as stated" in result.reason
    assert pgsr.solve(PROBLEM).method == "pgsr"
    assert pgsr.solve(ASKED, "scipy").method == "scipy"
    assert pgsr.solve(ASKED, "pgsr").status is Status.UNSUPPORTED
    assert "total(US/MI) >= 60" in pgsr.solve(PROBLEM.where(total(("US", "MI")) >= 60)).reason
    table = pgsr.solvers(ASKED)
    only = replace(table, rows=tuple(row for row in table.rows if row.name in ("gurobi", "clarabel")))
    monkeypatch.setattr(solving, "solvers", lambda problem: only)
    assert pgsr.solve(ASKED).method in ("gurobi", "clarabel")
    monkeypatch.setattr(solving, "solvers", lambda problem: SolverTable("none", ()))
    assert "no installed solver answered" in pgsr.solve(ASKED).reason


def test_solvers_are_asked_in_their_order_until_one_keeps_all_conditions():
    places = [(not row.ours, row.how == "relaxed, rounded") for row in pgsr.solvers(PROBLEM).ready]
    assert places == sorted(places)
    assert pgsr.solvers(PROBLEM)[0] == "pgsr"


def solved_by_hand() -> cp.Problem:
    x = cp.Variable((3, 2))
    model = cp.Problem(cp.Minimize(cp.sum_squares(x - NOISY)), [x >= 0, x[0] == x[1] + x[2], cp.sum(x[0]) == 10])
    model.solve()
    return model


WORSE = np.array([[1, 9], [0, 5], [1, 4]])
FRAME = pd.DataFrame(WORSE[[2, 1, 0]], index=["US/MI", "US/GA", "US"])


def test_answers_from_elsewhere_are_judged_and_bounded():
    answers = (WORSE, WORSE.tolist(), WORSE.ravel(), WORSE + 1e-9, FRAME, Estimate(TREE, View.COUNTS, WORSE))
    for answer in answers:
        found = pgsr.certify(PROBLEM, answer)
        assert (found.objective, found.bound, found.feasible) == (4, 2, True)
    for row in pgsr.compare(PROBLEM, [(str(k), PROBLEM, x) for k, x in enumerate(answers)], progress=False).rows:
        assert (row.status, row.result.certificate.bound) == (Status.FEASIBLE, 2)


def test_solved_models_are_judged_as_optimal_or_with_a_gap():
    model = solved_by_hand()
    found = pgsr.certify(PROBLEM.relaxed(), model)
    assert found.gap < 1e-6
    assert found.bound_by == "Lagrangian bound"
    own, mine = pgsr.compare(PROBLEM.relaxed(), ["pgsr", model], progress=False).rows
    assert (own.status, mine.status, mine.method) == (Status.OPTIMAL, Status.OPTIMAL, "your cvxpy Problem")
    gurobipy = pytest.importorskip("gurobipy")
    by_gurobi = gurobipy.Model()
    by_gurobi.Params.OutputFlag = 0
    x = by_gurobi.addVars(6, lb=0.0)
    by_gurobi.update()
    with pytest.raises(ArgumentError, match="solve it first"):
        pgsr.certify(PROBLEM, by_gurobi)
    with pytest.raises(ArgumentError, match="solve it first"):
        pgsr.certify(PROBLEM, cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable((3, 2))))))
    by_gurobi.setObjective(gurobipy.quicksum((x[i] - float(y)) ** 2 for i, y in enumerate(NOISY.ravel())))
    by_gurobi.addConstrs(x[i] == x[2 + i] + x[4 + i] for i in (0, 1))
    by_gurobi.addConstr(x[0] + x[1] == 10)
    by_gurobi.optimize()
    assert pgsr.certify(PROBLEM.relaxed(), by_gurobi).gap < 1e-6


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


def test_what_is_printed_are_numbers_and_conditions_as_they_were_written():
    truth = pgsr.CountOfCounts(TREE, [[0, 900, 400, 90], [0, 800, 300, 110]], "tiny")
    noisy = pgsr.measure(truth, "cumulative", epsilon=1, seed="demo")
    released = pgsr.estimate(noisy)
    for thing, words in (
        (truth, "US/GA  0    900  400   90"),
        (noisy, "noisy, cumulative"),
        (released.estimate, "US/MI"),
        (released.intervals("tail:2"), "lower  estimate  upper"),
        (ASKED, "stated besides: total(US/MI) >= 6"),
    ):
        assert words in str(thing)
    assert repr(ASKED.conditions) == "Conditions(total(US/MI) >= 6)"
    assert len(str(pgsr.CountOfCounts(TREE, np.ones((2, 5_000), int))).splitlines()[1]) < 120
    assert overlay(released, truth=truth).axes
