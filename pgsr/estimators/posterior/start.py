"""Where the search for a prior begins: the counts of the whole tree pooled, spikes among them, and windows of regions.

**Pooled counts.** With x[r] the raw counts of region r, noise and all, and p[r] their precision (0 where nothing was
measured), from the leaves up

    S[r] = (p[r] x[r] + q[r] sum over children of S[j]) / (p[r] + q[r]),    1 / q[r] = sum over children of
    1 / (p[j] + q[j]),    S[leaf] = x[leaf].

Raw counts may be negative, and must be:
sums of thousands that were cut off at 0 would lie far too high. Where a region knows counts by ranks alone they are
those of its pilot, and a count x is taken to have the variance x^2: ranks were measured there because few groups were
expected, so what they say of one size is no spike of the tree.

**Spikes** are sizes of the root's S that exceed the median of the sizes around them by `FAR` times the larger of their
noise and their spread, 1.48 times the median distance from this median (Hampel 1974).

**The start.** F is the logarithm of S, made a distribution by isotonic regression of its sums, or by the nearest
non-negative counts where counts were measured, and averaged once in windows; spikes are in no window. Deviations are
0: where they began at those of the regions' own counts, errors were the same to within 0.4 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.isotonic.regression import isotonic_l2_means
from pgsr.algorithms.simplex import simplex_projection
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.estimators.posterior.evidence import Evidence
from pgsr.estimators.posterior.knots import Knots

FAR = 4.5
"""The number of deviations at which a size is a spike."""

SURROUNDINGS, LEAST_SURROUNDINGS = 0.1, 5
"""Sizes on either side that a spike is compared with, relative to the size, and the least number of them."""

MOST_SPIKES = 40
"""No more sizes are spikes; those that exceed their surroundings most are."""

FIRST_SPIKE = 8
"""Smaller sizes have knots of their own, whose bends are outliers of their scale."""

WIDTH = 0.15
"""Half-width of the windows of F, from size `FIRST_SPIKE` on, relative to the size."""

PARTS = 64
"""Sums are fitted in multiples of 1 / PARTS."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """The raw counts of the root, pooled with those of all regions.

    Attributes:
        counts, variances: S and the variance of its noise; shape (K + 1,).
        of_counts: whether noisy counts were measured at all regions, not cumulative counts.
    """

    counts: np.ndarray
    variances: np.ndarray
    of_counts: bool

    @classmethod
    def of(cls, tree: Hierarchy, evidence: Mapping[int, Evidence], pilots: Sequence[np.ndarray]) -> "Pooled":
        """Pool the raw counts of all measured regions.

        Args:
            tree: the regions.
            evidence: of every measured region.
            pilots: cumulative counts of all regions, shape (K + 1,) each.

        Complexity: O(regions x sizes).
        """
        n_sizes = len(pilots[0])
        below, doubts = np.zeros((2, tree.n_inner, n_sizes))
        resistance = np.zeros(max(tree.n_inner, 1))
        counts = variances = np.zeros(n_sizes)
        for region in range(tree.n_regions - 1, -1, -1):
            precise = 0.0
            counts, variances = np.zeros((2, n_sizes))
            if region in evidence:
                precise = 2.0 / float(evidence[region].law.variance_bound)
                counts, variances = _raw(evidence[region], pilots[region])
            if region < tree.n_inner:
                others = 1.0 / resistance[region] if 0.0 < resistance[region] < np.inf else 0.0
                part = precise / (precise + others) if precise + others > 0.0 else 0.0
                counts = part * counts + (1.0 - part) * below[region]
                variances = part**2 * variances + (1.0 - part) ** 2 * doubts[region]
                precise += others
            if region:
                parent = tree.parent[region]
                below[parent] += counts
                doubts[parent] += variances
                resistance[parent] += 1.0 / precise if precise > 0.0 else np.inf
        return cls(counts, variances, all(about.view is View.COUNTS for about in evidence.values()))

    def spikes(self) -> np.ndarray:
        """Find the sizes that stand out, at most `MOST_SPIKES`, in ascending order."""
        counts, found, excess = self.counts, [], []
        for size in range(FIRST_SPIKE, len(counts) - 1):
            half = max(LEAST_SURROUNDINGS, int(SURROUNDINGS * size))
            low, high = max(1, size - half), min(len(counts) - 1, size + half + 1)
            around = np.delete(counts[low:high], size - low)
            middle = float(np.median(around))
            more = counts[size] - middle
            noise = float(self.variances[size]) + max(middle, 0.0)
            if more > FAR * noise**0.5 and more > FAR * 1.4826 * float(np.median(np.abs(around - middle))):
                found.append(size)
                excess.append(-more)
        largest = np.argsort(excess, kind="stable")[:MOST_SPIKES]
        return np.sort(np.array(found, np.int64)[largest])

    def distribution(self, groups: float, spikes: np.ndarray) -> np.ndarray:
        """Make positive shares of sizes of the pooled counts; shape (K + 1,).

        Args:
            groups: of the root.
            spikes: the sizes that are averaged with no others.
        """
        n = len(self.counts)
        if self.of_counts:
            total = np.array([round(PARTS * groups)])
            x = simplex_projection(nearest(PARTS * self.counts).astype(np.int64)[None], total, integer=False)[0] / PARTS
        else:
            sums = np.clip(np.cumsum(self.counts), 0.0, groups)
            sums[-1] = groups
            fitted = isotonic_l2_means(nearest(PARTS * sums).astype(np.int64), 0.0, PARTS * groups) / PARTS
            x = np.diff(fitted, prepend=0.0)
        sizes = np.arange(n)
        half = np.where(sizes >= FIRST_SPIKE, np.maximum(1, (WIDTH * sizes).astype(np.int64)), 0)
        low, high = np.maximum(sizes - half, 1), np.minimum(sizes + half, n - 2) + 1
        low[[0, -1]], high[[0, -1]] = (0, n - 1), (1, n)
        use = np.ones(n)
        use[spikes] = 0.0
        out = sums_between(x * use, low, high) / np.maximum(sums_between(use, low, high), 1.0)
        least = np.minimum(0.02 * np.sqrt(self.variances) / (2 * half + 1), 0.5)
        out = np.maximum(out, np.maximum(least, 1e-9 * max(groups, 1.0)))
        out[spikes] = np.maximum(self.counts[spikes], 1.0)
        return out / out.sum()


def _raw(about: Evidence, pilot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the raw counts of one region and the variances of the noise in these counts; shape (K + 1,) each."""
    noise = float(about.law.variance_bound)
    if about.view is View.COUNTS:
        return about.values.astype(float), np.full(about.n_sizes, noise)
    sums, known = pilot.astype(float), about.columns
    sums[:known] = about.values[:known]
    counts = np.diff(sums, prepend=0.0)
    return counts, np.where(np.arange(about.n_sizes) < known, 2.0 * noise, counts**2)


def shape_of(shares: np.ndarray, knots: Knots) -> np.ndarray:
    """Compute F at the knots."""
    from pgsr.estimators.posterior.elementary_kernel import log

    return np.array([log(share) for share in shares[knots.at]])


def sums_between(values: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Sum up values[start[i]] to values[stop[i] - 1], for every i."""
    upto = np.concatenate([[0.0], np.cumsum(values)])
    return upto[stop] - upto[start]
