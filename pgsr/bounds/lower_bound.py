"""The lower bound on the error of any differentially private release, region by region."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.bounds.boxes import boxes
from pgsr.bounds.range_risk import range_risk
from pgsr.checks import as_array
from pgsr.data.counts import LARGEST_TOTAL, CountOfCounts
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import CountError
from pgsr.machine.blocks import row_blocks
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import Number


@dataclass(frozen=True, eq=False)
@read_only_arrays
class LowerBound:
    """The lower bounds of regions, and the boxes whose risks they add up; every array has shape (regions,).

    Attributes:
        emd: the bound on the mean earth mover's distance, in entities.
        boxes: how many numbers vary on their own.
        away: the largest distance of the data sets, over which the mean is, from the given counts; in entities.
    """

    emd: np.ndarray
    boxes: np.ndarray
    away: np.ndarray


def lower_bound(counts: CountOfCounts | object, budget: Number | Loss) -> LowerBound:
    """Bound the mean earth mover's distance of every private release of a region's counts, near given counts.

    A set P of data sets around the given counts has numbers k_1, k_2, ... of entities, k_b in 0..m_b, that vary on
    their own (`boxes`). With d drawn from P uniformly and c(d)[s] the groups of at most s members, any mechanism M of
    the budget has

        E sum_s |M(d)[s] - c(d)[s]|  >=  B(m_1, budget) + B(m_2, budget) + ...,      B as `range_risk`.

    So some data set of P has at least this error, not necessarily the given one; `away` says how far P goes from it.
    The bounds hold for all regions and levels at once. Of Gaussian noise only rho and (epsilon, delta) tell.
    docs/derivations/bounds.md has the proof.

    Args:
        counts: a `CountOfCounts`; or a table of shape (regions, K + 1), or one row of it, of groups by size 0..K.
        budget: the privacy loss of the whole release: a number is a pure epsilon; or an amount of privacy,
            `PureEpsilon(1)`, `Approximate(1, "1e-8")` or `Rho("1/10")`.

    Returns:
        The bounds, the numbers of boxes and the distances, by region.

    Raises:
        CountError, BudgetError: no table of whole numbers from 0 up that can be added; the budget is malformed, or 0.

    Complexity: linear in the cells, beside that of `boxes` and of the risks of some 1,300 lengths.

    Example:
        >>> row = [0, 0, 400, 300, 90, 0, 0, 1]
        >>> bound = lower_bound(row, 1)
        >>> bound.emd.round(2), bound.boxes, bound.away
        (array([3.7]), array([5]), array([163]))
        >>> from pgsr.privacy import Rho
        >>> lower_bound(row, Rho("1/2")).emd.round(2)
        array([2.45])

    Shown by `test_bounds_lower_bound.py::test_no_mechanism_is_below`, against all mechanisms on small worlds.

    Extends: the optimality of the geometric mechanism for one count (Ghosh, Roughgarden and Sundararajan 2009) to the
    earth mover's distance of counts of groups by size (Kuo et al. 2018).
    """
    found: list[list[np.ndarray]] = []
    risks = _Risks(budget)
    for block in _blocks(counts):
        chosen, n_regions = boxes(block, budget), len(block)
        away = np.zeros(n_regions, np.int64)
        np.add.at(away, chosen.region, chosen.away)
        risk = np.bincount(chosen.region, risks.of(chosen.entities), n_regions)
        found.append([risk, np.bincount(chosen.region, minlength=n_regions), away])
    return LowerBound(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


class _Risks:
    """The risks of boxes by their entities, of which there are 20,000 at most, so that blocks share one table."""

    def __init__(self, budget: Number | Loss) -> None:
        self.budget, self.known = budget, np.zeros(0)

    def of(self, entities: np.ndarray) -> np.ndarray:
        """Look up the risks of boxes, after computing those of lengths that are new; shape (boxes,)."""
        missing = max(0, int(entities.max(initial=-1)) + 1 - len(self.known))
        self.known = np.append(self.known, np.full(missing, np.nan))
        new = np.unique(entities[np.isnan(self.known[entities])])
        self.known[new] = range_risk(new, self.budget)
        return self.known[entities]


def _blocks(counts: CountOfCounts | object) -> Iterator[np.ndarray]:
    """Yield the counts of some regions after another: points of graphs take up to 450 bytes per cell that is not 0."""
    if isinstance(counts, CountOfCounts):
        tree = counts.hierarchy
        for level, k in enumerate(counts.max_sizes):
            for rows in row_blocks(tree.level(level), k + 1):
                yield counts.rows(rows.start, rows.stop)
        return
    table = np.atleast_2d(as_array(counts))
    if table.ndim != 2 or not table.size or table.dtype.kind not in "iu" or (table < 0).any():
        raise CountError("counts is no table of groups by size; give whole numbers from 0 up, a row per region")
    if table.sum(axis=1, dtype=float).max() > LARGEST_TOTAL:
        raise CountError(f"a region has more than {LARGEST_TOTAL:,} groups; give smaller counts")
    for rows in row_blocks(slice(0, len(table)), table.shape[1]):
        yield table[rows].astype(np.int64)
