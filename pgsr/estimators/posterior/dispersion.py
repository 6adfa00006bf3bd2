"""The dispersion of a learned prior: shapes of its negative binomial counts, by level and by band of sizes.

A count of mean mu and shape k has the variance V = mu + mu^2 / k. By Fisher's identity the evidence has the slope

    d log P(y) / d log k = E[k (psi(x + k) - psi(k) + log(k / (k + mu)) + (mu - x) / (k + mu)) | y],

psi the digamma function. The expectation of psi(x + k) is taken to second order around E[x | y], from the posterior
variance v. The information is that of a Gaussian count of this variance,

    (d V / d log k)^2 / (2 V^2) (1 - v / V)^2,

where 1 - v / V is the part of the variance that the noise does not hide: of noise of variance N it is V / (V + N), and
what is seen is V + N. Counts of a level in a band share k, and one step of Newton's method in log k takes the sums over
them. Without evidence k stays at `MOST`, by a normal law of deviation 1 of log k.

No shape is larger. Deviations follow the counts, so that what is left looks too regular: without this bound shapes of
thousands were found on taxis, and errors grew by 2 %.

Shown by `test_posterior_dispersion.py`.
"""

import numpy as np

LEAST, MOST = 1.0, 100.0
"""Shapes lie between these; at least 1, so that the prior has one peak."""

FARTHEST = 1.5
"""No logarithm of a shape moves by more in one step."""


def penalty(shapes: np.ndarray) -> float:
    """Compute half the sum of squares of log(k / MOST)."""
    from pgsr.estimators.posterior.elementary_kernel import log

    return 0.5 * sum(log(shape / MOST) ** 2 for shape in shapes.ravel().tolist())


def stepped(shapes: np.ndarray, slopes: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Do a step of Newton's method.

    Args:
        shapes: k by level and band.
        slopes, information: sums over the regions of a level, of the same shape.
    """
    from pgsr.estimators.posterior.elementary_kernel import exp, log

    found = shapes.copy()
    for place, shape in np.ndenumerate(shapes):
        move = (slopes[place] - log(shape / MOST)) / (information[place] + 1.0)
        found[place] = min(max(shape * exp(min(max(move, -FARTHEST), FARTHEST)), LEAST), MOST)
    return found
