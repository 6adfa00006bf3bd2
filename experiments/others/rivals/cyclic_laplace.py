"""The cyclic Laplace mechanism: noise on a histogram of sizes whose errors cancel from one size to the next.

One entity more moves one group from a size i to i + 1. With independent L[0], ..., L[K] and L[K + 1] = L[0],

    h'[i] = h[i] + L[i] - L[i + 1],        then negative numbers are cut off, and the rest is scaled to the total.

**Privacy.** A group moved from i to i + 1 changes h[i] by -1 and h[i + 1] by +1, which L[i + 1] - 1 in the place of
L[i + 1] undoes. So noise of scale 1 / epsilon in every L is epsilon-DP, where independent noise needs 2 / epsilon.
The L of the paper are Laplace; here they are double geometric, the same on whole numbers, so that no float is released.

**What it is in terms of cumulative counts.** Adding up, c'[s] = c[s] + L[0] - L[s + 1] for s < K: Kuo's noisy
cumulative counts H_c and one common number more. So whatever is made of h' could be made of H_c by drawing L[0] in
addition: before post-processing the mechanism is never better than H_c at the same epsilon. And cutting off at 0 adds a
positive error to every empty size, where H_c's isotonic regression has one per region. So there are two arms: as
published, and with isotonic regression of c', which tells what is the noise's and what is the cut-off's.

Source: Kohli and Laskowski 2026, "Preserving target distributions with differentially private count mechanisms",
PoPETs 2026(2), pages 615-641, section 3; noise, cut-off and scaling as their published artefact has them. Its second
stage, a count for every labelled category, is another release and not here. The paper compares by figure 3, on data
that are not here: that its errors are below those of noise on the histogram and of Privelet as sizes get more, by the
earth mover's distance, is what `test_cyclic_noise_beats_histogram_noise_and_privelet` of
`test_experiments_others_rivals.py` finds on made-up counts.

Shown by `test_experiments_others_rivals.py::test_law_of_cyclic_noise`, by its exact law on small worlds.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, isotonic_counts, leaf_by_leaf, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric


def query(counts: np.ndarray) -> np.ndarray:
    """Give 0 and the cumulative counts below K: noise on these, differenced in a cycle, is the cyclic noise."""
    return np.concatenate([[0], np.cumsum(counts)[:-1]])


def differenced(noisy: np.ndarray, groups: int) -> np.ndarray:
    """Compute h', of any sign, from the noisy vector; its sum is the number of groups exactly.

    Example:
        >>> differenced(np.array([0, 2, 5]) + np.array([1, 0, -1]), 6)
        array([1, 2, 3])
    """
    return np.diff(noisy, append=noisy[0] + groups)


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    del max_size, law
    return differenced(noisy, groups)


def _isotonic(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    del max_size, law
    return isotonic_counts(np.cumsum(differenced(noisy, groups))[None, :-1], np.array([groups]))[0]


MECHANISM = Additive("cyclic Laplace", query, lambda max_size: 1, leaf_by_leaf(_estimate))
ISOTONIC = replace(MECHANISM, estimate=leaf_by_leaf(_isotonic))

MADE_BY = "Kohli and Laskowski 2026"

ARM = Competitor(
    "cyclic Laplace",
    release=partial(release_leaves, MECHANISM),
    made_by=MADE_BY,
    assumes="far more groups of every size than noise",
)
ARM_ISOTONIC = Competitor(
    "cyclic Laplace, isotonic",
    release=partial(release_leaves, ISOTONIC),
    made_by=f"{MADE_BY}; with isotonic regression",
)
