"""The isotonic fit of every region alone: the baselines of Kuo et al., and the first step of their method."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pgsr.algorithms.groups import GroupRuns, estimate_of_runs
from pgsr.algorithms.isotonic import IsotonicFit
from pgsr.algorithms.isotonic.regression import isotonic_l2_means
from pgsr.checks import require_kind
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.estimators.matching.precisions import GivenPrecisions
from pgsr.estimators.matching.runs import Runs
from pgsr.estimators.sizes_per_level import refused_sizes
from pgsr.machine.blocks import row_blocks
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline, judged_release
from pgsr.methods.method import Result, Seconds
from pgsr.noise.measurement import Measurement


@dataclass(frozen=True)
class BottomUp:
    """Fits every leaf alone by `fit`, and adds the leaves up to all other regions; a baseline.

    Give the leaves the whole budget: `Geometric(view, epsilon, shares=("0", "0", "1"))`. What was measured above them
    is ignored.

    Source: Kuo et al. 2018, slides.
    """

    leaves_alone: ClassVar[bool] = True

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        return refused_by_fit(self.fit, measurement, leaves_only=True) or refused_sizes(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        refuse(self.supports(measurement))
        clock, tree = Deadline(), measurement.hierarchy
        leaves = level_alone(self.fit, measurement, tree.n_levels - 1, partitions=False)
        estimate = estimate_of_runs(tree, leaves.owner, leaves.size, leaves.count, measurement.max_size)
        return judged_release(measurement, estimate, Seconds(solve=clock.spent, compile=clock.compiling))

    def __repr__(self) -> str:
        return f"BottomUp({self.fit!r})" if self.fit != IsotonicFit() else "BottomUp()"


@dataclass(frozen=True)
class NoConsistency:
    """Fits every region alone by `fit` and does no more, so that regions need not add up; a baseline.

    Source: Kuo et al. 2018, section 6 (the baseline of its figure 6).
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        return refused_by_fit(self.fit, measurement) or refused_sizes(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        refuse(self.supports(measurement))
        clock = Deadline()
        all_regions = Runs.joined(levels_alone(self.fit, measurement, partitions=False))
        about = all_regions.owner, all_regions.size, all_regions.count, measurement.max_size
        estimate = estimate_of_runs(measurement.hierarchy, *about, leaves_only=False)
        return judged_release(measurement, estimate, Seconds(solve=clock.spent, compile=clock.compiling))

    def __repr__(self) -> str:
        return f"NoConsistency({self.fit!r})" if self.fit != IsotonicFit() else "NoConsistency()"


def refused_by_fit(fit: IsotonicFit, measurement: Measurement, leaves_only: bool = False) -> str | None:
    """Give the reason why regions, all or the leaves, cannot be fitted alone, or None."""
    require_kind(fit, IsotonicFit, "fit", "give IsotonicFit(...)")
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    levels = range(measurement.hierarchy.n_levels)
    return fit.refusal(measurement, levels[-1:] if leaves_only else [lv for lv in levels if measurement.noise[lv]])


def refuse(reason: str | None) -> None:
    if reason is not None:
        raise ProblemError(reason)


def levels_alone(fit: IsotonicFit, measurement: Measurement, partitions: bool) -> list[Runs]:
    """Fit every region alone; the groups of every level, root first.

    A region that was not measured gets those of its children, at a precision of 0.

    Args:
        partitions: whether variances are those of partitions of ranked sizes, as `Matching` explains.
    """
    tree, found = measurement.hierarchy, []
    for level in range(tree.n_levels - 1, -1, -1):
        measured = measurement.measured[tree.level(level)]
        own = level_alone(fit, measurement, level, partitions)
        if not measured.all():
            own = own.with_unmeasured(measured, found[0].upwards(tree, level + 1))
        found.insert(0, own)
    return found


def level_alone(fit: IsotonicFit, measurement: Measurement, level: int, partitions: bool) -> Runs:
    """Fit the measured regions of a level alone."""
    here = measurement.hierarchy.level(level)
    regions = np.flatnonzero(measurement.measured[here]) + here.start
    law = measurement.law(int(regions[0])) if len(regions) else None
    if law is not None and measurement.view is View.CUMULATIVE:
        table, totals = measurement.tables[level], measurement.region_totals
        variance = law.variance_bound

        def fitted(block: slice) -> Runs:
            counts = fit.cumulative_counts(table[regions[block] - here.start], totals[regions[block]])
            return Runs.of_fit(counts, variance)

        return Runs.joined(Threads()(fitted, row_blocks(slice(0, len(regions)), table.shape[1])))
    groups = fit.all_groups(measurement, regions)
    precisions = [
        precision_of(fit, measurement, region, own, partitions)
        for region, own in zip(regions.tolist(), groups, strict=True)
    ]
    return Runs.of_groups(groups, precisions)


def precision_of(
    fit: IsotonicFit, measurement: Measurement, region: int, groups: GroupRuns, partitions: bool
) -> GivenPrecisions:
    """Compute 1 / variance of the size of one group of a measured region, per run."""
    law, view, largest = measurement.law(region), measurement.view_of(region), measurement.max_size_of(region)
    assert law is not None, "a measured region"
    first = view.ranked_from(largest)
    ranked = groups.size >= first
    parts = np.where(ranked, 1, 2)  # of how many noisy values or partitions
    if partitions and ranked.any() and fit.ranked_norm == 2:  # an L1 fit is whole: a partition per size
        ranks = measurement.row(region)[first:]
        means = isotonic_l2_means(ranks, max(0, fit.min_size - first), largest - first)
        size, n_partitions = np.unique(nearest(first + np.unique(means)), return_counts=True)
        fitted = ranked & np.isin(groups.size, size)  # and not a group without a rank
        parts[fitted] = n_partitions[np.searchsorted(size, groups.size[fitted])]
    distinct, which = np.unique(parts, return_inverse=True)
    units = tuple(Fraction(1, m) / law.variance_bound for m in distinct.tolist())
    return GivenPrecisions(groups.count, which.reshape(-1), units)
