"""The isotonic regression of one region at a time (H_c and H_g): the nearest non-decreasing vector.

    minimise    sum_i |x[i] - y[i]|^norm    subject to    lower <= x[0] <= x[1] <= ... <= upper.

Bounds that are the same for all cells need no care: clipping the solution without bounds gives one with them, for both
norms. Bounds of single cells do, as clipping cell by cell may leave blocks that should be pooled: y = (10, 0) with
x[0] <= 2 has the solution (2, 2), not (2, 5). Since x does not decrease, lower bounds may be raised to their running
maximum, upper ones lowered to their running minimum from the right; then

- for absolute values y may be clipped to them first, which changes all distances on the interval by the same constant,
  and the solution of the clipped y keeps the bounds by itself: as a running maximum of minima of medians it is no less
  than the least lower bound from its cell on, and no more than the largest upper bound up to its cell;
- for squares a block takes its mean, clipped to the lower bound of its last cell and the upper bound of its first one.
  Two blocks are pooled where these values are out of order. By convexity cells that are out of order are equal in the
  solution, as without bounds, and the interval of the pooled block contains both values, so it is never empty.

**Squares: pool adjacent violators.** The solution is the min-max formula

    x[i] = max over a <= i of  min over b >= i of  mean of y[a], ..., y[b].

`MinMax` evaluates it as it stands. Read from left to right it is an algorithm on a stack of blocks (sum, count). A new
cell is a block of its own; while the last block's mean is not above that of the one before it, the two are pooled: by
convexity cells that are out of order are equal in the solution, and equal cells take their mean. Every cell is pooled
once at most, so O(n). Sums and counts are integers and means are compared by cross-multiplication, so no rounding
decides a tie.

**Absolute values: the slope trick.** Let F_i(v) be the cheapest way to fit cells 0..i by values of at most v,

    F_i(v) = min over u <= v of  F_{i-1}(u) + |u - y[i]|.

F_i is convex, piecewise linear and never rises, so it is told by the places where its slope changes by one. Adding
|u - y[i]| puts y[i] in twice, and taking the minimum over u <= v cuts off the part that rises, which is one place: the
largest. The places are a max-heap, its top m[i] is the smallest minimiser of F_i, and the smallest solution is
x[n - 1] = m[n - 1], x[i] = min(m[i], x[i + 1]). O(n log n). Negated and reversed it gives the largest solution.

Integers: y is integer, so are medians, and the nearest integers to the real solution of squares are optimal integers.

Files: `regression` are the functions, `fit` the groups of a region from its noisy vector, `method` solves
`Problem.isotonic` with certificates, the loops are `pgsr.engines.isotonic_kernel`.
"""

from pgsr.algorithms.isotonic.fit import IsotonicFit
from pgsr.algorithms.isotonic.method import Isotonic, MinMax

__all__ = ["Isotonic", "IsotonicFit", "MinMax"]
