"""Recognise the noise of a rehearsal, which anybody can take off, in values that claim to be private."""

import math

import numpy as np

from pgsr.data.views import View, counts_of_cumulative, counts_of_ranked
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.tables import noisy_tables
from pgsr.privacy.laws import Law
from pgsr.privacy.random import Seeded, StreamId
from pgsr.release.folder.manifest import REHEARSAL_KEY
from pgsr.release.kinds import Measured
from pgsr.release.terms import Terms

LOG_CHANCE = math.log(1e-12)
"""The log of the largest chance, one in 10^12, that other noise looks like that of a rehearsal."""


def is_rehearsal(terms: Terms, measurement: Measurement) -> bool:
    """Tell whether the noise is that of a rehearsal: taking it off leaves non-negative counts that add up.

    The first two levels that were measured are looked at. What is found counts only if other noise would hardly ever
    look so: noise is taken off cell by cell, and the chance of every fact that it turns out to meet, given the cells
    before, is multiplied up. Where counts are large and few facts are public there is too little to say it.
    """
    if terms.max_sizes is not None:
        return _is_rehearsal_by_level(terms, measurement)
    tree = measurement.hierarchy
    levels = [level for level in range(tree.n_levels) if measurement.measured[tree.level(level)].all()][:2]
    # Noisy totals measure cumulative counts from above, which shifts the first cell by their own noise.
    from_above = terms.totals is Totals.NOISY and terms.view is Measured.CUMULATIVE
    first = int(from_above)
    laws = terms.noise_laws(tree.n_levels)
    chances, sums = 0.0, np.zeros((2, terms.max_excess + 1), np.int64)
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
            if view is View.RANKED and bare.max(initial=0) > terms.max_excess:
                return False
            if view is not View.RANKED:
                known = region < len(measurement.totals) and terms.totals is not Totals.NOISY
                if known and steps.sum() != measurement.totals[region]:
                    return False
            sums[place] += counts_of_ranked(bare, terms.max_excess) if view is View.RANKED else steps
            chance = _log_cdf(law, steps + noise)  # of a step that is not negative
            # Totals, and the sums over the other regions, leave one number.
            fixed = np.arange(len(noise)) == len(noise) - 1 if known else np.zeros(len(noise), bool)
            if place == 1 and region == regions.stop - 1:
                fixed[:] = True
            chances += float(np.where(fixed, law.log_pmf(noise), chance)[first:].sum())
    if len(levels) > 1 and (sums[0] != sums[1])[first:].any():
        return False
    return chances < LOG_CHANCE


def _is_rehearsal_by_level(terms: Terms, measurement: Measurement) -> bool:
    """Tell the same of noise with sizes per level, from the root down until there is enough to say it."""
    tree, sizes, step = measurement.hierarchy, measurement.sizes, terms.noise(measurement.hierarchy.n_levels)
    laws, view = step.laws_of_sizes(sizes.max_sizes), step.one_view
    chances, above = 0.0, np.array([[measurement.root_total]])
    for level, (values, law) in enumerate(zip(measurement.tables, laws, strict=True)):
        about = Seeded(REHEARSAL_KEY), terms.data_set, level
        [noise] = noisy_tables(view, laws, tree, [np.zeros_like(values)], *about)
        bare = values - noise
        counts = bare if measurement.view is View.COUNTS else counts_of_cumulative(bare)
        fixed = np.zeros(values.shape, bool)
        if level:  # what a region above has in a class leaves the last region in it no choice
            starts = tree.first_child[tree.level(level - 1)] - tree.level(level).start
            added, known = np.add.reduceat(counts, starts, axis=0), sizes.folded(above, level - 1, View.COUNTS)
            fixed[np.append(starts[1:], len(counts)) - 1] = True
        else:
            added, known = counts.sum(axis=1, keepdims=True), above
            fixed[-1, -1] = True
        if (counts < 0).any() or (added != known).any():
            return False
        if measurement.public is Totals.REGIONS:
            if (counts.sum(axis=1) != measurement.totals[tree.level(level)]).any():
                return False
            fixed[:, -1] = True
        chances += float(np.where(fixed, law.log_pmf(noise), _log_cdf(law, counts + noise)).sum())
        if chances < LOG_CHANCE:
            return True
        above = counts
    return False


def _log_cdf(law: Law, room: np.ndarray) -> np.ndarray:
    """Compute log P(X <= room), with P(X > m) = P(|X| > m) / 2 for m >= 0."""
    tail = law.probability_beyond(np.where(room < 0, -room - 1, room)) / 2
    with np.errstate(divide="ignore"):
        return np.where(room < 0, np.log(tail), np.log1p(-tail))
