"""The solver model of SCIP through PySCIPOpt, for integer programs."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.methods.method import Result
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.scip_ import ScipModel
from pgsr.models.optional import load, not_installed
from pgsr.models.program import Kind, SolverProgram
from pgsr.problems.problem import Problem

LARGEST = 20_000
"""Most unknowns: the model is built one Python object per unknown and row."""


@dataclass(frozen=True, repr=False)
class Scip(SolverModel):
    """Solves the integer program with SCIP through its own Python interface (a newer SCIP than `MathOpt("GSCIP")`).

    SCIP takes linear objectives only, so the sum of squares becomes one convex condition t >= sum_j weight[j] z[j]^2.

    Status: OPTIMAL or FEASIBLE with SCIP's own bound; UNSUPPORTED for relaxations (no duals of them); TOO_LARGE;
    TIMED_OUT; NOT_INSTALLED.
    """

    @property
    def takes(self) -> frozenset[Kind]:
        return frozenset({Kind.MILP, Kind.MIQP})

    @property
    def finds_vertices(self) -> bool:
        return True

    @property
    def starts(self) -> frozenset[Kind]:
        return self.takes

    def unavailable(self) -> Result | None:
        return not_installed("pyscipopt") if load("pyscipopt") is None else None

    def too_large(self, program: SolverProgram) -> str | None:
        return f"{program.n:,} unknowns; SCIP models are built up to {LARGEST:,}" if program.n > LARGEST else None

    def native_model(self, problem: Problem) -> ScipModel:
        return ScipModel(problem, repr(self), self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Collect SCIP's parameters: ours, and the user's in their place."""
        return {"limits/gap": self.tolerance or 0.0, **self.options}

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        scip = load("pyscipopt")
        start = time.perf_counter()
        model = scip.Model()
        model.hideOutput()
        finite = lambda x: None if np.isinf(x) else float(x)  # noqa: E731
        v = [
            model.addVar(vtype="I" if integer else "C", lb=finite(low), ub=finite(high))
            for integer, low, high in zip(program.integer, program.lower, program.upper, strict=True)
        ]
        for columns, coefficients, right, equal in program.rows():
            total = scip.quicksum(float(a) * v[j] for j, a in zip(columns, coefficients, strict=True))
            model.addCons(total == right if equal else total <= right)
        objective = scip.quicksum(float(program.linear[j]) * v[j] for j in np.flatnonzero(program.linear))
        first = [] if program.start is None else list(zip(v, program.start.tolist(), strict=True))
        if program.is_quadratic:
            bound = model.addVar(lb=0.0)
            squares = np.flatnonzero(program.quadratic)
            model.addCons(scip.quicksum(float(program.quadratic[j]) * v[j] * v[j] for j in squares) <= bound)
            objective = objective + bound
            if program.start is not None:
                first.append((bound, float(program.quadratic @ program.start**2)))
        model.setObjective(objective)
        if first:
            solution = model.createSol()
            for variable, value in first:
                model.setSolVal(solution, variable, value)
            model.addSol(solution)
        model.setParams(self.parameters())
        if time_limit is not None:
            model.setParam("limits/time", time_limit)
        formulated = time.perf_counter()
        model.optimize()
        spent = time.perf_counter() - formulated
        status = model.getStatus()
        claims = {
            "optimal": Claim.OPTIMAL,
            "timelimit": Claim.STOPPED,
            "infeasible": Claim.INFEASIBLE,
            "inforunbd": Claim.INFEASIBLE,
        }
        claim, note = claims.get(status, Claim.FAILED), "" if status == "optimal" else f"it says {status}"
        if model.getNSols() == 0:
            return Run(Answer(claim, note), formulated - start, spent)
        best = model.getBestSol()
        values = np.array([best[variable] for variable in v])
        return Run(Answer(claim, note, values, bound=model.getDualbound()), formulated - start, spent)
