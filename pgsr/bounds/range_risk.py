"""The Bayes risk of one whole number in a range, which is what every coordinate of a lower bound contributes."""

from math import ceil, exp, expm1, log

import numpy as np

from pgsr.bounds.pairs import as_budget, risk_by_pairs
from pgsr.checks import as_array
from pgsr.errors import ArgumentError
from pgsr.machine import memory
from pgsr.privacy.accounting.loss import Loss, PureEpsilon
from pgsr.privacy.budget import Number

_CELLS = 4_000_000

_FAR = 40
"""exp(-40) is nothing beside 1 in 64 bits."""


def range_risk(lengths: object, budget: Number | Loss) -> np.ndarray:
    """Compute the least mean absolute error of a private estimate of k, uniform on 0..m; shape of `lengths`.

    Under a pure epsilon this is exact. The geometric mechanism, its answer replaced by the median of k, attains it:

        B(m) = min over mechanisms with  P(y | k) <= exp(epsilon) P(y | k +- 1)  of  E |y - k|,   k uniform on 0..m.

    Under (epsilon, delta) and under rho no mechanism has less, and the least may be larger (`pgsr.bounds.pairs`).
    docs/derivations/bounds.md has the proofs.

    Args:
        lengths: m, whole numbers from 0 up, of any shape.
        budget: the privacy loss: a number is a pure epsilon; or `PureEpsilon`, `Approximate` or `Rho`.

    Raises:
        ArgumentError: a length is negative or no whole number.
        BudgetError: the budget is malformed, or 0.

    Complexity: under a pure epsilon log(1 / epsilon) / epsilon per distinct length, and nothing for those far above
    that; otherwise linear in the lengths and in the scale of the noise.

    Example:
        >>> range_risk([0, 1, 10, 10**9], 1).round(4)
        array([0.    , 0.2689, 0.7285, 0.8509])
        >>> from pgsr.privacy import Approximate, Rho
        >>> range_risk([1, 10, 10**9], Approximate(1, "1e-8")).round(4), range_risk([1, 10, 10**9], Rho("1/2")).round(4)
        (array([0.2689, 0.7285, 0.8509]), array([0.2605, 0.4881, 0.541 ]))

    Shown by `test_bounds_range_risk.py::test_equals_brute_force`, and there against all mechanisms by linear
    and convex programming.

    Source: Ghosh, Roughgarden and Sundararajan 2009, for every prior and every loss that grows with |y - k|.
    """
    given = as_array(lengths)
    if given.dtype.kind not in ("iu" if given.size else "iuf") or (given < 0).any():
        raise ArgumentError(f"lengths is {lengths!r}; give whole numbers from 0 up")
    budget = as_budget(budget)
    distinct, place = np.unique(given, return_inverse=True)
    exact = isinstance(budget, PureEpsilon)
    risks = _risks(distinct, float(budget.epsilon)) if exact else risk_by_pairs(distinct, budget)
    return risks[place].reshape(given.shape)


def _risks(m: np.ndarray, epsilon: float) -> np.ndarray:
    a, b = exp(-epsilon), -expm1(-epsilon)  # b = 1 - a, also where a is nearly 1
    edge = _n_edge(epsilon)
    n = np.maximum(m - 2 * edge, 0)  # thresholds edge..m - 1 - edge
    inner = 2 * a * (n + a ** (edge + 1) * np.expm1(-epsilon * n) / b) / (b * (1 + a))
    return (_edges(m, edge, epsilon) + inner) / (m + 1)


def _n_edge(epsilon: float) -> int:
    """Count the thresholds t at an end of a range that may be decided at another place than t: a^(t + 1) > 1 - a."""
    return max(0, ceil(log(-expm1(-epsilon)) / -epsilon) - 1)


def _edges(m: np.ndarray, edge: int, epsilon: float) -> np.ndarray:
    """Add up the errors of the first and the last `edge` thresholds, times m + 1; all of them, if these are fewer."""
    far = 2 * edge + ceil(_FAR / epsilon)  # from here on one end does not feel the other, in 64 bits
    lengths, place = np.unique(np.minimum(m, far), return_inverse=True)
    needed = min(edge, int(lengths[-1]) // 2) if len(lengths) else 0
    memory.require(100 * needed, f"the risk of a range of {needed:,} numbers at epsilon {epsilon:g}", "raise epsilon")
    step = max(1, _CELLS // (1 + needed))
    sums = [np.zeros(0)]
    for start in range(0, len(lengths), step):
        some = lengths[start : start + step]
        t = np.arange(min(needed, int(some[-1]) // 2))
        at = np.where(t < some[:, None] // 2, _undecided(some[:, None], t, epsilon), 0).sum(axis=1)
        # The middle threshold of an odd length, t = (m - 1) / 2, is its own mirror image.
        alone = (some % 2 == 1) & (some // 2 < edge)
        sums.append(2 * at + np.where(alone, _undecided(some, np.minimum(some // 2, edge), epsilon), 0))
    return np.concatenate(sums)[place]


def _undecided(m: np.ndarray, t: np.ndarray, epsilon: float) -> np.ndarray:
    """Compute (m + 1) times the error of deciding whether k <= t, for 0 <= 2 t < m: by y <= y*, or never believed."""
    a, b = exp(-epsilon), -expm1(-epsilon)
    t = np.minimum(t, m // 2)  # others are masked out by the caller
    # y* is the last y <= t with  a z^2 - (1 + a) z + d <= 0,  z = a^y.
    d = 2 * np.exp(-epsilon * (t + 1)) - np.exp(-epsilon * (m + 1))
    inside = (1 + a) ** 2 - 4 * a * d
    z = 2 * d / (1 + a + np.sqrt(np.maximum(inside, 0)))  # the smaller root
    last = np.minimum(t, np.floor(-np.log(np.maximum(z, np.finfo(float).tiny)) / epsilon))
    believed = (inside >= 0) & (last >= 0)
    last = np.where(believed, last, 0)
    missed = a - np.exp(-epsilon * (last + 2))  # k <= y* < y
    between = (t - last) * b * (1 + a) + a * np.expm1(-epsilon * (t - last))  # y* < k <= t, y > y*
    beyond = -np.exp(-epsilon * (t + 1 - last)) * np.expm1(-epsilon * (m - t))  # k > t, y <= y*
    return np.where(believed, (missed + between + beyond) / (b * (1 + a)), t + 1)
