"""The solver model of OR-tools' MathOpt."""

import datetime
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError, ProblemError
from pgsr.methods.method import Result
from pgsr.models.adapter import Route, Run, SolverModel
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.mathopt_ import MathOptModel
from pgsr.models.optional import load, not_installed
from pgsr.models.program import Kind, SolverProgram
from pgsr.models.window import Pieces
from pgsr.problems.problem import Problem

_MODULE = "ortools.math_opt.python.mathopt"

SOLVERS: Mapping[str, frozenset[Kind]] = {
    "GSCIP": frozenset({Kind.MILP, Kind.MIQP}),
    "PDLP": frozenset({Kind.LP, Kind.QP}),
    "GLOP": frozenset({Kind.LP}),
    "HIGHS": frozenset({Kind.LP, Kind.MILP}),
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
    def takes(self) -> frozenset[Kind]:
        return SOLVERS[self.solver]

    @property
    def finds_vertices(self) -> bool:
        return self.solver != "PDLP"

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        return pieces.linked(start) if self.solver == "PDLP" else super().in_pieces(pieces, integers, start)

    @property
    def starts(self) -> frozenset[Kind]:
        return self.takes if self.solver == "PDLP" else frozenset(kind for kind in self.takes if kind.integer)

    def unavailable(self) -> Result | None:
        return not_installed("ortools") if load(_MODULE) is None else None

    def native_model(self, problem: Problem) -> MathOptModel:
        route = self.route(problem)
        if route is Route.WINDOW:
            raise ProblemError(f"{self.solver} takes no squares of integers; give MathOpt('GSCIP').model(problem)")
        stated = problem.relaxed() if route is Route.RELAXED else problem
        parameters = lambda limit: self._parameters(load(_MODULE), limit)  # noqa: E731
        return MathOptModel(problem, stated, repr(self), self.solver, parameters)

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        mathopt = load(_MODULE)
        start = time.perf_counter()
        model = mathopt.Model.from_model_proto(_proto(program))
        parameters = self._parameters(mathopt, time_limit)
        formulated = time.perf_counter()
        first = mathopt.ModelSolveParameters()
        if program.start is not None:
            hint = mathopt.SolutionHint(dict(zip(model.variables(), program.start.tolist(), strict=True)))
            if program.start_duals is not None:
                slopes = -np.concatenate(program.start_duals)
                hint.dual_values = dict(zip(model.linear_constraints(), slopes.tolist(), strict=True))
            first.solution_hints.append(hint)
        answer = mathopt.solve(model, mathopt.SolverType[self.solver], params=parameters, model_params=first)
        spent = time.perf_counter() - formulated
        return Run(_answer(mathopt, answer, model, program), formulated - start, spent)

    def _parameters(self, mathopt: Any, time_limit: float | None) -> Any:
        limit = None if time_limit is None else datetime.timedelta(seconds=time_limit)
        near = self.tolerance
        exact = {"relative_gap_tolerance": near or 0.0, "absolute_gap_tolerance": 0.5} if self.takes_integers else {}
        parameters = mathopt.SolveParameters(time_limit=limit, **exact)
        own: dict[str, Any] = {}
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


def _proto(program: SolverProgram) -> Any:
    """Build the model from arrays, because MathOpt's own way makes one Python object per unknown."""
    model_pb2 = load("ortools.math_opt.model_pb2")
    proto = model_pb2.ModelProto()
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
    rows = sparse.coo_array(sparse.csr_array(sparse.vstack([program.matrix, program.order])))
    below = np.concatenate([program.right.astype(float), np.full(len(program.order_right), -np.inf)])
    proto.linear_constraints.ids.extend(range(program.m))
    proto.linear_constraints.lower_bounds.extend(below.tolist())
    proto.linear_constraints.upper_bounds.extend([*program.right.tolist(), *program.order_right.tolist()])
    proto.linear_constraint_matrix.row_ids.extend(rows.row.tolist())
    proto.linear_constraint_matrix.column_ids.extend(rows.col.tolist())
    proto.linear_constraint_matrix.coefficients.extend(rows.data.tolist())
    return proto


def _answer(mathopt: Any, answer: Any, model: Any, program: SolverProgram) -> Answer:
    ended, reasons = answer.termination.reason, mathopt.TerminationReason
    # The objective is bounded below, so "infeasible or unbounded" is infeasible.
    if ended in (reasons.INFEASIBLE, reasons.INFEASIBLE_OR_UNBOUNDED):
        return Answer(Claim.INFEASIBLE)
    stopped = ended in (reasons.FEASIBLE, reasons.NO_SOLUTION_FOUND)
    claim = Claim.OPTIMAL if ended is reasons.OPTIMAL else Claim.STOPPED if stopped else Claim.FAILED
    note = "" if ended is reasons.OPTIMAL else f"it says {ended.name.lower()}"
    if not answer.has_primal_feasible_solution():
        return Answer(claim, note)
    values = np.array(answer.variable_values(list(model.variables())))
    if program.is_integer:
        return Answer(claim, note, values, bound=answer.dual_bound())
    if not answer.has_dual_feasible_solution():
        return Answer(claim, note, values)
    duals = -np.array(answer.dual_values(list(model.linear_constraints())))
    m = len(program.right)
    return Answer(claim, note, values, duals[:m], duals[m:], bound=answer.dual_bound())
