"""Judge released counts by the noisy values alone, as the publisher and everybody else can."""

from dataclasses import replace

from pgsr.algorithms import IsotonicTreeProjection
from pgsr.algorithms.mechanism_by_level import LevelMechanism, counts_by_level
from pgsr.certificates import Certificate, broken_conditions, certify
from pgsr.data.counts import CountOfCounts
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, cumulative
from pgsr.methods.method import Result, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.problems.problem import Problem
from pgsr.publishing.errors import ReleaseError
from pgsr.release.facts import conditions_of, within
from pgsr.release.folder.released_tables import dense
from pgsr.release.kinds import Kind
from pgsr.release.terms import Terms

PRICES = "prices of sums"
"""The argument that shows the bound of counts with sizes per level."""

Answer = Result
"""The answer of a mechanism's post-processing."""


def post_processed(terms: Terms, measurement: Measurement | MeasurementByLevel) -> Answer:
    """Compute the post-processing of the terms' mechanism, which is deterministic."""
    return terms.mechanism(measurement.hierarchy.n_levels).post_process(measurement)


def answer_of(terms: Terms, result: Answer) -> Estimate | CountsByLevel:
    """The counts that post-processing gave.

    Raises:
        ReleaseError: it gave none, and why.
    """
    if result.answer is None:
        raise ReleaseError(f"{result.status.value}: {result.reason}")
    if terms.max_sizes is not None:
        return counts_by_level(result)
    return Estimate(result.answer.hierarchy, View.COUNTS, result.answer.as_counts)


def status_of(terms: Terms, result: Answer) -> Status:
    """The status of a release: whether its counts are proved to be as near to the noisy values as any."""
    del terms
    return result.status


def finished(counts: Estimate | CountsByLevel) -> CountOfCounts | CountsByLevel:
    """The counts, which have no fractions."""
    return counts if isinstance(counts, CountsByLevel) else counts.counts()


def broken(
    terms: Terms, measurement: Measurement | MeasurementByLevel, counts: Estimate | CountsByLevel
) -> dict[str, int]:
    """Count by kind the violated conditions of a release: whole, not negative, adding up, with the public totals.

    Where facts are stated, the counts that contradict them are `conditions`.
    """
    if isinstance(counts, CountsByLevel):
        assert isinstance(measurement, MeasurementByLevel), "counts and noisy values are of one kind"
        return broken_conditions(
            _mechanism(terms, measurement).converted(measurement),
            Estimate(counts.hierarchy, View.COUNTS, counts.tables),
        )
    assert isinstance(measurement, Measurement), "counts and noisy values are of one kind"
    if terms.kept is Totals.ROOT:  # of the public totals, the only one that the counts have to have
        measurement = replace(measurement, public=Totals.ROOT, totals=measurement.totals[:1])
    found = broken_conditions(measurement, counts)
    if terms.facts:
        found["conditions"] = int((~within(dense(counts), *terms.fact_bounds(counts.hierarchy))).sum())
    return found


def certificate_of(
    terms: Terms,
    measurement: Measurement | MeasurementByLevel,
    counts: Estimate | CountsByLevel,
    result: Answer | None = None,
) -> Certificate:
    """The certificate that counts get as a release of this measurement, whoever computed them.

    With sizes per level, prices are the proof of M_H, and of the second step of M_c^dp, which is M_H of the repaired
    counts. Those that post-processing finds prove every optimum, so that they are not published: summed over all cells,
    counts that cost as little as its own are as good.

    Args:
        result: of `post_processed`; computed where it is needed and not at hand.
    """
    if isinstance(counts, CountsByLevel):
        assert isinstance(measurement, MeasurementByLevel), "counts and noisy values are of one kind"
        return _certificate_by_level(terms, measurement, counts, result)
    assert isinstance(measurement, Measurement), "counts and noisy values are of one kind"
    table = dense(counts)
    facts = conditions_of(terms.facts, terms.names(counts.hierarchy.n_levels), terms.min_size)
    if terms.kind is Kind.M_H:
        return certify(Problem.m_h(measurement).where(*facts), Estimate(counts.hierarchy, View.COUNTS, table))
    if terms.kind is Kind.M_C_DP:
        stated = Problem.m_c(measurement).where(*facts)
        return certify(stated, Estimate(counts.hierarchy, View.CUMULATIVE, cumulative(table)))
    wrong = broken_conditions(measurement, counts)
    return Certificate("release", None, None, "", wrong | broken(terms, measurement, counts) if facts else wrong)


def _mechanism(terms: Terms, measurement: MeasurementByLevel) -> LevelMechanism:
    found = terms.mechanism(measurement.hierarchy.n_levels)
    assert isinstance(found, LevelMechanism), "levels have sizes of their own"
    return found


def _certificate_by_level(
    terms: Terms, measurement: MeasurementByLevel, counts: CountsByLevel, result: Answer | None
) -> Certificate:
    wrong, mechanism = broken(terms, measurement, counts), _mechanism(terms, measurement)
    if terms.kind not in (Kind.M_H, Kind.M_C_DP):
        return Certificate("release", None, None, "", wrong)
    found, general = result or post_processed(terms, measurement), mechanism.converted(measurement)
    step_2 = IsotonicTreeProjection(totals=general.public)
    problem = Problem.m_h(general, general.public) if terms.kind is Kind.M_H else step_2.stated(general)
    ours, theirs = (
        certify(problem, Estimate(counts.hierarchy, View.COUNTS, tables), found.multipliers)
        for tables in (counts.tables, counts_by_level(found).tables)
    )
    bound = theirs.objective if theirs.optimal else None
    repaired = "" if terms.kind is Kind.M_H else " of repaired counts"
    return Certificate(f"M_H{repaired} with sizes per level", ours.objective, bound, PRICES, wrong)
