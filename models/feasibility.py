"""Whether any point satisfies a program's conditions: a point, or a weighted sum of them that contradicts itself.

And the scale against which residuals of solvers' answers are judged.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.program import Program, linear_optimum
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.programs.rows import stated_sides
from pgsr.problems.tolerances import RELATIVE, RESIDUAL

SECONDS = 60.0
"""The time that HiGHS may look for a point, where nothing else is asked for."""

LARGEST_DENOMINATOR = 60
"""Of the ratios of a contradicting sum's weights that are looked for."""


@dataclass(frozen=True, eq=False)
class ContradictingSum:
    """A weighted sum of a program's conditions that contradicts itself, so that no point satisfies all of them.

    Attributes:
        weights: of the equalities; shape (m,).
        order_weights: of the inequalities, not negative; shape (k,).
        lower_weights, upper_weights: of the bounds of cells that the sum needs, not negative; shape (n,).
    """

    weights: np.ndarray
    order_weights: np.ndarray
    lower_weights: np.ndarray
    upper_weights: np.ndarray

    def stated(self, conditions: Conditions) -> list[str]:
        """Name the stated conditions that have a weight: rows, and then bounds as they were written."""
        rows_weights = np.concatenate([self.weights, self.order_weights])
        least = 1e-9 * float(np.abs(rows_weights).max(initial=0.0))
        equal, above, below = stated_sides(conditions)
        n_above, n_below = int(above.sum()), int(below.sum())
        first = len(self.order_weights) - n_above - n_below  # stated rows are the last ones of a program
        rows = np.zeros(len(equal), bool)
        rows[equal] = np.abs(self.weights[len(self.weights) - int(equal.sum()) :]) > least
        rows[above] |= self.order_weights[first : first + n_above] > least
        rows[below] |= self.order_weights[first + n_above :] > least
        names = [conditions.names[k] for k in np.flatnonzero(rows)]
        if conditions.sources is not None:
            for sources, weights in zip(conditions.sources, (self.lower_weights, self.upper_weights), strict=True):
                used = sources[weights > least]
                names += [conditions.stated[i] for i in np.unique(used[used >= 0])]
        return list(dict.fromkeys(names))


def contradicting_sum(program: Program, seconds: float) -> ContradictingSum | None:
    """Find a weighted sum of rows that contradicts itself, so that no point satisfies all of them, or None:

        v (matrix z - right) + mu (order z - order_right) > 0    in the whole box of the cells.

    A point that satisfies the conditions has 0 or less there for any v and any mu >= 0. Weights are
    those of the linear program that minimises the sum of what the rows are violated by, or small integers in their
    ratios, of which cells without bounds cancel to the last digit. Whatever they are, what they prove is recomputed
    here, with all roundings counted against it (Farkas' lemma says that weights always exist).
    """
    n, m, k = program.n, len(program.right), len(program.order_right)
    unit = sparse.eye_array(m, format="csr")
    slack = sparse.csr_array((m, k))
    equal = sparse.hstack([program.matrix, unit, -unit, slack], format="csr") if m else program.matrix
    above = sparse.hstack([program.order, sparse.csr_array((k, 2 * m)), -sparse.eye_array(k)], format="csr")
    low, high = np.maximum(program.lower, program.reach[0]), np.minimum(program.upper, program.reach[1])
    box = {"lower": np.append(low, np.zeros(2 * m + k)), "upper": np.append(high, np.full(2 * m + k, np.inf))}
    slackened, violations = replace(program, matrix=equal, order=above, **box), np.ones(2 * m + k)
    answer = linear_optimum(slackened, np.append(np.zeros(n), violations), options={"time_limit": seconds})
    if answer.status != 0:
        return None
    duals = -np.asarray(answer.eqlin.marginals) if m else np.zeros(0)
    order_duals = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0) if k else np.zeros(0)
    found = np.append(duals, order_duals)
    for weights in (found, _in_integers(found)):
        duals, order_duals = weights[:m], weights[m:]
        if _least(program, duals, order_duals, low, high) > 0:
            break
    else:
        return None
    c = program.matrix.T @ duals + program.order.T @ order_duals  # its minimum over the box takes the bounds
    return ContradictingSum(duals, order_duals, np.maximum(c, 0.0), np.maximum(-c, 0.0))


