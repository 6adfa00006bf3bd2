"""The solver model of CVXPY, for relaxations, with any solver that it finds."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError, ProblemError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import Route, Run, SolverModel
from pgsr.models.gurobi_ import REMEDY as GUROBI_REMEDY
from pgsr.models.gurobi_ import Gurobi
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.cvxpy_ import CvxpyModel, claim_of, has_point, out_of_time, own_bound
from pgsr.models.optional import load, not_installed
from pgsr.models.program import Kind, SolverProgram
from pgsr.models.window import Pieces
from pgsr.problems.problem import Problem

_BOTH = frozenset({Kind.LP, Kind.QP})
_LINEAR = frozenset({Kind.LP})
_INTEGER = frozenset({Kind.MILP, Kind.MIQP})


@dataclass(frozen=True)
class _Known:
    takes: frozenset[Kind]
    package: str
    limit: str | None
    """What the solver calls its time limit, None if it has none; with a point where it is an option among others."""
    tolerances: tuple[str, ...] = ()
    """What it calls those of continuous programs."""
    gap: str | None = None
    """What it calls the gap of integer programs at which it stops; 0 makes it go on until nothing is left."""
    starts: frozenset[Kind] = frozenset()
    """The kinds of programs that it solves from given values."""


SOLVERS: Mapping[str, _Known] = {
    "CLARABEL": _Known(_BOTH, "clarabel", "time_limit", ("tol_gap_abs", "tol_gap_rel", "tol_feas")),
    "HIGHS": _Known(
        _BOTH | {Kind.MILP},
        "'highspy>=1.16'",
        "time_limit",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        "mip_rel_gap",
        frozenset({Kind.MILP}),
    ),
    "OSQP": _Known(_BOTH, "osqp", "time_limit", ("eps_abs", "eps_rel"), starts=_BOTH),
    "PIQP": _Known(_BOTH, "piqp", None, ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")),
    "SCS": _Known(_BOTH, "scs", "time_limit_secs", ("eps_abs", "eps_rel"), starts=_BOTH),
    "GUROBI": _Known(
        _BOTH | _INTEGER,
        "gurobipy",
        "TimeLimit",
        ("FeasibilityTol", "OptimalityTol", "BarConvTol"),
        "MIPGap",
        _INTEGER,
    ),
    "SCIP": _Known(_INTEGER, "pyscipopt", "scip_params.limits/time", gap="scip_params.limits/gap"),
    "MOSEK": _Known(_BOTH, "mosek", None, ("eps",)),
    "QOCO": _Known(_BOTH, "qoco", None, ("abstol", "reltol")),
    "SCIPY": _Known(
        _LINEAR | {Kind.MILP},
        "scipy",
        None,
        ("scipy_options.primal_feasibility_tolerance", "scipy_options.dual_feasibility_tolerance"),
        "scipy_options.mip_rel_gap",
    ),
    # For graphics processors, and not run by us: kinds and names are those of CVXPY's own interface, which passes
    # CUCLARABEL no options.
    "CUOPT": _Known(_BOTH | {Kind.MILP}, "cuopt-cu12", "time_limit", ("optimality",), "mip_relative_gap"),
    "CUCLARABEL": _Known(_BOTH, "cupy-cuda12x", None),
    "GLOP": _Known(_LINEAR, "ortools", "time_limit_sec"),
    "PDLP": _Known(_LINEAR, "ortools", "time_limit_sec"),
}
"""Solvers whose ways are known here. Any other that CVXPY finds installed is used without a time limit of its own."""

VERTICES = ("HIGHS", "SCIP", "GUROBI", "SCIPY", "GLOP")
"""Solvers whose solutions of linear programs are vertices; CUOPT's may be."""

FIRST_ORDER = ("OSQP", "SCS", "PDLP")
"""Solvers that converge slowly on programs with repeated columns."""

REMEDIES: Mapping[str, str] = {
    "GUROBI": GUROBI_REMEDY,
    "MOSEK": "put a licence (free for academics, mosek.com) where MOSEKLM_LICENSE_FILE points, or use another method",
}
"""What to do where a commercial solver finds no licence."""

