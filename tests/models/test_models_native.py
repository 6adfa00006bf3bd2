"""Problems in the solvers' own interfaces: the same programs as the matrix path states, row by row and dual by dual."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from gurobipy import GRB
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.errors import MethodError
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, Scip
from pgsr.models.adapter import Route
from pgsr.models.gurobi_ import GurobiProgram
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, entities, total
from pgsr.problems.programs import named

METHODS = (Cvxpy("CLARABEL"), Cvxpy("GUROBI"), Gurobi(), MathOpt("GSCIP"), MathOpt("PDLP"), CpSat(), Scip())

COUNTS, STEPS = View.COUNTS, View.CUMULATIVE


def variants(rng, n_sizes=4):
    """Every variant of the papers on one small random tree, with what a modeller may state besides."""
    tree = random_tree(rng, max_regions=6)
    truth = tree.sum_up(rng.integers(0, 9, (tree.n_regions - tree.n_inner, n_sizes)))
    noise = rng.integers(-5, 6, truth.shape)
    totals, people = truth.sum(axis=1), truth @ np.arange(n_sizes)
    counts, steps = truth + noise, np.cumsum(truth, axis=1) + noise
    leaf = tree.paths[-1]
    make = {
        "naive": Problem.of(counts, tree, groups=totals, consistent=False),
        "isotonic": Problem.of(steps, tree, STEPS, groups=totals, consistent=False),
        "isotonic L1": Problem.of(steps, tree, STEPS, groups=totals, consistent=False, norm=1),
        "M_H": Problem.of(counts, tree, groups=int(totals[0])),
        "M_H weighted": Problem.of(counts, tree, groups=int(totals[0]), weights=rng.integers(1, 4, tree.n_regions)),
        "M_H regions": Problem.of(counts, tree, groups=totals),
        "M_H L1": Problem.of(counts, tree, groups=int(totals[0]), norm=1),
        "entities of root": Problem.of(counts, tree, groups=int(totals[0])).where(entities(level=0) == int(people[0])),
        "entities": Problem.of(counts, tree, groups=totals).where(entities() == people),
        "M_c": Problem.of(steps, tree, STEPS, groups=int(totals[0])),
        "M_c regions": Problem.of(steps, tree, STEPS, groups=totals),
        "M_c L1": Problem.of(steps, tree, STEPS, groups=int(totals[0]), norm=1),
        "no total": Problem.of(counts, tree),
        "M_c without order": replace(Problem.of(steps, tree, STEPS, groups=int(totals[0])), monotone=False),
        "ordered counts": replace(Problem.of(counts, tree, groups=totals), monotone=True),
    }
    make["conditions"] = make["M_H"].where(
        cells(leaf, size=0) == int(truth[-1, 0]),
        cells(size=1) <= int(truth[:, 1].max()),
        total(leaf) >= int(totals[-1]),
        cells(leaf, size=1) + 2 * cells(leaf, size=2) <= int(truth[-1, 1] + 2 * truth[-1, 2]),
        cells(leaf, size=2) - cells(leaf, size=3) == int(truth[-1, 2] - truth[-1, 3]),
    )
    make["few conditions"] = make["no total"].where(
        total(leaf) <= int(totals[-1]) // 2, cells(leaf, size=1) - cells(leaf, size=2) >= 1
    )
    return make


NAMES = list(variants(rng_of(0)))


def problem_of(name, seed, relaxed=False):
    problem = variants(rng_of(seed, len(name)))[name]
    return problem.relaxed() if relaxed else problem


def objective(result):
    assert result.certificate is not None, result
    return float(result.certificate.objective)


@pytest.mark.few(5)
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_both_paths_have_the_same_optimum(name, method):
    asked = 0
    for seed in range(scale(1, 8)):
        for problem in (problem_of(name, seed), problem_of(name, seed, relaxed=True)):
            if method.supports(problem) is not None:
                continue
            fast, native = method.solve(problem, 3), method.model(problem).solve(problem, 3)
            if {Status.TIMED_OUT, Status.FEASIBLE} & {fast.status, native.status}:  # no proof before the clock
                continue
            asked += 1
            if method.route(problem) is Route.RELAXED:
                # Rounded, by luck to the best integers: compare what was solved, by bounds, which integers round up.
                near = 1 if problem.integer else 1e-4
                assert native.certificate.bound == pytest.approx(fast.certificate.bound, rel=1e-5, abs=near)
            else:
                assert native.status is fast.status is Status.OPTIMAL, (fast, native)
                assert objective(native) == pytest.approx(objective(fast), rel=1e-5, abs=1e-4)
    assert asked or method == CpSat()  # which proves little about products, so other tests look at its models


def census_problem(regions, max_size, **fields):
    """M_H of the generated census: 105 million households."""
    truth = census_like(regions, max_size=max_size)
    noisy = Geometric(COUNTS, 1).measure(truth, Seeded("as they stand"))
    return replace(Problem.m_h(noisy), **fields)


def solved_as_it_stands(method, model):
    """Solve the object of the solver's own interface without an option of ours, but for integers a gap of 0."""
    from ortools.math_opt.python import mathopt
    from ortools.sat.python import cp_model

    if isinstance(method, Cvxpy):
        model.native.solve(method.solver)
        assert model.native.status == "optimal"
    elif isinstance(method, MathOpt):
        return mathopt.solve(model.native, mathopt.SolverType[method.solver])
    elif isinstance(method, CpSat):
        solver = cp_model.CpSolver()
        solver.solve(model.native)
        return solver
    else:
        model.native.optimize()
    return None


