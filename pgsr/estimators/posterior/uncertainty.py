"""Intervals that say how far a posterior release may be from the truth, cell by cell.

**Errors of regions alone** are those of their posteriors, as if they were independent, carried through the joint
projection (`propagation`). The prior is an estimate: its errors are common to regions, `prior_error`.

**The inequalities of the joint projection** move its answer where they bind: many leaves with a little posterior mean
each keep it, though their parent says that there is less. So an interval reaches around both x, the answer with the
inequalities, and the answer without them.

**Where little is gained, the noise alone speaks.** The noisy values, carried through the same projection, have no
prior, no bias, and a variance that is known. Let R be the standard deviation of the errors above by that of this noise.
Up to R = 0.7 an interval is the one above. From R = 0.9 on it is that of the noisy values alone. In between the ends
move from one to the other, so that the last digits of R change nothing much. Ranked sizes have no such values; of
measurements that hold some, intervals stay the ones above, and of split views those from the smallest threshold on.

**Rounding to integers is no error of the posterior.** Where a region is expected to have 0.03 groups of each of many
sizes, integers put one group at one size. So intervals lie around real answers, not around the released integers, and
are widened to hold the integer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from pgsr.data.estimate import Estimate
from pgsr.data.intervals import Intervals
from pgsr.data.views import AnyView, View
from pgsr.errors import ArgumentError, NoEstimateError
from pgsr.estimators.posterior.evidence import Marginals
from pgsr.estimators.posterior.learned import Learned
from pgsr.estimators.posterior.prior_error import prior_error
from pgsr.estimators.posterior.propagation import Propagation
from pgsr.noise.measurement import Measurement, Totals

GAIN = (0.7, 0.9)
"""The ratio R up to which intervals are those of the posterior, and the one from which on the noise alone is used."""

BLOCK_CELLS = 4_000_000
"""Cells whose errors are computed at a time."""


@dataclass(frozen=True, eq=False)
class Reach:
    """The reach of the intervals of one view, from low - z sd to high + z sd; shape (regions, K + 1) each.

    Attributes:
        low, high: real values, float64.
        sd: standard deviations, float32.
        moved: how far an end lies from that of the other kind of interval where both have a part in it, float32; an
            error of R by d changes the end by about 5 d times this.
    """

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    moved: np.ndarray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> "Reach":
        real, single = (lambda: np.empty(shape)), (lambda: np.empty(shape, np.float32))
        return cls(real(), real(), single(), single())


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The errors that a release may have, given the noisy values, as the module says.

    Attributes:
        counts, cumulative: of the counts, and of the cumulative counts; the latter None where counts were measured. A
            sum of many of them depends on the prior more than on their own noise: 25 to 50 % of 8 releases held the
            nation's numbers of households with at most 7 and 8 members (51 states, epsilon 1).
        most: no cumulative count is larger, shape (regions,).
        fixed: whether the last cumulative count is public.

    Shown by `test_posterior_uncertainty.py` and `test_posterior_prior_error.py`.
    """

    counts: Reach
    cumulative: Reach | None
    most: np.ndarray
    fixed: bool

    @staticmethod
    def is_known(measurement: Measurement) -> bool:
        """Tell whether intervals may be made: of cumulative counts, also beside ranks, or of counts alone."""
        return _with_columns(measurement.kinds) or measurement.kinds == {View.COUNTS}

    @classmethod
    def of(cls, measurement: Measurement, found: Marginals, learned: Learned, centre: np.ndarray) -> "Uncertainty":
        """Carry the errors of all regions through the joint projection, whose answer is `centre`.

        Args:
            found: the posteriors of regions alone.
            learned: their prior.
            centre: cumulative counts before they were rounded, in multiples of 1/1024.

        Complexity: O(levels x regions x sizes), in blocks of sizes.
        """
        tree, shape = measurement.hierarchy, centre.shape
        made = Reach.empty(shape), Reach.empty(shape)  # of counts, of cumulative counts
        step = max(1, BLOCK_CELLS // len(centre))
        parts = [slice(start, min(start + step, shape[1])) for start in range(0, shape[1], step)]
        propagation = Propagation.of(measurement)
        errors = _Errors(measurement, found, centre, propagation, prior_error(learned, found, propagation))
        for sizes in parts:
            for reach, part in zip(made, errors.reaches(sizes), strict=True):
                for name, values in vars(part).items():
                    getattr(reach, name)[:, sizes] = values
        root_alone = measurement.public is Totals.ROOT
        most = np.full(tree.n_regions, measurement.root_total) if root_alone else measurement.region_totals
        of_cumulative = made[1] if _with_columns(measurement.kinds) else None
        return cls(made[0], of_cumulative, most, not root_alone)

    def reach(self, view: View) -> Reach:
        """Give where the intervals of `View.COUNTS` or `View.CUMULATIVE` lie.

        Raises:
            ArgumentError: another view.
            NoEstimateError: of cumulative counts, where counts were measured.
        """
        if view not in (View.COUNTS, View.CUMULATIVE):
            raise ArgumentError(f"intervals of {view!r}; give View.COUNTS or View.CUMULATIVE")
        if view is View.COUNTS:
            return self.counts
        if self.cumulative is None:
            raise NoEstimateError(
                "a posterior of noisy counts knows intervals of the counts, and none of sums of many of them; give "
                "View.COUNTS, or ask pgsr.intervals for a band"
            )
        return self.cumulative

    def intervals(self, estimate: Estimate, level: float, view: View) -> Intervals:
        """The intervals of all cells: low - z sd to high + z sd, z the (1 + level) / 2 quantile of the normal law.

        They are widened to hold the estimate. Ends are rounded to the nearest integers, which widens an interval by
        half a group at each end on average. So intervals cover more than `level` where the standard deviation is of the
        order of 1, and are one integer where the posterior has no doubt. Integers within the real ends would cover
        `level` on average over cells, but below it where the prior means, which are estimates, matter (84 % instead of
        90 % on the made data of the tests).

        Args:
            estimate: the release.
            level: of each interval by itself, between 0 and 1.
            view: `View.COUNTS` or `View.CUMULATIVE`.

        Raises:
            ArgumentError: another view, or a level that is no chance.
            NoEstimateError: as `reach`.
        """
        reach, counts = self.reach(view), np.asarray(estimate.as_counts)
        values = counts if view is View.COUNTS else np.cumsum(counts, axis=1)
        lower, upper = ends(values, (reach.low, reach.high), reach.sd, level, self.most[:, None])
        if view is View.CUMULATIVE and self.fixed:
            lower[:, -1] = upper[:, -1] = values[:, -1]
        statistic = "count" if view is View.COUNTS else "cumulative"
        return Intervals(estimate.hierarchy, statistic, level, lower, values, upper, "posterior")


def ends(
    values: np.ndarray,
    between: tuple[np.ndarray, np.ndarray],
    deviations: np.ndarray,
    level: float,
    most: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ends of intervals around real values, widened to hold the released ones.

    Args:
        values: the released values, int64.
        between: the smaller and the larger real value that an interval lies around, of the same shape.
        deviations: the standard deviations of their errors, of the same shape.
        level: of each interval by itself.
        most: the largest values, of a shape that goes with `values`.

    Raises:
        ArgumentError: the level is no chance.
    """
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ArgumentError(f"level={level!r}; give the chance that an interval is to hold, such as 0.9")
    half = float(ndtri((1 + level) / 2)) * deviations
    sides = zip(between, (-half, half), strict=True)
    lower, upper = (np.clip(np.rint(real + side), 0, most).astype(np.int64) for real, side in sides)
    return np.minimum(lower, values), np.maximum(upper, values)


@dataclass(frozen=True, eq=False)
class _Errors:
    """The errors of all regions, some sizes at a time; attributes as the arguments of `Uncertainty.of`."""

    measurement: Measurement
    found: Marginals
    centre: np.ndarray
    propagation: Propagation
    of_prior: Mapping[View, np.ndarray]

    def reaches(self, sizes: slice) -> tuple[Reach, Reach]:
        """Compute where the intervals of counts and of cumulative counts of these sizes lie."""
        found, known = self.found, np.arange(sizes.start, sizes.stop) < self._columns
        counts = _steps(self.centre, sizes), _steps(found.mean, sizes), found.step_variance[:, sizes]
        cumulative = self.centre[:, sizes], found.mean[:, sizes], found.variance[:, sizes]
        return (
            self._reach(*counts, self.of_prior[View.COUNTS][:, sizes], self._noisy_counts(sizes), known),
            self._reach(*cumulative, self.of_prior[View.CUMULATIVE][:, sizes], self._noisy_cumulative(sizes), known),
        )

    def _reach(
        self,
        answer: np.ndarray,
        means: np.ndarray,
        own: np.ndarray,
        of_prior: np.ndarray,
        noisy: tuple[np.ndarray, np.ndarray] | None,
        known: np.ndarray,
    ) -> Reach:
        """Compute where intervals lie; shape (regions, sizes) each.

        Args:
            answer: of the joint projection.
            means, own: posterior means of regions alone and their variances.
            of_prior: variances of the answer's errors from the prior.
            noisy: noisy values and the variances of their noise, None where ranked sizes were measured.
            known: which of the sizes have noisy values; shape (sizes,).
        """
        carried, plain = self.propagation.variances(own), self.propagation.errors(means)
        low, high = np.minimum(answer, plain), np.maximum(answer, plain)
        sd, moved = np.sqrt(carried + of_prior), np.zeros(low.shape)
        if noisy is not None:
            bare, noise = self.propagation.errors(noisy[0]), np.sqrt(self.propagation.variances(noisy[1]))
            ratio = np.divide(sd, noise, out=np.ones(sd.shape), where=noise > 0)
            part = np.where(known, np.clip((ratio - GAIN[0]) / (GAIN[1] - GAIN[0]), 0, 1), 0)
            between = (part > 0) & (part < 1)
            moved = np.where(between, np.abs(bare - low) + np.abs(bare - high) + 3 * np.abs(noise - sd), 0)
            low, high, sd = (start + part * (end - start) for start, end in ((low, bare), (high, bare), (sd, noise)))
        return Reach(low, high, sd.astype(np.float32), moved.astype(np.float32))

    def _noisy_cumulative(self, sizes: slice) -> tuple[np.ndarray, np.ndarray] | None:
        """Give the noisy cumulative counts of these sizes, and the variances of their noise; None without such."""
        if self.measurement.view is View.COUNTS or sizes.start >= self._columns:
            return None
        values, variances = self._measured(sizes)
        known = slice(0, 1) if self.measurement.public is Totals.ROOT else slice(None)
        if sizes.stop == self._columns == self.centre.shape[1]:  # public numbers of groups have no noise
            values[known, -1], variances[known, -1] = self.found.mean[known, -1], 0.0
        return values, variances

    def _noisy_counts(self, sizes: slice) -> tuple[np.ndarray, np.ndarray] | None:
        """Give the noisy counts of these sizes, or differences of cumulative counts, and their noise's variances."""
        if self.measurement.view is View.COUNTS:
            return self._measured(sizes)
        before = slice(max(sizes.start - 1, 0), sizes.stop)
        found = self._noisy_cumulative(before)
        if found is None:
            return None
        values, variances = found
        values, variances = np.diff(values, prepend=0.0, axis=1), variances + _shifted(variances)
        return values[:, sizes.start - before.start :], variances[:, sizes.start - before.start :]

    def _measured(self, sizes: slice) -> tuple[np.ndarray, np.ndarray]:
        """Give the noisy values of these sizes, and the variances of their noise; 0 where nothing was measured."""
        measured, here = self.measurement.measured, slice(sizes.start, min(sizes.stop, self._columns))
        values, first = np.zeros((len(measured), sizes.stop - sizes.start)), self.measurement.first_cell[:-1][measured]
        values[measured, : here.stop - here.start] = self.measurement.cells[first[:, None] + np.r_[here]]
        return values, np.repeat(self._noise[:, None], values.shape[1], axis=1)

    @cached_property
    def _columns(self) -> int:
        """The number of sizes, from 0 on, that have a noisy value of their own in every measured region."""
        return min(view.ranked_from(self.measurement.max_size) for view in self.measurement.kinds)

    @property
    def _noise(self) -> np.ndarray:
        """The variance of the noise in every value of a region, 0 of regions that were not measured."""
        laws = [
            self.measurement.law(r) if is_measured else None for r, is_measured in enumerate(self.measurement.measured)
        ]
        return np.array([0.0 if law is None else float(law.variance_bound) for law in laws])


def _with_columns(views: frozenset[AnyView]) -> bool:
    """Tell whether cumulative counts were measured, if only of some sizes."""
    return any(view is View.CUMULATIVE or view.mixed for view in views)


def _steps(cumulative: np.ndarray, sizes: slice) -> np.ndarray:
    """Give the counts of some sizes from cumulative counts of all."""
    if sizes.start:
        return np.diff(cumulative[:, sizes.start - 1 : sizes.stop], axis=1)
    return np.diff(cumulative[:, sizes], prepend=0.0, axis=1)


def _shifted(values: np.ndarray) -> np.ndarray:
    out = np.zeros(values.shape)
    out[:, 1:] = values[:, :-1]
    return out
