"""The questions to the parts that lie below regions of one level, each looked at on its own.

What is asked of a part are functions without a state, so that they can run anywhere: a part is read, asked, and
forgotten. What travels are the arcs of the cells that are worth looking at, and prices; noisy tables stay.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pgsr.algorithms.m_h_flow.part import FlowPart, PartPrices
from pgsr.algorithms.m_h_flow.selection import Arcs, Piece, Selection

Key = Any
"""What a part is called."""


class Parts(Protocol):
    """The place of parts and of their answers. It must be possible to pickle it where parts run elsewhere."""

    def read(self, key: Key) -> FlowPart:
        """Give the part: the region of this key and what lies below it."""
        ...

    def keep(self, key: Key, part: FlowPart, counts: tuple[np.ndarray, ...], prices: PartPrices) -> Any:
        """Take the answer of a part, and give the outcome that `solution.Solved` is to hold, which is not None.

        Where it is called again the last call counts.
        """
        ...


@dataclass(frozen=True, eq=False)
class Reply:
    """The facts of a part that its answer to a question tells.

    Attributes:
        kept: its selection, as bits.
        arcs: of the selection, per layer (`Piece`); None where nothing has changed.
        supply: of the vertices, per layer; None where nothing has changed.
        begins: whether a vertex is its region's first one, per layer; None where nothing has changed.
        start: prices of the vertices to start from, shape (vertices,); None where nothing has changed.
        flows: of the arcs, per layer, to start from; None before there are integers.
        root: whether a cell of its root was chosen, shape (K of the root + 1,); None where nothing has changed.
        noisy: the counts of its root that are to be approached, shape (K of the root + 1,); from `begin` alone.
        added: number of cells that were added to the selection.
        outcome: what `Parts.keep` gave for the answer, where one was asked for and no cell was added.
    """

    kept: tuple[np.ndarray, ...]
    arcs: list[Arcs] | None = None
    supply: list[np.ndarray] | None = None
    begins: list[np.ndarray] | None = None
    start: np.ndarray | None = None
    flows: list[np.ndarray] | None = None
    root: np.ndarray | None = None
    noisy: np.ndarray | None = None
    added: int = 0
    outcome: Any = None


@dataclass(frozen=True, eq=False)
class PartQuestion:
    """The question that is put to a part.

    Attributes:
        price: of its vertices, shape (vertices,).
        top: where the cells of its root end, shape (K of the root + 1,).
        flows: of its arcs, per layer; None before there are integers.
    """

    key: Key
    kept: tuple[np.ndarray, ...]
    price: np.ndarray
    top: np.ndarray
    flows: list[np.ndarray] | None


def begin(parts: Parts, key: Key) -> Reply:
    """Choose the cells to begin with."""
    part = parts.read(key)
    return replace(_reply(Selection.of(part).piece(), None), noisy=part.tables[0][0])


def improve(parts: Parts, question: PartQuestion) -> Reply:
    """Add the cells that are worth a unit; if there are none and there are integers, have them kept."""
    part = parts.read(question.key)
    selection = _unpacked(part, question.kept)
    piece = selection.piece()
    prices, added = piece.offer(question.price, question.top)
    if added:
        wider = selection.piece()
        flows = None if question.flows is None else wider.flows(piece.counts(question.flows))
        return replace(_reply(wider, prices), flows=flows, added=added)
    if question.flows is None:
        return Reply(question.kept)
    counts = piece.counts(question.flows)
    del piece, selection
    return Reply(question.kept, outcome=parts.keep(question.key, part, counts, prices))


def _reply(piece: Piece, prices: PartPrices | None) -> Reply:
    """Make the reply of a part with this selection: its network, and prices to start from, 0 where none are known."""
    start = np.zeros(piece.n_vertices) if prices is None else piece.start(prices)
    return Reply(_packed(piece.selection), piece.arcs, piece.supply, piece.begins, start, root=piece.root)


def _packed(selection: Selection) -> tuple[np.ndarray, ...]:
    return tuple(np.packbits(kept) for kept in selection.kept)


def _unpacked(part: FlowPart, bits: tuple[np.ndarray, ...]) -> Selection:
    shapes = [kept.shape for kept in Selection.empty(part).kept]
    kept = (np.unpackbits(b, count=n * m).astype(bool).reshape(n, m) for b, (n, m) in zip(bits, shapes, strict=True))
    return Selection(part, tuple(kept))
