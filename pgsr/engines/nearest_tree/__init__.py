"""The consistent non-negative numbers nearest to given ones, on the tree of a hierarchy: arrays in, arrays out.

For every size s on its own, and with a common total G over all sizes if there is one,

    minimise    sum over regions r  of  w[r] (x[r] - y[r])^2
    subject to  x[r] = sum over children c of r of x[c],    x >= 0,    (sum over sizes of x[root] = G).

`TreeProjection` solves M_H by it, all sizes at once; the noise step uses it for numbers of one "size" per region
(`pgsr.noise.group_totals`), which is why it knows neither problems nor measurements.

**Prices.** Let p[r] be the multiplier of the consistency condition of inner region r, q that of the region above it,
and at the root that of G (0 without G). The minimiser of the Lagrangian is

    leaf l:          x[l] = max(0, y[l] + q / (2 w[l])),
    inner region r:  2 w[r] (x[r] - y[r]) = q - p[r].                                                             (1)

**The recursion.** With the set of positive leaves fixed, and S the sum of the children's gains, O of their offsets, and
D = (sum of the children's y) - y[r], where children that are leaves and not positive are left out of all three,

    x[r] - y[r] = gain[r] q + offset[r],    gain[r] = S / (1 + 2 w[r] S),    offset[r] = (O + D) / (1 + 2 w[r] S).   (2)

One pass up gives gains and offsets, one pass down prices: a step of Newton's method, which only takes leaves out of the
set. docs/derivations/m_h.md derives this, the total, the integers and the exchange test. `bounded_trees` says what
remains true of it where cells have bounds.

Files: `integers` is what others call, `size_trees` the passes, `kernel` their compiled loops, `exchange` the test;
`bounds` the intervals of cells with bounds, `bounded_trees` and `bounded_kernel` the sizes that have some.
"""

from pgsr.engines.nearest_tree.integers import nearest_integers

__all__ = ["nearest_integers"]
