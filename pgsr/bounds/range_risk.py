"""The Bayes risk of one whole number in a range, and how well two can be told apart under a budget of privacy."""

from fractions import Fraction
from math import ceil, exp, expm1, log, log1p, sqrt

import numpy as np

from pgsr.checks import as_array
from pgsr.errors import ArgumentError, BudgetError
from pgsr.machine import memory
from pgsr.privacy.accounting.loss import Loss, PureEpsilon, Rho
from pgsr.privacy.budget import Number, exact

_CELLS = 4_000_000

_FAR = 40
"""exp(-40) is nothing beside 1 in 64 bits."""

_STEPS = 8
"""Newton's steps; five reach 64 bits from the start that is taken."""


def as_budget(budget: Number | Loss) -> Loss:
    """Read a budget of any currency; a plain number is a pure epsilon.

    Raises:
        BudgetError: the number is malformed, or the amount is 0.

    Example:
        >>> as_budget("1/2"), as_budget(Rho("1/2"))
        (PureEpsilon(epsilon 1/2), Rho(rho 1/2))
    """
    if not isinstance(budget, Loss):
        return PureEpsilon(exact(budget))
    if not budget.positive:
        raise BudgetError(f"the budget is {budget}, under which every release says nothing; give an amount above 0")
    return budget


def strength(budget: Loss) -> Fraction | float:
    """Compute the pure epsilon under which neighbours are as hard to tell apart as under the budget.

    Example:
        >>> from pgsr.privacy import Approximate
        >>> [round(float(strength(b)), 3) for b in (PureEpsilon(1), Approximate(1, "1e-2"), Rho("1/2"))]
        [1.0, 1.014, 1.044]
    """
    match budget:
        case PureEpsilon():
            return budget.epsilon
        case Rho():
            return float(_response(np.array([float(budget.rho)]))[0])
    epsilon, delta, _ = (float(part) for part in budget.parts)
    return epsilon + log1p(delta * exp(-epsilon)) - log1p(-delta)


def least_mistakes(budget: Loss, n: int) -> np.ndarray:
    """Compute how often k and k + 2 j + 1 are mistaken for each other at the least, for j = 0..n - 1; shape (n,).

    Let P_k be the law of a mechanism's answer at k, neighbours k +- 1, and S any set of answers. Then

        (P_k(not S) + P_(k + 2 j + 1)(S)) / 2  >=  u_j.

    - (epsilon, delta): u_0 = (1 - delta) / (1 + e^epsilon) and u_(j + 1) = max(0, (u_j - delta) e^-epsilon), which
      noise with the tail u_j attains for all pairs at once.
    - rho: u_j = 1 / (1 + e^h), h tanh(h / 2) = rho (2 j + 1)^2 (by Bun and Steinke 2016, proposition 1.9).

    docs/derivations/bounds.md has the proofs.

    Complexity: linear.

    Example:
        >>> from pgsr.privacy import Approximate
        >>> least_mistakes(Approximate(1, "1e-2"), 3).round(4), least_mistakes(Rho("1/2"), 3).round(4)
        (array([0.2663, 0.0943, 0.031 ]), array([0.2605, 0.01  , 0.    ]))

    Shown by `test_bounds_pairs.py::test_no_pair_is_told_apart_better`.
    """
    memory.require(40 * n, f"the risk of {2 * n:,} numbers under {budget}", "raise the budget")
    j = np.arange(n, dtype=float)
    if isinstance(budget, Rho):
        response = np.exp(-_response(float(budget.rho) * (2 * j + 1) ** 2))
        return response / (1 + response)
    epsilon, delta, _ = (float(part) for part in budget.parts)
    a, b = exp(-epsilon), -expm1(-epsilon)
    sums = -np.expm1(-epsilon * j) / b if b else j  # 1 + a + ... + a^(j - 1)
    return np.maximum((1 - delta) * a / (1 + a) * np.exp(-epsilon * j) - delta * a * sums, 0)


