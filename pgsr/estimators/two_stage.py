"""The two-stage release of cumulative measurements: every region alone in L1, then all together in L2."""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.isotonic.regression import isotonic_l1_middles, isotonic_l2
from pgsr.algorithms.m_c.joint import integers_of, joint_problem, projected
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, counts_of_ranked
from pgsr.errors import ProblemError
from pgsr.estimators.sizes_per_level import refused_sizes
from pgsr.machine.blocks import row_blocks
from pgsr.methods.gate import Deadline, Stopped, judged_release
from pgsr.methods.method import Result, Seconds
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.precisions import refused_weights

"""The method of step 2."""


@dataclass(frozen=True)
class TwoStage:
    """Makes a release of cumulative measurements, of any depth and split of the budget, in two stages.

    1. Every measured region r alone: L1 isotonic regression of its noisy cumulative counts, with the last cell fixed
       where it is public. Its optima lie between a smallest A[r] and a largest B[r]; a[r] = (A[r] + B[r]) / 2 is taken
       as it is, not rounded. A median is exactly right on long flat tails, where a mean follows the noise. Of a split
       view these are the sizes below the threshold; beyond it a[r] counts groups by the L2 isotonic regression of what
       ranks have beyond the threshold, and no cumulative count is below the one before.
    2. All regions together: with epsilon[r] what was spent on r's level,

           minimise    sum over measured regions r, sizes s of  epsilon[r]^2 (x[r, s] - a[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],
                       x[root, K] = G, or x[r, K] = G[r] in every region where that is public.

    3. Integers next to x, from the root down (`pgsr.algorithms.tree_rounding`).

    The result has integer, non-negative counts and the public numbers of groups, and adds up. A level with epsilon 0
    has no say. It is the optimum of no stated problem, so its certificate counts violations only.

    Args:
        integer: whether step 3 is done. Without it the answer is fractional, so no release.

    Shapes: any number of levels and sizes. Complexity: O(cells log sizes), the projection, and
    O(cells) for integers.

    Status: FEASIBLE; RELAXED without step 3; TIMED_OUT (checked between the steps and between regions).

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 9, 0, 1], [0, 8, 5, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1, totals="regions").measure(truth, Seeded("demo"))
        >>> TwoStage().apply(noisy).estimate.counts().counts.sum(axis=1)
        array([24, 10, 14])

    Extends: H_c of Kuo et al. 2018, section 4.3, by the middle of its optima, and the relaxed M_c of Fioretto and Van
    Hentenryck 2019, section 8, to fitted instead of noisy values. Shown by
    `test_algorithms_two_stage.py`.
    """

    integer: bool = True

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        return _refusal(self, measurement) or refused_sizes(measurement) or refused_weights(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        deadline = Deadline(checked_limit(time_limit))
        try:
            values, solved = self._together(measurement, deadline), deadline.spent
            if not self.integer:
                seconds = Seconds(solve=solved, compile=deadline.compiling)
                return judged_release(measurement, Estimate(measurement.hierarchy, View.CUMULATIVE, values), seconds)
            x = integers_of(measurement, values, deadline)
        except Stopped as refused:
            return Result(refused.status, refused.reason, seconds=Seconds(solve=deadline.spent))
        seconds = Seconds(solve=solved, round=deadline.spent - solved, compile=deadline.compiling)
        return judged_release(measurement, Estimate(measurement.hierarchy, View.CUMULATIVE, x), seconds)

    def _together(self, measurement: Measurement, deadline: Deadline) -> np.ndarray:
        """Do the first two steps: real cumulative counts, shape (regions, K + 1)."""
        twice = self.twice_alone(measurement)  # in halves, so that the fits are integers
        return projected(joint_problem(measurement, twice, 2, "M_c of fitted values"), 2, deadline)

    def twice_alone(self, measurement: Measurement) -> np.ndarray:
        """Compute 2 a[r] (step 1), which is integer, and 0 where a region is not measured; shape (regions, K + 1)."""
        tree = measurement.hierarchy
        out = np.zeros((tree.n_regions, measurement.max_size + 1), np.int64)
        if measurement.has_ranks:
            for region in np.flatnonzero(measurement.measured).tolist():
                out[region] = _twice_joined(measurement, region)
            return out
        for level, noisy in enumerate(measurement.tables):
            here = tree.level(level)
            twice = out[here]
            public = measurement.public is not Totals.ROOT or level == 0
            groups = measurement.totals[here] if public else np.full(len(noisy), measurement.root_total)
            measured = np.flatnonzero(measurement.measured[here])
            for block in row_blocks(slice(0, len(measured)), noisy.shape[1]):
                rows = measured[block]
                fitted = noisy[rows, :-1] if public else noisy[rows]
                twice[rows, : fitted.shape[1]] = _twice_fitted(fitted, groups[rows])
            if public:
                twice[measured, -1] = 2 * groups[measured]
        return out

    def __repr__(self) -> str:
        return "TwoStage()" if self.integer else "TwoStage(integer=False)"


def _twice_fitted(rows: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Compute twice the middle of the L1 optima of every row within 0..most; int64, of the shape of `rows`."""
    return (2 * isotonic_l1_middles(rows, most)).astype(np.int64)


def _twice_joined(measurement: Measurement, region: int) -> np.ndarray:
    """Compute 2 a[r] of a region whose columns and rows are fitted each alone; shape (K + 1,)."""
    view, values = measurement.view_of(region), measurement.row(region)
    largest, total = measurement.max_size, int(measurement.region_totals[region])
    threshold = min(view.ranked_from(largest), largest)
    beyond = values[threshold:] if view.mixed else values[:0]  # a cumulative count of all groups is no rank
    below = _twice_fitted(values[None, :threshold], np.array([total]))[0]
    fitted = isotonic_l2(beyond[None], np.array([0]), np.array([largest - threshold]))[0]
    ranks = total - len(beyond) + np.cumsum(counts_of_ranked(fitted, largest - threshold))
    return np.maximum.accumulate(np.append(below, 2 * ranks))


def _refusal(method: object, measurement: Measurement) -> str | None:
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    name = type(method).__name__
    if not all(view is View.CUMULATIVE or view.mixed for view in measurement.kinds):
        return f"{name} needs View.CUMULATIVE or a Split on every level, this measurement is of {measurement.label}"
    if not measurement.measured[measurement.hierarchy.leaves].all():
        return f"{name} needs measured leaves; give the last level a share of epsilon"
    return None
