"""The choice of the law of every level's noise, by exact variances at a stated total."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from math import inf, log

from pgsr.checks import member_of, require_kind
from pgsr.errors import BudgetError
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.loss import Approximate, Loss, PureEpsilon, Rho
from pgsr.privacy.accounting.noise_rho import geometric_of_rho, require_change
from pgsr.privacy.accounting.search import decimal_down, largest
from pgsr.privacy.accounting.zcdp import Conversion, rho_of
from pgsr.privacy.budget import Budget, Number
from pgsr.privacy.laws import GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise, LevelNoise
from pgsr.privacy.sensitivity import Sensitivity

Noises = tuple[LevelNoise | None, ...]

Candidate = Callable[[float], Noises | None]
"""Searches noise within the budget, given the least sum of ln variance so far; None if it cannot be below that."""

_DIGITS = 6

_HALVINGS = 12

_ALIKE = 1 + 1e-9
"""Of noise with the same variance the geometric is taken: it has a pure epsilon, too."""


class Laws(StrEnum):
    """The laws of noise that levels may have: BEST takes the one of less variance, level by level."""

    BEST = "best"
    GEOMETRIC = "geometric"
    GAUSSIAN = "gaussian"

    @classmethod
    def parse(cls, value: "Laws | str") -> "Laws":
        return member_of(cls, value, "laws", BudgetError)


def best_noise(
    budget: Loss,
    sensitivities: Sequence[Sensitivity],
    shares: Sequence[Number] | None = None,
    laws: Laws | str = Laws.BEST,
) -> Noises:
    """Choose geometric or Gaussian noise for every level, root first, so that all together keep the budget.

    - `PureEpsilon`: geometric noise everywhere, the level's share of epsilon each.
    - `Rho`: the level's share of rho, and of both laws the one with less variance.
    - `Approximate`: the least of geometric noise, Gaussian noise, and some levels geometric, those with the smallest
      ratio of the variances first. What fits is decided by `Composition.within`; the sum over levels of ln variance is
      least.

    Args:
        budget: the total.
        sensitivities: of what every level measures, all its regions together.
        shares: of every level, adding up to exactly 1; equal if None. A level with share 0 is not measured.
        laws: `Laws.GEOMETRIC` or `Laws.GAUSSIAN` leave the other law out.

    Returns:
        The noise of every level; None where nothing is measured. Searched amounts have six digits, epsilons of a stated
        rho twelve, and are rounded down.

    Raises:
        BudgetError: the budget is 0, the shares do not fit, or the noise would be too large to be drawn.

    Example:
        >>> cumulative = [Sensitivity(((1,),))] * 2
        >>> best_noise(PureEpsilon(1), cumulative, ["1/4", "3/4"])
        (GeometricNoise(epsilon=Fraction(1, 4)), GeometricNoise(epsilon=Fraction(3, 4)))
        >>> best_noise(Rho("1/5"), cumulative, [0, 1])
        (None, GaussianNoise(rho=Fraction(1, 5)))
        >>> best_noise(Approximate(1, "1e-8"), [Sensitivity(((1,),))] * 20)[0]
        GaussianNoise(rho=Fraction(192209, 200000000))

    Shown by `test_accounting_choosing.py`.
    """
    require_kind(budget, Loss, "the budget", "give PureEpsilon(1), Approximate(1, '1e-8') or Rho('1/10')")
    if not budget.positive:
        raise BudgetError(f"the budget is {budget}, which leaves nothing to measure with; give an amount above 0")
    parts = Budget.split(1, len(sensitivities), shares).levels
    for part, sensitivity in zip(parts, sensitivities, strict=True):
        if part:
            require_change(sensitivity)
    laws = Laws.parse(laws)
    if isinstance(budget, PureEpsilon):
        if laws is Laws.GAUSSIAN:
            raise BudgetError(
                f"Gaussian noise has no pure epsilon, and the budget is {budget}; give Rho(...) or Approximate(...), "
                "or laws='geometric'"
            )
        return _drawn(_geometric(budget.epsilon, parts), sensitivities)
    if isinstance(budget, Rho):
        return _of_rho(budget.rho, parts, sensitivities, laws)
    epsilon, delta, _ = budget.parts
    return _least(_candidates(epsilon, delta, parts, sensitivities, laws), sensitivities)


def variance_of(noise: LevelNoise, sensitivity: Sensitivity) -> float:
    """Compute the variance of a level's noise, per cell; infinite if it is too large to be drawn."""
    try:
        return noise.law(sensitivity).variance
    except BudgetError:
        return inf


