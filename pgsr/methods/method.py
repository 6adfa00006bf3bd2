"""The interface of methods, and the results that they give."""

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pgsr.certificates import Certificate, Multipliers
from pgsr.data.estimate import Estimate
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import NoDualsError, NoEstimateError
from pgsr.figures.html import facts_table
from pgsr.machine.extras import extra
from pgsr.noise.measurement import Measurement
from pgsr.problems.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

    from pgsr.certificates.duals import Duals

KINDS = ("integrality", "sign", "consistency", "totals", "monotone", "conditions")
"""The kinds of conditions that an answer may violate, in the order of columns."""


class Status(Enum):
    """The way in which a solve ended; the value is a sentence.

    Example:
        >>> Status.FEASIBLE.value
        'feasible, not proved optimal'
    """

    OPTIMAL = "proved optimal"
    FEASIBLE = "feasible, not proved optimal"
    RELAXED = "conditions were relaxed; the violations say which and how often"
    INFEASIBLE = "no point satisfies the conditions"
    UNSUPPORTED = "this method does not solve this problem"
    NOT_INSTALLED = "a package is missing or cannot be imported"
    UNLICENSED = "the solver has no valid licence"
    TOO_LARGE = "the problem exceeds the licence or the method"
    TIMED_OUT = "the time limit was reached without an answer"
    FAILED = "the answer failed our own checks, or the solver gave none"


PROVED = "objective and bound are equal, which proves the result optimal"

ANSWERED = (Status.OPTIMAL, Status.FEASIBLE, Status.RELAXED)
"""The statuses whose answer is shown, and measured against the truth where there is one."""


@dataclass(frozen=True)
class Seconds:
    """The wall time of the three parts of a solve, in seconds, and apart from them the time to compile our loops.

    `compile` is near 0 but for first solves, see `pgsr.machine.compilation`; no limit and no `total` contains it.
    """

    formulate: float = 0.0
    solve: float = 0.0
    round: float = 0.0
    compile: float = 0.0

    @property
    def total(self) -> float:
        """The sum of formulate, solve and round."""
        return self.formulate + self.solve + self.round


