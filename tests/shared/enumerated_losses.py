"""Privacy losses by enumeration of outputs from the definitions of the laws; slow, and knows nothing of the accounting.

double geometric, scale b:        P(j) proportional to exp(-|j| / b)
discrete Gaussian, sigma^2 = v:   P(j) proportional to exp(-j^2 / (2 v))
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np
from mpmath import mp, mpf

from pgsr.privacy.laws import Law

Losses = dict[Fraction, mpf]
"""Loss ln P/Q -> chance under P."""

ENDS = mpf("1e-45")


def exponent(law: Law, j: int) -> Fraction:
    """Minus ln P(j), up to a constant, exactly."""
    spelled = law.spelling
    if spelled["law"] == "double_geometric":
        return abs(j) / Fraction(spelled["scale"])
    return j * j / (2 * Fraction(spelled["sigma_squared"]))


def losses(law: Law, change: int, ends: mpf = ENDS) -> Losses:
    """Enumerate one cell's losses over all noise j with a weight above `ends`, about the error of chances."""
    n = 1
    while mp.exp(-_real(exponent(law, n))) > ends:
        n += 1
    n += change
    weights = {j: mp.exp(-_real(exponent(law, j))) for j in range(-n, n + 1)}
    total, found = sum(weights.values()), {}
    for j, weight in weights.items():
        loss = exponent(law, j - change) - exponent(law, j)
        found[loss] = found.get(loss, mpf(0)) + weight / total
    return found


def together(parts: Iterable[Losses]) -> Losses:
    """Losses of independent noise add up."""
    found: Losses = {Fraction(0): mpf(1)}
    for part in parts:
        new: Losses = {}
        for loss, chance in found.items():
            for more, other in part.items():
                new[loss + more] = new.get(loss + more, mpf(0)) + chance * other
        found = new
    return found


def delta(found: Losses, epsilon: Fraction) -> mpf:
    """The sum over outputs of max(0, P - e^epsilon Q)."""
    return sum((chance * -mp.expm1(_real(epsilon - loss)) for loss, chance in found.items() if loss > epsilon), mpf(0))


def divergence(found: Losses, order: mpf) -> mpf:
    """The Renyi divergence of an order above 1; at order 1 the Kullback-Leibler divergence."""
    if order == 1:
        return sum(chance * _real(loss) for loss, chance in found.items())
    return mp.log(sum(chance * mp.exp((order - 1) * _real(loss)) for loss, chance in found.items())) / (order - 1)


def grid(law: Law, change: Sequence[int], most: int = 60_000) -> tuple[np.ndarray, np.ndarray]:
    """ln P and ln P/Q of every output in a box around a vector, the neighbour moved by `change`; float64.

    Outputs beyond the box are left out, so that sums over the box are less than those over all outputs.
    """
    reach = next(n for n in range(100, 0, -1) if (2 * n + 1) ** len(change) <= most or n == 1)
    j = np.arange(-reach, reach + 1)
    wide = np.arange(-20 * reach - 200, 20 * reach + 201)
    spelled = law.spelling
    if spelled["law"] == "double_geometric":
        minus = lambda x: np.abs(x) / float(Fraction(spelled["scale"]))  # noqa: E731
    else:
        minus = lambda x: x * x / (2 * float(Fraction(spelled["sigma_squared"])))  # noqa: E731
    log_total = np.log(np.exp(-minus(wide)).sum())
    log_p, loss = np.zeros(1), np.zeros(1)
    for move in islice(change, len(change)):
        log_p = np.add.outer(log_p, -minus(j) - log_total).ravel()
        loss = np.add.outer(loss, minus(j - move) - minus(j)).ravel()
    return log_p, loss


def _real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator
