"""The generator of census-like data of any number of groups, with a heavy tail, from published figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.rounding import largest_remainder
from pgsr.datasets.census_figures import HOUSEHOLDS, StateFigures, states
from pgsr.datasets.table import CensusRegions, count_of_counts, one_of, whole_number
from pgsr.errors import DataError

N_TRACTS = 60_000
LARGEST_SIZE = 10_000
"""No group is larger; the largest size of Kuo et al. 2018, too."""
SMALLEST_FACILITY = 8
LARGEST_RATIO = 0.9
"""Cap of the papers' ratio n_7+ / n_6: a little above the largest one below 1 (0.873, District of Columbia)."""
N_OUTLIERS = 50
"""Outliers of the papers' recipes: per state for Kuo et al., in the nation for Fioretto and Van Hentenryck."""
NATIONAL_OUTLIERS = (10, 1_000)
"""Smallest and largest size of the outliers of Fioretto and Van Hentenryck."""


class TailShape(StrEnum):
    """The way in which groups of 7 and more are spread over sizes.

    CALIBRATED: such that the class "7 or more" has the mean size that follows from the figures, plus group quarters.
    PAPER: by the recipe of Kuo et al. 2018, read literally: the class "7 or more" is taken for size 7.
    KUO: by the same recipe, with that class kept at its published number.
    FIORETTO: by the recipe of Fioretto and Van Hentenryck 2019, with that class kept as well.
    """

    CALIBRATED = "calibrated"
    PAPER = "paper"
    KUO = "kuo"
    FIORETTO = "fioretto"


def census_like(
    regions: CensusRegions | str = CensusRegions.COUNTIES,
    max_size: int = 1_000,
    groups: int = HOUSEHOLDS,
    seed: int = 0,
    tail: TailShape | str = TailShape.CALIBRATED,
) -> CountOfCounts:
    """Generate households and group quarters by size and region: real totals of states, synthetic tail and geography.

    Published (see `census_figures`) are the households of size 1 to 6 and of 7 or more of every state. Synthetic are
    sizes above 6, and which county and tract a group lies in. No group has size 0. Exactly `groups` are shared out by
    largest remainders, and among regions at random, size by size, by `county_shares` and `tract_shares`. Tables of
    equal other arguments are nested: those of counties are the sums of those of tracts.

    | tail | households of 7 or more | group quarters and outliers |
    |---|---|---|
    | "calibrated" | 7 + geometric, with the published mean | facilities, P(k) ~ k^-2 on 8..10,000, 0.14 % of groups |
    | "paper" | n_k ~ Binomial(n_{k-1}, r), r = n_7+ / n_6 at most 0.9 | 50 per state, uniform on 1..min(10,000, K) |
    | "kuo" | geometric, with the r that the figures imply | as "paper" |
    | "fioretto" | as "kuo" | 50 in the nation, uniform on 10..1,000 |

    Both papers take r = n_7 / n_6, but only n_7+ is published; docs/study/fioretto2019.md has the readings.

    Args:
        regions: "divisions" (nation / 9 / 51), "states" (nation / 51), "counties" (nation / 51 / 3,143) or "tracts"
            (nation / 51 / 3,143 / 60,000).
        max_size: K; sizes above count as K. The table has sizes 0..K.
        groups: number of groups in the nation; by default that of households in 2000.
        seed: equal seeds, equal data.
        tail: "calibrated", "paper", "kuo" or "fioretto".

    Returns:
        All regions x (K + 1) sizes, sparse where a dense table would exceed 500 MB, named after all arguments.

    Raises:
        DataError: an unknown word, or a number that is not whole or too small.

    Example:
        >>> truth = census_like("states", max_size=20, groups=1_000_000)
        >>> truth.counts[0, :7]
        array([     0, 257806, 325848, 165107, 141754,  65670,  24960])

    Source: figures of the U.S. Census Bureau; recipes "paper" and "kuo" from the experiments of Kuo et al. 2018
    (outliers up to 10,000); "fioretto" from those of Fioretto and Van Hentenryck 2019 (outliers of 10 to 1,000).
    """
    regions = one_of("regions", regions, tuple(CensusRegions))
    tail = one_of("tail", tail, tuple(TailShape))
    max_size = whole_number("max_size", max_size, least=1)
    groups = whole_number("groups", groups, least=1)
    seed = whole_number("seed", seed, least=0)
    by_state = groups_by_state(groups, max_size, seed, tail)
    region, size = np.nonzero(by_state)
    cells = LevelCells(region, size, by_state[region, size])
    if regions in (CensusRegions.COUNTIES, CensusRegions.TRACTS):
        counties = [county_shares(state.n_counties) for state in states()]
        cells = cells.divide(counties, seed, Draw.COUNTY)
        if regions is CensusRegions.TRACTS:
            cells = cells.divide(map(tract_shares, tracts_per_county(counties)), seed, Draw.TRACT)
    name = f"census-like/{regions}/K={max_size}/seed={seed}/{tail}/{groups}"
    return count_of_counts(_leaves(regions), cells.region, cells.size, cells.n_groups, max_size, name)


