"""What charges come to together, in every currency that can express them."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from pgsr.privacy.accounting.loss import Approximate, Loss, PureEpsilon, Rho
from pgsr.privacy.accounting.loss_of_noise import Change, loss_of_cells, precision_for
from pgsr.privacy.accounting.noise_rho import rho_of_pure
from pgsr.privacy.accounting.zcdp import SMALLEST, Conversion, epsilon_of, exact_delta
from pgsr.privacy.budget import Number
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.laws.double_geometric import LARGEST_SCALE

_MOST_KINDS = 64
"""Most different epsilons whose exact loss is computed."""


@dataclass(frozen=True)
class Odometer:
    """The charges of mechanisms that were run on the same data, in all currencies.

    Of a mechanism with an amount in one currency nothing else is known. It loses at most what randomised response with
    its epsilon loses (with chance delta it tells everything), or a rho.

    Example:
        >>> odometer = Odometer((PureEpsilon("1/4"),) * 20)
        >>> print(odometer.pure, "|", odometer.rho, "|", odometer.approximate("1e-6"))
        epsilon 5 | rho 0.621765009 (rounded) | epsilon 4.89398592 (rounded), delta 1/1000000
        >>> print(Odometer((PureEpsilon(1), Rho("1/10"))).pure)
        None

    Source: Kairouz, Oh & Viswanath 2015, theorems 2 and 3 (randomised response, and that with chance delta).

    Shown by `test_accounting_odometer.py`.
    """

    losses: tuple[Loss, ...]

    @property
    def pure(self) -> PureEpsilon | None:
        """The sum of epsilons; None if something is not pure."""
        if not all(isinstance(loss, PureEpsilon) for loss in self.losses):
            return None
        return PureEpsilon(self._sum(PureEpsilon, 0))

    @property
    def rho(self) -> Rho | None:
        """The sum of rho, pure epsilon counting as epsilon tanh(epsilon / 2), rounded up; None beside a delta."""
        if any(isinstance(loss, Approximate) for loss in self.losses):
            return None
        return Rho(self._sum(Rho, 2) + sum((rho_of_pure(e) for e in self._epsilons(PureEpsilon)), Fraction(0)))

    def approximate(self, delta: Number) -> Approximate | None:
        """Find the least epsilon that is known to hold at this delta; None if the charges' deltas exceed it.

        It is the least of: all epsilons and the converted rho, added up; the same with pure epsilon counting as rho;
        and the exact loss of randomised responses, with half of what the deltas leave for rho where there is some. The
        amounts must not have depended on what earlier mechanisms answered.

        Raises:
            BudgetError: delta is malformed.
        """
        delta = exact_delta(delta)
        rest = delta - self._sum(Approximate, 1)
        pure, other, rho = self._sum(PureEpsilon, 0), self._sum(Approximate, 0), self._sum(Rho, 2)
        if rest < 0 or (rho and rest < 2 * SMALLEST):
            return None
        if rest < 2 * SMALLEST:
            return Approximate(pure + other, delta)
        as_rho = rho + sum((rho_of_pure(e) for e in self._epsilons(PureEpsilon)), Fraction(0))
        found = [pure + other + _converted(rho, rest), other + _converted(as_rho, rest)]
        exact = self._of_responses(rest / 2 if rho else rest)
        if exact is not None:
            found.append(exact + _converted(rho, rest / 2))
        return Approximate(min(found), delta)

    def _of_responses(self, delta: Fraction) -> Fraction | None:
        """Find the least epsilon of randomised responses with all epsilons; None where there are too many kinds."""
        kinds = Counter(epsilon for kind in (PureEpsilon, Approximate) for epsilon in self._epsilons(kind) if epsilon)
        if not kinds:
            return Fraction(0)
        if len(kinds) > _MOST_KINDS or min(kinds) * LARGEST_SCALE < 1:
            return None
        cells: dict[tuple[Law, Change], int] = {(DoubleGeometric(1 / epsilon), 1): n for epsilon, n in kinds.items()}
        return loss_of_cells(cells, precision_for(delta)).epsilon(delta)

    def _epsilons(self, kind: type[Loss]) -> list[Fraction]:
        return [loss.parts[0] for loss in self.losses if isinstance(loss, kind)]

    def _sum(self, kind: type[Loss], part: int) -> Fraction:
        return sum((loss.parts[part] for loss in self.losses if isinstance(loss, kind)), Fraction(0))


def _converted(rho: Fraction, delta: Fraction) -> Fraction:
    return epsilon_of(rho, delta, Conversion.TIGHT) if rho else Fraction(0)
