"""Newton's method in its two parts: the direction by conjugate gradients, the length of the step by a line search.

Both work on arrays and know nothing of what these are: a dual gives products with its Hessian and values along a line.

**The direction.** Where a concave D has the gradient g and minus its Hessian is H, symmetric and positive semidefinite,
Newton's direction solves H x = g. H is never formed: all that is asked of it are products H p. M is an approximation of
H that is easily inverted, the preconditioner. With the residual r = g - H x, z = M^-1 r and the norm r.z, conjugate
gradients go along directions p that are conjugate, p.H p' = 0. From x = 0 and p = z, a step repeats

    a = r.z / p.H p,    x += a p,    r -= a H p,    z = M^-1 r,    p = z + (r.z / r.z before) p,

and x is the best solution among all combinations of the p so far, in the norm of H. After as many steps as H has
different eigenvalues (of M^-1 H) it is exact; it is stopped long before, once r.z is small beside the first. Every x
on the way is a direction of ascent, g.x > 0, however early it stops. If H is singular and g in its range, all p stay
there, and x is a solution.

**The length.** Along x the slope of D falls, since D is concave: at the length t it is s(t), and s(0) = g.x > 0. A
length is enough if D has risen by a share of what its first slope promised, D(t) >= D(0) + c t s(0) (Armijo's rule), or
if the slope at the end is still a share of the first, s(t) >= k s(0): for positive k D then rose by at least
t k s(0), which decides where differences of D are lost in rounding. A longer step has overshot, and is shortened to
where the secant of s through 0 and t is zero, t s(0) / (s(0) - s(t)), within limits. D being piecewise quadratic, the
secant leads to the maximum where both ends are in the same piece. Where D is straight as far as the step goes, the step
may be lengthened first.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

_RISE = 1e-4
"""The share c of the rise that the first slope promises."""


class System(Protocol):
    """The system H x = g, as conjugate gradients see it. Vectors are arrays of any one shape.

    The system computes inner products itself, because it knows in which order its terms are added up.
    """

    def multiply(self, p: np.ndarray, product: np.ndarray) -> float:
        """Write H p into `product`; return p.H p."""
        ...

    def advance(self, step: float, p: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray) -> float:
        """Do x += step p and rest -= step `product`, write z = M^-1 rest into `product`; return rest.z."""
        ...


def conjugate_gradients(system: System, right: np.ndarray, reduction: float, most: int) -> np.ndarray:
    """Solve H x = right approximately; see above.

    Args:
        system: products with H, and the preconditioner.
        right: g.
        reduction: it ends when r.z has fallen by `reduction`^2,
        most: or after so many steps; or where p.H p is not positive: then p is in the kernel of H, but for rounding.
    """
    x, rest, p, product = np.zeros(right.shape), right.copy(), np.zeros(right.shape), np.zeros(right.shape)
    norm = system.advance(0.0, p, product, x, rest)
    p[:] = product
    end = reduction**2 * norm
    for _ in range(most):
        if not norm > end:
            break
        curvature = system.multiply(p, product)
        if not curvature > 0.0:
            break
        before, step = norm, norm / curvature
        norm = system.advance(step, p, product, x, rest)
        p *= norm / before
        p += product
    return x


class LineStep(NamedTuple):
    """The length that a line search ended at, and whether it is enough; if not, no length that was tried was."""

    length: float
    is_enough: bool


def line_search(
    look: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    trials: int,
    end: float = 1e-4,
    longest: float = 0.7,
    straight: float = np.inf,
) -> LineStep:
    """Find a length of a step that raises a concave D by enough, from 1 downwards; see above.

    Args:
        look: D, or NaN if unknown, and its slope s at a length t. The last length looked at is the one returned.
        value: D(0); NaN if it is not known, and slopes decide alone.
        slope: s(0) > 0.
        trials: how many lengths are looked at at most.
        end: the share k of the first slope that is enough at the end; where it is negative, so little may be overshot.
        longest: a length is at most this share of the one before, and at least a tenth.
        straight: the share of the first slope from which D counts as straight; the step is then made eight times as
            long while D is. A direction that has no curvature, and its length from a ridge alone, is followed so far.

    Example:
        >>> line_search(lambda t: (3 * t - 6 * t**2, 3 - 12 * t), 0.0, 3.0, trials=10)
        LineStep(length=0.25, is_enough=True)
    """
    length, overshot = 1.0, False
    for trial in range(trials):
        reached, here = look(length)
        if here >= straight * slope and not overshot and trial < trials - 1:
            length *= 8.0
            continue
        if here >= end * slope or reached >= value + _RISE * length * slope:
            return LineStep(length, True)
        overshot = True
        if trial < trials - 1:
            length *= min(max(slope / (slope - here), 0.1), longest)
    return LineStep(length, False)
