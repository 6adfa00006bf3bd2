"""The conditions that a modeller adds to a problem: linear equations and inequalities over its cells, as values.

    from pgsr.problems.conditions import cells, entities, groups, total

    problem.where(cells(size=0) == 0, total(region=("US", "MI")) >= 1_000, entities(level=1) == people)
    problem.where(zero_or_at_least(cells(level=1), 5), either(total(level=1) == 0, total(level=1) >= 20))

`expressions` has what a modeller writes, which names regions and sizes and knows no data, `arguments` checks it;
`resolved` is an expression in numbers, `stated` what conditions mean for one hierarchy and one largest size: bounds of
cells and rows of a sparse matrix; `choices` are conditions of which one holds; `propagation` finds contradictions.
"""

from pgsr.problems.conditions.choices import Choices, Either, either, zero_or_at_least
from pgsr.problems.conditions.expressions import Condition, Expression, cells, entities, groups, total
from pgsr.problems.conditions.propagation import (
    Surroundings,
    contradicting_conditions,
    intervals,
    is_decided_by_sums,
)
from pgsr.problems.conditions.resolved import ProblemCells
from pgsr.problems.conditions.stated import UNBOUNDED, Conditions, state

__all__ = [
    "UNBOUNDED",
    "Choices",
    "Condition",
    "Conditions",
    "Either",
    "Expression",
    "ProblemCells",
    "Surroundings",
    "cells",
    "contradicting_conditions",
    "either",
    "entities",
    "groups",
    "intervals",
    "is_decided_by_sums",
    "state",
    "total",
    "zero_or_at_least",
]
