"""The solver model of OR-tools' MathOpt."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError
from pgsr.methods.method import Result
from pgsr.models.adapter import SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.solver_object import Built, NotSolved
from pgsr.models.watch import stoppable
from pgsr.models.window import Pieces

_MODULE = "ortools.math_opt.python.mathopt"

SOLVERS: Mapping[str, frozenset[ProgramKind]] = {
    "GSCIP": frozenset({ProgramKind.MILP, ProgramKind.MIQP}),
    "PDLP": frozenset({ProgramKind.LP, ProgramKind.QP}),
    "GLOP": frozenset({ProgramKind.LP}),
    "HIGHS": frozenset({ProgramKind.LP, ProgramKind.MILP}),
}
"""MathOpt's solvers and what they take. GSCIP solves relaxations, too, but gives no duals that would prove them."""

_PDLP_TOLERANCE = 1e-9


@dataclass(frozen=True, repr=False)
class MathOpt(SolverModel):
    """Solves the program with `solver` of MathOpt: GSCIP (SCIP), PDLP, GLOP or HIGHS, which come with OR-tools.

    GSCIP takes integer programs, quadratic ones included. HIGHS and GLOP solve integer squares by unit steps. PDLP
    solves relaxations by a first-order method, to a relative tolerance of 1e-9.

    Status: OPTIMAL, FEASIBLE with the solver's own bound, RELAXED (PDLP on integer problems that it does not
    round to a proved optimum); UNSUPPORTED; TIMED_OUT;
    NOT_INSTALLED.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> MathOpt("GSCIP").solve(problem).certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
    """

    solver: str = "GSCIP"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in SOLVERS:
            raise MethodError(f"MathOpt({self.solver!r}) is unknown; use one of {', '.join(SOLVERS)}")

    @property
    def name(self) -> str:
        return self.solver

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return SOLVERS[self.solver]

    @property
    def finds_vertices(self) -> bool:
        return self.solver in ("GLOP", "HIGHS")

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        return pieces.linked(start) if self.solver == "PDLP" else super().in_pieces(pieces, integers, start)

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return self.takes if self.solver == "PDLP" else frozenset(kind for kind in self.takes if kind.integer)

    def unavailable(self) -> Result | None:
        return missing(_MODULE)

    @property
    def takes_indicators(self) -> bool:
        return self.solver == "GSCIP"

    def build(self, program: SolverProgram) -> "MathOptProgram":
        return MathOptProgram(program, self)

    def parameters(self, mathopt: Any, time_limit: float | None) -> Any:
        """Make MathOpt's parameters: ours, and the user's in their place."""
        limit = None if time_limit is None else datetime.timedelta(seconds=time_limit)
        near = self.tolerance
        exact = {"relative_gap_tolerance": near or 0.0, "absolute_gap_tolerance": 0.5} if self.takes_integers else {}
        parameters = mathopt.SolveParameters(time_limit=limit, **exact)
        own: dict[str, Any] = {"misc/catchctrlc": False} if self.solver == "GSCIP" else {}
        if self.solver == "PDLP":
            criteria = "termination_criteria.simple_optimality_criteria.eps_optimal_"
            own = dict.fromkeys((f"{criteria}absolute", f"{criteria}relative"), near or _PDLP_TOLERANCE)
        elif near is not None and self.solver in ("GLOP", "HIGHS"):
            own = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), near)
        for name, value in {**own, **self.options}.items():
            _set(parameters, self.solver.lower(), name, value)
        return parameters

    @property
    def takes_integers(self) -> bool:
        return any(kind.integer for kind in self.takes)


def _set(parameters: Any, solver: str, name: str, value: Any) -> None:
    """Set an option by the solver's name of it; PDLP's and GLOP's are fields of messages, joined by points."""
    own = getattr(parameters, solver)
    if solver in ("gscip", "highs"):
        real, ending = ("real", "params") if solver == "gscip" else ("double", "options")
        kind = {bool: "bool", int: "int", float: real, str: "string"}[type(value)]
        getattr(own, f"{kind}_{ending}")[name] = value
        return
    *path, last = name.split(".")
    for part in path:
        own = getattr(own, part)
    setattr(own, last, value)


