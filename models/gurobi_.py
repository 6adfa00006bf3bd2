"""Problems through Gurobi's own interface."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.formulate import formulate, unsupported
from models.judge import judge_continuous, judge_integer
from models.optional import load, not_installed
from pgsr.checks import checked_limit
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem

BUNDLED_QUADRATIC_LIMIT = 200
"""Most variables with a quadratic objective under the licence that comes with the PyPI package (2,000 if linear)."""

SIZE_LIMIT_EXCEEDED = 10010

REMEDY = "put a full licence (free for academics, gurobi.com) where GRB_LICENSE_FILE points, or use another method"


@dataclass(frozen=True)
class Gurobi:
    """Solves the integer program, or the relaxation if the problem is relaxed, with Gurobi.

    Status: OPTIMAL or FEASIBLE; TOO_LARGE where the bundled licence is too small, known before the solve; UNLICENSED;
    NOT_INSTALLED; UNSUPPORTED; TIMED_OUT.
    """

    threads: int | None = None

    def supports(self, problem: Problem) -> str | None:
        return unsupported(problem)

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        time_limit = checked_limit(time_limit)
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        gp = load("gurobipy")
        if gp is None:
            return not_installed("gurobipy")
        if license_file() is None and problem.n_unknowns > BUNDLED_QUADRATIC_LIMIT:
            return Result(Status.TOO_LARGE, too_large(problem.n_unknowns))
        start = time.perf_counter()
        program = formulate(problem)
        try:
            with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
                kind = gp.GRB.INTEGER if program.integer else gp.GRB.CONTINUOUS
                lower = -np.inf if program.lower is None else program.lower.astype(float)
                z = model.addMVar(program.n, lb=lower, vtype=kind)
                model.setObjective((program.weight * z) @ z)
                rows = model.addMConstr(program.matrix, z, "=", program.right.astype(float))
                if time_limit is not None:
                    model.Params.TimeLimit = time_limit
                if self.threads is not None:
                    model.Params.Threads = self.threads
                # Exact zero gap: objectives are integers, and the default of 1e-4 would stop short of the optimum.
                model.Params.MIPGap = 0.0
                model.update()
                formulated = time.perf_counter()
                model.optimize()
                seconds = Seconds(formulated - start, time.perf_counter() - formulated)
                # The objective is bounded below, so "infeasible or unbounded" is infeasible.
                if model.Status in (gp.GRB.INFEASIBLE, gp.GRB.INF_OR_UNBD):
                    return Result(
                        Status.INFEASIBLE, "Gurobi proves that no point satisfies the conditions", seconds=seconds
                    )
                if model.SolCount == 0:
                    status = Status.TIMED_OUT if model.Status == gp.GRB.TIME_LIMIT else Status.FAILED
                    return Result(status, f"Gurobi had no answer (its status {model.Status})", seconds=seconds)
                if program.integer:
                    proved = model.Status == gp.GRB.OPTIMAL
                    return judge_integer("Gurobi", problem, program, z.X, seconds, proved, model.ObjBound)
                return judge_continuous("Gurobi", problem, program, z.X, -rows.Pi, seconds)
        except gp.GurobiError as error:
            if error.errno == SIZE_LIMIT_EXCEEDED:
                return Result(Status.TOO_LARGE, too_large(problem.n_unknowns))
            return Result(Status.UNLICENSED, f"Gurobi refuses: {error}; {REMEDY}")

    def __repr__(self) -> str:
        return "Gurobi()" if self.threads is None else f"Gurobi(threads={self.threads})"


def license_file() -> Path | None:
    """The licence Gurobi would read besides the bundled one, or None."""
    named = os.environ.get("GRB_LICENSE_FILE")
    places = [Path(named)] if named else [Path.home() / "gurobi.lic", *Path("/opt").glob("gurobi*/gurobi.lic")]
    return next((place for place in places if place.is_file()), None)


def too_large(n_unknowns: int) -> str:
    return (
        f"{n_unknowns:,} unknowns with a quadratic objective; the licence bundled with gurobipy allows "
        f"{BUNDLED_QUADRATIC_LIMIT}; {REMEDY}"
    )
