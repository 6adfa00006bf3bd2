"""The error of posterior means that comes from their prior, which is an estimate.

**Errors of the prior.** Near its maximum the penalised evidence L of F and all d is quadratic, so that they have about
a normal law around what was found, whose covariance is the inverse information H^-1 (Laplace's approximation). H is a
sum over regions along the tree, so that `Newton` factors it from the leaves up: with L D L' = H[d[r] | f[parent]],

    error of d[r] = L'^-1 D^(-1/2) xi - gain (error of f[parent]),      xi of mean 0 and variance 1,

and the same at the root for F. The errors of one f are common to all that lies below it.

**Errors of posterior means** follow linearly, region by region. With eta the error of log mu, and a = k / (k + mu),

    d E c[s] = sum over t of a[t] eta[t] Cov(c[s], x[t]).

**Errors of the release** are those of posterior means, carried through the joint projection, which is linear
(`propagation`). Their variances are means of squares over `DRAWS` draws of xi. Signs, -1 or 1 with the same chance, are
such xi, and the mean of squares has the least variance with them (Hutchinson's estimate of a diagonal). The relative
standard error of a variance is no more than (2 / DRAWS)^(1/2), 18 %, or 9 % of a deviation.

Source: Hutchinson 1990 (the estimate of a diagonal by signs).
"""

from collections.abc import Mapping

import numpy as np

from pgsr.data.views import View
from pgsr.estimators.posterior.evidence import Marginals
from pgsr.estimators.posterior.learned import Learned
from pgsr.estimators.posterior.newton import Newton
from pgsr.estimators.posterior.propagation import Propagation
from pgsr.machine import memory
from pgsr.machine.parallel import Threads

WIDER = 2.0
"""The factor on errors of F and d: L is not quite quadratic around its maximum, and its scales are estimates, too.

Chosen between 1.8 and 2.2, after 1, 1.3 and 1.6, on five draws of five worlds at epsilon 1 and 1/10 and three splits.
90 % intervals whose standard deviation is 1 or more held 83 (1), 86 (1.3), 88 (1.6), 89 (1.8) and 92 % (2.2) of the
root's counts at epsilon 1/10, and 86, 91, 93, 94 and 96 % of its cumulative counts.
"""

DRAWS, BATCH = 64, 2
"""How many errors of the prior are looked at, and how many at a time."""


def prior_error(learned: Learned, found: Marginals, propagation: Propagation) -> dict[View, np.ndarray]:
    """Compute the variances of the errors of counts and of cumulative counts from those of the prior.

    Args:
        learned: the prior.
        found: the posteriors of regions alone under it.
        propagation: of the joint projection.

    Returns:
        Tables of shape (regions, K + 1), float32.

    Raises:
        MemoryNeededError: the errors of all regions do not fit.

    Complexity: O(DRAWS x levels x regions x sizes).
    """
    n_knots, n_own = len(learned.point.shape), learned.point.deviations.shape[1]
    needed = 8 * DRAWS * len(found.mean) * (n_knots + 2 * n_own) + 32 * BATCH * found.mean.size
    memory.require(needed, f"the errors of the prior of {len(found.mean):,} regions")
    errors = errors_of_priors(learned, _signs(n_knots), _signs(len(found.mean), n_own))
    counts, cumulative = np.zeros(found.mean.shape, np.float32), np.zeros(found.mean.shape, np.float32)
    for start in range(0, DRAWS, BATCH):
        apart = propagation.errors(errors_of_means(learned, found, errors, slice(start, start + BATCH)))
        np.add(cumulative, (apart**2).sum(axis=1) / DRAWS, out=cumulative, casting="same_kind")
        np.add(counts, (np.diff(apart, prepend=0.0, axis=2) ** 2).sum(axis=1) / DRAWS, out=counts, casting="same_kind")
    return {View.COUNTS: counts, View.CUMULATIVE: cumulative}


def errors_of_priors(learned: Learned, shape: np.ndarray, deviations: np.ndarray) -> dict[int, np.ndarray]:
    """Compute errors of the f of every measured region from xi, `WIDER` times as large as H says.

    Args:
        shape, deviations: xi of F and of all d, shape (J, draws) and (regions, j, draws); replaced.

    Returns:
        The errors by region, shape (J, draws) each.
    """
    newton = Newton(learned.model, learned.point, learned.scales, learned.seen)
    return {region: WIDER * errors for region, errors in newton.errors(shape, deviations)}


def errors_of_means(learned: Learned, found: Marginals, errors: Mapping[int, np.ndarray], draws: slice) -> np.ndarray:
    """Compute the errors of posterior means of cumulative counts from those of f; shape (regions, draws, K + 1)."""
    from pgsr.estimators.posterior.learned_kernel import mean_errors

    knots = learned.model.knots
    out = np.zeros((len(found.mean), draws.stop - draws.start, found.mean.shape[1]))

    def of_region(region: int) -> None:
        mu = found.prior_mean[region]
        about = mu, found.shape[region] / (found.shape[region] + mu), knots.left, knots.part
        of_f = np.ascontiguousarray(errors[region][:, draws])
        mean_errors(found.variance[region], found.step_variance[region], *about, of_f, out[region])

    Threads()(of_region, errors)
    return out


def _signs(*shape: int) -> np.ndarray:
    """Draw signs, always the same ones; shape (*shape, draws)."""
    bits = np.random.Generator(np.random.PCG64(len(shape))).integers(0, 2, (*shape, DRAWS), dtype=np.int8)
    return 2.0 * bits - 1.0
