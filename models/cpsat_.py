"""The solver model of OR-tools' CP-SAT, for integer programs."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.cpsat_ import CpSatModel
from pgsr.models.optional import load, not_installed
from pgsr.models.program import Kind, SolverProgram
from pgsr.problems.problem import Problem

LARGEST = 300_000
"""Most unknowns, steps included: the model is built one Python object per unknown and row."""

_LARGEST_OBJECTIVE = 2**60


@dataclass(frozen=True, repr=False)
class CpSat(SolverModel):
    """Solves the integer program by constraint propagation, clause learning and linear relaxations.

    Everything is an integer: z[j] within bounds that some optimum satisfies, and the steps above and below it. Squares
    come as unit steps; as products of a variable with itself CP-SAT proves next to nothing about them.

    Status: OPTIMAL or FEASIBLE with CP-SAT's own bound; UNSUPPORTED for relaxations; TOO_LARGE, also where squares
    leave 64 bits; TIMED_OUT; NOT_INSTALLED.

    Args:
        threads: one searches the same way every time, so a release is a function of the noisy counts. Several may
            return another of many optima each time.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> CpSat().solve(problem).certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
    """

    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or not 1 <= self.threads <= 1024:
            raise MethodError(f"threads={self.threads!r}; give a whole number from 1 to 1024")

    @property
    def takes(self) -> frozenset[Kind]:
        return frozenset({Kind.MILP})

    @property
    def prefers_parts(self) -> bool:
        return True

    @property
    def starts(self) -> frozenset[Kind]:
        return self.takes

    def unavailable(self) -> Result | None:
        return not_installed("ortools") if load("ortools.sat.python.cp_model") is None else None

    def too_large(self, program: SolverProgram) -> str | None:
        if program.n > LARGEST:
            return f"{program.n:,} unknowns; CP-SAT models are built up to {LARGEST:,}"
        low, high = _bounds(program)
        far = np.maximum(np.abs(low), np.abs(high)).astype(float)
        if float(np.abs(program.linear) @ far) > _LARGEST_OBJECTIVE:
            return "the objective may exceed 2^60, beyond CP-SAT's arithmetic; use Flow or TreeProjection"
        return None

    def native_model(self, problem: Problem) -> CpSatModel:
        return CpSatModel(problem, repr(self), self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Collect CP-SAT's parameters: ours, and the user's in their place."""
        near = {} if self.tolerance is None else {"relative_gap_limit": self.tolerance}
        return {"num_workers": self.threads, **near, **self.options}

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        cp_model = load("ortools.sat.python.cp_model")
        start = time.perf_counter()
        model = cp_model.CpModel()
        low, high = _bounds(program)
        v = [model.new_int_var(int(a), int(b), "") for a, b in zip(low, high, strict=True)]
        for columns, coefficients, right, equal in program.rows():
            total = cp_model.LinearExpr.weighted_sum([v[j] for j in columns], coefficients.astype(int).tolist())
            model.add(total == int(right) if equal else total <= int(right))
        linear = np.flatnonzero(program.linear)
        costs = program.linear[linear].astype(int).tolist()
        model.minimize(cp_model.LinearExpr.weighted_sum([v[j] for j in linear], costs))
        if program.start is not None:
            for variable, value in zip(v, np.clip(np.rint(program.start), low, high).astype(int).tolist(), strict=True):
                model.add_hint(variable, value)
        solver = cp_model.CpSolver()
        for name, value in self.parameters().items():
            setattr(solver.parameters, name, value)
        if time_limit is not None:
            solver.parameters.max_time_in_seconds = time_limit
        formulated = time.perf_counter()
        status = solver.solve(model)
        spent = time.perf_counter() - formulated
        if status == cp_model.MODEL_INVALID:
            raise Stopped(Status.TOO_LARGE, "CP-SAT refuses the model, most likely because its numbers are too large")
        claims = {
            cp_model.OPTIMAL: Claim.OPTIMAL,
            cp_model.FEASIBLE: Claim.STOPPED,
            cp_model.UNKNOWN: Claim.STOPPED,
            cp_model.INFEASIBLE: Claim.INFEASIBLE,
        }
        claim = claims[status]
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            answer = Answer(claim, "", _values(solver, v), bound=solver.best_objective_bound)
        else:
            answer = Answer(claim)
        return Run(answer, formulated - start, spent)


def _bounds(program: SolverProgram) -> tuple[np.ndarray, np.ndarray]:
    """Find finite integer bounds of all variables; those that unit steps add are positive parts of integers."""
    low = np.maximum(program.lower, program.reach[0])
    high = np.minimum(program.upper, program.reach[1])
    return np.ceil(low), np.floor(np.maximum(high, low))


def _values(solver: Any, v: list[Any]) -> np.ndarray:
    return np.array([solver.value(variable) for variable in v], float)
