"""Problems with choices, `either(a, b)` and `zero_or_at_least`: a tree over the alternatives, each node proved.

    minimise    the distance of a problem
    subject to  its conditions, and of every choice one alternative.

A node of the tree has some choices decided and drops the others, so it is a problem without choices, and no point that
decides these choices so is nearer than its optimum. The root has decided nothing. Where the optimum of a node happens
to keep all choices it is the best of its part of the tree; else a choice that it breaks is decided, one child per
alternative. Nodes of the least optimum come first (best first). Those whose optimum is no better than a point that is
known already are left out. If none is left that point is optimal; if the search stops before, the least optimum among
the nodes that are left bounds all others, and the gap says how far off the point may be.

A node is solved and proved in one of two ways.

- **As a flow** (`by_flow`), wherever the problem is one: integers, or magnitudes in reals, where cells, totals,
  stated rows and the rows of the alternatives are sums over two families of sets without overlaps
  (`pgsr.engines.convex_flow`). These are M_H at any depth with bounds of cells and of totals, the naive problem,
  regions alone in order, and M_c of two levels. The children of a node differ from it in a few bounds, so they start
  from its flow. Every optimum is checked by prices and every contradiction by a cut, in integers.
- **By another method** (`by_methods`), wherever one takes the problem with the alternatives stated as bounds: M_H with
  millions of unknowns, squares in reals, M_c of any depth in reals, or in integers with a proven gap.

Files besides: `search` is the tree, `method` answers a problem, `bound` proves the answers of others.
"""

from pgsr.algorithms.choice_tree.method import ChoiceTree

__all__ = ["ChoiceTree"]