@pytest.mark.parametrize(
    ("method", "integer", "norm", "max_size"),
    [
        (Cvxpy("CLARABEL"), False, 2, 8),
        (Cvxpy("HIGHS"), False, 1, 8),
        (Gurobi(), True, 1, 8),
        (MathOpt("GSCIP"), True, 1, 8),
        (Scip(), True, 1, 4),
        (CpSat(), True, 1, 4),
        pytest.param(Cvxpy("CLARABEL"), False, 2, 100, marks=pytest.mark.full),  # 323,000 unknowns
    ],
    ids=repr,
)
def test_models_are_solved_as_they_stand(method, integer, norm, max_size):
    """51 states, 105 million groups: in counts themselves Clarabel calls this model infeasible."""
    problem = census_problem("counties" if max_size == 100 else "states", max_size, integer=integer, norm=norm)
    model = method.model(problem)
    result = model.judge(solved_as_it_stands(method, model))
    assert result.status is Status.OPTIMAL, result
    best = TreeProjection() if norm == 2 else Cvxpy("SCIPY")
    assert objective(result) == pytest.approx(objective(best.solve(problem)), rel=1e-6)


def drawn_again(problem, rng):
    """The same problem of other noisy values, and of other public numbers where they may be others."""
    y = problem.target + rng.integers(-4, 5, problem.target.shape)
    groups = problem.groups
    if groups is not None and len(groups) == 1 and problem.conditions is None:
        groups = groups + 1
    return replace(problem, cells=np.ravel(y), groups=groups)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NAMES)
def test_an_updated_model_is_the_one_that_would_be_made_anew(name):
    """To the last coefficient; CVXPY's, whose unknowns are others each time, by the arrays that the solver gets."""
    rng = rng_of(3)
    for seed in range(scale(1, 8)):
        for relaxed in (False, True):
            problem = problem_of(name, seed, relaxed)
            other = drawn_again(problem, rng)
            for method in (Gurobi(), MathOpt("GSCIP"), MathOpt("PDLP"), Cvxpy("CLARABEL")):
                if method.supports(problem) is not None:
                    continue
                model, anew = method.model(problem), method.model(other)
                if isinstance(method, Cvxpy):
                    handed(model)  # compiled with the first values
                before = model.fingerprint()
                model.update(other)
                assert not model.changed
                assert model.supports(other) is None
                np.testing.assert_array_equal(np.concatenate(model.origin), np.concatenate(anew.origin))
                assert model.fingerprint() != before
                if not isinstance(method, Cvxpy):
                    assert model.fingerprint() == anew.fingerprint()
                    continue
                for a, b in zip(handed(model), handed(anew), strict=True):
                    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def handed(model):
    """The arrays that CVXPY hands to Clarabel."""
    data, _, _ = model.native.get_problem_data("CLARABEL")
    return [data[key].toarray() if key in ("A", "P") else data[key] for key in ("A", "b", "c", "P") if key in data]


def test_a_model_is_updated_by_measurements():
    truth = census_like("divisions", max_size=3, groups=1_000)
    draw = lambda seed: Geometric(COUNTS, 1).measure(truth, Seeded(seed))  # noqa: E731
    model = Cvxpy("CLARABEL").model(Problem.m_h(draw(0)).relaxed())
    model.solve(model.problem)
    for seed in (1, 2):
        model.update(draw(seed))
        with pytest.raises(MethodError, match="not solved"):
            model.judge()
        problem = Problem.m_h(draw(seed)).relaxed()
        assert model.supports(problem) is None
        result = model.solve(problem)
        assert result.status is Status.OPTIMAL
        assert objective(result) == pytest.approx(objective(TreeProjection().solve(problem)), rel=1e-6)
    with pytest.raises(MethodError, match="another law"):
        model.update(Geometric(COUNTS, 2).measure(truth, Seeded(0)))
    with pytest.raises(MethodError, match=r"differs from .* in its totals"):
        model.update(Problem.m_h(draw(3), totals="regions").relaxed())
    with pytest.raises(MethodError, match="anew"):
        CpSat().model(Problem.m_h(draw(0))).update(draw(1))
    model.native = type(model.native)(model.native.objective, [*model.native.constraints, model.x[0] >= 1])
    with pytest.raises(MethodError, match="changed after it was made"):
        model.update(draw(3))


