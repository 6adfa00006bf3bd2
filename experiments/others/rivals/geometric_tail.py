"""The plain noisy histogram, added up, whose thin tail is replaced by a fitted geometric one.

Every count of groups by size gets noise. Sums from size 0 up to T are made counts by isotonic regression, as H_c's are.
Beyond T the noise of the sums, which grows with every size, hides the few groups that are left, so the groups that the
public total leaves are spread over the sizes beyond T as q^(s - T). Over the last quarters of the sizes up to T, with
noisy sums A and B, q^(T / 4) = B / A.

T = 2^j is the end of the last range 2^(j - 1)..2^j - 1 whose noisy sum is above three standard deviations of its noise.

**Privacy.** A group that moves to the next size changes two counts by one: L1 sensitivity 2, so double geometric noise
of scale 2 / epsilon is epsilon-DP. T and q are made of noisy counts.

It assumes counts that fall geometrically with size where they are thin: right for households, wrong for heavy tails.

Source: nobody's; the simplest thing that a practitioner would try. Noise on histograms: Dwork et al. 2006.
"""

from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, isotonic_counts, leaf_by_leaf, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric


def threshold(noisy: np.ndarray, law: DoubleGeometric) -> int:
    """Find T, the number of sizes before the tail; at most K.

    Example:
        >>> threshold(np.array([900, 500, 300, 90, 40, 20, 10, 2, 3, 0, 0, 1, -1, 0, 1, -2, 3]), DoubleGeometric(2))
        8
    """
    max_size, found, end = len(noisy) - 1, 1, 2
    while end // 2 <= max_size:
        here = noisy[end // 2 : end]
        if here.sum() > 3 * (len(here) * law.variance) ** 0.5:
            found = end
        end *= 2
    return min(found, max_size)


def decay(noisy: np.ndarray, start: int) -> float:
    """Estimate q, the factor by which counts fall with every size, from the two quarters of the sizes before T."""
    quarter = start // 4
    if quarter == 0:
        return 0.5
    before, after = noisy[start - 2 * quarter : start - quarter].sum(), noisy[start - quarter : start].sum()
    ratio = max(1.0, float(after)) / max(1.0, float(before))
    return float(np.clip(ratio ** (1 / quarter), 0.01, 0.9999))


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    start = threshold(noisy, law)
    kept = np.zeros(max_size + 1)
    kept[: start + 1] = isotonic_counts(np.cumsum(noisy[:start])[None], np.array([groups]))[0]
    left, kept[start] = kept[start], 0.0
    tail = decay(noisy, start) ** np.arange(max_size - start + 1.0)
    kept[start:] = left * tail / tail.sum()
    return kept


MECHANISM = Additive("noisy histogram", np.array, lambda max_size: 2, leaf_by_leaf(_estimate))

ARM = Competitor(
    "noisy histogram, geometric tail",
    release=partial(release_leaves, MECHANISM),
    made_by="Dwork et al. 2006; the tail is a plain choice",
    assumes="a tail that falls geometrically",
)
