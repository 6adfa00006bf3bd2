"""Intervals that say how far a posterior release may be from the truth, cell by cell."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pgsr.algorithms.posterior.evidence import Marginals
from pgsr.algorithms.posterior.misfit import WIDE_SHAPE
from pgsr.algorithms.posterior.prior import PooledPrior
from pgsr.algorithms.posterior.propagation import Propagation
from pgsr.cell_intervals import CellIntervals
from pgsr.errors import ArgumentError
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement, Totals
from pgsr.views import View


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard deviations of the errors of a release, given the noisy values; shape (regions, K + 1) each.

    They are those of the posterior of every region alone, carried through the joint projection (`propagation`) as if
    the errors of regions were independent. What regions share, the estimated prior, is not in them; where it matters
    is measured by nested replicates and stated in the documentation of intervals.

    **Counts: the prior means are estimates, too.** With prior variance P = mu + mu^2 / shape and posterior variance V
    of a count, a normal approximation has E x = k y + (1 - k) mu with 1 - k = V / P and noise of variance
    P V / (P - V). If mu is a mean over n cells, its variance is (P + P V / (P - V)) / n = P^2 / (P - V) / n, which adds

        (V / P)^2 P^2 / (P - V) / n = V (V / P) / (1 - V / P) / n

    to the error's variance; no more than V is added. Cumulative counts are seen directly and need nothing.

    **Rounding to integers is no error of the posterior.** Where a region is expected to have 0.03 groups of each of
    many sizes, integers put one group at one size. So intervals lie around the real answer of the joint projection,
    not around the released integers, and are widened to hold the integer.

    Attributes:
        centre: the real cumulative counts before they were rounded, in multiples of 1/1024; float64.
        cumulative: standard deviations of cumulative counts, float32.
        counts: those of counts, float32.
        most: no cumulative count is larger, shape (regions,).
        fixed: whether the last cumulative count is public.
    """

    centre: np.ndarray
    cumulative: np.ndarray
    counts: np.ndarray
    most: np.ndarray
    fixed: bool

    @staticmethod
    def is_known(measurement: Measurement) -> bool:
        """Tell whether intervals may be made: of cumulative counts, also beside ranked sizes of small regions.

        Where counts or ranked sizes alone were measured, a sum over many cells depends on the estimated prior more than
        on their own noise, which no variance here tells: nominal 90 % held 48 to 58 % of the root's cumulative counts.
        """
        views = set(measurement.view) if isinstance(measurement.view, tuple) else {measurement.view}
        return View.CUMULATIVE in views and View.COUNTS not in views

    @classmethod
    def of(cls, measurement: Measurement, found: Marginals, prior: PooledPrior, centre: np.ndarray) -> "Uncertainty":
        """Carry the posterior variances of all regions through the joint projection, whose answer is `centre`."""
        n_sizes = measurement.max_size + 1
        about = prior.shapes(n_sizes), prior.cells(n_sizes)
        steps = with_estimated_prior(found.step_variance, found.prior_mean, found.wide, *about)
        tree, propagation = measurement.hierarchy, Propagation.of(measurement)
        cumulative, counts = (np.sqrt(propagation.variances(own)).astype(np.float32) for own in (found.variance, steps))
        root_alone = measurement.public is Totals.ROOT
        most = np.full(tree.n_regions, measurement.root_total) if root_alone else measurement.region_totals
        return cls(centre, cumulative, counts, most, not root_alone)

    def deviations(self, view: View) -> np.ndarray:
        """Give the standard deviations of `View.COUNTS` or `View.CUMULATIVE`.

        Raises:
            ArgumentError: another view.
        """
        if view not in (View.COUNTS, View.CUMULATIVE):
            raise ArgumentError(f"intervals of {view!r}; give View.COUNTS or View.CUMULATIVE")
        return self.counts if view is View.COUNTS else self.cumulative

    def centres(self, view: View) -> np.ndarray:
        """Give the real counts or cumulative counts that intervals lie around, shape (regions, K + 1)."""
        return np.diff(self.centre, prepend=0.0, axis=1) if view is View.COUNTS else self.centre

    def intervals(self, estimate: Estimate, level: float, view: View) -> CellIntervals:
        """The intervals of all cells: centre -+ z sd, z the (1 + level) / 2 quantile of the normal law.

        They are widened to hold the estimate. Ends are rounded to the nearest integers, which widens an interval by
        half a group at each end on average. So intervals cover more than `level` where the standard deviation is of the
        order of 1, and are one integer where the posterior has no doubt. Integers within centre -+ z sd would cover
        `level` on average over cells, but below it where the prior means, which are estimates, matter (84 % instead of
        90 % on the made data of the tests).

        Args:
            estimate: the release.
            level: of each interval by itself, between 0 and 1.
            view: `View.COUNTS` or `View.CUMULATIVE`.

        Raises:
            ArgumentError: another view, or a level that is no chance.
        """
        sd = self.deviations(view)
        counts = np.asarray(estimate.as_counts)
        values = counts if view is View.COUNTS else np.cumsum(counts, axis=1)
        lower, upper = ends(values, self.centres(view), sd, level, self.most)
        if view is View.CUMULATIVE and self.fixed:
            lower[:, -1] = upper[:, -1] = values[:, -1]
        return CellIntervals(estimate.hierarchy, view, level, values, lower, upper)


def ends(
    values: np.ndarray, centre: np.ndarray, deviations: np.ndarray, level: float, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ends of intervals around real values, widened to hold the released ones.

    Args:
        values: the released values, int64, shape (regions, K + 1).
        centre, deviations: real values and the standard deviations of their errors, of the same shape.
        level: of each interval by itself.
        most: the largest value of every region, shape (regions,).

    Raises:
        ArgumentError: the level is no chance.
    """
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ArgumentError(f"level={level!r}; give the chance that an interval is to hold, such as 0.9")
    half = float(ndtri((1 + level) / 2)) * deviations
    lower, upper = (np.clip(np.rint(centre + side), 0, most[:, None]).astype(np.int64) for side in (-half, half))
    return np.minimum(lower, values), np.maximum(upper, values)


def with_estimated_prior(
    step_variance: np.ndarray, prior_mean: np.ndarray, wide: np.ndarray, shapes: np.ndarray, cells: np.ndarray
) -> np.ndarray:
    """Add to the variances of counts that of their prior means, which are estimates; see `Uncertainty`.

    Args:
        step_variance, prior_mean: V and mu, shape (regions, K + 1).
        wide: cells whose prior had `WIDE_SHAPE`, same shape.
        shapes, cells: of the prior, and n, shape (K + 1,).
    """
    before = prior_mean * (1 + prior_mean / shapes)
    before[wide] = prior_mean[wide] * (1 + prior_mean[wide] / WIDE_SHAPE)
    part = np.divide(step_variance, before, out=np.zeros_like(before), where=before > 0)
    odds = np.divide(part, 1 - part, out=np.full_like(part, np.inf), where=part < 1)
    return step_variance * (1 + np.minimum(1.0, odds / cells))
