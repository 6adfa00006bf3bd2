"""The posterior of one region after the other; every one is a chain of `posterior.chain_kernel`."""

import numpy as np

from pgsr.estimators.posterior.arrays import Moments, Noisy, Prior, Window
from pgsr.estimators.posterior.chain_kernel import forward_backward
from pgsr.estimators.posterior.evidence import CONFLICTS, CONTRADICTION, PATIENCE, WIDENING
from pgsr.machine.compilation import compiled


@compiled
def posterior_rows(start, stop, noisy, prior, total, about, moments):
    """Replace means and variances of the cumulative counts of rows start..stop-1 by those of their posterior.

    Windows lie around the means, and are widened until no more than `about.border` of the mass lies at an edge. Where
    the prior contradicts the noisy values even so it gives way, as in `Evidence.marginals`.

    Args:
        noisy, prior: of several regions, see `posterior.arrays`; prior means that give way are replaced.
        total: public numbers of groups, int64, shape (regions,).
        about: the round.
        moments: means and variances are replaced, variances of steps filled in.
    """
    y, mu, shape = noisy.y, prior.mu, prior.shape
    half, first = about.half, about.first
    mean, variance, steps = moments.mean, moments.variance, moments.step_variance
    n = y.shape[1]
    low, high = np.empty(n, np.int64), np.empty(n, np.int64)
    found, spread, step_variance, middle = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    filled = Moments(found, spread, middle, step_variance)
    room = np.empty((n, 64))
    for r in range(start, stop):
        most = total[r]
        widening, conflict = WIDENING, 0
        evidence = Noisy(
            noisy.kind,
            y[r],
            noisy.law,
            noisy.coarse,
            noisy.fine,
            noisy.up_to,
            noisy.first,
            noisy.anchor,
            noisy.log_base,
        )
        while True:
            # The window of c[s] is its mean +- reach within 0..most; cut so that neither end falls with s, as c[s] does
            # not, and shut at c[K], which is public.
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
            window = Window(low, high, most)
            edge, _ = forward_backward(evidence, Prior(mu[r], shape[r]), window, room[:, :width], filled)
            if edge <= about.border or width > most:
                break
            # Mass at an edge: wider, and if that does not help, the prior gives way where it is off.
            widening *= 1.5
            if edge > CONTRADICTION and 1.5 * widest > PATIENCE * half and conflict < len(CONFLICTS):
                give_way(mean[r], variance[r], half, first, mu[r], shape[r], CONFLICTS[conflict], about.deviation)
                widening = WIDENING
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
        # The variance of a negative binomial count of mean mu and this shape is mu + mu^2 / shape.
        spread = np.sqrt(mu[s] + mu[s] * mu[s] / shape[s])
        if abs(own - mu[s]) > conflict * spread + reached(half, first, variance[s]):
            mu[s] = max(own, deviation)
