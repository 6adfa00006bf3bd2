"""The network of M_H with other sizes on every level: cells are arcs, sums are vertices."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.counts_by_level import CountsByLevel
from pgsr.quadratic_flow import FREE, Network

GROUND = 0


@dataclass(frozen=True, eq=False)
class Vertices:
    """The numbers of the vertices of a problem.

    An inner region whose children have sizes 0..k has a vertex per size s < k, which says that its count is its
    children's, and one for all its sizes from k on, which says it of the tail. Cell (r, s) is an arc from the vertex of
    r that it counts for to the vertex of r's parent. Above the root lies the root's total, if there is one, and below
    each leaf the leaf's; where there is none, the ground.

    Attributes:
        top: where the root's cells end; the ground, or vertex 1 with a public total of the root.
        inner: numbers by level with children, shape (regions of the level, K of the level below + 1) each.
        leaves: where the cells of every leaf start, shape (leaves,).
        n: of vertices, the ground included.
    """

    top: int
    inner: tuple[np.ndarray, ...]
    leaves: np.ndarray
    n: int

    @classmethod
    def of(cls, problem: LevelProblem) -> "Vertices":
        top = GROUND if problem.total is None else 1
        n, inner = top + 1, []
        for table, below in zip(problem.noisy.tables, problem.noisy.tables[1:], strict=False):
            shape = len(table), below.shape[1]
            inner.append(n + np.arange(shape[0] * shape[1]).reshape(shape))
            n += shape[0] * shape[1]
        n_leaves = len(problem.noisy.tables[-1])
        if problem.totals is None:
            return cls(top, tuple(inner), np.full(n_leaves, GROUND), n)
        return cls(top, tuple(inner), n + np.arange(n_leaves), n + n_leaves)

    def levels(self, problem: LevelProblem) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the vertices at which the cells of every level start and end, both of the shape of its table."""
        tree = problem.hierarchy
        for level, table in enumerate(problem.noisy.tables):
            here = tree.level(level)
            if level < tree.n_levels - 1:
                own = self.inner[level]
                start = own[:, np.minimum(np.arange(table.shape[1]), own.shape[1] - 1)]
            else:
                start = np.broadcast_to(self.leaves[:, None], table.shape)
            if level == 0:
                end = np.full(table.shape, self.top)
            else:
                end = self.inner[level - 1][tree.parent[here] - tree.level(level - 1).start]
            yield start, end


def network_of(problem: LevelProblem) -> tuple[Network, np.ndarray]:
    """Make the network of a problem; its arcs are the cells in the order that is given besides, shape (cells,).

    A cell that is alone at its start is the sum of its children's and needs no bound of its own.
    """
    vertices, tree = Vertices.of(problem), problem.hierarchy
    starts, ends, lowers, weights = [], [], [], []
    for level, (start, end) in enumerate(vertices.levels(problem)):
        lower = np.zeros(start.shape, np.int64)
        if level < tree.n_levels - 1:
            k = vertices.inner[level].shape[1] - 1
            lower[:, : start.shape[1] if start.shape[1] == k + 1 else k] = FREE
        starts.append(start.ravel())
        ends.append(end.ravel())
        lowers.append(lower.ravel())
        weights.append(np.repeat(problem.w[tree.level(level)], start.shape[1]))
    start = np.concatenate(starts)
    order = np.argsort(start, kind="stable")
    supply = np.zeros(vertices.n, np.int64)
    if problem.total is not None:
        supply[vertices.top] = -problem.total
    if problem.totals is not None:
        supply[vertices.leaves] = problem.totals
    y = np.concatenate([table.ravel() for table in problem.noisy.tables])
    end, w, lower = map(np.concatenate, (ends, weights, lowers))
    return Network.of(start[order], end[order], y[order], w[order], lower[order], vertices.n, supply), order


def counts_of(problem: LevelProblem, x: np.ndarray, order: np.ndarray) -> CountsByLevel:
    """Put the flow of every arc back into its cell."""
    cells = np.empty_like(x)
    cells[order] = x
    shapes = [table.shape for table in problem.noisy.tables]
    stops = np.cumsum([rows * columns for rows, columns in shapes])
    parts = np.split(cells, stops[:-1])
    return CountsByLevel(
        problem.hierarchy, tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    )