def rows_of_gurobi(model):
    native = model.native
    names = [v.VarName for v in native.getVars()]
    matrix = native.getA().tocsr()
    for row, constraint in enumerate(native.getConstrs()):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        entries = zip(matrix.indices[part], matrix.data[part], strict=True)
        yield constraint.ConstrName, {names[j]: a for j, a in entries}, constraint.Sense, constraint.RHS


def rows_of_mathopt(model):
    for row in model.native.linear_constraints():
        entries = {term.variable.name: term.coefficient for term in row.terms()}
        sense = "=" if row.lower_bound == row.upper_bound else "<" if np.isfinite(row.upper_bound) else ">"
        yield row.name, entries, sense, row.lower_bound if sense == ">" else row.upper_bound


def rows_of_scip(model):
    for row in model.native.getConss():
        if row.isLinear():
            low, high = model.native.getLhs(row), model.native.getRhs(row)
            sense = "=" if low == high else "<" if high < 1e19 else ">"
            yield row.name, model.native.getValsLinear(row), sense, low if sense == ">" else high


def rows_of_cpsat(model):
    proto = model.native.proto
    for row in proto.constraints:
        if row.name:  # products have none
            terms = zip(row.linear.vars, row.linear.coeffs, strict=True)
            low, high = row.linear.domain
            sense = "=" if low == high else "<" if high < 2**62 else ">"
            yield row.name, {proto.variables[j].name: a for j, a in terms}, sense, low if sense == ">" else high


def normal(name, entries, sense, right):
    """One spelling of a row: entries that are 0 left out, all on the left, >= as it is."""
    return name, {key: float(value) for key, value in entries.items() if value}, sense, float(right)


def rows_of_named(program):
    variables = program.variables.texts()
    for row, name in enumerate(program.rows.texts()):
        part = slice(program.matrix.indptr[row], program.matrix.indptr[row + 1])
        entries = zip(program.matrix.indices[part], program.matrix.data[part], strict=True)
        low, high = program.row_lower[row], program.row_upper[row]
        sense = "=" if low == high else "<" if np.isfinite(high) else ">"
        yield name, {variables[j]: a for j, a in entries}, sense, low if sense == ">" else high


@pytest.mark.few(4)
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_the_same_by_name(name):
    for seed in range(scale(1, 20)):
        for relaxed in (False, True):
            problem = problem_of(name, seed, relaxed)
            program = named(problem, shifted=True)
            expected = sorted((normal(*row) for row in rows_of_named(program)), key=lambda row: row[0])
            models = [(Gurobi().model(problem), rows_of_gurobi)]
            if not relaxed:
                models.append((MathOpt().model(problem), rows_of_mathopt))
                models.append((Scip().model(problem), rows_of_scip))
                models.append((CpSat().model(problem), rows_of_cpsat))
            for model, rows in models:
                found = sorted((normal(*row) for row in rows(model)), key=lambda row: row[0])
                assert found == expected
            gurobi = models[0][0].native
            bounds = dict(zip(program.variables.texts(), zip(program.lower, program.upper, strict=True), strict=True))
            inf = lambda bound: np.sign(bound) * np.inf if abs(bound) >= 1e100 else bound  # noqa: E731
            assert {v.VarName: (inf(v.LB), inf(v.UB)) for v in gurobi.getVars()} == bounds
            integer = dict(zip(program.variables.texts(), program.integer.tolist(), strict=True))
            assert {v.VarName: v.VType == "I" for v in gurobi.getVars()} == integer


@pytest.mark.parametrize("method", [Cvxpy("SCIP"), Gurobi(), CpSat(), Scip()], ids=repr)
def test_the_total_is_the_last_cell_of_cumulative_counts_alone(method):
    """Whether cells are to be in order or not: the sum of cumulative counts is no number of groups."""
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    steps = replace(Problem.of([[1, 3], [2, 4]], tree, STEPS, groups=4), monotone=False)
    counts = replace(Problem.of([[1, 3], [2, 4]], tree, COUNTS, groups=4), monotone=True)
    for problem, best in ((steps, ([1, 4], [2, 4])), (counts, ([1, 3],))):
        result = method.model(problem).solve(problem, 30)
        assert result.status is Status.OPTIMAL, result
        assert result.estimate.values[0].tolist() in best


def test_gurobi_tries_once_more_within_its_limit():
    """A failure of digits is answered by a second try, with more care, in the time that is left."""
    parameters, tries = SimpleNamespace(NumericFocus=0, TimeLimit=math.inf), []
    program = GurobiProgram.__new__(GurobiProgram)
    program.native = SimpleNamespace(
        Params=parameters,
        Status=GRB.NUMERIC,
        Runtime=3.0,
        terminate=lambda: None,
        optimize=lambda: tries.append((parameters.NumericFocus, parameters.TimeLimit)),
    )
    program.optimize(10.0)
    assert tries == [(0, 10.0), (3, 7.0)]
