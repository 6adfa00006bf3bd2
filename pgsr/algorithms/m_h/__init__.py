"""The exact optimum of M_H: counts with the root's public total, or every region's.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    x >= 0 (integer),    sum over s of x[root, s] = G.

Every size is a tree of its own (`pgsr.engines.nearest_tree`, which the noise step uses, too); sizes meet only in G,
whose price is found by Newton's method on one number. Where more couples them, every region's total or sizes that fold
into each other, M_H is a flow of quadratic cost (`flow`). docs/derivations/m_h.md and m_h_levels.md derive both.

Files: `projection` is `TreeProjection`, `by_flow` its way to the flow.
"""

from pgsr.algorithms.m_h.projection import TreeProjection

__all__ = ["TreeProjection"]
