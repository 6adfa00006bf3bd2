"""The mechanism M_H^dp as printed: the dynamic program on cost tables of windows around the noisy counts."""

from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.cost_tables.steps import UNFINISHED, Combined, CostTableList, SlopeMerge, Step
from pgsr.algorithms.cost_tables.windows import Domains, Window, checked_window, domains
from pgsr.certificates import certify
from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MemoryNeededError
from pgsr.machine import memory
from pgsr.methods.gate import Deadline, GatedMethod, refused_squares
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_LARGEST_COST = 2.0**62
_LARGEST_COUNT = 2**40
_BYTES_PER_ENTRY = 40  # of a table while it is combined: costs, slopes, order and room to build them


@dataclass(frozen=True)
class CostTables(GatedMethod):
    """Solves M_H by the published dynamic program: one table of costs for every region and size.

        tau[r, s](v) = w[r] (v - y[r, s])^2 + phi[r, s](v),                              v in D[r, s]
        phi[r, s](v) = min sum over children c of tau[c, s](x[c])  subject to  sum_c x[c] = v,   0 at leaves

    Tables are built from the leaves up; a dummy root above all sizes splits the public total, and every region's value
    tells its children's. `TreeProjection` finds the same optimum without tables.

    Args:
        window: D[r, s] is y +- delta within 0..G. "paper": delta = 3 ceil(2 lambda^2), lambda = sensitivity / (epsilon
            of the level), so the problem has to state its epsilons; a number: that delta; None: 0..G.
        step: how phi is computed: `SlopeMerge()`, `SlopeGreedy()`, or `pgsr.models.TableConstraints()` (M_dp^OP).

    Shapes: any depth, any number of sizes. Complexity: O(entries log children), entries = regions x sizes x (2 delta +
    1).

    Ties: with both slope steps smaller sizes and earlier regions are served first.

    Status: OPTIMAL where the exchange test proves the answer, inside the windows or not; FEASIBLE, without a bound,
    where it is the optimum of the windows only; TIMED_OUT; TOO_LARGE; what else `step` may need.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> problem = Problem.m_h(Geometric(View.COUNTS, epsilon=4).measure(truth, Seeded("demo")))
        >>> CostTables().solve(problem).estimate.counts().totals[0]
        np.int64(6)

    Source: Fioretto and Van Hentenryck 2019, sections 6 and 7, (d1) to (d4), equation (4). Shown equal to exhaustive
    search by `test_cost_tables.py::test_equals_brute_force`.

    Theorem 1 of Fioretto and Van Hentenryck 2019: there are O(regions x sizes x D) sub-problems, D the most values of a
    table. Shown by `test_cost_tables_operations.py::test_as_many_subproblems_as_regions_times_sizes_times_values`.

    Theorem 2 of Fioretto and Van Hentenryck 2019: every table is convex. Shown by
    `test_cost_tables.py::test_all_tables_are_convex`.
    """

    window: Window = "paper"
    step: Step = field(default_factory=SlopeMerge)

    def __post_init__(self) -> None:
        checked_window(self.window)
        require_kind(self.step, Step, "step", "give SlopeMerge(), SlopeGreedy() or TableConstraints()")

    def supports(self, problem: Problem) -> str | None:
        reason = refused_squares(problem, "CostTables", View.COUNTS)
        if reason is not None:
            return reason
        if not problem.integer:
            return "CostTables finds integers; solve a relaxation with TreeProjection"
        if problem.totals is not Totals.ROOT:
            return "CostTables needs the root's total and no other; state the problem with totals='root'"
        if self.window == "paper" and problem.noise is None:
            return (
                f"the paper's windows follow from the noise of every level, which {problem.label} does not state; "
                "state the problem with noise=..., or give CostTables(window=...) a number of counts or None"
            )
        return None

    def unavailable(self) -> Result | None:
        return self.step.unavailable()

    def exceeds(self, problem: Problem) -> str | None:
        if max(int(np.abs(problem.target).max()), problem.root_total) > _LARGEST_COUNT:
            return "counts exceed 2^40, beyond any table"
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return 24 * problem.n_unknowns  # of the domains; tables are asked about once these are known

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        within = domains(problem, self.window)
        reason = _too_large(problem, within)
        if reason is not None:
            return Result(Status.TOO_LARGE, reason)
        formulated = deadline.spent
        x = _optimum(problem, within, self.step, deadline)
        return self._judged(problem, within, x, Seconds(formulated, deadline.spent - formulated))

    def _judged(self, problem: Problem, within: Domains, x: np.ndarray, seconds: Seconds) -> Result:
        estimate = Estimate(problem.hierarchy, View.COUNTS, x)
        certificate = certify(problem, estimate)
        if certificate.optimal:
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
        n_bound = within.bound(x, problem.root_total)
        # Unit moves decide optimality, so an optimum that touches no window is the optimum of all points.
        if not certificate.feasible or not n_bound:
            reason = f"{self!r} gave an answer that our own test refutes: {certificate!r}"
            return Result(Status.FAILED, reason, None, certificate, seconds)
        widest = int(within.delta[problem.w > 0].max())
        grown = f" (doubled {within.doublings} times to reach the total)" if within.doublings else ""
        reason = (
            f"the windows bind: {n_bound:,} values lie at an end of y +- {widest:,} or less{grown}. "
            "This is the optimum inside them, not of all points; use window=None"
        )
        return Result(Status.FEASIBLE, reason, estimate, certificate, seconds)

    def __repr__(self) -> str:
        parts = [] if self.window == "paper" else [f"window={self.window!r}"]
        parts += [] if self.step == SlopeMerge() else [f"step={self.step!r}"]
        return f"CostTables({', '.join(parts)})"


