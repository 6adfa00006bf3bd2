"""The band: bounds of all counts at once that hold with a stated probability, whatever the data are."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import LARGEST_TOTAL, CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.intervals import Intervals
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import ProblemError, TooLargeError
from pgsr.intervals.bounds import Bounds, tightened
from pgsr.intervals.statistics import Statistic, exact_level, statistic_of
from pgsr.machine import memory
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.budget import Number
from pgsr.privacy.laws import Law

_PRECISION = 192
"""Bits of the integer arithmetic that the answer is proved by."""

_SPLITS = 4
"""How often the split over levels is made anew from the quantiles that it gave."""


class EmptyBandError(ProblemError):
    """An error of a measurement whose noise has left the quantiles, so that no counts lie within the band."""


@dataclass(frozen=True, eq=False)
class Band:
    """The bounds of all counts of all regions: with probability `level` or more, all of them hold at once.

    Attributes:
        hierarchy: the regions.
        level: the probability, over the noise; it needs no assumption about the data.
        quantiles: what the noise of each level of the hierarchy stays within, root first; None where none was drawn.
        bounds: of counts and of cumulative counts, shape (regions, K + 1).
    """

    hierarchy: Hierarchy
    level: Fraction
    quantiles: tuple[int | None, ...]
    bounds: Bounds

    @property
    def lower(self) -> np.ndarray:
        """The lower bounds of cumulative counts; shape (regions, K + 1), int64."""
        return self.bounds.cumulative[0]

    @property
    def upper(self) -> np.ndarray:
        """The upper bounds of cumulative counts; shape (regions, K + 1), int64."""
        return self.bounds.cumulative[1]

    def intervals(self, statistic: str, released: CountOfCounts) -> Intervals:
        """Put the released value of a statistic beside its bounds.

        Args:
            statistic: its text, such as "tail:100"; `pgsr.intervals` lists them.
            released: the released counts.

        Raises:
            ArgumentError: the text is no statistic of these regions and sizes.
            ProblemError: bounds of counts give none of this statistic.
        """
        return self.around(statistic_of(statistic, Sizes.alike(self.hierarchy, self.lower.shape[1] - 1)), released)

    def around(self, statistic: Statistic, released: CountOfCounts) -> Intervals:
        """Give the same of a statistic that was read before."""
        low, high = statistic.within(self.bounds)
        counts = released.counts
        return Intervals(self.hierarchy, statistic.label(counts), self.level, low, statistic.of(counts), high, "band")

    def __repr__(self) -> str:
        quantiles = " / ".join("-" if q is None else f"{q:,}" for q in self.quantiles)
        return f"Band(level={self.level}, {self.hierarchy!r}, noise within {quantiles})"


def band(measurement: Measurement, level: Number = "0.9") -> Band:
    """Bound all counts by a measurement alone, so that all bounds hold at once with probability `level` or more.

    With y the noisy values and q the quantiles of `noise_quantiles`, the exact values lie in [y - q, y + q] with
    probability `level`. These bounds are narrowed by what holds of all counts: they are not negative, add up over sizes
    and over regions, and have their public totals. Whatever the truth is, it stays inside if it was inside before.

    Ranked sizes y[i] in [l[i], u[i]] bound cumulative counts: c[s] is the number of i with h[i] <= s, so at least the
    number of i with u[i] <= s and at most that with l[i] <= s. The ranks of a split view do so from its threshold on. A
    sum of n cumulative counts bounds its first one by its n-th part from above, and its last one from below. If the m
    largest groups alone were measured, the others are at most as large as the smallest of these: they are counted in
    the upper bounds, and in the lower ones from the size on at which some u[i] <= s.

    Args:
        measurement: of any view, with public numbers of groups of the root or of all regions. Its views are taken to be
            chosen beforehand: those of `SplitByRoot` depend on the root's noise, and for these the level is not proved.
        level: above 0 and below 1.

    Raises:
        ProblemError: numbers of groups are noisy.
        EmptyBandError: the noise has left the quantiles, which has a probability of less than 1 - level.
        TooLargeError, MemoryNeededError: the table is too large.

    Complexity: O(regions x sizes) time per sweep and memory, at most 20 sweeps.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
        >>> found = band(Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo")), level="0.9")
        >>> found
        Band(level=9/10, Hierarchy(3 regions, levels 1 / 2), noise within 7 / 8)
        >>> found.lower[0], found.upper[0]
        (array([  0, 160, 240]), array([  7, 174, 240]))

    Shown by `test_intervals_band.py::test_the_exact_coverage_is_at_least_the_level`.
    """
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    wanted = exact_level(level)
    if measurement.public is Totals.NOISY:
        raise ProblemError(
            "a band needs public numbers of groups, and those of this measurement are noisy; use the bootstrap"
        )
    if not measurement.sizes.equal:
        raise ProblemError(
            "a band has one largest size for all levels, and here levels have sizes of their own; leave max_sizes= out"
        )
    tree, max_size = measurement.hierarchy, measurement.max_size
    if measurement.root_total * max(tree.n_regions, max_size + 2) >= LARGEST_TOTAL:
        raise TooLargeError(
            f"a band of {measurement.root_total:,} groups in {tree.n_regions:,} regions and {max_size + 1:,} sizes "
            "would not fit into 64 bits; give fewer regions or sizes"
        )
    memory.require(96 * tree.n_regions * (max_size + 1), "a band")
    quantiles = _quantiles(measurement, wanted)
    found = tightened(tree, _raw(measurement, quantiles))
    if found is None:
        raise EmptyBandError(
            f"no counts lie within noise of {float(wanted):.3g} probability around these values, so this is one of the "
            "rare measurements with more noise; ask for a level nearer to 1"
        )
    return Band(tree, wanted, quantiles, found)


def _quantiles(measurement: Measurement, level: Fraction) -> tuple[int | None, ...]:
    tree = measurement.hierarchy
    laws = [_widest_law(measurement, place) for place in range(tree.n_levels)]
    known = [(place, law) for place, law in enumerate(laws) if law is not None]
    cells = [_cells(measurement, place) for place, _ in known]
    found = iter(noise_quantiles([law for _, law in known], cells, level))
    return tuple(None if law is None else next(found) for law in laws)


def _widest_law(measurement: Measurement, level: int) -> Law | None:
    """The law of a level's noise; where ranked sizes have another one than cumulative counts, the wider of both."""
    first = {measurement.view_of(region): region for region in reversed(_measured_of(measurement, level).tolist())}
    laws = [law for region in first.values() if (law := measurement.law(region)) is not None]
    return max(laws, key=lambda law: law.variance) if laws else None


def _cells(measurement: Measurement, level: int) -> int:
    """Count the noisy values of a level that bound something: not those of totals that are public."""
    cells = 0
    for region in _measured_of(measurement, level):
        known = measurement.view_of(region) is View.CUMULATIVE and region < len(measurement.totals)
        cells += len(measurement.row(region)) - int(known)
    return cells


def _raw(measurement: Measurement, quantiles: tuple[int | None, ...]) -> Bounds:
    """Make the bounds that noise within these quantiles leaves, with public totals."""
    shape = (measurement.hierarchy.n_regions, measurement.max_size + 1)
    totals = np.full(shape[0], measurement.root_total, np.int64)
    totals[: len(measurement.totals)] = measurement.totals
    x_low, c_low = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    x_high, c_high = np.repeat(totals[:, None], shape[1], axis=1), np.repeat(totals[:, None], shape[1], axis=1)
    c_low[: len(measurement.totals), -1] = measurement.totals
    for level, quantile in enumerate(quantiles):
        if quantile is None:
            continue
        for region in _measured_of(measurement, level):
            view, values = measurement.view_of(region), measurement.row(region)
            low, high = values - quantile, values + quantile
            if view is View.COUNTS:
                x_low[region], x_high[region] = np.maximum(x_low[region], low), np.minimum(x_high[region], high)
                continue
            if not view.has_a_cell_per_size:
                threshold = view.ranked_from(measurement.max_size)
                low, high = _bounds_by_ranks(threshold, low, high, int(totals[region]), measurement.max_size)
            kept = slice(0, shape[1] - int(region < len(measurement.totals)))  # a public total has no noise
            c_low[region, kept] = np.maximum(c_low[region, kept], low[kept])
            c_high[region, kept] = np.minimum(c_high[region, kept], high[kept])
    return Bounds((x_low, x_high), (c_low, c_high))


def _bounds_by_ranks(
    threshold: int, low: np.ndarray, high: np.ndarray, groups: int, max_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Make bounds of cumulative counts, shape (K + 1,) each, of those of columns and of ranks from a threshold on.

    Larger sizes are fewer groups up to a size.
    """
    most = max_size - threshold
    sure = _sizes_at_most(np.minimum.accumulate(high[threshold:][::-1]), most)
    possible = _sizes_at_most(np.maximum.accumulate(low[threshold:]), most)
    others = groups - (len(high) - threshold)
    return (
        np.concatenate([low[:threshold], sure + np.where(sure > 0, others, 0)]),
        np.concatenate([high[:threshold], possible + others]),
    )


def _measured_of(measurement: Measurement, level: int) -> np.ndarray:
    here = measurement.hierarchy.level(level)
    return here.start + np.flatnonzero(measurement.measured[here])


def _sizes_at_most(sizes: np.ndarray, max_size: int) -> np.ndarray:
    """The number of sizes that are at most s, for every s; sizes above K count as K, shape (K + 1,)."""
    return np.cumsum(np.bincount(np.clip(sizes, 0, max_size), minlength=max_size + 1))


def noise_quantiles(laws: Sequence[Law], cells: Sequence[int], level: Fraction) -> tuple[int, ...]:
    """Find one quantile q_l per level of the hierarchy, so that all noise together stays within them often enough:

        product over l of  P(|z_l| <= q_l) ^ cells_l  >=  level.

    The logarithm of `level` is split over the hierarchy's levels in proportion to their lengths of decay, by which a
    quantile falls when its chance of failing grows by the factor e. Of all splits this makes the sum of the q_l
    smallest, up to rounding. The double geometric law decays by its scale everywhere, whatever the number of cells; a
    Gaussian one by about sigma^2 / q at q, so the split is made again from its quantiles a few times. Rounding up to
    integers leaves something over, which lowers single quantiles by one, those of the widest noise first. The result
    is then proved in integer arithmetic.

    Args:
        laws: of the noise, per level of the hierarchy.
        cells: how many independent values have it, per level.
        level: above 0 and below 1.

    Example:
        >>> from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
        >>> noise_quantiles([DoubleGeometric(Fraction(2)), DoubleGeometric(Fraction(6))], [10, 100], Fraction(9, 10))
        (12, 42)
        >>> noise_quantiles([DiscreteGaussian(Fraction(2)), DiscreteGaussian(Fraction(6))], [10, 100], Fraction(9, 10))
        (4, 8)

    Shown by `test_intervals_band.py::test_quantiles_are_the_exact_laws`.
    """
    goal, places = log(level), range(len(laws))
    found = [int(law.deviation) for law in laws]
    for _ in range(_SPLITS):
        lengths = [_decay(law, q) for law, q in zip(laws, found, strict=True)]
        found = [_quantile(laws[i], cells[i], goal * lengths[i] / sum(lengths)) for i in places]

    def chance(quantiles: Sequence[int]) -> float:
        return sum(_log_chance(laws[i], cells[i], quantiles[i]) for i in places)

    widest_first = sorted(places, key=lambda place: -laws[place].variance)
    for place in widest_first:
        while found[place]:
            lower = [*found[:place], found[place] - 1, *found[place + 1 :]]
            if chance(lower) < goal:
                break
            found = lower
    while _proved_chance(laws, cells, found) < level:
        found[widest_first[0]] += 1
    return tuple(found)


def _decay(law: Law, m: int) -> float:
    """Compute by how much m grows while P(|z| > m) falls by the factor e; sigma where doubles cannot tell."""
    here, next_one = law.probability_beyond(np.array([m, m + 1]))
    return -1 / log(next_one / here) if 0 < next_one < here else max(law.deviation, 1e-300)


def _quantile(law: Law, cells: int, goal: float) -> int:
    """Find the smallest m with cells log P(|z| <= m) >= goal."""
    low, high = -1, 0
    while _log_chance(law, cells, high) < goal:
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _log_chance(law, cells, middle) >= goal else (middle, high)
    return high


def _log_chance(law: Law, cells: int, m: int) -> float:
    return cells * log1p(-float(law.probability_beyond(np.array([m]))[0]))


def _proved_chance(laws: Sequence[Law], cells: Sequence[int], quantiles: Sequence[int]) -> Fraction:
    """A lower bound of the product, in integers that are rounded down."""
    one = product = 1 << _PRECISION
    for law, n, m in zip(laws, cells, quantiles, strict=True):
        power = law.probability_at_most(m, _PRECISION)[0]
        for bit in reversed(f"{n:b}"):
            product = product * power >> _PRECISION if bit == "1" else product
            power = power * power >> _PRECISION
    return Fraction(product, one)
