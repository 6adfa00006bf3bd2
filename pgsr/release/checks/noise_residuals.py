"""Find the numbers of a measurement that are known twice, and what remains of them: noise alone.

Where views are split, two more kinds of numbers are. T is the threshold of a region, G its groups, y[s] its noisy
cumulative counts, and z[i] what its groups have beyond T, sorted.

**Ranks of small groups.** A group smaller than a size t, t <= T, has nothing beyond T. There are c[t - 1] of them, and
their ranks are the first. So z[i] is one draw of noise for all i < c[t - 1], which the noisy y[t - 1] bounds from
below: the noise of one cell is above q with a chance of `DOUBT` divided by the number of regions at most, and without
such cells the ranks i < y[t - 1] - q are noise alone. Noise of columns tells how many ranks are looked at, and the
noise of ranks does not depend on it.

**Members.** The boxes of a region's diagram from the size t on are its members beyond t, which add up over regions,
whatever the thresholds:

    N[r] = sum over s = t .. T[r] - 1 of (G[r] - y[s]) + sum over i of z[i],        R[r] = N[r] - sum of N of its parts,

with t the smallest threshold among a region and its parts. Ranks of small groups, which are noise alone, are left out
of the sum over i; they are chosen by y[t - 1], which stands in no sum. So a threshold that is not that of the values,
or a box that was counted twice or not at all, shows where thresholds differ among a region and its parts.

Members are compared where numbers of groups are public.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.shares_by_root import candidates
from pgsr.privacy.laws import Law

DOUBT = 1e-13
"""The largest chance that any group of a release is taken for a small one and is none."""

MOST_LAWS = 32
"""The most laws that are computed per family, those of the fewest draws; other residuals are left out."""

Sum = tuple[int, ...]
"""The kind of a residual: of how many independent draws of each level's noise it is the sum, root first."""


@dataclass(frozen=True)
class ResidualFamily:
    """A set of residuals that are independent of each other under the stated law.

    Attributes:
        what: where they come from, in words.
        residuals: per kind of sum, the residuals; shape (n,) each.
        choices: how many sets of residuals there are of which the noise in them may have chosen this one.
    """

    what: str
    residuals: dict[Sum, np.ndarray]
    choices: int = 1

    @property
    def size(self) -> int:
        return sum(len(values) for values in self.residuals.values())


def families(measurement: Measurement, by_root: bool = False) -> Iterator[ResidualFamily]:
    """The residuals: of public totals, of every level against the measured regions below it, and of split views.

    With sizes per level, counts of a region's tail are added up first; its cumulative counts at the end of a class are
    there as they are.

    Where thresholds follow from the noisy root (`by_root`), they choose how many sizes of the root are compared, and
    with which regions: those with G[r] p[0] above the factor have columns, so the share p[0] alone decides which. Where
    shares do, too, its noise has chosen its own scale, among those of all candidates.
    """
    tree = measurement.hierarchy
    views = [measurement.view_of(region) for region in range(tree.n_regions)]
    assert not {View.COUNTS, View.CUMULATIVE} <= set(views), "counts and cumulative counts measure different things"
    measured = measurement.measured & np.array([view is not View.RANKED for view in views])
    split = np.array([view.mixed for view in views])
    scales = 1 if measurement.first_root is None else len(candidates(tree.n_levels))
    yield ResidualFamily("numbers of groups", _of_totals(measurement, measured & ~split), scales)
    below = measured_below(tree, measured, measurement.totals == 0 if measurement.public is Totals.REGIONS else None)
    for level in range(tree.n_levels - 1):
        grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
        for region in range(tree.level(level).start, tree.level(level).stop):
            parts = below[region]
            if not measured[region] or not parts:
                continue
            draws = np.bincount(tree.level_of[parts], minlength=tree.n_levels)
            for own, residuals in _against(measurement, region, parts):
                draws[level] += own
                grouped[tuple(map(int, draws))].append(residuals)
                draws[level] -= own
        choices = scales * (measurement.max_size + 2) * (tree.n_regions + 1) if by_root and not level else 1
        yield ResidualFamily(f"level {level}", _fewest_draws(grouped), choices)
    if split.any():
        yield from _split_families(measurement, below, by_root)


