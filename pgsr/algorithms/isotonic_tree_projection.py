"""M_c^dp: repair every region's cumulative counts alone, then project their differences onto the hierarchy."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from pgsr.algorithms.isotonic import isotonic_l2
from pgsr.algorithms.tree_projection import TreeProjection
from pgsr.certificate import certify
from pgsr.checks import require_kind
from pgsr.errors import ProblemError
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement
from pgsr.method import Method, Result, Seconds, Status
from pgsr.problem import Problem
from pgsr.views import View, counts_of_cumulative, cumulative


@dataclass(frozen=True)
class IsotonicTreeProjection:
    """M_c^dp, for cumulative measurements.

    1. every region alone: the nearest non-decreasing integers within 0..G (isotonic regression, L2);
    2. their first differences are counts; `projection` makes them consistent (M_H).

    The result is feasible for M_c but not its optimum, so its certificate gives the objective of M_c without a bound.

    Complexity: O(regions x sizes), and that of the projection.

    Source: Fioretto and Van Hentenryck 2019, section 8, algorithm 1.
    """

    projection: Method = field(default_factory=TreeProjection)

    def __post_init__(self) -> None:
        require_kind(self.projection, Method, "projection", "give a method that solves M_H, such as TreeProjection()")

    def supports(self, measurement: Measurement) -> str | None:
        """None, or the reason why this measurement cannot be used."""
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if measurement.view is not View.CUMULATIVE:
            return f"M_c^dp needs View.CUMULATIVE, this measurement is of {measurement.view!r}"
        if not measurement.measured[measurement.hierarchy.leaves].all():
            return "M_c^dp needs measured leaves; give the last level a share of epsilon"
        return None

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Raises `ProblemError` if the measurement is not cumulative."""
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        start = time.perf_counter()
        limits = np.zeros((2, measurement.hierarchy.n_regions), np.int64)
        limits[1] = measurement.root_total
        monotone = isotonic_l2(measurement.matrix, *limits)
        repaired = replace(measurement, view=View.COUNTS, values=counts_of_cumulative(monotone))
        seconds = time.perf_counter() - start
        result = self.projection.solve(Problem.m_h(repaired), time_limit)
        if result.answer is None:
            return result
        spent = Seconds(result.seconds.formulate, result.seconds.solve + seconds, result.seconds.round)
        as_cumulative = Estimate(measurement.hierarchy, View.CUMULATIVE, cumulative(result.answer.values))
        certificate = certify(Problem.m_c(measurement), as_cumulative)
        status = Status.FEASIBLE if certificate.feasible else Status.RELAXED
        return Result(status, result.reason, result.answer, certificate, spent)

    def __repr__(self) -> str:
        return f"IsotonicTreeProjection({'' if self.projection == TreeProjection() else repr(self.projection)})"