OSQP_TOLERANCES: Mapping[str, object] = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000}
"""The tolerances with which OSQP's answers pass our checks; with the 1e-5 that CVXPY asks for most of them do not."""


@dataclass(frozen=True, repr=False)
class Cvxpy(SolverModel):
    """Solves a problem by `solver`, in integers where the solver takes them.

    GUROBI and SCIP take integer squares as they stand; HIGHS and SCIPY take integer linear programs, so they solve M_H
    and its like by unit steps. All others solve the relaxation, and an integer problem is rounded to the nearest
    integers; solvers of linear programs only (GLOP, PDLP) solve it by unit steps.

    Args:
        solver: name as CVXPY spells it: CLARABEL, HIGHS, OSQP, PIQP, SCS, QOCO, GUROBI, MOSEK, SCIPY, GLOP, PDLP,
            CUOPT and CUCLARABEL for graphics processors, or any other that it finds installed.
        options, tolerance: as in `SolverModel`; OSQP gets `OSQP_TOLERANCES` where they say nothing. GLOP and PDLP take
            a tolerance through `MathOpt` alone.
        own_tolerances: whether OSQP keeps the tolerances that CVXPY asks it for instead; they are too wide for most of
            our checks.

    Status: OPTIMAL or FEASIBLE where integers are solved as such; where they are rounded RELAXED, or OPTIMAL if our
    exact test proves it; OPTIMAL for a relaxation; FAILED where our own residuals or the gap refute the solver's
    "solved"; NOT_INSTALLED, UNLICENSED, UNSUPPORTED, TIMED_OUT.

    Example:
        >>> Cvxpy("CLARABEL")
        Cvxpy('CLARABEL')
    """

    solver: str = "CLARABEL"
    own_tolerances: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known = SOLVERS.get(self.solver)
        if self.tolerance is not None and (known is None or not (known.tolerances or known.gap)):
            other = "MathOpt" if known is not None else "options="
            raise MethodError(f"{self.solver} has no tolerance that CVXPY sets; use {other}")
        passed = ("parameters_proto", "time_limit_sec")
        if self.solver in ("GLOP", "PDLP") and not set(self.options) <= set(passed):
            raise MethodError(f"CVXPY passes {self.solver} {' and '.join(passed)} alone; give other options to MathOpt")
        if known is not None:
            return
        cvxpy = load("cvxpy")
        others = [] if cvxpy is None else [name for name in cvxpy.installed_solvers() if name not in SOLVERS]
        if self.solver not in others:
            raise MethodError(f"Cvxpy({self.solver!r}) is unknown; use one of {', '.join([*SOLVERS, *others])}")

    @property
    def name(self) -> str:
        return self.solver

    @property
    def takes(self) -> frozenset[Kind]:
        return SOLVERS[self.solver].takes if self.solver in SOLVERS else _BOTH

    @property
    def finds_vertices(self) -> bool:
        return self.solver in VERTICES

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        first_order = self.solver in FIRST_ORDER and not integers
        return pieces.linked(start) if first_order else super().in_pieces(pieces, integers, start)

    @property
    def starts(self) -> frozenset[Kind]:
        return SOLVERS[self.solver].starts if self.solver in SOLVERS else frozenset()

    def unavailable(self) -> Result | None:
        cvxpy = load("cvxpy")
        if cvxpy is None:
            return not_installed("cvxpy")
        if self.solver not in cvxpy.installed_solvers():
            return not_installed(SOLVERS[self.solver].package, self.solver)
        return None

    def too_large(self, program: SolverProgram) -> str | None:
        return Gurobi().too_large(program) if self.solver == "GUROBI" else None

    def native_model(self, problem: Problem) -> CvxpyModel:
        route = self.route(problem)
        if route is Route.WINDOW:
            raise ProblemError(f"{self.solver} takes no squares of integers; take Cvxpy('CLARABEL').model(problem)")
        stated = problem if route is Route.DIRECT else problem.relaxed()
        return CvxpyModel(problem, stated, repr(self), self.solver, self.solver_options)

    def solver_options(self, time_limit: float | None, integer: bool) -> dict[str, Any]:
        """Collect the options for the solver: the user's, and ours where these say nothing."""
        options: dict[str, Any] = {}
        if self.solver == "OSQP":
            options["polishing"] = False  # its own default; with it OSQP prints lines that nobody asked for
            options |= {} if self.own_tolerances else OSQP_TOLERANCES
        known = SOLVERS.get(self.solver, _Known(_BOTH, "", None))
        ours = {} if known.limit is None or time_limit is None else {known.limit: time_limit}
        if integer and known.gap is not None:
            ours[known.gap] = self.tolerance or 0.0
        elif not integer and self.tolerance is not None:
            ours |= dict.fromkeys(known.tolerances, self.tolerance)
        for name, value in ours.items():
            group, _, inside = name.partition(".")
            options[group] = {**options.get(group, {}), inside: value} if inside else value
        nested = {key: {**options[key], **value} for key, value in self.options.items()
                  if isinstance(value, Mapping) and isinstance(options.get(key), Mapping)}  # fmt: skip
        return {**options, **self.options, **nested}

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        cvxpy = load("cvxpy")
        start = time.perf_counter()
        model, v, rows, order = _model(cvxpy, program)
        options, warm = self.solver_options(time_limit, program.is_integer), program.start is not None
        data, chain, inverse = model.get_problem_data(self.solver, solver_opts=options)
        if program.start is not None and self.solver != "GUROBI":
            model._solver_cache[self.solver] = _PAST[self.solver](program, data, options)
        formulated = time.perf_counter()
        try:
            raw = chain.solve_via_data(model, data, warm_start=warm, solver_opts=options)
        except Exception as error:
            if self.solver in REMEDIES and "icense" in str(error):
                refusal = str(error).splitlines()[0]
                raise Stopped(Status.UNLICENSED, f"{self.solver} refuses: {refusal}; {REMEDIES[self.solver]}") from None
            raise
        solved = time.perf_counter()
        spent = solved - formulated
        late = out_of_time(spent, time_limit)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a solution may be inaccurate: we judge it ourselves
                model.unpack_results(raw, chain, inverse)
        except cvxpy.SolverError:  # so CVXPY says, too, where a solver had no point at its limit
            if not late:
                raise
            return Run(Answer(Claim.STOPPED), formulated - start, spent)
        status = str(model.status)
        claim = claim_of(self.solver, status)
        if late and claim is not Claim.INFEASIBLE:
            claim = Claim.STOPPED
        note = "" if status == cvxpy.OPTIMAL else f"it says {status}"
        above = _dual(order)  # of the order of cells first, then of the bounds
        above = None if above is None else above[: len(program.order_right)]
        if self.solver == "HIGHS" and not has_point(self.solver, raw["info"]):
            return Run(Answer(claim, note), formulated - start, spent)
        if program.is_integer:
            return Run(Answer(claim, note, v.value, bound=own_bound(self.solver, model)), formulated - start, spent)
        answer = Answer(claim, note, v.value, _dual(rows), above)
        return Run(answer, formulated - start, spent)


