"""The lower bound on the error of any epsilon-DP release, region by region."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.bounds.coordinates import coordinates
from pgsr.bounds.range_risk import range_risk
from pgsr.checks import as_array
from pgsr.data.counts import CountOfCounts
from pgsr.errors import CountError
from pgsr.privacy.budget import Number

_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class LowerBound:
    """The lower bounds of regions, and the coordinates that they add up; every array has shape (regions,).

    Attributes:
        emd: the bound on the mean earth mover's distance, in entities.
        cumulative: how many cumulative counts vary.
        ranked: how many groups vary in size.
    """

    emd: np.ndarray
    cumulative: np.ndarray
    ranked: np.ndarray

    @property
    def coordinates(self) -> np.ndarray:
        """The number of coordinates, of both kinds."""
        return self.cumulative + self.ranked


def lower_bound(counts: CountOfCounts | object, epsilon: Number) -> LowerBound:
    """Bound the mean earth mover's distance of every epsilon-DP release of a region's counts, near given counts.

    Let D be the data sets with the region's number of groups, and c[s] how many of these have at most s members. For
    every region a product P of ranges is chosen inside D, and with k drawn from P uniformly, of any mechanism M

        E sum_s |M(k)[s] - c(k)[s]|  >=  sum over the coordinates of P of B(length, epsilon),

    if P(M(k) in S) <= exp(epsilon) P(M(k') in S) whenever k' has one entity more or less than k; B is `range_risk`.
    So some data set of P has at least this error. `coordinates` says what P is: every group has a size between the next
    smaller and the next larger one that occur in the given counts. The mean is over P, not over the given counts: a
    mechanism that always answers these has no error there.

    All of epsilon is granted to each region alone. As one entity lies in one region of a level, the bounds hold for all
    regions at once, whatever is spent on other levels. Relations under which more data sets are neighbours (entities in
    several groups, with larger quantities, or private numbers of groups) allow fewer mechanisms, so they hold there,
    too. They do not hold for Gaussian noise, which is not epsilon-DP.

    Args:
        counts: a `CountOfCounts`; or a table of shape (regions, K + 1), or one row of it, of groups by size 0..K.
        epsilon: the privacy loss of the whole release.

    Returns:
        The bounds and the numbers of coordinates, by region.

    Raises:
        CountError: the table is not one of non-negative whole numbers.
        BudgetError: epsilon is malformed.

    Complexity: linear in the cells, beside log(1 / epsilon) / epsilon for every distinct range.

    Example:
        >>> bound = lower_bound([0, 0, 400, 300, 90, 0, 0, 1], epsilon=1)
        >>> bound.emd.round(2), bound.cumulative, bound.ranked
        (array([3.8]), array([4]), array([1]))

    Shown by `tests/test_bounds_lower_bound.py::test_no_mechanism_is_below`, against all mechanisms on small worlds.

    Extends: the optimality of the geometric mechanism for one count (Ghosh, Roughgarden and Sundararajan 2009) to the
    earth mover's distance of counts of groups by size (Kuo et al. 2018).
    """
    found: list[list[np.ndarray]] = []
    for block in _blocks(counts):
        chosen = coordinates(block, epsilon)
        risk = range_risk(chosen.high - chosen.low, epsilon)
        n_regions, ranked = len(block), ~chosen.cumulative
        found.append(
            [
                np.bincount(chosen.region, risk, n_regions),
                np.bincount(chosen.region[chosen.cumulative], minlength=n_regions),
                np.bincount(chosen.region[ranked], minlength=n_regions),
            ]
        )
    return LowerBound(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _blocks(counts: CountOfCounts | object) -> Iterator[np.ndarray]:
    """Yield the counts of some regions after another."""
    if isinstance(counts, CountOfCounts):
        tree = counts.hierarchy
        for level, k in enumerate(counts.max_sizes):
            here, step = tree.level(level), max(1, _CELLS // (k + 1))
            for start in range(here.start, here.stop, step):
                yield counts.rows(start, min(start + step, here.stop))
        return
    table = np.atleast_2d(as_array(counts))
    if table.ndim != 2 or not table.size or table.dtype.kind not in "iu" or (table < 0).any():
        raise CountError("counts is no table of groups by size; give whole numbers from 0 up, a row per region")
    yield table.astype(np.int64)
