"""Problems through OR-tools MathOpt."""

import datetime
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.formulate import formulate, unsupported
from models.judge import judge_integer
from models.optional import load, not_installed
from models.program import Program
from pgsr.checks import checked_limit
from pgsr.errors import MethodError
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem

SOLVERS = ("GSCIP",)
"""MathOpt's solvers that take a quadratic objective with integer unknowns."""

LARGEST = 200_000
"""Most unknowns: the model is built one Python object per unknown."""


@dataclass(frozen=True)
class MathOpt:
    """Solves the integer program with `solver` of MathOpt; "GSCIP" is SCIP, which comes with OR-tools.

    Status: OPTIMAL or FEASIBLE with SCIP's own bound; UNSUPPORTED for relaxations (SCIP gives no duals that would prove
    them); TIMED_OUT; NOT_INSTALLED; TOO_LARGE.
    """

    solver: str = "GSCIP"

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise MethodError(f"MathOpt({self.solver!r}) does not solve these problems; use MathOpt('GSCIP')")

    def supports(self, problem: Problem) -> str | None:
        if not problem.integer:
            return "MathOpt('GSCIP') is for integer problems; solve a relaxation with Cvxpy or TreeProjection"
        return unsupported(problem)

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        time_limit = checked_limit(time_limit)
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.n_unknowns > LARGEST:
            return Result(
                Status.TOO_LARGE, f"{problem.n_unknowns:,} unknowns; MathOpt models are built up to {LARGEST:,}"
            )
        mathopt = load("ortools.math_opt.python.mathopt")
        if mathopt is None:
            return not_installed("ortools")
        start = time.perf_counter()
        program = formulate(problem)
        model, z = _model(mathopt, program)
        limit = None if time_limit is None else datetime.timedelta(seconds=time_limit)
        parameters = mathopt.SolveParameters(time_limit=limit, relative_gap_tolerance=0.0, absolute_gap_tolerance=0.5)
        formulated = time.perf_counter()
        try:
            answer = mathopt.solve(model, mathopt.SolverType[self.solver], params=parameters)
        except (RuntimeError, ValueError) as error:
            return Result(Status.FAILED, f"{self.solver} stopped with an error: {str(error).splitlines()[0]}")
        seconds = Seconds(formulated - start, time.perf_counter() - formulated)
        ended = answer.termination.reason
        if ended is mathopt.TerminationReason.INFEASIBLE:
            return Result(
                Status.INFEASIBLE, f"{self.solver} proves that no point satisfies the conditions", seconds=seconds
            )
        if not answer.has_primal_feasible_solution():
            return Result(Status.TIMED_OUT, f"{self.solver} had no answer ({ended.name.lower()})", seconds=seconds)
        values = np.array(answer.variable_values(z))
        proved = ended is mathopt.TerminationReason.OPTIMAL
        return judge_integer(self.solver, problem, program, values, seconds, proved, answer.dual_bound())

    def __repr__(self) -> str:
        return f"MathOpt({self.solver!r})"


def _model(mathopt: Any, program: Program) -> tuple[Any, list[Any]]:
    model = mathopt.Model()
    lower = np.full(program.n, -np.inf) if program.lower is None else program.lower.astype(float)
    z = [model.add_variable(lb=low, is_integer=program.integer) for low in lower]
    matrix = program.matrix
    for row, right in enumerate(program.right):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        constraint = model.add_linear_constraint(lb=float(right), ub=float(right))
        for column, value in zip(matrix.indices[part], matrix.data[part], strict=True):
            constraint.set_coefficient(z[column], float(value))
    model.minimize(mathopt.fast_sum(float(w) * v * v for w, v in zip(program.weight, z, strict=True)))
    return model, z
