"""The error of posterior means that comes from their prior, which is an estimate.

**Errors of the prior.** Near its maximum the penalised evidence L of F and all d is quadratic, so that they have about
a normal law around what was found, whose covariance is the inverse information H^-1 (Laplace's approximation). H is a
sum over regions along the tree, so that `Newton` factors it from the leaves up: with L D L' = H[d[r] | f[parent]],

    error of d[r] = L'^-1 D^(-1/2) xi - gain (error of f[parent]),      xi of mean 0 and variance 1,

and the same at the root for F. The errors of one f are common to all that lies below it.

**Errors of posterior means** follow linearly, region by region. With eta the error of log mu, and a = k / (k + mu),

    d E c[s] = sum over t of a[t] eta[t] Cov(c[s], x[t]).

**Errors of the release** are those of posterior means, carried through the joint projection, which is linear
(`propagation`).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pgsr.estimators.posterior.evidence import Marginals
from pgsr.estimators.posterior.newton import Newton
from pgsr.estimators.posterior.prior_fit import Learned

WIDER = 2.0
"""The factor on errors of F and d: L is not quite quadratic around its maximum, and its scales are estimates, too.

Chosen between 1.8 and 2.2, after 1, 1.3 and 1.6, on five draws of five worlds at epsilon 1 and 1/10 and three splits.
90 % intervals whose standard deviation is 1 or more held 83 (1), 86 (1.3), 88 (1.6), 89 (1.8) and 92 % (2.2) of the
root's counts at epsilon 1/10, and 86, 91, 93, 94 and 96 % of its cumulative counts.
"""


def errors_of_priors(learned: Learned, shape: np.ndarray, deviations: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Compute errors of the f of every measured region from xi, `WIDER` times as large as H says.

    Args:
        shape, deviations: xi of F and of all d, shape (J, draws) and, by level, (regions, j, draws); replaced.

    Returns:
        The errors by region, shape (J, draws) each.
    """
    newton = Newton(learned.model, learned.point, learned.scales, learned.seen)
    return {region: WIDER * errors for region, errors in newton.errors(shape, deviations)}


class ErrorsOfMeans:
    """The errors of posterior means of cumulative counts, from those of f, region by region."""

    def __init__(self, learned: Learned, found: Marginals, errors: Mapping[int, np.ndarray]) -> None:
        """Take what `errors_of_priors` computed."""
        self._errors, self._knots = errors, learned.model.knots
        self._known = found.variance, found.step_variance, found.prior_mean, found.shape

    def __call__(self, region: int) -> np.ndarray:
        """Compute the errors of a measured region; shape (K + 1, draws)."""
        from pgsr.estimators.posterior.prior_error_kernel import mean_errors

        variance, step_variance, mu, shape = (table[region] for table in self._known)
        knots, of_f = self._knots, np.array(self._errors[region], order="C")
        out = np.empty((len(mu), of_f.shape[1]))
        room = np.empty(len(mu)), np.empty((2, out.shape[1]))
        mean_errors((variance, step_variance), (mu, shape / (shape + mu)), (knots.left, knots.part), of_f, room, out)
        return out
