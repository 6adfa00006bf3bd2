"""Derivatives of the evidence in the logarithms of the shapes of prior counts, by basic operations in a fixed order."""

from pgsr.estimators.posterior.elementary_kernel import log
from pgsr.machine.compilation import uncounted

LEAST_SEEN = 0.02
"""At least this part of a variance counts as not hidden by the noise."""


@uncounted
def derivatives(mean, step_variance, mu, shape, band, slopes, information):
    """Fill in slope and information of the log evidence in log k, of one region.

    Args:
        mean, step_variance: E c[s] and Var x[s], given the noisy values; shape (K + 1,).
        mu, shape: prior means and shapes k.
        band: of every size.
        slopes, information: shape (bands,).
    """
    slopes[:] = 0.0
    information[:] = 0.0
    before = 0.0
    for s in range(len(mu)):
        x = max(mean[s] - before, 0.0)
        before = mean[s]
        k, v = shape[s], step_variance[s]
        together = k + mu[s]
        surplus = 0.0  # as where no group is left
        if x > 0.0 or v > 0.0:
            surplus = digamma(x + k) + 0.5 * v * tetragamma(x + k) - digamma(k)
        slopes[band[s]] += k * (surplus + log(k / together) + (mu[s] - x) / together)
        added = mu[s] * mu[s] / k
        whole = mu[s] + added
        seen = min(max(1.0 - v / whole, LEAST_SEEN), 1.0)
        information[band[s]] += 0.5 * (added / whole * seen) ** 2


@uncounted
def digamma(z):
    """Compute psi(z), z >= 1, the derivative of log Gamma: a series from 16 on, psi(z) = psi(z + 1) - 1 / z below."""
    below = 0.0
    while z < 16.0:
        below += 1.0 / z
        z += 1.0
    one = 1.0 / z
    square = one * one
    series = square * (1 / 12.0 - square * (1 / 120.0 - square * (1 / 252.0 - square / 240.0)))
    return log(z) - 0.5 * one - series - below


@uncounted
def tetragamma(z):
    """Compute the second derivative of psi at z >= 1, in the same way."""
    below = 0.0
    while z < 16.0:
        below += 2.0 / (z * z * z)
        z += 1.0
    one = 1.0 / z
    square = one * one
    series = square * (0.5 - square * (1 / 6.0 - square * (1 / 6.0 - 0.3 * square)))
    return -square * (1.0 + one + series) - below
