"""The gate before a solve, time limits, and results of post-processing that states no problem.

What every method does before its mathematics begins is written here once, so that all of them keep the contract of
`Method.solve`: what cannot be solved is a status with a sentence, not an exception.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from pgsr.certificates import Certificate
from pgsr.certificates.conditions import broken_conditions
from pgsr.certificates.fixed_totals import FixedTotals, stated_totals
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MemoryNeededError, MethodError, TooLargeError
from pgsr.machine import compilation, memory
from pgsr.machine.progress import steps
from pgsr.methods.method import Result, Seconds, Status
from pgsr.methods.zero_sizes import WithoutZeroSizes
from pgsr.noise.measurement import Measurement
from pgsr.problems.problem import Problem


class Stopped(Exception):
    """A solve cannot go on, inside a method; its `solve` returns this status and reason."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class Deadline:
    """A limit of so many seconds since `start`, a reading of `time.perf_counter`; None is no limit.

    The clock stands still while functions are compiled, so neither limits nor solve times depend on what was compiled
    before; see `pgsr.machine.compilation`.

    Example:
        >>> Deadline(None).left is None, Deadline(3600.0).passed
        (True, False)
    """

    limit: float | None = None
    start: float = field(default_factory=time.perf_counter)
    compiled: float = field(default_factory=compilation.seconds)
    """The seconds that this process had spent compiling at the start."""
    step: Callable[[], object] = field(default_factory=lambda: int)
    """What is called whenever a method asks whether the deadline has passed, which it does at every step."""

    @property
    def spent(self) -> float:
        """The seconds since the start, without compilation."""
        return max(0.0, time.perf_counter() - self.start - self.compiling)

    @property
    def compiling(self) -> float:
        """The seconds since the start in which functions were compiled."""
        return compilation.seconds() - self.compiled

    @property
    def left(self) -> float | None:
        """The seconds left, as a limit to pass on: a nanosecond at least; None without a limit."""
        return None if self.limit is None else max(1e-9, self.limit - self.spent)

    @property
    def passed(self) -> bool:
        self.step()
        return self.limit is not None and self.spent > self.limit

    def check(self, state: str) -> None:
        """Raise `Stopped` with TIMED_OUT and "`state` after .. s" if it has passed."""
        if self.passed:
            raise Stopped(Status.TIMED_OUT, f"{state} after {self.limit:g} s")


NO_LIMIT = Deadline()


class Taken(Enum):
    """The conditions of `Problem.where` that a method takes."""

    NONE = "no conditions"
    BOUNDS = "bounds of single cells"
    TOTALS = "fixed totals of regions"
    CHOICES = "choices between conditions"
    """All conditions, of problems with a choice, as far as the method's own `supports` takes them."""
    ALL = "all conditions"


