"""The two-stage release of cumulative measurements: every region alone in L1, then all together in L2."""

from dataclasses import dataclass, field, replace

import numpy as np

from pgsr.algorithms.isotonic import Optimum, isotonic_l1
from pgsr.algorithms.m_c import CumulativeProjection
from pgsr.algorithms.m_c_levels import LevelTwoStage
from pgsr.algorithms.sizes_per_level import applied_by_level, refusal_by_level
from pgsr.algorithms.tree_rounding import integers_near
from pgsr.checks import checked_limit, member_of, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MethodError, ProblemError
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline, Stopped, judged_release
from pgsr.methods.method import Method, Result, Seconds
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.problem import Problem, precision_weights, refused_weights


@dataclass(frozen=True)
class TwoStage:
    """Makes a release of cumulative measurements, of any depth and split of the budget, in two stages.

    1. Every measured region r alone: L1 isotonic regression of its noisy cumulative counts, with the last cell fixed
       where it is public. Its optima lie between a smallest A[r] and a largest B[r]; a[r] = (A[r] + B[r]) / 2 is taken
       as it is, not rounded. A median is exactly right on long flat tails, where a mean follows the noise.
    2. All regions together: with epsilon[r] what was spent on r's level,

           minimise    sum over measured regions r, sizes s of  epsilon[r]^2 (x[r, s] - a[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],
                       x[root, K] = G, or x[r, K] = G[r] in every region where that is public.

    3. Integers next to x, from the root down (`pgsr.algorithms.tree_rounding`).

    The result has integer, non-negative counts and the public numbers of groups, and adds up. A level with epsilon 0
    has no say. It is the optimum of no stated problem, so its certificate counts violations only. Where levels have
    sizes of their own, with the arguments' defaults, `pgsr.algorithms.m_c_levels` does the three steps.

    Args:
        optimum: which L1 optimum is a[r].
        integer: whether step 3 is done. Without it the answer is fractional, so no release.
        projection: a method that solves step 2.

    Shapes: any number of levels and sizes. Complexity: O(regions x sizes log sizes), the projection, and O(cells) for
    integers.

    Status: FEASIBLE; RELAXED without step 3; TIMED_OUT (checked between the steps and between regions).

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 9, 0, 1], [0, 8, 5, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1, totals="regions").measure(truth, Seeded("demo"))
        >>> TwoStage().apply(noisy).estimate.counts().counts.sum(axis=1)
        array([24, 10, 14])

    Extends: H_c of Kuo et al. 2018, section 4.3, by the middle of its optima, and the relaxed M_c of Fioretto and Van
    Hentenryck 2019, section 8, to fitted instead of noisy values. Shown by
    `tests/test_algorithms_two_stage.py`.
    """

    optimum: Optimum = Optimum.MIDPOINT
    integer: bool = True
    projection: Method = field(default_factory=CumulativeProjection)

    def __post_init__(self) -> None:
        object.__setattr__(self, "optimum", member_of(Optimum, self.optimum, "optimum", MethodError))
        require_kind(self.projection, Method, "projection", "give a method for the relaxed M_c")

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        reason = _refusal(self, measurement)
        if reason is None and not measurement.sizes.equal:
            return refusal_by_level(self._by_level, measurement)
        return reason or refused_weights(measurement)

    @property
    def _by_level(self) -> LevelTwoStage | None:
        return LevelTwoStage() if self == TwoStage() else None

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        if not measurement.sizes.equal:
            return applied_by_level(self._by_level, measurement, checked_limit(time_limit))
        deadline = Deadline(checked_limit(time_limit))
        tree = measurement.hierarchy
        totals = Totals.ROOT if measurement.public is Totals.ROOT else Totals.REGIONS
        weights = precision_weights(measurement)
        joint = Problem.of(  # in halves, so that the fits are integers
            self._twice_alone(measurement),
            tree,
            View.CUMULATIVE,
            groups=2 * measurement.totals,
            totals=totals,
            weights=weights,
            label="M_c of fitted values",
            integer=False,
        )
        try:
            deadline.check("the joint projection reached")
            together = self.projection.solve(joint, deadline.left)
            if together.answer is None:
                reason = f"no joint projection: {together.reason}"
                return Result(together.status, reason, seconds=Seconds(solve=deadline.spent))
            values, solved = together.answer.values / 2, deadline.spent
            if not self.integer:
                estimate = Estimate(tree, View.CUMULATIVE, values)
                return judged_release(measurement, estimate, Seconds(solve=solved, compile=deadline.compiling))
            known = None if totals is Totals.ROOT else measurement.region_totals
            x = integers_near(tree, values, measurement.root_total, known, deadline)
        except Stopped as refused:
            return Result(refused.status, refused.reason, seconds=Seconds(solve=deadline.spent))
        seconds = Seconds(solve=solved, round=deadline.spent - solved, compile=deadline.compiling)
        return judged_release(measurement, Estimate(tree, View.CUMULATIVE, x), seconds)

    def _twice_alone(self, measurement: Measurement) -> np.ndarray:
        """Compute 2 a[r], which is integer, and 0 where a region is not measured; shape (regions, K + 1)."""
        out = np.zeros(measurement.matrix.shape, np.int64)
        regions = np.flatnonzero(measurement.measured)

        def fit(region: int) -> None:
            out[region] = _twice_fitted(measurement, region, self.optimum)

        Threads()(fit, regions)  # the compiled loops release Python's lock
        return out

    def __repr__(self) -> str:
        parts = [] if self.optimum is Optimum.MIDPOINT else [f"optimum='{self.optimum}'"]
        parts += [] if self.integer else ["integer=False"]
        parts += [] if self.projection == CumulativeProjection() else [f"projection={self.projection!r}"]
        return f"TwoStage({', '.join(parts)})"


