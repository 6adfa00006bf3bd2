"""The judgement of an answer that was made elsewhere, with a bound of our own."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr import certificates
from pgsr.certificates import Certificate, Multipliers
from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Result, Seconds, Status
from pgsr.own_methods import OwnAlgorithm
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import ACCEPTED_GAP, CONDITION

_WAY_OUT = "give an array of shape (regions, K + 1), a frame with a row per region, or a solved model"


def certify(problem: Problem, answer: Any, multipliers: Multipliers | None = None) -> Certificate:
    """Recompute the objective of an answer from anywhere, count its broken conditions, and bound the optimum.

    Where neither the answer nor `multipliers` prove a bound, our own exact algorithm finds one, if there is one.

    Args:
        problem: what the answer answers.
        answer: an `Estimate`; an array of shape (regions, K + 1) in the problem's view; a data frame with a row per
            region, in their order or with their paths as index, and a column per size; a solved `cvxpy.Problem` or
            `gurobipy.Model`. Numbers within 1e-6 of integers are these integers, where the problem asks for integers.
        multipliers: prices for a Lagrangian bound, such as a solver's duals.

    Raises:
        ArgumentError: no answer can be read from what was given; the message says what can.
        ProblemError: the answer has another view or other regions or sizes than the problem.

    Complexity: O(regions x sizes), and at most one solve by our algorithm.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = pgsr.Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> certify(problem, [[1, 9], [0, 5], [1, 4]])
        Certificate(problem: objective 4, bound 2 by exchange test, no violations)
    """
    require_kind(problem, Problem, "the problem", "state one, such as Problem.m_h(noisy)")
    return _bounded(problem, read_answer(problem, answer), multipliers, None)


@dataclass(frozen=True, eq=False)
class Outside:
    """An answer that was made elsewhere, as a method: a comparison judges it like all others."""

    answer: Any
    label: str

    def supports(self, problem: Problem) -> str | None:
        """Take every problem; an answer that does not fit is an error of `solve`."""
        del problem

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        """Judge the answer, and bound its distance from the optimum within the limit."""
        clock = Deadline(time_limit)
        estimate = read_answer(problem, self.answer)
        proved = _bounded(problem, estimate, None, time_limit)
        near = proved.gap is not None and (proved.optimal or (not problem.integer and proved.gap <= ACCEPTED_GAP))
        status = Status.OPTIMAL if near else Status.FEASIBLE if proved.feasible else Status.RELAXED
        return Result(status, "made elsewhere, judged here", estimate, proved, Seconds(round=clock.spent))

    def __repr__(self) -> str:
        return self.label


def read_answer(problem: Problem, answer: Any) -> Estimate:
    """Read the estimate of a problem from what a person has in hand."""
    if isinstance(answer, Estimate):
        return answer
    if isinstance(answer, CountOfCounts):
        return Estimate(answer.hierarchy, View.COUNTS, answer.counts)
    if type(answer).__module__.partition(".")[0] in ("cvxpy", "gurobipy"):
        answer = _solution(answer, problem.n_unknowns)
    tables = answer if isinstance(answer, tuple) else (_by_label(answer, problem.hierarchy),)
    if any(getattr(np.asarray(table), "dtype", np.dtype("O")).kind not in "iufb" for table in tables):
        raise ArgumentError(f"the answer is {type(answer).__name__} without numbers; {_WAY_OUT}")
    read = [_numbers(np.asarray(table), problem.integer) for table in tables]
    shape = problem.hierarchy.n_regions, problem.n_unknowns // problem.hierarchy.n_regions
    if len(read) == 1 and read[0].ndim == 1 and read[0].size == math.prod(shape):
        read = [read[0].reshape(shape)]
    view = View.COUNTS if problem.view is View.RANKED else problem.view
    return Estimate(problem.hierarchy, view, read[0] if len(read) == 1 else tuple(read))


def _bounded(
    problem: Problem, estimate: Estimate, multipliers: Multipliers | None, time_limit: float | None
) -> Certificate:
    """Certify; where a bound is missing or leaves a gap, ask our own algorithm for a better one."""
    ours = certificates.certify(problem, estimate, multipliers)
    if ours.optimal:
        return ours
    known = OwnAlgorithm().solve(problem, time_limit).certificate
    if known is None or known.bound is None or (ours.bound is not None and ours.bound >= known.bound):
        return ours
    return ours.with_bound(known.bound, known.bound_by)


def _solution(model: Any, n_unknowns: int) -> Any:
    """Read the values of a solved model, of its only variable with one entry per unknown."""
    if getattr(model, "SolCount", 1) == 0:  # of Gurobi, whose variables have no X before, and none before an update
        raise ArgumentError("the model has no values; solve it first")
    of_model = model.variables() if hasattr(model, "variables") else [model.getVars()]
    fitting = [each for each in of_model if (len(each) if isinstance(each, list) else each.size) == n_unknowns]
    if len(fitting) != 1:
        raise ArgumentError(
            f"{len(fitting)} variables of the model have {n_unknowns:,} entries; give the values of one, x.value"
        )
    if getattr(fitting[0], "value", True) is None:
        raise ArgumentError("the model has no values; solve it first")
    return [each.X for each in fitting[0]] if isinstance(fitting[0], list) else fitting[0].value


def _by_label(answer: Any, tree: Hierarchy) -> Any:
    """Order the rows of a frame by the regions in its index; rows that are only numbered stay in their order."""
    index = getattr(answer, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return answer
    places = [tree.find(tuple(row) if isinstance(row, tuple) else tuple(str(row).split("/"))) for row in index]
    if sorted(places) != list(range(tree.n_regions)):
        raise ArgumentError("the frame's index does not name every region once; give a row for each")
    return answer.iloc[np.argsort(places)]


def _numbers(values: np.ndarray, integer: bool) -> np.ndarray:
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    whole = np.rint(values)
    return whole.astype(np.int64) if integer and (np.abs(values - whole) <= CONDITION).all() else values.astype(float)
