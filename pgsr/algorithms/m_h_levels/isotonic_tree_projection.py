"""The mechanism M_c^dp with sizes per level: fit cumulative counts alone, then project their differences."""

from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.isotonic import isotonic_l2
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.projection import LevelResult, LevelTreeProjection
from pgsr.checks import require_kind
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.machine.blocks import row_blocks
from pgsr.noise.measurement_by_level import MeasurementByLevel


@dataclass(frozen=True)
class LevelIsotonicTreeProjection:
    """The post-process M_c^dp for cumulative measurements with sizes per level.

    1. Every region alone: the nearest non-decreasing integers within 0..G (isotonic regression in squares), G its own
       number of groups where all regions' are public, else the root's.
    2. Their first differences are counts with sizes per level; `projection` finds the nearest consistent non-negative
       integers with the public totals (M_H), and proves them.

    Both steps end at exact integer optima of their own; together they are the optimum of no stated problem, as without
    sizes per level. The certificate is that of step 2.

    Complexity: O(cells), and that of the projection.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> from pgsr.noise import measured_by_level
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> noisy = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("demo"), "demo")
        >>> result = LevelIsotonicTreeProjection().apply(noisy)
        >>> result.optimal, [int(table.sum()) for table in result.counts.tables]
        (True, [60, 60])

    Extends: algorithm 1 of Fioretto and Van Hentenryck 2019, section 8, to sizes per level. Shown by
    `tests/test_m_h_levels_isotonic.py::test_both_steps_equal_brute_force`.
    """

    projection: LevelTreeProjection = field(default_factory=LevelTreeProjection)

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        if measurement.view is not View.CUMULATIVE:
            return f"M_c^dp needs View.CUMULATIVE, this measurement is of {measurement.view!r}"
        return None

    def stated(self, measurement: MeasurementByLevel) -> LevelProblem:
        """State the problem of a measurement whose proved optimum the answer is: M_H of the repaired counts (step 2).

        Raises:
            ProblemError: the measurement is not of cumulative counts.
        """
        require_kind(measurement, MeasurementByLevel, "the measurement", "give what measured_by_level returned")
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        total = measurement.total if measurement.totals is None else None
        return LevelProblem(repaired(measurement), total, measurement.totals)

    def apply(self, measurement: MeasurementByLevel) -> LevelResult:
        """Make the release of M_c^dp from a measurement.

        Raises:
            ProblemError: the measurement is not of cumulative counts.
        """
        return self.projection.solve(self.stated(measurement))


def repaired(measurement: MeasurementByLevel) -> CountsByLevel:
    """Fit every region's cumulative counts alone, and take differences: counts that may not add up."""
    known = None if measurement.totals is None else measurement.totals_by_level()
    tables = (
        repaired_table(table, measurement.total if known is None else known[level])
        for level, table in enumerate(measurement.values.tables)
    )
    return CountsByLevel(measurement.hierarchy, tuple(tables))


def repaired_table(table: np.ndarray, groups: int | np.ndarray) -> np.ndarray:
    """Fit the cumulative counts of the regions of one level alone, and take differences; shape (regions, K + 1).

    Args:
        table: noisy cumulative counts, shape (regions, K + 1).
        groups: the public number of groups of every region, which its counts then add up to, shape (regions,); or that
            of the root alone, which none of them exceeds.
    """
    most = np.broadcast_to(groups, len(table)).astype(np.int64)
    out = np.empty(table.shape, np.int32 if most.max() < 2**31 else np.int64)
    for rows in row_blocks(slice(0, len(table)), table.shape[1]):
        y = table[rows].astype(np.int64)
        if isinstance(groups, np.ndarray):
            y[:, -1] = most[rows]  # known cells stay: whatever exceeds them is cut off
        out[rows] = np.diff(isotonic_l2(y, np.zeros_like(most[rows]), most[rows]), prepend=0, axis=1)
    return out
