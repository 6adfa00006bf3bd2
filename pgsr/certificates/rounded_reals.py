"""The proof of a real answer by its gap, the sentence on one that misses it, and what last digits explain."""

from dataclasses import replace

import numpy as np

from pgsr.certificates.certificate import Certificate, is_decided
from pgsr.data.estimate import Estimate
from pgsr.machine.blocks import row_blocks
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP

LAST_DIGITS = 2.0**-36
"""How far an answer may be from values of at most 1 that it meets: sums of numbers of 53 bits, in units of 2^-40."""


def is_proved(problem: Problem, estimate: Estimate, certificate: Certificate) -> bool:
    """Say whether a feasible real answer is optimal: its gap is at most `PROVED_GAP`, or it meets every value.

    A value is met where the answer is off by at most `LAST_DIGITS` of the largest value. 0.3 over 0.1 and 0.2 is off by
    a last digit alone, and a gap relative to squares of last digits says nothing.
    """
    if certificate.gap is None:
        return False
    if abs(certificate.gap) <= PROVED_GAP:
        return True
    largest = max(float(np.abs(y).max(initial=0.0)) for y in problem.tables)
    tree = problem.hierarchy
    return all(
        bool((np.abs(x - y)[problem.measured[tree.level(level)]] <= LAST_DIGITS * largest).all())
        for level, (x, y) in enumerate(zip(estimate.tables, problem.tables, strict=True))
    )


def missed(problem: Problem, estimate: Estimate, certificate: Certificate, in_integers: str) -> str:
    """Say by how much an answer to a relaxation misses its proof, and what to do where no reals can do better.

    A count of 1e9 has 1e-7 as its last digit. Rounded there, sums over regions and sizes are a little off, and the
    objective with them, in proportion to weights and noise; relative to a small objective that can exceed the
    tolerance.

    Args:
        problem: the relaxation.
        estimate: the answer.
        certificate: of the answer.
        in_integers: the method that proves this problem in integers, as it is called; it is told where there is such a
            proof.
    """
    reason = f"the answer misses our tolerances: relative gap {certificate.gap}, {certificate!r}"
    if certificate.gap is None or certificate.bound is None:
        return reason
    floor = rounding_gap(problem, estimate, certificate.bound)
    if certificate.gap > floor:
        return reason
    reason += f"; counts this large, in numbers of 64 bits, can leave a gap of {floor:.1g}"
    if problem.weights is not None and problem.weights.dtype.kind == "i" and is_decided(replace(problem, integer=True)):
        reason += f", so solve the problem in integers, which are exact, by {in_integers}"
    return reason


def rounding_gap(problem: Problem, estimate: Estimate, bound: float) -> float:
    """Bound the relative gap that the last digits of the counts amount to, sum w |x - y| ulp(x) / max(1, bound).

    Half a unit in the last place changes w (x - y)^2 by w |x - y| of it.
    """
    x, y, terms = estimate.values, problem.target, 0.0
    for rows in row_blocks(slice(0, len(y)), y.shape[1]):
        off = np.abs(x[rows] - y[rows]) * np.spacing(np.abs(x[rows]))
        terms += float((problem.weights_of(rows) * off).sum())
    return terms / max(1.0, abs(bound))
