"""The exact integer optimum of M_H: counts with the root's public total.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    x >= 0 (integer),    sum over s of x[root, s] = G.

Every size is a tree of its own; sizes meet only in G. Dualise G with one multiplier q, what the root is paid for a
group, and consistency with prices p[r, s], what inner region r pays its children. With S and O the sums of the
children's gains and offsets and D = (sum of the children's y) - y[r], the regions of one size take
x = y + gain q + offset at the price q that they are paid, where

    gain[r] = S / (1 + 2 w[r] S),    offset[r] = (O + D) / (1 + 2 w[r] S)        at inner regions,
    gain[l] = 1 / (2 w[l]),          offset[l] = 0                               at positive leaves;

the docstring of `pgsr.engines.nearest_tree` derives this recursion, for its code lies there: the noise step needs it,
too, for numbers of one "size". What is left for M_H is the coupling of the sizes.

**One number couples all sizes.** At the root, sum over s of (y + gain q + offset)[root, s] is convex, increasing and
piecewise linear in q. Newton's method q' = (G - sum of y - sum of offsets) / (sum of gains) approaches the solution
from above and ends after finitely many steps, each of a few passes over the trees.

**Integers.** One unit more than k costs w (2 (k - y) + 1): slopes rise with k, so a region's units are its children's
units in order of cost, plus its own cost. Inside windows around the real solution they are merged upwards, the root
takes the G cheapest units of all sizes, and downward passes hand them out. The answer is optimal if and only if no
exchange of units pays (`pgsr.engines.nearest_tree.exchange`); until it is, windows are widened.

**Bounds of cells**, of leaves or of regions above them, clip what regions take;
`pgsr.engines.nearest_tree.bounded_trees`.

**Where more couples the sizes**, every region's total, or levels whose sizes fold into each other, M_H is a flow of
quadratic cost (`flow`).

Files: `projection` is `TreeProjection`, `by_flow` its way to the flow.
"""

from pgsr.algorithms.m_h.projection import TreeProjection

__all__ = ["TreeProjection"]
