"""The rho of noise: what the two laws cost in zero-concentrated differential privacy, exactly, and the inverse.

Both laws cost exactly the mean of the privacy loss, the Kullback-Leibler divergence, because D_a / a falls with the
order a of the Renyi divergence. What is irrational is enclosed in integers and rounded to the safe side.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from pgsr.checks import plain
from pgsr.errors import BudgetError
from pgsr.privacy.accounting.search import largest
from pgsr.privacy.enclosure import exp_minus, root_below, rounded_down
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise, Law
from pgsr.privacy.laws.per_level import GaussianNoise, LevelNoise
from pgsr.privacy.sensitivity import Sensitivity

_BITS = 256


def rho_of_noise(noise: LevelNoise, sensitivity: Sensitivity) -> Fraction:
    """Compute the rho of the noise of a level: the least for which it is rho-zCDP, or up to 2^-79 of that more.

    It is the largest over the changes that the sensitivity lists. Any other change is at most one of them (weak
    majorisation), and costs at most as much: both laws' rho of a cell is increasing and convex in its change.

    Example:
        >>> one = Sensitivity(((1,),))
        >>> [float(rho_of_noise(n, one)) for n in (GeometricNoise(Fraction(1)), GaussianNoise(Fraction(1, 2)))]
        [0.46211715726000974, 0.5]
    """
    if isinstance(noise, GaussianNoise):
        return noise.rho
    law = noise.law(sensitivity)
    return max(rho_of_law(law, change) for change in sensitivity.changes)


def rho_of_law(law: Law, change: Iterable[int]) -> Fraction:
    """Compute the rho of independent noise of one law on cells that change by these integers, from above.

    Discrete Gaussian: sum of k^2 / (2 sigma^2) over the changes k (Canonne, Kamath & Steinke 2020, theorem 4); it is
    the mean of the loss, so no less would do. Double-geometric with a = exp(-1 / scale): with t = 1 / scale, the sum of

        t (k - 2 a (1 - a^k) / (1 - a^2)),  for k = 1:  t tanh(t / 2).

    Proof. Let P be the law, Q the law moved by k. Their loss ln P(j)/Q(j) = t (|j - k| - |j|) is one of t (k - 2 i),
    i = 0..k. With u = 2 a' - 1 at the order a', and the symmetry between P and Q,

        exp((a' - 1) D_a'(P || Q)) = sum over j of sqrt(P(j) Q(j)) cosh(u t (|j - k| - |j|) / 2) = M(u),

    which is proportional to x^(-k/2) (B + x + x^2 + ... + x^(k-1) + B x^k) at x = exp(u t), where B = 1 / (1 - a) > 1.
    This polynomial times (x - 1) is x^k (B x - (B - 1)) - (B - (B - 1) x). At a zero |x|^k = |B - (B - 1) x| /
    |B x - (B - 1)|, and |B x - (B - 1)|^2 - |B - (B - 1) x|^2 = (2 B - 1)(|x|^2 - 1), so that |x| > 1 would make the
    left side larger than 1 and the right side smaller, and |x| < 1 the other way round: all zeros have |x| = 1, and all
    zeros of M as a function of u are imaginary. M is even and of order 1, so M(u) is a product of factors
    1 + u^2 / r with r > 0 (Hadamard), and ln M is concave in s = u^2. Hence ln M(u) <= (s - 1) d ln M / ds at s = 1,
    where ln M = 0. With s - 1 = 4 a' (a' - 1) that is D_a' <= a' rho, and the slope at s = 1, a' = 1, gives rho as the
    limit of D_a' for a' to 1, the mean of the loss, t (E|X - k| - E|X|). Equality there: no smaller rho will do.

    Raises:
        BudgetError: a change is no whole number.

    Example:
        >>> float(rho_of_law(DoubleGeometric(Fraction(1)), [1, 1])), rho_of_law(DiscreteGaussian(Fraction(2)), [3, 1])
        (0.9242343145200195, Fraction(5, 2))

    Shown by `test_accounting_noise_rho.py`.
    """
    changes = Counter(abs(_whole(k)) for k in change)
    if isinstance(law, DiscreteGaussian):
        return Fraction(sum(n * k**2 for k, n in changes.items())) / (2 * law.sigma_squared)
    if not isinstance(law, DoubleGeometric):
        raise BudgetError(f"the rho of {law!r} is not known; use double-geometric or discrete Gaussian noise")
    return _geometric_rho(1 / law.scale, changes)


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Compute the rho of any epsilon-differentially private mechanism, epsilon tanh(epsilon / 2), from above.

    Every such mechanism is randomised response with this epsilon, followed by something that sees only the response
    (Kairouz, Oh & Viswanath 2015, theorem 2), and the loss of randomised response is that of double-geometric noise of
    scale 1 / epsilon for a change by one. It is at most epsilon^2 / 2 (Bun & Steinke 2016, proposition 1.4).

    Example:
        >>> float(rho_of_pure(Fraction(1))), float(rho_of_pure(Fraction(10)))
        (0.46211715726000974, 9.999092042625952)
    """
    return _geometric_rho(epsilon, {1: 1}) if epsilon else Fraction(0)


def geometric_of_rho(rho: Fraction, sensitivity: Sensitivity) -> GeometricNoise:
    """Find the double-geometric noise with the largest epsilon, of twelve digits, that is rho-zCDP.

    Raises:
        BudgetError: nothing changes, so that no noise is needed.

    Example:
        >>> geometric_of_rho(Fraction(1, 2), Sensitivity(((1,),)))
        GeometricNoise(epsilon=Fraction(104362689559, 100000000000))
    """
    require_change(sensitivity)

    def fits(epsilon: Fraction) -> bool:
        rate = epsilon / sensitivity.l1
        return all(_geometric_rho(rate, Counter(change)) <= rho for change in sensitivity.changes)

    # The loss of a change by k is at most t k, and so rho at most (t k)^2 / 2.
    return GeometricNoise(largest(fits, sensitivity.l1 * root_below(2 * rho / sensitivity.l2_squared), digits=12))


def require_change(sensitivity: Sensitivity) -> None:
    """Raise `BudgetError` if nothing changes between neighbours."""
    if not sensitivity.l1:
        raise BudgetError("nothing that a level measures changes between neighbours, so it needs no noise; publish it")


def _geometric_rho(rate: Fraction, changes: dict[int, int]) -> Fraction:
    """Bound the rho of double-geometric noise from above; `changes` is change -> number of cells."""
    precision = _BITS + 4 * max(0, (rate.denominator // rate.numerator).bit_length())
    one = 1 << precision
    a, rho = exp_minus(rate, precision)[0], Fraction(0)
    for k, n in changes.items():
        if not k:
            continue
        power = exp_minus(k * rate, precision)[1]
        # 2 a (1 - a^k) / (1 - a^2) = 2 (a + ... + a^k) / (1 + a) grows with a: the least a, the most a^k.
        rho += n * rate * (k - Fraction(2 * a * (one - power), one**2 - a**2))
    return -rounded_down(-rho)


def _whole(k: object) -> int:
    k = plain(k)
    if isinstance(k, bool) or not isinstance(k, int):
        raise BudgetError(f"a cell changes by {k!r}; give a whole number")
    return k
