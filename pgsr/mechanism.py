"""A whole mechanism: the noise step, then post-processing."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from pgsr.budget import Ledger, exact
from pgsr.errors import ProblemError
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Measurement
from pgsr.method import Method, PostProcess, Result
from pgsr.noise import Geometric
from pgsr.problem import Problem
from pgsr.random import Source
from pgsr.views import View


@dataclass(frozen=True)
class Mechanism:
    """`noise`, then `post`. The privacy loss is the noise's; post-processing sees only noisy values and public facts.

    Args:
        noise: the noise step.
        post: a post-process, or a method that solves `problem` of the measurement.
        problem: for a method, which problem to state; M_H of counts and M_c of cumulative counts if None.

    Example:
        >>> from pgsr import Hierarchy, Seeded
        >>> from pgsr.algorithms import TreeProjection
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> mechanism = Mechanism(Geometric(View.COUNTS, epsilon="1"), TreeProjection())
        >>> mechanism.release(truth, Seeded("demo")).status.name
        'OPTIMAL'
    """

    noise: Geometric
    post: Method | PostProcess
    problem: Callable[[Measurement], Problem] | None = None

    @property
    def epsilon(self) -> Fraction:
        """Total privacy loss of one release."""
        return exact(self.noise.epsilon)

    def release(
        self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None, time_limit: float | None = None
    ) -> Result:
        """Measure `truth` and post-process."""
        measurement = self.noise.measure(truth, source, ledger)
        if isinstance(self.post, Method):
            return self.post.solve(self._stated(measurement), time_limit)
        return self.post.apply(measurement, time_limit)

    def _stated(self, measurement: Measurement) -> Problem:
        if self.problem is not None:
            return self.problem(measurement)
        if measurement.view is View.COUNTS:
            return Problem.m_h(measurement)
        if measurement.view is View.CUMULATIVE:
            return Problem.m_c(measurement)
        raise ProblemError(f"say which problem to solve on {measurement.view!r}: Mechanism(noise, method, problem=...)")
