"""The relaxed optimum of M_H with fixed totals of regions, all or some.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    x >= 0,
                sum over s of x[l, s] = G[l]    at every leaf l.

Totals above the leaves follow. Where the totals of some regions alone are fixed, each is one of a set of leaves
(`pgsr.certificates.fixed_totals`), and mu below has one number per set instead of one per leaf.

**The dual.** Inner region r pays its children p[r, s] a group; leaf l is paid mu[l] besides, the multiplier of its
total. Regions then stand alone. A leaf takes x = max(0, y + (p[parent] + mu) / 2 w), an inner region
x = y + (p[parent] - p) / 2 w, and the sum of the minima is

    D(p, mu) = sum over leaves, sizes of  min over x >= 0 of  w (x - y)^2 - (p[parent] + mu) x
             + sum over inner r, s of     min over x of       w (x - y)^2 + (p[r, s] - p[parent, s]) x
             + sum over leaves of         mu G,

concave, piecewise quadratic and once differentiable. Its derivatives are what is missing: by p[r, s] the region's x
minus its children's, by mu what a leaf's total lacks.

**Newton's method.** On the set of positive cells D is a quadratic. For given mu and nu its best prices follow from the
recursion of `pgsr.engines.nearest_tree` with mu / 2 w as offsets of the leaves: one pass up and one down for
each size. Put back, a linear system S z = b in the leaves' multipliers alone remains, z of one number per leaf.
S is never formed: S z is what leaves take more if they are paid z more and prices respond, once more a pass up and down

    up:    more[r] = sum over positive leaves of z / 2 w + sum over inner children c of keep[c] more[c],
    down:  price[r] = keep[r] (price[parent] - 2 w[r] more[r]),        keep[r] = 1 - 2 w[r] gain[r],

since a region passes the share keep[r] of a price on to its children. Conjugate gradients solve S z = b loosely, with
what S^-1 would be if every leaf and region were free at as many sizes as it is now, but evenly: see `totals_dual.Dual`.
Armijo's rule shortens steps, and at the end every leaf is projected onto its totals at fixed prices, so that the answer
is feasible up to rounding.

Files: `projection` is the method, `totals_dual` its dual on the arrays of `forest`; the loops are `tree_kernel` and
`totals_kernel`.
"""

from pgsr.algorithms.m_h_regions.projection import RegionTotalsProjection

__all__ = ["RegionTotalsProjection"]