class GatedMethod(ABC):
    """A method that says what it cannot do in four answers, and how it solves in `answer`; `solve` asks them in order.

    | question                                               | asked of       | status if not        |
    |--------------------------------------------------------|----------------|----------------------|
    | is this a problem for this method?                     | `supports`     | UNSUPPORTED          |
    | does any point satisfy the conditions?                 | the problem    | INFEASIBLE           |
    | are package and licence there?                         | `unavailable`  | as it says           |
    | do numbers and sums stay within exact arithmetic?      | `exceeds`      | TOO_LARGE            |
    | does it fit into the memory that is free?              | `bytes_needed` | TOO_LARGE            |

    A new specialised algorithm is one subclass with `supports`, `bytes_needed` and `answer`. What `answer` raises as
    `Stopped` becomes that status, a `TooLargeError` or `MemoryNeededError` becomes TOO_LARGE. Arguments of the wrong
    kind are mistakes of the caller and stay exceptions.

    What a modeller stated by `Problem.where` is refused for every method, after what its own `supports` says, unless
    the class says in `conditions_taken` that it takes it; so no method passes over conditions that it does not know.
    Structural zeros of whole sizes are taken by every method: they are left out before `answer` and put in after it
    (`pgsr.methods.zero_sizes`).
    """

    sizes_per_level: ClassVar[bool] = False
    """Whether this method takes problems whose levels have sizes of their own."""

    conditions_taken: ClassVar[Taken] = Taken.NONE
    """The conditions that this method takes besides those that its `supports` speaks of."""

    cell_weights: ClassVar[bool] = False
    """Whether this method takes weights of single cells beside those of regions."""

    rounds_relaxation: ClassVar[bool] = False
    """Whether an integer problem is answered by the optimum of its relaxation, with every cell rounded."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = cls.__dict__.get("supports")
        if own is not None:
            cls.supports = _asking_for_conditions(own)  # pyright: ignore[reportAttributeAccessIssue]

    @abstractmethod
    def supports(self, problem: Problem) -> str | None:
        """Give the reason why this method does not solve this problem, or None."""

    def unavailable(self) -> Result | None:
        """Give the result of every solve where something is not installed or licensed, or None."""
        return None

    def exceeds(self, problem: Problem) -> str | None:
        """Say why the numbers of this problem are too large for this method, or None."""
        return problem.exceeds_arithmetic

    @abstractmethod
    def bytes_needed(self, problem: Problem) -> int:
        """Estimate how much memory a solve takes, beyond the problem."""

    @abstractmethod
    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        """Solve a problem that passed the gate."""

    def no_start(self, problem: Problem) -> str | None:
        """Give the reason why this method cannot start from the result of another solve, or None if it can."""
        del problem
        return f"{self!r} takes no start; leave warm_start= out, or take a solver model of pgsr.models that takes one"

    def answer_from(self, problem: Problem, deadline: Deadline, start: Result) -> Result:
        """Solve as `answer` does, from the estimate of another solve; of methods whose `no_start` gives None."""
        del start
        return self.answer(problem, deadline)

    def solve(self, problem: Problem, time_limit: float | None = None, *, warm_start: Result | None = None) -> Result:
        """Solve within `time_limit` seconds, compilation apart; an unsolved problem has a status with a reason.

        Args:
            problem: what is asked.
            time_limit: seconds, or None.
            warm_start: a result for the same regions and sizes, such as of another draw of the noise or another method,
                from which the solve starts; its answer need not be feasible here. A method that takes no start is
                UNSUPPORTED then.

        Raises:
            ArgumentError: an argument is of the wrong kind.
            MethodError: `warm_start` has no estimate, or one of other regions or sizes.
        """
        require_kind(problem, Problem, "the problem", "give Problem.m_h(measurement) or another constructor's")
        deadline = Deadline(checked_limit(time_limit))
        reason = self.supports(problem)
        if warm_start is not None:
            _require_same_cells(problem, warm_start)
            reason = reason or self.no_start(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.contradiction is not None:
            return Result(Status.INFEASIBLE, problem.contradiction)
        missing = self.unavailable()
        if missing is not None:
            return missing
        reason = self.exceeds(problem)
        if reason is not None:
            return Result(Status.TOO_LARGE, reason)
        smaller = None if refused_conditions(problem, self.conditions_taken) is None else WithoutZeroSizes.of(problem)
        asked = problem if smaller is None else smaller.reduced
        try:
            memory.require(self.bytes_needed(asked), repr(problem))
            with steps(repr(self), None) as step:
                watched = replace(deadline, step=step)
                if warm_start is None:
                    result = self.answer(asked, watched)
                else:
                    result = self.answer_from(asked, watched, warm_start)
            if result.multipliers is not None and not asked.integer:
                result = replace(result, problem=asked)
            result = result if smaller is None else smaller.restored(result)
        except Stopped as stopped:
            result = Result(stopped.status, stopped.reason, seconds=Seconds(solve=deadline.spent))
        except (MemoryNeededError, TooLargeError) as error:
            result = Result(Status.TOO_LARGE, str(error), seconds=Seconds(solve=deadline.spent))
        return replace(result, seconds=replace(result.seconds, compile=deadline.compiling))


def _require_same_cells(problem: Problem, start: Result) -> None:
    """Raise `MethodError` unless a result has an estimate of the problem's regions and sizes."""
    require_kind(start, Result, "warm_start", "give a result of solve")
    estimate = start.answer
    if estimate is None:
        raise MethodError(f"warm_start is a result without an estimate, {start!r}; give one with an answer, or None")
    if estimate.hierarchy.paths != problem.hierarchy.paths:
        regions = f"{estimate.hierarchy.n_regions:,} regions, {problem!r} has {problem.hierarchy.n_regions:,}"
        raise MethodError(f"warm_start is an estimate of other regions ({regions}); give a result for the same ones")
    if estimate.sizes.max_sizes != problem.sizes.max_sizes:
        raise MethodError(
            f"warm_start is an estimate of sizes {estimate.sizes.text}, {problem!r} has {problem.sizes.text}; give a "
            "result for the same sizes"
        )


