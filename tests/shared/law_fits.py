"""Tests of goodness of fit of draws to an exact law of noise over the integers, from a histogram of the draws."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy import stats

from pgsr.privacy import Seeded
from pgsr.privacy.laws import Law
from pgsr.privacy.random import StreamId

PART = 5_000_000
"""Draws in memory at once."""


def draws_in_parts(law: Law, key: str, n: int) -> Iterator[np.ndarray]:
    source = Seeded(key).stream(StreamId("fit", "counts", 0, ()))
    for start in range(0, n, PART):
        values = np.zeros(min(PART, n - start), np.int64)
        law.add_to(values, source)
        yield values


def histogram(parts: Iterator[np.ndarray]) -> np.ndarray:
    """How often each of -m, ..., m was drawn, m the largest size of a draw; of odd length."""
    seen = np.zeros(1, np.int64)
    for values in parts:
        m = max(int(np.abs(values).max(initial=0)), len(seen) // 2)
        wider = np.bincount(values + m, minlength=2 * m + 1)
        wider[m - len(seen) // 2 : m + len(seen) // 2 + 1] += seen
        seen = wider
    return seen


def chi_square_p(law: Law, seen: np.ndarray, most_cells: int = 4_000) -> float:
    """The p-value of a chi-square test of signed draws against exact probabilities, in cells that expect 50 or more."""
    n, m = int(seen.sum()), len(seen) // 2
    last = 0
    while n * float(law.probability_beyond(np.array([last]))[0]) >= 200:
        last += max(1, int(law.deviation / 50))
    edges = np.unique(np.linspace(0, last, min(last + 1, most_cells // 2)).astype(int))  # sizes (edge[i-1], edge[i]]
    beyond, kept = n * law.probability_beyond(edges), [0]
    for i in range(1, len(edges)):
        if beyond[kept[-1]] - beyond[i] >= 120 and beyond[i] >= 120:
            kept.append(i)
    edges = edges[kept]
    exact = [Fraction(0), *(Fraction(law.probability_at_most(int(e), 96)[0], 2**96) for e in edges), Fraction(1)]
    of_size = np.array([float(b - a) for a, b in pairwise(exact)])
    cell = np.searchsorted(edges, np.arange(m + 1), "left")
    assert edges[0] == 0, "the first cell is zero alone"
    cells, expected = [int(seen[m])], [n * of_size[0]]
    for side in (seen[m:], seen[m::-1]):  # 0, 1, 2, ... and 0, -1, -2, ...
        cells += np.bincount(cell[1:], side[1:], minlength=len(of_size))[1:].tolist()
        expected += (n * of_size[1:] / 2).tolist()
    mean = np.array(expected)
    assert abs(mean.sum() - n) < 1e-6 * n
    assert mean.min() > 50
    return float(stats.chi2.sf(((np.array(cells) - mean) ** 2 / mean).sum(), len(mean) - 1))


def kolmogorov_smirnov_p(law: Law, seen: np.ndarray) -> float:
    """An upper bound of the p-value of a Kolmogorov-Smirnov test of draws against the exact distribution function.

    With D the largest distance between the shares of draws up to k and P(X <= k), over all integers k, the p-value is
    at most 2 exp(-2 n D^2), whatever the law and however few draws (Massart 1990). A test at level a so rejects where
    D is above the critical value sqrt(ln(2 / a) / (2 n)), 1.03e-4 at a = 1e-9 and n = 1e9. For a continuous law that is
    the limit of Kolmogorov's own value. For a law on integers D is a largest value over fewer places, so the test
    rejects the right law less often than a says, never more often: no table for continuous laws is needed.
    """
    n, m = int(seen.sum()), len(seen) // 2
    values = np.arange(-m, m + 1)
    half = law.probability_beyond(np.where(values < 0, -values - 1, values)) / 2  # P(X <= k), or P(X > k) for k >= 0
    distance = float(np.abs(np.cumsum(seen) / n - np.where(values < 0, half, 1 - half)).max())
    return float(2 * np.exp(-2 * n * distance**2))
