"""Problems of every kind, and what other programs find in their files; several tests share them."""

import numpy as np
import pytest
from instances import rng_of

from pgsr import View
from pgsr.experiments.benchmarks.agreement import PROBLEMS, random_problem
from pgsr.models import Cvxpy, Gurobi

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


READERS = {
    "HiGHS": (by_highs, (".mps", ".lp"), lambda p: not (p.integer and p.norm == 2)),
    "Gurobi": (by_gurobi, (".mps", ".qps", ".lp"), lambda p: p.n_unknowns <= 200),
    "SCIP": (by_scip, (".mps", ".lp"), lambda p: p.n_unknowns <= 60 and (p.integer or p.norm == 1)),
}
