"""The posterior of all regions of a level at once, where every level has sizes of its own.

A region of a level with sizes 0..K is a chain of cumulative counts as the room derives it; its last class is
"K or more". What differs from the same sizes everywhere is what regions say about each other:

- **Upwards.** A parent with sizes 0..K has children with sizes 0..k. Their counts join its own size by size below k,
  and their last classes join the sum of its tail, from k on; within the tail the parent's own counts alone say how it
  is spread.
- **Downwards.** A parent's shape, folded to the sizes of its children, is the shape that they share.

So tails are linked: what a parent expects from k on and what its children expect in their last class add up.

A level on which groups are known by ranks (`pgsr.data.Split`, `View.RANKED`) has its regions improved one by one, by
their `Evidence`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.isotonic.regression import isotonic_l1_middles
from pgsr.algorithms.m_c.joint import laws_of
from pgsr.algorithms.simplex import simplex_projection
from pgsr.data.views import View
from pgsr.estimators.posterior.arrays import Noisy, Prior, PriorRound, RowMoments
from pgsr.estimators.posterior.evidence import BORDER, BOXES, COUNTS, ROUGH_BORDER, Evidence
from pgsr.estimators.posterior.folded_prior import LevelFacts, prior_means
from pgsr.estimators.posterior.likelihood import Likelihood
from pgsr.estimators.posterior.misfit import WIDE_SHAPE, misfits
from pgsr.estimators.posterior.window_means import COUNT_NOISE, cells, shapes, with_estimated_prior
from pgsr.machine.parallel import Threads, share
from pgsr.methods.gate import NO_LIMIT, Deadline
from pgsr.noise.measurement import Measurement
from pgsr.privacy.laws import Law

ROUNDS = 3
"""How often priors are estimated anew."""

_NOTHING = 700.0
"""exp(-700) is as good as nothing: beyond this loss in multiples of the noise's scale powers are not told apart."""


@dataclass(frozen=True, eq=False)
class MarginalTables:
    """The posterior of the cumulative counts of every region alone; one table per level, shape (regions, K + 1).

    Attributes:
        means: E c[s].
        variances: Var c[s], float32.
        steps: Var x[s] of the counts, where prior means are known to be estimates, float32; of no rows if not wanted.
    """

    means: list[np.ndarray]
    variances: list[np.ndarray]
    steps: list[np.ndarray]


def marginal_tables(
    measurement: Measurement,
    *,
    with_steps: bool = True,
    deadline: Deadline = NO_LIMIT,
) -> MarginalTables:
    """Compute the posterior of all regions alone, with or without the variances of counts.

    Args:
        measurement: of counts on every level, or of cumulative counts, ranked sizes and split views, with every
            region's total. Variances of counts are asked for where there are no ranks alone.
        deadline: asked between families.

    Raises:
        Stopped: out of time.
    """
    tree = measurement.hierarchy
    levels = range(tree.n_levels)
    views = [_one_view(measurement, level) for level in levels]
    totals = [measurement.region_totals[tree.level(level)] for level in levels]
    laws = laws_of(measurement)
    precision = [2 / float(law.variance_bound) for law in laws]
    pairs = zip(laws, views, strict=True)
    noise = [float(law.variance_bound) * COUNT_NOISE[view or View.CUMULATIVE] for law, view in pairs]
    known = LevelFacts(tree, totals, precision, noise, None if all(views) else _up_to(measurement))
    alone = [[] if view else _evidence(measurement, level) for level, view in enumerate(views)]
    tables = [_table(measurement, level) if view else np.zeros((0, 0), np.int64) for level, view in enumerate(views)]
    means = [
        _pilot(view, tables[level], totals[level]) if view else np.array(Threads()(Evidence.pilot, alone[level]), float)
        for level, view in enumerate(views)
    ]
    variances = [np.empty(mean.shape, np.float32) for mean in means]
    steps = [np.empty(mean.shape if with_steps else (0, mean.shape[1]), np.float32) for mean in means]
    for turn in range(ROUNDS):
        last = turn == ROUNDS - 1
        for level, rows, mu in prior_means(known, means):
            deadline.check("no posterior of all regions")
            view, border = views[level], BORDER if last else ROUGH_BORDER
            if view is None:
                about = alone[level][rows], mu, means[level][rows], variances[level][rows]
                _improve_alone(*about, turn == 0, border)
                continue
            about = tables[level][rows], totals[level][rows], laws[level], view
            wanted = steps[level][rows] if last else steps[level][:0]
            filled = means[level][rows], variances[level][rows], wanted
            wide = _misfits(view, laws[level], means[level][rows], mu)
            _improve(*about, mu, wide, *filled, turn == 0, border)
            if len(wanted):
                of_prior = np.where(wide, WIDE_SHAPE, shapes(mu.shape[1])), cells(mu.shape[1])
                wanted[:] = with_estimated_prior(wanted, mu, *of_prior)
    return MarginalTables(means, variances, steps)


