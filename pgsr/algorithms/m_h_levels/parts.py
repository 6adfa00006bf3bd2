"""The parts of a problem that lie below regions of one level, each looked at on its own.

What is asked of a part are functions without a state, so that they can run anywhere: a part is read, asked, and
forgotten. What travels are the arcs of the cells that are worth looking at, and prices; noisy tables stay.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pgsr.algorithms.m_h_levels.certificate import LevelPrices, judged, prices_of_sources, violations
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.selection import Arcs, Piece, Selection
from pgsr.data.counts_by_level import CountsByLevel

Key = Any
"""What a part is called."""


class Parts(Protocol):
    """The place of parts and of their answers. It must be possible to pickle it where parts run elsewhere."""

    def read(self, key: Key) -> LevelProblem:
        """Give the part: the region of this key and what lies below it. `total` does not matter."""
        ...

    def write(self, key: Key, counts: CountsByLevel, prices: LevelPrices) -> None:
        """Take the answer of a part. Where it is called again the last call counts."""
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
        outcome: of the answer, where one was asked for and no cell was added.
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
    outcome: "Outcome | None" = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """The judgement of the answer of a part, its root's counts, shape (K of the root + 1,), and its number of cells."""

    objective: int
    proved: bool
    violations: dict[str, int]
    root: np.ndarray
    n_cells: int


@dataclass(frozen=True, eq=False)
class Question:
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
    flows: list[np.ndarray] | None = None


def begin(parts: Parts, key: Key) -> Reply:
    """Choose the cells to begin with."""
    problem = parts.read(key)
    selection = Selection.of(problem)
    return replace(_reply(selection.piece(), None), noisy=problem.noisy.tables[0][0])


def improve(parts: Parts, question: Question) -> Reply:
    """Add the cells that are worth a unit; if there are none and there are integers, judge and write them."""
    problem = parts.read(question.key)
    selection = _unpacked(problem, question.kept)
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
    objective, proved = judged(problem, counts, prices)
    proved = proved and prices_of_sources(problem, prices)
    parts.write(question.key, counts, prices)
    outcome = Outcome(objective, proved, violations(problem, counts), counts.tables[0][0], counts.n_cells)
    return Reply(question.kept, outcome=outcome)


def _reply(piece: Piece, prices: LevelPrices | None) -> Reply:
    """Make the reply of a part with this selection: its network, and prices to start from, 0 where none are known."""
    start = np.zeros(piece.n_vertices) if prices is None else piece.start(prices)
    return Reply(_packed(piece.selection), piece.arcs, piece.supply, piece.begins, start, root=piece.root)


def _packed(selection: Selection) -> tuple[np.ndarray, ...]:
    return tuple(np.packbits(kept) for kept in selection.kept)


def _unpacked(problem: LevelProblem, bits: tuple[np.ndarray, ...]) -> Selection:
    shapes = [kept.shape for kept in Selection.empty(problem).kept]
    kept = (np.unpackbits(b, count=n * m).astype(bool).reshape(n, m) for b, (n, m) in zip(bits, shapes, strict=True))
    return Selection(problem, tuple(kept))
