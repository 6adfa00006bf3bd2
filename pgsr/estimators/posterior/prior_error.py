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
from pgsr.estimators.posterior.prior_model import PriorModel
from pgsr.estimators.posterior.propagation import Propagation
from pgsr.machine import memory
from pgsr.machine.parallel import Threads

WIDER = 2.0
"""The factor on errors of F and d: L is not quite quadratic around its maximum, and its scales are estimates, too.

Chosen between 1.8 and 2.2, after 1, 1.3 and 1.6, on five draws of five worlds at epsilon 1 and 1/10 and three splits.
90 % intervals whose standard deviation is 1 or more held 83 (1), 86 (1.3), 88 (1.6), 89 (1.8) and 92 % (2.2) of the
root's counts at epsilon 1/10, and 86, 91, 93, 94 and 96 % of its cumulative counts.
"""

DRAWS = 64
"""How many errors of the prior are looked at."""

LEAST_AT_ONCE = 8
"""So many at a time at least, which a processor computes together."""

INNER_SHARE = 4
"""Errors of inner regions are kept for as many draws at a time as take this part of 8 bytes per cell, if they can."""

CHILDREN_AT_ONCE = 32
"""Siblings whose errors one thread adds up; sums are formed over such parts, so that they have the same bits."""


def prior_error(learned: Learned, found: Marginals, propagation: Propagation) -> dict[View, np.ndarray]:
    """Compute the variances of the errors of counts and of cumulative counts from those of the prior.

    A pass from the leaves up adds up the errors of children, a pass down carries what is left to them (`propagation`).
    Errors of leaves are computed in both passes, as all of them would not fit.

    Args:
        learned: the prior.
        found: the posteriors of regions alone under it.
        propagation: of the joint projection.

    Returns:
        Variances of every view, float32, shape (regions, K + 1).

    Raises:
        MemoryNeededError: the errors of inner regions do not fit.

    Complexity: O(DRAWS x regions x sizes), of sizes that are not settled.
    """
    knots, tree = learned.model.knots, learned.model.tree
    n_knots, n_own, (n_regions, n_sizes) = len(knots.at), len(knots.own), found.mean.shape
    n_cells, inner_cells = found.mean.size, learned.model.n_inner * n_sizes
    at_once = max(LEAST_AT_ONCE, min(DRAWS, n_cells // (INNER_SHARE * inner_cells)))
    of_f = 8 * DRAWS * n_regions * (n_knots + 2 * n_own)
    of_families = n_cells // CHILDREN_AT_ONCE + inner_cells
    memory.require(
        of_f + 8 * at_once * (4 * inner_cells + of_families), f"the errors of the prior of {n_regions:,} regions"
    )
    of_deviations = np.split(_signs(n_regions * n_own, 2).reshape(n_regions, n_own, DRAWS), tree.level_start[1:-1])
    errors = errors_of_priors(learned, _signs(n_knots, 1), of_deviations)
    counts, cumulative = np.zeros((2, n_regions, n_sizes), np.float32)
    for start in range(0, DRAWS, at_once):
        own = ErrorsOfMeans(learned, found, errors, slice(start, min(start + at_once, DRAWS)))
        _add_squares(learned.model, own, propagation, counts, cumulative)
    return {View.COUNTS: counts, View.CUMULATIVE: cumulative}


def _add_squares(
    model: PriorModel,
    own: "ErrorsOfMeans",
    propagation: Propagation,
    counts: np.ndarray,
    cumulative: np.ndarray,
) -> None:
    """Add the mean squares of the errors of the joint projection to every region's cells, of counts and of c."""
    from pgsr.estimators.posterior.prior_error_kernel import add_squares

    tree, threads = model.tree, Threads(DRAWS * model.sizes.n_cells)
    z: dict[int, np.ndarray] = {}
    families = {
        region: [
            slice(start, min(start + CHILDREN_AT_ONCE, int(tree.first_child[region + 1])))
            for start in range(int(tree.first_child[region]), int(tree.first_child[region + 1]), CHILDREN_AT_ONCE)
        ]
        for region in range(tree.n_inner)
    }

    def added(children: slice) -> np.ndarray:
        total = np.zeros(own.shape)
        for child in range(children.start, children.stop):
            total += z[child] if child in z else own(child)
        return total

    def carried(region: int, x: np.ndarray) -> None:
        add_squares(x, DRAWS, cumulative[region], counts[region])

    left: dict[int, np.ndarray] = {}  # x[parent] less the sum of its children's z
    for level in reversed(range(tree.n_levels - 1)):
        inner = range(*tree.level(level).indices(tree.n_inner))
        parts = [part for region in inner for part in families[region]]
        sums = iter(threads(added, parts))
        for region in inner:
            total = sum((next(sums) for _ in families[region]), np.zeros(own.shape))
            z[region], left[region] = own(region), total
            z[region] += propagation.below[region] * (total - z[region])
    if not tree.n_inner:
        carried(0, own(0))
        return

    def hand_down(part: tuple[int, slice]) -> None:
        parent, children = part
        for child in range(children.start, children.stop):
            x = z[child] if child in z else own(child)
            x += propagation.share[child] * left[parent]
            carried(child, x)

    carried(0, z[0])
    for level in range(tree.n_levels - 1):
        inner = range(*tree.level(level).indices(tree.n_inner))
        for region in inner:
            left[region] = z[region] - left[region]
        threads(hand_down, [(region, part) for region in inner for part in families[region]])


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

    def __init__(self, learned: Learned, found: Marginals, errors: Mapping[int, np.ndarray], draws: slice) -> None:
        """Take some of the draws of `errors_of_priors`."""
        self._errors, self._draws, self._knots = errors, draws, learned.model.knots
        self._known = found.variance, found.step_variance, found.prior_mean, found.shape
        self.shape = found.mean.shape[1], draws.stop - draws.start

    def __call__(self, region: int) -> np.ndarray:
        """Compute the errors of a region; shape (K + 1, draws), 0 where nothing was measured."""
        from pgsr.estimators.posterior.prior_error_kernel import mean_errors

        if region not in self._errors:
            return np.zeros(self.shape)
        variance, step_variance, mu, shape = (table[region] for table in self._known)
        knots, out = self._knots, np.empty(self.shape)
        of_f = np.array(self._errors[region][:, self._draws], order="C")
        room = np.empty(len(mu)), np.empty((2, out.shape[1]))
        mean_errors((variance, step_variance), (mu, shape / (shape + mu)), (knots.left, knots.part), of_f, room, out)
        return out


def _signs(n: int, seed: int) -> np.ndarray:
    """Draw signs, always the same ones; shape (n, draws)."""
    return 2.0 * np.random.Generator(np.random.PCG64(seed)).integers(0, 2, (n, DRAWS), dtype=np.int8) - 1.0
