"""What a method is and what it answers."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

from pgsr.certificates import Certificate, Multipliers
from pgsr.errors import NoEstimateError
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement
from pgsr.problem import Problem


class Status(Enum):
    """How a solve ended; the value is a sentence."""

    OPTIMAL = "proved optimal"
    FEASIBLE = "feasible, not proved optimal"
    RELAXED = "conditions were relaxed; the violations say which and how often"
    INFEASIBLE = "no point satisfies the conditions"
    UNSUPPORTED = "this method does not solve this problem"
    NOT_INSTALLED = "a package is missing"
    UNLICENSED = "the solver has no valid licence"
    TOO_LARGE = "the problem exceeds the licence or the method"
    TIMED_OUT = "the time limit was reached without an answer"
    FAILED = "the answer failed our own checks, or the solver gave none"


ANSWERED = (Status.OPTIMAL, Status.FEASIBLE, Status.RELAXED)
"""The statuses whose answer is shown, and measured against the truth where there is one."""


@dataclass(frozen=True)
class Seconds:
    """Wall time of the three parts of a solve, in seconds."""

    formulate: float = 0.0
    solve: float = 0.0
    round: float = 0.0

    @property
    def total(self) -> float:
        return self.formulate + self.solve + self.round


@dataclass(frozen=True)
class Residuals:
    """By how much a continuous answer misses the optimality conditions, recomputed by us, each relative to its scale.

    Attributes:
        primal: largest violated condition.
        dual: largest violation of stationarity at the solver's own duals; None if it gave none.
        gap: (objective - bound) / max(1, bound), the bound by its duals.
    """

    primal: float
    dual: float | None
    gap: float | None


@dataclass(frozen=True, eq=False)
class Result:
    """An answer that judges itself: its certificate was recomputed from problem and estimate alone.

    Attributes:
        status: how the solve ended.
        certificate: objective, bound and violations; None without an estimate.
        seconds: time to formulate, solve and round.
        reason: a sentence that says why, where the status needs one.
        answer: the estimate or None; `estimate` raises instead of returning None.
        measurement: what a `Mechanism` measured, else None; its `secure` says whether a privacy claim is possible.
        residuals: of a solver's continuous answer, before any rounding; None for exact methods.
        multipliers: the prices behind the bound, where there are some; another method may start from them.
    """

    status: Status
    reason: str = ""
    answer: Estimate | None = None
    certificate: Certificate | None = None
    seconds: Seconds = field(default_factory=Seconds)
    measurement: Measurement | None = None
    residuals: Residuals | None = None
    multipliers: Multipliers | None = None

    @property
    def estimate(self) -> Estimate:
        """The estimate.

        Raises:
            NoEstimateError: there is none; the message says why.
        """
        if self.answer is None:
            raise NoEstimateError(f"no estimate, {self.status.value}: {self.reason}")
        return self.answer

    def __repr__(self) -> str:
        parts = [self.status.name]
        if self.certificate is not None:
            parts.append(repr(self.certificate))
        parts.append(f"{self.seconds.total:.3g} s")
        if self.reason:
            parts.append(self.reason)
        if self.measurement is not None and not self.measurement.secure:
            parts.append("research noise: no privacy claim")
        return f"Result({', '.join(parts)})"


@runtime_checkable
class Method(Protocol):
    """Solves a stated problem. Specialised algorithms and solver models are the same thing to the caller."""

    def supports(self, problem: Problem) -> str | None:
        """None, or the reason why this method does not solve this problem."""
        ...

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        """Solve within `time_limit` seconds. What cannot be solved is a status with a reason, not an exception."""
        ...


@runtime_checkable
class PostProcess(Protocol):
    """Turns a measurement into an estimate that is not the optimum of one stated problem.

    It may also have `supports(measurement) -> None | reason`, which is asked before any budget is spent.
    """

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result: ...
