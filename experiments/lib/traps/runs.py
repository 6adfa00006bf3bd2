"""All installed solvers on all traps: who falls, in a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pgsr import Problem, Result, Status
from pgsr.comparison.side_by_side import SOLVER_SHARE, label_of
from pgsr.experiments.engine.experiment import computed
from pgsr.experiments.lib.run import listening
from pgsr.experiments.lib.traps.problems import Trap, find
from pgsr.machine.isolation import Worker
from pgsr.methods.method import Method
from pgsr.methods.toys import toy_of
from pgsr.models import CpSat
from pgsr.models.adapter import Route, SolverModel
from pgsr.models.judge import SolverClaim
from pgsr.models.program import ProgramKind

NEAR = Fraction(1, 10**6)
"""How far, relatively, an objective may be from the optimum and conditions of a bare program may be missed."""

NOT_TAKEN = ""


@dataclass(frozen=True)
class Ask:
    """A task for a worker: one method on one trap."""

    trap: str
    method: Method
    optimum: Fraction
    time_limit: float

    def warm_up(self) -> None:
        """Solve a toy, or the bare program, so that imports are over before the limit counts."""
        trap = find(self.trap)
        if trap.base is None:
            of_program(trap, self.method, self.optimum, self.time_limit)
        else:
            toy = toy_of(trap.base)
            assert isinstance(toy, Problem)
            self.method.solve(toy, self.time_limit)

    def compute(self) -> str:
        """Ask, and say in a word or two what came of it."""
        trap, limit = find(self.trap), SOLVER_SHARE * self.time_limit
        if trap.base is None:
            return of_program(trap, self.method, self.optimum, limit)
        claims: list[SolverClaim] = []
        result = listening(self.method, claims).solve(trap.problem(), limit)
        return of_result(result, claims[-1] if claims else None, self.optimum)


def takes(method: Method, trap: Trap) -> bool:
    """Say whether a method solves a trap as it is stated: not by rounding its relaxation."""
    if trap.base is None:
        if not isinstance(method, SolverModel) or isinstance(method, CpSat):  # whose unknowns are all whole
            return False
        return ProgramKind.MILP in method.takes and method.unavailable() is None
    if method.supports(trap.problem()) is not None:
        return False
    return not isinstance(method, SolverModel) or method.route(trap.problem()) is not Route.RELAXED


def of_result(result: Result, claim: SolverClaim | None, optimum: Fraction) -> str:
    """Say what came of a problem: right, a wrong optimum, no point, conditions broken, or no claim.

    Where the solver was never asked, because stating the program came to that end, the error is ours.
    """
    if claim is SolverClaim.INFEASIBLE:
        return "**no point**"
    if result.status is Status.INFEASIBLE:
        return "**no point, ours**"
    said = result.status is Status.OPTIMAL if claim is None else claim is SolverClaim.OPTIMAL
    if not said or result.status in (Status.TIMED_OUT, Status.RELAXED):
        return "no claim"
    known = result.certificate
    if known is None or known.objective is None:
        return "no claim"
    if not known.feasible:
        return "**breaks conditions**"
    value = Fraction(known.objective)
    return "right" if value == optimum else f"**{float(value / optimum):.4g} times**"


def of_program(trap: Trap, method: Method, optimum: Fraction, time_limit: float) -> str:
    """Say the same of a bare program, whose answer is judged here."""
    program = trap.program
    assert program is not None
    assert isinstance(method, SolverModel)
    answer = method.run(program, time_limit).answer
    if answer.claim is SolverClaim.INFEASIBLE:
        return "**no point**"
    if answer.claim is not SolverClaim.OPTIMAL or answer.values is None:
        return "no claim"
    x, near = answer.values, float(NEAR)
    over = [program.order @ x - program.order_right, program.lower - x, x - program.upper]
    off = max(float(part.max(initial=0.0)) for part in over)
    off = max(off, float(np.abs(x - np.rint(x))[program.integer].max(initial=0.0)))
    if off > near:
        return "**breaks conditions**"
    value = float(program.quadratic @ x**2 + program.linear @ x)
    return (
        "right" if abs(value - float(optimum)) <= near * float(optimum) else f"**{value / float(optimum):.4g} times**"
    )


def ask(
    traps: Sequence[tuple[Trap, dict[str, Any]]],
    methods: Sequence[Method],
    time_limit: float,
    say: Callable[[str], None],
) -> pd.DataFrame:
    """Ask every method about every trap that it takes, a process each; a row per method, a column per trap."""
    rows = []
    for method in methods:
        taken = {trap.name: takes(method, trap) for trap, _ in traps}
        if not any(taken.values()):
            continue
        row, worker = {"method": label_of(method)}, Worker.of_several(None)
        for trap, stated in traps:
            if not taken[trap.name]:
                row[trap.name] = NOT_TAKEN
                continue
            found = computed(Ask(trap.name, method, Fraction(stated["optimum"]), time_limit), worker)
            row[trap.name] = "no claim" if found.timed_out or found.error else found.value
            say(f"{row['method']:24} {trap.name:28} {row[trap.name]}")
        worker.close()
        rows.append(row)
    return pd.DataFrame(rows)
