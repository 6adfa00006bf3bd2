"""The solver model of qpsolvers, for relaxed squares."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError
from pgsr.methods.method import Result
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing, not_installed
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.problems.problem import Problem

LARGEST_DENSE = 2_000
"""Most unknowns, and most rows and bounds, of solvers that take dense matrices: at most three of 32 MB each."""


@dataclass(frozen=True)
class _Known:
    options: Mapping[str, object]
    """The options with which most answers pass our checks; the solvers' own tolerances are 1e-3 to 1e-6."""
    limit: str | None = None
    """What the solver calls its time limit, None if it has none."""
    dense: bool = False
    strict: bool = False
    """Whether every unknown needs a square in the objective."""
    starts: bool = False
    """Whether it takes values to start from."""
    bounds: bool = False
    """Whether it knows bounds of unknowns, which are rows for others."""

    @property
    def tolerances(self) -> list[str]:
        """What the solver calls its tolerances: the options that are small numbers here, but 0 and of infeasibility."""
        small = [name for name, value in self.options.items() if isinstance(value, float) and value > 0]
        return [name for name in small if not name.endswith("_inf")]


SOLVERS: Mapping[str, _Known] = {
    "proxqp": _Known(
        {
            "eps_abs": 1e-9,
            "eps_rel": 0.0,
            "max_iter": 1_000,
            "check_duality_gap": True,
            "eps_duality_gap_abs": 1e-9,
            "eps_duality_gap_rel": 1e-9,
            "primal_infeasibility_solving": True,  # without it, programs with far-off optima are taken for infeasible
        },
        starts=True,
        bounds=True,
    ),
    "qpalm": _Known(  # at 1e-5, its own limit, it takes programs with far-off optima for infeasible
        {
            "eps_abs": 1e-9,
            "eps_rel": 1e-9,
            "eps_prim_inf": 1e-12,
            "eps_dual_inf": 1e-12,
            "max_iter": 1_000_000,
        },
        "time_limit",
    ),
    "cvxopt": _Known({"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}),
    "daqp": _Known({"primal_tol": 1e-9, "iter_limit": 1_000_000}, "time_limit", dense=True, strict=True, bounds=True),
    "quadprog": _Known({}, dense=True, strict=True),
}
"""Solvers whose ways are known here, by their names in qpsolvers. Linear programs make all of them stumble."""

PACKAGES: Mapping[str, str] = {"proxqp": "proxsuite"}
"""What pip calls the package of a solver where it is not the solver's name."""


@dataclass(frozen=True, repr=False)
class QpSolvers(SolverModel):
    """Solves the relaxation with `solver` through qpsolvers; integer problems by rounding it to the nearest integers.

    proxqp and qpalm are methods of multipliers, cvxopt is an interior-point method, all three on sparse matrices; daqp
    and quadprog are active-set methods on dense ones, exact to the last digits and slow beyond a thousand unknowns.

    Args:
        solver: name as qpsolvers spells it: proxqp, qpalm, cvxopt, daqp or quadprog.
        options, tolerance: as in `SolverModel`; quadprog has no tolerance.

    Status: RELAXED for an integer problem (OPTIMAL if our exact test proves it), OPTIMAL for its relaxation; FAILED
    where our own residuals or the gap refute the solver's "solved"; UNSUPPORTED, for example where daqp or quadprog get
    unknowns without weight; TOO_LARGE; NOT_INSTALLED. proxqp, cvxopt and quadprog know no time limit, so that only
    `compare` stops them.

    Example:
        >>> QpSolvers("quadprog")
        QpSolvers('quadprog')
    """

    solver: str = "proxqp"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in SOLVERS:
            raise MethodError(f"QpSolvers({self.solver!r}) is unknown; use one of {', '.join(SOLVERS)}")
        if self.tolerance is not None and not SOLVERS[self.solver].tolerances:
            raise MethodError(f"{self.solver} has no tolerance, its answers are exact but for rounding; leave it out")

    @property
    def name(self) -> str:
        return self.solver

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.QP})

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return self.takes if SOLVERS[self.solver].starts else frozenset()

    def unavailable(self) -> Result | None:
        qpsolvers = load("qpsolvers")
        if qpsolvers is None:
            return missing("qpsolvers")
        if self.solver not in qpsolvers.available_solvers:
            package = PACKAGES.get(self.solver, self.solver)
            return missing(package, what=self.solver) or not_installed(package, self.solver)
        return None

    def supports(self, problem: Problem) -> str | None:
        if SOLVERS[self.solver].strict and not problem.measured.all():
            return f"{self.solver} needs a square of every unknown, and regions of this problem have weight 0"
        return super().supports(problem)

    def too_large(self, program: SolverProgram) -> str | None:
        if not SOLVERS[self.solver].dense:
            return None
        n_bounds = int(np.isfinite(program.lower).sum() + np.isfinite(program.upper).sum())
        if max(program.n, program.m, n_bounds) <= LARGEST_DENSE:
            return None
        return (
            f"{program.n:,} unknowns and {program.m:,} rows; {self.solver} takes dense matrices, which are built up to "
            f"{LARGEST_DENSE:,} of each"
        )

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        qpsolvers, known = load("qpsolvers"), SOLVERS[self.solver]
        start = time.perf_counter()
        near = {} if self.tolerance is None else dict.fromkeys(known.tolerances, self.tolerance)
        options = {**known.options, **near, **self.options}
        if time_limit is not None and known.limit is not None:
            options.setdefault(known.limit, time_limit)
        if program.start_duals is not None:  # beside values, as only proxqp takes them
            bounded = np.isfinite(program.lower).any() or np.isfinite(program.upper).any()
            of_bounds = [program.start_bound_duals] if bounded else []
            options |= {"y": program.start_duals[0], "z": np.concatenate([program.start_duals[1], *of_bounds])}
        problem = qpsolvers.Problem(*_arrays(program, known))
        formulated = time.perf_counter()
        solution = qpsolvers.solve_problem(problem, self.solver, initvals=program.start, **options)
        spent = time.perf_counter() - formulated
        out_of_time = time_limit is not None and spent >= 0.95 * time_limit
        claim = SolverClaim.OPTIMAL if solution.found else SolverClaim.STOPPED if out_of_time else SolverClaim.FAILED
        note = "" if solution.found else "it says not found"
        answer = SolverAnswer(claim, note, solution.x, *_duals(solution, program))
        return Run(answer, formulated - start, spent)


