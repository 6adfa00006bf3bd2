"""The network of a flow of quadratic costs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Network:
    """A network whose arc a carries x[a] units from start[a] to end[a], at a cost of w[a] (x[a] - y[a])^2.

        minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
        subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,   x[a] >= 0 unless free[a].

    Vertex 0 is the ground: it gives and takes whatever is left over. Other vertices are numbered against the direction
    of the arcs, so that every arc that does not start at the ground ends at a vertex of a smaller number.

    Attributes:
        start, end: vertices, int32, sorted by `start`; shape (arcs,).
        y: int64; shape (arcs,).
        w: positive, int64; shape (arcs,).
        free: whether an arc may carry less than nothing, bool; shape (arcs,).
        supply: units that come in from outside, negative where they leave; int64, shape (vertices,).

    Example:
        >>> Network.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2).first
        array([0, 2, 3])
    """

    start: np.ndarray
    end: np.ndarray
    y: np.ndarray
    w: np.ndarray
    free: np.ndarray
    supply: np.ndarray

    @classmethod
    def of(
        cls, start: object, end: object, y: object, w: object, free: object, n_vertices: int, supply: object = 0
    ) -> "Network":
        """Make the network of arcs that are sorted by their start."""
        vertices = _as(np.int32, start), _as(np.int32, end)
        balances = np.broadcast_to(np.asarray(supply, np.int64), n_vertices).copy()
        return cls(*vertices, _as(np.int64, y), _as(np.int64, w), _as(np.bool_, free), balances)

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


def _as(kind: type, values: object) -> np.ndarray:
    return np.ascontiguousarray(values, kind)