def require_possible_totals(problem: Problem) -> None:
    """Raise `Stopped` with INFEASIBLE if fixed totals of regions contradict each other.

    `Problem.contradiction`, asked before, finds it, too, but does not look into sums beyond 2^52.
    """
    fixed = FixedTotals.of(problem)
    reason = None if fixed is None else fixed.contradiction(problem.hierarchy)
    if reason is not None:
        raise Stopped(Status.INFEASIBLE, reason)


def refused_squares(problem: Problem, method: str, view: View) -> str | None:
    """Say why a method of consistent squares from 0 on, in order where they are cumulative, knows no such problem."""
    ordered = view is View.CUMULATIVE
    if problem.view is not view or (problem.monotone and not ordered):
        kind = "cumulative counts" if ordered else "counts"
        return f"{method} works on {kind}; {problem.label} is about the {problem.view.value} view"
    if problem.norm != 2:
        return f"{method} minimises squares, {problem.label} absolute values"
    if not (problem.consistent and problem.nonnegative) or problem.monotone is not ordered:
        needs = "consistency, order and signs" if ordered else "consistency and non-negativity"
        return f"{method} needs {needs}, which {problem.label} does not all state"
    return None


def refused_conditions(problem: Problem, taken: Taken) -> str | None:
    """Say which conditions of the problem are beyond those that a method takes, and what can be done, or None."""
    stated = problem.conditions
    if stated is None or taken in (Taken.ALL, Taken.CHOICES):
        return None
    if stated.choices is not None:
        return (
            f"{stated.choices.names[0]} is a choice between conditions; take ChoiceTree() from pgsr.algorithms, or a "
            "solver of integers, such as Gurobi() or MathOpt('GSCIP') from pgsr.models, or leave it out"
        )
    totals, models = FixedTotals.of(problem) is not None, "a solver model such as Cvxpy, Gurobi, MathOpt or Scipy"
    if taken is Taken.TOTALS and totals:
        return None
    remedy = f"take {models} from pgsr.models, or leave them out"
    if totals and problem.view is View.COUNTS and problem.norm == 2 and problem.consistent:
        ours = "Flow(around=RegionTotalsProjection())" if problem.integer else "RegionTotalsProjection()"
        remedy = f"take {ours}, {models} from pgsr.models, or leave them out"
    if taken is Taken.TOTALS:
        regions, _ = stated_totals(stated, problem.sizes)
        other = stated.names[int(np.argmin(regions))] if (regions < 0).any() else stated.first_bound
        return f"this method takes {taken.value}, {other} is another condition; {remedy}"
    if taken is Taken.NONE:
        return f"this method takes no conditions that are stated by where, such as {stated.first}; {remedy}"
    more = f" and {len(stated.names) - 1:,} more" if len(stated.names) > 1 else ""
    names = f"{stated.names[0]}{more}" if stated.names else None
    return names and f"this method takes bounds of single cells, {names} ties several together; {remedy}"


def _asking_for_conditions(own: Callable[[Any, Problem], str | None]) -> Callable[[Any, Problem], str | None]:
    @wraps(own)
    def supports(self: Any, problem: Problem) -> str | None:
        if not (problem.sizes.equal or self.sizes_per_level):
            return (
                "this method takes one largest size for all levels, and here levels have sizes of their own; take "
                "TreeProjection() for M_H, or a solver model from pgsr.models"
            )
        if problem.weights is not None and problem.weights.ndim == 2 and not self.cell_weights:
            return (
                f"this method does not know weights of single cells, which {problem.label} has; take a solver model "
                "such as Cvxpy, Gurobi, MathOpt or Scipy from pgsr.models, or state the problem without"
            )
        reason = own(self, problem)
        if reason is None:
            reason = refused_conditions(problem, self.conditions_taken)
            smaller = None if reason is None else WithoutZeroSizes.of(problem)
            if smaller is not None:
                reason = own(self, smaller.reduced) or refused_conditions(smaller.reduced, self.conditions_taken)
        return reason

    return supports


def judged_release(measurement: Measurement, estimate: Estimate, seconds: Seconds) -> Result:
    """The result of a post-process that optimises no stated problem: FEASIBLE if it can be released, else RELAXED.

    Its certificate has no objective and counts what keeps the estimate from being a release.
    """
    broken = broken_conditions(measurement, estimate)
    certificate = Certificate("release", None, None, "", broken)
    if certificate.feasible:
        return Result(Status.FEASIBLE, "", estimate, certificate, seconds)
    reason = "the estimate is no release: " + ", ".join(f"{n:,} {kind}" for kind, n in broken.items() if n)
    return Result(Status.RELAXED, reason, estimate, certificate, seconds)
