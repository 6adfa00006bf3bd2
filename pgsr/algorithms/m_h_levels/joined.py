"""The network of all parts of a problem, and of the levels above them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_levels.parts import Question, Reply
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.selection import ABOVE, GROUND, Arcs, Piece, Selection
from pgsr.quadratic_flow import Network


@dataclass(frozen=True, eq=False)
class Upper:
    """The levels above the parts, all cells of which are in the network.

    Attributes:
        problem: its hierarchy ends with the roots of the parts, in their order; their table is not looked at.
        piece: the arcs of all levels but that of the roots.
    """

    problem: LevelProblem
    piece: Piece

    @classmethod
    def of(cls, problem: LevelProblem) -> "Upper":
        everything = Selection.empty(problem)
        for kept in everything.kept:
            kept[:] = True
        return cls(problem, everything.piece())

    def ends(self, part: int) -> np.ndarray:
        """Give the numbers at which the cells of the root of a part end."""
        tree, above = self.problem.hierarchy, self.problem.hierarchy.n_levels - 2
        return self.piece.numbers[above][tree.parent[tree.leaves.start + part] - tree.level(above).start]


@dataclass(frozen=True, eq=False)
class Joined:
    """A network of parts.

    Its vertices are the ground, the root's total if there is one, the upper levels', then those of part after part.

    Attributes:
        offsets: what the numbers of the vertices of every piece, the upper one first, are shifted by.
        tops: the vertices at which the root of every piece ends, shape (K of its root + 1,) each.
        flows: which arcs are those of a piece and level.
    """

    network: Network
    offsets: list[int]
    tops: list[np.ndarray]
    flows: list[list[slice]]

    @classmethod
    def of(cls, upper: Upper | None, replies: Sequence[Reply], total: int | None, n_sizes: int) -> "Joined":
        """Join parts; without upper levels there is one part, the whole. The root has `n_sizes` sizes."""
        top = 0 if total is None else 1
        supplies, offsets = [np.zeros(top + 1, np.int64)], [top + 1]
        if total is not None:
            supplies[0][top] = -total
        levels: list[list[Arcs]] = []
        if upper is not None:
            supplies.append(upper.piece.supply)
            levels.append(upper.piece.arcs[:-1])
        for reply in replies:
            assert reply.arcs is not None
            assert reply.supply is not None
            supplies.append(reply.supply)
            levels.append(reply.arcs)
        for supply in supplies[1:-1]:
            offsets.append(offsets[-1] + len(supply))
        tops = []
        for index in range(len(levels)):
            tops.append(np.full(n_sizes, top) if upper is None or not index else upper.ends(index - 1) + offsets[0])
        order, supply = _order(levels), np.concatenate(supplies)
        network = _network((_numbered(levels[i][j], offsets[i], tops[i]) for i, j in order), supply)
        flows, at = [[slice(0, 0)] * len(arcs) for arcs in levels], 0
        for i, j in order:
            flows[i][j] = slice(at, at + len(levels[i][j].y))
            at = flows[i][j].stop
        return cls(network, offsets, tops, flows)

    def start(self, replies: Sequence[Reply], before: np.ndarray | None) -> np.ndarray:
        """Take over prices: of the vertices above all parts from `before`, of parts from themselves."""
        n_shared = self.offsets[len(self.offsets) - len(replies)]
        shared = np.zeros(n_shared) if before is None else before[:n_shared]
        return np.concatenate([shared, *(reply.start for reply in replies if reply.start is not None)])

    def questions(
        self, keys: Sequence[object], replies: Sequence[Reply], price: np.ndarray, x: np.ndarray | None = None
    ) -> Iterator[Question]:
        """Ask every part about its prices and, if there are integers, its flows."""
        first = len(self.offsets) - len(keys)
        for i, (key, reply, own) in enumerate(zip(keys, replies, self.own(price, len(keys)), strict=True), first):
            flows = None if x is None else [x[part] for part in self.flows[i]]
            yield Question(key, reply.kept, own, price[self.tops[i]], flows)

    def own(self, price: np.ndarray, n_parts: int) -> list[np.ndarray]:
        """Give the prices of the vertices of every part."""
        stops = [*self.offsets[1:], self.network.n_vertices]
        pieces = [price[start:stop] for start, stop in zip(self.offsets, stops, strict=True)]
        return pieces[len(pieces) - n_parts :]


def _network(parts: Iterable[Arcs], supply: np.ndarray) -> Network:
    columns = zip(*((arcs.start, arcs.end, arcs.y, arcs.w, arcs.free) for arcs in parts), strict=True)
    return Network.of(*map(np.concatenate, columns), n_vertices=len(supply), supply=supply)


def _order(levels: list[list[Arcs]]) -> list[tuple[int, int]]:
    """Order arcs by their start: those from the ground first, then piece by piece and level by level."""
    all_of = [(i, j) for i, arcs in enumerate(levels) for j in range(len(arcs))]
    grounded = [(i, j) for i, j in all_of if len(levels[i][j].start) and levels[i][j].start[0] == GROUND]
    return grounded + [pair for pair in all_of if pair not in set(grounded)]


def _numbered(arcs: Arcs, offset: int, tops: np.ndarray) -> Arcs:
    """Number the vertices of the whole network."""
    start = np.where(arcs.start < 0, 0, arcs.start + np.int32(offset)).astype(np.int32)
    above = arcs.end <= ABOVE
    end = arcs.end + np.int32(offset)
    end[above] = tops[ABOVE - arcs.end[above]]
    return Arcs(start, end, arcs.y, arcs.w, arcs.free)
