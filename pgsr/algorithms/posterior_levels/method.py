"""The posterior release with other sizes on every level: regions alone, then all together, then integers."""

from dataclasses import dataclass, field, replace

import numpy as np

from pgsr.algorithms.isotonic import isotonic_l1_middles
from pgsr.algorithms.m_c_levels import CumulativeLevelProjection, LevelRelease
from pgsr.algorithms.m_c_levels.release import precisions, released
from pgsr.algorithms.posterior.evidence import BORDER, KINDS, ROUGH_BORDER
from pgsr.algorithms.posterior.likelihood import Likelihood, refused_law
from pgsr.algorithms.posterior.misfit import WIDE_SHAPE, misfits
from pgsr.algorithms.posterior.prior import COUNT_NOISE, PooledPrior
from pgsr.algorithms.posterior.uncertainty import with_estimated_prior
from pgsr.algorithms.posterior_levels.prior import LevelPrior
from pgsr.algorithms.posterior_levels.uncertainty import LevelUncertainty
from pgsr.algorithms.simplex import simplex_projection
from pgsr.algorithms.tree_rounding import on_grid
from pgsr.checks import require_kind
from pgsr.data.views import View
from pgsr.errors import MethodError, ProblemError
from pgsr.machine.parallel import share
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.laws import Law

_NOTHING = 700.0
"""exp(-700) is as good as nothing: beyond this loss in multiples of the noise's scale powers are not told apart."""


