"""What can be said of released counts from the measurement alone, by the publisher and by everybody else."""

from dataclasses import replace

import numpy as np

from pgsr.certificate import Certificate, certify
from pgsr.conditions import broken_conditions
from pgsr.double_geometric import DoubleGeometric
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement, Totals
from pgsr.method import Method, Result
from pgsr.problem import Problem
from pgsr.random import Seeded, StreamId
from pgsr.release.artefact import dense
from pgsr.release.manifest import REHEARSAL_KEY
from pgsr.release.terms import Kind, Terms
from pgsr.views import View, counts_of_cumulative, cumulative

ENOUGH = 64
"""Draws other than 0 before seeded noise is recognised: fewer may agree by chance."""


def kept(terms: Terms, measurement: Measurement) -> Measurement:
    """The same with only those totals that the released counts have to have."""
    if terms.kept is Totals.ROOT:
        return replace(measurement, public=Totals.ROOT, totals=measurement.totals[:1])
    return measurement


def replayed(terms: Terms, measurement: Measurement) -> Result:
    """The post-processing of the terms' mechanism, which is deterministic."""
    post = terms.mechanism(measurement.hierarchy.n_levels).post
    return post.solve(Problem.m_h(measurement)) if isinstance(post, Method) else post.apply(measurement)


def certificate_of(terms: Terms, measurement: Measurement, counts: Estimate) -> Certificate:
    """The certificate that counts get as a release of this measurement, whoever computed them."""
    table = dense(counts)
    if terms.kind is Kind.M_H:
        return certify(Problem.m_h(measurement), Estimate(counts.hierarchy, View.COUNTS, table))
    if terms.kind is Kind.M_C:
        return certify(Problem.m_c(measurement), Estimate(counts.hierarchy, View.CUMULATIVE, cumulative(table)))
    return Certificate("release", None, None, "", broken_conditions(measurement, counts))


def is_rehearsal(terms: Terms, measurement: Measurement) -> bool:
    """Whether the noise is that of a rehearsal: taking it off leaves non-negative counts that add up.

    The first two levels that were measured are looked at. Where nearly all draws are 0 nothing can be said.
    """
    tree = measurement.hierarchy
    scales = terms.scales(tree.n_levels)
    levels = [level for level in range(tree.n_levels) if measurement.measured[tree.level(level)].all()][:2]
    rows = {level: measurement.matrix[tree.level(level)].copy() for level in levels}
    drawn = 0
    for level, values in rows.items():
        law = DoubleGeometric(scales[level])
        for place, region in enumerate(range(*tree.level(level).indices(tree.n_regions))):
            noise = np.zeros(values.shape[1], np.int64)
            identity = StreamId(terms.data_set, terms.kind.view.value, level, tree.paths[region])
            law.add_to(noise, Seeded(REHEARSAL_KEY).stream(identity))
            drawn += int(np.count_nonzero(noise))
            values[place] -= noise
    if drawn < ENOUGH:
        return False
    counts = rows if terms.kind is Kind.M_H else {level: counts_of_cumulative(v) for level, v in rows.items()}
    # Noisy totals measure cumulative counts from above, which shifts the first cell by their own noise.
    first = 1 if terms.public is Totals.NOISY and terms.kind is not Kind.M_H else 0
    if any((table[:, first:] < 0).any() for table in counts.values()):
        return False
    sums = [table[:, first:].sum(axis=0) for table in counts.values()]
    return all((one == sums[0]).all() for one in sums)