def _model(cvxpy: Any, program: SolverProgram) -> tuple[Any, Any, Any, Any]:
    """Build the model with one equality and one inequality at most, because CVXPY compiles few large ones faster."""
    v = _unknowns(cvxpy, program)
    rows = program.matrix.tocsc() @ v == program.right if len(program.right) else None
    left, right = [program.order], [program.order_right]
    for bound, sign in ((program.lower, -1.0), (program.upper, 1.0)):
        there = np.flatnonzero(np.isfinite(bound))
        one = np.full(len(there), sign)
        left.append(sparse.csr_array((one, (np.arange(len(there)), there)), shape=(len(there), program.n)))
        right.append(sign * bound[there])
    above, limits = sparse.csr_array(sparse.vstack(left)), np.concatenate(right)
    if not len(program.right) and not len(limits):  # SCS takes no program without any; this one holds at some optimum
        above, limits = sparse.eye_array(program.n, format="csr"), program.reach[1].astype(float)
    order = above.tocsc() @ v <= limits if len(limits) else None
    constraints = [constraint for constraint in (rows, order) if constraint is not None]
    objective = 0
    if program.is_quadratic:
        if (program.quadratic == 1).all():
            objective += cvxpy.sum_squares(v)
        else:  # not the squares of scaled cells: CVXPY would add a variable for each
            objective += cvxpy.quad_form(v, sparse.diags_array(program.quadratic, format="csc"), assume_PSD=True)
    if program.linear.any():
        objective += program.linear @ v
    return cvxpy.Problem(cvxpy.Minimize(objective), constraints), v, rows, order


