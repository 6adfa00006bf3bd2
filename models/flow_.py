"""M_H as a min-cost flow, by OR-tools."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.formulate import children_sums, unsupported
from models.optional import load, not_installed
from pgsr.certificate import certify, objective
from pgsr.checks import checked_limit
from pgsr.estimate import Estimate
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem

LARGEST = 500_000
"""Most unknowns: the network has a few arcs per unknown and is solved once per scale."""

_REACH = 3
"""Arcs of one step each way around the current flow, per unknown."""


@dataclass(frozen=True)
class Flow:
    """The integer optimum of M_H by min-cost flow with convex costs, independently of `TreeProjection`.

    The groups of size s flow from the root through the regions: unknown x[r, s] is the flow from r's parent into r, and
    G units leave the source. The convex cost of an arc becomes parallel arcs of `step` units each. Starting from any
    feasible flow, the flow is improved until nothing changes, then the step is divided by four, down to one. For convex
    costs a flow that unit arcs cannot improve is optimal.

    Status: OPTIMAL, proved by our exchange test; TOO_LARGE; TIMED_OUT (checked between solves); NOT_INSTALLED.

    Source: scaling for convex cost flows, Ahuja, Magnanti and Orlin 1993, section 14.5.
    """

    def supports(self, problem: Problem) -> str | None:
        if not problem.integer:
            return "Flow finds integers; solve a relaxation with Cvxpy or TreeProjection"
        if not problem.nonnegative or problem.totals is None:
            return "Flow needs non-negative counts and the root's public total"
        return unsupported(problem)

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        time_limit = checked_limit(time_limit)
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.contradiction is not None:
            return Result(Status.INFEASIBLE, problem.contradiction)
        if problem.n_unknowns > LARGEST:
            return Result(
                Status.TOO_LARGE, f"{problem.n_unknowns:,} unknowns; the whole network is built up to {LARGEST:,}"
            )
        min_cost_flow = load("ortools.graph.python.min_cost_flow")
        if min_cost_flow is None:
            return not_installed("ortools")
        start = time.perf_counter()
        x = _any_feasible(problem)
        formulated = time.perf_counter()
        step = 1 << max(0, problem.measurement.root_total.bit_length() - 1)
        while True:
            better = _improve(min_cost_flow, problem, x, step)
            if better is None:
                return Result(Status.FAILED, "OR-tools' min-cost flow gave no optimal flow on a feasible network")
            unchanged = _cost(problem, better) >= _cost(problem, x)
            x = better
            if unchanged and step == 1:
                break
            if unchanged:
                step = max(1, step // 4)
            if time_limit is not None and time.perf_counter() - start > time_limit:
                seconds = Seconds(formulated - start, time.perf_counter() - formulated)
                return Result(Status.TIMED_OUT, f"step {step} reached after {time_limit:g} s", seconds=seconds)
        seconds = Seconds(formulated - start, time.perf_counter() - formulated)
        estimate = Estimate(problem.hierarchy, problem.view, x)
        certificate = certify(problem, estimate)
        if certificate.optimal:
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
        return Result(Status.FAILED, "the exchange test refutes this flow", None, certificate, seconds)


def _any_feasible(problem: Problem) -> np.ndarray:
    """All groups have size 0 and lie below the first child, and its first child, and so on."""
    tree = problem.hierarchy
    x = np.zeros(problem.target.shape, np.int64)
    x[tree.level_start[:-1], 0] = problem.measurement.root_total
    return x


def _improve(min_cost_flow: Any, problem: Problem, x: np.ndarray, step: int) -> np.ndarray | None:
    """The cheapest feasible flow within `_REACH` steps of x, at multiples of `step` from it."""
    tree, y, w = problem.hierarchy, problem.target, problem.w
    n_sizes = y.shape[1]
    # Lowest flow on every arc: what must flow anyway is moved into the nodes' supplies.
    low = np.maximum(x - _REACH * step, x % step)
    offered = (x - low) // step + _REACH
    cells = np.arange(y.size).reshape(y.shape)
    source, sink = y.size, y.size + 1
    tails = np.full(y.shape, source)
    tails[1:] = cells[tree.parent[1:]]
    heads = cells.copy()
    heads[tree.leaves] = sink

    unknown = np.repeat(np.arange(y.size), offered.ravel())
    rank = np.arange(len(unknown)) - np.repeat(np.cumsum(offered.ravel()) - offered.ravel(), offered.ravel())
    at = low.ravel()[unknown] + rank * step
    weight = np.repeat(w, n_sizes)[unknown]
    # (at + step - y)^2 - (at - y)^2, divided by step: the cost per unit on this arc.
    cost = weight * (2 * (at - y.ravel()[unknown]) + step)
    network = min_cost_flow.SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(
        tails.ravel()[unknown], heads.ravel()[unknown], np.ones(len(unknown), np.int64), cost
    )
    supply = np.zeros(y.size + 2, np.int64)
    # What `low` brings into a region and what it takes out below differ; only the difference is supplied.
    supply[: tree.n_inner * n_sizes] = ((low[: tree.n_inner] - children_sums(tree, low)) // step).ravel()
    total = problem.measurement.root_total
    supply[source] = (total - int(low[0].sum())) // step
    supply[sink] = -((total - int(low[tree.leaves].sum())) // step)
    network.set_nodes_supplies(np.arange(y.size + 2), supply)
    if network.solve() != network.OPTIMAL:
        return None
    flows = np.bincount(unknown, network.flows(arcs), minlength=y.size).astype(np.int64)
    return low + step * flows.reshape(y.shape)


def _cost(problem: Problem, x: np.ndarray) -> int:
    return int(objective(problem, Estimate(problem.hierarchy, problem.view, x)))
