"""The split view of a region's groups: cumulative counts below a threshold of sizes, ranked sizes from it on.

With a threshold T its values are

- columns  Hc[s],                   s = 0..T-1, non-decreasing;
- rows     max(Hg[i] - T, 0),       of all groups, non-decreasing as listed here.

One entity more changes one of them by one: docs/derivations/split_view.md, which also says where to split.
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

    Threshold 0 is `View.RANKED`, and a threshold of K or more is `View.CUMULATIVE`. The threshold is public and must
    not be taken from the data.

    Args:
        threshold: T, a whole number from 0 up.

    Raises:
        ProblemError: the threshold is no such number.

    Example:
        >>> Split(3).on(max_size=10), Split(0).on(max_size=10), Split(10).on(max_size=10)
        (Split(3), View.RANKED, View.CUMULATIVE)
    """

    threshold: int

    def __post_init__(self) -> None:
        if type(self.threshold) is not int or self.threshold < 0:
            raise ProblemError(f"Split(threshold={self.threshold!r}): give a public size, a whole number from 0 up")

    def on(self, max_size: int) -> "View | Split":
        """Give the view that this is where sizes are 0..max_size: one of the plain views at either end."""
        if self.threshold >= max_size:
            return View.CUMULATIVE
        return View.RANKED if self.threshold == 0 else self

    has_a_cell_per_size = False
    """Columns have one, ranks do not."""

    mixed = True
    """Below the threshold there are cells, beyond it ranks."""

    def possible(self, max_size: int) -> "tuple[View | Split, ...]":
        """List the views that a region with sizes 0..max_size may get: one."""
        return (self.on(max_size),)

    def ranked_from(self, max_size: int) -> int:
        """Give the size from which on groups are measured rank by rank, the threshold; max_size + 1 where none are."""
        return min(self.threshold, max_size + 1)

    def n_values(self, groups: int, max_size: int) -> int:
        """Count the values of a region with this number of groups."""
        return min(self.threshold, max_size + 1) + groups

    def vector(self, counts: np.ndarray, total: int | None) -> np.ndarray:
        """Make a fresh array of a region's values, columns first; see `View.vector`."""
        groups = int(counts.sum())
        below = cumulative(counts[: self.threshold])
        below = below if total is None else groups - below
        return np.concatenate([below, rows(counts, self.threshold, groups if total is None else total)])

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

        Example:
            >>> Split(2).cumulative(np.array([0, 3, -1, 0, 1, 4]), groups=4, max_size=4)
            array([0, 3, 2, 3, 3])
        """
        beyond = cumulative_of_ranks(values[self.threshold :], groups, max_size - self.threshold)
        return np.concatenate([values[: self.threshold], beyond])

    @property
    def value(self) -> str:
        """The view in words."""
        return f"split at {self.threshold:,}"

    def __repr__(self) -> str:
        return f"Split({self.threshold})"


def rows(counts: np.ndarray, threshold: int, groups: int) -> np.ndarray:
    """List what this number of largest groups have beyond a threshold, in increasing order; shape (groups,).

    Missing groups count as empty ones.

    Example:
        >>> rows(np.array([0, 2, 1, 2]), threshold=2, groups=4)
        array([0, 0, 1, 1])
    """
    beyond = counts[threshold:]
    listed = np.repeat(np.arange(len(beyond)), beyond)
    listed = listed[max(0, len(listed) - groups) :]
    return np.concatenate([np.zeros(groups - len(listed), np.int64), listed])
