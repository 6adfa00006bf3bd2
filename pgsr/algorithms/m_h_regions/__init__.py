"""The relaxed optimum of M_H with fixed totals of regions, all or some.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    x >= 0,
                sum over s of x[l, s] = G[l]    at every leaf l.

Totals above the leaves follow. Where the totals of some regions alone are fixed, each is one of a set of leaves
(`pgsr.certificates.fixed_totals`), and mu below has one number per set instead of one per leaf.

It is a flow of quadratic cost (docs/derivations/m_h_levels.md) without integrality: cells are arcs, sums are vertices.
A leaf's cells start at the vertex of its set, which the set's total enters, and an inner region of weight 0 shares the
vertices of the region above, because its cells cost nothing. Prices are found by
`pgsr.engines.quadratic_flow.relaxed`: inner region r pays its children p[r, s] a group, leaf l is paid mu[l] besides,
and at the best prices

    x = max(0, y + (p[parent] + mu) / 2 w)   at leaves,       x = y + (p[parent] - p) / 2 w   at inner regions

add up. Most cells of leaves are 0: only those that would be positive if sets stood alone are in the network at first,
and others join when their price makes them positive. Where nothing below r has size s, r pays so little that it takes
nothing itself, p[r, s] = p[parent, s] + 2 w y[r, s]. In the end Newton's method gives every set its total at fixed
prices p, so that the answer is feasible up to rounding.

Files: `projection` is the method, `network` its network and prices.
"""

from pgsr.algorithms.m_h_regions.projection import RegionTotalsProjection

__all__ = ["RegionTotalsProjection"]