def _against(measurement: Measurement, region: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield values of a region less those of its parts, each after how many draws of the region's noise it holds."""
    row, sizes, level = measurement.row(region), measurement.sizes, int(measurement.hierarchy.level_of[region])
    views = [measurement.view_of(one) for one in (region, *parts)]
    if any(view.mixed for view in views):
        common = min(view.ranked_from(measurement.max_size) for view in views)
        yield 1, row[:common] - sum(measurement.row(part)[:common] for part in parts)
        return
    [view] = {view for view in View if view in views}
    folded = sizes.folded(row[None], level, view)[0]
    found = folded - sum(measurement.row(part) for part in parts)
    yield 1, found[:-1]
    yield 1 if view is View.CUMULATIVE else len(row) - len(found) + 1, found[-1:]


def measured_below(tree: Hierarchy, measured: np.ndarray, empty: np.ndarray | None = None) -> list[list[int]]:
    """Find for every region the nearest measured regions below that together make it up; empty if there are none.

    Args:
        tree: the regions.
        measured: which of them are; shape (regions,), bool.
        empty: which of them are known to have no groups, so that nothing is missing where these are not measured.
    """
    below: list[list[int]] = [[] for _ in range(tree.n_regions)]
    for region in range(tree.n_inner - 1, -1, -1):
        children = [child for child in tree.children(region) if measured[child] or empty is None or not empty[child]]
        parts = [[child] if measured[child] else below[child] for child in children]
        if all(parts):
            below[region] = [part for some in parts for part in some]
    return below


def _of_totals(measurement: Measurement, measured: np.ndarray) -> dict[Sum, np.ndarray]:
    tree, totals = measurement.hierarchy, measurement.totals
    grouped: defaultdict[Sum, list[int]] = defaultdict(list)
    for region in np.flatnonzero(measured[: len(totals)]).tolist():
        row, cumulates = measurement.row(region), measurement.view_of(region) is View.CUMULATIVE
        if not cumulates and measurement.public is Totals.NOISY:
            continue  # the noise of the totals was changed when they were made to add up
        draws = [0] * tree.n_levels
        draws[int(tree.level_of[region])] = 1 if cumulates else len(row)
        known = int(row[-1]) if cumulates else int(row.sum())
        grouped[tuple(draws)].append(known - int(totals[region]))
    return {kind: np.array(values, np.int64) for kind, values in grouped.items()}


def _split_families(measurement: Measurement, below: list[list[int]], by_root: bool) -> Iterator[ResidualFamily]:
    """The residuals of split views beside those of their columns.

    Args:
        measurement: with split views of some regions.
        below: the parts of every region that are measured and make it up; empty where there are none.
        by_root: whether thresholds follow from the noisy root, whose members then are left out: one number, which its
            noise chose among so many that it would tell nothing.
    """
    tree = measurement.hierarchy
    grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
    for region in np.flatnonzero(measurement.measured).tolist():
        view = measurement.view_of(region)
        threshold = view.ranked_from(measurement.max_size)
        if view.mixed and threshold:
            kept = _large(measurement, region, threshold)
            draws = np.bincount([tree.level_of[region]], minlength=tree.n_levels)
            ranks = measurement.row(region)[threshold:]
            grouped[tuple(map(int, draws))].append(ranks[: max(0, len(ranks) - kept)])
    yield ResidualFamily("ranks of small groups", _fewest_draws(grouped))
    if measurement.public is not Totals.REGIONS:
        return
    for level in range(int(by_root), tree.n_levels - 1):
        grouped = defaultdict(list)
        for region in range(tree.level(level).start, tree.level(level).stop):
            if not measurement.measured[region] or not below[region]:
                continue
            found = _members_left(measurement, region, below[region])
            if found is not None:
                grouped[found[0]].append(np.array([found[1]], np.int64))
        yield ResidualFamily(f"members, level {level}", _fewest_draws(grouped))


def _members_left(measurement: Measurement, region: int, parts: list[int]) -> tuple[Sum, int] | None:
    """The members of a region beyond a size less those of its parts, and of how many draws this is the sum.

    None where no view is split, or where no noisy value is left to compare.
    """
    level_of, draws, left = measurement.hierarchy.level_of, [0] * measurement.hierarchy.n_levels, 0
    views = [measurement.view_of(one) for one in (region, *parts)]
    thresholds = [min(view.ranked_from(measurement.max_size), measurement.max_size) for view in views]
    first = min(thresholds)
    if not first or not any(view.mixed for view in views):
        return None
    for sign, one, view, threshold in zip((1, *[-1] * len(parts)), (region, *parts), views, thresholds, strict=True):
        row, groups = measurement.row(one), int(measurement.totals[one])
        members, n = (groups - row[first:threshold]).sum(), threshold - first
        if view.mixed:
            ranks = row[threshold:]
            kept = _large(measurement, one, first)
            # Ranks of small groups add noise alone; with some of them there are fewer numbers of draws, and laws.
            kept = min(len(ranks), 1 << max(kept - 1, 0).bit_length())
            members, n = members + ranks[len(ranks) - kept :].sum(), n + kept
        left += sign * int(members)
        draws[int(level_of[one])] += n
    return (tuple(draws), left) if any(draws) else None


def _large(measurement: Measurement, region: int, size: int) -> int:
    """Bound how many groups of a region have this size or more, by its noisy cumulative count below it."""
    groups, law = int(measurement.totals[region]), measurement.law(region)
    assert law is not None, "a measured region"
    reach = _reach(law, measurement.hierarchy.n_regions)
    return max(0, groups - int(measurement.row(region)[size - 1]) + reach)


@lru_cache(32)
def _reach(law: Law, n_regions: int) -> int:
    """Find how far a noisy value exceeds the exact one with a chance of at most `DOUBT` / (number of regions)."""
    chance, high = 2 * DOUBT / n_regions, 1
    while law.probability_beyond(np.array([high]))[0] > chance:
        high *= 2
    sizes = np.unique(np.linspace(0, high, 1025).astype(np.int64))
    return int(sizes[law.probability_beyond(sizes) <= chance][0])


def _fewest_draws(grouped: Mapping[Sum, list[np.ndarray]]) -> dict[Sum, np.ndarray]:
    """Keep the residuals of the fewest draws: each of their kinds has a law of its own to be computed."""
    kept = sorted(grouped, key=sum)[:MOST_LAWS]
    return {kind: np.concatenate(grouped[kind]) for kind in kept}
