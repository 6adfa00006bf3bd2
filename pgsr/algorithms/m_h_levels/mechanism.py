"""The mechanism with sizes per level: noisy values of every level, then counts that go with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.projection import LevelTreeProjection
from pgsr.checks import require_kind, require_source
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.errors import ProblemError
from pgsr.noise import NoiseStep, blank_by_level, measured_by_level, require_by_level
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.accounting import Loss
from pgsr.privacy.random import Source


class LevelPostProcess(Protocol):
    """The interface of a post-process that makes counts with sizes per level from a measurement.

    What `apply` returns has the attributes `counts`, a `CountsByLevel`, and `status`.
    """

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        ...

    def apply(self, measurement: MeasurementByLevel) -> Any:
        """Make counts from a measurement."""
        ...


@dataclass(frozen=True)
class LevelMechanism:
    """A noise step with sizes per level, then post-processing: M_H, or a method for cumulative counts.

    Args:
        noise: of counts or cumulative counts, as `post` wants, with a share for every level; it says whether the
            numbers of groups of all regions are public or the root's alone.
        max_sizes: the largest size of every level, root first.
        data_set: the name by which research noise is keyed.
        post: `LevelTreeProjection`, `LevelIsotonicTreeProjection`, `LevelTwoStage` or `LevelPosterior`.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded, View
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> mechanism = LevelMechanism(Geometric(View.COUNTS, 2, totals="root"), (3, 2), "demo")
        >>> mechanism.release(truth, Seeded("demo")).optimal
        True
    """

    noise: NoiseStep
    max_sizes: Sequence[int]
    data_set: str = ""
    post: LevelPostProcess = field(default_factory=LevelTreeProjection)

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
        reason = self.post.supports(blank_by_level(self.noise, truth))
        if reason is not None:
            raise ProblemError(reason)
        blank_problem(truth, 0)
        if truth.max_sizes != tuple(self.max_sizes):
            raise ProblemError(
                f"counts have the largest sizes {truth.max_sizes}, and the mechanism {tuple(self.max_sizes)}; fold the "
                "counts with CountsByLevel.of"
            )

    def measure(self, truth: CountsByLevel, source: Source) -> MeasurementByLevel:
        """Measure all levels with noise, after `check`. Nothing is charged."""
        self.check(truth, source)
        return measured_by_level(self.noise, truth, source, self.data_set)

    def post_process(self, measurement: MeasurementByLevel) -> Any:
        """Post-process a measurement, this mechanism's or a published one. It needs no truth, and costs no privacy."""
        return self.post.apply(measurement)

    def release(self, truth: CountsByLevel, source: Source) -> Any:
        """Measure and post-process."""
        return self.post_process(self.measure(truth, source))


def blank_problem(truth: CountsByLevel, total: int) -> LevelProblem:
    """State a problem of zeros in the shape of the truth, to ask beforehand whether it can be stated.

    Raises:
        ProblemError, TooLargeError: it cannot.
    """
    return LevelProblem(CountsByLevel(truth.hierarchy, tuple(map(np.zeros_like, truth.tables))), total=total)
