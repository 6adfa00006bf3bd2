"""The consistent non-negative numbers nearest to given ones, on the tree of a hierarchy: arrays in, arrays out.

For every size s on its own, and with a common total G over all sizes if there is one,

    minimise    sum over regions r  of  w[r] (x[r] - y[r])^2
    subject to  x[r] = sum over children c of r of x[c],    x >= 0,    (sum over sizes of x[root] = G).

`TreeProjection` solves M_H by it, all sizes at once; the noise step uses it for numbers of one "size" per region
(`pgsr.noise.group_totals`), which is why it knows neither problems nor measurements.

**Prices.** Let p[r] be the multiplier of the consistency condition of inner region r: what r pays its children for a
unit. What r itself is paid, q, is the price of the region above, or the multiplier of G at the root (0 without G). The
minimum of the Lagrangian over a leaf's x >= 0 and over an inner region's x is at

    leaf l:          x[l] = max(0, y[l] + q / (2 w[l])),
    inner region r:  2 w[r] (x[r] - y[r]) = q - p[r].                                                             (1)

**The recursion.** Fix the set of leaves that are positive. Then every region's x is linear in the price q that it is
paid, x = y + gain q + offset. A positive leaf has gain 1 / (2 w) and offset 0; another one adds nothing to the sum of
its siblings. Let S be the sum of the children's gains, O of their offsets, and D = (sum of the children's y) - y[r], an
exact integer; children that are leaves and not positive are left out of all three. The children of r take

    x[r] - y[r] = S p[r] + O + D,

and with p[r] = q - 2 w[r] (x[r] - y[r]) from (1)

    x[r] - y[r] = gain[r] q + offset[r],    gain[r] = S / (1 + 2 w[r] S),    offset[r] = (O + D) / (1 + 2 w[r] S).   (2)

One pass from the leaves up gives all gains and offsets, one pass down all prices, p[r] = q - 2 w[r] (gain[r] q +
offset[r]). Counts enter as D alone, so no digit is lost to counts of 1e9. This is one step of Newton's method for a
system of increasing convex piecewise linear functions whose Jacobians are M-matrices: started with all leaves positive,
prices fall from step to step, leaves only leave the set, and when none does the prices are exact.

**The total.** At the root q is one number for all sizes, and sum over sizes of (y + gain q + offset)[root] = G is once
more convex, increasing and piecewise linear in it: `size_trees.root_price`.

**Integers.** Around the continuous x every inner region gets a window of a few integers. One unit more than k costs
w (2 (k - y) + 1) at a region, plus its cheapest child's unit, and costs rise with k: so the units of a region are the
merged units of its children, cheapest first, each plus its own cost, and the root takes the G cheapest of all sizes
(`size_trees.merge`). The exchange test (`exchange`) says whether the result is optimal among all integers; if it is
not, the windows are widened.

**Bounds of cells** make leaves take clip(y + q / 2w, lower, upper) and inner regions at most and at least their own;
`bounded_trees` says what remains true of all this, and what takes the place of the rest.

Files: `integers` is what others call, `size_trees` the passes, `kernel` their compiled loops, `exchange` the test;
`bounds` the intervals of cells with bounds, `bounded_trees` and `bounded_kernel` the sizes that have some.
"""

from pgsr.engines.nearest_tree.integers import nearest_integers

__all__ = ["nearest_integers"]
