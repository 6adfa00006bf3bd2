"""Nodes of the tree as problems without choices, which other methods solve and prove."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.algorithms.choice_tree.search import UNDECIDED, Decided, Found
from pgsr.algorithms.choice_tree.sums import divided
from pgsr.algorithms.isotonic import Isotonic
from pgsr.algorithms.m_c import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_h import TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.certificates import certify
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Method, Status
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import Conditions
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
class _Alternative:
    """The conditions of an alternative: bounds of cells, and rows for all else."""

    cells: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rows: sparse.csr_array
    row_lower: np.ndarray
    row_upper: np.ndarray
    name: str


@dataclass(frozen=True, eq=False)
class MethodNodes:
    """Solves nodes by other methods; see `pgsr.algorithms.choice_tree.search.Nodes`.

    Attributes:
        problem: with choices.
        choices: those of the problem.
        stated: what else it states.
        alternatives: numbered over all choices; None where one has rows that no method takes.
    """

    problem: Problem
    choices: Choices
    stated: Conditions
    alternatives: tuple[_Alternative | None, ...]

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
        every = tuple(_alternative(choices, number, problem) for number in range(len(choices.choice)))
        made: tuple[_Alternative | None, ...] = every
        if _refused(problem, plain, every) is not None:  # together they may contradict each other, so one by one
            reasons = [_refused(problem, plain, (one,)) for one in every]
            wrong = next((reason for reason in reasons if reason is not None), None)
            if wrong is not None and not leaving_out:
                return wrong
            made = tuple(one if reason is None else None for one, reason in zip(every, reasons, strict=True))
            reason = _refused(problem, plain, ()) if wrong is not None else None
            if reason is not None:
                return reason
        return cls(problem, choices, plain, made)

    def solved(self, decided: Decided, above: Found | None, deadline: Deadline) -> Found | None:
        first = np.searchsorted(self.choices.choice, np.arange(len(self.choices)))
        chosen = [self.alternatives[first[k] + number] for k, number in enumerate(decided) if number != UNDECIDED]
        known_ones = tuple(one for one in chosen if one is not None)
        node = replace(self.problem, conditions=_joined(self.stated, known_ones))
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
        whole = result.status in _NEAREST and len(known_ones) == len(chosen)
        point = whole and certify(node, result.answer).feasible
        return Found(bound, result.answer.values, judged.objective if point else None, None)


def _alternative(choices: Choices, number: int, problem: Problem) -> _Alternative:
    """State an alternative: rows of one cell as bounds, in integers whatever their coefficient is."""
    mine = np.flatnonzero(choices.alternative == number)
    rows, low, high = sparse.csr_array(choices.rows[mine]), choices.lower[mine], choices.upper[mine]
    first = rows.indptr[:-1]
    single = np.diff(rows.indptr) == 1
    factor = np.ones(len(mine), np.int64)
    factor[single] = rows.data[first[single]]
    single &= problem.integer | (np.abs(factor) == 1)
    left, (least, most, _) = ~single, divided(low[single], high[single], factor[single])
    return _Alternative(
        rows.indices[first[single]],
        least,
        most,
        sparse.csr_array(rows[np.flatnonzero(left)]),
        low[left],
        high[left],
        choices.names[int(choices.choice[number])],
    )


def _joined(conditions: Conditions, more: tuple[_Alternative, ...]) -> Conditions:
    """State some alternatives besides."""
    if not more:
        return conditions
    lower, upper = conditions.lower.copy(), conditions.upper.copy()
    for one in more:
        np.maximum.at(lower, one.cells, one.lower)
        np.minimum.at(upper, one.cells, one.upper)
    return replace(
        conditions,
        lower=lower,
        upper=upper,
        rows=sparse.csr_array(sparse.vstack([conditions.rows, *(one.rows for one in more)])),
        row_lower=np.concatenate([conditions.row_lower, *(one.row_lower for one in more)]),
        row_upper=np.concatenate([conditions.row_upper, *(one.row_upper for one in more)]),
        names=conditions.names + tuple(one.name for one in more for _ in one.row_lower),
    )


def _refused(problem: Problem, stated: Conditions, more: tuple[_Alternative, ...]) -> str | None:
    """Give the reason why no method solves a node, the one that speaks of its conditions if any does; or None."""
    node, reasons = replace(problem, conditions=_joined(stated, more)), []
    for method in METHODS:
        reason = method.supports(node)
        if reason is None:
            return None
        reasons.append(reason)
    return next((reason for reason in reasons if reason.startswith("this method takes")), reasons[0])
