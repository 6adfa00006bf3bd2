"""The published dynamic program for M_H: a table of costs for every region and size.

tau[r, s](v) is the least cost of the whole subtree of region r at size s if x[r, s] = v; `CostTables` has its formula.
Sizes meet in G as children do in their parent: a root above all of them has phi(G) = min sum over s of tau[root, s].

**Polynomial.** Tried one by one the splits of v are exponentially many. But tau of a leaf is convex, and so is
everything above it: phi is an infimal convolution of convex tables, whose slopes phi(v + 1) - phi(v) are the slopes of
the children's tables merged in increasing order, and a square added to it leaves it convex. By induction every table is
made by one sort, O(entries log children), and the order of the slopes says which child takes the next unit, which is
all that the way down needs.

Files: `method` is `CostTables`, `steps` the ways to compute phi, `windows` which values v are offered.
"""

from pgsr.algorithms.cost_tables.method import CostTables
from pgsr.algorithms.cost_tables.steps import SlopeGreedy, SlopeMerge

__all__ = ["CostTables", "SlopeGreedy", "SlopeMerge"]
