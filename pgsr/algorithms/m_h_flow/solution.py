"""The solution from parts: rounds of one network for all, and questions to every part; in memory there is one part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pgsr.algorithms.m_h_flow.part import FlowPart, PartPrices
from pgsr.algorithms.m_h_flow.questions import Key, PartQuestion, Parts, Reply, begin, improve
from pgsr.algorithms.m_h_flow.whole_network import Joined, Upper
from pgsr.engines.quadratic_flow.balance import nearly_whole
from pgsr.engines.quadratic_flow.integers import cheapest_flow
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.engines.quadratic_flow.relaxation import MOST_TIE, relaxed_prices
from pgsr.machine.parallel import Mapper
from pgsr.methods.gate import NO_LIMIT, Deadline

_ENOUGH = 0.1
"""Units by which sums may be off before prices are rounded."""


def _gather(network: FlowNetwork, price: np.ndarray) -> np.ndarray:
    """Find prices that show which cells are missing; what has no way yet does not hold up the rest."""
    return relaxed_prices(network, price, _ENOUGH, 3, (MOST_TIE, MOST_TIE))


def _settle(network: FlowNetwork, price: np.ndarray) -> np.ndarray:
    """Find all prices."""
    return relaxed_prices(network, price, _ENOUGH, 6, balanced=True)


_STAGES = (_gather, 5e-3), (_settle, 1e-3)
"""How prices in real numbers are found, until a round adds no more cells than this share of those that are there."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The facts of a nation's answer once all parts have written theirs.

    Attributes:
        outcomes: of the parts, as they kept their answers (`Parts.keep`).
        above: the counts and prices of the upper levels, those of the parts' roots left out; None without upper levels.
        passes: how often every part was read.
        n_arcs: of the last network.
    """

    outcomes: list[Any]
    above: tuple[tuple[np.ndarray, ...], PartPrices] | None
    passes: int
    n_arcs: int


@dataclass(frozen=True, eq=False)
class Whole:
    """The one part of a hierarchy, which is in memory."""

    part: FlowPart

    def read(self, key: Key) -> FlowPart:
        del key
        return self.part

    def keep(
        self, key: Key, part: FlowPart, counts: tuple[np.ndarray, ...], prices: PartPrices
    ) -> tuple[tuple[np.ndarray, ...], PartPrices]:
        del key, part
        return counts, prices


def solve(
    part: FlowPart, total: int | None = None, deadline: Deadline = NO_LIMIT
) -> tuple[tuple[np.ndarray, ...], PartPrices]:
    """Find the integers of a hierarchy in memory, one table per level, and the prices that prove them.

    Args:
        part: all of it.
        total: public number of groups of the root, where it does not follow from what the part says; or None.
        deadline: asked between rounds.

    Memory: about 150 bytes per cell. Complexity: some ten steps of Newton's method of some ten passes over all cells,
    then a search in the neighbourhood of every unit that rounding left over.

    Raises:
        Stopped: the deadline passed.
    """
    whole = Whole(part)
    return solve_parts(whole, [None], [begin(whole, None)], None, total, map, deadline).outcomes[0]


def solve_parts(
    parts: Parts,
    keys: Sequence[Key],
    replies: Sequence[Reply],
    upper: Upper | None,
    total: int | None,
    mapper: Mapper,
    deadline: Deadline = NO_LIMIT,
) -> Solved:
    """Solve a problem in rounds, until no cell that was left out is worth a unit.

    First in real numbers alone, in stages, since most cells join then. Every round begins with the prices of the one
    before, and with its integers once there are some.

    Args:
        keys: of the parts; one, the whole, without upper levels.
        replies: of `begin` on every part.
        total: of the root, or None.
        mapper: where parts are asked.
        deadline: asked before every round.

    Raises:
        Stopped: the deadline passed.
    """
    top, start_above, flows_above = 0.0, None if upper is None else np.zeros(upper.piece.n_vertices), None
    passes, stage = 1, 0
    while True:
        deadline.check("no integer optimum yet")
        joined = Joined.of(upper, replies, total)
        price, x = joined.start(top, start_above, replies), None
        before = [reply.flows for reply in replies]
        near = joined.flows(before if upper is None else [flows_above, *before])
        if stage < len(_STAGES):
            price = _STAGES[stage][0](joined.network, price)
        else:
            flow = cheapest_flow(joined.network, nearly_whole(joined.network, price) if near is None else price, near)
            price, x = flow.price, flow.x
        top, own = price[joined.top], joined.of_pieces(price)
        tops, prices, added = [np.full(joined.n_sizes, top)], None, 0
        if upper is not None:
            prices, added = upper.offer(own.pop(0), tops[0])
            tops = [prices.inner[-1][upper.row(part)] for part in range(len(keys))]
        flows = [None] * len(keys) if x is None else [joined.flows_of(part, x) for part in range(-len(keys), 0)]
        questions = map(PartQuestion, keys, (reply.kept for reply in replies), own, tops, flows)
        answers = list(mapper(partial(improve, parts), questions))
        passes += 1
        outcomes = [answer.outcome for answer in answers if answer.outcome is not None]
        if x is not None and not added and len(outcomes) == len(keys):
            above = None
            if upper is not None and prices is not None:
                above = upper.piece.counts(joined.flows_of(0, x)), prices
            return Solved(outcomes, above, passes, len(x))
        added += sum(answer.added for answer in answers)
        stage += stage < len(_STAGES) and added <= _STAGES[stage][1] * len(joined.network.y)
        replies = [_newer(*of_part) for of_part in zip(replies, answers, own, flows, strict=True)]
        if upper is not None and prices is not None:
            counts = None if x is None else upper.piece.counts(joined.flows_of(0, x))
            upper = upper.around(replies)
            start_above = upper.piece.start(prices)
            flows_above = None if counts is None else upper.piece.flows(counts)


def _newer(before: Reply, after: Reply, price: np.ndarray, flows: list[np.ndarray] | None) -> Reply:
    """Take over what has not changed."""
    return after if after.arcs is not None else replace(before, start=price, flows=flows, outcome=None)
