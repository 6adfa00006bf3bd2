"""M_c in squares: cumulative counts that are monotone and add up, in real numbers and in integers.

    minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],    0 <= x[r, 0] <= ... <= x[r, K],
                x[root, K] = G, or x[r, K] = G[r] in every region.

**The dual.** Only consistency is dualised, with prices p[r, s] at inner regions, 0 above the root; sums run over sizes:

    D(p) = sum over leaves l of         min over monotone x of  w |x - y|^2 - p[parent] . x
         + sum over inner regions r of  min over c of           w |c - y|^2 + (p[r] - p[parent]) . c.

Any prices give a lower bound. A leaf is the isotonic regression of y + p[parent] / 2 w, clipped, and an
inner region is c = y + (p[parent] - p[r]) / 2 w. Monotone values are not asked of inner regions: sums of monotone
leaves are monotone anyway. D is concave, and by the envelope theorem its gradient at p[r] is c[r] minus the sum of the
children's values: what is missing for consistency.

**Bounds of cells** of leaves make a block take its mean within the lower bound of its last cell and the upper bound of
its first one; a block at a bound does not move with the price. Everything else stays as it is. Bounds of regions above
would have to hold for sums of leaves, which is no longer a matter of one region, so they are refused.

**The Hessian costs blocks, not cells.** An isotonic regression averages over its blocks, so for a small change v of the
price above it the block b of a leaf moves by (mean of v over b) / 2 w, or not at all where it is clipped. With
rate[r] = 1 / 2 w[r] and gain[b] = 1 / (2 w |b|), minus the Hessian is

    (H v)[r] = rate[r] (v[r] - v[parent]) + sum over inner children j of rate[j] (v[r] - v[j])
             + sum over leaves l below r, blocks b that may move, of  gain[b] 1_b (1_b . v[r]);

with prefix sums of v a leaf costs its number of blocks, a hundredth of its cells. Newton's method solves H v = gradient
loosely by conjugate gradients, and a line search keeps every step an ascent.

**The preconditioner** has two levels. On values that are constant on aggregates of neighbouring cells, Z, the leaves'
part of node r is a small dense matrix A[r], and the tree can be eliminated exactly from the leaves up: with R[j] the
diagonal of child j's summed rates,

    pivot[r] = A[r] + R[r] + sum over inner children j of (R[j] - R[j] pivot[j]^-1 R[j]),                          (1)

because eliminating v[j] from pivot[j] v[j] - R[j] v[r] = b[j] adds the term in brackets to its parent. What aggregates
cannot show, (I - P) with P the means over them, gets (1) once more, cell by cell, with the diagonal of the leaves'
part, as the tree T:

    M^-1 = Z (Z' H Z)^-1 Z' + (I - P) T^-1 (I - P).

**Integers.** Over integers every region is still on its own once consistency has prices: the isotonic regression of a
leaf is rounded block by block, and what an inner region takes is rounded, too. So there is a dual over integers, which
is the dual of M_c with every square replaced by straight lines between integers, x^2 + f (1 - f) with f the fraction
of x. It has kinks wherever somebody rounds. With x^2 + (1 - t) f (1 - f) as the cost the takings are rounded softly,
t = 1 is the relaxed dual, and t is lowered while gradients alone climb: `integers`. A linear program over moves of
single groups closes what is left: `moves`.

Files: `projection` and `integers` are the methods, `ascent` (Newton's method) and `quasi_newton` the ways up, `dual`
and `integers_dual` the duals, `preconditioner` the M, `arrays` what loops are given; the loops are `tree_kernel`
(prices and Hessian), `squares_kernel`, `integers_kernel`, `moves_kernel` and `two_level_kernel`. `joint` takes the
values of regions alone to a release.
"""

from pgsr.algorithms.m_c.integers import CumulativeIntegers
from pgsr.algorithms.m_c.projection import CumulativeProjection

__all__ = ["CumulativeIntegers", "CumulativeProjection"]
