"""Judge released counts by the noisy values alone, as the publisher and everybody else can."""

from dataclasses import replace

import numpy as np

from pgsr.certificates import Certificate, certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.conditions import broken_conditions
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, cumulative
from pgsr.estimators import IsotonicTreeProjection
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.problem import Problem
from pgsr.release.folder.released_tables import dense
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.plan import Plan

ONE_IN = 10_000
"""One in so many cumulative counts may differ from a replay in floating point, by 1."""


def answer_of(result: Result) -> Estimate:
    """The counts that post-processing gave.

    Raises:
        ReleaseError: it gave none, and why.
    """
    if result.answer is None:
        raise ReleaseError(f"{result.status.value}: {result.reason}")
    return Estimate(result.answer.hierarchy, View.COUNTS, result.answer.as_counts)


def broken(plan: Plan, measurement: Measurement, counts: Estimate) -> dict[str, int]:
    """Count by kind the violated conditions of a release: whole, not negative, adding up, with the public totals."""
    if plan.terms.kept is Totals.ROOT:  # of the public totals, the only one that the counts have to have
        measurement = replace(measurement, public=Totals.ROOT, totals=measurement.totals[:1])
    return broken_conditions(measurement, counts)


def certificate_of(plan: Plan, measurement: Measurement, counts: Estimate, result: Result) -> Certificate:
    """The certificate that counts get as a release of this measurement, whoever computed them.

    With sizes per level, prices are the proof of M_H, and of the second step of M_c^dp, which is M_H of the repaired
    counts. Those that post-processing finds prove every optimum, so that they are not published: summed over all cells,
    counts that cost as little as its own are as good.

    Args:
        result: of the post-processing, which is deterministic.
    """
    terms = plan.terms
    if terms.max_sizes is not None and terms.kind in (Kind.M_H, Kind.M_C_DP):
        return _certificate_by_level(plan, measurement, counts, result)
    if terms.max_sizes is None and terms.kind is Kind.M_H:
        table = Estimate(counts.hierarchy, View.COUNTS, dense(counts))
        return certify(Problem.m_h(measurement), table)
    if terms.max_sizes is None and terms.kind is Kind.M_C_DP:
        stated = Problem.m_c(measurement)
        return certify(stated, Estimate(counts.hierarchy, View.CUMULATIVE, cumulative(dense(counts))))
    return Certificate("release", None, None, "", broken_conditions(measurement, counts))


def _certificate_by_level(plan: Plan, measurement: Measurement, counts: Estimate, result: Result) -> Certificate:
    """Certify counts by the prices that post-processing finds, for the problem of its last step."""
    repaired = plan.terms.kind is Kind.M_C_DP
    stated = IsotonicTreeProjection().stated(measurement) if repaired else Problem.m_h(measurement)
    best = certify(stated, result.estimate, result.multipliers) if repaired else result.certificate
    return Certificate(
        f"M_H{' of repaired counts' if repaired else ''} with sizes per level",
        objective(stated, counts),
        best.objective if best is not None and best.optimal else None,
        "prices of sums",
        broken(plan, measurement, counts),
    )


def roundings(released: np.ndarray, replayed: np.ndarray) -> tuple[bool, str]:
    """Tell whether floating point on another machine explains how counts differ from replayed ones, and how they do.

    The kinds `posterior` and `two_stage` round the values of a joint projection, which another processor, version of
    NumPy or number of threads may compute with other last digits. A replay that is not equal still confirms the counts
    if every cumulative count differs from the replayed one by at most 1, and no more than one in `ONE_IN` of them
    differs: none at all in a folder with fewer cells.

    Integers, signs, sums over children, public totals and the form of the table are checked exactly all the same. The
    other kinds compute in integers, and have to be equal. `pgsr/release/THREATS.md` has what was measured, and what the
    rule lets through: a forger may move 96 of the 961,695 counts of 3,195 regions and 301 sizes by 1.

    Args:
        released, replayed: shape (regions, K + 1) each.

    Example:
        >>> roundings(np.array([[1, 0, 2], [1, 0, 2]]), np.array([[0, 1, 2], [1, 0, 2]]))[0]
        False
    """
    difference = np.abs(cumulative(released) - cumulative(replayed))
    number, largest, allowed = int(np.count_nonzero(difference)), int(difference.max()), difference.size // ONE_IN
    return largest <= 1 and number <= allowed, (
        f"{number:,} of {difference.size:,} cumulative counts differ, by up to {largest:,}; up to {allowed:,} may, by "
        "1, because it computes in floating point"
    )
