"""The ranks of a split measurement as costs of cumulative counts: what M_c^split minimises from the threshold on.

Let w[i] = max(h(i) - T, 0) be what the group of rank i (0 for the smallest of G) has beyond the threshold T, and z[i]
its noisy value. The square of an integer is a sum of odd numbers, w^2 - 2 w z = sum over 0 <= u < w of 2 u + 1 - 2 z,
and w[i] > u exactly if c[T + u] <= i, where c[s] groups have at most s members. So

    sum over i of (w[i] - z[i])^2 = sum over i of z[i]^2  +  sum over s >= T of f[s](c[s]),
    f[s](c) = sum over i >= c of (2 (s - T) + 1 - 2 z[i]):

the ranks are separable over sizes. The step of f[s] from c to c + 1 costs 2 z[c] - 2 (s - T) - 1, so f[s] is convex if
and only if z does not decrease. Isotonic regression makes it so in the tightest way: the partial sums of the regression
are the greatest convex minorant of those of z (Barlow et al. 1972), so the costs of fitted ranks are the greatest
convex functions below those of noisy ones. Both agree where no c[s] from T on cuts a block of the regression in two. So

- the optimum of fitted ranks is, up to the constant sum of (z - fit)^2, never above that of noisy ones;
- it is the same where the best c cuts no block, as where ranks alone decide: the nearest ordered integers to z are the
  rounded regression, which is constant on blocks.

Where columns or other regions push a c[s] into a block, the two problems differ, and the convex one is stated.

In absolute values no such costs are needed: for ordered integers w and fit, both within 0..K - T,

    sum over i of |w[i] - fit[i]| = sum over s >= T of |c[s] - (number of i with fit[i] <= s - T)|,

so M_c in that norm with the fitted ranks' cumulative counts as values is the problem.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.errors import ProblemError, TooLargeError
from pgsr.noise.measurement import Measurement, Totals

SCALE = 1024
"""The weight of a measured region. Fits are rounded to multiples of 1 / (2 SCALE), so that all costs are integers."""


@dataclass(frozen=True, eq=False)
class Segments:
    """The straight pieces of all costs of ranks, each up or down from the least of its cell's best counts.

    Attributes:
        cell: which cell of which region, region (K + 1) + size; int64, shape (n,), rising.
        number: of the piece among those of its cell and direction, 0 next to the best count; int64, shape (n,).
        sign: 1 upwards, -1 downwards; int64, shape (n,).
        cost: per group, from 0 on, rising with `number`; int64, shape (n,).
        length: in groups, from 1 on; int64, shape (n,).
    """

    cell: np.ndarray
    number: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    length: np.ndarray

    def taken(self, z: np.ndarray) -> np.ndarray:
        """Compute what every piece takes of its cell's distance from the best count, the nearest first; shape (n,).

        Args:
            z: of all cells, shape (cells,).
        """
        order = np.lexsort((self.number, self.sign, self.cell))
        length, new = self.length[order], self.number[order] == 0
        before = np.cumsum(length) - length
        before -= before[np.flatnonzero(new)][np.cumsum(new) - 1] if len(new) else 0
        out = np.empty(len(order))
        out[order] = np.clip((self.sign * z[self.cell])[order] - before, 0, length)
        return out


@dataclass(frozen=True, eq=False)
class FittedRanks:
    """The fitted ranks of all regions, in runs of ranks with one fit.

    A region has the runs first[r] .. first[r + 1] - 1, smallest ranks first, and its counts add up to its number of
    groups. The cells threshold[r] .. K - 1 of a region have a cost each, convex in the cumulative count c,

        w / SCALE  times  sum over i < c of (fit[i] - SCALE (2 (s - T) + 1)),  less its least value,

    which is w ((w[i] - fit[i] / (2 SCALE))^2, summed over ranks, less the least such sum of integers) when added up.

    Attributes:
        threshold: T; int64, shape (regions,). K where a region has no ranks.
        first: where the runs of each region begin; int64, shape (regions + 1,).
        count: the ranks in every run, from 1 on; int64, shape (runs,).
        fit: what these ranks have beyond the threshold, in units of 1 / (2 SCALE); int64, shape (runs,), rising.
    """

    threshold: np.ndarray
    first: np.ndarray
    count: np.ndarray
    fit: np.ndarray

    def runs(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Give where the runs of a region begin, with its number of groups at the end, and their fits."""
        here = slice(self.first[region], self.first[region + 1])
        return np.append(0, np.cumsum(self.count[here])), self.fit[here]

    def nearest(self, region: int, max_size: int) -> np.ndarray:
        """Count the ranks that the cost of every cell from the threshold on would have below; shape (K - T,), int64.

        These are the least of the best counts, in order, and say to which integers the fits are nearest.
        """
        starts, fit = self.runs(region)
        return starts[np.searchsorted(fit, self._thresholds(region, max_size))]

    def costs(self, region: int, x: np.ndarray) -> np.ndarray:
        """Compute the costs of the cells threshold .. K - 1 of one region, for weight SCALE; of the shape of `x`.

        Exact for integers; between two integers costs are straight.

        Args:
            x: cumulative counts of these cells; integers or reals, the last axis has K - T cells.
        """
        starts, fit = self.runs(region)
        if not len(fit):
            return np.zeros_like(x)
        prefix = np.append(0, np.cumsum(fit * np.diff(starts)))
        step = self._thresholds(region, self.threshold[region] + x.shape[-1])
        best = starts[np.searchsorted(fit, step)]
        run = np.clip(np.searchsorted(starts, x, side="right") - 1, 0, len(fit) - 1)
        least = prefix[np.searchsorted(starts, best)]
        return prefix[run] - least + (x - starts[run]) * fit[run] - (x - best) * step

    def slopes(self, regions: slice, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """Give the runs of some regions with the slopes of their costs, for compiled loops.

        Args:
            weights: of these regions.

        Returns:
            Where each region's runs begin among them, shape (regions + 1,); where runs begin in ranks, with the number
            of groups behind those of every region, shape (runs + regions,); w fit / SCALE, and its sum over the ranks
            before each run, shape (runs,). All int64.
        """
        first = self.first[regions.start : regions.stop + 1]
        runs = slice(first[0], first[-1])
        first, count = first - first[0], self.count[runs]
        slope = np.repeat(weights // SCALE, np.diff(first)) * self.fit[runs]
        starts, sums = np.append(0, np.cumsum(count)), np.append(0, np.cumsum(count * slope))
        at, region = np.arange(len(count) + len(weights)), np.arange(len(weights))
        owner = np.repeat(region, np.diff(first) + 1)
        starts = starts[at - owner] - starts[first[:-1]][owner]
        return first, starts, slope, sums[:-1] - np.repeat(sums[first[:-1]], np.diff(first))

    def segments(self, weights: np.ndarray, max_size: int) -> Segments:
        """Cut the costs of all cells of regions with weight into pieces, one per run of ranks; O(pieces)."""
        pieces = [np.zeros((5, 0), np.int64)]
        for region in np.flatnonzero(weights).tolist():
            starts, fit = self.runs(region)
            steps = self._thresholds(region, max_size)
            slope = int(weights[region]) // SCALE * (fit - steps[:, None])
            best = np.searchsorted(fit, steps)[:, None]
            run, size = np.arange(len(fit)), np.arange(self.threshold[region], max_size)[:, None]
            up = run >= best
            number = np.where(up, run - best, best - 1 - run)
            parts = region * (max_size + 1) + size, number, np.where(up, 1, -1), np.abs(slope), np.diff(starts)
            pieces.append(np.stack([np.broadcast_to(part, slope.shape).ravel() for part in parts]))
        return Segments(*np.concatenate(pieces, axis=1))

    def beyond(self, regions: slice, n_cells: int) -> np.ndarray:
        """Say which cells have costs of ranks and no square; bool, shape (regions, cells)."""
        size = np.arange(n_cells)
        return (size >= self.threshold[regions, None]) & (size < n_cells - 1)

    def _thresholds(self, region: int, max_size: int) -> np.ndarray:
        return SCALE * (2 * np.arange(max_size - self.threshold[region]) + 1)

    def require_fitting(self, shape: tuple[int, int], groups: np.ndarray, weights: np.ndarray) -> None:
        """Refuse ranks that are not those of these regions.

        Raises:
            ProblemError: numbers of ranks or weights do not fit.
        """
        n, largest = shape[0], shape[1] - 1
        fits = self.threshold.shape == (n,) and self.first.shape == (n + 1,) and self.count.shape == self.fit.shape
        if not fits or self.first[-1] != len(self.count) or ((self.threshold < 0) | (self.threshold > largest)).any():
            raise ProblemError("ranks are of other regions or sizes than the problem; state it by Problem.m_c")
        if (weights % SCALE).any():
            raise ProblemError(f"weights of a problem with ranks are multiples of {SCALE:,}; scale them up")
        for region in np.flatnonzero(weights).tolist():
            starts, fit = self.runs(region)
            if starts[-1] != groups[region] or (np.diff(starts) < 1).any() or (np.diff(fit) < 0).any():
                raise ProblemError(
                    f"region {region} has {int(starts[-1]):,} ranks in order for {int(groups[region]):,} groups; give "
                    "every group one"
                )


def fitted(measurement: Measurement, norm: int) -> tuple[np.ndarray, FittedRanks]:
    """Fit what ranks have beyond the thresholds, and join it to the columns below; of cumulative and ranked views, too.

    Groups without a measured rank count as ones with nothing beyond the threshold, as `Split` assumes.

    Args:
        measurement: with every region's number of groups public.
        norm: 2 fits means, rounded to 1 / (2 SCALE), 1 medians, which are integers.

    Returns:
        Cumulative counts, shape (regions, K + 1), and the ranks; of a region that was not measured zeros and no ranks.

    Raises:
        ProblemError: numbers of groups are not public.
        TooLargeError: sums of ranks leave 64 bits.
    """
    if measurement.public is not Totals.REGIONS:
        raise ProblemError(
            "M_c of a split measurement counts ranks from a region's smallest group up, which takes every region's "
            "public number of groups; measure with Geometric(..., totals='regions')"
        )
    if not measurement.sizes.equal:
        raise ProblemError(
            "M_c of a split measurement has one largest size for all levels, and here levels have sizes of their own; "
            "leave max_sizes= out, or take Posterior() or Matching()"
        )
    tree, largest = measurement.hierarchy, measurement.max_size
    values = np.zeros((tree.n_regions, largest + 1), np.int64)
    threshold, runs = np.full(tree.n_regions, largest), []
    for region in range(tree.n_regions):
        groups, row = int(measurement.region_totals[region]), np.zeros(0, np.int64)
        if measurement.measured[region]:
            row, view = measurement.row(region), measurement.view_of(region)
            threshold[region] = min(view.ranked_from(largest), largest)
        runs.append(_fit(row[threshold[region] :], groups, norm, largest - threshold[region]))
        below = row[: threshold[region]]
        values[region, : len(below)] = below
        values[region, -1] = groups
    counts, fits = (np.concatenate([pair[i] for pair in runs]) for i in (0, 1))
    first = np.append(0, np.cumsum([len(pair[0]) for pair in runs]))
    ranks = FittedRanks(threshold.astype(np.int64), first, counts, fits)
    for region in np.flatnonzero(measurement.measured).tolist():
        values[region, threshold[region] : -1] = ranks.nearest(region, largest)
    return values, ranks


def _fit(beyond: np.ndarray, groups: int, norm: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit ranks, missing ones as zeros: how many have each fit, and the fits in units of 1 / (2 SCALE)."""
    from pgsr.engines.isotonic_kernel import l1_smallest, l2_blocks

    if not most or not groups:  # nothing beyond the largest size, so no cell asks for it
        return np.full(min(groups, 1), groups, np.int64), np.zeros(min(groups, 1), np.int64)
    missing, row = groups - len(beyond), np.ascontiguousarray(beyond, np.int64)
    if float(np.abs(row).sum(dtype=float)) * max(groups, 4 * SCALE) >= 2.0**62:
        raise TooLargeError(
            "sums of ranks times their number exceed 2^62, so means are not exact; measure fewer groups"
        )
    if norm == 1:  # no group beyond u >= 0 is worth a zero more, so that zeros in front change no fit from 0 on
        fit = np.empty_like(row)
        l1_smallest(row, fit)
        fit, count = np.append(0, 2 * SCALE * np.clip(fit, 0, most)), np.append(missing, np.ones(len(row), np.int64))
        return _merged(count[missing == 0 :], fit[missing == 0 :])
    total, count = l2_blocks(row)
    if missing:
        pooled = 0  # blocks whose means are not above that of the zeros and the blocks before
        sums, counts = np.append(0, np.cumsum(total)), np.append(missing, missing + np.cumsum(count))
        while pooled < len(total) and sums[pooled] * count[pooled] >= total[pooled] * counts[pooled]:
            pooled += 1
        total, count = np.append(sums[pooled], total[pooled:]), np.append(counts[pooled], count[pooled:])
    twice = 2 * SCALE * total
    return _merged(count, (2 * twice + count) // (2 * count))  # to the nearest, halves upwards


def _merged(count: np.ndarray, fit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join neighbouring runs of one fit."""
    first = np.flatnonzero(np.append(True, fit[1:] != fit[:-1]))
    return np.add.reduceat(count, first), fit[first]
