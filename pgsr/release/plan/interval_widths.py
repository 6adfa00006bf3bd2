"""How wide published intervals would be: those of one cell, in a simulated release."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError, MemoryNeededError, TooLargeError
from pgsr.machine import memory
from pgsr.release.checks.judging import answer_of
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.stated.plan import Plan
from pgsr.release.stated.preflight import bytes_needed
from pgsr.release.stated.terms import Terms

USUAL_LEVEL = Fraction(9, 10)
"""The probability that intervals aim at where a configuration asks for none."""


@dataclass(frozen=True)
class SizeCells:
    """The cells of one size in all regions of a level.

    Attributes:
        level: of the hierarchy, 0 for the root.
        name: of this level.
        size: of the groups that are counted.
    """

    level: int
    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.name}:{self.size}"


def cell_of(text: str | None, plan: Plan, mean_size: float) -> SizeCells:
    """Read LEVEL:SIZE; the last level and the size nearest to the mean size if None.

    Raises:
        ArgumentError: it is no such text, no level has this name, or the level has no such size.

    Example:
        >>> plan = Plan.of(Terms("demo", 5, "1", "m_h", level_names=("nation", "state")), [1, 50])
        >>> str(cell_of(None, plan, 2.6)), str(cell_of("nation:5", plan, 2.6))
        ('state:3', 'nation:5')
    """
    names, least, last = plan.names, plan.terms.min_size, plan.levels[-1]
    if text is None:
        return SizeCells(len(names) - 1, last.name, min(max(round(mean_size), least), last.max_size))
    name, _, number = text.rpartition(":")
    if not name or not (number.isascii() and number.isdigit()):
        raise ArgumentError(f"the cell is {text!r}; write LEVEL:SIZE, such as {names[-1]}:2")
    if name not in names:
        raise ArgumentError(f"no level is called {name!r}; write one of {', '.join(names)} before the size")
    level, size = names.index(name), int(number)
    largest = plan.levels[level].max_size
    if not least <= size <= largest:
        raise ArgumentError(
            f"level {name} has the sizes {least:,} to {largest:,}, and the cell is {text!r}; give one of these"
        )
    return SizeCells(level, name, size)


def publishing(terms: Terms, probability: Fraction, stand_in: CountOfCounts) -> Plan | None:
    """Plan a release with intervals of this probability, too; None if it cannot have them, or they do not fit."""
    if not terms.may_have_intervals:
        return None
    found = Plan.of(replace(terms, intervals=probability), stand_in.hierarchy.regions_per_level)
    try:
        memory.require(bytes_needed(found, stand_in.hierarchy, stand_in), "a release with intervals")
    except MemoryNeededError:
        return None
    return found


def median_width(plan: Plan, cell: SizeCells, measurement: Any, result: Any) -> float:
    """Compute the median over a level's regions of upper - lower, as a release would publish them for a cell.

    Args:
        plan: with `intervals`.
        cell: whose intervals.
        measurement: of the simulated release.
        result: of a simulated release under this plan.

    Returns:
        The median, in groups; NaN if the intervals do not fit into memory.
    """
    counts = answer_of(result)
    try:
        ends = CountIntervals.of(plan.terms.intervals or Fraction(9, 10), result, counts).ends
    except (MemoryNeededError, TooLargeError):
        return float("nan")
    place, width = cell.size - plan.terms.min_size, ends.upper - ends.lower
    return float(np.median(counts.sizes.tables(width)[cell.level][:, place]))
