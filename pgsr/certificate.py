"""Judging an answer from problem and estimate alone: objective, violations, bound, proof of optimality."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pgsr.bounds import (
    BLOCK_CELLS,
    NEVER,
    is_chain_optimal,
    is_isotonic_problem,
    is_region_exchange_optimal,
    is_simplex_problem,
    isotonic_bound,
    isotonic_is_optimal,
    row_blocks,
    simplex_bound,
    sum_below,
)
from pgsr.errors import ProblemError
from pgsr.estimate import Estimate
from pgsr.measurement import Totals
from pgsr.problem import Problem
from pgsr.views import View, ranked

EXCHANGE_TEST = "exchange test"
MULTIPLIERS = "Lagrangian bound"
CHAIN = "subgradient chain"

_LARGEST_SLOPE = 2**58


@dataclass(frozen=True)
class Certificate:
    """What is known of an answer.

    Attributes:
        problem: label of the problem that was judged; objectives of different problems are not comparable.
        objective: distance to the noisy values, an exact integer for an integer estimate; None where no problem was
            stated and only the conditions of a release were checked.
        bound: no feasible point has a smaller objective; None if nothing is known.
        bound_by: the argument that shows the bound, or "".
        violations: number of violated conditions by kind (integrality, sign, consistency, totals, monotone).
    """

    problem: str
    objective: int | float | None
    bound: int | float | None
    bound_by: str
    violations: dict[str, int]

    @property
    def feasible(self) -> bool:
        return not any(self.violations.values())

    @property
    def gap(self) -> float | None:
        """(objective - bound) / max(1, bound) of a feasible answer, else None: an infeasible one has no gap."""
        if self.bound is None or self.objective is None or not self.feasible:
            return None
        return float(self.objective - self.bound) / max(1.0, float(self.bound))

    @property
    def optimal(self) -> bool:
        """Feasible and, in exact integers, as good as the bound."""
        return self.feasible and self.bound is not None and self.objective == self.bound

    def with_bound(self, bound: float, by: str) -> "Certificate":
        """The same with a bound on somebody's word, whose name it carries."""
        return replace(self, bound=bound, bound_by=by)

    def __repr__(self) -> str:
        violated = ", ".join(f"{n:,} {kind}" for kind, n in self.violations.items() if n) or "no violations"
        bound = "none" if self.bound is None else f"{_number(self.bound)} by {self.bound_by}"
        if self.objective is None:
            return f"Certificate({self.problem}: {violated})"
        return f"Certificate({self.problem}: objective {_number(self.objective)}, bound {bound}, {violated})"


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Prices that a bound may use. They need no trust: any numbers give a valid bound.

    In the Lagrangian of a consistent problem,

        sum w |x - y|^norm + sum over inner r, cells s of consistency[r, s] (x[r, s] - sum over children x[c, s])
                           + sum over regions r with a public total of totals[r] (G[r] - sum_s x[r, s]),

    `consistency[r, s]` is what one more unit of cell s below region r is paid, `totals[r]` what one more group in region
    r is paid (in the cumulative view totals are fixed cells and have no price). Conditions on signs and order are kept.

    Attributes:
        consistency: shape (inner regions, K + 1).
        totals: shape (1,) where the root's total is public, (regions,) where every region's is, else (0,).
    """

    consistency: np.ndarray
    totals: np.ndarray


def certify(problem: Problem, estimate: Estimate, multipliers: Multipliers | None = None) -> Certificate:
    """Recompute everything that can be said of `estimate` as an answer to `problem`.

    A feasible answer to M_H or to the naive problem is proved optimal, or not, by an exchange test, one to an isotonic
    problem by the subgradient chain, all in exact integers. Otherwise a Lagrangian bound is given: of `multipliers`, if
    offered, where regions are tied together; of multipliers derived from the estimate where each stands alone.

    Complexity: O(regions x sizes).

    Raises:
        ProblemError: estimate and problem are of different shapes or views.
    """
    if problem.view is View.RANKED:
        return _certify_ranked(problem, estimate)
    if estimate.view is not problem.view or estimate.values.shape != problem.target.shape:
        raise ProblemError(f"{estimate!r} does not answer {problem!r}; they differ in view, regions or sizes")
    value = objective(problem, estimate)
    violated = violations(problem, estimate)
    proof = "" if any(violated.values()) else _proof(problem, estimate)
    if proof:
        return Certificate(problem.label, value, value, proof, violated)
    bound = _bound(problem, estimate, multipliers)
    return Certificate(problem.label, value, bound, "" if bound is None else MULTIPLIERS, violated)


def _certify_ranked(problem: Problem, estimate: Estimate) -> Certificate:
    """Ranked problems are answered by integer counts: n groups of size s are n entries s of the ranked vector."""
    measurement, counts = problem.measurement, estimate.values
    if estimate.view is not View.COUNTS or counts.dtype.kind != "i" or estimate.max_size != measurement.max_size:
        raise ProblemError(f"{estimate!r} does not answer {problem!r}; give integer counts of sizes 0..K")
    violated = {"integrality": 0, "sign": int((counts < 0).sum()), "totals": 0}
    value, optimal = 0, True
    for w, row, y in zip(problem.w, np.maximum(counts, 0), measurement.values, strict=True):
        x = ranked(row)
        if len(x) != len(y):
            violated["totals"] += 1
            continue
        value += int(w) * _exact_row_sums(np.abs(x - y)[None], squared=problem.norm == 2)[0]
        optimal = optimal and isotonic_is_optimal(x, y, 0, measurement.max_size, problem.norm)
    if any(violated.values()) or not optimal:
        return Certificate(problem.label, value, None, "", violated)
    return Certificate(problem.label, value, value, CHAIN, violated)


def objective(problem: Problem, estimate: Estimate) -> int | float:
    """sum w |x - y|^norm; an exact Python integer for an integer estimate."""
    x, y, terms = estimate.values, problem.target, []
    for block in row_blocks(slice(0, len(y)), y.shape[1]):
        difference = np.abs(x[block] - y[block])
        if difference.dtype.kind == "i":
            per_region = _exact_row_sums(difference, squared=problem.norm == 2)
            terms += [int(w) * total for w, total in zip(problem.w[block], per_region, strict=True)]
        else:
            terms += list(problem.w[block] * np.sum(difference**problem.norm, axis=1))
    return sum(terms) if x.dtype.kind == "i" else math.fsum(terms)


def violations(problem: Problem, estimate: Estimate) -> dict[str, int]:
    """Number of violated conditions by kind; a condition that `problem` does not state is not counted.

    integrality and sign count cells, consistency counts (region, size) pairs, totals counts regions, monotone counts
    neighbouring sizes. Integers are compared exactly, other numbers to 1e-6 + 1e-9 |value|.
    """
    x, tree = estimate.values, problem.hierarchy
    exact = x.dtype.kind == "i"

    def differs(a: np.ndarray, b: np.ndarray | float) -> np.ndarray:
        return (a != b) if exact else np.abs(a - b) > 1e-6 + 1e-9 * np.abs(a)

    counts: dict[str, int] = {}
    if problem.integer:
        counts["integrality"] = 0 if exact else int(differs(x, np.rint(x)).sum())
    if problem.nonnegative:
        first = x[:, 0] if problem.monotone else x
        counts["sign"] = int((first < (0 if exact else -1e-6)).sum())
    if problem.consistent:
        counts["consistency"] = sum(
            int(differs(x[tree.level(level)], tree.sum_children(x, level)).sum()) for level in range(tree.n_levels - 1)
        )
    if problem.totals is not None:
        have = x[:, -1] if problem.view is View.CUMULATIVE else x.sum(axis=1)
        want = problem.measurement.totals
        counts["totals"] = int(
            differs(
                have if problem.totals is Totals.REGIONS else have[:1],
                want if problem.totals is Totals.REGIONS else want[:1],
            ).sum()
        )
    if problem.monotone:
        counts["monotone"] = int((np.diff(x, axis=1) < (0 if exact else -1e-6)).sum())
    return counts


def is_decided(problem: Problem) -> bool:
    """Whether `certify` proves every optimal answer to this problem, so that an unproved one is not optimal."""
    exact = has_exchange_test(problem) or is_simplex_problem(problem) or is_isotonic_problem(problem)
    return problem.integer and (exact or problem.view is View.RANKED)


def _proof(problem: Problem, estimate: Estimate) -> str:
    """The argument that shows a feasible answer to be optimal, or "" if none does."""
    if has_exchange_test(problem) and is_exchange_optimal(problem, estimate):
        return EXCHANGE_TEST
    if is_simplex_problem(problem) and problem.integer and is_region_exchange_optimal(problem, estimate):
        return EXCHANGE_TEST
    if is_isotonic_problem(problem) and is_chain_optimal(problem, estimate):
        return CHAIN
    return ""


def _bound(problem: Problem, estimate: Estimate, multipliers: Multipliers | None) -> float | None:
    """The Lagrangian bound there is, or None."""
    if multipliers is not None and has_lagrangian_bound(problem):
        return lagrangian_bound(problem, multipliers)
    if is_simplex_problem(problem):
        return simplex_bound(problem, estimate)
    if is_isotonic_problem(problem) and problem.norm == 2:
        return isotonic_bound(problem, estimate)
    return None


def has_exchange_test(problem: Problem) -> bool:
    """Whether `is_exchange_optimal` decides optimality: M_H, with the root's total or none."""
    return (
        problem.view is View.COUNTS
        and problem.norm == 2
        and problem.integer
        and problem.nonnegative
        and problem.consistent
        and not problem.monotone
        and problem.totals is not Totals.REGIONS
    )


