"""The solver model of SciPy's HiGHS, for linear and integer linear programs."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning

from pgsr.methods.method import Result
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.program import ProgramKind, SolverProgram, linear_optimum


@dataclass(frozen=True, repr=False)
class Scipy(SolverModel):
    """Solves L1 problems as they stand and integer squares by unit steps, with the HiGHS that comes with SciPy.

    Relaxed squares are UNSUPPORTED: HiGHS' solver for them is not in SciPy (`Cvxpy("HIGHS")` has it).

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> Scipy().solve(problem).certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
    """

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.LP, ProgramKind.MILP})

    def unavailable(self) -> Result | None:
        return None

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        start = time.perf_counter()
        options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
        if program.is_integer:
            options["mip_rel_gap"] = self.tolerance or 0.0
        elif self.tolerance is not None:
            options |= {"primal_feasibility_tolerance": self.tolerance, "dual_feasibility_tolerance": self.tolerance}
        with warnings.catch_warnings():
            warnings.simplefilter("error", OptimizeWarning)  # of options that it does not know
            return self._solved(program, {**options, **self.options}, start)

    def _solved(self, program: SolverProgram, options: dict[str, Any], start: float) -> Run:
        kinds = program.integer.astype(int) if program.is_integer else None
        answer = linear_optimum(program, program.linear, integrality=kinds, options=options)
        spent = time.perf_counter() - start
        claim = {0: SolverClaim.OPTIMAL, 1: SolverClaim.STOPPED, 2: SolverClaim.INFEASIBLE}.get(
            answer.status, SolverClaim.FAILED
        )
        note = "" if claim is SolverClaim.OPTIMAL else str(answer.message).split(".", maxsplit=1)[0]
        if answer.x is None:
            return Run(SolverAnswer(claim, note), 0.0, spent)
        if program.is_integer:
            bound = answer.get("mip_dual_bound")
            if bound is None and claim is SolverClaim.OPTIMAL:  # solved before branching; the gap asked for is 0
                bound = answer.fun
            return Run(SolverAnswer(claim, note, answer.x, bound=bound), 0.0, spent)
        duals, order = -answer.eqlin.marginals, -answer.ineqlin.marginals
        return Run(SolverAnswer(claim, note, answer.x, np.asarray(duals), np.asarray(order), answer.fun), 0.0, spent)
