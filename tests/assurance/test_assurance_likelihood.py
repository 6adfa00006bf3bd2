"""The likelihood ratio of a release between neighbours is e^epsilon at most, exactly, from truth to release."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from instances import FULL
from law_checks import (
    check_noisy_totals_lose_their_epsilon,
    check_values_lose_no_more_beside_noisy_totals,
)
from neighbours import ALONE, CHAIN, PAIR, THREE
from privacy_checks import check_likelihood, frozen

from pgsr import Hierarchy, Problem, View
from pgsr.algorithms import (
    CostTables,
    Isotonic,
    IsotonicFit,
    MeanConsistency,
    RegionTotalsProjection,
    SimplexProjection,
    TreeProjection,
)
from pgsr.data import Split
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, NoConsistency
from pgsr.methods import Mechanism
from pgsr.noise import Geometric

pytestmark = pytest.mark.slow


def region_totals(measurement):
    return Problem.m_h(measurement, totals="regions")


def noise(view, totals="regions", shares=None, **options) -> Geometric:
    return Geometric(view, "1", shares, totals, **options)


MECHANISMS = {
    "naive": Mechanism(noise(View.COUNTS), SimplexProjection(), Problem.naive),
    "M_H^dp": Mechanism(noise(View.COUNTS, "root"), TreeProjection()),
    "M_H^dp, quantities up to 2": Mechanism(noise(View.COUNTS, "root", max_quantity=2), TreeProjection()),
    "M_c^dp, quantities up to 2": Mechanism(noise(View.CUMULATIVE, "root", max_quantity=2), IsotonicTreeProjection()),
    "M_H^r": Mechanism(noise(View.COUNTS, "root"), TreeProjection(), lambda m: Problem.m_h(m).relaxed()),
    "M_H by tables": Mechanism(noise(View.COUNTS, "root"), CostTables()),
    "M_H, totals of regions": Mechanism(noise(View.COUNTS), RegionTotalsProjection(), region_totals),
    "mean consistency": Mechanism(noise(View.COUNTS), MeanConsistency(), Problem.mean_consistency),
    "mean consistency, cumulative": Mechanism(noise(View.CUMULATIVE), MeanConsistency(), Problem.mean_consistency),
    "H_c": Mechanism(noise(View.CUMULATIVE), NoConsistency()),
    "H_c, squares": Mechanism(noise(View.CUMULATIVE), Isotonic(), Problem.isotonic),
    "H_g": Mechanism(noise(View.RANKED), NoConsistency()),
    "M_c^dp": Mechanism(noise(View.CUMULATIVE, "root"), IsotonicTreeProjection()),
    "M_c^dp, unequal levels": Mechanism(noise(View.CUMULATIVE, "root", ("1/3", "2/3")), IsotonicTreeProjection()),
    "matching, H_c": Mechanism(noise(View.CUMULATIVE), Matching()),
    "matching, H_c, average": Mechanism(noise(View.CUMULATIVE), Matching(merge="average")),  # type: ignore[arg-type]
    "matching, H_g": Mechanism(noise(View.RANKED), Matching()),
    "matching, H_g, average": Mechanism(noise(View.RANKED), Matching(merge="average")),  # type: ignore[arg-type]
    "matching, H_c x H_g": Mechanism(noise((View.CUMULATIVE, View.RANKED)), Matching()),
    "matching, split": Mechanism(noise(Split(1)), Matching()),
    "bottom-up, split": Mechanism(noise(Split(1), shares=(0, 1)), BottomUp()),
    "matching, smallest size 1": Mechanism(noise(View.CUMULATIVE), Matching(IsotonicFit(min_size=1))),
    "bottom-up": Mechanism(noise(View.CUMULATIVE, shares=(0, 1)), BottomUp()),
    "bottom-up, H_g": Mechanism(noise(View.RANKED, shares=(0, 1)), BottomUp()),
}
NOISY_TOTALS = {
    "M_H^dp": Mechanism(noise(View.COUNTS, "noisy", totals_share="1/3"), TreeProjection()),
    "M_c^dp": Mechanism(noise(View.CUMULATIVE, "noisy", totals_share="1/3"), IsotonicTreeProjection()),
    "matching, H_c": Mechanism(noise(View.CUMULATIVE, "noisy", totals_share="1/3"), Matching()),
    "matching, H_g": Mechanism(noise(View.RANKED, "noisy", totals_share="1/3"), Matching()),
    "matching, split": Mechanism(noise(Split(1), "noisy", totals_share="1/3"), Matching()),
}
BASES = (Fraction(1, 2), Fraction(2, 3))


@dataclass(frozen=True)
class Small:
    """All tables with these groups per leaf and sizes 0..max_size, and the range of the noisy values."""

    tree: Hierarchy
    groups: tuple[int, ...]
    max_size: int
    low: int
    high: int


SHARE = [Small(CHAIN, (2,), 1, -1, 2)]
ALL = [*SHARE, Small(CHAIN, (2,), 2, 0, 2), Small(PAIR, (1, 1), 1, 0, 2), Small(PAIR, (2, 0), 1, 0, 2)]
WORLDS = {
    "one level": Small(ALONE, (1,), 1, -1, 3),
    "two levels": Small(CHAIN, (1,), 1, 0, 2),
    "three levels": Small(THREE, (0,), 1, 0, 1),
    "one level, three sizes": Small(ALONE, (1,), 2, 0, 3),
    "two leaves": Small(PAIR, (0, 0), 1, 0, 1),
}
LONG = pytest.mark.full
WITH_NOISY_TOTALS = [
    world if world in ("one level", "three levels") else pytest.param(world, marks=LONG) for world in WORLDS
]
THREE_LEVELS = Small(THREE, (1,), 1, 0, 1)
OF_THREE_LEVELS = [
    name for name, m in MECHANISMS.items() if m.noise.shares is None and not isinstance(m.noise.view, tuple)
]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", MECHANISMS)
def test_likelihood_ratio(name: str, counted: Callable[[int, str], None]) -> None:
    for small in ALL if FULL else SHARE:
        n, _ = check_likelihood(MECHANISMS[name], *vars(small).values(), BASES)
        counted(n, "likelihoods")


@pytest.mark.few(4)
@pytest.mark.parametrize("name", OF_THREE_LEVELS)
def test_likelihood_ratio_of_three_levels(name: str, counted: Callable[[int, str], None]) -> None:
    """A third of epsilon on each level, whose losses add up."""
    n, _ = check_likelihood(MECHANISMS[name], *vars(THREE_LEVELS).values(), BASES)
    counted(n, "likelihoods")


@pytest.mark.few(1)
@pytest.mark.parametrize("share", ["1/3", "2/3"] if FULL else ["1/3"])
@pytest.mark.parametrize("name", NOISY_TOTALS)
@pytest.mark.parametrize("world", WITH_NOISY_TOTALS)
def test_likelihood_ratio_with_noisy_totals(
    world: str, name: str, share: str, counted: Callable[[int, str], None]
) -> None:
    """Neighbours also differ by one empty group here; on one, two and three levels.

    Equality cannot be attained: an entity changes no total, and an empty group at most one count (see `law_checks`).
    """
    mechanism = NOISY_TOTALS[name]
    mechanism = replace(mechanism, noise=replace(mechanism.noise, totals_share=share))
    n, _ = check_likelihood(mechanism, *vars(WORLDS[world]).values(), BASES)
    counted(n, "likelihoods")


def test_noisy_numbers(counted: Callable[[int, str], None]) -> None:
    """Trees of one, two and three levels, and with two leaves; equality is attained on each."""
    counted(check_noisy_totals_lose_their_epsilon(), "likelihoods")


def test_losses_given_noisy_totals(counted: Callable[[int, str], None]) -> None:
    counted(check_values_lose_no_more_beside_noisy_totals(), "losses")


@pytest.mark.few(1)
@pytest.mark.parametrize("view", View)
def test_equality_is_attained_by_the_noisy_values(view: View, counted: Callable[[int, str], None]) -> None:
    """So nothing of epsilon is left over, and a bound any lower would be broken."""
    mechanism = Mechanism(noise(view), NoConsistency())
    for small in [*(ALL[:3] if FULL else SHARE), THREE_LEVELS]:
        n, attained = check_likelihood(mechanism, *vars(small).values(), BASES, lambda m: frozen(m.rows))
        assert attained
        counted(n, "likelihoods")
