"""The isotonic regression of one region at a time (H_c and H_g): the nearest non-decreasing vector.

    minimise    sum_i |x[i] - y[i]|^norm    subject to    lower <= x[0] <= x[1] <= ... <= upper.

**Squares.** Pool adjacent violators, in O(n): a new cell is a block of its own, and the last two blocks are pooled
while their means are out of order. Means of integers are compared by cross-multiplication, so no rounding decides a
tie. `MinMax` evaluates the same solution as the formula

    x[i] = max over a <= i of  min over b >= i of  mean of y[a], ..., y[b].

**Absolute values.** The slope trick, in O(n log n): F_i(v) = min over u <= v of F_{i-1}(u) + |u - y[i]| is told by the
places where its slope changes by one. A cell adds y[i] twice and removes the largest place; the largest left, m[i], is
the least minimiser, and the smallest solution is x[n - 1] = m[n - 1], x[i] = min(m[i], x[i + 1]).

**Bounds** of all cells clip the solution. Those of single cells are first made monotone, as x is. Then absolute values
clip y, and for squares a block's mean is clipped to the lower bound of its last cell and the upper bound of its first.

Integers: y is integer, so are medians, and the nearest integers to the real solution of squares are optimal integers.

Files: `regression` are the functions, `fit` the groups of a region from its noisy vector, `method` solves
`Problem.isotonic` with certificates, the loops are `pgsr.engines.isotonic_kernel`.
"""

from pgsr.algorithms.isotonic.fit import IsotonicFit
from pgsr.algorithms.isotonic.method import Isotonic, MinMax

__all__ = ["Isotonic", "IsotonicFit", "MinMax"]