def is_exchange_optimal(problem: Problem, estimate: Estimate) -> bool:
    """Whether a feasible integer answer is optimal, by local exchanges, in integers and one pass.

    For every region r and size let

        R = w (2 (x - y) + 1) + min over children of R     cheapest cost of one more group at r,
        L = w (2 (x - y) - 1) + max over children of L     largest saving of one less (minus infinity at a leaf with 0).

    The objective is separable and convex over a laminar family, so the answer is optimal if and only if at every inner
    region max L(children) <= min R(children), and across sizes max L(root) <= min R(root). Shown against exhaustive
    search by `tests/test_certificate.py::test_exchange_test_equals_brute_force`.
    """
    n_sizes = problem.target.shape[1]
    step = max(1, BLOCK_CELLS // problem.hierarchy.n_regions)
    dearest, cheapest = [], []
    for start in range(0, n_sizes, step):
        block = slice(start, min(start + step, n_sizes))
        ends = _exchange_prices(problem, estimate.values[:, block], problem.target[:, block])
        if ends is None:
            return False
        dearest.append(ends[0])
        cheapest.append(ends[1])
    if problem.totals is None:
        return max(dearest) <= 0 <= min(cheapest)
    return max(dearest) <= min(cheapest)


def _exchange_prices(problem: Problem, x: np.ndarray, y: np.ndarray) -> tuple[int, int] | None:
    """Over some sizes: the largest L and the smallest R of the root, or None if an exchange below it pays."""
    tree, w = problem.hierarchy, problem.w[:, None]
    slope = 2 * w * (x - y)
    if np.abs(slope).max() * tree.n_levels > _LARGEST_SLOPE:
        raise ProblemError("weights times differences exceed 64-bit arithmetic; scale the weights down")
    more, less = slope + w, slope - w
    less[tree.leaves][x[tree.leaves] == 0] = NEVER
    for level in range(tree.n_levels - 2, -1, -1):
        here, below = tree.level(level), tree.level(level + 1)
        starts = tree.first_child[here] - below.start
        cheapest = np.minimum.reduceat(more[below], starts, axis=0)
        dearest = np.maximum.reduceat(less[below], starts, axis=0)
        if (dearest > cheapest).any():
            return None
        more[here] += cheapest
        less[here] += dearest
    return int(less[0].max()), int(more[0].min())


def has_lagrangian_bound(problem: Problem) -> bool:
    """Whether `lagrangian_bound` applies: consistent least squares without order, a total at most at counts' root."""
    return (
        problem.norm == 2
        and problem.consistent
        and not problem.monotone
        and (problem.totals is None or (problem.view is View.COUNTS and problem.totals is Totals.ROOT))
    )


def lagrangian_bound(problem: Problem, multipliers: Multipliers) -> float:
    """A number that no feasible objective is below, whatever the multipliers.

    With the multipliers fixed every cell is on its own: with c = consistency[r] - consistency[parent] (0 at leaves
    below, `root` above the root) and x = y + d it contributes min over d of w d^2 + c d, where d >= -y if signs are
    restricted and d is an integer if x is. The remaining terms are multipliers times residuals of y, which is small, so
    nothing cancels against counts of 1e8; what rounding may have added is subtracted.
    """
    tree, y, w = problem.hierarchy, problem.target, problem.w
    prices = np.array(multipliers.consistency, float).reshape(tree.n_inner, y.shape[1])
    root = float(multipliers.totals[0]) if problem.totals is not None else 0.0
    above = np.full(y.shape[1], root)
    for region in np.flatnonzero(w[: tree.n_inner] == 0):  # a free cell costs nothing only at a net price of 0
        prices[region] = prices[tree.parent[region]] if region else above
    terms = []
    for level in range(tree.n_levels):
        for block in row_blocks(tree.level(level), y.shape[1]):
            paid = prices[tree.parent[block]] if level else np.broadcast_to(above, (1, y.shape[1]))
            net = (prices[block] if level < tree.n_levels - 1 else 0.0) - paid
            weight = np.maximum(w[block], 1)[:, None]  # where w = 0 net is 0, and so is d
            d = net / (-2.0 * weight)
            if problem.integer:
                d = np.rint(d)
            if problem.nonnegative:
                d = np.maximum(d, -y[block])
            magnitude = (weight * np.abs(d) + np.abs(net)) * np.abs(d)
            terms.append(sum_below((weight * d + net) * d, magnitude))
    residual = np.empty((tree.n_inner, y.shape[1]))
    for level in range(tree.n_levels - 1):
        here = tree.level(level)
        residual[here] = y[here] - tree.sum_children(y, level)
    terms.append(sum_below(prices * residual, np.abs(prices * residual)))
    if problem.totals is not None:
        missing = root * float(problem.measurement.root_total - int(y[0].sum()))
        terms.append(missing - abs(missing) * 2e-16)
    total = math.fsum(terms)
    return total - abs(total) * 2e-16


def _exact_row_sums(magnitudes: np.ndarray, squared: bool) -> list[int]:
    """Sums over rows of non-negative int64 (squared if asked) as Python integers, exact beyond 2^63."""
    if squared and magnitudes.size and magnitudes.max() >= 2**31:
        return [sum(int(v) ** 2 for v in row) for row in magnitudes]
    values = magnitudes * magnitudes if squared else magnitudes
    high, low = (values >> 32).sum(axis=1), (values & 0xFFFFFFFF).sum(axis=1)
    return [(int(h) << 32) + int(l) for h, l in zip(high, low, strict=True)]


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6f}"
