"""Judge released counts by the noisy values alone, as the publisher and everybody else can."""

import math
from dataclasses import replace

import numpy as np

from pgsr.certificates import Certificate, broken_conditions, certify
from pgsr.estimate import Estimate
from pgsr.laws import Law
from pgsr.measurement import Measurement, Totals
from pgsr.method import Result
from pgsr.problem import Problem
from pgsr.random import Seeded, StreamId
from pgsr.release.folder.manifest import REHEARSAL_KEY
from pgsr.release.folder.released_tables import dense
from pgsr.release.terms import Kind, Measured, Terms
from pgsr.views import View, counts_of_ranked, cumulative

LOG_CHANCE = math.log(1e-12)
"""The log of the largest chance, one in 10^12, that other noise looks like that of a rehearsal."""


def kept(terms: Terms, measurement: Measurement) -> Measurement:
    """The measurement with only those totals that the released counts have to have."""
    if terms.kept is Totals.ROOT:
        return replace(measurement, public=Totals.ROOT, totals=measurement.totals[:1])
    return measurement


def replayed(terms: Terms, measurement: Measurement) -> Result:
    """Compute the post-processing of the terms' mechanism, which is deterministic."""
    return terms.mechanism(measurement.hierarchy.n_levels).post_process(measurement)


def certificate_of(terms: Terms, measurement: Measurement, counts: Estimate) -> Certificate:
    """The certificate that counts get as a release of this measurement, whoever computed them."""
    table = dense(counts)
    if terms.kind is Kind.M_H:
        return certify(Problem.m_h(measurement), Estimate(counts.hierarchy, View.COUNTS, table))
    if terms.kind is Kind.M_C_DP:
        return certify(Problem.m_c(measurement), Estimate(counts.hierarchy, View.CUMULATIVE, cumulative(table)))
    return Certificate("release", None, None, "", broken_conditions(measurement, counts))


def is_rehearsal(terms: Terms, measurement: Measurement) -> bool:
    """Tell whether the noise is that of a rehearsal: taking it off leaves non-negative counts that add up.

    The first two levels that were measured are looked at. What is found counts only if other noise would hardly ever
    look so: noise is taken off cell by cell, and the chance of every fact that it turns out to meet, given the cells
    before, is multiplied up. Where counts are large and few facts are public there is too little to say it.
    """
    tree = measurement.hierarchy
    levels = [level for level in range(tree.n_levels) if measurement.measured[tree.level(level)].all()][:2]
    # Noisy totals measure cumulative counts from above, which shifts the first cell by their own noise.
    from_above = terms.public is Totals.NOISY and terms.measures is Measured.CUMULATIVE
    first = int(from_above)
    laws = terms.noise_laws(tree.n_levels)
    chances, sums = 0.0, np.zeros((2, terms.max_size + 1), np.int64)
    for place, level in enumerate(levels):
        law, regions = laws[level], tree.level(level)
        assert law is not None, "a measured level"
        for region in range(regions.start, regions.stop):
            view, values = measurement.view_of(region), measurement.values[region]
            noise = np.zeros(len(values), np.int64)
            identity = StreamId(terms.data_set, view.value, level, tree.paths[region])
            law.add_to(noise, Seeded(REHEARSAL_KEY).stream(identity))
            noise = -noise if from_above else noise
            bare = values - noise
            steps = bare if view is View.COUNTS else np.diff(bare, prepend=0)  # counts, or how much larger the next is
            if (steps[first:] < 0).any():
                return False
            known = False  # a total tells how many sizes are ranked, and nothing of them
            if view is View.RANKED and bare.max(initial=0) > terms.max_size:
                return False
            if view is not View.RANKED:
                known = region < len(measurement.totals) and terms.public is not Totals.NOISY
                if known and steps.sum() != measurement.totals[region]:
                    return False
            sums[place] += counts_of_ranked(bare, terms.max_size) if view is View.RANKED else steps
            chance = _log_cdf(law, steps + noise)  # of a step that is not negative
            # Totals, and the sums over the other regions, leave one number.
            fixed = np.arange(len(noise)) == len(noise) - 1 if known else np.zeros(len(noise), bool)
            if place == 1 and region == regions.stop - 1:
                fixed[:] = True
            chances += float(np.where(fixed, law.log_pmf(noise), chance)[first:].sum())
    if len(levels) > 1 and (sums[0] != sums[1])[first:].any():
        return False
    return chances < LOG_CHANCE


def _log_cdf(law: Law, room: np.ndarray) -> np.ndarray:
    """Compute log P(X <= room), with P(X > m) = P(|X| > m) / 2 for m >= 0."""
    tail = law.probability_beyond(np.where(room < 0, -room - 1, room)) / 2
    with np.errstate(divide="ignore"):
        return np.where(room < 0, np.log(tail), np.log1p(-tail))
