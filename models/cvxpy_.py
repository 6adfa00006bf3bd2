"""Relaxations through CVXPY, with any quadratic solver it finds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models.formulate import formulate, unsupported
from models.judge import judge_continuous
from models.optional import load, not_installed
from models.program import Program
from pgsr.checks import checked_limit
from pgsr.errors import MethodError
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem

SOLVERS: Mapping[str, str | None] = {
    "CLARABEL": "time_limit",
    "HIGHS": "time_limit",
    "OSQP": "time_limit",
    "PIQP": None,
    "SCS": "time_limit_secs",
}
"""The quadratic solvers used through CVXPY, and what each calls its time limit (None: it has none)."""


@dataclass(frozen=True)
class Cvxpy:
    """Solves the relaxation with `solver` and, for an integer problem, rounds it to the nearest integers.

    Args:
        solver: name as CVXPY spells it: CLARABEL, HIGHS, OSQP, PIQP or SCS.
        options: passed on to the solver, e.g. `{"eps_abs": 1e-9}`.

    Status: RELAXED for an integer problem, OPTIMAL for its relaxation; FAILED where our own residuals or the gap refute
    the solver's "solved"; NOT_INSTALLED, UNSUPPORTED, TIMED_OUT.

    Example:
        >>> Cvxpy("CLARABEL")
        Cvxpy('CLARABEL')
    """

    solver: str = "CLARABEL"
    options: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise MethodError(f"Cvxpy({self.solver!r}) is unknown; use one of {', '.join(SOLVERS)}")

    def supports(self, problem: Problem) -> str | None:
        return unsupported(problem)

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        time_limit = checked_limit(time_limit)
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        cvxpy = load("cvxpy")
        if cvxpy is None:
            return not_installed("cvxpy")
        if self.solver not in cvxpy.installed_solvers():
            return not_installed({"HIGHS": "'highspy<1.15'"}.get(self.solver, self.solver.lower()), self.solver)
        start = time.perf_counter()
        program = formulate(problem)
        model, z, rows = _model(cvxpy, program)
        options = dict(self.options)
        limit = SOLVERS[self.solver]
        if time_limit is not None and limit is not None:
            options.setdefault(limit, time_limit)
        try:
            data, chain, inverse = model.get_problem_data(self.solver, solver_opts=options)
            formulated = time.perf_counter()
            raw = chain.solve_via_data(model, data, solver_opts=options)
            solved = time.perf_counter()
            model.unpack_results(raw, chain, inverse)
        except (cvxpy.error.SolverError, ArithmeticError, ValueError, RuntimeError) as error:
            return Result(Status.FAILED, f"{self.solver} stopped with an error: {str(error).splitlines()[0]}")
        seconds = Seconds(formulate=formulated - start, solve=solved - formulated)
        if z.value is None or rows.dual_value is None:
            return self._without_answer(str(model.status), seconds, time_limit)
        before = time.perf_counter()
        result = judge_continuous(self.solver, problem, program, z.value, np.asarray(rows.dual_value), seconds)
        if result.status is Status.FAILED and time_limit is not None and seconds.solve >= 0.95 * time_limit:
            reason = f"{self.solver} reached the time limit of {time_limit:g} s; {result.reason}"
            result = Result(Status.TIMED_OUT, reason, seconds=seconds)
        rounded = Seconds(seconds.formulate, seconds.solve, time.perf_counter() - before)
        return Result(result.status, result.reason, result.answer, result.certificate, rounded)

    def _without_answer(self, status: str, seconds: Seconds, time_limit: float | None) -> Result:
        if "infeasible" in status:
            return Result(Status.INFEASIBLE, f"{self.solver} says {status}", seconds=seconds)
        if time_limit is not None and seconds.solve >= 0.95 * time_limit:
            return Result(Status.TIMED_OUT, f"{self.solver} had no answer after {time_limit:g} s", seconds=seconds)
        return Result(Status.FAILED, f"{self.solver} gave no answer and says {status}", seconds=seconds)

    def __repr__(self) -> str:
        options = f", {dict(self.options)!r}" if self.options else ""
        return f"Cvxpy({self.solver!r}{options})"


def _model(cvxpy: Any, program: Program) -> tuple[Any, Any, Any]:
    z = cvxpy.Variable(program.n)
    rows = program.matrix @ z == program.right
    constraints = [rows] if program.lower is None else [rows, z >= program.lower]
    scaled = cvxpy.multiply(np.sqrt(program.weight), z) if (program.weight != 1).any() else z
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(scaled)), constraints), z, rows
