"""The posterior of one region after the other; every one is a chain of `posterior.chain_kernel`."""

import numpy as np

from pgsr.algorithms.posterior.chain_kernel import forward_backward
from pgsr.compilation import compiled


@compiled
def posterior_rows(
    start, stop, kind, y, law, coarse, fine, up_to, total, half, first, mu, shape, border, mean, variance, steps
):
    """Replace means and variances of the cumulative counts of rows start..stop-1 by those of their posterior.

    Windows lie around the means, and are widened until no more than `border` of the mass lies at an edge.

    Args:
        kind, law, coarse, fine, up_to, shape: as in `forward_backward`.
        y: noisy values, int64, shape (regions, K + 1).
        total: public numbers of groups, int64, shape (regions,).
        half: of the windows of the first round; later ones depend on the variances.
        first: whether this is the first round.
        mu: prior means of the counts, shape (regions, K + 1).
        border: the mass that may lie at an edge.
        mean, variance: of c[s], replaced; shape (regions, K + 1).
        steps: filled with the variances of the counts x[s] = c[s] - c[s - 1], same shape; of no rows if they are not
            wanted.
    """
    n = y.shape[1]
    low, high = np.empty(n, np.int64), np.empty(n, np.int64)
    found, spread, step_variance, middle = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    room = np.empty((n, 64))
    for r in range(start, stop):
        most = total[r]
        widening = 1.0
        while True:
            for s in range(n):
                reach = (half if first else 6.5 * np.sqrt(variance[r, s]) + 3.0) * widening
                low[s] = max(0, np.int64(np.floor(mean[r, s] - reach)))
                high[s] = min(most, np.int64(np.ceil(mean[r, s] + reach)))
            for s in range(1, n):
                low[s] = max(low[s], low[s - 1])
            for s in range(n - 2, -1, -1):
                high[s] = min(high[s], high[s + 1])
            low[n - 1] = high[n - 1] = most
            width = np.int64(0)
            for s in range(n):
                width = max(width, high[s] - low[s] + 1)
            if width > room.shape[1]:
                room = np.empty((n, max(width, 2 * room.shape[1])))
            edge = forward_backward(
                kind, y[r], law, coarse, fine, up_to, low, high, most, mu[r], shape, room[:, :width],
                found, spread, middle, step_variance,
            )  # fmt: skip
            if edge <= border or width > most:
                break
            widening *= 1.5
        for s in range(n):
            mean[r, s], variance[r, s] = found[s], spread[s]
            if len(steps):
                steps[r, s] = step_variance[s]
