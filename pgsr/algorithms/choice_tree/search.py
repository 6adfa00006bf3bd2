"""The tree over the alternatives of choices, best first, whatever solves its nodes."""

import heapq
import math
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

import numpy as np

from pgsr.methods.gate import Deadline
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.tolerances import CONDITION, PROVED_GAP, RELATIVE

MOST = 2**14
"""The number of nodes after which a search ends where nothing else is asked for."""

UNDECIDED = -1

_KEPT_BYTES = 2**28
"""The memory of the starts that waiting nodes keep; others start from the root's."""

_DIVES = 16
"""The search follows each so manieth node down to where all choices hold, and every one until a point is known."""

Decided = tuple[int, ...]
"""The number of the alternative that holds of every choice, counted within the choice, or UNDECIDED."""


@dataclass(frozen=True, eq=False)
class Found:
    """The facts that are proved of a node.

    Attributes:
        bound: no point of the node is nearer.
        cells: a point that is near, in which a choice to decide is looked for; None where none was found.
        value: its distance, if it keeps all conditions of the node, equal to the bound where it is proved the nearest.
        start: what a child of the node starts from.
    """

    bound: int | float
    cells: np.ndarray | None
    value: int | float | None
    start: Any


class Nodes(Protocol):
    """The solver of nodes."""

    @property
    def choices(self) -> Choices:
        """The choices of the problem."""
        ...

    @property
    def whole(self) -> bool:
        """Whether all points are integers, so that nothing is compared with a tolerance."""
        ...

    @property
    def start_bytes(self) -> int:
        """The memory of a node's start."""
        ...

    def solved(self, decided: Decided, above: Found | None, deadline: Deadline) -> Found | None:
        """Solve a node, from the facts of the one above if there is one; None says that no point is in the node."""
        ...


@dataclass(frozen=True, eq=False)
class Searched:
    """The facts that a search proved.

    Attributes:
        bound: no point with a choice of alternatives is nearer; infinity where there is none.
        best: the best point that was found, or None.
        n_solved: the number of nodes that were solved.
        complete: whether the search came to its end, and not to a limit.
    """

    bound: int | float
    best: Found | None
    n_solved: int
    complete: bool


def best_first(nodes: Nodes, most: int, deadline: Deadline, upto: int | float | None = None) -> Searched:
    """Search the tree.

    Args:
        nodes: what solves a node.
        most: number of nodes after which the search ends.
        deadline: after which it ends, too.
        upto: a distance; nodes that promise nothing below it are left out.
    """
    search = _Search(nodes, most, deadline, math.inf if upto is None else upto)
    return search.run()


_Waiting = tuple[int | float, int, int, Decided, int, Found]
"""A node that may be branched: its bound, its depth, negative, its number, what is decided, the choice to decide next,
and what was found of it. Nodes of the least bound come first, and of these the deepest."""


@dataclass(eq=False)
class _Search:
    nodes: Nodes
    most: int
    deadline: Deadline
    limit: int | float
    best: Found | None = None
    floor: int | float = math.inf
    """The least bound of nodes that are done with."""
    n_solved: int = 0
    waiting: list[_Waiting] = field(default_factory=list)
    root: Found | None = None

    def run(self) -> Searched:
        first = self.looked_at((UNDECIDED,) * len(self.nodes.choices), None)
        self.waiting += [] if first is None else [first]
        for turn in count(1):
            if not self.waiting or not self.promises(self.waiting[0][0]):
                break
            node = heapq.heappop(self.waiting)
            dives = turn % _DIVES == 0 or (self.best is None and math.isinf(self.limit))
            while node is not None:
                if self.n_solved >= self.most or self.deadline.passed:
                    heapq.heappush(self.waiting, node)
                    return self.outcome(complete=False)
                children = self.children(node)
                node = children.pop(0) if dives and children else None
                for child in children:
                    heapq.heappush(self.waiting, child)
        return self.outcome(complete=True)

    def children(self, node: _Waiting) -> list[_Waiting]:
        """Decide the choice of a node in every way; those that promise something, the best first."""
        _, _, _, decided, choice, found = node
        every = range(int((self.nodes.choices.choice == choice).sum()))
        made = (self.looked_at((*decided[:choice], one, *decided[choice + 1 :]), found) for one in every)
        return sorted(child for child in made if child is not None)

    def looked_at(self, decided: Decided, above: Found | None) -> _Waiting | None:
        """Solve a node; returns it if there is something to decide in it that may lead to a better point."""
        self.n_solved += 1
        solution = self.nodes.solved(decided, above, self.deadline)
        if self.root is None:
            self.root = solution
        if solution is None:
            return None
        choice = self.to_decide(decided, solution)
        if choice is None:
            self.floor = min(self.floor, solution.bound)
            if solution.value is not None and solution.value < (
                math.inf if self.best is None else self.best.value or 0
            ):
                self.best = solution
            return None
        if not self.promises(solution.bound):
            self.floor = min(self.floor, solution.bound)
            return None
        if len(self.waiting) * self.nodes.start_bytes > _KEPT_BYTES and self.root is not None:
            solution = replace(solution, start=self.root.start)
        depth = len(decided) - decided.count(UNDECIDED)
        return solution.bound, -depth, self.n_solved, decided, choice, replace(solution, cells=None)

    def to_decide(self, decided: Decided, solution: Found) -> int | None:
        """Choose what the point of a node breaks most, of what is not decided; None where all choices hold, or are."""
        open_ones = np.array(decided) == UNDECIDED
        if solution.cells is None:
            return int(np.argmax(open_ones)) if open_ones.any() else None
        missed = np.where(open_ones, missed_by(self.nodes.choices, solution.cells), 0.0)
        near, relative = (0.0, 0.0) if self.nodes.whole else (CONDITION, RELATIVE)
        broken = self.nodes.choices.broken(solution.cells, near, relative) & open_ones
        return int(np.argmax(np.where(broken, missed + 1.0, 0.0))) if broken.any() else None

    def promises(self, bound: int | float) -> bool:
        """Say whether a point at this distance would be better than what is known."""
        return bound < self.known if self.nodes.whole else bound < self.known - PROVED_GAP * max(1.0, bound)

    @property
    def known(self) -> int | float:
        """The distance that points have to be below."""
        return self.limit if self.best is None or self.best.value is None else min(self.limit, self.best.value)

    def outcome(self, complete: bool) -> Searched:
        bounds = [self.floor, self.known, *(node[0] for node in self.waiting[:1])]
        return Searched(min(bounds), self.best, self.n_solved, complete)


def missed_by(choices: Choices, cells: np.ndarray) -> np.ndarray:
    """Compute by how much a point misses the nearest alternative of every choice; shape (choices,)."""
    have = choices.rows @ cells.ravel()
    under = np.where(choices.lower > -UNBOUNDED, choices.lower - have, 0)
    over = np.where(choices.upper < UNBOUNDED, have - choices.upper, 0)
    worst = np.zeros(len(choices.choice))
    np.maximum.at(worst, choices.alternative, np.maximum(under, over))
    return np.minimum.reduceat(worst, np.searchsorted(choices.choice, np.arange(len(choices))))
