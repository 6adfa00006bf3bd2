"""What comes back from models in the solvers' own interfaces is judged, also once somebody has changed them."""

import re

import cloudpickle
import cvxpy
import gurobipy
import numpy as np
import pytest
from ortools.math_opt.python import mathopt
from ortools.sat.python import cp_model
from test_models_native import METHODS, objective, problem_of

from pgsr import Hierarchy, Problem, Status
from pgsr.algorithms import TreeProjection
from pgsr.errors import MethodError
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, Scip
from pgsr.problems.conditions import cells, total


def demo(**options):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    return Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], tree, groups=5, label="M_H", **options)


def test_cvxpy_has_names_by_level():
    model = Cvxpy("CLARABEL").model(demo().where(total(("US", "MI")) >= 2))
    assert [z.name() for z in model.variables] == ["z[0]", "z[1]"]
    assert [x.shape for x in model.x] == [z.shape for z in model.variables] == [(1, 3), (2, 3)]
    assert list(model.constraints) == ["consistency[0]", "total[0]", "total(US/MI) >= 2", "nonnegative[0]",
                                       "nonnegative[1]"]  # fmt: skip
    assert [constraint.label for constraint in model.native.constraints] == list(model.constraints)


def test_a_printed_model_says_its_conditions_as_they_were_written():
    """Names and slices, not the stacked cells that CVXPY prints; all interfaces print the same."""
    stated = total(("US", "MI")) >= 2, cells(("US", "GA"), size=slice(1, 3)) <= 5
    problem = demo().where(*stated)
    printed = [str(method.model(problem)).splitlines() for method in (Cvxpy("CLARABEL"), Gurobi(), CpSat())]
    assert printed[0][-2:] == ["  stated       total(US/MI) >= 2", "               cells(US/GA, 1:3) <= 5"]
    assert "  total        total(US) == 5" in printed[0]
    assert "Hstack" not in "".join(printed[0])
    assert printed[1][3:] == printed[2][3:] == printed[0][3:]
    assert "integers" in printed[1][2]
    assert "real numbers" in printed[0][2]
    html = Gurobi().model(problem)._repr_html_()
    assert "<th>stated</th><td>total(US/MI) &gt;= 2; cells(US/GA, 1:3) &lt;= 5</td>" in html


def test_a_printed_model_counts_what_it_leaves_out_and_tells_changes_by_hand():
    model = Cvxpy("CLARABEL").model(demo().where(*(cells(size=1) <= 20 + n for n in range(13))))
    assert str(model).splitlines()[-1].strip() == "and 3 more"
    model.native = cvxpy.Problem(model.native.objective, [*model.native.constraints, model.x[1][0, 1] <= 2])
    assert str(model).splitlines()[-1].split() == ["changed", "by", "hand,", "after", "it", "was", "made"]
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    lines = str(Gurobi().model(Problem.of([[[0, 3, 2]], [[1, 2], [0, 2]]], tree, groups=5))).splitlines()
    assert lines[2].split(None, 1)[1] == "x[0] 1 x 3, x[1] 2 x 2: counts, integers"
    assert "cells(r, s), s folded into the children's sizes, == sum of the cells of r's children" in lines[3]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_model_that_was_not_solved_is_not_judged(method):
    with pytest.raises(MethodError, match="not solved"):
        method.model(demo()).judge()


def test_any_values_are_judged():
    problem = demo()
    best = TreeProjection().solve(problem).estimate.values
    model = Gurobi().model(problem)
    levels = [best[:1], best[1:]]
    for values in (best, best.ravel(), levels, {"nation": best[:1], "states": best[1:]}, best.astype(float)):
        result = model.judge(values)
        assert result.status is Status.OPTIMAL
        assert (result.estimate.values == best).all()
    far = best.copy()
    far[0], far[1] = far[0] + [1, -1, 0], far[1] + [1, -1, 0]
    assert model.judge(far).status in (Status.FEASIBLE, Status.RELAXED)
    broken = model.judge(best + np.eye(3, dtype=int))
    assert broken.status is Status.RELAXED
    assert "consistency" in broken.reason
    with pytest.raises(MethodError, match="shape"):
        model.judge(np.zeros(4))
    far = Problem.of([[0, 3], [1, 2], [0, 1]], Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), groups=5)
    model, x = Scip().model(far), np.array([[1, 4], [1, 3], [0, 1]])
    assert model.judge(x).status in (Status.OPTIMAL, Status.FEASIBLE)
    for turned in (x.T, {"states": x[1:], "nation": x[:1]}, [x[:2], x[2:]]):
        with pytest.raises(MethodError, match=r"does not say which cell is which; give x of shape \(3, 2\)"):
            model.judge(turned)
    for ragged in ([[1, 2, 3], [1, 2]], [[1, [2, 3]], [1, 2, 3]], []):
        with pytest.raises(MethodError, match="different lengths or kinds; give x of shape"):
            model.judge(ragged)