def _unknowns(cvxpy: Any, program: SolverProgram) -> Any:
    """Make the vector of unknowns: the cells, which may be integer, and the steps that were added, which are real."""
    n = int(program.integer.sum())
    assert program.integer[:n].all(), "cells come first"
    if n in (0, program.n):
        parts = [cvxpy.Variable(program.n, integer=n > 0)]
    else:
        parts = [cvxpy.Variable(n, integer=True), cvxpy.Variable(program.n - n)]
    if program.start is not None:  # where CVXPY hands these on to a solver, as to Gurobi
        for part, values in zip(parts, np.split(program.start, [parts[0].size]), strict=False):
            part.save_value(values)
    return parts[0] if len(parts) == 1 else cvxpy.hstack(parts)


def _dual(constraint: Any) -> np.ndarray | None:
    if constraint is None:
        return np.zeros(0)
    value = constraint.dual_value
    return None if value is None else np.atleast_1d(np.asarray(value, float))


def _past_of_highs(program: SolverProgram, data: Any, options: Any) -> Any:
    """What CVXPY keeps of a solve with HiGHS, from which the next one starts."""
    del data, options
    solution = load("highspy").HighsSolution()
    solution.col_value = np.asarray(program.start).tolist()
    return None, None, {"model_status": "kOptimal", "solution": solution}


def _past_of_scs(program: SolverProgram, data: Any, options: Any) -> Any:
    """What CVXPY keeps of a solve with SCS: values, duals and slacks."""
    del options
    y = _all_duals(program, data["A"].shape[0])
    return {"x": program.start, "y": y, "s": data["b"] - data["A"] @ program.start}


def _past_of_osqp(program: SolverProgram, data: Any, options: Any) -> Any:
    """What CVXPY keeps of a solve with OSQP: a solver with its program, and what it found."""
    n_rows = len(data["b"]) + len(data["G"])
    rows = sparse.csc_matrix(sparse.vstack([data["A"], data["F"]]))
    low = np.concatenate([data["b"], np.full(len(data["G"]), -np.inf)])
    solver = load("osqp").OSQP()
    squares = sparse.csc_matrix(sparse.triu(data["P"]))
    solver.setup(squares, data["q"], rows, low, np.concatenate([data["b"], data["G"]]), verbose=False, **options)
    found = SimpleNamespace(x=program.start, y=_all_duals(program, n_rows), info=SimpleNamespace(status_val=1))
    return solver, data, found


def _all_duals(program: SolverProgram, n_rows: int) -> np.ndarray:
    """The duals to start from, of equalities, inequalities and bounds; 0 where none are known."""
    y = np.zeros(n_rows)
    if program.start_duals is not None:
        low, high = np.isfinite(program.lower), np.isfinite(program.upper)
        of_bounds = program.start_bound_duals
        of_sides = np.maximum(-of_bounds[low], 0.0), np.maximum(of_bounds[high], 0.0)
        known = np.concatenate([*program.start_duals, *of_sides])
        y[: len(known)] = known
    return y


_PAST: Mapping[str, Callable[[SolverProgram, Any, Any], Any]] = {
    "HIGHS": _past_of_highs,
    "SCS": _past_of_scs,
    "OSQP": _past_of_osqp,
}
"""What CVXPY would keep of a solve that had ended at the start; it starts these solvers from that alone."""
