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

from collections.abc import Mapping, Sequence

import numpy as np

from pgsr.data.views import View
from pgsr.estimators.posterior.evidence import Marginals
from pgsr.estimators.posterior.learned import Learned
from pgsr.estimators.posterior.newton import Newton
from pgsr.estimators.posterior.propagation import Carrying, Values, blocks, rows_of
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


def prior_error(learned: Learned, found: Marginals, propagation: Carrying) -> dict[View, Values]:
    """Compute the variances of the errors of counts and of cumulative counts from those of the prior.

    Args:
        learned: the prior.
        found: the posteriors of regions alone under it.
        propagation: of the joint projection.

    Returns:
        Variances of every view, float32, shaped as `found.mean`.

    Raises:
        MemoryNeededError: the errors of all regions do not fit.

    Complexity: O(DRAWS x levels x regions x sizes).
    """
    knots, means = learned.model.knots, blocks(found.mean)
    numbers = [(len(table), len(of.at), len(of.own)) for table, of in zip(learned.point.deviations, knots, strict=True)]
    n_cells, n_regions = sum(table.size for table in means), sum(len(table) for table in means)
    needed = 8 * DRAWS * sum(n * (n_knots + 2 * n_own) for n, n_knots, n_own in numbers) + 32 * BATCH * n_cells
    memory.require(needed, f"the errors of the prior of {n_regions:,} regions")
    ends = np.cumsum([n * n_own for n, _, n_own in numbers])
    parts = zip(np.split(_signs(int(ends[-1]), 2), ends[:-1]), numbers, strict=True)
    of_deviations = [part.reshape(n, n_own, DRAWS) for part, (n, _, n_own) in parts]
    errors = errors_of_priors(learned, _signs(len(knots[0].at), 1), of_deviations)
    counts, cumulative = ([np.zeros(table.shape, np.float32) for table in means] for _ in range(2))
    for start in range(0, DRAWS, BATCH):
        apart = propagation.errors(errors_of_means(learned, found, errors, slice(start, start + BATCH)))
        for place, table in enumerate(blocks(apart)):
            own = (table**2).sum(axis=1) / DRAWS, (np.diff(table, prepend=0.0, axis=2) ** 2).sum(axis=1) / DRAWS
            np.add(cumulative[place], own[0], out=cumulative[place], casting="same_kind")
            np.add(counts[place], own[1], out=counts[place], casting="same_kind")
    if not isinstance(found.mean, tuple):
        return {View.COUNTS: counts[0], View.CUMULATIVE: cumulative[0]}
    return {View.COUNTS: tuple(counts), View.CUMULATIVE: tuple(cumulative)}


def errors_of_priors(learned: Learned, shape: np.ndarray, deviations: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Compute errors of the f of every measured region from xi, `WIDER` times as large as H says.

    Args:
        shape, deviations: xi of F and of all d, shape (J, draws) and, by level, (regions, j, draws); replaced.

    Returns:
        The errors by region, shape (J, draws) each.
    """
    newton = Newton(learned.model, learned.point, learned.scales, learned.seen)
    return {region: WIDER * errors for region, errors in newton.errors(shape, deviations)}


def errors_of_means(learned: Learned, found: Marginals, errors: Mapping[int, np.ndarray], draws: slice) -> Values:
    """Compute the errors of posterior means of cumulative counts from those of f.

    Returns:
        Errors of shape (regions, draws, K + 1), or one such table per level where sizes differ.
    """
    from pgsr.estimators.posterior.learned_kernel import mean_errors

    n = draws.stop - draws.start
    out = tuple(np.zeros((len(table), n, table.shape[1])) for table in blocks(found.mean))
    means, shapes, variances, steps, filled = map(
        rows_of, (found.prior_mean, found.shape, found.variance, found.step_variance, out)
    )

    def of_region(region: int) -> None:
        mu, knots = means[region], learned.model.knots_of(region)
        about = mu, shapes[region] / (shapes[region] + mu), knots.left, knots.part
        of_f = np.ascontiguousarray(errors[region][:, draws])
        mean_errors(variances[region], steps[region], *about, of_f, filled[region])

    Threads()(of_region, errors)
    return out if isinstance(found.mean, tuple) else out[0]


def _signs(n: int, seed: int) -> np.ndarray:
    """Draw signs, always the same ones; shape (n, draws)."""
    return 2.0 * np.random.Generator(np.random.PCG64(seed)).integers(0, 2, (n, DRAWS), dtype=np.int8) - 1.0
