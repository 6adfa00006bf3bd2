"""The way from values of every region alone to a release with sizes per level: together, then in integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pgsr.algorithms.m_c_levels.integers import counts_near
from pgsr.algorithms.m_c_levels.problem import CumulativeLevelProblem
from pgsr.algorithms.m_c_levels.projection import CumulativeLevelProjection, CumulativeLevelResult
from pgsr.algorithms.m_h_levels.certificate import violations
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.data.cell_intervals_by_level import CellIntervalsByLevel
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.views import View
from pgsr.errors import NoEstimateError
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Status
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.laws import Law


@dataclass(frozen=True, eq=False)
class LevelRelease:
    """Counts with sizes per level that may be released.

    Attributes:
        counts: integers.
        violations: number of violated conditions by kind, recomputed from the counts; all are 0.
        joint: the joint projection, before integers; None of methods that project nothing.
        seconds: wall time without compilation, of all that comes after the fits of regions alone.
        uncertainty: how far the counts may be from the truth, of methods that know; `intervals` asks it.
    """

    counts: CountsByLevel
    violations: dict[str, int]
    joint: CumulativeLevelResult | None
    seconds: float
    uncertainty: "UncertainByLevel | None" = None

    @property
    def status(self) -> Status:
        """How the release ended: feasible, as it is the optimum of no stated problem."""
        return Status.FEASIBLE

    def intervals(self, level: float = 0.9, view: View = View.COUNTS) -> CellIntervalsByLevel:
        """Give an interval for every cell of the counts, by methods that know how far they may be off.

        Args:
            level: the chance that an interval holds the truth, every cell by itself.
            view: `View.COUNTS`, or `View.CUMULATIVE` for the numbers of groups of at most every size.

        Raises:
            NoEstimateError: the method does not know; the message says what does.
            ArgumentError: another view, or a level that is no chance.
        """
        if self.uncertainty is None:
            raise NoEstimateError(
                "only a release that LevelPosterior made of noisy cumulative counts knows its own intervals; "
                "pgsr.intervals.intervals_by_level gives those of any mechanism"
            )
        return self.uncertainty.intervals(self.counts, level, view)


class UncertainByLevel(Protocol):
    """The interface of a method with sizes per level that knows how large its errors may be."""

    def intervals(self, counts: CountsByLevel, level: float, view: View) -> CellIntervalsByLevel:
        """Give an interval for every cell of the counts."""
        ...


def released(
    measurement: MeasurementByLevel, alone: Sequence[np.ndarray], projection: CumulativeLevelProjection
) -> LevelRelease:
    """Make a release of cumulative counts that were found for every region alone; shape (regions of the level, K) each.

    Raises:
        ProblemError: the measurement has the root's total alone.
    """
    deadline, tree, totals = Deadline(), measurement.hierarchy, measurement.totals_by_level()
    problem = CumulativeLevelProblem(tree, tuple(alone), totals, precisions(measurement.laws))
    joint = projection.solve(problem)
    counts = counts_near(tree, joint.tables, totals)
    violated = violations(LevelProblem(measurement.values, totals=measurement.totals), counts)
    return LevelRelease(counts, violated, joint, deadline.spent)


def precisions(laws: Sequence[Law]) -> tuple[float, ...]:
    """Compute the weights of the levels, 1 / variance relative to that of the least noise."""
    variances = [float(law.variance_bound) for law in laws]
    return tuple(min(variances) / variance for variance in variances)
