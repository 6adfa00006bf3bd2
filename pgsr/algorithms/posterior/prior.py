"""The prior means of all regions, estimated from what their neighbours in the tree and in size say."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.errors import MethodError
from pgsr.measurement import Measurement

SMALLEST_MEAN = 1e-12
"""No prior mean is smaller, so that no count is impossible."""

CELLS_AT_ONCE = 4_000_000
"""Cells of a family whose prior means are held at a time."""


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
        start, stop = _windows(n_sizes - 1, self.own_width)
        return np.append(stop - start, 1)

    def families(
        self, measurement: Measurement, means: np.ndarray, groups: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the regions of every family of siblings, the root alone first, with their prior means.

        A family of more than `CELLS_AT_ONCE` cells comes in several parts, and is gone through twice.

        Args:
            measurement: says which regions were measured, and how precisely.
            means: posterior means of the cumulative counts, shape (regions, K + 1); rows that were not measured are
                ignored. Rows may change once they were yielded.
            groups: numbers of groups, possibly estimated, shape (regions,).
        """
        tree, n_sizes = measurement.hierarchy, means.shape[1]
        shapes = self._shapes(measurement, means)
        yield slice(0, 1), _positive(smoothed(shapes[:1], self.root_width), groups[:1])
        step = max(1, CELLS_AT_ONCE // n_sizes)
        for parent in range(tree.n_inner):
            first, last = int(tree.first_child[parent]), int(tree.first_child[parent + 1])
            parts = [slice(start, min(start + step, last)) for start in range(first, last, step)]
            shape = smoothed(shapes[parent], self.shape_width)
            together = shape.sum()
            shape = shape / together if together > 0 else np.full(n_sizes, 1 / n_sizes)
            wanted, found, mu = np.zeros(n_sizes), np.zeros(n_sizes), np.empty((0, n_sizes))
            for part in parts:
                expected = groups[part].astype(float)[:, None] * shape
                mu = self._unscaled(measurement, means[part], part, expected)
                _add_rows(expected, wanted)
                _add_rows(mu, found)
            scale = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
            for part in parts:
                if len(parts) > 1:
                    expected = groups[part].astype(float)[:, None] * shape
                    mu = self._unscaled(measurement, means[part], part, expected)
                mu *= scale
                yield part, _positive(mu, groups[part])

    def _unscaled(
        self, measurement: Measurement, means: np.ndarray, regions: slice, expected: np.ndarray
    ) -> np.ndarray:
        """Compute prior means of these regions, `expected` before their own deviation, up to the scale of a family."""
        ratio = np.ones_like(expected)
        known = np.flatnonzero(measurement.measured[regions])
        own = np.diff(means[known], prepend=0.0, axis=1)
        ratio[known] = (self.shrinkage + window_sums(own, self.own_width)) / (
            self.shrinkage + window_sums(expected[known], self.own_width)
        )
        ratio *= expected
        return ratio

    def _shapes(self, measurement: Measurement, means: np.ndarray) -> np.ndarray:
        """S of the inner regions, shape (inner regions, K + 1); of the root alone where it has no children."""
        tree = measurement.hierarchy
        if not tree.n_inner:
            return np.diff(means, prepend=0.0, axis=1)
        precision = _precision(measurement)
        shapes = np.empty((tree.n_inner, means.shape[1]))
        for region in range(tree.n_inner - 1, -1, -1):
            children = range(tree.first_child[region], tree.first_child[region + 1])
            below = np.zeros(means.shape[1])
            for child in children:
                below += shapes[child] if child < tree.n_inner else np.diff(means[child], prepend=0.0)
            own = precision.own[region]
            here = np.diff(means[region], prepend=0.0) if own else 0.0
            shapes[region] = (own * here + precision.below[region] * below) / (own + precision.below[region])
        return shapes


def smoothed(counts: np.ndarray, width: float) -> np.ndarray:
    """Smooth counts over sizes by two moving averages of half-width floor(width s); the last cell stays; shape kept."""
    inner, sizes = counts[..., :-1], _windows(counts.shape[-1] - 1, width)
    for _ in range(2):
        inner = _sums(inner, *sizes) / (sizes[1] - sizes[0])
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def window_sums(counts: np.ndarray, width: float) -> np.ndarray:
    """Sum counts over windows of half-width floor(width s), twice; the last cell stays; shape kept."""
    inner, sizes = counts[..., :-1], _windows(counts.shape[-1] - 1, width)
    inner = _sums(_sums(inner, *sizes), *sizes)
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def _add_rows(rows: np.ndarray, total: np.ndarray) -> None:
    """Add rows to `total` from the first to the last, so that it does not matter in how many parts they come."""
    for row in rows:
        total += row


@dataclass(frozen=True, eq=False)
class _Precision:
    own: np.ndarray
    below: np.ndarray


def _precision(measurement: Measurement) -> _Precision:
    """Precision of a region's own values, and of the sum of what is known below it; shape (regions,) each."""
    tree = measurement.hierarchy
    laws = [measurement.law(start) for start in tree.level_start[:-1].tolist()]
    known = np.array([2 / float(law.variance_bound) if law else 0.0 for law in laws])
    own = np.where(measurement.measured, known[tree.level_of], 0.0)
    below = np.zeros(tree.n_regions)
    for region in range(tree.n_inner - 1, -1, -1):
        children = slice(tree.first_child[region], tree.first_child[region + 1])
        below[region] = 1.0 / (1.0 / (own[children] + below[children])).sum()
    return _Precision(own, below)


def _windows(n: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.arange(n)
    half = np.floor(width * sizes).astype(np.int64)
    return np.maximum(sizes - half, 0), np.minimum(sizes + half, n - 1) + 1


def _sums(counts: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    upto = np.concatenate([np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1)], axis=-1)
    return upto[..., stop] - upto[..., start]


def _positive(mu: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.maximum(mu, 1e-9 * groups[:, None] / mu.shape[1] + SMALLEST_MEAN)