def _arrays(program: SolverProgram, known: _Known) -> tuple[Any, ...]:
    """Write the program as 1/2 x P x + q x with G x <= h, A x = b, lower <= x <= upper; None for what is not there.

    Where bounds are rows, they are added to G here, the finite ones alone: qpsolvers makes rows of infinite bounds,
    too, with a right-hand side of 1e10.
    """
    handed = (lambda matrix: matrix.toarray()) if known.dense else sparse.csc_matrix
    squares = handed(sparse.diags_array(2.0 * program.quadratic, format="csc"))
    order, right = program.order, program.order_right.astype(float)
    bounded = [np.isfinite(bounds) for bounds in (program.lower, program.upper)]
    lower, upper = (
        bounds if known.bounds and finite.any() else None
        for bounds, finite in zip((program.lower, program.upper), bounded, strict=True)
    )
    if not known.bounds:
        unknown = sparse.csr_array(sparse.eye_array(program.n))
        order = sparse.vstack([order, -unknown[bounded[0]], unknown[bounded[1]]])
        right = np.concatenate([right, -program.lower[bounded[0]], program.upper[bounded[1]]])
    above = (handed(order), right) if len(right) else (None, None)
    rows = (handed(program.matrix), program.right.astype(float)) if len(program.right) else (None, None)
    return (squares, program.linear, *above, *rows, lower, upper)


def _duals(solution: Any, program: SolverProgram) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The duals of equalities and inequalities, whose signs in qpsolvers are ours; empty where there are none."""
    asked = (solution.y, len(program.right)), (solution.z, len(program.order_right))
    found = [np.zeros(0) if not n else None if dual is None else np.asarray(dual, float)[:n] for dual, n in asked]
    return found[0], found[1]
