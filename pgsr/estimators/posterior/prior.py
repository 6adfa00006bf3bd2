"""The prior means of all regions, estimated from their neighbours in the tree and in size."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.estimators.posterior.misfit import TURNS, far_from, standing_out
from pgsr.estimators.posterior.windows import smoothed, window_ends, window_sums
from pgsr.noise.measurement import Measurement

SMALLEST_MEAN = 1e-12
"""No prior mean is smaller, so that no count is impossible."""

CELLS_AT_ONCE = 4_000_000
"""Cells of a family whose prior means are held at a time."""

BLOCK = 250_000
"""Cells of a family whose windows are summed up at a time; sums of all at once would take several tables of them."""

COUNT_NOISE = {View.CUMULATIVE: 2.0, View.COUNTS: 1.0, View.RANKED: np.inf}
"""The variance of the noise in a count, as a multiple of that in a value of the view.

That of ranked sizes depends on the sizes, so that no cell of theirs is said to stand out, nor one of a region's own
that a split view knows by ranks.
"""


@dataclass(frozen=True)
class PooledPrior:
    """The rule by which prior means of counts follow from the posterior means of the round before.

    Let x[r, s] be the posterior mean of the number of groups of size s in region r, and G[r] its number of groups.

    1. *Shapes* S, from the leaves up: with precision p[r] = epsilon[r]^2 (0 where nothing was measured),

           S[r] = (p[r] x[r] + q[r] sum over children of S[j]) / (p[r] + q[r]),    1 / q[r] = sum over children of
           1 / (p[j] + q[j]),    S[leaf] = x[leaf].

    2. *The root* has means B(S[root]), where B smooths over sizes: two passes of a moving average of half-width
       floor(root_width s) at size s. Counts of small sizes, which have spikes, are left as they are.

    3. *Children j of a region* share one shape, and each deviates from it as far as its own counts show. With
       shape P = B(S[parent]) (by `shape_width`), scaled to sum 1, and W the sum over two passes of windows of relative
       half-width `own_width`,

           mu[j, s] ~ G[j] P[s] (shrinkage + W(x[j])[s]) / (shrinkage + W(G[j] P)[s]),

       scaled so that sum over j of mu[j, s] = P[s] sum over j of G[j]. Pooling before smoothing matters: a region's own
       smoothed counts are all biased in the same direction, and thousands of them add up.

    The largest size K stands for "K or more", so it is never smoothed together with others.

    **Cells that stand out are not smoothed.** A moving average turns a spike, 300 groups of one size beside empty ones,
    into a hill, and a prior that expects a hill overrules noisy values that say otherwise. So cells of S that are far
    from the average of the cells around them (`standing_out`) are taken out of the averages and windows of step 2 and
    3, and keep S[s] themselves. A child's cell whose own count is as far from mu[j, s] is taken out of the child's
    windows W, and has the own count as its mean, no less than the standard deviation of the noise; it takes no part in
    the scaling. This needs the variance of the noise in a count, which is twice that of a noisy cumulative count; where
    ranked sizes were measured it is not known, and no cell stands out. In the sums S a count x that a split view knows
    by ranks has this variance and x^2: it was measured by ranks because few groups were expected there, so it hides
    no spike of the other regions, and is none by itself. Ordinary data have next to no such cells: errors
    on taxi, census and race by block group change by one part in ten thousand at most.

    Args:
        shape: of the negative binomial prior, whose variance is mu + mu^2 / shape; `shapes` says where it is less.
            Errors change by 3 % or less from 50 to 1,000.
        root_width, shape_width, own_width: relative half-widths of the windows, from 0 to 1.
        shrinkage: how many groups a window needs before a region's own deviation counts.

    Source: empirical Bayes as usual (Robbins 1956); windows, pooling and shrinkage are new here.
    """

    shape: float = 100.0
    root_width: float = 0.1
    shape_width: float = 0.05
    own_width: float = 0.15
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, int | float) or not 1 <= self.shape < float("inf"):
            raise MethodError(f"shape={self.shape!r}; give a number from 1 up, then the prior has one peak")
        for name in ("root_width", "shape_width", "own_width"):
            width = getattr(self, name)
            if not isinstance(width, int | float) or not 0 <= width <= 1:
                raise MethodError(f"{name}={width!r}; give a width relative to the size, from 0 to 1")
        if not isinstance(self.shrinkage, int | float) or not 0 < self.shrinkage < float("inf"):
            raise MethodError(f"shrinkage={self.shrinkage!r}; give a positive number of groups")

    def shapes(self, n_sizes: int) -> np.ndarray:
        """The shapes of the prior by size; (K + 1,).

        Where a mean was found from n cells in the region itself, the shape is 1 + (shape - 1) (1 - 1 / n): a cell that
        is not smoothed, n = 1, has a prior mean that says what its own values say, and the prior must not say it twice.
        """
        return 1 + (self.shape - 1) * (1 - 1 / self.cells(n_sizes))

    def cells(self, n_sizes: int) -> np.ndarray:
        """The number of cells in the window from which a region's own deviation is found, by size; (K + 1,)."""
        start, stop = window_ends(n_sizes - 1, self.own_width)
        return np.append(stop - start, 1)

    def families(
        self, measurement: Measurement, means: np.ndarray, groups: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the regions of every family of siblings, the root alone first, with their prior means.

        Args:
            measurement, means, groups: as in `families_and_kept`.
        """
        for regions, mu, _ in self.families_and_kept(measurement, means, groups):
            yield regions, mu

    def families_and_kept(
        self, measurement: Measurement, means: np.ndarray, groups: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield the same, and the cells that were kept as they are because they stand out; bool, as the means.

        A family of more than `CELLS_AT_ONCE` cells comes in several parts, and is gone through twice.

        Args:
            measurement: says which regions were measured, and how precisely.
            means: posterior means of the cumulative counts, shape (regions, K + 1); rows that were not measured are
                ignored. Rows may change once they were yielded.
            groups: numbers of groups, possibly estimated, shape (regions,).
        """
        tree, n_sizes = measurement.hierarchy, means.shape[1]
        known = _Known.of(measurement)
        shapes, doubts = known.shapes(means), known.doubts(means)
        root, apart = self.smooth(shapes[:1], self.root_width, known.variance[:1, None] + doubts[:1])
        yield slice(0, 1), positive(root, groups[:1]), np.zeros(root.shape, bool) if apart is None else apart
        step = max(1, CELLS_AT_ONCE // n_sizes)
        for parent in range(tree.n_inner):
            first, last = int(tree.first_child[parent]), int(tree.first_child[parent + 1])
            parts = [slice(start, min(start + step, last)) for start in range(first, last, step)]
            variance = known.variance[parent : parent + 1] + doubts[parent]
            shape, apart = self.smooth(shapes[parent], self.shape_width, variance)
            together = shape.sum()
            shape = shape / together if together > 0 else np.full(n_sizes, 1 / n_sizes)
            wanted, found = np.zeros(n_sizes), np.zeros(n_sizes)
            mu, own = np.empty((0, n_sizes)), np.empty((0, n_sizes), bool)
            for part in parts:
                mu, own = self._of_children(part, shape, apart, groups, means, known)
                for region, (means_here, own_here) in enumerate(zip(mu, own, strict=True), part.start):
                    wanted += np.where(own_here, 0.0, float(groups[region]) * shape)
                    found += np.where(own_here, 0.0, means_here)
            scale = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
            for part in parts:
                if len(parts) > 1:
                    mu, own = self._of_children(part, shape, apart, groups, means, known)
                np.multiply(mu, scale, out=mu, where=~own)
                yield part, positive(mu, groups[part]), own if apart is None else own | apart

    def smooth(self, counts: np.ndarray, width: float, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Smooth counts but for the cells that stand out; also give the latter, None if there are none.

        Args:
            counts: S, shape (..., K + 1).
            width: relative half-width of the windows.
            variance: of the noise in S, shape (..., 1) or that of the counts.
        """
        apart = standing_out(counts, width, variance, self.shape)
        return smoothed(counts, width, apart), apart

    def _of_children(
        self,
        regions: slice,
        shape: np.ndarray,
        apart: np.ndarray | None,
        groups: np.ndarray,
        means: np.ndarray,
        known: "_Known",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute prior means of some children of a region, and tell which of them are the child's own counts.

        The others are known up to the scale of the family.
        """
        mu = groups[regions].astype(float)[:, None] * shape
        own = np.zeros(mu.shape, bool)
        step = max(1, BLOCK // len(shape))
        for start in range(0, len(mu), step):
            of_block = np.flatnonzero(known.measured[regions][start : start + step]) + start
            counts = np.diff(means[regions][of_block], prepend=0.0, axis=1)
            variances = known.own_variances(of_block + regions.start, len(shape))
            about = counts, mu[of_block], apart, variances
            mu[of_block], own[of_block] = self.deviating(*about)
        return mu, own

    def deviating(
        self, counts: np.ndarray, expected: np.ndarray, apart: np.ndarray | None, variance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let regions deviate from the means `expected` of them as far as their own counts show.

        Args:
            counts: posterior means of the regions' counts, shape (regions, K + 1).
            expected: G P, of the same shape.
            apart: the sizes at which P was not smoothed, shape (K + 1,) or as `counts`; None for none.
            variance: of the noise in `counts`, shape (regions, 1) or that of the counts; infinite where no count may
                stand out.

        Returns:
            The means, up to the scale of a family, and the cells whose mean is the region's own count.
        """
        mu = expected * self._ratio(counts, expected, apart)
        own = far_from(counts, mu, variance, self.shape)
        some = np.flatnonzero(own.any(axis=1))
        if not len(some):
            return mu, own
        out = apart[some] if apart is not None and apart.ndim == 2 else apart
        for _ in range(TURNS - 1):
            left_out = own[some] if out is None else own[some] | out
            mu[some] = expected[some] * self._ratio(counts[some], expected[some], left_out)
            own[some] = far_from(counts[some], mu[some], variance[some], self.shape)
        return np.where(own, np.maximum(counts, np.sqrt(variance)), mu), own

    def _ratio(self, counts: np.ndarray, expected: np.ndarray, apart: np.ndarray | None) -> np.ndarray:
        out = None if apart is None else np.broadcast_to(apart, counts.shape)
        own, wanted = (window_sums(each, self.own_width, out) for each in (counts, expected))
        return (self.shrinkage + own) / (self.shrinkage + wanted)


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of every region's counts before anything is smoothed; shape (regions,) each.

    Attributes:
        measured: whether the region was.
        own: the precision p of its own values.
        below: the precision q of the sum of what is known of its children.
        own_variance: of the noise in its own counts; infinite where ranked sizes were measured, or nothing.
        own_up_to: the size from which on they are known by ranks, if at all, so that the variance is infinite.
        variance: of the noise in S, the region's and its children's counts together, but for `doubts`.
    """

    hierarchy: Hierarchy
    measured: np.ndarray
    own: np.ndarray
    below: np.ndarray
    own_variance: np.ndarray
    own_up_to: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, measurement: Measurement) -> "_Known":
        tree, n = measurement.hierarchy, measurement.hierarchy.n_regions
        own, below, own_variance, variance = np.zeros(n), np.zeros(n), np.full(n, np.inf), np.full(n, np.inf)
        own_up_to = np.full(n, measurement.max_size + 1)
        for region in range(n - 1, -1, -1):
            law = measurement.law(region) if measurement.measured[region] else None
            if law is not None:
                own[region] = 2 / float(law.variance_bound)
                view = measurement.view_of(region)
                split = isinstance(view, Split)
                own_variance[region] = float(law.variance_bound) * COUNT_NOISE[View.CUMULATIVE if split else view]
                own_up_to[region] = view.threshold if split else measurement.max_size + 1
            if region >= tree.n_inner:
                variance[region] = own_variance[region]
                continue
            children = slice(tree.first_child[region], tree.first_child[region + 1])
            below[region] = 1.0 / (1.0 / (own[children] + below[children])).sum()
            p, q = own[region], below[region]
            from_own = p * p * own_variance[region] if p else 0.0
            from_below = q * q * variance[children].sum() if q else 0.0
            variance[region] = (from_own + from_below) / (p + q) ** 2 if p + q else np.inf
        return cls(tree, measurement.measured, own, below, own_variance, own_up_to, variance)

    def own_variances(self, regions: np.ndarray, n_sizes: int) -> np.ndarray:
        """Give the variances of the noise in the regions' own counts, by size where it matters."""
        return infinite_from(self.own_variance[regions], self.own_up_to[regions], n_sizes)

    def shapes(self, means: np.ndarray) -> np.ndarray:
        """S of the inner regions, shape (inner regions, K + 1); of the root alone where it has no children."""
        tree = self.hierarchy
        if not tree.n_inner:
            return np.diff(means, prepend=0.0, axis=1)
        shapes = np.empty((tree.n_inner, means.shape[1]))
        for region in range(tree.n_inner - 1, -1, -1):
            children = range(tree.first_child[region], tree.first_child[region + 1])
            below = np.zeros(means.shape[1])
            for child in children:
                below += shapes[child] if child < tree.n_inner else np.diff(means[child], prepend=0.0)
            own = self.own[region]
            here = np.diff(means[region], prepend=0.0) if own else 0.0
            shapes[region] = (own * here + self.below[region] * below) / (own + self.below[region])
        return shapes

    def doubts(self, means: np.ndarray) -> np.ndarray:
        """Give the squares of counts known by ranks, as they add to the variances of S; (inner regions, K + 1 or 1)."""
        tree, n_sizes = self.hierarchy, means.shape[1]
        if (self.own_up_to >= n_sizes).all():
            return np.zeros((max(1, tree.n_inner), 1))
        doubts = np.zeros((max(1, tree.n_inner), n_sizes))
        for region in range(len(doubts) - 1, -1, -1):
            doubts[region] = self.own[region] ** 2 * self._squares(region, means[region])
            for child in tree.children(region):
                squares = doubts[child] if child < tree.n_inner else self._squares(child, means[child])
                doubts[region] += self.below[region] ** 2 * squares
            doubts[region] /= max(self.own[region] + self.below[region], SMALLEST_MEAN) ** 2
        return doubts

    def _squares(self, region: int, mean: np.ndarray) -> np.ndarray:
        counts = np.diff(mean, prepend=0.0)
        counts[: self.own_up_to[region]] = 0.0
        return counts * counts


def infinite_from(variance: np.ndarray, up_to: np.ndarray, n_sizes: int) -> np.ndarray:
    """Make variances infinite from the sizes `up_to` on; shape (regions, 1) where there are no such sizes."""
    if (up_to >= n_sizes).all():
        return variance[:, None]
    return np.where(np.arange(n_sizes) < up_to[:, None], variance[:, None], np.inf)


def positive(mu: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Raise prior means to a billionth of the mean over all sizes, and to `SMALLEST_MEAN`.

    Args:
        mu: shape (regions, K + 1).
        groups: numbers of groups, shape (regions,).
    """
    return np.ascontiguousarray(np.maximum(mu, 1e-9 * groups[:, None] / mu.shape[1] + SMALLEST_MEAN))