def county_shares(n: int) -> np.ndarray:
    """Compute synthetic shares of the n counties of a state, largest first: the j-th ~ (j + 1)^-1.2; shape (n,).

    Example:
        >>> county_shares(3).round(2)
        array([0.49, 0.3 , 0.21])
    """
    weights = (np.arange(1, n + 1) + 1.0) ** -1.2
    return weights / weights.sum()


def tract_shares(n: int) -> np.ndarray:
    """Compute synthetic shares of the n tracts of a county, largest first: the j-th ~ 1 / (j + n / 4); shape (n,).

    Example:
        >>> tract_shares(3).round(2)
        array([0.48, 0.3 , 0.22])
    """
    weights = 1 / (np.arange(1, n + 1) + n / 4)
    return weights / weights.sum()


class Draw(IntEnum):
    """The kind of a draw, which is a part of the seed, so that no two kinds share random numbers."""

    SIZES = 0
    COUNTY = 1
    TRACT = 2
    OUTLIERS = 3
    BLOCK_GROUP = 4
    BLOCK = 5

    def generator(self, seed: int, region: int) -> np.random.Generator:
        return np.random.default_rng([seed, self, region])


def groups_by_state(groups: int, max_size: int, seed: int, tail: TailShape) -> np.ndarray:
    """Generate groups by state and size; shape (51, 10,001)."""
    if tail is TailShape.CALIBRATED:
        return _calibrated(groups, seed)
    if tail is TailShape.FIORETTO:
        n_outliers = min(N_OUTLIERS, groups // 100)
        state = Draw.OUTLIERS.generator(seed, 0).choice(len(states()), n_outliers, p=_shares_of_states())
        return _kept_class(groups, seed, np.bincount(state, minlength=len(states())), NATIONAL_OUTLIERS)
    n_outliers = _outliers_per_state(groups, tail)
    if tail is TailShape.KUO:
        return _kept_class(groups, seed, np.full(len(states()), n_outliers), (1, min(LARGEST_SIZE, max_size)))
    return _paper(groups, max_size, seed, n_outliers)


def _shares_of_states() -> np.ndarray:
    """Compute the part of all households that live in each state; shape (51,)."""
    households = np.array([sum(state.households) for state in states()])
    return households / households.sum()


def _outliers_per_state(groups: int, tail: TailShape) -> int:
    least = 100 * len(states())
    if groups < least:
        raise DataError(
            f"groups={groups} leaves no room for an outlier in every state; give tail={str(tail)!r} at least {least:,} "
            "groups"
        )
    return min(N_OUTLIERS, groups // least)


def _calibrated(groups: int, seed: int) -> np.ndarray:
    """Generate groups by state and size with calibrated tails; shape (51, 10,001)."""
    facility = _power_law()
    mean_facility = float(np.arange(len(facility)) @ facility)
    classes = np.array([(*state.households, state.group_quarters / mean_facility) for state in states()])
    shared = largest_remainder(classes.ravel() / classes.sum() * groups, groups).reshape(classes.shape)
    counts = np.zeros((len(classes), LARGEST_SIZE + 1), np.int64)
    counts[:, 1:7] = shared[:, :6]
    for index, state in enumerate(states()):
        generator = Draw.SIZES.generator(seed, index)
        counts[index] += generator.multinomial(shared[index, 6], _seven_or_more(state))
        counts[index] += generator.multinomial(shared[index, 7], facility)
    return counts


def _seven_or_more(state: StateFigures) -> np.ndarray:
    """Compute the probability of every size from 7: geometric with the state's published mean; shape (10,001,)."""
    mean = state.mean_of_seven_or_more
    sizes = np.arange(LARGEST_SIZE + 1)
    weights = np.where(sizes >= 7, ((mean - 7) / (mean - 6)) ** np.maximum(sizes - 7.0, 0), 0)
    return weights / weights.sum()


def _power_law() -> np.ndarray:
    """Compute the probability of every size of a facility: ~ k^-2 on 8..10,000; shape (10,001,)."""
    weights = np.zeros(LARGEST_SIZE + 1)
    weights[SMALLEST_FACILITY:] = np.arange(SMALLEST_FACILITY, LARGEST_SIZE + 1) ** -2.0
    return weights / weights.sum()


def _paper(groups: int, max_size: int, seed: int, n_outliers: int) -> np.ndarray:
    """Generate groups by state and size with the paper's tail; shape (51, 10,001)."""
    figures = np.array([state.households for state in states()])
    ratio = np.minimum(figures[:, 6] / figures[:, 5], LARGEST_RATIO)
    expected = figures[:, :6].sum() + (figures[:, 6] / (1 - ratio)).sum()
    scale = (groups - n_outliers * len(figures)) / expected
    counts = np.zeros((len(figures), LARGEST_SIZE + 1), np.int64)
    for index in range(len(figures)):
        generator = Draw.SIZES.generator(seed, index)
        left, size = round(scale * figures[index, 6]), 7
        while left > 0 and size <= LARGEST_SIZE:
            counts[index, size] = left
            left, size = int(generator.binomial(left, ratio[index])), size + 1
        outliers = generator.integers(1, min(LARGEST_SIZE, max_size), n_outliers, endpoint=True)
        np.add.at(counts[index], outliers, 1)
    small = figures[:, :6]
    rest = groups - int(counts.sum())
    counts[:, 1:7] += largest_remainder(small.ravel() / small.sum() * rest, rest).reshape(small.shape)
    return counts


def _kept_class(groups: int, seed: int, n_outliers: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """Generate groups by state and size: the published classes, the last one spread, and outliers; shape (51, 10,001).

    Args:
        n_outliers: by state; shape (51,).
        sizes: smallest and largest of the outliers.
    """
    figures = np.array([state.households for state in states()])
    rest = groups - int(n_outliers.sum())
    shared = largest_remainder(figures.ravel() / figures.sum() * rest, rest).reshape(figures.shape)
    counts = np.zeros((len(figures), LARGEST_SIZE + 1), np.int64)
    counts[:, 1:7] = shared[:, :6]
    for index, state in enumerate(states()):
        generator = Draw.SIZES.generator(seed, index)
        counts[index] += generator.multinomial(shared[index, 6], _seven_or_more(state))
        np.add.at(counts[index], generator.integers(*sizes, n_outliers[index], endpoint=True), 1)
    return counts


@dataclass(frozen=True)
class LevelCells:
    """The cells of one level, `n_groups[i]` > 0 groups of size `size[i]` in region `region[i]`, sorted by region."""

    region: np.ndarray
    size: np.ndarray
    n_groups: np.ndarray

    def divide(self, shares: Iterable[np.ndarray], seed: int, draw: Draw, first: int = 0) -> "LevelCells":
        """Divide the groups one level down: each goes to child j of its region r with probability `shares[r][j]`.

        Region r has random numbers of its own, those of region `first + r` of the nation.
        """
        first_child, parts = 0, []
        for region, share in enumerate(shares):
            start, stop = np.searchsorted(self.region, (region, region + 1))
            # Multinomial, size by size: the same law as a draw per group, at a cost independent of their number.
            drawn = draw.generator(seed, first + region).multinomial(self.n_groups[start:stop], share).T
            child, cell = np.nonzero(drawn)
            parts.append((first_child + child, self.size[start:stop][cell], drawn[child, cell]))
            first_child += len(share)
        return LevelCells(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def tracts_per_county(counties: Sequence[np.ndarray], n_tracts: int = N_TRACTS) -> np.ndarray:
    """Divide the tracts among the counties by state: one each, and the rest by shares; shape (3,143,)."""
    households = np.array([sum(state.households) for state in states()])
    share = np.concatenate([n * within for n, within in zip(households, counties, strict=True)]) / households.sum()
    rest = n_tracts - len(share)
    return 1 + largest_remainder(share * rest, rest)


def _leaves(regions: CensusRegions) -> list[tuple[str, ...]]:
    """List the paths of the last level as cells are drawn: states by the alphabet, then regions by rank."""
    nation = "United States"
    if regions is CensusRegions.DIVISIONS:
        return [(nation, state.division, state.name) for state in states()]
    if regions is CensusRegions.STATES:
        return [(nation, state.name) for state in states()]
    counties = [
        (nation, state.name, f"{state.name} county {j}") for state in states() for j in range(1, state.n_counties + 1)
    ]
    if regions is CensusRegions.COUNTIES:
        return counties
    tracts = tracts_per_county([county_shares(state.n_counties) for state in states()])
    return [(*county, f"tract {j}") for county, n in zip(counties, tracts, strict=True) for j in range(1, n + 1)]
