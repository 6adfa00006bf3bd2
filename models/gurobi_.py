"""The solver model of Gurobi, for integer and continuous programs."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import Route, Run, SolverModel
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.gurobi_ import SIZE_LIMIT_EXCEEDED, GurobiModel
from pgsr.models.optional import load, not_installed
from pgsr.models.program import Bends, Kind, SolverProgram
from pgsr.models.window import Pieces
from pgsr.problems.problem import Problem

BUNDLED_QUADRATIC_LIMIT = 200
"""Most variables with a quadratic objective under the licence that comes with the PyPI package."""

BUNDLED_LIMIT = 2_000
"""Most variables, and most rows, under the same licence with a linear objective."""

REMEDY = "put a full licence (free for academics, gurobi.com) where GRB_LICENSE_FILE points, or use another method"


@dataclass(frozen=True, repr=False)
class Gurobi(SolverModel):
    """Solves the program, integer or continuous, linear or quadratic, with Gurobi.

    Status: OPTIMAL or FEASIBLE; TOO_LARGE where the bundled licence is too small, known before the solve; UNLICENSED;
    NOT_INSTALLED; TIMED_OUT.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads is not None and (not isinstance(self.threads, int) or not 0 <= self.threads <= 1024):
            raise MethodError(f"threads={self.threads!r}; give a whole number from 0 to 1024, or None for all cores")

    @property
    def takes(self) -> frozenset[Kind]:
        return frozenset(Kind)

    @property
    def starts(self) -> frozenset[Kind]:
        return frozenset({Kind.MILP, Kind.MIQP})

    def route(self, problem: Problem) -> Route | None:
        fits = license_file() is not None or problem.n_unknowns <= BUNDLED_QUADRATIC_LIMIT
        if problem.integer and problem.norm == 2 and self.squares is None and fits:
            return Route.DIRECT
        return super().route(problem)

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        return pieces.bends(integers, start)

    def unavailable(self) -> Result | None:
        return not_installed("gurobipy") if load("gurobipy") is None else None

    def too_large(self, program: SolverProgram) -> str | None:
        if license_file() is not None:
            return None
        if program.is_quadratic and program.n > BUNDLED_QUADRATIC_LIMIT:
            return _too_large(f"{program.n:,} unknowns with a quadratic objective", f"{BUNDLED_QUADRATIC_LIMIT}")
        if max(program.n, program.m) > BUNDLED_LIMIT:
            return _too_large(f"{program.n:,} unknowns and {program.m:,} rows", f"{BUNDLED_LIMIT:,} of each")
        return None

    def native_model(self, problem: Problem) -> GurobiModel:
        try:
            return GurobiModel(problem, repr(self), self.parameters(problem.integer))
        except load("gurobipy").GurobiError as error:
            raise MethodError(f"Gurobi refuses: {error}; {REMEDY}") from None

    def parameters(self, integer: bool) -> dict[str, Any]:
        """Collect Gurobi's parameters: ours, and the user's in their place.

        Objectives are integers, so the gap is 0; Gurobi's default of 1e-4 would stop short of the optimum.
        """
        near = self.tolerance
        ours: dict[str, Any] = {"MIPGap": near or 0.0}
        if not integer and near is None:
            ours |= {"BarConvTol": 1e-10, "OptimalityTol": 1e-9}
        elif not integer and near is not None:
            least = min(max(near, 1e-9), 1e-2)  # of what Gurobi takes
            ours |= {"BarConvTol": near, "OptimalityTol": least, "FeasibilityTol": least}
        if self.threads is not None:
            ours["Threads"] = self.threads
        return {**ours, **self.options}

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        gp = load("gurobipy")
        start = time.perf_counter()
        try:
            environment = gp.Env(params={"OutputFlag": 0})
        except gp.GurobiError as error:
            raise Stopped(Status.UNLICENSED, f"Gurobi refuses: {error}; {REMEDY}") from None
        try:
            with environment as env, gp.Model(env=env) as model:
                kinds = np.where(program.integer, gp.GRB.INTEGER, gp.GRB.CONTINUOUS)
                v = model.addMVar(program.n, lb=program.lower, ub=program.upper, vtype=kinds)
                objective = program.linear @ v
                model.setObjective((program.quadratic * v) @ v + objective if program.is_quadratic else objective)
                if program.bends is not None:
                    _bend(model, v.tolist(), program.bends)
                rows = model.addMConstr(program.matrix, v, "=", program.right.astype(float))
                order = model.addMConstr(program.order, v, "<", program.order_right.astype(float))
                if time_limit is not None:
                    model.Params.TimeLimit = time_limit
                for name, value in self.parameters(program.is_integer).items():
                    model.setParam(name, value)
                if program.start is not None:
                    v.Start = program.start
                model.update()
                formulated = time.perf_counter()
                model.optimize()
                answer = _answer(gp, model, v, rows, order, program)
                return Run(answer, formulated - start, time.perf_counter() - formulated)
        except gp.GurobiError as error:
            if error.errno == SIZE_LIMIT_EXCEEDED:
                reason = _too_large(f"{program.n:,} unknowns", "less")
                raise Stopped(Status.TOO_LARGE, reason) from None
            if error.errno == gp.GRB.ERROR_NO_LICENSE:
                raise Stopped(Status.UNLICENSED, f"Gurobi refuses: {error}; {REMEDY}") from None
            raise Stopped(Status.FAILED, f"Gurobi stopped with an error: {error}") from None


