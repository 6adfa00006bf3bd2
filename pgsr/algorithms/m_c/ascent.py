"""The ascent of the dual of joint least squares, by Newton's method."""

import math
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c.dual import DualPoint, SquaresDual
from pgsr.methods.gate import Deadline

_PATIENCE = 200
"""Steps without halving the gap after which the answer is left as it is."""


@dataclass(frozen=True, eq=False)
class Ascended:
    """A feasible x, shape (regions, K + 1), and the prices it is computed from.

    Attributes:
        gap: (objective of x - value of the dual) / max(1, value), the relative gap that was reached.
        timed_out: whether time was up.
    """

    x: np.ndarray
    point: DualPoint
    gap: float
    steps: int
    timed_out: bool


def maximise(
    dual: SquaresDual,
    gap: float,
    deadline: Deadline,
    start: np.ndarray | None = None,
    room: np.ndarray | None = None,
) -> Ascended:
    """Ascend until a feasible point is within the relative gap, time is up, or there is no progress.

    Args:
        start: the first prices, shape (nodes, cells); 0 without them.
        room: where x is written when all is done, even the memory of the problem's values; a new array if None.
    """
    point, steps, stuck = dual.at(np.zeros(dual.shape) if start is None else start), 0, False
    best, since = math.inf, 0
    while True:
        late = deadline.passed
        estimated = dual.estimated_gap(point)
        if late or stuck or estimated <= gap:
            x = dual.feasible(point) if room is None else None
            reached = (dual.objective_at(point) if x is None else dual.objective(x)) - point.value
            if late or stuck or reached <= gap * max(1.0, point.value):
                x = dual.feasible(point, room) if x is None else x
                return Ascended(x, point, reached / max(1.0, point.value), steps, late)
        if estimated < best / 2:
            best, since = estimated, steps
        following = dual.better(point)
        stuck = following is None or steps - since > _PATIENCE
        point, steps = following or point, steps + 1
