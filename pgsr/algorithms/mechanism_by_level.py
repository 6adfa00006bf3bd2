"""The border to releases with sizes per level, whose values are still of their own kinds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.m_h import TreeProjection
from pgsr.checks import require_kind, require_source
from pgsr.data.cell_intervals import CellIntervals
from pgsr.data.cell_intervals_by_level import CellIntervalsByLevel
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess, Result
from pgsr.noise import NoiseStep, blank_by_level, measured_by_level, require_by_level
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.accounting import Loss
from pgsr.privacy.random import Source
from pgsr.problems.problem import Problem


@dataclass(frozen=True)
class LevelMechanism:
    """A noise step with sizes per level, then post-processing by a general method.

    Args:
        noise: of counts or cumulative counts, as `post` wants, with a share for every level; it says whether the
            numbers of groups of all regions are public or the root's alone.
        max_sizes: the largest size of every level, root first.
        data_set: the name by which research noise is keyed.
        post: a post-process, or a method for M_H; of M_c^dp the totals are those that are public.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded, View
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> mechanism = LevelMechanism(Geometric(View.COUNTS, 2, totals="root"), (3, 2), "demo")
        >>> mechanism.release(truth, Seeded("demo")).status.name
        'OPTIMAL'
    """

    noise: NoiseStep
    max_sizes: Sequence[int]
    data_set: str = ""
    post: Method | PostProcess = field(default_factory=TreeProjection)

    @property
    def cost(self) -> Loss:
        """The total privacy loss of one release."""
        return self.noise.cost

    def check(self, truth: CountsByLevel, source: Source) -> None:
        """Refuse beforehand a truth that measuring or post-processing would refuse.

        Raises:
            BudgetError, ProblemError: as `measured_by_level`; or post-processing does not work on what is measured,
                branches differ in depth, or sizes are not those of `max_sizes`.
        """
        require_kind(truth, CountsByLevel, "truth", "give CountsByLevel(hierarchy, tables)")
        require_source(source)
        require_by_level(self.noise, self.max_sizes)
        blank = self.converted(blank_by_level(self.noise, truth))
        reason = self.general(blank).refusal(blank)
        if reason is not None:
            raise ProblemError(reason)
        if truth.max_sizes != tuple(self.max_sizes):
            raise ProblemError(
                f"counts have the largest sizes {truth.max_sizes}, and the mechanism {tuple(self.max_sizes)}; fold the "
                "counts with CountsByLevel.of"
            )

    def measure(self, truth: CountsByLevel, source: Source) -> MeasurementByLevel:
        """Measure all levels with noise, after `check`. Nothing is charged."""
        self.check(truth, source)
        return measured_by_level(self.noise, truth, source, self.data_set)

    def post_process(self, measurement: MeasurementByLevel) -> Result:
        """Post-process a measurement, this mechanism's or a published one. It needs no truth, and costs no privacy."""
        found = self.converted(measurement)
        return self.general(found).post_process(found)

    def release(self, truth: CountsByLevel, source: Source) -> Result:
        """Measure and post-process."""
        return self.post_process(self.measure(truth, source))

    def general(self, measurement: Measurement) -> Mechanism:
        """Give the mechanism on measurements that hold one table per level."""
        post = self.post
        if isinstance(post, IsotonicTreeProjection):
            post = replace(post, totals=measurement.public)
        return Mechanism(
            self.noise, post, partial(Problem.m_h, totals=measurement.public) if isinstance(post, Method) else None
        )

    def converted(self, measurement: MeasurementByLevel) -> Measurement:
        """Give a measurement with sizes per level the form that general methods take."""
        tree, max_sizes = measurement.hierarchy, measurement.max_sizes
        return Measurement(
            hierarchy=tree,
            view=measurement.view,
            values=tuple(table.astype(np.int64, copy=False) for table in measurement.values.tables),
            max_size=max_sizes[0],
            noise=self.noise.levels(tree.n_levels, max_sizes),
            public=Totals.ROOT if measurement.totals is None else Totals.REGIONS,
            totals=measurement.public_totals,
            secure=measurement.secure,
            data_set=measurement.data_set,
            max_quantity=self.noise.max_quantity,
            unit=self.noise.unit,
            relation=self.noise.relation,
        )


def counts_by_level(result: Result) -> CountsByLevel:
    """Give the counts of a result the form that releases with sizes per level take."""
    estimate = result.estimate
    tables = Estimate(estimate.hierarchy, View.COUNTS, estimate.as_counts).tables
    return CountsByLevel(estimate.hierarchy, tables)


def by_level(found: CellIntervals | CellIntervalsByLevel) -> CellIntervalsByLevel:
    """Give intervals the form that releases with sizes per level take, also where all sizes happen to be equal."""
    if isinstance(found, CellIntervalsByLevel):
        return found
    parts = [found.hierarchy.level(level) for level in range(found.hierarchy.n_levels)]
    tables = (tuple(side[here] for here in parts) for side in (found.estimate, found.lower, found.upper))
    return CellIntervalsByLevel(found.hierarchy, found.view, found.level, *tables)
