"""The arrays that the compiled loops of the posterior share, in the symbols of the docstring of this room."""

from typing import NamedTuple

import numpy as np


class Noisy(NamedTuple):
    """The noisy values of one region, or of several with a row each, and the law of their noise.

    Attributes:
        kind: 0, the values are columns and rows of a Young diagram; 1, noisy counts.
        y: the noisy values; int64, shape (values,), or (regions, values). Of kind 0 first the cumulative counts, then
            what groups have beyond the size `up_to`, in the order of their ranks.
        law: 0, the noise is double geometric; 1, discrete Gaussian.
        coarse, fine: powers of the law's base, base^(j len(fine)) and base^i; see `chain_kernel.power`.
        up_to: the first `up_to` values are those of the sizes below it; of other sizes no column was measured.
        first: the rank, from 0 for the smallest group, of the group that y[up_to] belongs to; lower ranks were not
            measured. Beyond every group where there are no rows.
        anchor: of every size a cumulative count near those that ranks speak for, where their likelihood counts as 1
            in the evidence; int64, shape (K + 1,), or of no cells where the evidence is not wanted.
        log_base: the logarithm of the law's base.
    """

    kind: int
    y: np.ndarray
    law: int
    coarse: np.ndarray
    fine: np.ndarray
    up_to: int
    first: int
    anchor: np.ndarray
    log_base: float


class Prior(NamedTuple):
    """The negative binomial distributions q[s] of the counts; shape (K + 1,), or (regions, K + 1).

    Attributes:
        mu: their means, positive.
        shape: their shapes, at least 1.
    """

    mu: np.ndarray
    shape: np.ndarray


class Window(NamedTuple):
    """The states in which the chain of one region is computed.

    Attributes:
        low, high: low[s] <= c[s] <= high[s]; both never fall; int64, shape (K + 1,).
        most: no cumulative count is larger.
        settled: a size from 1 to K - 1, from which on c[s] is `most` alone; K + 1 where there is none.
    """

    low: np.ndarray
    high: np.ndarray
    most: int
    settled: int


class Room(NamedTuple):
    """The memory of a pass over one region, in windows of at most `width` states.

    Attributes:
        forward: f[s] in the states from bottom[s] on, of the sizes up to the first settled one; shape (sizes, width).
        bottom, top: the states that are possible; int64, shape (K + 1,).
        steps: masses of steps, shape (2 width + 1,).
        weight, after, before: of the states of a size, shape (width,).
    """

    forward: np.ndarray
    bottom: np.ndarray
    top: np.ndarray
    steps: np.ndarray
    weight: np.ndarray
    after: np.ndarray
    before: np.ndarray

    @classmethod
    def of(cls, window: Window) -> "Room":
        """Make room for these windows."""
        n, width = len(window.low), int((window.high - window.low).max()) + 1
        bottom, top = np.empty((2, n), np.int64)
        forward = np.empty((min(window.settled + 1, n), width))
        return cls(forward, bottom, top, np.empty(2 * width + 1), *np.empty((3, width)))


class Moments(NamedTuple):
    """The posterior of the cumulative counts c[s] of one region, in numbers; shape (K + 1,).

    Attributes:
        mean: E c[s].
        variance: Var c[s].
        median: the smallest c with P(c[s] <= c) of at least 1/2; int64.
        step_variance: Var x[s] of the counts x[s] = c[s] - c[s - 1].
    """

    mean: np.ndarray
    variance: np.ndarray
    median: np.ndarray
    step_variance: np.ndarray


class Steps(NamedTuple):
    """The part of their elimination that regions keep, see `elimination_kernel.eliminated`; a row per region.

    Attributes:
        gain, own: d[r] moves by own - gain (change of f[parent]); float32 (regions, j, J), and (regions, j).
        variances: of the differences of d[r] given f[parent]; (regions, j - 1), or no columns if they are not wanted.
            If they are, the others are not, and `gain` has no columns.
        noise: independent values of variance 1, which become errors of d[r] given f[parent] with the covariance that
            the inverse information has; (regions, j, draws), possibly of no draws.
    """

    gain: np.ndarray
    own: np.ndarray
    variances: np.ndarray
    noise: np.ndarray
