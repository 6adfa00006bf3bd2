"""The solution of a problem from its parts: rounds of one network for all, and questions to every part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pgsr.algorithms.m_h_levels.joined import Joined, Upper
from pgsr.algorithms.m_h_levels.parts import Key, Outcome, Parts, Reply, begin, improve
from pgsr.parallel import Mapper
from pgsr.quadratic_flow import cheapest_flow, relaxed_prices

_ENOUGH = 0.1
"""Units by which sums may be off before prices are rounded."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What is known once all parts have written their answers.

    Attributes:
        outcomes: of the parts.
        flows: of the arcs of the upper levels, per level; none without upper levels.
        price: of the vertices of the upper levels, shape (vertices,).
        top: the price of the root's total.
        passes: how often every part was read.
        n_arcs: of the last network.
    """

    outcomes: list[Outcome]
    flows: list[np.ndarray]
    price: np.ndarray
    top: int
    passes: int
    n_arcs: int


def solve_parts(
    parts: Parts, keys: Sequence[Key], upper: Upper | None, total: int | None, n_sizes: int, mapper: Mapper
) -> Solved:
    """Solve a problem in rounds, until no cell that was left out is worth a unit.

    First in real numbers, since most cells join then, and searches for integers start near their end.

    Args:
        keys: of the parts; one, the whole, without upper levels.
        total: of the root, or None.
        n_sizes: of the root.
        mapper: where parts are asked.
    """
    replies, price, passes = list(mapper(partial(begin, parts), keys)), None, 1
    in_integers = False
    while True:
        joined = Joined.of(upper, replies, total, n_sizes)
        start = joined.start(replies, price)
        if in_integers:
            flow = cheapest_flow(joined.network, start)
            price, x = flow.price, flow.x
        else:
            price, x = relaxed_prices(joined.network, start, _ENOUGH), None
        answers = list(mapper(partial(improve, parts), joined.questions(keys, replies, price, x)))
        passes += 1
        outcomes = [answer.outcome for answer in answers if answer.outcome is not None]
        if x is not None and len(outcomes) == len(keys):
            return _solved(joined, outcomes, x, price, passes)
        in_integers = in_integers or all(answer.arcs is None for answer in answers)
        replies = [_newer(*pair) for pair in zip(replies, answers, joined.own(price, len(keys)), strict=True)]


def _newer(before: Reply, after: Reply, price: np.ndarray) -> Reply:
    """Take over what has not changed."""
    return after if after.arcs is not None else replace(before, start=price, outcome=None)


def _solved(joined: Joined, outcomes: list[Outcome], x: np.ndarray, price: np.ndarray, passes: int) -> Solved:
    own = price[:0]
    flows: list[np.ndarray] = []
    if len(joined.offsets) > len(outcomes):
        own, flows = price[joined.offsets[0] : joined.offsets[1]], [x[part] for part in joined.flows[0]]
    return Solved(outcomes, flows, own, int(price[joined.tops[0][0]]), passes, len(x))
