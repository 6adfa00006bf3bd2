"""Problems of every kind, and what other programs find in their files; several tests share them."""

import numpy as np
import pytest
from instances import rng_of

from pgsr import View
from pgsr.experiments.benchmarks.agreement import PROBLEMS, random_problem
from pgsr.models import Cvxpy, Gurobi
from pgsr.problems.programs import read_program

ADDED = ("choices", "sums")
"""Problems whose programs have unknowns that follow from the cells, which random points do not keep; their programs are
compared in tests/models/test_models_wider_objectives.py and tests/problems/test_conditions_choices.py."""

NAMES = [name for name in PROBLEMS if not name.endswith(ADDED)]


def problem_of(name, instance=0):
    return random_problem(name, rng_of(7, instance, *name.encode()))


def value_of(program, x):
    """The objective of a program at a point."""
    return program.quadratic @ x**2 + program.linear @ x + program.constant


def flat_weights(problem):
    if problem.view is not View.RANKED:
        return problem.cell_weights
    return np.repeat(problem.w, np.diff(problem.first_cell))


def distance(problem, x):
    """The distance of all cells from the noisy values."""
    return flat_weights(problem) @ np.abs(x - problem.cells) ** problem.norm


def optimum(problem):
    """The optimum by the fast matrix path."""
    result = Gurobi().solve(problem) if problem.integer else Cvxpy("CLARABEL").solve(problem)
    assert result.certificate is not None, result.reason
    return float(result.certificate.objective)


def by_highs(path):
    highspy = pytest.importorskip("highspy")
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver.getInfo().objective_function_value, list(solver.getLp().col_names_)


def by_gurobi(path):
    gp = pytest.importorskip("gurobipy")
    with gp.Env(params={"OutputFlag": 0}) as environment, gp.read(str(path), environment) as model:
        model.Params.MIPGap = 0
        model.optimize()
        assert model.Status == gp.GRB.OPTIMAL
        return model.ObjVal, [variable.VarName for variable in model.getVars()]


def by_scip(path):
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.setParam("limits/gap", 1e-7)
    model.setParam("limits/time", 200)
    model.optimize()
    assert model.getStatus() in ("optimal", "gaplimit")
    return model.getObjVal(), None


def by_our_reader(path):
    """Clarabel on the program that we read."""
    cvxpy = pytest.importorskip("cvxpy")
    program = read_program(path)
    assert not program.integer.any()
    x = cvxpy.Variable(program.n)
    distance = program.quadratic @ cvxpy.square(x) + program.linear @ x
    left = program.matrix @ x
    equal = program.row_lower == program.row_upper
    above, below = ~equal & np.isfinite(program.row_upper), ~equal & np.isfinite(program.row_lower)
    limits = [left[equal] == program.row_upper[equal], left[above] <= program.row_upper[above]]
    limits += [left[below] >= program.row_lower[below]]
    low, high = np.isfinite(program.lower), np.isfinite(program.upper)
    limits += [x[low] >= program.lower[low], x[high] <= program.upper[high]]
    limits = [limit for limit in limits if limit.size]
    task = cvxpy.Problem(cvxpy.Minimize(distance), limits)
    task.solve("CLARABEL")
    assert task.status == "optimal"
    return task.value + program.constant, program.variables.words()


READERS = {
    "HiGHS": (by_highs, (".mps", ".lp"), lambda p: not (p.integer and p.norm == 2)),
    "Gurobi": (by_gurobi, (".mps", ".qps", ".lp"), lambda p: p.n_unknowns <= 200),
    "SCIP": (by_scip, (".mps", ".lp"), lambda p: p.n_unknowns <= 60 and (p.integer or p.norm == 1)),
    "our reader": (by_our_reader, (".mps", ".lp", ".npz"), lambda p: not p.integer),
}
