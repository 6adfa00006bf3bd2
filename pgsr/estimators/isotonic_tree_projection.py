"""The mechanism M_c^dp: fit every region's cumulative counts alone, then project their differences on the hierarchy."""

from dataclasses import dataclass, field, replace

import numpy as np

from pgsr.algorithms.isotonic.regression import isotonic_l2
from pgsr.algorithms.m_h import TreeProjection
from pgsr.certificates import Certificate, certify
from pgsr.certificates.conditions import broken_conditions
from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, cumulative
from pgsr.errors import ProblemError
from pgsr.machine.blocks import row_blocks
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Method, Result, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.problem import Problem


@dataclass(frozen=True)
class IsotonicTreeProjection:
    """Fits every region's cumulative counts alone, then projects the counts that they amount to (M_c^dp).

    1. every region alone: the nearest non-decreasing integers within 0..G (isotonic regression, L2);
    2. their first differences are counts; `projection` makes them consistent (M_H).

    With `totals` REGIONS every region has a G of its own, which its last cell is. Levels may have sizes of their own.

    The result is feasible for M_c but not its optimum, so its certificate gives the objective of M_c without a bound;
    where levels have sizes of their own, no objective.

    Complexity: O(regions x sizes), and that of the projection.

    Source: Fioretto and Van Hentenryck 2019, section 8, algorithm 1.
    """

    projection: Method = field(default_factory=TreeProjection)
    totals: Totals = Totals.ROOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "totals", Totals.parse(self.totals))
        if self.totals is Totals.NOISY:
            raise ProblemError("noisy totals are public from then on; give totals='regions'")
        require_kind(self.projection, Method, "projection", "give a method that solves M_H, such as TreeProjection()")

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if measurement.view is not View.CUMULATIVE:
            return f"M_c^dp needs View.CUMULATIVE, this measurement is of {measurement.label}"
        if not measurement.measured[measurement.hierarchy.leaves].all():
            return "M_c^dp needs measured leaves; give the last level a share of epsilon"
        if self.totals is Totals.REGIONS and measurement.public is Totals.ROOT:
            return "every region's total is wanted, this measurement has the root's alone; use Geometric(totals=...)"
        return None

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make the release of M_c^dp from a measurement.

        Raises:
            ProblemError: the measurement is not cumulative.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        clock = Deadline()
        repaired, prepared = self.stated(measurement), clock.spent
        result = self.projection.solve(repaired, time_limit)
        if result.answer is None:
            return result
        spent = replace(result.seconds, solve=result.seconds.solve + prepared, compile=clock.compiling)
        if measurement.sizes.equal:
            as_cumulative = Estimate(measurement.hierarchy, View.CUMULATIVE, cumulative(result.answer.as_counts))
            certificate = certify(Problem.m_c(measurement, totals=self.totals), as_cumulative)
        else:
            root_alone = replace(measurement, public=Totals.ROOT, totals=measurement.totals[:1])
            wanted = measurement if self.totals is Totals.REGIONS else root_alone
            certificate = Certificate("release", None, None, "", broken_conditions(wanted, result.answer))
        status = Status.FEASIBLE if certificate.feasible else Status.RELAXED
        return Result(
            status, result.reason, result.answer, certificate, spent, multipliers=result.multipliers
        )  # the prices of step 2

    def stated(self, measurement: Measurement) -> Problem:
        """State the problem of step 2: M_H of the counts that step 1 found for every region alone."""
        tree, of_regions = measurement.hierarchy, self.totals is Totals.REGIONS
        groups = [
            measurement.region_totals[tree.level(level)] if of_regions else measurement.root_total
            for level in range(tree.n_levels)
        ]
        return Problem.of(
            tuple(repaired_table(table, most) for table, most in zip(measurement.tables, groups, strict=True)),
            tree,
            groups=measurement.totals,
            totals=self.totals,
            label="M_H",
            noise=measurement.noise,
        )

    def __repr__(self) -> str:
        given = [] if self.projection == TreeProjection() else [repr(self.projection)]
        given += [] if self.totals is Totals.ROOT else [f"totals={self.totals}"]
        return f"IsotonicTreeProjection({', '.join(given)})"


def repaired_table(table: np.ndarray, groups: int | np.ndarray) -> np.ndarray:
    """Fit the cumulative counts of the regions of one level alone, and take differences; shape (regions, K + 1).

    Args:
        table: noisy cumulative counts, shape (regions, K + 1).
        groups: the public number of groups of every region, which its counts then add up to, shape (regions,); or that
            of the root alone, which none of them exceeds.
    """
    most = np.broadcast_to(groups, len(table)).astype(np.int64)
    out = np.empty(table.shape, np.int32 if most.max() < 2**31 else np.int64)

    def fit(rows: slice) -> None:
        y = table[rows].astype(np.int64)
        if isinstance(groups, np.ndarray):
            y[:, -1] = most[rows]  # known cells stay: whatever exceeds them is cut off
        out[rows] = np.diff(isotonic_l2(y, np.zeros_like(most[rows]), most[rows]), prepend=0, axis=1)

    Threads()(fit, row_blocks(slice(0, len(table)), table.shape[1]))
    return out
