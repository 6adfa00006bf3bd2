"""Whether any point satisfies a program's conditions: a point, or a weighted sum of them that contradicts itself."""

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from pgsr.method import Status
from pgsr.models.program import Program
from pgsr.solving import Stopped

SECONDS = 60.0
"""The time that HiGHS may look for a point, where nothing else is asked for."""


def is_contradictory(program: Program, seconds: float = SECONDS) -> bool:
    """Say whether a weighted sum of rows is found that contradicts itself, so that no point satisfies all of them:

        v (matrix z - right) + mu (order z - order_right) > 0    in the whole box of the cells.

    A point that satisfies the conditions has 0 or less there for any v and any mu >= 0. Weights are
    those of the linear program that minimises the sum of what the rows are violated by; whatever they are, what they
    prove is recomputed here, with all roundings counted against it (Farkas' lemma says that weights always exist).
    """
    n, m, k = program.n, len(program.right), len(program.order_right)
    unit = sparse.eye_array(m, format="csr")
    slack = sparse.csr_array((m, k))
    equal = sparse.hstack([program.matrix, unit, -unit, slack], format="csr") if m else None
    above = sparse.hstack([program.order, sparse.csr_array((k, 2 * m)), -sparse.eye_array(k)], format="csr")
    low, high = np.maximum(program.lower, program.reach[0]), np.minimum(program.upper, program.reach[1])
    box = np.stack([np.append(low, np.zeros(2 * m + k)), np.append(high, np.full(2 * m + k, np.inf))], axis=1)
    answer: Any = linprog(
        np.append(np.zeros(n), np.ones(2 * m + k)),
        A_ub=above if k else None,
        b_ub=program.order_right if k else None,
        A_eq=equal,
        b_eq=program.right if m else None,
        bounds=box,
        method="highs",
        options={"time_limit": seconds},
    )
    if answer.status != 0:
        return False
    duals = -np.asarray(answer.eqlin.marginals) if m else np.zeros(0)
    order_duals = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0) if k else np.zeros(0)
    return _least(program, duals, order_duals, low, high) > 0


def some_point(program: Program, seconds: float = SECONDS) -> np.ndarray:
    """Find any z that satisfies the conditions; shape (cells,). Integers do exactly, real numbers within 1e-6.

    Raises:
        Stopped: HiGHS says that there is none, or found none in time.
    """
    origin = -program.origin.astype(float)
    if _satisfies(program, origin):
        return origin
    n_equal, n_above = len(program.right), len(program.order_right)
    found: Any = linprog(
        np.zeros(program.n),
        A_ub=program.order if n_above else None,
        b_ub=program.order_right if n_above else None,
        A_eq=program.matrix if n_equal else None,
        b_eq=program.right if n_equal else None,
        bounds=np.stack([program.lower, program.upper], axis=1),
        method="highs",
        integrality=np.full(program.n, int(program.integer)),
        options={"time_limit": seconds},
    )
    if found.status == 2:
        raise Stopped(Status.INFEASIBLE, "HiGHS says that no point satisfies the conditions")
    if found.x is None:
        reason = f"HiGHS found no point that satisfies the conditions in {seconds:g} s; state totals or bounds of cells"
        raise Stopped(Status.TIMED_OUT, reason)
    z = np.rint(found.x) if program.integer else found.x
    if program.integer and not _satisfies(program, z):
        raise Stopped(Status.FAILED, "the point that HiGHS gives violates conditions; scale coefficients down")
    return z


def _least(program: Program, v: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Compute the minimum of v (matrix z - right) + mu (order z - order_right) over low <= z <= high, rounded down."""
    c = program.matrix.T @ v + program.order.T @ mu
    sums = abs(program.matrix).T @ np.abs(v) + abs(program.order).T @ mu
    far = np.maximum(np.abs(low), np.abs(high))
    terms = [*np.minimum(c * low, c * high), *(-v * program.right), *(-mu * program.order_right)]
    width = 2.0 + max(len(v) + len(mu), 1)
    rounded = (
        width * 2.0**-50 * math.fsum([*(sums * far), *np.abs(v * program.right), *np.abs(mu * program.order_right)])
    )
    return math.fsum(terms) - rounded


def _satisfies(program: Program, z: np.ndarray) -> bool:
    """Say whether integers z satisfy every row and bound."""
    return bool(
        np.all(program.matrix @ z == program.right)
        and np.all(program.order @ z <= program.order_right)
        and np.all(program.lower <= z)
        and np.all(z <= program.upper)
    )
