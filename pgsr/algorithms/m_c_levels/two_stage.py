"""The two-stage release with other sizes on every level: every region alone in L1, then all together in L2."""

from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.isotonic import isotonic_l1_middles
from pgsr.algorithms.m_c_levels.projection import CumulativeLevelProjection
from pgsr.algorithms.m_c_levels.release import LevelRelease, released
from pgsr.checks import require_kind
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.noise.measurement_by_level import MeasurementByLevel


@dataclass(frozen=True)
class LevelTwoStage:
    """Makes a release of cumulative measurements with sizes per level, in two stages and then in integers.

    1. Every region r alone: a[r], the middle of the smallest and the largest L1 isotonic regression of its noisy
       cumulative counts below its number of groups G[r].
    2. All regions together: with w the inverse variance of the noise of r's level,

           minimise    sum over regions r, sizes s < K  of  w (x[r, s] - a[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s], s < k,    0 <= x[r, 0] <= ... <= x[r, K - 1] <= G[r].

    3. Integers next to x, from the root down (`counts_near`).

    The counts are integer, non-negative, add up and have the public totals. They are the optimum of no stated problem,
    as without sizes per level.

    Args:
        projection: solves step 2.

    Complexity: O(cells log K), the projection, and O(cells) for integers.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> from pgsr.data.counts_by_level import CountsByLevel
        >>> from pgsr.noise import measured_by_level
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> noisy = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("demo"), "demo")
        >>> [table.tolist() for table in LevelTwoStage().apply(noisy).counts.tables]
        [[[2, 29, 9, 20]], [[1, 19, 10], [1, 10, 19]]]

    Extends: `TwoStage`, to sizes per level. Shown by `tests/test_m_c_levels.py`.
    """

    projection: CumulativeLevelProjection = field(default_factory=CumulativeLevelProjection)

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        if measurement.view is not View.CUMULATIVE:
            return f"two-stage needs View.CUMULATIVE, this measurement is of {measurement.view!r}"
        if measurement.totals is None:
            return "only the root's total is public here, two-stage needs every region's; measure with totals='regions'"
        return None

    def apply(self, measurement: MeasurementByLevel) -> LevelRelease:
        """Make a release.

        Raises:
            ProblemError: the measurement is not of cumulative counts, or has the root's total alone.
        """
        return released(measurement, self.alone(measurement), self.projection)

    def alone(self, measurement: MeasurementByLevel) -> list[np.ndarray]:
        """Fit every region's cumulative counts alone (step 1); shape (regions of the level, K) per level."""
        require_kind(measurement, MeasurementByLevel, "the measurement", "give what measured_by_level returned")
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        parts = zip(measurement.values.tables, measurement.totals_by_level(), strict=True)
        return [isotonic_l1_middles(table[:, :-1], groups) for table, groups in parts]
