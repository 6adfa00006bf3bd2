"""The network of a flow of quadratic costs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class FlowNetwork:
    """A network whose arc a carries x[a] units from start[a] to end[a], at a cost of w[a] (x[a] - y[a])^2.

        minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
        subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,   x[a] >= 0 unless free[a].

    Vertex 0 is the ground: it gives and takes whatever is left over. Other vertices are numbered against the direction
    of the arcs, so that every arc that does not start at the ground ends at a vertex of a smaller number.

    Attributes:
        start, end: vertices, int32, sorted by `start`; shape (arcs,).
        y: int64 or int32; shape (arcs,).
        w: positive, int32, or float64 where prices in real numbers are all that is asked; shape (arcs,).
        free: whether an arc may carry less than nothing, bool; shape (arcs,).
        supply: units that come in from outside, negative where they leave; int64, shape (vertices,).
        aggregate: sets of vertices whose prices tend to move together, such as those of a region; the number of each
            vertex's, int32, from 0 up in the order of the vertices. The ground is alone in number 0. Nothing but the
            speed of `relaxed_prices` depends on them.

    Example:
        >>> FlowNetwork.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2).first
        array([0, 2, 3])
    """

    start: np.ndarray
    end: np.ndarray
    y: np.ndarray
    w: np.ndarray
    free: np.ndarray
    supply: np.ndarray
    aggregate: np.ndarray

    @classmethod
    def of(
        cls,
        start: object,
        end: object,
        y: object,
        w: object,
        free: object,
        n_vertices: int,
        supply: object = 0,
        aggregate: object = None,
    ) -> "FlowNetwork":
        """Make the network of arcs that are sorted by their start; without aggregates every vertex is one by itself."""
        balances = np.broadcast_to(np.asarray(supply, np.int64), n_vertices).copy()
        ends, numbers = (_narrow(start), _narrow(end)), (_numbers(y), _narrow(w))
        together = _narrow(np.arange(n_vertices) if aggregate is None else aggregate)
        return cls(*ends, *numbers, np.ascontiguousarray(free, np.bool_), balances, together)

    @property
    def n_vertices(self) -> int:
        return len(self.supply)

    @cached_property
    def first(self) -> np.ndarray:
        """The arcs that start at vertex v are first[v] .. first[v + 1] - 1; shape (vertices + 1,)."""
        return np.searchsorted(self.start, np.arange(self.n_vertices + 1)).astype(np.int64)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers `(first, arcs)`: the arcs that end at v are arcs[first[v]] .. arcs[first[v + 1] - 1]."""
        arcs = np.argsort(self.end, kind="stable").astype(np.int32)
        first = np.concatenate([[0], np.cumsum(np.bincount(self.end, minlength=self.n_vertices))])
        return first.astype(np.int64), arcs

    @property
    def around(self) -> tuple[np.ndarray, ...]:
        """The arrays by which compiled loops find the arcs of a vertex; `exchange_kernel` has their meaning."""
        first_in, arc_in = self.ends
        return self.start, self.end, self.first, first_in, self.start[arc_in], arc_in

    @cached_property
    def coarse(self) -> "Coarse":
        """The network of the aggregates."""
        start, end = self.aggregate[self.start], self.aggregate[self.end]
        runs = np.flatnonzero(np.append(True, (start[1:] != start[:-1]) | (end[1:] != end[:-1]))[: len(start)])
        start, end = start[runs], end[runs]
        n = int(self.aggregate[-1]) + 1
        first = np.searchsorted(start, np.arange(n + 1)).astype(np.int64)
        return Coarse(self.aggregate, first, end, runs, start == end)


@dataclass(frozen=True, eq=False)
class Coarse:
    """The network of aggregates: arcs that follow each other between the same two are one.

    Attributes:
        aggregate: of the vertices.
        first: the arcs that start at aggregate g are first[g] .. first[g + 1] - 1; shape (aggregates + 1,).
        end: aggregates, int32; shape (coarse arcs,).
        runs: the first of the arcs that a coarse one stands for.
        inside: whether they start and end in one aggregate, and so conduct nothing when it moves as a whole.
    """

    aggregate: np.ndarray
    first: np.ndarray
    end: np.ndarray
    runs: np.ndarray
    inside: np.ndarray

    def conductances(self, c: np.ndarray) -> np.ndarray:
        """Add up the conductances of arcs; shape (coarse arcs,)."""
        sums = np.add.reduceat(c, self.runs) if len(self.runs) else c[:0]
        return np.where(self.inside, 0.0, sums)

    def ties(self, tie: np.ndarray) -> np.ndarray:
        """Add up what ties vertices to the ground; shape (aggregates,)."""
        return np.bincount(self.aggregate, tie)


def _narrow(values: object) -> np.ndarray:
    return np.ascontiguousarray(values, np.int32)


def _numbers(values: object) -> np.ndarray:
    array = np.asarray(values)
    return np.ascontiguousarray(array, np.int32 if array.dtype == np.int32 else np.int64)
