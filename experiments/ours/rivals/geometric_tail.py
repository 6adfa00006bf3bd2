"""The plain noisy histogram, whose thin tail is replaced by a fitted geometric one.

Every count of groups by size gets noise. A count within the noise says little, and thousands of them add up to large
errors, so beyond the last size T that stands out the counts are not used one by one: the tail holds what the total
leaves, spread over the sizes beyond T as q^(s - T), where log q is the slope of the logarithms of the noisy counts over
the last half of the sizes up to T, fitted by least squares weighted by the counts.

T is the last size up to which the noisy counts, averaged over a window of 5 sizes, exceed the noise's standard
deviation of such an average by three; at least 1.

**Privacy.** A group that moves to the next size changes two counts by one: L1 sensitivity 2, so double geometric noise
of scale 2 / epsilon is epsilon-DP. T and q are made of noisy counts.

It assumes counts that fall geometrically with size where they are thin: right for households, wrong for heavy tails.

Source: nobody's; the simplest thing that a practitioner would try. Noise on histograms: Dwork et al. 2006.
"""

from functools import partial

import numpy as np

from pgsr.experiments.ours.rivals.competitor import Competitor
from pgsr.experiments.ours.rivals.leaves import Additive, leaf_by_leaf, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric

WINDOW = 5


def last_clear(noisy: np.ndarray, law: DoubleGeometric) -> int:
    """Find T, the last size before the counts sink into the noise.

    Example:
        >>> last_clear(np.array([900, 500, 300, 90, 40, 20, 1, -2, 3, 0, 0, 1, -1, 0]), DoubleGeometric(2))
        9
    """
    means = np.convolve(noisy, np.ones(WINDOW) / WINDOW, mode="valid")  # of the sizes s..s + 4
    clear = means > 3 * np.sqrt(law.variance / WINDOW)
    first = int(np.argmin(clear)) if len(clear) and not clear.all() else len(clear)
    return max(1, min(len(noisy) - 1, first + WINDOW - 2))


def decay(noisy: np.ndarray, last: int) -> float:
    """Fit q, the factor by which counts fall with size over the last half of the sizes up to T; within 0.01..0.9999."""
    sizes = np.arange(last // 2, last + 1)
    weights = np.maximum(noisy[sizes], 0.0)
    if np.count_nonzero(weights) < 2:
        return 0.5
    used = weights > 0
    x, y, w = sizes[used], np.log(weights[used]), weights[used]
    x = x - np.average(x, weights=w)
    return float(np.clip(np.exp((w * x * y).sum() / (w * x * x).sum()), 0.01, 0.9999))


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    last = last_clear(noisy, law)
    kept = np.maximum(noisy.astype(float), 0.0)
    left = max(0.0, groups - kept[: last + 1].sum())
    tail = decay(noisy, last) ** np.arange(1.0, max_size - last + 1)
    kept[last + 1 :] = left * tail / tail.sum() if len(tail) else 0.0
    return kept


MECHANISM = Additive("noisy histogram", np.array, lambda max_size: 2, leaf_by_leaf(_estimate))

ARM = Competitor("noisy histogram, geometric tail", release=partial(release_leaves, MECHANISM))
