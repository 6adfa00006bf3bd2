"""The exponential mechanism over all ways to give G groups sizes 0..K, by an exact dynamic program.

A release c' = (c'[0] <= ... <= c'[K - 1] <= G), cumulative counts of whole numbers, has the probability

    P(c') ~ exp(-(epsilon / 2) sum_s |c'[s] - c[s]|),

so releases near the truth in earth mover's distance are likely. With sizes in falling order it is a law on integer
partitions whose parts are at most K and whose number is at most G.

**Privacy.** One entity more or less changes the distance to any c' by one at most, so the numerator by a factor of
e^(epsilon / 2) at most; its sum over all c', the normalising constant, by the same factor at most. Together
epsilon-DP (McSherry and Talwar 2007). All c' are known beforehand, since G and K are public, so no delta is needed,
which Blocki et al. need where the number of users is unbounded.

**Sampling.** c'[0], c'[1], ... is a Markov chain: f[s](c) = w[s](c) * sum over c'' <= c of f[s - 1](c''), with
w[s](c) = exp(-(epsilon / 2) |c - c[s]|), and backwards, from f[K - 1], every c'[s] is drawn among those below c'[s +
1]. Here c'[s] is looked for within 40 / epsilon of c[s]; what is left out has a weight below e^-20 each, and the sums
are floating-point numbers. So this is a simulation of the mechanism, good for its errors and not for a publication.

Complexity: O(K min(G, 80 / epsilon)) a leaf.

It assumes nothing of the counts, and has no post-processing.

Source: Blocki, Datta and Bonneau 2016, "Differentially private password frequency lists", NDSS 2016; Blocki 2019,
"Differentially private integer partitions and their applications", for the bounded case. They prove an L1 error of
O(sqrt(N) / epsilon) for N users and conjecture O(sqrt(N / epsilon)); their printed errors are of a list of passwords
that is not here. Numbers of partitions in a box, and all
probabilities on small worlds: `test_experiments_others_rivals.py::test_partitions_by_enumeration`; growth:
`test_experiments_others_rivals.py::test_partitions_grow_as_conjectured`.
"""

from fractions import Fraction
from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Drawn, release_leaves
from pgsr.privacy.random import ByteStream

REACH = 40
"""Times 1 / epsilon: how far from the true cumulative count a release is looked for."""


def draw(counts: np.ndarray, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Draw a release of one leaf: whole counts of sizes 0..K with the same sum.

    Args:
        counts: of sizes 0..K, shape (K + 1,).
        epsilon: of the mechanism.
        generator: of uniform numbers.

    Example:
        >>> draw(np.array([0, 5, 2, 1]), 1.0, np.random.default_rng(5)).sum()
        np.int64(8)
    """
    groups, cells = int(counts.sum()), len(counts) - 1
    starts, sums = forward(counts, epsilon)
    chosen = np.empty(cells + 1, np.int64)
    chosen[cells] = groups
    uniform = generator.random(cells)
    for s in range(cells - 1, -1, -1):
        below = min(int(chosen[s + 1] - starts[s]), len(sums[s]) - 1)
        place = np.searchsorted(sums[s][: below + 1], uniform[s] * sums[s][below], side="right")
        chosen[s] = starts[s] + min(int(place), below)  # a product of floats may round up to the last sum
    return np.diff(chosen, prepend=0)


def forward(counts: np.ndarray, epsilon: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Compute, for every s < K, the first value looked at, and the running sums of f[s], scaled to 1 at the end."""
    truth = np.cumsum(counts)[:-1]
    groups, reach = int(counts.sum()), int(np.ceil(REACH / epsilon))
    starts, stops = np.maximum(truth - reach, 0), np.minimum(truth + reach, groups)
    sums: list[np.ndarray] = []
    for s, here in enumerate(truth):
        values = np.arange(starts[s], stops[s] + 1)
        weights = np.exp(-epsilon / 2 * np.abs(values - here))
        if sums:
            at = np.minimum(values - starts[s - 1], len(sums[-1]) - 1)
            weights *= np.where(at < 0, 0.0, sums[-1][np.maximum(at, 0)])
        running = np.cumsum(weights)
        sums.append(running / running[-1])
    return starts, sums


def _drawn(counts: np.ndarray, epsilon: Fraction, stream: ByteStream) -> np.ndarray:
    return draw(counts, float(epsilon), np.random.default_rng(stream.words(8).tolist()))


MECHANISM = Drawn("partitions", _drawn)

ARM = Competitor(
    "exponential mechanism on partitions",
    release=partial(release_leaves, MECHANISM),
    made_by="Blocki, Datta and Bonneau 2016",
)
