"""The solver model of OR-tools' min-cost flows, for integer squares on networks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pgsr.certificates import certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.exchange import has_exchange_test
from pgsr.certificates.fixed_totals import FixedTotals, totals_exceeding_arithmetic
from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.gate import Deadline, GatedMethod, Taken, refused_conditions, require_possible_totals
from pgsr.methods.method import Method, Result, Seconds, Status
from pgsr.models.optional import load, missing
from pgsr.models.watch import within
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

LARGEST = 500_000
"""Most unknowns from scratch: the network has a few arcs per unknown and is solved once per scale."""

LARGEST_AROUND = 10_000_000
"""Most unknowns around a continuous optimum: one arc per fractional unknown."""

_BYTES_PER_UNKNOWN = 400
"""The memory of the network from scratch, a few arcs each way per unknown; around an optimum it is smaller."""

_REACH = 3
"""The number of steps each way around the current flow that get arcs."""

_NEAR = 1e-7
"""A continuous optimum this close to an integer counts as that integer."""


@dataclass(frozen=True)
class Flow(GatedMethod):
    """Solves M_H or the naive problem in integers, by min-cost flow with convex costs.

    The groups of size s flow from the root through the regions: unknown x[r, s] is the flow from r's parent into r.
    What arrives at a leaf goes to the sink of its set, which takes the set's fixed total: all leaves are one set where
    the root's total is fixed, each is one of its own where every region's is, and totals of some regions, stated as
    `total(region) == number`, make sets between these (`pgsr.certificates.fixed_totals`). What arrives at leaves of no
    set goes back to where it came from. (In the naive problem every region is a leaf.) The convex cost of an arc
    becomes parallel arcs of `step` units.

    From scratch, independently of any other method: starting from any feasible flow, the flow is improved until nothing
    changes, then the step is divided by four, down to one. For convex costs a flow that unit arcs cannot improve is
    optimal.

    Around a continuous optimum x, which `around` finds: an integer flow between floor(x) and ceil(x) exists, the
    cheapest one is found with one arc per fractional cell, and the certificate shows whether it is optimal among all;
    while it is not, the flow is improved as above. That is what makes every region's total exact at national scale:
    `Flow(around=RegionTotalsProjection())`.

    Args:
        around: None, or a method that solves the relaxation.

    Status: OPTIMAL, proved by our exchange test or by node potentials, in integers; TOO_LARGE; TIMED_OUT (checked
    between solves); NOT_INSTALLED; FAILED where `around` has no answer.

    Source: scaling for convex cost flows, Ahuja, Magnanti and Orlin 1993, section 14.5.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> Flow().solve(problem).certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
    """

    conditions_taken: ClassVar[Taken] = Taken.TOTALS
    cell_weights: ClassVar[bool] = True

    around: Method | None = None

    def __post_init__(self) -> None:
        if self.around is not None:
            require_kind(self.around, Method, "around", "give a method for the relaxation, such as TreeProjection()")

    def supports(self, problem: Problem) -> str | None:
        if not problem.integer:
            return "Flow finds integers; solve a relaxation with Cvxpy or TreeProjection"
        if problem.view is not View.COUNTS or problem.monotone or problem.norm != 2 or not problem.nonnegative:
            return f"Flow minimises squares of non-negative counts; {problem.label} is another kind of problem"
        if not problem.consistent and problem.totals is not Totals.REGIONS:
            return "Flow needs every region's public total where regions stand alone"
        if problem.totals is None and problem.conditions is None:
            return "Flow needs fixed totals: the root's, every region's, or some stated as total(region) == number"
        if not (problem.is_plain or has_exchange_test(problem)):
            return "Flow proves optima with weights of single cells under the root's total alone; take a solver model"
        if not problem.consistent and problem.conditions is not None:
            return refused_conditions(problem, Taken.NONE)
        return None if self.around is None else self.around.supports(problem.relaxed())

    def unavailable(self) -> Result | None:
        return missing("ortools.graph.python.min_cost_flow")

    def exceeds(self, problem: Problem) -> str | None:
        largest = LARGEST if self.around is None else LARGEST_AROUND
        if problem.n_unknowns > largest:
            return f"{problem.n_unknowns:,} unknowns; {self!r} builds networks for up to {largest:,}"
        return super().exceeds(problem) or totals_exceeding_arithmetic(problem)

    def bytes_needed(self, problem: Problem) -> int:
        return _BYTES_PER_UNKNOWN * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        if problem.consistent:
            require_possible_totals(problem)
        min_cost_flow = load("ortools.graph.python.min_cost_flow")
        network, multipliers, formulated = _Network(min_cost_flow, problem), None, 0.0
        if self.around is None:
            flows = network.scaled()
        else:
            relaxed = self.around.solve(problem.relaxed(), deadline.left)
            if relaxed.answer is None:
                return Result(relaxed.status, f"no relaxed optimum to start from: {relaxed.reason}")
            flows, multipliers = network.around(relaxed.answer.values), relaxed.multipliers
            formulated = deadline.spent
        certificate = None
        for x, claimed in flows:
            seconds = Seconds(formulated, deadline.spent - formulated)
            if x is None:
                return Result(Status.FAILED, "OR-tools' min-cost flow gave no optimal flow", seconds=seconds)
            if claimed:
                estimate = Estimate(problem.hierarchy, problem.view, x)
                certificate = certify(problem, estimate, multipliers)
                seconds = Seconds(formulated, deadline.spent - formulated)
                if certificate.optimal:
                    return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
            deadline.check("no optimal flow")
        return Result(Status.FAILED, "our exact test refutes this flow", None, certificate)

    def __repr__(self) -> str:
        return "Flow()" if self.around is None else f"Flow(around={self.around!r})"


class _Network:
    """A network with a node per (inner region, size), one above all roots, and a sink per set with a fixed total."""

    def __init__(self, min_cost_flow: Any, problem: Problem) -> None:
        self.solver, self.problem = min_cost_flow, problem
        tree, y = problem.hierarchy, problem.target
        self.leaves = tree.leaves if problem.consistent else slice(0, tree.n_regions)
        self.inner = slice(0, self.leaves.start)
        cells = np.arange(y.size).reshape(y.shape)
        self.source = y.size
        fixed = FixedTotals.of(problem)
        assert fixed is not None, "problems with other conditions are refused"
        self.set_of, self.totals = fixed.set_of, fixed.totals
        if not problem.consistent:
            self.set_of, self.totals = np.arange(len(y)), problem.region_totals
        self.sinks = y.size + 1 + np.arange(len(self.totals))
        ends = np.append(self.sinks, self.source)[self.set_of]  # leaves of no set lead back to the source
        self.tails = np.full(y.shape, self.source)
        if problem.consistent:
            self.tails[1:] = cells[tree.parent[1:]]
        self.heads = cells.copy()
        self.heads[self.leaves] = ends[:, None]

    def scaled(self) -> Iterator[tuple[np.ndarray | None, bool]]:
        """Yield better and better flows, coarse steps first; True marks those that no unit step improves."""
        x = self._any_feasible()
        step = 1 << max(0, int(self.totals.sum()).bit_length() - 1)
        yield from self._improved(x, step, _REACH)

    def around(self, continuous: np.ndarray) -> Iterator[tuple[np.ndarray | None, bool]]:
        """The cheapest flow between floor and ceil, then improvements of it; True marks what may be optimal."""
        low, high = np.floor(continuous + _NEAR), np.ceil(continuous - _NEAR)
        width, x = 0, None
        while x is None:
            x = self._cheapest(np.maximum(low - width, 0).astype(np.int64), (high + width).astype(np.int64), 1)
            if x is None and width > 2**20:
                yield None, False
                return
            width = 2 * width + 1
        yield x, True
        yield from self._improved(x, 1, 1)

    def _improved(self, x: np.ndarray, step: int, reach: int) -> Iterator[tuple[np.ndarray | None, bool]]:
        """Yield better and better flows up to so many steps away, until no unit step improves one."""
        while True:
            # What must flow anyway is a multiple of the step away from x.
            low = np.maximum(x - reach * step, x % step)
            better = self._cheapest(low, x + reach * step, step)
            if better is None:
                yield None, False
                return
            unchanged = self._cost(better) >= self._cost(x)
            x = better
            yield x, unchanged and step == 1
            if unchanged and step == 1:
                return
            if unchanged:
                step = max(1, step // 4)

    def _any_feasible(self) -> np.ndarray:
        """Give every group size 0, and those of a set to its first leaf."""
        x = np.zeros(self.problem.target.shape, np.int64)
        sets, first = np.unique(self.set_of, return_index=True)
        x[self.leaves.start + first[sets >= 0], 0] = self.totals[sets[sets >= 0]]
        return x if not self.problem.consistent else self.problem.hierarchy.sum_up(x[self.leaves])

    def _cheapest(self, low: np.ndarray, high: np.ndarray, step: int) -> np.ndarray | None:
        """The cheapest feasible flow between low and high, at multiples of `step` from low; None if there is none."""
        problem, y = self.problem, self.problem.target
        offered = np.maximum((high - low) // step, 0).ravel()
        unknown = np.repeat(np.arange(y.size), offered)
        rank = np.arange(len(unknown)) - np.repeat(np.cumsum(offered) - offered, offered)
        at = low.ravel()[unknown] + rank * step
        weight = problem.cell_weights[unknown]
        # (at + step - y)^2 - (at - y)^2, divided by step: the cost per unit on this arc.
        cost = weight * (2 * (at - y.ravel()[unknown]) + step)
        network = self.solver.SimpleMinCostFlow()
        arcs = network.add_arcs_with_capacity_and_unit_cost(
            self.tails.ravel()[unknown], self.heads.ravel()[unknown], np.ones(len(unknown), np.int64), cost
        )
        # What `low` brings into a region and what it takes out below differ; only the difference is supplied.
        supply = np.zeros(y.size + 1 + len(self.sinks), np.int64)
        if problem.consistent:
            levels, sizes = problem.sizes.tables(low), problem.sizes
            given = [(levels[i] - sizes.children_sums(levels, i)).ravel() for i in range(len(levels) - 1)]
            supply[: self.inner.stop * y.shape[1]] = np.concatenate(given) if given else 0
        top = low[:1] if problem.consistent else low
        into_sets, back = self._into_ends(low)
        supply[self.source] = self.totals.sum() + back - top.sum()
        supply[self.sinks] = into_sets - self.totals
        if (supply % step).any():
            return None
        network.set_nodes_supplies(np.arange(len(supply)), supply // step)
        if within(None, network.solve) != network.OPTIMAL:
            return None
        flows = np.bincount(unknown, network.flows(arcs), minlength=y.size).astype(np.int64)
        return low + step * flows.reshape(y.shape)

    def _into_ends(self, x: np.ndarray) -> tuple[np.ndarray, int]:
        """Add up what arrives at each set of leaves, and at leaves of no set."""
        arriving = np.zeros(len(self.sinks) + 1, np.int64)
        np.add.at(arriving, self.set_of, x[self.leaves].sum(axis=1))
        return arriving[:-1], int(arriving[-1])

    def _cost(self, x: np.ndarray) -> int:
        return int(objective(self.problem, Estimate(self.problem.hierarchy, self.problem.view, x)))
