"""The solver model of OR-tools' CP-SAT, for integer programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.solver_object import Built, NotSolved
from pgsr.models.watch import stoppable

_MODULE = "ortools.sat.python.cp_model"

LARGEST = 300_000
"""Most unknowns, steps included: the model is built one Python object per unknown and row."""

_LARGEST_OBJECTIVE = 2**60

_LEAST = -(2**63)


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

    prefers_parts = needs_bounds = True

    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or not 1 <= self.threads <= 1024:
            raise MethodError(f"threads={self.threads!r}; give a whole number from 1 to 1024")

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP})

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return self.takes

    def unavailable(self) -> Result | None:
        return missing(_MODULE)

    def too_large(self, program: SolverProgram) -> str | None:
        if program.n > LARGEST:
            return f"{program.n:,} unknowns; CP-SAT models are built up to {LARGEST:,}"
        low, high = _bounds(program)
        far = np.maximum(np.abs(low), np.abs(high)).astype(float)
        if float(np.abs(program.linear) @ far + program.quadratic @ far**2) > _LARGEST_OBJECTIVE:
            return "the objective may exceed 2^60, beyond CP-SAT's arithmetic; use Flow or TreeProjection"
        return None

    @property
    def takes_natively(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP, ProgramKind.MIQP})

    @property
    def takes_indicators(self) -> bool:
        return True

    def build(self, program: SolverProgram) -> "CpSatProgram":
        return CpSatProgram(program, self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Collect CP-SAT's parameters: ours, and the user's in their place."""
        near = {} if self.tolerance is None else {"relative_gap_limit": self.tolerance}
        return {"num_workers": self.threads, "catch_sigint_signal": False, **near, **self.options}


class CpSatProgram(Built):
    """A program as a `cp_model.CpModel`, all unknowns integers; `optimize` returns the `CpSolver`.

    Squares are products of an unknown with itself: easy to read, hard to prove. The model's proto is filled directly,
    since CP-SAT's own way makes one Python object per unknown and several per row.
    """

    def __init__(self, program: SolverProgram, parameters: Mapping[str, Any]) -> None:
        self.program, self.parameters = program, dict(parameters)
        cp_model, labels = load(_MODULE), program.labels
        model = self.native = cp_model.CpModel()
        low, high = (side.astype(np.int64).tolist() for side in _bounds(program))
        names = [""] * program.n if labels is None else labels.unknowns
        proto = model.proto
        for name, a, b in zip(names, low, high, strict=True):
            _unknown(proto, name, a, b)
        row_names = [""] * program.m if labels is None else labels.rows
        sides = (_integers(side) for side in (program.rows.lower, program.rows.upper))
        for (columns, data), name, a, b in zip(program.rows.terms(), row_names, *sides, strict=True):
            _row(proto, columns, data, (a, b), name)
        if program.indicators is not None:
            for binary, columns, data, right, name in program.indicators.terms():
                _row(proto, columns, data, (_LEAST, int(right)), name).enforcement_literal.append(binary)
        objective = proto.objective
        for place in np.flatnonzero(program.quadratic).tolist():
            most = max(low[place] ** 2, high[place] ** 2)
            square = _unknown(proto, "" if labels is None else f"square{names[place][1:]}", 0, most)
            _multiply(proto, square, place)
            objective.vars.append(square)
            objective.coeffs.append(int(program.quadratic[place]))
        linear = np.flatnonzero(program.linear)
        objective.vars.extend(linear.tolist())
        objective.coeffs.extend(program.linear[linear].astype(np.int64).tolist())
        if program.start is not None:
            proto.solution_hint.vars.extend(range(program.n))
            proto.solution_hint.values.extend(np.clip(np.rint(program.start), low, high).astype(np.int64).tolist())

    @property
    def unknowns(self) -> np.ndarray:
        return np.array([self.native.get_int_var_from_proto_index(j) for j in range(self.program.n)], object)

    @property
    def rows(self) -> np.ndarray:
        """The protos of rows, since CP-SAT makes objects of a constraint only where it is added one by one."""
        return np.array([self.native.proto.constraints[i] for i in range(self.program.m)], object)

    def optimize(self, time_limit: float | None) -> Any:
        solver = load(_MODULE).CpSolver()
        for name, value in self.parameters.items():
            setattr(solver.parameters, name, value)
        if time_limit is not None:
            solver.parameters.max_time_in_seconds = time_limit
        stoppable(solver.stop_search)
        solver.solve(self.native)
        return solver

    def read(self, solved: Any) -> SolverAnswer:
        if solved is None:
            raise NotSolved
        status = solved.status_name(solved.response_proto.status)
        if status == "MODEL_INVALID":
            raise Stopped(Status.TOO_LARGE, "CP-SAT refuses the model, most likely because its numbers are too large")
        if status == "INFEASIBLE":
            return SolverAnswer(SolverClaim.INFEASIBLE)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return SolverAnswer(SolverClaim.STOPPED, f"it says {status.lower()}")
        claim = SolverClaim.OPTIMAL if status == "OPTIMAL" else SolverClaim.STOPPED
        values = np.array(list(solved.response_proto.solution)[: self.program.n], float)
        return SolverAnswer(claim, "", values, bound=solved.best_objective_bound)

    def fingerprint(self, native: Any = None) -> str:
        """The hash of the model as text, without hints."""
        model = self.native.clone()
        model.clear_hints()
        return sha256(str(model.proto).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model as its text, with whatever was added."""
        return vars(self) | {"native": str(self.native.proto)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = load(_MODULE).CpModel()
        model.proto.parse_text_format(state["native"])
        vars(self).update(state | {"native": model})


def _unknown(proto: Any, name: str, low: int, high: int) -> int:
    """Add an unknown; return its place."""
    one = proto.variables.add()
    one.name = name
    one.domain.extend([low, high])
    return len(proto.variables) - 1


def _row(proto: Any, columns: list[int], data: list[float], sides: tuple[int, int], name: str) -> Any:
    """Add the row sides[0] <= data v <= sides[1]."""
    one = proto.constraints.add()
    one.name = name
    one.linear.vars.extend(columns)
    one.linear.coeffs.extend([int(a) for a in data])
    one.linear.domain.extend(sides)
    return one


def _multiply(proto: Any, product: int, factor: int) -> None:
    """Say that an unknown is the square of another one."""
    product_of = proto.constraints.add().int_prod
    for expression, place in ((product_of.target, product), *((product_of.exprs.add(), factor) for _ in range(2))):
        expression.vars.append(place)
        expression.coeffs.append(1)


def _integers(side: np.ndarray) -> list[int]:
    """Write limits as CP-SAT has them, those that are missing as the ends of 64 bits."""
    return [_LEAST if a == -np.inf else -_LEAST - 1 if a == np.inf else int(a) for a in side.tolist()]


def _bounds(program: SolverProgram) -> tuple[np.ndarray, np.ndarray]:
    """Find finite integer bounds of all variables; those that unit steps add are positive parts of integers."""
    low = np.maximum(program.lower, program.reach[0])
    high = np.minimum(program.upper, program.reach[1])
    return np.ceil(low), np.floor(np.maximum(high, low))
