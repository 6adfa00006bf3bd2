"""The network of all parts of a problem, and of the levels above them: arc by arc that of the whole in one part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_flow.part import FlowPart, PartPrices
from pgsr.algorithms.m_h_flow.questions import Reply
from pgsr.algorithms.m_h_flow.selection import ABOVE, GROUND, Arcs, Piece, Selection, layers
from pgsr.engines.quadratic_flow.network import FlowNetwork


@dataclass(frozen=True, eq=False)
class Upper:
    """The levels above the parts.

    Attributes:
        part: its hierarchy ends with the roots of the parts, in their order.
        selection: its cells; of the roots those that the parts have chosen.
        piece: the arcs of all levels but that of the roots.
    """

    part: FlowPart
    selection: Selection
    piece: Piece

    @classmethod
    def of(cls, part: FlowPart, replies: Sequence[Reply]) -> "Upper":
        """Choose the cells to begin with."""
        return cls._around(Selection.of(part), replies)

    @classmethod
    def _around(cls, selection: Selection, replies: Sequence[Reply]) -> "Upper":
        selection.kept[-1][:] = [reply.root for reply in replies]
        return cls(selection.part, selection, selection.piece().without_leaves())

    @property
    def n_levels(self) -> int:
        """The number of levels above the parts."""
        return self.part.hierarchy.n_levels - 1

    def around(self, replies: Sequence[Reply]) -> "Upper":
        """Take up the cells that were added to it, and those of its roots that parts have chosen now."""
        return self._around(self.selection, replies)

    def offer(self, price: np.ndarray, top: np.ndarray) -> tuple[PartPrices, int]:
        """Do the same as `Piece.offer` above the parts; the last of the prices are those at which their roots end."""
        return self.piece.offer(price, top, self.n_levels)

    def row(self, part: int) -> int:
        """Give the row of the region above the root of a part in the table of its level."""
        tree = self.part.hierarchy
        return int(tree.parent[tree.leaves.start + part]) - tree.level(self.n_levels - 1).start


@dataclass(frozen=True, eq=False)
class Joined:
    """A network of parts.

    Its vertices are the ground, the root's total if there is one, and then the layers (`Piece`): of the upper levels,
    and of all parts from the level of their roots on, part after part in every layer. So vertices and arcs have the
    same numbers as in the network of the whole in one part, and their flows are the same integers.

    Attributes:
        top: the vertex of the root's total, the ground if there is none.
        n_sizes: of the root.
        numbers: of the vertices of every piece, the upper one first if there is one; the last is that of the ground.
        flows_at: which arcs are those of a piece and layer.
    """

    network: FlowNetwork
    top: int
    n_sizes: int
    numbers: list[np.ndarray]
    flows_at: list[list[slice]]

    @classmethod
    def of(cls, upper: Upper | None, replies: Sequence[Reply], total: int | None) -> "Joined":
        """Join parts; without upper levels there is one part, the whole."""
        top, groups, supplies, begins, order = 0 if total is None else 1, [], [], [], []
        if upper is not None:
            groups.append(upper.piece.arcs)
            supplies.append(upper.piece.supply)
            begins.append(upper.piece.begins)
            order += [(layer, 0, at) for at, layer in enumerate(layers(upper.n_levels + 1, 0))]
        for piece, reply in enumerate(replies, len(groups)):
            assert reply.arcs is not None
            assert reply.supply is not None
            assert reply.begins is not None
            groups.append(reply.arcs)
            supplies.append(reply.supply)
            begins.append(reply.begins)
            first = 0 if upper is None else upper.n_levels
            order += [(layer, piece, at) for at, layer in enumerate(layers(len(reply.arcs) // 2, first))]
        order.sort()
        places = [(piece, at) for _, piece, at in order]
        numbers = _numbered(places, supplies, top + 1)
        supply, begin = (
            _in_order(places, supplies, np.zeros(top + 1, np.int64)),
            _in_order(places, begins, np.ones(top + 1, bool)),
        )
        supply[top] -= total or 0
        root = replies[0].root if upper is None else upper.piece.root
        assert root is not None
        tops = [np.full(len(root), top)]
        if upper is not None:
            tops += [numbers[0][upper.piece.numbers[-1][upper.row(part)]] for part in range(len(replies))]
        network = _network((_whole(groups[i][j], numbers[i], tops[i]) for i, j in places), supply, np.cumsum(begin) - 1)
        flows, at = [[slice(0, 0)] * len(arcs) for arcs in groups], 0
        for i, j in places:
            flows[i][j] = slice(at, at + len(groups[i][j].y))
            at = flows[i][j].stop
        return cls(network, top, len(root), numbers, flows)

    def start(self, top: float, upper: np.ndarray | None, replies: Sequence[Reply]) -> np.ndarray:
        """Take over prices: that of the root's total, those of the upper levels, and those of the parts."""
        parts = [reply.start for reply in replies if reply.start is not None]
        pieces = parts if upper is None else [upper, *parts]
        price = np.zeros(self.network.n_vertices, np.result_type(*pieces))
        price[self.top] = top
        for number, own in zip(self.numbers, pieces, strict=True):
            price[number[:-1]] = own
        return price

    def of_pieces(self, price: np.ndarray) -> list[np.ndarray]:
        """Give the prices of the vertices of every piece."""
        return [price[number[:-1]] for number in self.numbers]

    def flows(self, of_pieces: Sequence[Sequence[np.ndarray] | None]) -> np.ndarray | None:
        """Put the flows of all pieces together; None if there are none yet."""
        x = np.empty(len(self.network.y), np.int64)
        for places, flows in zip(self.flows_at, of_pieces, strict=True):
            if flows is None:
                return None
            for place, flow in zip(places, flows, strict=True):
                x[place] = flow
        return x

    def flows_of(self, piece: int, x: np.ndarray) -> list[np.ndarray]:
        """Give the flows of the arcs of a piece, per layer."""
        return [x[part] for part in self.flows_at[piece]]