def with_at_most(model, most):
    """The model with one more condition, stated in its own interface: US/GA has at most so many groups of size 1."""
    return with_condition(model, model.x[1][0, 1] <= most)


def with_condition(model, condition):
    native = model.native
    if isinstance(native, cvxpy.Problem):
        model.native = cvxpy.Problem(native.objective, [*native.constraints, condition])
    elif isinstance(native, gurobipy.Model):
        native.addConstr(condition)
    elif isinstance(native, mathopt.Model):
        native.add_linear_constraint(condition)
    elif isinstance(native, cp_model.CpModel):
        native.add(condition)
    else:
        native.addCons(condition)
    return model


CHANGED = "changed after it was made.*Problem.where"


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("method", "norm"),
    [
        (method, norm)
        for method in (*METHODS, Cvxpy("SCIP"))
        for norm in (1, 2)
        if method != MathOpt("PDLP") or norm == 1
    ]
    + [(Cvxpy("HIGHS"), 1)],
    ids=repr,
)
def test_a_changed_model_has_no_word_on_the_problem(method, norm):
    """A condition added by hand is solved; its optimum and its bound are another problem's."""
    problem = demo(norm=norm).where(total(("US", "MI")) <= 9)  # no exact test knows rows that were stated
    best = objective(Gurobi().model(problem).solve(problem))
    model = method.model(problem)
    assert not model.changed
    with_at_most(model, 0)
    assert model.changed
    result = model.solve(problem)
    assert result.status in (Status.FEASIBLE, Status.RELAXED), result
    assert re.search(CHANGED, result.reason), result
    assert objective(result) > best
    assert result.certificate.bound is None or result.certificate.bound <= best


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["M_c L1", "conditions"])
def test_solving_and_travelling_change_no_model(name, method):
    for problem in (problem_of(name, 0), problem_of(name, 0, relaxed=True)):
        if method.supports(problem) is None:
            model = method.model(problem)
            again = cloudpickle.loads(cloudpickle.dumps(model))
            assert not again.changed
            for one in (model, again):
                one.optimize(0.2)
                assert not one.changed


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.nan, np.inf, 2.0**53, -(2**63), 2**70])
def test_numbers_that_no_count_is_are_refused(number):
    values = demo().target.astype(object)
    values[2, 1] = number
    values[2, 2] = np.nan
    for given in (values, values if abs(number) == 2**70 else values.astype(float), values.tolist()):
        with pytest.raises(MethodError, match=r"US/MI, size 1 is .*finite numbers below"):
            Gurobi().model(demo()).judge(given)


@pytest.mark.filterwarnings("error")
def test_large_numbers_are_judged():
    best = TreeProjection().solve(demo()).estimate.values
    assert Gurobi().model(demo()).judge(best.astype(object)).status is Status.OPTIMAL
    values = demo().target.copy()
    values[1:, 1] = 2**53 - 1
    assert Gurobi().model(demo()).judge(values).status is Status.RELAXED
    with pytest.raises(MethodError, match="not one of numbers"):
        Gurobi().model(demo()).judge(np.full((3, 3), "many"))


@pytest.mark.parametrize("solver", ["SCIP", "HIGHS", "GUROBI", "SCIPY"])
def test_cvxpy_hands_on_the_bounds_of_integer_programs(solver):
    """Without the exact test of M_H, which knows no row that ties cells, the solver's bound is what closes the gap."""
    problem = demo(norm=1).where(cells(level=1, size=0).sum() >= 0)
    method = Cvxpy(solver)
    model = method.model(problem)
    fast, native = method.solve(problem), model.solve(problem)
    assert objective(fast) == objective(native) == pytest.approx(model.read(None).bound)
    assert native.claimed == f"optimal, by Cvxpy('{solver}')"
    assert native.status is not Status.OPTIMAL or native.certificate.bound == objective(native)


