"""How well two whole numbers can be told apart under a budget of privacy, and what Bayes risk follows from that."""

from fractions import Fraction
from math import ceil, exp, expm1, log1p, sqrt

import numpy as np

from pgsr.errors import BudgetError
from pgsr.machine import memory
from pgsr.privacy.accounting.loss import Loss, PureEpsilon, Rho
from pgsr.privacy.budget import Number, exact

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
