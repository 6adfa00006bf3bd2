"""M_c in squares: cumulative counts that are monotone and add up, in real numbers and in integers.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    0 <= x[r, 0] <= ... <= x[r, K],
                x[root, K] = G, or x[r, K] = G[r] in every region.

**The dual.** Only consistency is dualised, with prices p[r, s] at inner regions, 0 above the root; sums run over sizes:

    D(p) = sum over leaves l of         min over monotone x of  w |x - y|^2 - p[parent] . x
         + sum over inner regions r of  min over c of           w |c - y|^2 + (p[r] - p[parent]) . c.

Any prices give a lower bound. A leaf is the isotonic regression of y + p[parent] / 2 w, clipped, and an inner region is
c = y + (p[parent] - p[r]) / 2 w. The gradient of D at p[r] is c[r] minus the sum of the children's values. Minus its
Hessian averages over the blocks of the regressions, so Newton's method costs blocks and not cells. Over integers every
region rounds what it takes, which gives a second dual. docs/derivations/m_c.md derives all this.

**Bounds of cells** of leaves make a block take its mean within the lower bound of its last cell and the upper bound of
its first one; a block at a bound does not move with the price. Bounds of regions above would have to hold for sums of
leaves, which is no longer a matter of one region, so they are refused.

Files: `projection` and `integers` are the methods, `ascent` (Newton's method) and `quasi_newton` the ways up, `dual`
and `integers_dual` the duals, `preconditioner` the M, `arrays` what loops are given; the loops are `tree_kernel`
(prices and Hessian), `squares_kernel`, `integers_kernel` and `moves_kernel`. `joint` takes the values of regions alone
to a release.
"""

from pgsr.algorithms.m_c.integers import CumulativeIntegers
from pgsr.algorithms.m_c.projection import CumulativeProjection

__all__ = ["CumulativeIntegers", "CumulativeProjection"]
