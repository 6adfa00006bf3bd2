"""A whole mechanism: the noise step, then post-processing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from pgsr.checks import checked_limit, require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.views import View
from pgsr.errors import ArgumentError, BudgetError, ProblemError
from pgsr.methods.method import Method, PostProcess, Result
from pgsr.noise.measurement import Measurement
from pgsr.noise.step import NoiseStep
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.random import Source
from pgsr.problems.problem import Problem


@dataclass(frozen=True)
class Mechanism:
    """A noise step, which is the privacy loss, then post-processing, which sees noisy values and public facts.

    Args:
        noise: the noise step.
        post: a post-process, or a method that solves `problem` of the measurement.
        problem: for a method, which problem to state; M_H of counts and M_c of cumulative counts if None.

    Example:
        >>> from pgsr import Hierarchy
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.algorithms import TreeProjection
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> mechanism = Mechanism(Geometric(View.COUNTS, epsilon="1"), TreeProjection())
        >>> mechanism.release(truth, Seeded("demo")).status.name
        'OPTIMAL'
    """

    noise: NoiseStep
    post: Method | PostProcess
    problem: Callable[[Measurement], Problem] | None = None

    def __post_init__(self) -> None:
        require_kind(self.noise, NoiseStep, "noise", "give Geometric(view, epsilon) or Noise(view, budget)")
        require_kind(
            self.post, (Method, PostProcess), "post", "give a method or post-process, such as TreeProjection()"
        )
        if self.problem is not None and not (callable(self.problem) and isinstance(self.post, Method)):
            raise ArgumentError(
                f"problem={self.problem!r}: give a constructor such as Problem.m_h, and only with a method; "
                "a post-process states no problem"
            )

    @property
    def epsilon(self) -> Fraction:
        """The total privacy loss of one release, where it is a pure epsilon.

        Raises:
            BudgetError: the noise step spends rho, or epsilon with delta; ask for `cost`.
        """
        if not isinstance(self.cost, PureEpsilon):
            raise BudgetError(f"this mechanism spends {self.cost}, no pure epsilon; ask for its cost")
        return self.cost.epsilon

    @property
    def cost(self) -> Loss:
        """The total privacy loss of one release."""
        return self.noise.cost

    def release(
        self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None, time_limit: float | None = None
    ) -> Result:
        """Measure `truth` and post-process; the result holds the measurement.

        Raises:
            PgsrError: whatever `check` refuses, before the ledger is charged.
        """
        self.check(truth, source)
        limit = checked_limit(time_limit)
        return self.post_process(self.measure(truth, source, ledger), limit)

    def measure(self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None) -> Measurement:
        """Measure `truth` with noise alone."""
        return self.noise.measure(truth, source, ledger)

    def post_process(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Post-process a measurement, this mechanism's or a published one; the result holds the measurement.

        Costs no privacy, needs no truth, and gives the same answer for the same measurement, so that anybody can
        repeat it.

        Raises:
            ProblemError: the post-process does not work on this measurement.
        """
        if isinstance(self.post, Method):
            result = self.post.solve(self.stated(measurement), time_limit)
        else:
            result = self.post.apply(measurement, time_limit)
        return replace(result, measurement=measurement)

    def check(self, truth: CountOfCounts, source: Source) -> None:
        """Refuse beforehand a truth that the noise step refuses, and measurements that post-processing cannot use.

        Raises:
            BudgetError, MemoryNeededError, ArgumentError: as `Geometric.check`.
            ProblemError: the method or post-process does not work on this measurement; the message says why.
        """
        self.noise.check(truth, source)
        reason = self.refusal(self.noise.blank(truth))
        if reason is not None:
            raise ProblemError(reason)

    def refusal(self, measurement: Measurement) -> str | None:
        """Give the reason why post-processing cannot follow this measurement, or None."""
        if isinstance(self.post, Method):
            return self.post.supports(self.stated(measurement))
        supports = getattr(self.post, "supports", None)
        return supports(measurement) if supports is not None else None

    def stated(self, measurement: Measurement) -> Problem:
        """State the problem of a measurement that the method solves.

        Raises:
            ProblemError: it is of a view for which `problem` has to be given.
        """
        if self.problem is not None:
            stated = self.problem(measurement)
            require_kind(stated, Problem, "what problem=... states", "give a constructor such as Problem.m_h")
            return stated
        if measurement.view is View.COUNTS:
            return Problem.m_h(measurement)
        if measurement.view is View.CUMULATIVE:
            return Problem.m_c(measurement)
        raise ProblemError(f"say which problem to solve on {measurement.label}: Mechanism(noise, method, problem=...)")
