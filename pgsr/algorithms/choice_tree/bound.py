"""A bound on problems with choices, by which the answers of others are proved, too."""

import math
from dataclasses import dataclass

from pgsr.algorithms.choice_tree.by_flow import FlowNodes
from pgsr.algorithms.choice_tree.by_methods import MethodNodes
from pgsr.algorithms.choice_tree.search import MOST, best_first
from pgsr.checks import checked_limit, require_kind
from pgsr.errors import TooLargeError
from pgsr.methods.gate import Deadline, Stopped
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP


@dataclass(frozen=True)
class ChoicesBound:
    """A bound.

    Attributes:
        value: no feasible objective is below; infinity where no point is feasible.
        complete: whether nothing was left undecided. Then there is a feasible point with an objective of `value`, but
            for `upto`, above which none is looked for.
    """

    value: int | float
    complete: bool


def choices_bound(
    problem: Problem, upto: int | float | None = None, time_limit: float | None = None
) -> ChoicesBound | None:
    """Compute a number that no feasible objective is below, of a problem with choices; None where nothing is known.

    Where rows fit into no flow, and no method takes them, they are left out: the bound holds without them.

    Args:
        problem: with choices, in integers or reals.
        upto: the objective of an answer that is to be proved: the value is at most this, and equal to it if and only if
            the tree proves that no point is nearer. That is sooner known than the optimum.
        time_limit: seconds, or None.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> from pgsr.problems.conditions import cells, zero_or_at_least
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> problem = Problem.of([[4, 5], [3, 2], [1, 3]], tree, groups=9, label="M_H")
        >>> problem = problem.where(zero_or_at_least(cells(level=1), 3))
        >>> choices_bound(problem).value, choices_bound(problem, upto=3).value, choices_bound(problem, upto=5).value
        (4, 3, 4)
    """
    require_kind(problem, Problem, "the problem", "give one with choices, stated by where(either(a, b))")
    stated, deadline = problem.conditions, Deadline(checked_limit(time_limit))
    if stated is None or stated.choices is None:
        return None
    if problem.exceeds_arithmetic is not None:
        return None
    nodes = FlowNodes.of(problem, leaving_out=True)
    if isinstance(nodes, str):
        nodes = MethodNodes.of(problem, leaving_out=True)
    if isinstance(nodes, str):
        return None
    try:
        found = best_first(nodes, MOST, deadline, upto)
    except (Stopped, TooLargeError):
        return None
    known = min(math.inf if upto is None else upto, math.inf if found.best is None else found.best.value or 0)
    allowed = 0.0 if nodes.whole else PROVED_GAP * max(1.0, abs(found.bound))
    return ChoicesBound(found.bound, known <= found.bound + allowed)