def _candidates(
    epsilon: Fraction, delta: Fraction, parts: Sequence[Fraction], sensitivities: Sequence[Sensitivity], laws: Laws
) -> list[Candidate]:
    """List what there is to choose from within (epsilon, delta), each searched when called."""
    budget, start = Approximate(epsilon, delta), rho_of(epsilon, delta, Conversion.TIGHT)

    def fits(noises: Noises) -> bool:
        return composed(noises, sensitivities).within(budget)

    def searched(make: Callable[[Fraction], Noises], start: Fraction) -> Candidate:
        def found(best: float) -> Noises | None:
            target = _as_good(lambda x: _log_variances(make(x), sensitivities), start, best)
            if target > start and not fits(make(target)):
                return None
            return make(largest(lambda x: fits(make(x)), target, _DIGITS))

        return found

    def geometric(total: Fraction) -> Noises:
        return _geometric(total, parts)

    def mixed(where: frozenset[int]) -> Callable[[Fraction], Noises]:
        def make(rho: Fraction) -> Noises:
            return tuple(
                None if not part else geometric_of_rho(part * rho, s) if i in where else GaussianNoise(part * rho)
                for i, (part, s) in enumerate(zip(parts, sensitivities, strict=True))
            )

        return make

    pure: list[Candidate] = [lambda best: geometric(epsilon), searched(geometric, epsilon)]
    if laws is Laws.GEOMETRIC:
        return pure
    if laws is Laws.GAUSSIAN:
        return [searched(mixed(frozenset()), start)]
    return pure + [searched(mixed(where), start) for where in _prefixes(start, parts, sensitivities)]


def _prefixes(rho: Fraction, parts: Sequence[Fraction], sensitivities: Sequence[Sensitivity]) -> list[frozenset[int]]:
    """List the sets of levels with geometric noise, from none to all but the last kind, the most gainful first.

    Levels of the same share and sensitivity are of one kind, and have the same noise.
    """
    kinds: dict[tuple[Fraction, Sensitivity], list[int]] = {}
    for level, (part, sensitivity) in enumerate(zip(parts, sensitivities, strict=True)):
        if part:
            kinds.setdefault((part, sensitivity), []).append(level)

    def ratio_of(kind: tuple[Fraction, Sensitivity]) -> float:
        share, sensitivity = kind[0] * rho, kind[1]
        gaussian = variance_of(GaussianNoise(share), sensitivity)
        return variance_of(geometric_of_rho(share, sensitivity), sensitivity) / gaussian if gaussian < inf else 0.0

    by_gain = [kinds[kind] for kind in sorted(kinds, key=ratio_of)]
    return [frozenset(chain.from_iterable(by_gain[:n])) for n in range(len(by_gain))]


def _geometric(total: Fraction, parts: Sequence[Fraction]) -> Noises:
    return tuple(GeometricNoise(total * part) if part else None for part in parts)


def _of_rho(rho: Fraction, parts: Sequence[Fraction], sensitivities: Sequence[Sensitivity], laws: Laws) -> Noises:
    """Choose on every level alone."""
    found: list[LevelNoise | None] = []
    for part, sensitivity in zip(parts, sensitivities, strict=True):
        if not part:
            found.append(None)
            continue
        gaussian, geometric = GaussianNoise(part * rho), geometric_of_rho(part * rho, sensitivity)
        variance = variance_of(geometric, sensitivity)
        alike = variance < inf and variance <= variance_of(gaussian, sensitivity) * _ALIKE
        taken = {Laws.BEST: geometric if alike else gaussian, Laws.GEOMETRIC: geometric, Laws.GAUSSIAN: gaussian}
        found.append(taken[laws])
    return _drawn(found, sensitivities)


def _drawn(noises: Sequence[LevelNoise | None], sensitivities: Sequence[Sensitivity]) -> Noises:
    """Give the noise back, or raise `BudgetError` where it is too large to be drawn."""
    for noise, sensitivity in zip(noises, sensitivities, strict=True):
        if noise is not None:
            noise.law(sensitivity)
    return tuple(noises)


def _least(candidates: Sequence[Candidate], sensitivities: Sequence[Sensitivity]) -> Noises:
    """Choose the candidate with the least sum of ln variance; the first of several.

    Raises:
        BudgetError: the noise of all is too large to be drawn; the first one's error.
    """
    refused, least, found = None, inf, None
    for candidate in candidates:
        try:
            noises = candidate(least)
            if noises is not None and (sum_of_logs := _log_variances(noises, sensitivities)) < least:
                least, found = sum_of_logs, noises
        except BudgetError as error:
            refused = refused or error
    if found is None:
        raise refused or BudgetError("there is no noise to choose from")
    return found


def _as_good(sum_of_logs: Callable[[Fraction], float], start: Fraction, best: float) -> Fraction:
    """Find the amount, at least `start`, below which noise is worse than the best so far, a little too small."""
    if best == inf or sum_of_logs(start) <= best:
        return start
    low, high = start, 2 * start
    while sum_of_logs(high) > best:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum_of_logs(middle) > best else (low, middle)
    return decimal_down(low, _DIGITS)


def _log_variances(noises: Noises, sensitivities: Sequence[Sensitivity]) -> float:
    return sum(log(n.law(s).variance) for n, s in zip(noises, sensitivities, strict=True) if n is not None)