def _one_view(measurement: Measurement, level: int) -> View | None:
    """Give the view of all regions of a level that are improved together, or None where each is by itself."""
    if isinstance(measurement.view, View):
        return None if measurement.view is View.RANKED else measurement.view
    found = measurement.views_on(level)
    return View.CUMULATIVE if found == {View.CUMULATIVE} else None


def _table(measurement: Measurement, level: int) -> np.ndarray:
    """Stack the values of a level whose regions have one view."""
    if isinstance(measurement.view, View):
        return np.ascontiguousarray(measurement.tables[level], np.int64)
    here = measurement.hierarchy.level(level)
    return np.stack([measurement.row(region) for region in range(here.start, here.stop)])


def _evidence(measurement: Measurement, level: int) -> list[Evidence]:
    here = measurement.hierarchy.level(level)
    return [Evidence.of(measurement, region) for region in range(here.start, here.stop)]


def _up_to(measurement: Measurement) -> list[np.ndarray]:
    """Find the sizes from which on regions know counts by ranks, beyond all sizes where there are none."""
    tree, largest = measurement.hierarchy, measurement.max_size
    first = [measurement.view_of(region).ranked_from(largest) for region in range(tree.n_regions)]
    return np.split(np.array(first), tree.level_start[1:-1])


def _improve_alone(
    evidence: Sequence[Evidence],
    mu: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    first: bool,
    border: float,
) -> None:
    """Replace the means and variances of some regions of a level by those of their posterior, one by one."""

    def improve(row: int) -> None:
        about = evidence[row]
        half = np.full(mu.shape[1], float(about.half_width())) if first else 6.5 * np.sqrt(variance[row]) + 3.0
        wide = np.zeros(mu.shape[1], bool)
        if about.columns:  # what ranks say of a sum of counts has another variance
            off = misfits(mean[row], mu[row], float(about.law.variance_bound), shapes(mu.shape[1]))
            wide[: about.columns] = off[: about.columns]
        found = about.marginals(mean[row], half, mu[row], np.where(wide, WIDE_SHAPE, shapes(mu.shape[1])), border)
        mean[row], variance[row] = found.mean, found.variance

    Threads()(improve, range(len(evidence)))


def _misfits(view: View, law: Law, means: np.ndarray, mu: np.ndarray) -> np.ndarray:
    if view is not View.CUMULATIVE:
        return np.zeros(mu.shape, bool)
    return misfits(means, mu, float(law.variance_bound), shapes(mu.shape[1]))


def _improve(
    y: np.ndarray,
    total: np.ndarray,
    law: Law,
    view: View,
    mu: np.ndarray,
    wide: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    steps: np.ndarray,
    first: bool,
    border: float,
) -> None:
    """Replace the means and variances of some regions of a level by those of their posterior; fill `steps`.

    The shape of the prior is `WIDE_SHAPE` where it is `wide`.
    """
    from pgsr.estimators.posterior.rows_kernel import posterior_rows

    deviation = float(law.variance_bound) ** 0.5
    half = float(int(20 + 7 * deviation) if view is View.COUNTS else int(8 + 2.1 * deviation))
    likelihood = Likelihood.of(law, int(min(total.max(initial=0) + 1, _NOTHING * deviation + 2)))
    n_sizes = y.shape[1]
    up_to = n_sizes - (view is View.CUMULATIVE)
    kind = COUNTS if view is View.COUNTS else BOXES
    no_ranks = int(total.max(initial=0)) + 1
    noisy = Noisy(
        kind,
        y,
        likelihood.law,
        likelihood.coarse,
        likelihood.fine,
        up_to,
        no_ranks,
        np.empty(0, np.int64),
        likelihood.log_base,
    )
    moments = RowMoments(mean, variance, steps)
    given, about = Prior(mu, np.where(wide, WIDE_SHAPE, shapes(n_sizes))), PriorRound(half, first, border, deviation)
    share(posterior_rows, range(len(y)), 20 * n_sizes, noisy, given, total, about, moments)


def _pilot(view: View, y: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Guess cumulative counts without a prior, as `Evidence.pilot` does; float64, shape (regions, K + 1)."""
    if view is View.CUMULATIVE:
        return np.append(np.floor(isotonic_l1_middles(y[:, :-1], totals)), totals[:, None], axis=1)
    return np.cumsum(simplex_projection(y, totals, integer=True), axis=1, dtype=float)
