"""The solver model of FICO Xpress, for integer and continuous programs."""

import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing
from pgsr.models.program import ProgramKind, SolverProgram

COMMUNITY_QUADRATIC_LIMIT = 200
"""Most unknowns and rows together with a quadratic objective under the licence that comes with the PyPI package."""

COMMUNITY_LIMIT = 5_000
"""Most unknowns and rows together under the same licence with a linear objective."""

REMEDY = "let XPAUTH_PATH name a full licence (free for academics, fico.com), or use another method"


@dataclass(frozen=True, repr=False)
class Xpress(SolverModel):
    """Solves the program, integer or continuous, linear or quadratic, with FICO Xpress.

    Status: OPTIMAL or FEASIBLE; TOO_LARGE where the bundled Community licence is too small, known before the solve;
    UNLICENSED; NOT_INSTALLED; TIMED_OUT.
    """

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset(ProgramKind)

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP, ProgramKind.MIQP})

    def unavailable(self) -> Result | None:
        return missing("xpress")

    def too_large(self, program: SolverProgram) -> str | None:
        limit = COMMUNITY_QUADRATIC_LIMIT if program.is_quadratic else COMMUNITY_LIMIT
        if license_file() is not None or program.n + program.m <= limit:
            return None
        return (
            f"{program.n:,} unknowns and {program.m:,} rows; the licence bundled with xpress allows {limit:,} of both "
            f"together with a {'quadratic' if program.is_quadratic else 'linear'} objective; {REMEDY}"
        )

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        xpress = load("xpress")
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the licence is the Community's: `python -m pgsr.models` says so
                model = xpress.problem()
            model.controls.outputlog = 0
            # Objectives are integers, and the default gap of 1e-4 would stop short of the optimum.
            controls = {"miprelstop": self.tolerance or 0.0}
            if not program.is_integer:
                controls |= dict.fromkeys(("bargapstop", "optimalitytol"), self.tolerance or 1e-9)
            for name, value in {**controls, **self.options}.items():
                setattr(model.controls, name, value)
            if time_limit is not None:
                model.controls.timelimit = time_limit
            model.loadMIQP(**_arrays(program))
            if program.start is not None:
                model.addMipSol(program.start.tolist())
            formulated = time.perf_counter()
            model.optimize()
        except (xpress.SolverError, xpress.ModelError, xpress.InterfaceError) as error:
            if "too many rows and columns" in str(error):
                raise Stopped(Status.TOO_LARGE, f"Xpress refuses: {error}; {REMEDY}") from None
            if "icense" in str(error):
                raise Stopped(Status.UNLICENSED, f"Xpress refuses: {error}; {REMEDY}") from None
            raise
        return Run(_answer(xpress, model, program), formulated - start, time.perf_counter() - formulated)


def license_file() -> Path | None:
    """The licence that Xpress would read besides the bundled one, or None."""
    named = os.environ.get("XPAUTH_PATH")
    return Path(named) if named and Path(named).is_file() else None


def _arrays(program: SolverProgram) -> dict[str, Any]:
    """The program as Xpress loads it: columns one after the other, infinity written as 1e20, 1/2 x Q x + c x."""
    columns = sparse.csc_array(sparse.vstack([program.matrix, program.order]))
    finite = lambda bounds: np.clip(bounds, -1e20, 1e20).tolist()  # noqa: E731
    squares, integers = np.flatnonzero(program.quadratic), np.flatnonzero(program.integer)
    return {
        "rowtype": ["E"] * len(program.right) + ["L"] * len(program.order_right),
        "rhs": [*map(float, program.right), *map(float, program.order_right)],
        "objcoef": program.linear.tolist(),
        "start": columns.indptr.tolist(),
        "rowind": columns.indices.tolist(),
        "rowcoef": columns.data.tolist(),
        "lb": finite(program.lower),
        "ub": finite(program.upper),
        "objqcol1": squares.tolist(),
        "objqcol2": squares.tolist(),
        "objqcoef": (2.0 * program.quadratic[squares]).tolist(),
        "coltype": ["I"] * len(integers),
        "entind": integers.tolist(),
    }


def _answer(xpress: Any, model: Any, program: SolverProgram) -> SolverAnswer:
    found, ended = model.attributes.solstatus, model.attributes.solvestatus
    if found == xpress.SolStatus.INFEASIBLE:
        return SolverAnswer(SolverClaim.INFEASIBLE)
    if found == xpress.SolStatus.OPTIMAL:
        claim = SolverClaim.OPTIMAL
    else:
        claim = SolverClaim.STOPPED if ended == xpress.SolveStatus.STOPPED else SolverClaim.FAILED
    note = "" if claim is SolverClaim.OPTIMAL else f"it says {found.name.lower()}"
    if found not in (xpress.SolStatus.OPTIMAL, xpress.SolStatus.FEASIBLE):
        return SolverAnswer(claim, note)
    values = np.array(model.getSolution())
    if program.is_integer:
        return SolverAnswer(claim, note, values, bound=model.attributes.bestbound)
    m = len(program.right)
    duals = -np.array(model.getDuals()) if program.m else np.zeros(0)  # it refuses to list none
    return SolverAnswer(claim, note, values, duals[:m], duals[m:])
