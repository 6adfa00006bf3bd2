"""The total of the noise of several levels, in every currency."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.loss import Approximate, Loss, PureEpsilon, Rho
from pgsr.privacy.accounting.loss_distribution import LossDistribution
from pgsr.privacy.accounting.loss_of_noise import WIDEST_SIGMA, Change, largest_changes, loss_of_cells, precision_for
from pgsr.privacy.accounting.noise_rho import require_change, rho_of_noise
from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of, exact_delta
from pgsr.privacy.budget import Number
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise, Law
from pgsr.privacy.laws.per_level import GaussianNoise, LevelNoise
from pgsr.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class Composition:
    """The total of independent noise on the levels of one data set.

    Attributes:
        pure: the sum of the levels' epsilons; None if some noise is Gaussian, whose loss has no bound.
        rho: the sum of the levels' rho.
        cells: (law, change) -> number of cells with this law that change by so much, or of levels whose change is at
            most this tuple, for the exact distribution of the loss. It is at least as easy to tell apart as any
            neighbours are: a level whose worst changes are all by one has these changes (a smaller one is a subset of
            them); another level of double-geometric noise counts as randomised response with its epsilon; and one of
            Gaussian noise as the worst of all its changes at every delta (`loss_of_vector`). None where that would be
            more than 32 changes to compare, or a sigma is above 2^10: there rho has to do.

    Example:
        >>> counts = Sensitivity(((1, 1),))
        >>> total = composed([GeometricNoise(Fraction(1, 4)), GaussianNoise(Fraction(1, 100))], [counts] * 2)
        >>> print(total.pure, "|", total.rho, "|", total.approximate("1e-8"))
        None | rho 0.0256046867 (rounded) | epsilon 0.924681797 (rounded), delta 1/100000000

    Source: sums of epsilon: Dwork & Roth 2014, theorem 3.14; of rho: Bun & Steinke 2016, lemma 1.7. A subset of changes
    by one: Zhu, Dong & Wang 2022, theorem 10 (dominating pairs compose). Randomised response: Kairouz, Oh & Viswanath
    2015, theorem 2.

    Shown by `test_accounting_composing.py`.
    """

    pure: PureEpsilon | None
    rho: Rho
    cells: tuple[tuple[tuple[Law, Change], int], ...] | None

    def approximate(self, delta: Number) -> Approximate:
        """Find the least epsilon at this delta: by the exact loss, by rho, or the sum of epsilons, rounded up.

        The exact loss is that of `loss_of_cells`, at most 2^-40 (and a rounding of the loss, see there) above the least
        epsilon that is possible. Rho is converted by `Conversion.TIGHT`.

        Raises:
            BudgetError: delta is malformed.
        """
        delta = exact_delta(delta)
        found = [epsilon_of(self.rho.rho, delta, Conversion.TIGHT)] if self.rho.rho else [Fraction(0)]
        if self.pure is not None:
            found.append(self.pure.epsilon)
        if self.cells is not None:
            exact = _distribution(self.cells, precision_for(delta)).epsilon(delta)
            found += [] if exact is None else [exact]
        return Approximate(min(found), delta)

    def within(self, budget: Loss) -> bool:
        """Say whether all levels together are proven to cost no more than the budget."""
        if isinstance(budget, PureEpsilon):
            return self.pure is not None and self.pure.epsilon <= budget.epsilon
        if isinstance(budget, Rho):
            return self.rho.rho <= budget.rho
        epsilon, delta, _ = budget.parts
        if self.pure is not None and self.pure.epsilon <= epsilon:
            return True
        if self.cells is not None and _distribution(self.cells, precision_for(delta)).delta(epsilon) <= delta:
            return True
        return not self.rho.rho or epsilon_of(self.rho.rho, delta, Conversion.TIGHT) <= epsilon


def composed(noises: Sequence[LevelNoise | None], sensitivities: Sequence[Sensitivity]) -> Composition:
    """Add up the noise of levels, root first.

    Args:
        noises: of every level; None where nothing is measured.
        sensitivities: of what the level measures, all its regions together.

    Raises:
        BudgetError: as many noises as sensitivities are needed, a level's noise is no noise or too large to be drawn,
            or nothing changes on a level that has noise.
    """
    if len(noises) != len(sensitivities):
        raise BudgetError(
            f"{len(noises)} noises for {len(sensitivities)} sensitivities; give one of each per level, root first"
        )
    pure: Fraction | None = Fraction(0)
    rho, cells, known = Fraction(0), Counter[tuple[Law, Change]](), True
    for noise, sensitivity in zip(noises, sensitivities, strict=True):
        if noise is None:
            continue
        if not isinstance(noise, GeometricNoise | GaussianNoise):
            raise BudgetError(f"{noise!r} is no noise of a level; give GeometricNoise, GaussianNoise or None")
        require_change(sensitivity)
        rho += rho_of_noise(noise, sensitivity)
        pure = pure + noise.epsilon if pure is not None and isinstance(noise, GeometricNoise) else None
        largest, law = max(sensitivity.changes, key=len), noise.law(sensitivity)
        if sensitivity.largest == 1 and not _is_wide(law):
            cells[law, 1] += len(largest)
        elif isinstance(noise, GeometricNoise):
            cells[DoubleGeometric(1 / noise.epsilon), 1] += 1
        elif not _is_wide(law) and len(sensitivity.changes) == 1 and largest_changes(largest) is not None:
            cells[law, largest] += 1
        else:
            known = False
    total = None if pure is None else PureEpsilon(pure)
    return Composition(total, Rho(rho), tuple(cells.items()) if known and cells else None)


def _is_wide(law: Law) -> bool:
    return isinstance(law, DiscreteGaussian) and law.sigma_squared > WIDEST_SIGMA**2


@lru_cache(maxsize=4)
def _distribution(cells: tuple[tuple[tuple[Law, Change], int], ...], precision: int) -> LossDistribution:
    return loss_of_cells(dict(cells), precision)
