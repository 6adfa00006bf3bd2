"""Prior means by moving averages over sizes, of regions whose levels have sizes of their own.

Let x[r, s] be the posterior mean of the number of groups of size s in region r in the round before, G[r] its number of
groups, and S[r] its counts joined with those below it (`folded_prior`).

1. *The root* has means B(S[root]), where B smooths over sizes: two passes of a moving average of half-width
   floor(ROOT_WIDTH s) at size s.

2. *Children j of a region* share one shape, and each deviates from it as far as its own counts show. With shape
   P = B(S[parent]) (by `SHAPE_WIDTH`), scaled to sum 1, and W the sum over two passes of windows of relative half-width
   `OWN_WIDTH`,

       mu[j, s] ~ G[j] P[s] (SHRINKAGE + W(x[j])[s]) / (SHRINKAGE + W(G[j] P)[s]),

   scaled so that sum over j of mu[j, s] = P[s] sum over j of G[j]. Pooling before smoothing matters: a region's own
   smoothed counts are all biased in the same direction, and thousands of them add up.

The largest size K stands for "K or more", so it is never smoothed together with others.

**Cells that stand out are not smoothed.** A moving average turns a spike, 300 groups of one size beside empty ones,
into a hill, and a prior that expects a hill overrules noisy values that say otherwise. So cells of S that are far from
the average of the cells around them (`standing_out`) are taken out of the averages and windows, and keep S[s]
themselves. A child's cell whose own count is as far from mu[j, s] is taken out of the child's windows W, and has the
own count as its mean, no less than the standard deviation of the noise; it takes no part in the scaling.

Source: empirical Bayes as usual (Robbins 1956); windows, pooling and shrinkage are new here.
"""

import numpy as np

from pgsr.data.views import View
from pgsr.estimators.posterior.misfit import TURNS, far_from, standing_out
from pgsr.estimators.posterior.windows import smoothed, window_ends, window_sums

SMALLEST_MEAN = 1e-12
"""No prior mean is smaller, so that no count is impossible."""

CELLS_AT_ONCE = 4_000_000
"""Cells of a family whose prior means are held at a time."""

COUNT_NOISE = {View.CUMULATIVE: 2.0, View.COUNTS: 1.0, View.RANKED: np.inf}
"""The variance of the noise in a count, as a multiple of that in a value of the view.

That of ranked sizes depends on the sizes, so that no cell of theirs is said to stand out, nor one of a region's own
that a split view knows by ranks.
"""

SHAPE = 100.0
"""The shape of the negative binomial prior, whose variance is mu + mu^2 / SHAPE; `shapes` says where it is less."""

ROOT_WIDTH, SHAPE_WIDTH, OWN_WIDTH = 0.1, 0.05, 0.15
"""Relative half-widths of the windows."""

SHRINKAGE = 20.0
"""The number of groups that a window needs before a region's own deviation counts."""


def shapes(n_sizes: int) -> np.ndarray:
    """Give the shapes of the prior by size; (K + 1,).

    Where a mean was found from n cells in the region itself, the shape is 1 + (SHAPE - 1) (1 - 1 / n): a cell that is
    not smoothed, n = 1, has a prior mean that says what its own values say, and the prior must not say it twice.
    """
    return 1 + (SHAPE - 1) * (1 - 1 / cells(n_sizes))


def cells(n_sizes: int) -> np.ndarray:
    """Give the number of cells in the window from which a region's own deviation is found, by size; (K + 1,)."""
    start, stop = window_ends(n_sizes - 1, OWN_WIDTH)
    return np.append(stop - start, 1)


def smooth(counts: np.ndarray, width: float, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Smooth counts but for the cells that stand out; also give the latter, None if there are none.

    Args:
        counts: S, shape (..., K + 1).
        width: relative half-width of the windows.
        variance: of the noise in S, shape (..., 1) or that of the counts.
    """
    apart = standing_out(counts, width, variance, SHAPE)
    return smoothed(counts, width, apart), apart


def deviating(
    counts: np.ndarray, expected: np.ndarray, apart: np.ndarray | None, variance: np.ndarray
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
    mu = expected * _ratio(counts, expected, apart)
    own = far_from(counts, mu, variance, SHAPE)
    some = np.flatnonzero(own.any(axis=1))
    if not len(some):
        return mu, own
    out = apart[some] if apart is not None and apart.ndim == 2 else apart
    for _ in range(TURNS - 1):
        left_out = own[some] if out is None else own[some] | out
        mu[some] = expected[some] * _ratio(counts[some], expected[some], left_out)
        own[some] = far_from(counts[some], mu[some], variance[some], SHAPE)
    return np.where(own, np.maximum(counts, np.sqrt(variance)), mu), own


def _ratio(counts: np.ndarray, expected: np.ndarray, apart: np.ndarray | None) -> np.ndarray:
    out = None if apart is None else np.broadcast_to(apart, counts.shape)
    own, wanted = (window_sums(each, OWN_WIDTH, out) for each in (counts, expected))
    return (SHRINKAGE + own) / (SHRINKAGE + wanted)


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


def with_estimated_prior(
    step_variance: np.ndarray, prior_mean: np.ndarray, shapes: np.ndarray, cells: np.ndarray
) -> np.ndarray:
    """Add to the variances of counts that of their prior means, which are estimates.

    A region's own deviation is found from n cells, a window. With prior variance P = mu + mu^2 / shape and posterior
    variance V of a count, a normal approximation has E x = k y + (1 - k) mu with 1 - k = V / P and noise of variance
    P V / (P - V). If mu is a mean over n cells, its variance is (P + P V / (P - V)) / n = P^2 / (P - V) / n, which adds

        (V / P)^2 P^2 / (P - V) / n = V (V / P) / (1 - V / P) / n

    to the error's variance; no more than V is added.

    Args:
        step_variance, prior_mean, shapes: V, and mu and the shapes of the prior, shape (regions, K + 1).
        cells: n, shape (K + 1,).
    """
    before = prior_mean * (1 + prior_mean / shapes)
    part = np.divide(step_variance, before, out=np.zeros_like(before), where=before > 0)
    odds = np.divide(part, 1 - part, out=np.full_like(part, np.inf), where=part < 1)
    return step_variance * (1 + np.minimum(1.0, odds / cells))