def _optimum(problem: Problem, within: Domains, step: Step, deadline: Deadline) -> np.ndarray:
    """Find the cheapest values inside the domains; shape (regions, K + 1)."""
    tree, n_sizes = problem.hierarchy, problem.target.shape[1]
    roots, splits = [], []
    for size in range(n_sizes):
        root, split = _subtree(problem, within, size, step, deadline)
        roots.append(root)
        splits.append(split)
    total = problem.root_total
    x = np.empty(problem.target.shape, np.int64)
    x[0] = step.combine(CostTableList.of(within.low[0], roots), total, total, deadline).split(total)
    for size, split in enumerate(splits):
        deadline.check(UNFINISHED)
        for region, combined in enumerate(split):
            children = tree.children(region)
            x[children.start : children.stop, size] = combined(int(x[region, size]))
    return x


def _subtree(problem: Problem, within: Domains, size: int, step: Step, deadline: Deadline) -> tuple[np.ndarray, list]:
    """Compute the root's table for one size, and how every inner region splits its value, by region."""
    tree = problem.hierarchy
    y, w = problem.target[:, size], problem.w
    low, high = within.low[:, size], within.high[:, size]

    def leaves(first: int, stop: int) -> CostTableList:
        return CostTableList.quadratic(y[first:stop], w[first:stop], low[first:stop], high[first:stop])

    def own(region: int, combined: Combined) -> np.ndarray:
        distance = np.arange(low[region], high[region] + 1) - y[region]
        return w[region] * distance * distance + combined.costs

    tables: dict[int, np.ndarray] = {}
    splits: list = [None] * tree.n_inner
    for region in range(tree.n_inner - 1, -1, -1):
        first, stop = tree.children(region).start, tree.children(region).stop
        if first >= tree.n_inner:
            below = leaves(first, stop)
        else:
            below = CostTableList.of(low[first:stop], [tables.pop(child) for child in range(first, stop)])
        combined = step.combine(below, int(low[region]), int(high[region]), deadline)
        tables[region] = own(region, combined)
        splits[region] = combined.split
    return (tables[0] if tree.n_inner else leaves(0, 1).costs), splits


def _too_large(problem: Problem, within: Domains) -> str | None:
    """Say why these tables cannot be built, or return None."""
    tree, widths = problem.hierarchy, within.widths
    farthest = np.maximum(np.abs(within.low - problem.target), np.abs(within.high - problem.target)).astype(float)
    if float((problem.w[:, None] * farthest**2).sum()) > _LARGEST_COST:
        return "costs exceed 2^62; scale the weights down or give smaller windows"
    combined = [int(widths[0].sum())]
    for level in range(tree.n_levels - 1):
        combined.append(int(tree.sum_children(widths, level).max()))
    kept = int(widths[: tree.n_inner].sum()) * np.dtype(np.min_scalar_type(tree.n_regions)).itemsize
    alive = 8 * int(widths[0].sum()) + 8 * int(widths[: tree.n_inner].sum(axis=0).max())
    try:
        memory.require(_BYTES_PER_ENTRY * max(combined) + kept + alive, f"{int(widths.sum()):,} table entries")
    except MemoryNeededError as error:
        return f"{error}; or give smaller windows"
    return None