@dataclass(frozen=True)
class Residuals:
    """The violations of the optimality conditions by a continuous answer, each relative to its scale; computed by us.

    Attributes:
        primal: largest violated condition.
        dual: largest violation of stationarity at the solver's own duals; None if it gave none.
        gap: (objective - bound) / max(1, bound), the bound by its duals.
    """

    primal: float
    dual: float | None
    gap: float | None


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Result:
    """A result of a method; its certificate was recomputed from problem and estimate alone.

    An answer whose certificate proves it, objective and bound being equal, is OPTIMAL, whatever its method says of it.

    Attributes:
        status: how the solve ended.
        certificate: objective, bound and violations; None without an estimate.
        seconds: time to formulate, solve and round, and to compile.
        reason: a sentence that says why, where the status needs one.
        answer: the estimate or None; `estimate` raises instead of returning None.
        measurement: what a `Mechanism` measured, else None; its `secure` says whether a privacy claim is possible.
        residuals: of a solver's continuous answer, before any rounding; None for exact methods.
        multipliers: the prices behind the bound, where there are some; another method may start from them.
        problem: the continuous problem of which `answer` is an optimum with known prices, for `duals`; else None.
        row_prices: the prices of that problem's rows where a solver gave them; without, `multipliers` tell them.
        claimed: what a solver alone says of its answer, such as "optimal, by Gurobi()"; no status rests on it.
        method: the name of who answered, of results of `pgsr.solve`; "" elsewhere.
        form: how the problem was handed to a solver, such as "window: 7,012 columns, 1 program"; "" without a solver.
        refused: an answer that a method gave and our own checks refused, for study: how far off is it? It is no
            estimate, `estimate` raises beside it, and nothing that publishes reads it.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> from pgsr.algorithms import TreeProjection
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> result = TreeProjection().solve(problem)
        >>> result.status.name, result.estimate.values.tolist()
        ('OPTIMAL', [[1, 9], [1, 5], [0, 4]])
    """

    status: Status
    reason: str = ""
    answer: Estimate | None = None
    certificate: Certificate | None = None
    seconds: Seconds = field(default_factory=Seconds)
    measurement: Measurement | None = None
    residuals: Residuals | None = None
    multipliers: Multipliers | None = None
    refused: Estimate | None = None
    problem: Problem | None = None
    row_prices: np.ndarray | None = None
    claimed: str = ""
    method: str = ""
    form: str = ""

    def __post_init__(self) -> None:
        known = self.certificate if self.answer is not None else None
        if known is not None and self.status is Status.RELAXED and known.feasible:  # whatever was relaxed, all holds
            object.__setattr__(self, "status", Status.FEASIBLE)
        if known is not None and self.status in (Status.FEASIBLE, Status.RELAXED) and known.optimal:
            object.__setattr__(self, "status", Status.OPTIMAL)
            object.__setattr__(self, "reason", f"{self.reason}; {PROVED}" if self.reason else "")

    @property
    def duals(self) -> "Duals":
        """The prices of all rows of a continuous problem, by name: the derivatives of the least objective.

        A price is the derivative with respect to the row's right-hand side, whatever the method: 0 or negative for an
        upper bound, 0 or positive for a lower one. `pgsr.certificates.duals.Duals` says more.

        Raises:
            NoDualsError: there are none; the message says what has them.

        Complexity: O(rows) at most, whenever it is asked for.
        """
        if self.answer is None:
            raise NoDualsError(f"no prices, because there is no estimate, {self.status.value}: {self.reason}")
        if self.problem is None:
            raise NoDualsError(
                "this result has no prices of rows; continuous optima have them, problem.relaxed(), of solver models "
                "for linear and quadratic programs, and of TreeProjection, RegionTotalsProjection, MeanConsistency and "
                "CumulativeProjection without conditions"
            )
        from pgsr.certificates.duals import Duals
        from pgsr.certificates.row_prices import row_prices

        prices = self.row_prices
        if prices is None and self.answer is not None and self.multipliers is not None:
            prices = row_prices(self.problem, self.answer, self.multipliers)
        if prices is None:
            raise NoDualsError(
                f"this method's multipliers do not tell the prices of {self.problem.label}'s rows; take a solver model "
                'of pgsr.models, such as Cvxpy("CLARABEL")'
            )
        return Duals(self.problem, prices)

    @property
    def estimate(self) -> Estimate:
        """The estimate; raises `NoEstimateError`, which says why, if there is none."""
        if self.answer is None:
            raise NoEstimateError(f"no estimate, {self.status.value}: {self.reason}")
        return self.answer

    def facts(self) -> dict[str, Any]:
        """Collect the facts about the result by name: numbers as numbers, None where there is none.

        `objective_exact` is the objective as text, because integers beyond 2^53 do not fit a float column. Violations
        are counts by kind, times are seconds, residuals are relative.
        """
        known, residuals, seconds = self.certificate, self.residuals, self.seconds
        objective = None if known is None else known.objective
        return {
            "problem": None if known is None else known.problem,
            "status": self.status.name,
            "objective": None if objective is None else float(objective),
            "objective_exact": None if objective is None else str(objective),
            "bound": None if known is None or known.bound is None else float(known.bound),
            "bound_by": "" if known is None else known.bound_by,
            "gap": None if known is None else known.gap,
            **{f"violations_{kind}": None if known is None else known.violations.get(kind, 0) for kind in KINDS},
            "formulate_s": seconds.formulate,
            "solve_s": seconds.solve,
            "round_s": seconds.round,
            "compile_s": seconds.compile,
            "primal_residual": None if residuals is None else residuals.primal,
            "dual_residual": None if residuals is None else residuals.dual,
            "relaxed_gap": None if residuals is None else residuals.gap,
            "claimed": self.claimed,
            "form": self.form,
            "reason": self.reason,
        }

    def to_frame(self) -> "pd.DataFrame":
        """Make a data frame of one row from `facts`, so that results can be put below each other."""
        with extra("release"):
            import pandas as pd

        return pd.DataFrame([self.facts()])

    def _repr_html_(self) -> str:
        measured, answer = self.measurement, self.answer
        facts = facts_table(
            "Result",
            {
                "status": f"{self.status.name}: {self.status.value}",
                "reason": self.reason or None,
                "claimed": self.claimed or None,
                "handed over as": self.form or None,
                "certificate": self.certificate,
                "refused answer": None if self.refused is None else repr(self.refused),
                "time": f"{self.seconds.total:.3g} s",
                "noise": None if measured is None else "secure" if measured.secure else "research: no privacy claim",
            },
        )
        return facts if answer is None else facts + answer._repr_html_()

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
    """The interface of whatever solves a stated problem, a specialised algorithm or a solver model.

    Example:
        >>> from pgsr.algorithms import TreeProjection
        >>> isinstance(TreeProjection(), Method)
        True
    """

    def supports(self, problem: Problem) -> str | None:
        """Give the reason why this method does not solve this problem, or None."""
        ...

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        """Solve within `time_limit` seconds. What cannot be solved is a status with a reason, not an exception."""
        ...


@runtime_checkable
class PostProcess(Protocol):
    """The interface of whatever turns a measurement into an estimate without solving one stated problem.

    It may also have `supports(measurement) -> None | reason`, which is asked before any budget is spent, and
    `leaves_alone = True`, where it reads the noisy values of the leaves and no others, so that shares of levels above
    would be spent for nothing.
    """

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Estimate within `time_limit` seconds. What cannot be done is a status with a reason, not an exception."""
        ...
