"""The isotonic regression of one region at a time (H_c and H_g): the nearest non-decreasing vector.

    minimise    sum_i |x[i] - y[i]|^norm    subject to    lower <= x[0] <= x[1] <= ... <= upper.

Bounds need no care: clipping the solution without bounds gives one with them, for both norms.

**Squares: pool adjacent violators.** The solution is the min-max formula

    x[i] = max over a <= i of  min over b >= i of  mean of y[a], ..., y[b].

Read from left to right it is an algorithm on a stack of blocks (sum, count). A new cell is a block of its own; while
the last block's mean is not above that of the one before it, the two are pooled: by convexity cells that are out of
order are equal in the solution, and equal cells take their mean. Every cell is pooled once at most, so O(n). Sums and
counts are integers and means are compared by cross-multiplication, so no rounding decides a tie.

**Absolute values: the slope trick.** Let F_i(v) be the cheapest way to fit cells 0..i by values of at most v,

    F_i(v) = min over u <= v of  F_{i-1}(u) + |u - y[i]|.

F_i is convex, piecewise linear and never rises, so it is told by the places where its slope changes by one. Adding
|u - y[i]| puts y[i] in twice, and taking the minimum over u <= v cuts off the part that rises, which is one place: the
largest. The places are a max-heap, its top m[i] is the smallest minimiser of F_i, and the smallest solution is
x[n - 1] = m[n - 1], x[i] = min(m[i], x[i + 1]). O(n log n). Negated and reversed it gives the largest solution.

Integers: y is integer, so are medians, and the nearest integers to the real solution of squares are optimal integers.

Files: `regression` are the functions, `fit` the groups of a region from its noisy vector, `method` solves
`Problem.isotonic` with certificates, `kernel` are the loops.
"""

from pgsr.algorithms.isotonic.fit import IsotonicFit
from pgsr.algorithms.isotonic.method import Isotonic
from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1, isotonic_l2, isotonic_l2_means, isotonic_l2_runs

__all__ = [
    "Isotonic",
    "IsotonicFit",
    "Optimum",
    "isotonic_l1",
    "isotonic_l2",
    "isotonic_l2_means",
    "isotonic_l2_runs",
]
