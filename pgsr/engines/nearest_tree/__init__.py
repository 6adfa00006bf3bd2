"""The consistent non-negative numbers nearest to given ones, on the tree of a hierarchy: arrays in, arrays out.

    minimise    sum over regions r  of  w[r] (x[r] - y[r])^2      for every size on its own,
    subject to  x[r] = sum over children c of r of x[c],    x >= 0,    (sum over sizes of x[root] = G).

Let p[r] be the price that inner region r pays its children, and q what it is paid. With the set of positive leaves
fixed, S and O the sums of the children's gains and offsets, and D = (sum of the children's y) - y[r],

    leaf l:          x[l] = max(0, y[l] + q / (2 w[l])),      inner region r:  2 w[r] (x[r] - y[r]) = q - p[r],
        (1)
    x[r] - y[r] = gain[r] q + offset[r],    gain[r] = S / (1 + 2 w[r] S),    offset[r] = (O + D) / (1 + 2 w[r] S).   (2)

One pass up gives gains and offsets, one pass down prices: a step of Newton's method. docs/derivations/m_h.md derives
this, the total, the integers and the exchange test.

Files: `integers` is what others call, `size_trees` the passes, `kernel` their compiled loops, `exchange` the test;
`bounds` the intervals of cells with bounds, `bounded_prices` the prices then, `bounded_kernel` the loops of both.
"""

from pgsr.engines.nearest_tree.integers import nearest_integers

__all__ = ["nearest_integers"]
