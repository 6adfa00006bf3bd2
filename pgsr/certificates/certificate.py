"""The certificate of an answer, from problem and estimate alone: objective, violations, bound, proof of optimality."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pgsr.certificates.exchange import has_exchange_test, is_exchange_optimal
from pgsr.certificates.lagrangian import lagrangian_bound, unpriced_bound
from pgsr.certificates.multipliers import Multipliers
from pgsr.certificates.potentials import has_potentials, is_potential_optimal
from pgsr.certificates.regions_alone import (
    is_chain_optimal,
    is_isotonic_problem,
    is_region_exchange_optimal,
    is_simplex_problem,
    isotonic_bound,
    isotonic_is_optimal,
    simplex_bound,
)
from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, ranked
from pgsr.engines.losses import loss
from pgsr.errors import ProblemError, TooLargeError
from pgsr.figures.html import facts_table
from pgsr.machine.blocks import row_blocks
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import CONDITION, RELATIVE

EXCHANGE_TEST = "exchange test"
MULTIPLIERS = "Lagrangian bound"
IGNORING = "Lagrangian bound that ignores stated conditions"
CHAIN = "subgradient chain"
POTENTIALS = "node potentials"
ALTERNATIVES = "tree over the alternatives"
"""The bound of problems with choices, `pgsr.algorithms.choice_tree.bound.choices_bound`."""

OUR_PROOFS = frozenset({EXCHANGE_TEST, MULTIPLIERS, IGNORING, CHAIN, POTENTIALS, ALTERNATIVES})
"""The arguments that our own code has checked; any other bound is the word of the solver that it is named after."""


@dataclass(frozen=True)
class Certificate:
    """The facts that are proved of an answer.

    Attributes:
        problem: label of the problem that was judged; objectives of different problems are not comparable.
        objective: distance to the noisy values, an exact integer for an integer estimate; None where no problem was
            stated and only the conditions of a release were checked.
        bound: no feasible point has a smaller objective; None if nothing is known.
        bound_by: the argument that shows the bound, or "".
        violations: number of violated conditions by kind (integrality, sign, consistency, totals, monotone,
            conditions).

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> from pgsr.algorithms import TreeProjection
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> certificate = TreeProjection().solve(problem).certificate
        >>> certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
        >>> certificate.feasible, certificate.gap, certificate.optimal
        (True, 0.0, True)
    """

    problem: str
    objective: int | float | None
    bound: int | float | None
    bound_by: str
    violations: dict[str, int]

    @property
    def feasible(self) -> bool:
        """True if no condition of the problem is violated."""
        return not any(self.violations.values())

    @property
    def gap(self) -> float | None:
        """The gap (objective - bound) / max(1, bound) of a feasible answer; None for an infeasible one."""
        if self.bound is None or self.objective is None or not self.feasible:
            return None
        if not (math.isfinite(self.objective) and math.isfinite(self.bound)):
            return float(self.objective - self.bound)
        # In fractions: integers beyond 2^53 may differ from a bound in floats, and the gap is then not 0.
        return float((Fraction(self.objective) - Fraction(self.bound)) / max(1, Fraction(self.bound)))

    @property
    def optimal(self) -> bool:
        """True if the answer is feasible and exactly as good as the bound, which is proved."""
        return self.feasible and self.bound is not None and self.objective == self.bound

    def with_bound(self, bound: float, by: str) -> "Certificate":
        """Replace the bound by another one; `by` says what shows it."""
        return replace(self, bound=bound, bound_by=by)

    def _repr_html_(self) -> str:
        broken = {f"broken: {kind}": n for kind, n in self.violations.items() if n}
        bound = "none" if self.bound is None else f"{_number(self.bound)} by {self.bound_by}"
        return facts_table(
            "Certificate",
            {
                "problem": self.problem,
                "objective": None if self.objective is None else _number(self.objective),
                "no feasible objective is below": bound,
                "relative gap": None if self.gap is None else f"{self.gap:.2g}",
                "proved optimal": "yes" if self.optimal else "no",
                "conditions": None if broken else "all hold",
                **broken,
            },
        )

    def __repr__(self) -> str:
        violated = ", ".join(f"{n:,} {kind}" for kind, n in self.violations.items() if n) or "no violations"
        bound = "none" if self.bound is None else f"{_number(self.bound)} by {self.bound_by}"
        if self.objective is None:
            return f"Certificate({self.problem}: {violated})"
        return f"Certificate({self.problem}: objective {_number(self.objective)}, bound {bound}, {violated})"


def certify(problem: Problem, estimate: Estimate, multipliers: Multipliers | None = None) -> Certificate:
    """Compute all that can be proved of `estimate` as an answer to `problem`.

    A feasible answer in integers is proved optimal, or not, where a proof in exact integers is known: M_H and the
    naive problem by an exchange test, M_H with every region's total, with totals of some that were stated, or with
    sizes per level, by node potentials, isotonic problems by the subgradient chain. Other rows that were stated by
    `Problem.where` have no such proof: they make the matrix no network, so integers are left to branch and bound;
    bounds of cells have one, in the exchange test of M_H and in the chain. Otherwise a
    Lagrangian bound is given: of `multipliers`, if offered, and for regions that stand alone of multipliers derived
    from the estimate; every problem has one. A bound without prices for stated conditions says so in its name, and
    holds, since the minimum under fewer conditions is never above the minimum under all.

    Complexity: O(regions x sizes) times a logarithm of the sizes at most, for node potentials times their sweeps.

    Args:
        problem: the problem that the estimate is to answer.
        estimate: values of the problem's view, of its regions and sizes, wherever they come from.
        multipliers: prices for a Lagrangian bound, such as a solver's duals; wrong ones give a worse bound that holds.

    Raises:
        ProblemError: estimate and problem are of different shapes or views.

    Example:
        >>> from pgsr import Hierarchy, Problem, View
        >>> from pgsr.data import Estimate
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> certify(problem, Estimate(tree, View.COUNTS, np.array([[1, 9], [0, 5], [1, 4]])))
        Certificate(problem: objective 4, bound none, no violations)
    """
    require_kind(problem, Problem, "the problem", "give Problem.m_h(measurement) or another constructor's")
    require_kind(estimate, Estimate, "the estimate", "give Estimate(hierarchy, view, values)")
    if problem.view is View.RANKED:
        return _certify_ranked(problem, estimate)
    if (
        estimate.view is not problem.view
        or estimate.sizes.max_sizes != problem.sizes.max_sizes
        or (estimate.hierarchy.n_regions != problem.hierarchy.n_regions)
    ):
        raise ProblemError(f"{estimate!r} does not answer {problem!r}; they differ in view, regions or sizes")
    value = objective(problem, estimate)
    violated = violations(problem, estimate)
    proof = "" if any(violated.values()) else _proof(problem, estimate, multipliers)
    if proof:
        return Certificate(problem.label, value, value, proof, violated)
    bound = _bound(problem, estimate, multipliers)
    if bound is not None and problem.integer:  # weights and noisy values are integers, so are integers' objectives
        bound = math.ceil(bound)
    by = MULTIPLIERS if _prices_all(problem, multipliers) else IGNORING
    return Certificate(problem.label, value, bound, "" if bound is None else by, violated)


def _certify_ranked(problem: Problem, estimate: Estimate) -> Certificate:
    """Certify a ranked problem, answered by integer counts: n groups of size s are n entries s of the ranked vector.

    The chain proves an optimum among ordered integers. With absolute differences no ordered reals are nearer; with
    squares some may be, so that the relaxation has no proof, and neither has a problem that states no order.
    """
    counts = estimate.values
    if estimate.view is not View.COUNTS or counts.dtype.kind != "i" or estimate.max_size != problem.max_size:
        raise ProblemError(f"{estimate!r} does not answer {problem!r}; give integer counts of sizes 0..K")
    violated = {"integrality": 0, "sign": int((counts < 0).sum()), "totals": 0}
    value, optimal = 0, problem.monotone and (problem.integer or problem.norm == 1)
    for w, row, y in zip(problem.w, np.maximum(counts, 0), problem.rows, strict=True):
        x = ranked(row)
        if len(x) != len(y):
            violated["totals"] += 1
            continue
        value += int(w) * _exact_row_sums(np.abs(x - y)[None], squared=problem.norm == 2)[0]
        optimal = optimal and isotonic_is_optimal(x, y, 0, problem.max_size, problem.norm)
    if any(violated.values()) or not optimal:
        return Certificate(problem.label, value, None, "", violated)
    return Certificate(problem.label, value, value, CHAIN, violated)


def objective(problem: Problem, estimate: Estimate) -> int | float:
    """Compute sum w |x - y|^norm; an exact Python integer for an integer estimate."""
    tree, terms = problem.hierarchy, []
    for level, (x, y) in enumerate(zip(estimate.tables, problem.tables, strict=True)):
        weights = problem.weights_of(tree.level(level))
        for block in row_blocks(slice(0, len(y)), y.shape[1]):
            terms += _distances(x[block] - y[block], weights[block], problem.norm)
    return sum(terms) if estimate.kind == "i" else math.fsum(terms)


def _distances(off: np.ndarray, w: np.ndarray, norm: int) -> list[int] | list[float]:
    """Compute the distance of every row of differences, exactly of integers; weights one per row or one per cell."""
    if off.dtype.kind != "i":
        return (w * loss(off, norm)).sum(axis=1).tolist()
    size = np.abs(off)
    if w.shape[1] == 1:
        per_region = _exact_row_sums(size, squared=norm == 2)
        return [int(weight) * total for weight, total in zip(w[:, 0], per_region, strict=True)]
    if float(size.max(initial=0)) ** 2 * float(w.max(initial=0)) < 2.0**62:
        return _exact_row_sums(w * loss(size, norm), squared=False)
    wide = [loss(row, norm) for row in size.astype(object)]
    return [int((weights * losses).sum()) for weights, losses in zip(w.astype(object), wide, strict=True)]


def violations(problem: Problem, estimate: Estimate) -> dict[str, int]:
    """Count violated conditions by kind; a condition that `problem` does not state is not counted.

    integrality and sign count cells, consistency counts (region, size) pairs, totals count regions,
    monotone counts neighbouring sizes, conditions count cells beyond stated bounds, and stated rows and choices.
    Integers are compared exactly, other numbers to 1e-6 max(1, d) + 1e-9 |value|, where d is the root mean square of
    x - y: the size of the noise that they were fitted to.
    """
    x, sizes = estimate.tables, problem.sizes
    exact = estimate.kind == "i"
    near = 0.0 if exact else CONDITION * max(1.0, _distance(problem, estimate))

    def differs(a: np.ndarray, b: np.ndarray | float) -> np.ndarray:
        return (a != b) if exact else np.abs(a - b) > near + RELATIVE * np.abs(a)

    counts: dict[str, int] = {}
    if problem.integer:
        counts["integrality"] = 0 if exact else sum(int(differs(table, np.rint(table)).sum()) for table in x)
    if problem.nonnegative:
        counts["sign"] = sum(int(((table[:, 0] if problem.monotone else table) < -near).sum()) for table in x)
    if problem.consistent:
        counts["consistency"] = sum(
            int(differs(sizes.folded(x[level], level, problem.view), sizes.children_sums(x, level)).sum())
            for level in range(len(x) - 1)
        )
    totals = problem.stated_totals
    if totals is not None:
        cumulative = problem.view is View.CUMULATIVE
        have = np.concatenate([table[:, -1] if cumulative else table.sum(axis=1) for table in x])
        counts["totals"] = int(differs(have[: len(totals)], totals).sum())
    if problem.monotone:
        counts["monotone"] = sum(int((np.diff(table, axis=1) < -near).sum()) for table in x)
    if problem.conditions is not None:
        cells = np.concatenate([table.ravel() for table in x])
        counts["conditions"] = _stated_violations(problem.conditions, cells, near)
    return counts


def _stated_violations(conditions: Conditions, x: np.ndarray, near: float) -> int:
    """Count cells beyond their bounds and rows beyond theirs, rows by as much as one of their cells may be off."""
    rows, violations = conditions.rows, 0
    scale = abs(rows).max(axis=1).toarray().ravel() if len(conditions.row_lower) else np.zeros(0)
    for matrix in (
        () if x.dtype.kind != "i" else (rows, *([] if conditions.choices is None else [conditions.choices.rows]))
    ):
        if matrix.nnz and float((abs(matrix) @ np.abs(x.astype(float))).max(initial=0.0)) >= UNBOUNDED:
            raise TooLargeError("coefficients of conditions times counts exceed 64-bit arithmetic; scale them down")
    for have, low, high, coefficient in (
        (x, conditions.lower, conditions.upper, 1.0),
        (rows @ x, conditions.row_lower, conditions.row_upper, scale),
    ):
        if not near:  # integers, which are no larger than what stands for no bound
            violations += int(((have < low) | (have > high)).sum())
            continue
        allowed = near * coefficient + RELATIVE * np.abs(have)
        below = (low > -UNBOUNDED) & (have < low - allowed)
        violations += int((below | ((high < UNBOUNDED) & (have > high + allowed))).sum())
    if conditions.choices is not None:
        violations += int(conditions.choices.broken(x, near, RELATIVE if near else 0.0).sum())
    return violations


def _distance(problem: Problem, estimate: Estimate) -> float:
    """Compute the root mean square of x - y."""
    squares = sum(
        float(np.square(x[rows] - y[rows]).sum())
        for x, y in zip(estimate.tables, problem.tables, strict=True)
        for rows in row_blocks(slice(0, len(y)), y.shape[1])
    )
    return math.sqrt(squares / max(1, problem.n_unknowns))


def is_decided(problem: Problem) -> bool:
    """Say whether `certify` proves every optimal answer to this problem, so that an unproved one is not optimal."""
    if problem.view is View.RANKED:
        return problem.integer
    proofs = [has_exchange_test, is_isotonic_problem, has_potentials]
    if problem.conditions is None:
        proofs.append(is_simplex_problem)
    return problem.integer and any(applies(problem) for applies in proofs)


def _proof(problem: Problem, estimate: Estimate, multipliers: Multipliers | None) -> str:
    """Name the argument that shows a feasible answer to be optimal, or "" if none does."""
    if has_exchange_test(problem) and is_exchange_optimal(problem, estimate):
        return EXCHANGE_TEST
    if is_isotonic_problem(problem) and is_chain_optimal(problem, estimate):
        return CHAIN
    if has_potentials(problem) and is_potential_optimal(problem, estimate, multipliers):
        return POTENTIALS
    if problem.conditions is not None:  # no other one knows what was stated besides
        return ""
    if is_simplex_problem(problem) and problem.integer and is_region_exchange_optimal(problem, estimate):
        return EXCHANGE_TEST
    return ""


def _bound(problem: Problem, estimate: Estimate, multipliers: Multipliers | None) -> float | None:
    """Compute the best available Lagrangian bound, or None if there is none."""
    bounds = []
    if multipliers is not None:
        bounds.append(lagrangian_bound(problem, multipliers))
    if problem.conditions is not None:
        problem = replace(problem, conditions=None)
    if is_simplex_problem(problem):
        bounds.append(simplex_bound(problem, estimate))
    if is_isotonic_problem(problem):
        if problem.norm == 2:
            bounds.append(isotonic_bound(problem, estimate))
        elif not problem.integer:  # integers are decided by the chain alone
            bounds.append(unpriced_bound(problem))
    best = max(bounds, default=-math.inf)
    return best if best > -math.inf else None


def _prices_all(problem: Problem, multipliers: Multipliers | None) -> bool:
    """Say whether a bound by these multipliers knows all that was stated: rows and, with order and norm 1, bounds."""
    conditions = problem.conditions
    if conditions is None:
        return True
    if conditions.choices is not None:
        return False
    rows = not len(conditions.row_lower) or (multipliers is not None and multipliers.conditions is not None)
    kept = not problem.monotone or problem.norm == 2 or not conditions.n_bounds
    bounds = kept or (multipliers is not None and multipliers.bounds is not None)
    return multipliers is not None and rows and bounds


def _exact_row_sums(magnitudes: np.ndarray, squared: bool) -> list[int]:
    """Add up rows of non-negative int64 (squared if asked) to Python integers, exact beyond 2^63."""
    if squared and magnitudes.size and magnitudes.max() >= 2**31:
        return [sum(int(v) ** 2 for v in row) for row in magnitudes]
    values = magnitudes * magnitudes if squared else magnitudes
    high, low = (values >> 32).sum(axis=1), (values & 0xFFFFFFFF).sum(axis=1)
    return [(int(h) << 32) + int(l) for h, l in zip(high, low, strict=True)]


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6f}"
