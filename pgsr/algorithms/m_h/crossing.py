"""M_H beyond one tree: weights of cells, and sums of leaf cells measured besides, as one cheapest flow.

The groups of a size flow from the leaves up to the root, an arc per cell. A set of leaf cells whose sum was measured is
one more arc, on the way to its leaves: what the set holds flows through it and then into the leaf cells. That is a
network as long as of any two sets one contains the other or they have no cell in common (a *laminar* family): the
regions of a second hierarchy over the same leaves, such as metropolitan areas across states, totals of leaves, or both
together. Sets that overlap otherwise, such as a third hierarchy across both, are left to solvers.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.certificates import Multipliers
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.quadratic_flow.balancing import nearly_whole
from pgsr.engines.quadratic_flow.integers import cheapest_flow
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.engines.quadratic_flow.relaxed import relaxed_prices
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem
from pgsr.problems.sums import MeasuredSums, leaves_below

_ENOUGH = 0.1
"""Units by which vertices may be off before prices are rounded."""

_LARGEST_WEIGHT = 2**31


def crosses(problem: Problem) -> bool:
    """Say whether more is measured than one tree with a weight per region has."""
    return not problem.is_plain


def refused_by_crossing(problem: Problem) -> str | None:
    """Give the reason why the flow does not solve such a problem, or None."""
    assert problem.weights is not None, "problems have weights"
    solver = "take a solver model such as Gurobi() or MathOpt('GSCIP')"
    if not problem.integer:
        return f"TreeProjection finds integers where {_why(problem)}; take Cvxpy() for real numbers"
    if problem.conditions is not None or problem.totals is Totals.REGIONS:
        return f"TreeProjection knows the root's total alone where {_why(problem)}; {solver}"
    if problem.hierarchy.n_levels == 1 or not problem.measured.all():
        return f"TreeProjection needs leaves below the root, and weights above 0, where {_why(problem)}; {solver}"
    heaviest = max(int(problem.weights.max()), 0 if problem.sums is None else int(problem.sums.weights.max()))
    if heaviest >= _LARGEST_WEIGHT:
        return f"weights are {heaviest:,}, and where {_why(problem)} they stay below 2^31; scale them down"
    if problem.sums is not None and Sets.of(problem, problem.sums) is None:
        return (
            f"the measured sums of {problem.label} are no network: each has to be a set of leaf cells, and of any two "
            f"sets one contains the other or they have no cell in common; {solver}"
        )
    return None


def optimum_of_crossing(problem: Problem, deadline: Deadline) -> tuple[Estimate, Multipliers]:
    """Find the integer optimum by a cheapest flow of quadratic cost, with the prices that prove it.

    Every vertex's price is what one more unit is worth there: at inner cells the price of consistency, at the top that
    of the root's total, and of two sets, one around the other, the difference is the price of the inner one's sum.
    """
    tree, y = problem.hierarchy, problem.target
    sets = Sets.none(problem) if problem.sums is None else Sets.of(problem, problem.sums)
    assert sets is not None, "other sums are refused"
    network, order = _network(problem, sets)
    price = relaxed_prices(network, tolerance=_ENOUGH, patience=6)
    deadline.check("no integer optimum yet")
    flow = cheapest_flow(network, nearly_whole(network, price))
    x = np.empty(len(order), np.int64)
    x[order] = flow.x
    n_sets = len(sets.outer)
    inner, of_sets = np.split(flow.price, [len(flow.price) - n_sets])
    of_inner = inner[len(inner) - tree.n_inner * y.shape[1] :].reshape(tree.n_inner, -1).astype(float)
    of_sets = np.append(of_sets, 0)
    total = np.zeros(0) if problem.totals is None else flow.price[1:2].astype(float)
    sums = None
    if problem.sums is not None:
        sums = np.zeros(n_sets)
        sums[sets.order] = of_sets[sets.outer] - of_sets[:-1]
        of_inner += _paid_above(problem, problem.sums.matrix.T @ sums)
    return Estimate(tree, View.COUNTS, x[: y.size].reshape(y.shape)), Multipliers(of_inner, total, sums=sums)


def _paid_above(problem: Problem, of_cells: np.ndarray) -> np.ndarray:
    """Add the sums' prices of cells up from the root to every inner cell: sums over these were moved to the leaves."""
    tree = problem.hierarchy
    paid = of_cells.reshape(problem.target.shape)[: tree.n_inner].copy()
    for level in range(1, tree.n_levels - 1):
        here = tree.level(level)
        paid[here] += paid[tree.parent[here]]
    return paid


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of leaf cells whose sums were measured, those of fewer cells first.

    Attributes:
        order: the place of each among the problem's sums, shape (m,).
        outer: the next set around each, -1 where there is none; shape (m,).
        innermost: the smallest set that every leaf cell is in, or -1; shape (leaves * (K + 1),).
    """

    order: np.ndarray
    outer: np.ndarray
    innermost: np.ndarray

    @classmethod
    def none(cls, problem: Problem) -> "Sets":
        """Make no sets at all."""
        n = (problem.hierarchy.n_regions - problem.hierarchy.n_inner) * (problem.max_size + 1)
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.full(n, -1))

    @classmethod
    def of(cls, problem: Problem, sums: MeasuredSums) -> "Sets | None":
        """Find the sets of a problem's sums.

        None where a sum is not one of leaf cells, each once, or where two overlap and none contains the other.
        """
        matrix = sparse.csr_array(sums.matrix @ leaves_below(problem.hierarchy, problem.max_size + 1))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not (matrix.data == 1).all():
            return None
        sizes = np.diff(matrix.indptr)
        order = np.argsort(sizes, kind="stable")
        outer, innermost = np.full(len(order), -1), np.full(matrix.shape[1], -1)  # pyright: ignore
        outermost = innermost.copy()
        for place, k in enumerate(order.tolist()):
            cells = matrix.indices[matrix.indptr[k] : matrix.indptr[k + 1]]
            inside, counts = np.unique(outermost[cells], return_counts=True)
            held = inside >= 0
            if (counts[held] != sizes[order[inside[held]]]).any():
                return None
            outer[inside[held]] = place
            innermost[cells] = np.where(outermost[cells] < 0, place, innermost[cells])
            outermost[cells] = place
        return cls(order, outer, innermost)


def _network(problem: Problem, sets: Sets) -> tuple[FlowNetwork, np.ndarray]:
    """Make the network of all cells and sets, and give the order of its arcs among these.

    Vertex 0 is the ground, 1 the root's total if it is public; those of inner cells and of sets follow.
    """
    tree, y, n_sizes = problem.hierarchy, problem.target, problem.max_size + 1
    top = 0 if problem.totals is None else 1
    first = top + 1
    n_inner, n_sets = tree.n_inner * n_sizes, len(sets.outer)
    vertex = first + np.arange(n_inner).reshape(tree.n_inner, n_sizes)
    of_set = np.append(first + n_inner + np.arange(n_sets), 0)  # the last is the ground, for what is in no set
    start = np.concatenate([vertex.ravel(), of_set[sets.innermost], of_set[sets.outer]])
    end = np.full(y.shape, top)
    end[1:] = vertex[tree.parent[1:]]
    end = np.concatenate([end.ravel(), of_set[:-1]])
    sums = problem.sums
    noisy, w = y.ravel(), problem.cell_weights
    if sums is not None:
        noisy, w = np.append(noisy, sums.values[sets.order]), np.append(w, sums.weights[sets.order])
    order = np.argsort(start, kind="stable")
    supply = np.zeros(first + n_inner + n_sets, np.int64)
    if top:
        supply[top] = -problem.root_total
    start, end, noisy, w = (part[order] for part in (start, end, noisy, w))
    return FlowNetwork.of(start, end, noisy, w, np.zeros(len(order), bool), len(supply), supply), order


def _why(problem: Problem) -> str:
    return "cells have weights of their own" if problem.sums is None else "sums were measured besides the cells"