def test_a_problem_of_cvxpy_that_was_made_from_a_model_is_judged():
    """By its values alone, since the judge asks for an optimum of the stated problem."""
    problem = demo()
    model = Cvxpy("SCIP").model(problem)
    best = TreeProjection().solve(problem).certificate.objective
    native = model.native
    for most, status in ((9, Status.OPTIMAL), (0, Status.FEASIBLE)):
        more = cvxpy.Problem(native.objective, native.constraints + [model.x[1][0, 1] <= most])  # noqa: RUF005
        more.solve("SCIP")
        result = model.judge(more)
        assert result.status is status
        assert (objective(result) == best) == (most == 9)
        assert result.estimate.values[1, 1] <= most
        assert (result.reason == "") == (most == 9)
    assert re.search(CHANGED, result.reason)
    assert not model.changed
    same = cvxpy.Problem(native.objective, native.constraints)
    same.solve("SCIP")
    assert model.judge(same).status is Status.OPTIMAL
    impossible = cvxpy.Problem(native.objective, [*native.constraints, model.x[1][0, 1] <= -1])
    impossible.solve("SCIP")
    assert model.judge(impossible).status is Status.FAILED
    with pytest.raises(MethodError, match="not solved"):
        model.judge(cvxpy.Problem(native.objective, native.constraints))
    other = Cvxpy("SCIP").model(problem).native
    other.solve("SCIP")
    with pytest.raises(MethodError, match=r"other unknowns than this model; make it of model.native.objective"):
        model.judge(other)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_conditions_that_would_be_lost_are_refused_in_words(method):
    model = method.model(demo())
    condition = model.x[1][0, 1] <= 2
    with pytest.raises(MethodError, match=r"for reading; add a condition to `native`"):
        model.constraints["mine"] = condition
    with pytest.raises(MethodError, match=r"for reading"):
        model.constraints.update(mine=condition)
    if isinstance(method, Cvxpy):
        for add in (
            lambda rows: rows.append(condition),
            lambda rows: rows.extend([condition]),
            lambda rows: rows.pop(),
        ):
            with pytest.raises(MethodError, match=r"would be lost; make more = cvxpy.Problem\(model.native.objective"):
                add(model.native.constraints)
        again = cloudpickle.loads(cloudpickle.dumps(model))
        with pytest.raises(MethodError, match="would be lost"):
            again.native.constraints.append(condition)
    assert not model.changed


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_models_travel_with_what_was_added(method):
    """To the process in which `compare` runs them."""
    problem = demo()
    model = method.model(problem)
    with_condition(model, model.x[1][0, 1] >= 4)
    if isinstance(method, Gurobi):
        model.native.update()
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again.supports(problem) is None
    solved = again.optimize(None)
    z = again.read(solved).values
    assert problem.target[1, 1] + z[problem.target.shape[1] + 1] == pytest.approx(4, abs=1e-5)
    assert repr(again) == repr(model)


def test_a_model_is_of_its_own_problem():
    problem = demo()
    model = Gurobi().model(problem)
    again = demo()
    assert model.supports(again) is None
    for other in (demo(integer=False), demo(weights=np.array([1, 2, 1])), problem.where(cells(size=0) == 0)):
        assert "make one" in model.supports(other)
        assert model.solve(other).status is Status.UNSUPPORTED


def test_a_contradiction_is_named():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = Problem.of([[0, 3], [1, 2], [0, 1]], tree, groups=5).where(
        total(("US", "GA")) >= 4, cells(("US", "MI"), size=0) >= 2
    )
    model = Gurobi().model(problem)
    assert model.solve(problem).status is Status.INFEASIBLE
    found = model.infeasible_subset()
    assert {"total(US/GA) >= 4", "total[US]", "consistency[US,0]", "x[US/MI,0] >= 2"} <= set(found)
    for method in (CpSat(), Scip()):
        with pytest.raises(MethodError, match=r"names no contradicting conditions; Gurobi\(\) does$"):
            method.model(problem).infeasible_subset()
    with pytest.raises(MethodError, match="the model has a solution, so nothing contradicts"):
        Gurobi().model(demo()).infeasible_subset()


def test_totals_that_do_not_add_up_are_in_the_program():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = Problem.of([[0, 3], [1, 2], [0, 1]], tree, groups=np.array([5, 3, 1]))
    model = Gurobi().model(problem)
    result = model.solve(problem)
    assert result.status is Status.INFEASIBLE
    assert "add up to 4" in result.reason
    assert {"total[US]", "total[US/GA]", "total[US/MI]"} <= set(model.infeasible_subset())


def test_the_licence_is_a_status():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = Problem.of(np.ones((3, 800), int), tree, groups=9)
    result = Gurobi().model(problem).solve(problem)
    assert result.status in (Status.TOO_LARGE, Status.OPTIMAL, Status.RELAXED)  # with a full licence it is solved
    assert result.status is not Status.TOO_LARGE or "licence" in result.reason
