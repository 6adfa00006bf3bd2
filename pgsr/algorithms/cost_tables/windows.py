"""The values that the dynamic program on cost tables considers for every region and size."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pgsr.errors import MethodError
from pgsr.privacy.neighbours import Unit
from pgsr.privacy.sensitivity import sensitivity_of
from pgsr.problems.problem import Problem

Window = Literal["paper"] | int | None
"""Half-width delta of the windows: the paper's, a number of counts, or None for the whole range 0..G."""


@dataclass(frozen=True, eq=False)
class Domains:
    """An interval of values for every region and size; every value of a region is a sum of values of its children.

    Attributes:
        low, high: the ends, shape (regions, K + 1), int64; sum low[root] <= G <= sum high[root].
        delta: half-width of every region's own window, after all doublings; shape (regions,).
        doublings: how often all windows were widened until the root could reach G.
    """

    low: np.ndarray
    high: np.ndarray
    delta: np.ndarray
    doublings: int

    @property
    def widths(self) -> np.ndarray:
        """The number of values of every interval; shape (regions, K + 1)."""
        return self.high - self.low + 1

    def bound(self, x: np.ndarray, total: int) -> int:
        """Count the cells of x that lie at an end of their interval which is neither 0 nor G."""
        return int((((x == self.low) & (x > 0)) | ((x == self.high) & (x < total))).sum())


def domains(problem: Problem, window: Window) -> Domains:
    """Compute the domains D[r, s] of the dynamic program, which always contain a feasible point.

    1. A region's own window is {y - delta[r], ..., y + delta[r]}, its ends moved into 0..G. So a window that lies below
       0 is {0}, and one above G is {G}. A region of weight 0 was not measured and has the window 0..G.
    2. From the leaves up, an inner region keeps of its window what sums of its children's values reach. If that is
       nothing, it gets everything that they reach, up to G.
    3. If the root's values over all sizes cannot add up to G, every delta becomes 2 delta + 1, and again from 1.

    Interval plus interval is an interval, so after 2 every value of a region splits into values of its children. Rule 3
    ends, at the latest with 0..G everywhere.

    Source: Fioretto and Van Hentenryck 2019, footnote 2, for the windows; rules 2 and 3 are ours.
    """
    total = problem.root_total
    whole = total + int(np.abs(problem.target).max())  # a window as wide as this is 0..G
    delta = np.array([min(half, whole) for half in half_widths(problem, window)])
    delta[problem.w == 0] = whole
    doublings = 0
    while True:
        low, high = _intervals(problem, delta, total)
        if int(low[0].sum()) <= total <= int(high[0].sum()):
            return Domains(low, high, delta, doublings)
        delta = np.minimum(2 * delta + 1, whole)
        doublings += 1


def half_widths(problem: Problem, window: Window) -> list[int]:
    """Compute delta of every region.

    The paper's is 3 ceil(2 lambda^2), with lambda = sensitivity / (epsilon of the level); 3 ceil(sigma^2) for Gaussian
    noise.

    Three times the variance of the noise, in exact fractions. (Not three standard deviations: it is far wider.)
    """
    tree = problem.hierarchy
    whole = problem.root_total + int(np.abs(problem.target).max())
    if window is None:
        return [whole] * tree.n_regions
    if window != "paper":
        return [window] * tree.n_regions
    assert problem.noise is not None, "CostTables.supports asks for it"
    size = sensitivity_of(problem.view, Unit.ENTITY, max_size=problem.max_size)
    by_level = [3 * math.ceil(level.law(size).variance_bound) if level else whole for level in problem.noise]
    return [by_level[level] for level in tree.level_of]


def checked_window(window: object) -> None:
    """Raise `MethodError` unless this is a window."""
    if window is None or window == "paper":
        return
    if isinstance(window, bool) or not isinstance(window, int) or window < 0:
        raise MethodError(
            f"window {window!r} is unknown; use 'paper', a number of counts such as 216, or None for 0..G"
        )


def _intervals(problem: Problem, delta: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    tree, y = problem.hierarchy, problem.target
    low, high = (np.clip(y + side * delta[:, None], 0, total) for side in (-1, 1))
    for level in range(tree.n_levels - 2, -1, -1):
        here = tree.level(level)
        smallest, largest = tree.sum_children(low, level), tree.sum_children(high, level)
        own_low, own_high = np.maximum(low[here], smallest), np.minimum(high[here], largest)
        apart = own_low > own_high
        low[here] = np.where(apart, smallest, own_low)
        high[here] = np.where(apart, np.maximum(smallest, np.minimum(largest, total)), own_high)
    return low, high
