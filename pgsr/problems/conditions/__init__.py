"""The conditions that a modeller adds to a problem: linear equations and inequalities over its cells, as values.

    from pgsr.problems.conditions import cells, entities, groups, total

    problem.where(cells(size=0) == 0, total(region=("US", "MI")) >= 1_000, entities(level=1) == people)

`expressions` has what a modeller writes, which names regions and sizes and knows no data, `arguments` checks it;
`resolved` is an expression in numbers, `stated` what conditions mean for one hierarchy and one largest size: bounds of
cells and rows of a sparse matrix; `propagation` finds contradictions.
"""

from pgsr.problems.conditions.expressions import Condition, Expression, cells, entities, groups, total
from pgsr.problems.conditions.propagation import Surroundings, contradicting_conditions, is_decided_by_sums
from pgsr.problems.conditions.resolved import Cells
from pgsr.problems.conditions.stated import UNBOUNDED, Conditions, state

__all__ = [
    "UNBOUNDED",
    "Cells",
    "Condition",
    "Conditions",
    "Expression",
    "Surroundings",
    "cells",
    "contradicting_conditions",
    "entities",
    "groups",
    "is_decided_by_sums",
    "state",
    "total",
]
