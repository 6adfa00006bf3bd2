"""The split view of a region's groups: cumulative counts below a threshold of sizes, ranked sizes from it on.

The groups of a region are a Young diagram: a box at (i, s) wherever the i-th largest group has more than s members. The
boxes of size s are the groups larger than s, G - Hc[s]; those of rank i are the members of the i-th largest group. So
cumulative counts add up columns of the diagram, and ranked sizes its rows. With a threshold T the columns s < T and, of
what lies beyond them, the rows are

- columns  Hc[s],                   s = 0..T-1, non-decreasing;
- rows     max(Hg[i] - T, 0),       of the m largest groups, non-decreasing as listed here.

Every box lies in one column or in one row, and one entity more is one box more. The theorem:
docs/derivations/split_view.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.data.views import View, cumulative, cumulative_of_ranks
from pgsr.errors import ProblemError
from pgsr.machine.memory import require


@dataclass(frozen=True)
class Split:
    """The view with cumulative counts of the sizes below a threshold T, and what groups have beyond T, rank by rank.

    A row of noisy values has Hc[s] for s < T first, then max(size - T, 0) of the m largest groups, smallest first; m is
    `ranks`, or the number of groups where these are fewer or `ranks` is None. Threshold 0 with all ranks is
    `View.RANKED`, and a threshold of K or more is `View.CUMULATIVE`.

    All of it is public and must not be taken from the data. From the size on at which the expected number of groups
    per size is as small as the noise, ranks are measured better. No more than m groups should be larger than T, as of
    groups of lower ranks nothing is measured beyond it.

    Args:
        threshold: T, a whole number from 0 up.
        ranks: m, a whole number from 1 up; None for all groups.

    Raises:
        ProblemError: a number is no such number.

    Example:
        >>> Split(3).on(max_size=10), Split(0).on(max_size=10), Split(10).on(max_size=10)
        (Split(3), View.RANKED, View.CUMULATIVE)
        >>> Split(3, ranks=50).n_ranks(groups=20), Split(3, ranks=50).n_ranks(groups=2_000)
        (20, 50)
    """

    threshold: int
    ranks: int | None = None

    def __post_init__(self) -> None:
        if type(self.threshold) is not int or self.threshold < 0:
            raise ProblemError(f"Split(threshold={self.threshold!r}): give a public size, a whole number from 0 up")
        if self.ranks is not None and (type(self.ranks) is not int or self.ranks < 1):
            raise ProblemError(
                f"Split(ranks={self.ranks!r}): give how many of the largest groups are measured by their ranks, a "
                "whole number from 1 up, or None for all"
            )

    def on(self, max_size: int) -> "View | Split":
        """Give the view that this is where sizes are 0..max_size: one of the plain views at either end."""
        if self.threshold >= max_size:
            return View.CUMULATIVE
        return View.RANKED if self.threshold == 0 and self.ranks is None else self

    has_a_cell_per_size = False
    """Columns have one, ranks do not."""

    mixed = True
    """Below the threshold there are cells, beyond it ranks."""

    def possible(self, max_size: int) -> "tuple[View | Split, ...]":
        """List the views that a region with sizes 0..max_size may get: one."""
        return (self.on(max_size),)

    def n_ranks(self, groups: int) -> int:
        """Count the ranks that are measured in a region with this number of groups."""
        return groups if self.ranks is None else min(self.ranks, groups)

    def ranked_from(self, max_size: int) -> int:
        """Give the size from which on groups are measured rank by rank, the threshold; max_size + 1 where none are."""
        return min(self.threshold, max_size + 1)

    def n_values(self, groups: int, max_size: int) -> int:
        """Count the values of a region with this number of groups."""
        return min(self.threshold, max_size + 1) + self.n_ranks(groups)

    def vector(self, counts: np.ndarray, total: int | None) -> np.ndarray:
        """Make a fresh array of a region's values, columns first; see `View.vector`."""
        groups = int(counts.sum())
        below = columns(counts, self.threshold)
        below = below if total is None else groups - below
        return np.concatenate([below, rows(counts, self.threshold, self.n_ranks(groups if total is None else total))])

    def parts(self, values: np.ndarray) -> Iterator[tuple[View, np.ndarray]]:
        """Yield the values that get their noise together, and the view whose stream it is drawn from.

        Columns and ranks have the streams of the whole views that they are part of, so that both ends of thresholds
        give the noise of these.
        """
        yield View.CUMULATIVE, values[: self.threshold]
        yield View.RANKED, values[self.threshold :]

    def change_by_entity(self, groups: int, quantity: int, moved: bool) -> tuple[int, ...]:
        """List the largest changes of cells by an entity; `pgsr.privacy.sensitivity.sensitivity_of` derives them."""
        cells, change = sorted((quantity, groups))
        return (change,) * (2 * cells if moved else cells)

    def change_by_group(self, max_size: int, moved: bool, replaced: bool) -> tuple[int, ...]:
        """List the largest changes of cells by a group, from `pgsr.privacy.sensitivity.sensitivity_of`."""
        del replaced
        require(16 * self.threshold, f"the change of {self.threshold:,} cumulative counts by a group", "lower it")
        times = 2 if moved else 1
        return (*(max_size - self.threshold,) * times, *(1,) * (self.threshold * times))

    def cumulative(self, values: np.ndarray, groups: int, max_size: int) -> np.ndarray:
        """Read noisy values of one region as noisy cumulative counts; int64, shape (K + 1,).

        Below the threshold they are the values; from there on, groups less the ranks that have more beyond it.

        Args:
            values: of the region.
            groups: its number of groups, public or noisy.
            max_size: K.

        Example:
            >>> Split(2).cumulative(np.array([0, 3, -1, 0, 1, 4]), groups=4, max_size=4)
            array([0, 3, 2, 3, 3])
        """
        beyond = cumulative_of_ranks(values[self.threshold :], groups, max_size - self.threshold)
        return np.concatenate([values[: self.threshold], beyond])

    @property
    def value(self) -> str:
        """The view in words."""
        return f"split at {self.threshold:,}" + ("" if self.ranks is None else f" of {self.ranks:,} ranks")

    def __repr__(self) -> str:
        ranks = "" if self.ranks is None else f", ranks={self.ranks}"
        return f"Split({self.threshold}{ranks})"


def columns(counts: np.ndarray, threshold: int) -> np.ndarray:
    """Count the groups of at most size s, for s = 0..threshold - 1; shape (threshold,).

    Example:
        >>> columns(np.array([0, 2, 1, 2]), threshold=2)
        array([0, 2])
    """
    return cumulative(counts[:threshold])


def rows(counts: np.ndarray, threshold: int, ranks: int) -> np.ndarray:
    """List what the largest groups have beyond a threshold, in increasing order; shape (ranks,).

    Missing groups count as empty ones.

    Example:
        >>> rows(np.array([0, 2, 1, 2]), threshold=2, ranks=4)
        array([0, 0, 1, 1])
    """
    beyond = counts[threshold:]
    listed = np.repeat(np.arange(len(beyond)), beyond)
    listed = listed[max(0, len(listed) - ranks) :]
    return np.concatenate([np.zeros(ranks - len(listed), np.int64), listed])
