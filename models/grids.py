"""Squares in real numbers by linear programs alone: linear pieces between the points of finer and finer grids."""

from collections.abc import Callable
from dataclasses import replace

from pgsr.models.judge import SolverAnswer, SolverClaim, lagrangian_bound
from pgsr.models.program import Program
from pgsr.models.window import Pieces, in_units, window

UNITS = (1.0, 1 / 8, 1 / 64, 1 / 512, 1 / 4096)
"""The grids on which squares in real numbers are solved, coarse ones first."""

FINER = 8
"""How much finer each grid is than the one before, and so the steps on either side of a window."""

NEAR = 1e-9
"""The relative gap at which no finer grid is tried."""


def on_grids(program: Program, settled: Callable[[Pieces], SolverAnswer]) -> SolverAnswer:
    """Solve squares on grids, each around the optimum on the one before, until the bound is near.

    The first window lies around the noisy values, so no other solver has a part in the answer.

    Args:
        program: with squares of real unknowns.
        settled: solves linear pieces, and moves their windows until the solution lies within them.
    """
    answer = SolverAnswer(SolverClaim.STOPPED)
    for unit in UNITS:
        around = None if answer.values is None else answer.values / unit
        found = settled(window(in_units(program, unit), around, FINER))
        z, v, mu = found.values, found.duals, found.order_duals
        if found.claim is not SolverClaim.OPTIMAL or z is None or v is None or mu is None:
            return found if answer.values is None else replace(answer, claim=SolverClaim.STOPPED)
        z, v, mu = unit * z, unit * v, unit * mu
        answer = replace(found, values=z, duals=v, order_duals=mu)
        objective = float(program.weight @ z**2)
        if objective - lagrangian_bound(program, v, mu) <= NEAR * max(1.0, objective):
            break
    return answer
