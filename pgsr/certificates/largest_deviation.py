"""The Lagrangian's minimum where the objective is the largest deviation, which couples all cells by one number."""

import math

import numpy as np

from pgsr.certificates.regions_alone import sum_below


def least_with_largest(w: np.ndarray, net: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Compute the minimum of t + sum net d over t >= w |d| and low <= d <= high, rounded down; shape (n,) each.

    At a given t every cell takes the end of its interval to which its net price drives it, d = -t / w or t / w at most.
    What that gives is convex in t and linear between the numbers e = w |low| or w |high| at which cells come to their
    ends: its slope is 1 - sum of |net| / w over the cells with e > t. So t is the least e, or the least t at which all
    cells are within their intervals, from which on that sum is at most 1. Where it is about 1, up to roundings, the
    minimum may be to the left, lower by these roundings times t; they are subtracted.

    Cells with w = 0 go to their ends whatever t is. -infinity where something falls without end.

    Example:
        >>> w, net = np.array([1, 2]), np.array([0.5, -0.5])
        >>> round(least_with_largest(w, net, np.array([-4.0, 3.0]), np.array([9.0, np.inf])), 6)  # t = 6
        2.5
    """
    if (low > high).any():
        return math.inf
    weighed = w > 0
    rate = np.abs(net[weighed]) / w[weighed]
    rest = net[~weighed]
    ends = np.where(rest > 0, low[~weighed], np.where(rest < 0, high[~weighed], 0.0))
    w, net, low, high = w[weighed], net[weighed], low[weighed], high[weighed]
    t = float((w * np.maximum(np.maximum(low, -high), 0.0)).max(initial=0.0))
    reached = w * np.maximum(np.where(net > 0, -low, np.where(net < 0, high, 0.0)), 0.0)
    order = np.argsort(reached)
    beyond = np.append(np.cumsum(rate[order][::-1])[::-1], 0.0)  # what still moves from each number on
    margin = 1e-13 + len(w) * 2.0**-50
    enough = int(np.argmax(beyond <= 1.0 - margin))
    if enough:
        t = max(t, float(reached[order[enough - 1]]))
    if not math.isfinite(t):
        return -math.inf
    far = t / w
    d = np.where(net > 0, np.maximum(low, -far), np.where(net < 0, np.minimum(high, far), 0.0))
    values = np.concatenate([net * d, rest * ends, [t]])
    if not np.isfinite(values).all():
        return -math.inf
    return sum_below(values, np.abs(values)) - margin * t
