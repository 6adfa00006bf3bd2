"""Counts of groups by what they have beyond a public least size, and back.

Where it is public that no group has fewer than m members (`Terms.min_size`), a release is made of the **excess** of
every group, its members beyond m, instead of its size:

    excess(g) = min(max(size(g), m), K) - m,   from 0 to K - m.

The mechanism sees counts by excess and nothing else, so that its noise, its post-processing, certificates, intervals
and checks are those of a release with the largest size K - m. The published tables name sizes again, excess + m, and
hold no group at the sizes below m. So these zeros are exact for every mechanism, and nothing is spent on them.

**Privacy.** The private rows may contradict the public fact, and nothing may tell whether they do. They are counted all
the same: a group with fewer members than m counts as m, as one with more than K counts as K. Moving a size to the
nearest one of m..K never moves two sizes apart (it is non-expansive), so whatever changes the size of a group by at
most q changes its excess by at most q, and a group that is not touched keeps its excess. The counts by excess of
neighbouring data sets therefore differ by no more than counts by size 0..K - m of neighbours do, and the sensitivities
of these hold (`pgsr.privacy.sensitivity`). With noisy totals a group that comes with its first entity has an excess of
at most q, too. Enumerated for small worlds by `test_release_min_size.py::test_every_neighbour`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.data.counts import CountOfCounts
from pgsr.machine.blocks import row_blocks


def excess_counts(truth: CountOfCounts, min_size: int) -> CountOfCounts:
    """Count groups by their members beyond `min_size`; groups with fewer members count as `min_size`.

    Args:
        truth: counts by size, 0..K.
        min_size: m, below K of every level.

    Returns:
        counts by excess, 0..K - m.

    Example:
        >>> from pgsr.data.hierarchy import Hierarchy
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA"], [-1, 0]), [[1, 2, 0, 4]])
        >>> excess_counts(truth, 1).counts[1]
        array([3, 0, 4])
    """
    if not min_size:
        return truth
    return _mapped(truth, lambda table: _merged(table, min_size))


def with_sizes_below(table: np.ndarray, min_size: int) -> np.ndarray:
    """Put a column of zeros before a table for every size below `min_size`.

    Args:
        table: by excess, shape (..., K - m + 1).
        min_size: m.

    Returns:
        the same by size, shape (..., K + 1).

    Example:
        >>> with_sizes_below(np.array([[3, 0, 4]]), 1)
        array([[0, 3, 0, 4]])
    """
    return np.pad(table, [(0, 0)] * (table.ndim - 1) + [(min_size, 0)]) if min_size else table


def counts_by_size(counts: CountOfCounts, min_size: int) -> CountOfCounts:
    """Name the sizes of counts by excess again: `excess_counts` backwards, where no group is smaller."""
    if not min_size:
        return counts
    return _mapped(counts, lambda table: with_sizes_below(table, min_size))


def _mapped(counts: CountOfCounts, change: Callable[[np.ndarray], np.ndarray]) -> CountOfCounts:
    """Change the columns of all tables; a sparse table is read in blocks and stays sparse."""
    about: dict[str, Any] = {"max_quantity": counts.max_quantity, "private_groups": counts.private_groups}
    if not counts.sizes.equal:
        return CountOfCounts(counts.hierarchy, tuple(map(change, counts.tables)), counts.name, **about)
    if counts.is_sparse:
        blocks = row_blocks(slice(0, counts.hierarchy.n_regions), counts.max_size + 1)
        changed = [sparse.csr_array(change(counts.rows(rows.start, rows.stop))) for rows in blocks]
        return CountOfCounts(counts.hierarchy, sparse.csr_array(sparse.vstack(changed)), counts.name, **about)
    return CountOfCounts(counts.hierarchy, change(counts.counts), counts.name, **about)


def _merged(table: np.ndarray, min_size: int) -> np.ndarray:
    """Put the columns below `min_size` into its own."""
    found = np.array(table[:, min_size:], np.int64)
    found[:, 0] += table[:, :min_size].sum(axis=1)
    return found
