"""The step of the dynamic program on cost tables that computes the cheapest split of every value among the children."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.methods.gate import Deadline
from pgsr.methods.method import Result

UNFINISHED = "the cost tables were not finished"
_CHECK_EVERY = 4096
_NO_SLOPE = np.iinfo(np.int64).max  # from the end of one table to the start of the next; it sorts last


@dataclass(frozen=True, eq=False)
class CostTableList:
    """A list of cost tables: table c gives the costs of the values low[c], low[c] + 1, ..., high[c].

    Attributes:
        low: shape (tables,), int64.
        start: table c is `costs[start[c] : start[c + 1]]`; shape (tables + 1,), int64.
        costs: shape (entries,), int64.
    """

    low: np.ndarray
    start: np.ndarray
    costs: np.ndarray

    @classmethod
    def of(cls, low: Sequence[int] | np.ndarray, tables: Sequence[Sequence[int] | np.ndarray]) -> "CostTableList":
        """Make the tables from one array of costs per table.

        Example:
            >>> CostTableList.of([0, 2], [[4, 1, 0], [7, 9]]).high
            array([2, 3])
        """
        start = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        return cls(np.asarray(low, np.int64), start, np.concatenate(tables).astype(np.int64))

    @classmethod
    def quadratic(cls, y: np.ndarray, w: np.ndarray, low: np.ndarray, high: np.ndarray) -> "CostTableList":
        """Make the tables of leaves, with costs w[c] (v - y[c])^2 for v = low[c]..high[c]."""
        start = np.concatenate([[0], np.cumsum(high - low + 1)])
        length = np.diff(start)
        costs = np.repeat(low - start[:-1] - y, length)
        costs += np.arange(len(costs))  # v - y; in place, because leaves are most of all tables
        costs *= costs
        costs *= np.repeat(w, length)
        return cls(low, start, costs)

    @property
    def high(self) -> np.ndarray:
        """The largest value of every table; shape (tables,)."""
        return self.low + np.diff(self.start) - 1

    def __len__(self) -> int:
        return len(self.low)

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterate over the tables; each is an array of costs."""
        return iter(np.split(self.costs, self.start[1:-1]))


@dataclass(frozen=True, eq=False)
class Combined:
    """The costs of the cheapest splits of the values low, low + 1, ..., and the splits themselves.

    Attributes:
        low: the smallest value.
        costs: phi(low), phi(low + 1), ...; shape (values,), int64.
        split: from a value to one optimal split of it, shape (tables,).
    """

    low: int
    costs: np.ndarray
    split: Callable[[int], np.ndarray]


@runtime_checkable
class Step(Protocol):
    """A way to compute phi: an object with these two methods; `pgsr.models.TableConstraints` is another."""

    def unavailable(self) -> Result | None:
        """Give the result of every solve if a package is missing, or None."""
        ...

    def combine(self, tables: CostTableList, low: int, high: int, deadline: Deadline) -> Combined:
        """Compute for every v = low..high, each of which the tables can reach,

            phi(v) = min sum_c tables[c](x[c])  subject to  sum_c x[c] = v,  x[c] in low[c]..high[c].

        Raises:
            Stopped: the deadline has passed, or the step failed; the status and the reason say which.
        """
        ...


@dataclass(frozen=True)
class SlopeMerge:
    """A step that computes phi of convex tables by one stable sort of all their slopes.

    A convex table is its first cost and its non-decreasing slopes tau(v + 1) - tau(v). The cheapest way from the
    smallest sum to a larger one takes the slopes of all tables in increasing order, so that the order of the slopes
    tells which table grows by one at each further value. Ties: the first table grows first.

    Complexity: O(entries log tables), as the sort merges runs that are sorted already.

    Extends: equation (4) of Fioretto and Van Hentenryck 2019, section 7, by one sort for all values. Shown equal to
    `SlopeGreedy` and to enumeration by `test_cost_tables.py::test_steps_equal_enumeration`; its complexity by
    counted comparisons in `test_cost_tables_operations.py::test_a_table_takes_d_log_d_comparisons`.

    Example:
        >>> georgia, michigan = [9, 4, 1, 0, 1, 4, 9], [0, 1, 4, 9, 16, 25, 36]
        >>> combined = SlopeMerge().combine(CostTableList.of([0, 0], [georgia, michigan]), 0, 8, Deadline())
        >>> combined.costs
        array([ 9,  4,  1,  0,  1,  2,  5,  8, 13])
        >>> combined.split(5)
        array([4, 1])
    """

    def unavailable(self) -> Result | None:
        return None

    def combine(self, tables: CostTableList, low: int, high: int, deadline: Deadline) -> Combined:
        deadline.check(UNFINISHED)
        first = tables.costs[tables.start[:-1]]
        slopes = np.diff(tables.costs)
        slopes[tables.start[1:-1] - 1] = _NO_SLOPE
        order = np.argsort(slopes, kind="stable")[: high - int(tables.low.sum())]
        grows = np.searchsorted(tables.start, order, side="right") - 1
        return _nested(tables.low, int(first.sum()), slopes[order], grows, low, high)


