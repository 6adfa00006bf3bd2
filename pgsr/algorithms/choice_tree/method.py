"""The best point of a problem with choices, proved over all alternatives."""

from dataclasses import dataclass
from typing import ClassVar

from pgsr.algorithms.choice_tree.by_flow import FlowNodes
from pgsr.algorithms.choice_tree.by_methods import MethodNodes
from pgsr.algorithms.choice_tree.search import MOST, Found, Searched, best_first
from pgsr.certificates import certify
from pgsr.certificates.certificate import ALTERNATIVES
from pgsr.checks import whole_number
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, GatedMethod, Taken
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP


@dataclass(frozen=True)
class ChoiceTree(GatedMethod):
    """Decides choices between conditions, `either` and `zero_or_at_least`, best first, each case proved by itself.

        minimise    the distance of a problem: squares or magnitudes of counts or cumulative counts
        subject to  its conditions, and of every choice one alternative.

    A node has some choices decided and the others dropped, so its optimum bounds all that is below it. Nodes are
    cheapest flows in exact integers, where conditions are sums over two families of sets without overlaps, or
    `TreeProjection`, `CumulativeProjection` and `CumulativeIntegers` solve them (`pgsr.algorithms.choice_tree`).

    Args:
        most: number of problems without choices that are solved at most.

    Shapes: any. Complexity: that of a node, a millisecond for a thousand cells as a flow, times the number of nodes, at
    worst exponential in the number of choices that the optimum without choices breaks.

    Ties: among equal optima the one that is found first.

    Status: OPTIMAL with bound == objective in integers, or a gap of at most 1e-9 in reals; FEASIBLE with the proven gap
    where the tree was cut off or nodes have gaps; INFEASIBLE where every alternative contradicts the other conditions,
    each proved; TIMED_OUT where no point was found.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> from pgsr.problems.conditions import cells, zero_or_at_least
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> problem = Problem.of([[4, 5], [3, 2], [1, 3]], tree, groups=9, label="M_H")
        >>> result = ChoiceTree().solve(problem.where(zero_or_at_least(cells(level=1), 3)))
        >>> result.status.name, result.certificate.objective, result.estimate.values[1:].tolist()
        ('OPTIMAL', 4, [[3, 3], [0, 3]])

    Extends: M_H and M_c of Fioretto and Van Hentenryck 2019, sections 5 and 8, by choices, as branch and bound over
    disjunctions does. Shown equal to exhaustive search by `test_choice_tree.py`.
    """

    most: int = MOST

    conditions_taken: ClassVar[Taken] = Taken.CHOICES
    cell_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("most", self.most, 1, MethodError)

    def supports(self, problem: Problem) -> str | None:
        if problem.view is View.RANKED or problem.conditions is None or problem.conditions.choices is None:
            return (
                f"ChoiceTree decides choices, and {problem.label} has none; state some by where(either(a, b)), or take "
                "a method for what is left, such as TreeProjection()"
            )
        as_flow = FlowNodes.of(problem)
        if isinstance(as_flow, FlowNodes):
            return None
        by_methods = MethodNodes.of(problem)
        if isinstance(by_methods, MethodNodes):
            return None
        return (
            f"ChoiceTree solves cases of choices as flows, or by another method, and here {as_flow}, and "
            f"{by_methods.partition('; ')[0]}; take a solver of integers such as Gurobi(), MathOpt('GSCIP') or Scipy() "
            "from pgsr.models"
        )

    def bytes_needed(self, problem: Problem) -> int:
        return 600 * problem.n_unknowns + (2**28 if isinstance(FlowNodes.of(problem), FlowNodes) else 0)

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        nodes = FlowNodes.of(problem)
        nodes = MethodNodes.of(problem) if isinstance(nodes, str) else nodes
        assert not isinstance(nodes, str), "the gate asked"
        search = best_first(nodes, self.most, deadline)
        seconds = Seconds(solve=deadline.spent)
        if search.best is not None:
            return self._judged(problem, search, search.best, seconds)
        if search.complete and search.bound == float("inf"):
            reason = (
                f"every combination of alternatives contradicts the other conditions; {search.n_solved:,} problems "
                "without choices prove it"
            )
            return Result(Status.INFEASIBLE, reason, seconds=seconds)
        reason = f"no point that keeps all choices in {search.n_solved:,} problems without choices; {self._remedy}"
        return Result(Status.TIMED_OUT, reason, seconds=seconds)

    def _judged(self, problem: Problem, search: Searched, best: Found, seconds: Seconds) -> Result:
        values = best.cells if problem.integer or best.cells is None else best.cells.astype(float)
        assert values is not None, "a point that keeps all choices has cells"
        estimate = Estimate(problem.hierarchy, problem.view, values)
        certificate = certify(problem, estimate)
        if not certificate.feasible:
            reason = f"the point that the tree found breaks conditions: {certificate!r}; please report this problem"
            return Result(Status.FAILED, reason, None, certificate, seconds, refused=estimate)
        bound = search.bound if problem.integer else float(search.bound)
        certificate = certificate.with_bound(bound, ALTERNATIVES)
        gap = certificate.gap or 0.0
        if certificate.optimal or (not problem.integer and gap <= PROVED_GAP):
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
        reason = f"within a relative gap of {gap:.1e} of the optimum, proved by {search.n_solved:,} problems without "
        reason += "choices" if search.complete else f"choices; {self._remedy}"
        return Result(Status.FEASIBLE, reason, estimate, certificate, seconds)

    def __repr__(self) -> str:
        return "ChoiceTree()" if self.most == MOST else f"ChoiceTree(most={self.most})"

    @property
    def _remedy(self) -> str:
        return f"give more time, or ChoiceTree(most=...) more problems than {self.most:,}"
