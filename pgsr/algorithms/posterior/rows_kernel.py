"""The posterior of one region after the other; every one is a chain of `posterior.chain_kernel`."""

import numpy as np

from pgsr.algorithms.posterior.chain_kernel import forward_backward
from pgsr.algorithms.posterior.evidence import CONFLICTS, CONTRADICTION, PATIENCE
from pgsr.machine.compilation import compiled


@compiled
def posterior_rows(
    start, stop, kind, y, law, coarse, fine, up_to, deviation, total, half, first, mu, shape, border, mean, variance,
    steps,
):  # fmt: skip
    """Replace means and variances of the cumulative counts of rows start..stop-1 by those of their posterior.

    Windows lie around the means, and are widened until no more than `border` of the mass lies at an edge. Where the
    prior contradicts the noisy values even so it gives way, as in `Evidence.marginals`.

    Args:
        kind, law, coarse, fine, up_to: as in `forward_backward`.
        y: noisy values, int64, shape (regions, K + 1).
        deviation: the standard deviation of the noise, or a bound on it.
        total: public numbers of groups, int64, shape (regions,).
        half: of the windows of the first round; later ones depend on the variances.
        first: whether this is the first round.
        mu: prior means of the counts, shape (regions, K + 1); those that give way are replaced.
        shape: of their negative binomial distributions, same shape.
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
        widening, conflict = 1.0, 0
        while True:
            widest = 0.0
            for s in range(n):
                reach = reached(half, first, variance[r, s]) * widening
                widest = max(widest, reach)
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
                kind, y[r], law, coarse, fine, up_to, low, high, most, mu[r], shape[r], room[:, :width],
                found, spread, middle, step_variance,
            )  # fmt: skip
            if edge <= border or width > most:
                break
            widening *= 1.5
            if edge > CONTRADICTION and 1.5 * widest > PATIENCE * half and conflict < len(CONFLICTS):
                give_way(mean[r], variance[r], half, first, mu[r], shape[r], CONFLICTS[conflict], deviation)
                widening = 1.0
                conflict += 1
        for s in range(n):
            mean[r, s], variance[r, s] = found[s], spread[s]
            if len(steps):
                steps[r, s] = step_variance[s]


@compiled
def reached(half, first, variance):
    """Give the half-width of a window before it is widened."""
    return half if first else 6.5 * np.sqrt(variance) + 3.0


@compiled
def give_way(mean, variance, half, first, mu, shape, conflict, deviation):
    """Replace prior means that are too far from the counts, as `Evidence._without_conflict` does; for one region."""
    before = 0.0
    for s in range(len(mu)):
        own = mean[s] - before
        before = mean[s]
        spread = np.sqrt(mu[s] + mu[s] * mu[s] / shape[s])
        if abs(own - mu[s]) > conflict * spread + reached(half, first, variance[s]):
            mu[s] = max(own, deviation)
