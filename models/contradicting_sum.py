"""The proof that no point satisfies a program's conditions: a weighted sum of them that contradicts itself."""

import math
from enum import Enum
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from pgsr.models.program import Program

LARGEST = 100_000
"""Most unknowns of programs that are looked into; beyond, the linear program here takes too long."""

SECONDS = 60.0


class Verdict(Enum):
    """What is known of a program's conditions, integrality left out."""

    CONTRADICTORY = "a weighted sum of the conditions contradicts itself"
    SATISFIED = "HiGHS finds a point, within its tolerance"
    UNKNOWN = "neither"


def contradicting_sum(program: Program) -> Verdict:
    """Look for weights v of the rows such that v (matrix z - right) + mu (order z - order_right) > 0 in the whole box.

    A point that satisfies the conditions has 0 or less there for any v and any mu >= 0, so there is none. Weights are
    those of the linear program that minimises the sum of what the rows are violated by; whatever they are, what they
    prove is recomputed here, with all roundings counted against it (Farkas' lemma says that weights always exist).
    """
    n, m, k = program.n, len(program.right), len(program.order_right)
    if n > LARGEST:
        return Verdict.UNKNOWN
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
        options={"time_limit": SECONDS},
    )
    if answer.status != 0:
        return Verdict.UNKNOWN
    duals = -np.asarray(answer.eqlin.marginals) if m else np.zeros(0)
    order_duals = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0) if k else np.zeros(0)
    if _least(program, duals, order_duals, low, high) > 0:
        return Verdict.CONTRADICTORY
    return (
        Verdict.SATISFIED if answer.fun <= 1e-9 * (1 + float(np.abs(program.right).max(initial=0))) else Verdict.UNKNOWN
    )


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
