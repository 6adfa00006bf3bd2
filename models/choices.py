"""Choices between conditions as solvers get them: implications, or coefficients small enough to be trusted."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from pgsr.models.program import Indicators, Program, SolverProgram
from pgsr.problems.problem import Problem

INTEGRALITY = 1e-6
"""The distance from an integer at which HiGHS and SCIP take a number for one."""

TAKING = "ChoiceTree(), which needs no solver, or Gurobi(), MathOpt('GSCIP'), CpSat() or Scip()"
"""The methods that take alternatives as they stand."""


def with_indicators(program: SolverProgram) -> SolverProgram:
    """Write rows that a binary unknown switches on as implications, in place of large coefficients.

    A row a v + width b <= a's largest value says a v <= that - width where b is 1, and nothing where it is 0.
    """
    switch = program.switch
    if switch is None:
        return program
    rows, keep = np.flatnonzero(switch >= 0), switch < 0
    binary, widths = switch[rows], _widths(program.order, switch, rows)
    own = sparse.csr_array((widths, (np.arange(len(rows)), binary)), shape=(len(rows), program.n))
    matrix = sparse.csr_array(program.order[rows] - own)
    matrix.eliminate_zeros()
    labels, n_equal = program.labels, len(program.right)
    return replace(
        program,
        order=sparse.csr_array(program.order[np.flatnonzero(keep)]),
        order_right=program.order_right[keep],
        switch=None,
        indicators=Indicators(
            binary,
            matrix,
            (program.order_right[rows] - widths).astype(float),
            () if labels is None else tuple(labels.rows[n_equal + row] for row in rows.tolist()),
        ),
        labels=None if labels is None else labels.with_rows(np.append(np.ones(n_equal, bool), keep)),
    )


def beyond_tolerance(solver: str, problem: Problem, program: Program, tolerance: float) -> str | None:
    """Say which choice a solver could keep by leaving its binary unknown a little off 0, or None.

    Args:
        solver: its label.
        problem: with choices or without.
        program: that of the problem.
        tolerance: how far from an integer the solver leaves what it takes for one.
    """
    if program.switch is None or problem.conditions is None or problem.conditions.choices is None:
        return None
    rows = np.flatnonzero(program.switch >= 0)
    widths, choices = _widths(program.order, program.switch, rows), problem.conditions.choices
    width = float(widths.max(initial=0.0))
    if width * tolerance < 0.5:
        return None
    alternative = int(program.switch[rows[widths.argmax()]]) - (program.n - len(choices.choice))
    return (
        f"{choices.names[int(choices.choice[alternative])]}: {solver} gets a choice as a condition with a coefficient "
        f"of {width:,.0f}, as far as cells may go, and takes {tolerance:g} for 0, so it could keep no alternative; "
        f"take {TAKING}, or state nearer bounds of the cells"
    )


def _widths(order: sparse.csr_array, switch: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The coefficients by which binary unknowns switch rows on."""
    chosen = sparse.csr_array(order[rows])
    row = np.repeat(np.arange(len(rows)), np.diff(chosen.indptr))
    return np.bincount(row, np.where(chosen.indices == switch[rows][row], chosen.data, 0.0), len(rows))
