"""The ascent of a concave function that is known by its gradient alone, where second derivatives jump too often."""

from collections import deque
from collections.abc import Callable

import numpy as np

from pgsr.machine.parallel import inner_product

_PAIRS = 20
_TRIES = 20
_OVERSHOT = 0.5
"""The share of the first slope that the slope at the end of a step may be below 0."""

_FIRST_STEP = 0.3
"""How long the first step is, relative to the one that the metric says."""


class QuasiNewton:
    """Ascends along directions from the last steps s and the changes y of the gradient on them, minus (L-BFGS).

    The first guess of a direction is M^-1 gradient, where M is an approximate Hessian of another dual, such as that of
    squares at its optimum. The scale of M does not matter, it is measured.

    The length of a step is found from slopes: in the direction d, gradient(p + t d) . d falls with t, and a step ends
    where it is about 0. So values of the function are not needed, whose differences drown in rounding. The pairs (s, y)
    stay for the next ascent, of a function that differs a little.

    Sums are formed in a fixed order, so the ascent does not depend on the number of threads.

    Source: Liu and Nocedal 1989.
    """

    def __init__(self, metric: Callable[[np.ndarray], np.ndarray]) -> None:
        self._metric = metric
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=_PAIRS)
        self._length = _FIRST_STEP

    def ascend(
        self,
        gradient_at: Callable[[np.ndarray], np.ndarray],
        point: np.ndarray,
        steps: int,
        done: Callable[[], bool],
        rounding: float,
    ) -> np.ndarray:
        """Take at most so many steps from this point, fewer if the gradient vanishes or it is `done`.

        The gradient vanishes where none of its components exceeds `rounding`. A change of the gradient that is no
        larger is not kept either: it says nothing of the curvature, and steps by it have any length.

        `done` is asked before every step, when `gradient_at` was last called with the point of that step. It was last
        called with the point that this returns, too.
        """
        gradient = gradient_at(point)
        for _ in range(steps):
            direction = self._direction(gradient)
            slope = inner_product(gradient, direction)
            if not slope > 0.0 or np.abs(gradient).max() <= rounding or done():
                break
            length, after = 1.0, gradient
            for _ in range(_TRIES):
                after = gradient_at(point + length * direction)
                end = inner_product(after, direction)
                if end >= -_OVERSHOT * slope:
                    break
                length *= min(max(slope / (slope - end), 0.1), 0.7)
            step, change = length * direction, gradient - after
            bend = inner_product(step, change)
            if bend > 0.0 and np.abs(change).max() > rounding:
                self._pairs.append((step, change, bend))
                self._length = bend / inner_product(change, self._metric(change))
            point, gradient = point + step, after
        return point

    def _direction(self, gradient: np.ndarray) -> np.ndarray:
        rest, shares = gradient.copy(), []
        for step, change, bend in reversed(self._pairs):
            shares.append(inner_product(step, rest) / bend)
            rest -= shares[-1] * change
        direction = self._length * self._metric(rest)
        for (step, change, bend), share in zip(self._pairs, reversed(shares), strict=True):
            direction += (share - inner_product(change, direction) / bend) * step
        return direction
