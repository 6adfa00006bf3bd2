"""The ascent of the dual of joint least squares: by Newton's method, or by accelerated gradients as a check on it."""

import math
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c.dual import Point, SquaresDual
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal
from pgsr.machine.parallel import inner_product
from pgsr.methods.gate import Deadline

_NEWTON_PATIENCE = 200
_GRADIENT_PATIENCE = 20_000
"""Steps without halving the gap after which the answer is left as it is."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A feasible x, shape (regions, K + 1), and the prices it is computed from.

    Attributes:
        gap: (objective of x - value of the dual) / max(1, value), the relative gap that was reached.
        timed_out: whether time was up.
    """

    x: np.ndarray
    point: Point
    gap: float
    steps: int
    timed_out: bool


def maximise(
    dual: SquaresDual,
    gap: float,
    deadline: Deadline,
    start: np.ndarray | None = None,
    accelerated: bool = False,
    room: np.ndarray | None = None,
) -> Answer:
    """Ascend until a feasible point is within the relative gap, time is up, or there is no progress.

    Args:
        start: the first prices, shape (nodes, cells); 0 without them.
        room: where x is written when all is done, even the memory of the problem's values; a new array if None.
    """
    ascent = _Accelerated(dual) if accelerated else None
    patience = _GRADIENT_PATIENCE if accelerated else _NEWTON_PATIENCE
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
                return Answer(x, point, reached / max(1.0, point.value), steps, late)
        if estimated < best / 2:
            best, since = estimated, steps
        following = dual.better(point) if ascent is None else ascent.after(point)
        stuck = following is None or steps - since > patience
        point, steps = following or point, steps + 1


class _Accelerated:
    """A method of accelerated gradients, in the metric of the Hessian with one block per cell.

    No Hessian exceeds that metric, so a step of 1 never overshoots. With p the last steps and q the points at which
    gradients are taken,

        p' = q + metric^-1 gradient(q),    q' = p' + (t - 1) / t' (p' - p),    t' = (1 + sqrt(1 + 4 t^2)) / 2,

    and t returns to 1 where the step turns against the gradient. About ten times as many evaluations as Newton's method
    takes, each of O(cells).

    Source: Beck and Teboulle 2009; the restart, O'Donoghue and Candes 2015.
    """

    def __init__(self, dual: SquaresDual) -> None:
        self.dual = dual
        dual.take_apart()
        dual.gain[:] = 0.5 / (dual.leaf_weight[:, None] if dual.leaf_cells is None else dual.leaf_cells[:, : dual.n])
        self.metric = TreeDiagonal(dual)  # every cell is a block
        self.before, self.t = np.zeros(dual.shape), 1.0

    def after(self, point: Point) -> Point:
        dual, nothing, step = self.dual, np.zeros(self.dual.shape), np.empty(self.dual.shape)
        self.metric.advance(0.0, nothing, nothing, nothing.copy(), point.gradient.copy(), step)
        reached = point.prices + step
        if inner_product(point.gradient, reached - self.before) < 0.0:
            self.t = 1.0
        t = (1.0 + math.sqrt(1.0 + 4.0 * self.t**2)) / 2.0
        following = reached + (self.t - 1.0) / t * (reached - self.before)
        self.before, self.t = reached, t
        return dual.at(following)
