"""Judge released counts by the noisy values alone, as the publisher and everybody else can."""

from dataclasses import replace

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

PRICES = "prices of sums"
"""The argument that shows the bound of counts with sizes per level."""


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
        PRICES,
        broken(plan, measurement, counts),
    )
