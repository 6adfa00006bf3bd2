"""The sentence on a real answer that misses its proof, and whether the last digits of its counts explain that."""

from dataclasses import replace

import numpy as np

from pgsr.certificates.certificate import Certificate, is_decided
from pgsr.data.estimate import Estimate
from pgsr.machine.blocks import row_blocks
from pgsr.problems.problem import Problem


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
    if problem.w.dtype.kind == "i" and is_decided(replace(problem, integer=True)):
        reason += f", so solve the problem in integers, which are exact, by {in_integers}"
    return reason


def rounding_gap(problem: Problem, estimate: Estimate, bound: float) -> float:
    """Bound the relative gap that the last digits of the counts amount to, sum w |x - y| ulp(x) / max(1, bound).

    Half a unit in the last place changes w (x - y)^2 by w |x - y| of it.
    """
    x, y, terms = estimate.values, problem.target, 0.0
    for rows in row_blocks(slice(0, len(y)), y.shape[1]):
        off = np.abs(x[rows] - y[rows]) * np.spacing(np.abs(x[rows]))
        terms += float(problem.w[rows] @ off.sum(axis=1))
    return terms / max(1.0, abs(bound))
