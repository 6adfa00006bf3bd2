"""Noise on the size of every labelled group, then the histogram of sizes with the noise taken out again.

**Another trust model.** Every group adds noise to its own size and hands out the noisy number; no curator sees true
sizes. (In Ghazi et al. the noise of a group may be put together by its members through a shuffler, in Wu and Pagh it
lies in a sketch that is kept up to date.) Whoever trusts nobody pays for it: the error grows with the square root of
the number of groups, where a curator's does not. So it stands beside the other mechanisms to show the price, not to
compete.

**Privacy.** One entity more changes the size of one group by one, so double geometric noise of scale 1 / epsilon on
every size is epsilon-DP, for whoever sees all noisy sizes with their labels. The rest is post-processing.

**Taking the noise out.** With a = exp(-epsilon), the law of the noise has the inverse filter

    x[s] = ((1 + a^2) z[s] - a z[s - 1] - a z[s + 1]) / (1 - a)^2,

where z[s] is the number of groups with the noisy size s: E x[s] is the true number exactly. Summed up,
c[s] = Z[s] - a / (1 - a)^2 (Z[s + 1] - 2 Z[s] + Z[s - 1]), unbiased, too, and isotonic regression by squares
within 0..G makes counts of it. Sizes outside 0..K are used as they are, not cut off, so that nothing is lost.

It assumes nothing of the counts.

Source: Ghazi, Kamath, Kumar and Manurangsi 2022, "Anonymized histograms in intermediate privacy models", NeurIPS 2022
(post-processing the noisy histogram); Wu and Pagh 2024, "Profile reconstruction from private sketches", ICML 2024 (the
inverse of the noise). Both bound other errors, with other post-processing; the isotonic regression is a choice made
here. Shown by `test_experiments_others_rivals.py::test_the_filter_inverts_the_noise`.
"""

from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, isotonic_counts, leaf_by_leaf, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric


def query(counts: np.ndarray) -> np.ndarray:
    """List the sizes of all groups, by label; which label has which size does not matter for errors.

    Example:
        >>> query(np.array([1, 2, 0, 1]))
        array([0, 1, 1, 3])
    """
    return np.repeat(np.arange(len(counts)), counts)


def unbiased(noisy: np.ndarray, max_size: int, a: float) -> np.ndarray:
    """Estimate the cumulative counts of sizes 0..K - 1 from noisy sizes; real numbers, of any sign and order."""
    at = np.bincount(np.clip(noisy, -1, max_size + 1) + 1, minlength=max_size + 3)
    below = np.cumsum(at)  # Z[-1], Z[0], ..., Z[K + 1]
    bend = below[2:] - 2 * below[1:-1] + below[:-2]
    return (below[1:-1] - a / (1 - a) ** 2 * bend)[:max_size]


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    cumulative = unbiased(noisy, max_size, float(np.exp(-1 / float(law.scale))))
    return isotonic_counts(cumulative[None], np.array([groups]))[0]


MECHANISM = Additive("labelled groups", query, lambda max_size: 1, leaf_by_leaf(_estimate))

ARM = Competitor(
    "noise on every group, no curator",
    release=partial(release_leaves, MECHANISM),
    made_by="Ghazi et al. 2022; Wu and Pagh 2024; isotonic regression added",
    trust="nobody",
)
