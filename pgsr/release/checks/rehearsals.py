"""Recognise the noise of a rehearsal, which anybody can take off, in values that claim to be private."""

import math

import numpy as np

from pgsr.data.views import View, counts_of_cumulative, counts_of_ranked
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.tables import noisy_tables
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.random import Seeded, StreamId
from pgsr.release.folder.manifest import REHEARSAL_KEY
from pgsr.release.terms.kinds import MeasuredView
from pgsr.release.terms.plan import Plan
from pgsr.release.terms.terms import Terms

LOG_CHANCE = math.log(1e-12)
"""The log of the largest chance, one in 10^12, that other noise looks like that of a rehearsal."""


def is_rehearsal(plan: Plan, measurement: Measurement) -> bool:
    """Tell whether the noise is that of a rehearsal: taking it off leaves non-negative counts that add up.

    The first two levels that were measured are looked at. What is found counts only if other noise would hardly ever
    look so: noise is taken off cell by cell, and the chance of every fact that it turns out to meet, given the cells
    before, is multiplied up. Where counts are large and few facts are public there is too little to say it.
    """
    terms = plan.terms
    if terms.max_sizes is not None:
        return _is_rehearsal_by_level(plan, measurement)
    tree = measurement.hierarchy
    levels = [level for level in range(tree.n_levels) if measurement.measured[tree.level(level)].all()][:2]
    laws = [level.law for level in plan.levels]
    if plan.first_root is not None:  # the last values of the root hold other noise than a rehearsal of stated shares
        laws[0] = DoubleGeometric(plan.first_scale)
    # Noisy totals measure cumulative counts from above, which shifts the first cell by their own noise.
    first = int(terms.totals is Totals.NOISY and terms.view is not MeasuredView.COUNTS)
    compared = _compared(measurement, levels)
    chances, sums = 0.0, np.zeros((2, compared), np.int64)
    for place, level in enumerate(levels):
        law, regions = laws[level], tree.level(level)
        assert law is not None, "a measured level"
        for region in range(regions.start, regions.stop):
            found = _taken_off(terms, measurement, region, law)
            if found is None:
                return False
            counts, cells = found
            sums[place] += counts[:compared]
            # Sums over the other regions leave the last one no choice.
            last = place == 1 and region == regions.stop - 1
            for noise, room, fixed, is_rank in cells:
                if last:
                    fixed[: compared if not is_rank else len(fixed) * (compared > terms.max_excess)] = True
                chance = np.where(fixed, law.log_pmf(noise), _log_cdf(law, room))
                chances += float(chance[0 if is_rank else first :].sum())
    if len(levels) > 1 and (sums[0] != sums[1])[first:].any():
        return False
    return chances < LOG_CHANCE


_Cells = tuple[np.ndarray, np.ndarray, np.ndarray, bool]
"""The noise of cells; the room that each has, given those before; which have no choice; and whether they are ranks."""


def _compared(measurement: Measurement, levels: list[int]) -> int:
    """Count the sizes, from 0 up, whose counts in regions of these levels follow from values without noise."""
    known = measurement.max_size + 1
    for level in levels:
        for region in range(measurement.hierarchy.level(level).start, measurement.hierarchy.level(level).stop):
            view = measurement.view_of(region)
            threshold = view.ranked_from(measurement.max_size)
            if view.mixed and len(measurement.row(region)) < threshold + measurement.totals[region]:
                known = min(known, threshold)
    return known


def _taken_off(terms: Terms, measurement: Measurement, region: int, law: Law) -> tuple[np.ndarray, list[_Cells]] | None:
    """Take the noise of a rehearsal off a region's values: counts by excess, and the cells; None if it was other."""
    view, most = measurement.view_of(region), measurement.max_size
    known = region < len(measurement.totals) and terms.totals is not Totals.NOISY
    total = int(measurement.totals[region]) if region < len(measurement.totals) else 0
    bare, cells = [], []
    first = None if region else measurement.first_root
    for part, values in view.parts(measurement.row(region) if first is None else first):
        noise = np.zeros(len(values), np.int64)
        level, path = int(measurement.hierarchy.level_of[region]), measurement.hierarchy.paths[region]
        law.add_to(noise, Seeded(REHEARSAL_KEY).stream(StreamId(terms.data_set, part.value, level, path)))
        from_above = terms.totals is Totals.NOISY and part is View.CUMULATIVE
        noise = -noise if from_above else noise
        without = values - noise
        # Counts, or how much larger the next is.
        steps = without if part is View.COUNTS else np.diff(without, prepend=0)
        if (steps[int(from_above) :] < 0).any():
            return None
        whole = known and part is view  # a total tells how many sizes are ranked, and nothing of them
        if part is View.RANKED:
            whole = False
            if without.max(initial=0) > most - view.ranked_from(most):
                return None
        elif whole and steps.sum() != total:
            return None
        bare.append(without)
        fixed = np.arange(len(noise)) == len(noise) - 1 if whole else np.zeros(len(noise), bool)
        cells.append((noise, steps + noise, fixed, part is View.RANKED))
    if view is View.COUNTS:
        return bare[0], cells
    if view is View.RANKED:
        return counts_of_ranked(bare[0], most), cells
    return np.diff(view.cumulative(np.concatenate(bare), total, most), prepend=0), cells


def _is_rehearsal_by_level(plan: Plan, measurement: Measurement) -> bool:
    """Tell the same of noise with sizes per level, from the root down until there is enough to say it."""
    tree, sizes, step = measurement.hierarchy, measurement.sizes, plan.mechanism.noise
    laws, view = step.laws_of_sizes(sizes.max_sizes), step.one_view(sizes.max_sizes)
    chances, above = 0.0, np.array([[measurement.root_total]])
    for level, (values, law) in enumerate(zip(measurement.tables, laws, strict=True)):
        about = Seeded(REHEARSAL_KEY), plan.terms.data_set, level
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
