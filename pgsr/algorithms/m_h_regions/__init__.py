"""The relaxed optimum of M_H with fixed totals of regions, all or some.

It is a flow of quadratic cost without integrality (docs/derivations/m_h_levels.md): inner region r pays its children
p[r, s] a group, the leaves of a set are paid mu besides, and x = max(0, y + (p[parent] + mu) / 2 w) at leaves. An inner
region of weight 0 shares the vertices of the region above. Only cells that would be positive if sets stood alone are in
the network at first, and others join when their price makes them positive. In the end every set gets its total at fixed
prices p, so that the answer is feasible up to rounding.

Files: `projection` is the method, `network` its network and prices.
"""

from pgsr.algorithms.m_h_regions.projection import RegionTotalsProjection

__all__ = ["RegionTotalsProjection"]
