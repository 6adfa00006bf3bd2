"""The conditions that a modeller adds to a problem: linear equations and inequalities over its cells, as values.

    from pgsr.problems.conditions import cells, entities, groups, total

    problem.where(cells(size=0) == 0, total(region=("US", "MI")) >= 1_000, entities(level=1) == people)
    problem.where(zero_or_at_least(cells(level=1), 5), either(total(level=1) == 0, total(level=1) >= 20))

`expressions` has what a modeller writes, which names regions and sizes and knows no data, `arguments` checks it;
`coefficients` is an expression in numbers, `matrices` what conditions mean for one hierarchy and the sizes of its
levels: bounds of cells and rows of a sparse matrix; `choices` are conditions of which one holds; `propagation` finds
contradictions.
"""

from pgsr.problems.conditions.choices import either, zero_or_at_least
from pgsr.problems.conditions.expressions import cells, entities, groups, total

__all__ = ["cells", "either", "entities", "groups", "total", "zero_or_at_least"]