def some_point(program: Program, seconds: float) -> np.ndarray:
    """Find any z that satisfies the conditions; shape (cells,). Integers do exactly, real numbers within 1e-6.

    Raises:
        Stopped: HiGHS says that there is none, or found none in time.
    """
    origin = -program.origin.astype(float)
    if satisfies(program, origin):
        return origin
    kinds, limit = np.full(program.n, int(program.integer)), {"time_limit": seconds}
    found = linear_optimum(program, np.zeros(program.n), integrality=kinds, options=limit)
    if found.status == 2:
        says = "HiGHS says that no point satisfies the conditions"
        if contradicting_sum(program, seconds) is None:
            raise Stopped(
                Status.FAILED, f"{says}, of which we have no proof; state bounds of cells, or ask ChoiceTree()"
            )
        raise Stopped(Status.INFEASIBLE, f"{says}, and a weighted sum of them that we recomputed contradicts itself")
    if found.x is None:
        reason = f"HiGHS found no point that satisfies the conditions in {seconds:g} s; state totals or bounds of cells"
        raise Stopped(Status.TIMED_OUT, reason)
    z = np.rint(found.x) if program.integer else found.x
    if program.integer and not satisfies(program, z):
        raise Stopped(Status.FAILED, "the point that HiGHS gives violates conditions; scale coefficients down")
    return z


def satisfies(program: Program, z: np.ndarray) -> bool:
    """Say whether integers z satisfy every row and bound."""
    return bool(
        np.all(program.matrix @ z == program.right)
        and np.all(program.order @ z <= program.order_right)
        and np.all(program.lower <= z)
        and np.all(z <= program.upper)
    )


def scale_of(program: Program, z: np.ndarray) -> float:
    """Give the size beside which a residual of `RESIDUAL` counts as none.

    It is 1, or the largest right-hand side of an equality, or the largest deviation z, which are of the size of the
    noise. Numbers x = origin + z themselves count with `RELATIVE`, as in certificates: what is 1e9 has no more digits
    after sums. Right-hand sides of inequalities are no size of anything: they may be as far away as one likes.

    Args:
        program: the program.
        z: the unknowns of an answer.
    """
    own = np.abs(program.origin + z)[: program.n_cells]
    sizes = (np.abs(program.right), np.abs(z), RELATIVE / RESIDUAL * own)
    return 1.0 + max(float(part.max(initial=0.0)) for part in sizes)


def _in_integers(weights: np.ndarray) -> np.ndarray:
    """Guess the integers in whose ratios weights are, from 1e-9 of the largest one on; the weights where none are."""
    sizes = np.abs(weights)
    used = sizes > 1e-9 * sizes.max(initial=0.0)
    if not used.any():
        return weights
    ratios = np.where(used, weights, 0.0) / sizes[used].min()
    for n in range(1, LARGEST_DENOMINATOR + 1):
        if np.abs(ratios * n - np.rint(ratios * n)).max() < 1e-6:
            return np.rint(ratios * n)
    return weights


def _least(program: Program, v: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Compute the minimum of v (matrix z - right) + mu (order z - order_right) over low <= z <= high, rounded down."""
    c = program.matrix.T @ v + program.order.T @ mu
    sums = abs(program.matrix).T @ np.abs(v) + abs(program.order).T @ mu
    times = lambda a, side: a * np.where(a == 0, 0.0, side)  # noqa: E731  # some unknowns have no bounds
    whole = all(np.array_equal(part, np.rint(part)) for part in (v, mu, program.matrix.data, program.order.data))
    if whole and sums.max(initial=0.0) < 2.0**52:  # c is exact
        off = np.abs(times(c, np.where(c > 0, low, high)))
    else:
        off = times(sums, np.maximum(np.abs(low), np.abs(high)))
    terms = [*np.minimum(times(c, low), times(c, high)), *(-v * program.right), *(-mu * program.order_right)]
    width = 2.0 + max(len(v) + len(mu), 1)
    rounded = width * 2.0**-50 * math.fsum([*off, *np.abs(v * program.right), *np.abs(mu * program.order_right)])
    return math.fsum(terms) - rounded
