"""The solver model of CVXPY, for relaxations, with any solver that it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.method import Result
from pgsr.models.adapter import SolverModel
from pgsr.models.cvxpy_program import CvxpyProgram
from pgsr.models.gurobi_ import Gurobi
from pgsr.models.optional import load, missing, not_installed
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.window import Pieces

_BOTH = frozenset({ProgramKind.LP, ProgramKind.QP})
_LINEAR = frozenset({ProgramKind.LP})
_INTEGER = frozenset({ProgramKind.MILP, ProgramKind.MIQP})


@dataclass(frozen=True)
class _Known:
    takes: frozenset[ProgramKind]
    package: str
    limit: str | None
    """What the solver calls its time limit, None if it has none; with a point where it is an option among others."""
    tolerances: tuple[str, ...] = ()
    """What it calls those of continuous programs."""
    gap: str | None = None
    """What it calls the gap of integer programs at which it stops; 0 makes it go on until nothing is left."""
    starts: frozenset[ProgramKind] = frozenset()
    """The kinds of programs that it solves from given values."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The options with which most answers pass our checks, where its own or CVXPY's tolerances are wider."""


SOLVERS: Mapping[str, _Known] = {
    "CLARABEL": _Known(
        _BOTH,
        "clarabel",
        "time_limit",
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        options={"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10},  # both are absolute where an optimum is below 1
    ),
    "HIGHS": _Known(
        _BOTH | {ProgramKind.MILP},
        "'highspy>=1.16'",
        "time_limit",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        "mip_rel_gap",
    ),
    "OSQP": _Known(
        _BOTH,
        "osqp",
        "time_limit",
        ("eps_abs", "eps_rel"),
        # Its own default is no polishing; with it OSQP prints lines that nobody asked for.
        options={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "polishing": False},
    ),
    "PIQP": _Known(
        _BOTH,
        "piqp",
        None,
        ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        options={"eps_duality_gap_abs": 1e-10, "eps_duality_gap_rel": 1e-10},
    ),
    "SCS": _Known(
        _BOTH,
        "scs",
        "time_limit_secs",
        ("eps_abs", "eps_rel"),
        starts=_BOTH,
        options={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
    ),
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
    "QOCO": _Known(_BOTH, "qoco", None, ("abstol", "reltol"), options={"abstol": 1e-9, "reltol": 1e-9}),
    "SCIPY": _Known(
        _LINEAR | {ProgramKind.MILP},
        "scipy",
        None,
        ("scipy_options.primal_feasibility_tolerance", "scipy_options.dual_feasibility_tolerance"),
        "scipy_options.mip_rel_gap",
    ),
    # For graphics processors, and not run by us: kinds and names are those of CVXPY's own interface, which passes
    # CUCLARABEL no options.
    "CUOPT": _Known(_BOTH | {ProgramKind.MILP}, "cuopt-cu12", "time_limit", ("optimality",), "mip_relative_gap"),
    "CUCLARABEL": _Known(_BOTH, "cupy-cuda12x", None),
    "GLOP": _Known(_LINEAR, "ortools", "time_limit_sec"),
    "PDLP": _Known(_LINEAR, "ortools", "time_limit_sec"),
}
"""Solvers whose ways are known here. Any other that CVXPY finds installed is used without a time limit of its own."""

VERTICES = ("HIGHS", "GUROBI", "SCIPY", "GLOP")
"""Solvers whose solutions of linear programs are vertices; CUOPT's may be."""

FIRST_ORDER = ("OSQP", "SCS", "PDLP")
"""Solvers that converge slowly on programs with repeated columns."""


@dataclass(frozen=True, repr=False)
class Cvxpy(SolverModel):
    """Solves a problem by `solver`, in integers where the solver takes them.

    GUROBI and SCIP take integer squares as they stand; HIGHS and SCIPY take integer linear programs, so they solve M_H
    and its like by unit steps. All others solve the relaxation, and an integer problem is rounded to the nearest
    integers; solvers of linear programs only (GLOP, PDLP) solve it by unit steps.

    Args:
        solver: name as CVXPY spells it: CLARABEL, HIGHS, OSQP, PIQP, SCS, QOCO, GUROBI, MOSEK, SCIPY, GLOP, PDLP,
            CUOPT and CUCLARABEL for graphics processors, or any other that it finds installed.
        options, tolerance: as in `SolverModel`; `SOLVERS` has what a solver gets where these say nothing.
            GLOP and PDLP take a tolerance through `MathOpt` alone.

    Status: OPTIMAL or FEASIBLE where integers are solved as such. Where they are rounded, RELAXED if that breaks a
    condition, OPTIMAL if our exact test proves it, else FEASIBLE. OPTIMAL for a relaxation; FAILED where our own
    residuals or the gap refute the solver's "solved"; NOT_INSTALLED, UNLICENSED, UNSUPPORTED, TIMED_OUT.

    Example:
        >>> Cvxpy("CLARABEL")
        Cvxpy('CLARABEL')
    """

    solver: str = "CLARABEL"

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
    def takes(self) -> frozenset[ProgramKind]:
        return SOLVERS[self.solver].takes if self.solver in SOLVERS else _BOTH

    @property
    def finds_vertices(self) -> bool:
        return self.solver in VERTICES

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        first_order = self.solver in FIRST_ORDER and not integers
        return pieces.linked(start) if first_order else super().in_pieces(pieces, integers, start)

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return SOLVERS[self.solver].starts if self.solver in SOLVERS else frozenset()

    def unavailable(self) -> Result | None:
        cvxpy = load("cvxpy")
        if cvxpy is None:
            return missing("cvxpy")
        if self.solver not in cvxpy.reductions.solvers.defines.INSTALLED_SOLVERS:  # at its import, as CVXPY asks, too
            package = SOLVERS[self.solver].package
            module = package.strip("'").partition("-" if "-" in package else ">")[0]
            return missing(module, package, self.solver) or not_installed(package, self.solver)
        return None

    def too_large(self, program: SolverProgram) -> str | None:
        return Gurobi().too_large(program) if self.solver == "GUROBI" else None

    @property
    def integrality(self) -> float:
        return 1e-5 if self.solver == "GUROBI" else super().integrality

    def build(self, program: SolverProgram) -> CvxpyProgram:
        return CvxpyProgram(program, self.solver, self.solver_options)

    def solver_options(self, time_limit: float | None, integer: bool) -> dict[str, Any]:
        """Collect the options for the solver: the user's, and ours where these say nothing."""
        known = SOLVERS.get(self.solver, _Known(_BOTH, "", None))
        options: dict[str, Any] = dict(known.options)
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