def _bend(model: Any, unknowns: list[Any], bends: Bends) -> None:
    """Give every unknown its piecewise linear cost."""
    ends = np.flatnonzero(np.diff(bends.unknown, append=-1)) + 1
    first = 0
    for end in ends.tolist():
        at, cost = bends.at[first:end], bends.cost[first:end]
        if len(at) == 1:  # a fixed cell
            at, cost = np.append(at, at + 1), np.append(cost, cost)
        model.setPWLObj(unknowns[bends.unknown[first]], at.tolist(), cost.tolist())
        first = end


def license_file() -> Path | None:
    """The licence Gurobi would read besides the bundled one, or None."""
    named = os.environ.get("GRB_LICENSE_FILE")
    places = [Path(named)] if named else [Path.home() / "gurobi.lic", *Path("/opt").glob("gurobi*/gurobi.lic")]
    return next((place for place in places if place.is_file()), None)


def _answer(gp: object, model: object, v: object, rows: object, order: object, program: SolverProgram) -> Answer:
    grb = gp.GRB  # pyright: ignore[reportAttributeAccessIssue]
    status = model.Status  # pyright: ignore[reportAttributeAccessIssue]
    # The objective is bounded below, so "infeasible or unbounded" is infeasible.
    if status in (grb.INFEASIBLE, grb.INF_OR_UNBD):
        return Answer(Claim.INFEASIBLE)
    claims = {grb.OPTIMAL: Claim.OPTIMAL, grb.SUBOPTIMAL: Claim.OPTIMAL, grb.TIME_LIMIT: Claim.STOPPED}
    claim, note = claims.get(status, Claim.FAILED), "" if status == grb.OPTIMAL else f"its status {status}"
    if model.SolCount == 0:  # pyright: ignore[reportAttributeAccessIssue]
        return Answer(claim, note)
    values = v.X  # pyright: ignore[reportAttributeAccessIssue]
    if program.is_integer:
        return Answer(claim, note, values, bound=model.ObjBound)  # pyright: ignore[reportAttributeAccessIssue]
    return Answer(claim, note, values, -rows.Pi, -order.Pi)  # pyright: ignore[reportAttributeAccessIssue]


def _too_large(what: str, allowed: str) -> str:
    return f"{what}; the licence bundled with gurobipy allows {allowed}; {REMEDY}"