@dataclass(frozen=True)
class LevelPosterior:
    """Makes a release from the posterior of every region's cumulative counts, with sizes per level.

    1. Every region alone, `rounds` times: the posterior means of its cumulative counts over its level's sizes, by
       forward-backward under the exact law of the noise, with prior means that the regions around it gave in the round
       before (`LevelPrior`).
    2. All regions together, weighed by the precision of their level's noise (`CumulativeLevelProjection`).
    3. Integers, from the root down (`counts_near`).

    The counts are integer, non-negative, add up and have the public totals. They are the optimum of no stated problem.
    Of noisy cumulative counts the result knows its intervals (`LevelUncertainty`). Of noisy counts it does not: its
    cumulative counts then rest on the estimated prior, whose errors no variance of a region alone tells. Draws, which
    `Posterior` has, are not offered with sizes per level.

    Args:
        rounds: how often priors are estimated anew; 3 are enough.
        prior: the numbers of the rule by which they are.
        projection: solves step 2.

    Complexity: O(rounds x cells x width of the windows x steps with prior mass).

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> from pgsr.data.counts_by_level import CountsByLevel
        >>> from pgsr.noise import measured_by_level
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> noisy = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("demo"), "demo")
        >>> [table.tolist() for table in LevelPosterior().apply(noisy).counts.tables]
        [[[2, 29, 9, 20]], [[1, 19, 10], [1, 10, 19]]]

    Extends: `Posterior`, to sizes per level. Shown by `tests/test_posterior_levels.py`.
    """

    rounds: int = 3
    prior: PooledPrior = field(default_factory=PooledPrior)
    projection: CumulativeLevelProjection = field(default_factory=CumulativeLevelProjection)

    def __post_init__(self) -> None:
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise MethodError(f"rounds={self.rounds!r}; give a whole number from 1 up")
        require_kind(self.prior, PooledPrior, "prior", "give PooledPrior()")

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        if measurement.totals is None:
            return "only the root's total is public here, Posterior needs every region's; measure with totals='regions'"
        too_wide = (reason for law in measurement.laws if (reason := refused_law(law)) is not None)
        return next(too_wide, None)

    def apply(self, measurement: MeasurementByLevel) -> LevelRelease:
        """Make a release.

        Raises:
            ProblemError: only the root's total is public.
        """
        require_kind(measurement, MeasurementByLevel, "the measurement", "give what measured_by_level returned")
        knows = measurement.view is View.CUMULATIVE
        found = self.marginals(measurement, with_steps=knows)
        release = released(measurement, _without_totals(found.means), self.projection)
        if not knows or release.joint is None:
            return release
        totals, weights = measurement.totals_by_level(), precisions(measurement.laws)
        centre = [on_grid(table) for table in release.joint.tables]
        about = measurement.hierarchy, weights, totals, centre, found.variances, found.steps
        return replace(release, uncertainty=LevelUncertainty(*about))

    def alone(self, measurement: MeasurementByLevel) -> list[np.ndarray]:
        """Compute the values to project: posterior means without the totals; shape (regions of the level, K) each."""
        return _without_totals(self.means(measurement))

    def means(self, measurement: MeasurementByLevel) -> list[np.ndarray]:
        """Compute the posterior means of all regions alone (step 1); shape (regions of the level, K + 1) per level.

        Raises:
            ProblemError: only the root's total is public.
        """
        return self.marginals(measurement, with_steps=False).means

    def marginals(self, measurement: MeasurementByLevel, *, with_steps: bool = True) -> "LevelMarginals":
        """Compute the posterior of all regions alone (step 1), with or without the variances of counts.

        Raises:
            ProblemError: only the root's total is public.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        totals, laws = measurement.totals_by_level(), measurement.laws
        precision = [2 / float(law.variance_bound) for law in laws]
        noise = [float(law.variance_bound) * COUNT_NOISE[measurement.view] for law in laws]
        prior = LevelPrior(self.prior, measurement.hierarchy, totals, precision, noise)
        tables = [np.ascontiguousarray(table, np.int64) for table in measurement.values.tables]
        means = [_pilot(measurement.view, *pair) for pair in zip(tables, totals, strict=True)]
        variances = [np.empty(mean.shape, np.float32) for mean in means]
        steps = [np.empty(mean.shape if with_steps else (0, mean.shape[1]), np.float32) for mean in means]
        for turn in range(self.rounds):
            last = turn == self.rounds - 1
            for level, rows, mu in prior.means(means):
                about = tables[level][rows], totals[level][rows], laws[level], measurement.view
                wanted = steps[level][rows] if last else steps[level][:0]
                filled = means[level][rows], variances[level][rows], wanted
                wide = self._misfits(measurement, level, means[level][rows], mu)
                self._improve(*about, mu, wide, *filled, turn == 0, BORDER if last else ROUGH_BORDER)
                if len(wanted):
                    of_prior = self.prior.shapes(mu.shape[1]), self.prior.cells(mu.shape[1])
                    wanted[:] = with_estimated_prior(wanted, mu, wide, *of_prior)
        return LevelMarginals(means, variances, steps)

    def _misfits(self, measurement: MeasurementByLevel, level: int, means: np.ndarray, mu: np.ndarray) -> np.ndarray:
        if measurement.view is not View.CUMULATIVE:
            return np.zeros(mu.shape, bool)
        return misfits(means, mu, float(measurement.laws[level].variance_bound), self.prior.shapes(mu.shape[1]))

    def _improve(
        self,
        y: np.ndarray,
        total: np.ndarray,
        law: Law,
        view: View,
        mu: np.ndarray,
        wide: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        steps: np.ndarray,
        first: bool,
        border: float,
    ) -> None:
        """Replace the means and variances of some regions of a level by those of their posterior; fill `steps`.

        The shape of the prior is `WIDE_SHAPE` where it is `wide`.
        """
        from pgsr.algorithms.posterior.rows_kernel import posterior_rows

        deviation = float(law.variance_bound) ** 0.5
        half = float(int(20 + 7 * deviation) if view is View.COUNTS else int(8 + 2.1 * deviation))
        likelihood = Likelihood.of(law, int(min(total.max(initial=0) + 1, _NOTHING * deviation + 2)))
        n_sizes = y.shape[1]
        up_to = n_sizes - (view is View.CUMULATIVE)
        powers = likelihood.law, likelihood.coarse, likelihood.fine
        shapes = np.where(wide, WIDE_SHAPE, self.prior.shapes(n_sizes))
        filled = mu, shapes, border, mean, variance, steps
        about = KINDS[view], y, *powers, up_to, deviation, total, half, first
        share(posterior_rows, range(len(y)), 20 * n_sizes, *about, *filled)


@dataclass(frozen=True, eq=False)
class LevelMarginals:
    """The posterior of the cumulative counts of every region alone; one table per level, shape (regions, K + 1).

    Attributes:
        means: E c[s].
        variances: Var c[s], float32.
        steps: Var x[s] of the counts, where prior means are known to be estimates, float32; of no rows if not wanted.
    """

    means: list[np.ndarray]
    variances: list[np.ndarray]
    steps: list[np.ndarray]


def _without_totals(means: list[np.ndarray]) -> list[np.ndarray]:
    return [np.ascontiguousarray(mean[:, :-1]) for mean in means]


def _pilot(view: View, y: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Guess cumulative counts without a prior, as `Evidence.pilot` does; float64, shape (regions, K + 1)."""
    if view is View.CUMULATIVE:
        return np.append(np.floor(isotonic_l1_middles(y[:, :-1], totals)), totals[:, None], axis=1)
    return np.cumsum(simplex_projection(y, totals, integer=True), axis=1, dtype=float)