@dataclass(frozen=True)
class MidpointBottomUp:
    """Fits every leaf alone in L1, adds up, and rounds once at the end: `TwoStage` on the measurement of the leaves.

    a[l], the middle of the smallest and the largest L1 optimum of leaf l, is not rounded; sums of such vectors have no
    common bias. The root's sum is rounded, and integers are found from the root down. Where only the root's total is
    public, the nearest vectors with that total take the place of the a[l].

    Give the leaves the whole budget: `Geometric(View.CUMULATIVE, epsilon, shares=("0", "0", "1"))`. What was measured
    above them is ignored.

    Status: as `TwoStage`.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 9, 0, 1], [0, 8, 5, 1]])
        >>> noise = Geometric(View.CUMULATIVE, epsilon=1, shares=("0", "1"), totals="regions")
        >>> MidpointBottomUp().apply(noise.measure(truth, Seeded("demo"))).status
        <Status.FEASIBLE: 'feasible, not proved optimal'>

    Extends: bottom-up of Kuo et al. 2018, slides, by the midpoint and one rounding at the end. Shown by
    `tests/test_algorithms_two_stage.py`.
    """

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        reason = _refusal(self, measurement)
        return reason if reason is not None or measurement.sizes.equal else refusal_by_level(None, measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Do the same as `TwoStage.apply`."""
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        above = (None,) * (measurement.hierarchy.n_levels - 1)
        return TwoStage().apply(replace(measurement, noise=(*above, measurement.noise[-1])), time_limit)

    def __repr__(self) -> str:
        return "MidpointBottomUp()"


def _twice_fitted(measurement: Measurement, region: int, optimum: Optimum) -> np.ndarray:
    """Compute twice the chosen L1 optimum of one region, with its public total as the last cell where there is one."""
    row = measurement.matrix[region]
    public = measurement.public is not Totals.ROOT or region == 0
    most = int(measurement.totals[region if public else 0])
    fitted = row[:-1] if public else row
    both = optimum is Optimum.MIDPOINT
    first = isotonic_l1(fitted, 0, most, Optimum.SMALLEST if both else optimum)
    total = first + (isotonic_l1(fitted, 0, most, Optimum.LARGEST) if both else first)
    return np.append(total, 2 * most) if public else total


def _refusal(method: object, measurement: Measurement) -> str | None:
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    name = type(method).__name__
    if measurement.view is not View.CUMULATIVE:
        return f"{name} needs View.CUMULATIVE on every level, this measurement is of {measurement.label}"
    if not measurement.measured[measurement.hierarchy.leaves].all():
        return f"{name} needs measured leaves; give the last level a share of epsilon"
    return None
