"""Nodes of the tree as problems without choices, which other methods solve and prove."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.algorithms.choice_tree.search import UNDECIDED, Decided, Found
from pgsr.algorithms.isotonic import Isotonic
from pgsr.algorithms.m_c import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_h import TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.certificates import certify
from pgsr.errors import ProblemError
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Method, Status
from pgsr.problems.conditions import UNBOUNDED, Choices, Conditions
from pgsr.problems.problem import Problem

METHODS: tuple[Method, ...] = (
    TreeProjection(),
    RegionTotalsProjection(),
    CumulativeIntegers(),
    CumulativeProjection(),
    Isotonic(),
)
"""The methods that take conditions; the first that takes a node solves it."""

_NEAREST = (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(frozen=True, eq=False)
class MethodNodes:
    """Solves nodes by other methods; see `pgsr.algorithms.choice_tree.search.Nodes`.

    Attributes:
        problem: with choices.
        choices: those of the problem.
        stated: what else it states.
        alternatives: each as conditions, numbered over all choices; None where one has rows that no method takes.
    """

    problem: Problem
    choices: Choices
    stated: Conditions
    alternatives: tuple[Conditions | None, ...]

    @property
    def whole(self) -> bool:
        return self.problem.integer

    @property
    def start_bytes(self) -> int:
        return 0  # methods start anew

    @classmethod
    def of(cls, problem: Problem, leaving_out: bool = False) -> "MethodNodes | str":
        """Take the choices of a problem apart; or say why no method solves its nodes.

        Args:
            leaving_out: whether alternatives that no method takes are left out. Then bounds hold.
        """
        stated = problem.conditions
        assert stated is not None, "there are choices"
        assert stated.choices is not None, "there are choices"
        choices, plain = stated.choices, replace(stated, choices=None, stated=(), sources=None)
        made: list[Conditions | None] = []
        for number in range(len(choices.choice)):
            one = _conditions(choices, number, problem)
            reason = _refused(replace(problem, conditions=plain.and_also(one)))
            if reason is not None and not leaving_out:
                return reason
            made.append(one if reason is None else None)
        reason = _refused(replace(problem, conditions=_joined(plain, made)))
        return cls(problem, choices, plain, tuple(made)) if reason is None else reason

    def solved(self, decided: Decided, above: Found | None, deadline: Deadline) -> Found | None:
        first = np.searchsorted(self.choices.choice, np.arange(len(self.choices)))
        chosen = [first[k] + number for k, number in enumerate(decided) if number != UNDECIDED]
        node = replace(self.problem, conditions=_joined(self.stated, [self.alternatives[k] for k in chosen]))
        known = 0 if above is None else above.bound
        method = next((method for method in METHODS if method.supports(node) is None), None)
        if method is None:
            return Found(known, None, None, None)
        result = method.solve(node, deadline.left)
        if result.status is Status.INFEASIBLE:
            return None
        if result.answer is None or result.certificate is None:
            return Found(known, None, None, None)
        judged, bound = result.certificate, result.certificate.bound
        bound = known if bound is None else max(bound, known)
        if result.status is Status.OPTIMAL and not self.problem.integer:
            bound = min(bound, judged.objective or 0)
        whole = result.status in _NEAREST and all(self.alternatives[k] is not None for k in chosen)
        point = whole and certify(node, result.answer).feasible
        return Found(bound, result.answer.values, judged.objective if point else None, None)


def _conditions(choices: Choices, number: int, problem: Problem) -> Conditions:
    """State an alternative: rows of one cell as bounds, in integers whatever their coefficient is."""
    mine = np.flatnonzero(choices.alternative == number)
    rows, low, high = sparse.csr_array(choices.rows[mine]), choices.lower[mine], choices.upper[mine]
    made = Conditions.none(*problem.target.shape)
    lower, upper = made.lower.ravel(), made.upper.ravel()
    single = (np.diff(rows.indptr) == 1) & (problem.integer | (np.abs(rows.data[rows.indptr[:-1]]) == 1))
    for k in np.flatnonzero(single).tolist():
        cell, factor = int(rows.indices[rows.indptr[k]]), int(rows.data[rows.indptr[k]])
        sides = (int(low[k]), int(high[k])) if factor > 0 else (-int(high[k]), -int(low[k]))
        if sides[0] > -UNBOUNDED:
            lower[cell] = max(int(lower[cell]), -(-sides[0] // abs(factor)))
        if sides[1] < UNBOUNDED:
            upper[cell] = min(int(upper[cell]), sides[1] // abs(factor))
    left = np.flatnonzero(~single)
    name = choices.names[int(choices.choice[number])]
    return replace(
        made, rows=rows[left], row_lower=low[left], row_upper=high[left], names=(name,) * len(left), sources=None
    )


def _joined(stated: Conditions, more: list[Conditions | None]) -> Conditions:
    for one in more:
        stated = stated if one is None else stated.and_also(one)
    return stated


def _refused(node: Problem) -> str | None:
    """Give the last method's reason not to solve a node, the one that speaks of its conditions if any does."""
    reasons = []
    for method in METHODS:
        try:
            reason = method.supports(node)
        except ProblemError as error:
            reason = str(error)
        if reason is None:
            return None
        reasons.append(reason)
    return next((reason for reason in reasons if reason.startswith("this method takes")), reasons[0])
