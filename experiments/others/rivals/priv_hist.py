"""PrivHist: survival counts, in ranges of sizes where epsilon is below 1, beside large groups by rank where it is not.

S[s] is the number of groups of size s or more. One tenth of epsilon measures N, the number of entities of a leaf, and
the noisy N says how the rest is spent.

**Epsilon below 1.** Sizes are put into ranges (e[i], e[i + 1]] from e[0] = 0 up, whose widths are one at first and then
grow like q e[i], q = (log(1 / epsilon) / (N epsilon))^(1/2). Measured is the sum of S over every range. A sum over its
width is a number of groups at the range's end or beyond, where a group inside counts by how far into it it reaches. So
all groups are released with sizes e[i]. Wider ranges have less noise, and narrower ones keep sizes nearer to the truth;
q makes both errors the same.

**Epsilon from 1 up.** With T = N^(1/2), measured are S[1], ..., S[T] and the N / T largest sizes, those below T as T.

Isotonic regression by squares follows, weighted by precision, then rounding to the public number of groups.

**Privacy.** One entity more in a group of size s changes S[s + 1] alone, by one. So it changes one sum, one value of S,
or one rank by one, and N by one: double geometric noise on N with epsilon / 10, and on the rest with what is left, is
epsilon-DP.

It assumes nothing of the counts.

Source: Suresh 2019, "Differentially private anonymized histograms", NeurIPS 2019, which shows errors of O((N log(1 /
epsilon) / epsilon)^(1/2)) for epsilon below 1 and O(N^(1/2) e^(-c epsilon)) above. Manurangsi 2022, "Tight bounds for
differentially private anonymized histograms", shows that no mechanism has less. Both are for one histogram, up to a
constant. Written from the idea: the tenth for N and the widths in whole numbers are chosen here. Growth:
`test_experiments_others_rivals.py::test_errors_of_priv_hist_grow_as_proved`.
"""

from fractions import Fraction
from functools import partial

import numpy as np
from scipy.optimize import isotonic_regression

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Drawn, release_leaves, whole
from pgsr.privacy.laws.double_geometric import DoubleGeometric
from pgsr.privacy.random import ByteStream

OF_N = Fraction(1, 10)
"""The part of epsilon that measures N."""


def edges(max_size: int, members: int, epsilon: float) -> np.ndarray:
    """Give the ends of ranges of sizes, from 0 to K.

    Example:
        >>> edges(60, 400, 0.1)
        array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 11, 13, 16, 19, 23, 28, 34,
               42, 52, 60])
    """
    q = (np.log(1 / epsilon) / (members * epsilon)) ** 0.5
    found = [0]
    while found[-1] < max_size:
        found.append(min(max_size, found[-1] + max(1, int(q * found[-1]))))
    return np.array(found)


def sums(counts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sum the survival counts S over every range of sizes.

    Example:
        >>> sums(np.array([3, 2, 0, 0, 1]), np.array([0, 1, 4]))
        array([3, 3])
    """
    return np.add.reduceat(_survival(counts), ends[:-1])


def cut(counts: np.ndarray, size: int, ranks: int) -> np.ndarray:
    """Give S[1], ..., S[size], and by how much the largest groups, this many, are larger than the size.

    Example:
        >>> cut(np.array([3, 2, 0, 0, 1]), 2, 3)
        array([3, 1, 2, 0, 0])
    """
    largest = np.repeat(np.arange(len(counts)), counts)[::-1][:ranks]
    return np.concatenate([_survival(counts)[:size], np.maximum(largest - size, 0)])


def _leaf(counts: np.ndarray, epsilon: Fraction, stream: ByteStream) -> np.ndarray:
    groups, max_size = int(counts.sum()), len(counts) - 1
    noisy = np.array([np.arange(max_size + 1) @ counts], np.int64)
    DoubleGeometric(1 / (OF_N * epsilon)).add_to(noisy, stream)
    members, law = max(1, int(noisy[0])), DoubleGeometric(1 / ((1 - OF_N) * epsilon))
    sizes = np.zeros(max_size + 1)
    if epsilon < 1:
        ends = edges(max_size, members, float(epsilon))
        vector, widths = sums(counts, ends), np.diff(ends)
        law.add_to(vector, stream)
        reach = _falling(vector / widths, groups, widths**2)
        sizes[ends] = -np.diff(reach, prepend=groups, append=0)
    else:
        size = min(max_size, int(np.ceil(members**0.5)))
        vector = cut(counts, size, min(groups, members // size))
        law.add_to(vector, stream)
        reach = np.rint(_falling(vector[:size], groups, np.ones(size))).astype(int)
        sizes[: size + 1] = -np.diff(reach, prepend=groups, append=0)
        beyond = np.rint(_falling(vector[size:], max_size - size, np.ones(len(vector) - size))).astype(int)
        for larger in beyond[: reach[-1]]:
            sizes[size] -= 1
            sizes[size + larger] += 1
    return whole(sizes[None], np.array([groups]))[0]


def _survival(counts: np.ndarray) -> np.ndarray:
    """Give S[1], ..., S[K]."""
    return np.cumsum(counts[:0:-1])[::-1].astype(np.int64)


def _falling(values: np.ndarray, most: int, weights: np.ndarray) -> np.ndarray:
    """Find the nearest values by weighted squares that never rise, within 0 and `most`."""
    if not len(values):
        return values.astype(float)
    return np.clip(isotonic_regression(values, weights=weights, increasing=False).x, 0, most)


MECHANISM = Drawn("PrivHist", _leaf)

ARM = Competitor("PrivHist", release=partial(release_leaves, MECHANISM), made_by="Suresh 2019")