def risk_by_pairs(lengths: np.ndarray, budget: Loss) -> np.ndarray:
    """Bound the mean absolute error of any estimate of k, uniform on 0..m, from below; m distinct and rising.

    |y - k| counts the thresholds t < m with y on their other side. At t the numbers t - j and t + 1 + j are a pair at
    the distance 2 j + 1, for j up to the end of the range that is nearer, t by symmetry. So with S_i = u_0 + ... +
    u_(i - 1) the mistakes at t add up to at least 2 S_(t + 1), where numbers without a partner count for nothing.

    Under (epsilon, delta) these count, too, where t is not near the end. Let v be the probability that t is taken for
    one of 0..t. That of t + 1 is at least L(v) = max(0, a (v - delta), 1 - delta - (1 - v) / a), a = e^-epsilon, that
    of t + 2 at least L(L(v)), and so on, and in the other direction with 1 - v. So the mistakes at t are at least

        D_(t + 1)(1 - v) + D_(m - t)(L(v)),    D_i(w) = w + L(w) + ... (i terms).

    D rises and is convex, as L is. At v = 1 - u_0 this is S_(t + 1) + S_(m - t). A smaller v adds at least
    G_(t + 1) - a G_(m - t) per unit, where G_i = 1 + a + ... + a^(i - 1) over the u_j > 0, and a larger v at least
    G_(m - t) / a - G_(t + 1) > 0. So it is the least where  a G_(m - t) <= G_(t + 1),  from some t = e on.
    Both kinds of thresholds together, with e = (m + 1) // 2 under rho and C_i = S_1 + ... + S_i:

        (m + 1) E |y - k|  >=  2 C_e + 2 C_(m - e).

    Complexity: linear in the lengths, and in the distance at which there are no mistakes, in 64 bits.
    """
    n = min(int(lengths[-1]) if len(lengths) else 0, _n_undecided(budget))
    mistakes = least_mistakes(budget, n)
    sums = np.concatenate([[0.0], np.cumsum(mistakes)])
    edge = _edge(lengths, mistakes, budget)
    added = np.cumsum(sums)

    def of(count: np.ndarray) -> np.ndarray:
        return added[np.minimum(count, n)] + np.maximum(count - n, 0) * sums[-1]

    return 2 * (of(edge) + of(lengths - edge)) / (lengths + 1.0)


def _edge(lengths: np.ndarray, mistakes: np.ndarray, budget: Loss) -> np.ndarray:
    """Find the first threshold at which numbers without a partner count, by halving; (m + 1) // 2 if there is none."""
    low, high = np.zeros_like(lengths), (lengths + 1) // 2
    if isinstance(budget, Rho):
        return high
    a = exp(-float(budget.parts[0]))
    growth = np.concatenate([[0.0], np.cumsum(np.where(mistakes > 0, a ** np.arange(len(mistakes)), 0))])
    while (low < high).any():
        middle = (low + high) // 2
        further, nearer = (growth[np.minimum(n, len(mistakes))] for n in (lengths - middle, middle + 1))
        counted = a * further <= nearer
        low, high = np.where(counted, low, np.minimum(middle + 1, high)), np.where(counted, middle, high)
    return low


def _n_undecided(budget: Loss) -> int:
    """Count the j with a u_j that is not nothing."""
    if isinstance(budget, Rho):
        return 1 + ceil(sqrt(_FAR / float(budget.rho)) / 2)
    epsilon, delta, _ = budget.parts
    return 1 + ceil(min(_FAR / part for part in (epsilon, _FAR * delta) if part))


def _response(divergence: np.ndarray) -> np.ndarray:
    """Solve h tanh(h / 2) = divergence > 0: the epsilon of randomised response with this divergence."""
    h = np.maximum(divergence, np.sqrt(2 * divergence))  # too small, as h tanh(h / 2) <= min(h, h^2 / 2)
    for _ in range(_STEPS):
        # ln(h tanh(h / 2)) is concave in ln h, with slope 1 + h / sinh h, so that steps stay on this side.
        slope = 1 + 2 * h * np.exp(-h) / -np.expm1(-2 * h)
        h = h * np.exp(np.log(divergence / (h * np.tanh(h / 2))) / slope)
    return h


def range_risk(lengths: object, budget: Number | Loss) -> np.ndarray:
    """Compute the least mean absolute error of a private estimate of k, uniform on 0..m; shape of `lengths`.

    Under a pure epsilon this is exact. The geometric mechanism, its answer replaced by the median of k, attains it:

        B(m) = min over mechanisms with  P(y | k) <= exp(epsilon) P(y | k +- 1)  of  E |y - k|,   k uniform on 0..m.

    Under (epsilon, delta) and under rho no mechanism has less, and the least may be larger (`risk_by_pairs`).
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