class MathOptProgram(Built):
    """A program as a `mathopt.Model`, made of arrays as a proto; `optimize` returns the result of `mathopt.solve`."""

    def __init__(self, program: SolverProgram, method: MathOpt) -> None:
        self.program, self.method = program, method
        self.native = load(_MODULE).Model.from_model_proto(_proto(program))

    @property
    def unknowns(self) -> np.ndarray:
        return _objects(self.native.variables(), self.program.n)

    @property
    def rows(self) -> np.ndarray:
        return _objects(self.native.linear_constraints(), self.program.m)

    def optimize(self, time_limit: float | None) -> Any:
        mathopt, program = load(_MODULE), self.program
        first = mathopt.ModelSolveParameters()
        if program.start is not None:
            hint = mathopt.SolutionHint(dict(zip(self.unknowns.tolist(), program.start.tolist(), strict=True)))
            if program.start_duals is not None:
                slopes = -np.concatenate(program.start_duals)
                hint.dual_values = dict(zip(self.rows.tolist(), slopes.tolist(), strict=True))
            first.solution_hints.append(hint)
        parameters = self.method.parameters(mathopt, time_limit)
        solver = mathopt.SolverType[self.method.solver]
        interrupter = None
        if self.method.solver != "GSCIP":  # which prints an error of its own for one
            interrupter = load("ortools.util.python.solve_interrupter").SolveInterrupter()
            stoppable(interrupter.interrupt)
        return mathopt.solve(self.native, solver, params=parameters, model_params=first, interrupter=interrupter)

    def read(self, solved: Any) -> SolverAnswer:
        if solved is None:
            raise NotSolved
        ended, reasons = solved.termination.reason, load(_MODULE).TerminationReason
        # The objective is bounded below, so "infeasible or unbounded" is infeasible.
        if ended in (reasons.INFEASIBLE, reasons.INFEASIBLE_OR_UNBOUNDED):
            return SolverAnswer(SolverClaim.INFEASIBLE)
        stopped = ended in (reasons.FEASIBLE, reasons.NO_SOLUTION_FOUND)
        claim = (
            SolverClaim.OPTIMAL if ended is reasons.OPTIMAL else SolverClaim.STOPPED if stopped else SolverClaim.FAILED
        )
        note = "" if ended is reasons.OPTIMAL else f"it says {ended.name.lower()}"
        if not solved.has_primal_feasible_solution():
            return SolverAnswer(claim, note)
        values = np.array(solved.variable_values(self.unknowns.tolist()))
        bound = solved.dual_bound()
        if self.program.is_integer or not solved.has_dual_feasible_solution():
            return SolverAnswer(claim, note, values, bound=bound)
        duals = self.program.rows.duals(solved.dual_values(self.rows.tolist()))
        return SolverAnswer(claim, note, values, *duals, bound=bound)

    def restate(self, program: SolverProgram) -> None:
        self.program = program
        sides = program.rows.lower.tolist(), program.rows.upper.tolist()
        for row, low, high in zip(self.rows.tolist(), *sides, strict=True):
            row.lower_bound, row.upper_bound = low, high
        sides = program.lower.tolist(), program.upper.tolist()
        for unknown, low, high in zip(self.unknowns.tolist(), *sides, strict=True):
            unknown.lower_bound, unknown.upper_bound = low, high

    def fingerprint(self, native: Any = None) -> str:
        return sha256(self.native.export_model().SerializeToString(deterministic=True)).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model as its proto, with whatever was added."""
        return vars(self) | {"native": self.native.export_model()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"native": load(_MODULE).Model.from_model_proto(state["native"])})


def _objects(some: Iterable[Any], n: int) -> np.ndarray:
    """The first n of some objects as an array."""
    return np.fromiter(islice(some, n), object)


def _proto(program: SolverProgram) -> Any:
    """Build the model from arrays, because MathOpt's own way makes one Python object per unknown."""
    model_pb2 = load("ortools.math_opt.model_pb2")
    proto, labels, rows = model_pb2.ModelProto(), program.labels, program.rows
    proto.variables.ids.extend(range(program.n))
    proto.variables.lower_bounds.extend(program.lower.tolist())
    proto.variables.upper_bounds.extend(program.upper.tolist())
    proto.variables.integers.extend(program.integer.tolist())
    linear = np.flatnonzero(program.linear)
    proto.objective.linear_coefficients.ids.extend(linear.tolist())
    proto.objective.linear_coefficients.values.extend(program.linear[linear].tolist())
    squares = np.flatnonzero(program.quadratic)
    proto.objective.quadratic_coefficients.row_ids.extend(squares.tolist())
    proto.objective.quadratic_coefficients.column_ids.extend(squares.tolist())
    proto.objective.quadratic_coefficients.coefficients.extend(program.quadratic[squares].tolist())
    entries = sparse.coo_array(rows.matrix)
    proto.linear_constraints.ids.extend(range(program.m))
    proto.linear_constraints.lower_bounds.extend(rows.lower.tolist())
    proto.linear_constraints.upper_bounds.extend(rows.upper.tolist())
    proto.linear_constraint_matrix.row_ids.extend(entries.row.tolist())
    proto.linear_constraint_matrix.column_ids.extend(entries.col.tolist())
    proto.linear_constraint_matrix.coefficients.extend(entries.data.tolist())
    if program.indicators is not None:
        for place, (binary, columns, data, right, name) in enumerate(program.indicators.terms()):
            one = proto.indicator_constraints[place]
            one.indicator_id, one.lower_bound, one.upper_bound, one.name = binary, -np.inf, right, name
            one.expression.ids.extend(columns)
            one.expression.values.extend(data)
    if labels is not None:
        proto.name = labels.title
        proto.variables.names.extend(labels.unknowns)
        proto.linear_constraints.names.extend(labels.rows)
    return proto
