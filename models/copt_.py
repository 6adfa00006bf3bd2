"""The solver model of COPT, for integer and continuous programs."""

import os
import time
from dataclasses import dataclass
from functools import cache
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

UNLICENSED_LIMIT = 2_000
"""Most unknowns, and most rows, of quadratic and of integer programs without a licence."""

UNLICENSED_LINEAR_LIMIT = 10_000
"""Most unknowns, and most rows, of linear programs without a licence."""

REQUIREMENT = "'coptpy<8'"
"""COPT 8.0.3 and 8.0.7 claim wrong optima of quadratic programs after presolve, and stop without it."""

LICENCE_FILE = "license.dat"

REMEDY = (
    "put a licence (free for academics, shanshu.ai/copt) into the folder that COPT_LICENSE_DIR names, or use another "
    "method"
)


@dataclass(frozen=True, repr=False)
class Copt(SolverModel):
    """Solves the program, integer or continuous, linear or quadratic, with COPT, the Cardinal Optimizer.

    Status: OPTIMAL or FEASIBLE; TOO_LARGE where there is no licence and the package alone allows less, known before the
    solve; UNLICENSED; NOT_INSTALLED; TIMED_OUT.
    """

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset(ProgramKind)

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP, ProgramKind.MIQP})

    def unavailable(self) -> Result | None:
        copt = load("coptpy")
        if copt is None:
            return missing("coptpy", REQUIREMENT, "coptpy")
        if (copt.COPT.VERSION_MAJOR, copt.COPT.VERSION_MINOR) == (8, 0):
            reason = f"COPT 8.0 calls points optimal that are not, in quadratic programs; pip install {REQUIREMENT}"
            return Result(Status.NOT_INSTALLED, reason)
        return None

    def too_large(self, program: SolverProgram) -> str | None:
        linear = not (program.is_quadratic or program.is_integer)
        limit = UNLICENSED_LINEAR_LIMIT if linear else UNLICENSED_LIMIT
        if license_file() is not None or max(program.n, program.m) <= limit:
            return None
        kind = "linear" if linear else "quadratic or integer"
        return (
            f"{program.n:,} unknowns and {program.m:,} rows; without a licence COPT takes {limit:,} of each in {kind} "
            f"programs; {REMEDY}"
        )

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        copt = load("coptpy")
        start = time.perf_counter()
        model = _environment().createModel()
        model.setParam("Logging", 0)
        infinity = copt.COPT.INFINITY
        finite = lambda bounds: np.clip(np.asarray(bounds, float), -infinity, infinity)  # noqa: E731
        rows = sparse.csc_matrix(sparse.vstack([program.matrix, program.order]))
        right = np.concatenate([program.right, program.order_right])
        least = np.concatenate([program.right, np.full(len(program.order_right), -np.inf)])
        kinds = "".join(np.where(program.integer, copt.COPT.INTEGER, copt.COPT.CONTINUOUS))
        model.loadMatrix(
            program.linear, rows, finite(least), finite(right), finite(program.lower), finite(program.upper), kinds
        )
        if program.is_quadratic:
            model.loadQ(sparse.coo_matrix(sparse.diags_array(program.quadratic)))
        if time_limit is not None:
            model.setParam("TimeLimit", time_limit)
        # Objectives are integers, and the default gap of 1e-4 would stop short of the optimum.
        parameters = {"RelGap": self.tolerance or 0.0}
        if not program.is_integer:
            parameters |= dict.fromkeys(("FeasTol", "DualTol"), self.tolerance or 1e-9)
        for name, value in {**parameters, **self.options}.items():
            model.setParam(name, value)
        if program.start is not None:
            model.setMipStart(model.getVars(), program.start.tolist())
            model.loadMipStart()
        formulated = time.perf_counter()
        try:
            model.solve()
        except copt.CoptError as error:
            if "LICENSE" in str(error):
                raise Stopped(Status.UNLICENSED, f"COPT refuses: {error}; {REMEDY}") from None
            raise
        return Run(_answer(copt.COPT, model, program), formulated - start, time.perf_counter() - formulated)


def license_file() -> Path | None:
    """The licence that COPT would read, or None."""
    named = os.environ.get("COPT_LICENSE_DIR")
    places = [Path(named) if named else None, Path.home() / "copt", Path.cwd()]
    return next((place / LICENCE_FILE for place in places if place and (place / LICENCE_FILE).is_file()), None)


@cache
def _environment() -> Any:
    """Start COPT, once per process: it prints what licence it found whenever it is started."""
    copt = load("coptpy")
    try:
        return copt.Envr()
    except copt.CoptError as error:
        raise Stopped(Status.UNLICENSED, f"COPT refuses: {error}; {REMEDY}") from None


def _answer(constants: Any, model: Any, program: SolverProgram) -> SolverAnswer:
    status = model.status
    # The objective is bounded below, so "infeasible or unbounded" is infeasible.
    if status in (constants.INFEASIBLE, constants.INF_OR_UNB):
        return SolverAnswer(SolverClaim.INFEASIBLE)
    claims = {
        constants.OPTIMAL: SolverClaim.OPTIMAL,
        constants.IMPRECISE: SolverClaim.OPTIMAL,
        constants.TIMEOUT: SolverClaim.STOPPED,
    }
    claim, note = claims.get(status, SolverClaim.FAILED), "" if status == constants.OPTIMAL else f"its status {status}"
    if program.is_integer:
        if not model.hasmipsol:
            return SolverAnswer(claim, note)
        return SolverAnswer(claim, note, np.array(model.getValues()), bound=model.bestbnd)
    if not model.haslpsol:
        return SolverAnswer(claim, note)
    m = len(program.right)
    duals = -np.array(model.getDuals())
    return SolverAnswer(claim, note, np.array(model.getValues()), duals[:m], duals[m:])
