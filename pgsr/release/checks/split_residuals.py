"""Find what else is known twice where views are split: ranks of small groups, and members by columns and by rows.

With the threshold T of a region, G its groups, y[s] its noisy cumulative counts and z[i] what its groups have beyond T,
sorted, two more kinds of numbers are noise alone.

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
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.laws import Law
from pgsr.release.checks.residuals import ResidualFamily, Sum, fewest_draws

DOUBT = 1e-13
"""The largest chance that any group of a release is taken for a small one and is none."""


def split_families(measurement: Measurement, below: list[list[int]], by_root: bool) -> Iterator[ResidualFamily]:
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
    yield ResidualFamily("ranks of small groups", fewest_draws(grouped))
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
        yield ResidualFamily(f"members, level {level}", fewest_draws(grouped))


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