@dataclass(frozen=True)
class SlopeGreedy:
    """A step that computes phi of convex tables one value at a time, as the paper prints it.

    Every child starts at its cheapest value, where phi is the sum of the minima. From there one child at a time is
    increased, always the one whose cost rises least, and likewise decreased. Ties: the first child is increased first
    and decreased last, so that splits are those of `SlopeMerge`.

    Complexity: O(values log children) with a heap of the children's next slopes; a Python loop.

    Source: Fioretto and Van Hentenryck 2019, section 7, equation (4). Shown by
    `test_cost_tables.py::test_steps_equal_enumeration`.

    Theorem 3 of Fioretto and Van Hentenryck 2019: a table of D values takes O(D log D) operations. Shown by comparisons
    that are counted, `test_cost_tables_operations.py::test_a_table_takes_d_log_d_comparisons`.
    """

    def unavailable(self) -> Result | None:
        return None

    def combine(self, tables: CostTableList, low: int, high: int, deadline: Deadline) -> Combined:
        cheapest = np.array([int(table.argmin()) for table in tables])
        least = sum(int(table[k]) for table, k in zip(tables, cheapest, strict=True))
        at = int((tables.low + cheapest).sum())
        up, rises = _walk(tables, cheapest, +1, high - at, deadline)
        down, falls = _walk(tables, cheapest, -1, at - low, deadline)
        base = tables.low + cheapest - np.bincount(down, minlength=len(tables))
        grows = np.concatenate([down[::-1], up])
        slopes = np.concatenate([-falls[::-1], rises])
        return _nested(base, least + int(falls.sum()), slopes, grows, low, high)


def _walk(
    tables: CostTableList, begin: np.ndarray, sign: int, n_steps: int, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray]:
    """Move one child at a time by `sign`, the cheapest move first; return which child moved, and the cost of each."""
    costs = [table.tolist() for table in tables]
    position = begin.tolist()
    heap: list[tuple[int, int]] = []

    def offer(child: int) -> None:
        here, there = position[child], position[child] + sign
        if 0 <= there < len(costs[child]):
            heapq.heappush(heap, (costs[child][there] - costs[child][here], sign * child))

    for child in range(len(costs)):
        offer(child)
    moved, paid = np.zeros((2, max(0, n_steps)), np.int64)
    for step in range(n_steps):
        if step % _CHECK_EVERY == 0:
            deadline.check(UNFINISHED)
        cost, key = heapq.heappop(heap)
        child = sign * key
        position[child] += sign
        moved[step], paid[step] = child, cost
        offer(child)
    return moved, paid


def _nested(base: np.ndarray, cost: int, slopes: np.ndarray, grows: np.ndarray, low: int, high: int) -> Combined:
    """Make the splits of the values low..high that begin at `base`, where table `grows[k]` takes the next unit."""
    n_tables = len(base)
    skipped, last = low - int(base.sum()), high - int(base.sum())
    costs = cost + np.concatenate([[0], np.cumsum(slopes[:last])])
    first = base + np.bincount(grows[:skipped], minlength=n_tables)
    # A copy in the smallest type: this array is all that is kept of the table until its value is known.
    grows = grows[skipped:last].astype(np.min_scalar_type(n_tables))

    def split(value: int) -> np.ndarray:
        return first + np.bincount(grows[: value - low], minlength=n_tables)

    return Combined(low, costs[skipped:], split)
