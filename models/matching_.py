"""The optimal matching of Kuo et al. as solver models, interchangeable with the specialised `SortedMatching`.

Sizes x of a parent's G groups and y of its children's are given. Group by group it is the assignment problem

    minimise  sum over i, j of |x_i - y_j| pi_ij,  pi in {0, 1}^(G x G), every row and column of pi sums to 1.

Equal sizes are interchangeable. With a_i groups in run i of the parent (a size) and b_j in run j of the children (a
child and a size) it is the transportation problem

    minimise  sum over i, j of |x_i - y_j| pi_ij,  pi >= 0 integer,  sum_j pi_ij = a_i,  sum_i pi_ij = b_j.

Every answer is judged in exact integers: its marginals must be a and b, and its cost must equal the dual bound

    max over f with |f(s + 1) - f(s)| <= 1 of  sum_i a_i f(x_i) - sum_j b_j f(y_j)  =  sum over s of |A(s) - B(s)|,

with A(s), B(s) the numbers of groups of size at most s: the earth mover's distance (Kantorovich and Rubinstein).
Optimal matchings tie: costs are equal, pairs need not be, so merged sizes may differ. Only `SortedMatching` shares ties
in proportion among children.

Source: Kuo et al. 2018, algorithm 2. Shown by `test_models_matching.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.algorithms.groups import GroupRuns
from pgsr.estimators.matching.sorted_matching import Match, NoMatchError, runs_below
from pgsr.methods.method import Status
from pgsr.models.optional import load, missing
from pgsr.models.watch import within

_MODULE = "ortools.graph.python.min_cost_flow"

LARGEST_ASSIGNMENT = 5_000
"""Most groups: G^2 numbers; at 5,000 groups SciPy takes about 2 s and 0.7 GB."""

LARGEST_FLOW = 4_000_000
"""Most arcs, pairs of runs: about 5 s and 0.6 GB."""

LARGEST_LP = 500_000
"""Most variables, pairs of runs: about 12 s and 0.6 GB."""


@dataclass(frozen=True)
class Assignment:
    """The matcher by the assignment problem on the dense matrix of all pairs of groups: G^2 variables.

    Solved by SciPy, by shortest augmenting paths. No time limit: it cannot be interrupted. Above `LARGEST_ASSIGNMENT`
    groups it refuses.

    Complexity: O(G^3); O(G^2) memory.

    Example:
        >>> parent = GroupRuns(np.array([1, 2]), np.array([3, 1]))
        >>> children = [GroupRuns(np.array([1]), np.array([2])), GroupRuns(np.array([1, 4]), np.array([1, 1]))]
        >>> Assignment().match(parent, children).cost
        2

    Source: Crouse 2016.
    """

    def supports(self, n_groups: int) -> str | None:
        if n_groups <= LARGEST_ASSIGNMENT:
            return None
        return (
            f"{n_groups:,} groups have {n_groups**2:,} pairs; {self!r} goes up to {LARGEST_ASSIGNMENT:,} groups; use "
            "TransportFlow(), which counts runs of equal sizes, or SortedMatching()"
        )

    def match(self, parent: GroupRuns, children: Sequence[GroupRuns], time_limit: float | None = None) -> Match:
        from scipy.optimize import linear_sum_assignment

        del time_limit
        _, y, b = runs_below(parent, children)
        reason = self.supports(parent.total)
        if reason is not None:
            raise NoMatchError(Status.TOO_LARGE, reason)
        top, bottom = np.repeat(np.arange(len(parent.size)), parent.count), np.repeat(np.arange(len(y)), b)
        mate = linear_sum_assignment(np.abs(parent.size[top][:, None] - y[bottom]))[1]
        pair, count = np.unique(top * len(y) + bottom[mate], return_counts=True)
        return _judged(repr(self), parent, children, pair, count)


@dataclass(frozen=True)
class TransportFlow:
    """The matcher by the transportation problem as a min-cost flow, by OR-tools: one arc per pair of runs.

    a_i units enter at run i of the parent, b_j leave at run j of the children, and the arc between them costs
    |x_i - y_j| a unit. Runs are at most K + 1 for the parent and (K + 1) x children, however many groups there are.
    No time limit: the solver cannot be interrupted. Above `LARGEST_FLOW` arcs it refuses.

    Complexity: O(n^2 m log(n C)) at worst, with n runs, m arcs and C the largest cost; O(m) memory.

    Example:
        >>> parent = GroupRuns(np.array([1, 2]), np.array([300_000_000, 100_000_000]))
        >>> child = GroupRuns(np.array([1]), np.array([200_000_000]))
        >>> children = [child, child]
        >>> TransportFlow().match(parent, children).cost
        100000000

    Source: Ahuja, Magnanti and Orlin 1993, section 1.2 (transportation); Goldberg 1997 (OR-tools' cost scaling).
    """

    def supports(self, n_groups: int) -> str | None:
        del n_groups
        absent = missing(_MODULE)
        return None if absent is None else absent.reason

    def match(self, parent: GroupRuns, children: Sequence[GroupRuns], time_limit: float | None = None) -> Match:
        del time_limit
        _, y, b = runs_below(parent, children)
        absent = missing(_MODULE)
        if absent is not None:
            raise NoMatchError(absent.status, absent.reason)
        _check_pairs(repr(self), parent, y, LARGEST_FLOW, "arcs")
        i, j = _pairs(parent, y)
        flow = load(_MODULE).SimpleMinCostFlow()
        capacity = np.minimum(parent.count[i], b[j])
        cost = np.abs(parent.size[i] - y[j])
        arcs = flow.add_arcs_with_capacity_and_unit_cost(i, len(parent.size) + j, capacity, cost)
        flow.set_nodes_supplies(np.arange(len(parent.size) + len(y)), np.concatenate([parent.count, -b]))
        status = within(None, flow.solve)
        if status != flow.OPTIMAL:
            raise _failed(repr(self), f"OR-tools says {status.name}")
        units = flow.flows(arcs)
        used = np.flatnonzero(units)
        return _judged(repr(self), parent, children, used, units[used])


@dataclass(frozen=True)
class TransportLp:
    """The matcher by the transportation problem as a linear program, by HiGHS in SciPy: one variable per pair of runs.

    The constraint matrix is the incidence matrix of a bipartite graph, hence totally unimodular: with integer a and b
    every vertex is integral, and the dual simplex method ends at a vertex. The answer is rounded against floating point
    and judged. Above `LARGEST_LP` variables it refuses.

    Complexity: exponential at worst, in practice a few pivots per run; O(pairs of runs) memory.

    Example:
        >>> parent = GroupRuns(np.array([1, 2]), np.array([300, 100]))
        >>> children = [GroupRuns(np.array([1]), np.array([200])), GroupRuns(np.array([1]), np.array([200]))]
        >>> TransportLp().match(parent, children).cost
        100

    Source: Hoffman and Kruskal 1956 (integral vertices); Huangfu and Hall 2018 (HiGHS).
    """

    def supports(self, n_groups: int) -> str | None:
        del n_groups
        return None

    def match(self, parent: GroupRuns, children: Sequence[GroupRuns], time_limit: float | None = None) -> Match:
        from scipy.optimize import linprog

        _, y, b = runs_below(parent, children)
        _check_pairs(repr(self), parent, y, LARGEST_LP, "variables")
        i, j = _pairs(parent, y)
        if len(i) == 0:
            return _judged(repr(self), parent, children, i, i)
        rows, columns = np.concatenate([i, len(parent.size) + j]), np.tile(np.arange(len(i)), 2)
        marginals = sparse.csr_array((np.ones(len(rows)), (rows, columns)))
        options = {} if time_limit is None else {"time_limit": time_limit}
        answer = linprog(
            np.abs(parent.size[i] - y[j]),
            A_eq=marginals,
            b_eq=np.concatenate([parent.count, b]),
            method="highs-ds",
            options=options,
        )
        if answer.status == 1:
            limit = "its iteration limit" if time_limit is None else f"{time_limit:.3g} s"
            raise NoMatchError(Status.TIMED_OUT, f"HiGHS had no matching after {limit}; give more time")
        if answer.status != 0:
            raise _failed(repr(self), f"HiGHS says: {answer.message}")
        units = np.rint(answer.x).astype(np.int64)
        used = np.flatnonzero(units)
        return _judged(repr(self), parent, children, used, units[used])


def _judged(model: str, parent: GroupRuns, children: Sequence[GroupRuns], pair: np.ndarray, count: np.ndarray) -> Match:
    """The matching of count[k] groups on pair[k] = i x (runs below) + j, once marginals and cost are proved."""
    _, y, b = runs_below(parent, children)
    i, j = pair // max(1, len(y)), pair % max(1, len(y))
    match = Match.of(parent, children, i, j, count.astype(np.int64))
    above, below = _sums(i, count, len(parent.size)), _sums(j, count, len(y))
    if (count < 0).any() or (above != parent.count).any() or (below != b).any():
        raise _failed(model, "the answer does not match every group exactly once")
    bound = _dual_bound(parent, y, b)
    if match.cost != bound:
        raise _failed(model, f"the answer costs {match.cost:,}, the least is {bound:,}")
    return match


def _dual_bound(parent: GroupRuns, y: np.ndarray, b: np.ndarray) -> int:
    """The sum over s of |A(s) - B(s)|, in integers."""
    size, place = np.unique(np.concatenate([parent.size, y]), return_inverse=True)
    excess = np.cumsum(_sums(place, np.concatenate([parent.count, -b]), len(size)))
    return int((np.abs(excess[:-1]) * np.diff(size)).sum())


def _sums(place: np.ndarray, values: np.ndarray, length: int) -> np.ndarray:
    # Not bincount, whose weights are floats.
    total = np.zeros(length, np.int64)
    np.add.at(total, place, values)
    return total


def _pairs(parent: GroupRuns, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List all pairs (run of the parent, run below), the latter fastest."""
    return np.repeat(np.arange(len(parent.size)), len(y)), np.tile(np.arange(len(y)), len(parent.size))


def _check_pairs(model: str, parent: GroupRuns, y: np.ndarray, largest: int, what: str) -> None:
    n = len(parent.size) * len(y)
    if n > largest:
        raise NoMatchError(
            Status.TOO_LARGE,
            f"{len(parent.size):,} sizes by {len(y):,} runs of the children are {n:,} {what}; {model} goes up to "
            f"{largest:,}; use SortedMatching()",
        )


def _failed(model: str, why: str) -> NoMatchError:
    return NoMatchError(Status.FAILED, f"{model} has no valid matching: {why}; use SortedMatching()")
