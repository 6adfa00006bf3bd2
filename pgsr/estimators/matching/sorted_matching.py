"""The least-cost matchings of a parent's groups to its children's: the interface of matchers, and the sorted one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.algorithms.groups import GroupRuns
from pgsr.errors import MethodError, ProblemError
from pgsr.methods.method import Status


@runtime_checkable
class Matcher(Protocol):
    """A way to find a least-cost perfect matching: `SortedMatching()`, or a solver model of `models/`."""

    def supports(self, n_groups: int) -> str | None:
        """Give the reason why this many groups cannot be matched, or None; asked before any budget is spent."""
        ...

    def match(self, parent: GroupRuns, children: Sequence[GroupRuns], time_limit: float | None = None) -> "Match":
        """Find the matching, with its cost; arguments and answer are those of `match_groups`.

        Raises:
            ProblemError: the children have more or fewer groups than the parent.
            NoMatchError: there is no answer; its status and message say why.
        """
        ...


@dataclass(frozen=True)
class SortedMatching:
    """The matcher that calls `match_groups`, which needs no solver and has no size limit.

    Example:
        >>> parent, child = GroupRuns(np.array([2]), np.array([5])), GroupRuns(np.array([4]), np.array([5]))
        >>> SortedMatching().match(parent, [child]).cost
        10
    """

    def supports(self, n_groups: int) -> str | None:
        del n_groups
        return None

    def match(self, parent: GroupRuns, children: Sequence[GroupRuns], time_limit: float | None = None) -> "Match":
        del time_limit
        return match_groups(parent, children)


class NoMatchError(MethodError):
    """An error of a matcher that has no answer; `status` is the status of the result that needed it."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True, eq=False)
class Match:
    """A matching: `count[i]` groups of the parent's run `top[i]` with run `bottom[i]` below it, of child `child[i]`.

    `bottom` counts the children's runs one child after the other; entries are sorted by child.
    """

    top: np.ndarray
    bottom: np.ndarray
    child: np.ndarray
    count: np.ndarray
    cost: int

    @classmethod
    def of(
        cls, parent: GroupRuns, children: Sequence[GroupRuns], top: np.ndarray, bottom: np.ndarray, count: np.ndarray
    ) -> "Match":
        """Make a matching from entries in any order; the children and the cost are looked up."""
        owner, size, _ = runs_below(parent, children)
        apart = np.abs(parent.size[top] - size[bottom])  # times counts in two halves, which no product leaves 64 bits
        cost = (int((apart * (count >> 32)).sum()) << 32) + int((apart * (count & 0xFFFFFFFF)).sum())
        by_child = np.argsort(owner[bottom], kind="stable")
        return cls(top[by_child], bottom[by_child], owner[bottom][by_child], count[by_child], cost)


def match_groups(parent: GroupRuns, children: Sequence[GroupRuns]) -> Match:
    """Find a least-cost perfect matching of a parent's groups to its children's.

        minimise  sum over matched pairs of |size in the parent - size in the child|,

    which for sizes on a line is the sorted matching: its cost is the earth mover's distance between the parent and the
    sum of its children. Where one size of the parent must be shared, children get shares in proportion to their groups
    of the size at hand.

    Complexity: O(runs log runs + splits x children).

    Raises:
        ProblemError: the children have more or fewer groups than the parent.

    Example:
        >>> parent = GroupRuns(np.array([1, 2]), np.array([300, 100]))
        >>> children = [GroupRuns(np.array([1]), np.array([200])), GroupRuns(np.array([1]), np.array([200]))]
        >>> match = match_groups(parent, children)
        >>> match.count, match.cost
        (array([150,  50, 150,  50]), 100)

    Source: Kuo et al. 2018, algorithm 2.
    """
    from pgsr.estimators.matching.kernel import match_runs

    _, size, count = runs_below(parent, children)
    order = np.argsort(size, kind="stable")
    top, place, matched = match_runs(parent.count, size[order], count[order])
    return Match.of(parent, children, top, order[place], matched)


def runs_below(parent: GroupRuns, children: Sequence[GroupRuns]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the runs of all children, one child after the other: child, size, count; shape (runs,) each.

    Raises:
        ProblemError: the children have more or fewer groups than the parent.
    """
    owner = np.repeat(np.arange(len(children)), [len(child.size) for child in children])
    size = np.concatenate([child.size for child in children])
    count = np.concatenate([child.count for child in children])
    if count.sum() != parent.total:
        raise ProblemError(f"{parent.total:,} groups cannot be matched to {int(count.sum()):,}; totals must add up")
    return owner, size, count
