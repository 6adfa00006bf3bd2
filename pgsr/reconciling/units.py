"""Controlled rounding: tables whose numbers are multiples of a base."""

from dataclasses import replace

import numpy as np

from pgsr.checks import whole_number
from pgsr.errors import ArgumentError, ProblemError
from pgsr.reconciling.measured import MeasuredCells


def in_multiples(found: MeasuredCells, base: int, restricted: bool) -> MeasuredCells:
    """State a table in units of a base, so that whole numbers there are multiples here.

    Args:
        found: the table.
        base: such as 5.
        restricted: whether every measured cell is one of the two multiples next to its value, and a multiple stays.

    Raises:
        ArgumentError: the base is no whole number from 2 on.
        ProblemError: a fixed cell is no multiple.
    """
    base = whole_number("base", base, 2, ArgumentError)
    value, row_value = found.value / base, found.row_value / base
    low = np.full(found.shape, -np.inf) if found.lower is None else found.lower / base
    high = np.full(found.shape, np.inf) if found.upper is None else found.upper / base
    wrong = np.isfinite(low) & (low != np.floor(low))
    if wrong.any():
        cell = int(np.argmax(wrong.ravel()))
        raise ProblemError(f"{found.first_row(cell)} is fixed at no multiple of {base}; leave it out of fixed=")
    if restricted:
        there = (found.weight > 0) & ~np.isfinite(low)
        low, high = np.where(there, np.floor(value), low), np.where(there, np.ceil(value), high)
    weights = {"weight": found.weight * base**2, "row_weight": found.row_weight * base**2}
    return replace(found, value=value, row_value=row_value, lower=low, upper=high, **weights)