def _numbered(places: Sequence[tuple[int, int]], supplies: Sequence[Sequence[np.ndarray]], n: int) -> list[np.ndarray]:
    """Number the vertices of all layers from n on."""
    numbers: list[list[np.ndarray]] = [[np.empty(0, np.int32)] * len(layers_of) for layers_of in supplies]
    for piece, layer in places:
        if layer:  # 0 is the ground
            own = supplies[piece][layer - 1]
            numbers[piece][layer - 1] = np.arange(n, n + len(own), dtype=np.int32)
            n += len(own)
    ground = np.zeros(1, np.int32)
    return [np.concatenate([*piece, ground]) for piece in numbers]


def _in_order(
    places: Sequence[tuple[int, int]], of_layers: Sequence[Sequence[np.ndarray]], before: np.ndarray
) -> np.ndarray:
    """Put what is known of the vertices of all layers in their order, after the ground and the root's total."""
    return np.concatenate([before, *(of_layers[piece][layer - 1] for piece, layer in places if layer)])


def _network(parts: Iterable[Arcs], supply: np.ndarray, aggregate: np.ndarray) -> FlowNetwork:
    columns = zip(*((arcs.start, arcs.end, arcs.y, arcs.w, arcs.free) for arcs in parts), strict=True)
    arrays = map(np.concatenate, columns)
    return FlowNetwork.of(*arrays, n_vertices=len(supply), supply=supply, aggregate=aggregate)


def _whole(arcs: Arcs, number: np.ndarray, tops: np.ndarray) -> Arcs:
    """Give arcs the numbers of their vertices in the whole network."""
    end, above = number[np.maximum(arcs.end, GROUND)], arcs.end <= ABOVE
    end[above] = tops[ABOVE - arcs.end[above]]
    return Arcs(number[arcs.start], end, arcs.y, arcs.w, arcs.free)
