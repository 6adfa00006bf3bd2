"""The complete method of Kuo et al.: top-down consistency by optimal matching."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.groups import estimate_of_runs
from pgsr.algorithms.isotonic import IsotonicFit
from pgsr.checks import checked_limit, member_of, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.estimators.matching.alone import levels_alone, refuse, refused_by_fit
from pgsr.estimators.matching.levels import Merge, merged
from pgsr.estimators.matching.runs import Runs
from pgsr.estimators.matching.sorted_matching import Matcher, SortedMatching
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped, judged_release
from pgsr.methods.method import Result, Seconds
from pgsr.noise.measurement import Measurement, Totals


@dataclass(frozen=True)
class Matching:
    """Fits every region alone, and from the root down matches its groups to its children's.

    1. `fit` estimates the groups of every region (H_c or H_g, as each was measured).
    2. Each group gets a variance estimate from the number n of estimated groups of its size:
       2 / (n epsilon_l^2) for H_g, 4 / (n epsilon_l^2) for H_c; of a split view the former from its threshold on. With
       `partitions`, n is for H_g the number of groups in its partition of the fit, those of one value before rounding,
       as the paper defines it; there may be several of one rounded size, whose mean variance counts.
    3. From the root down, the G groups of a region are matched to the G groups of its children at the least total
       difference of sizes (by `matcher`), and every child's group gets the merged size

           z = (x / Vx + y / Vy) / (1 / Vx + 1 / Vy),  variance 1 / (1 / Vx + 1 / Vy)    (weighted), or
           z = (x + y) / 2,                            variance (Vx + Vy) / 4            (average).

       Sizes are rounded to the nearest integer (halves to even); groups of one rounded size share their mean variance.
       Precisions are exact ratios wherever a rounding depends on them, so a half is never missed.
    4. The leaves are final; every other region is the sum of its leaves.

    **Sizes per level.** With k the last class of a level, "k or more", a child's group of y = k says of its size only
    that it is at least k. So where x > k the merged size is z = x, at the variance Vx, whatever the rule. Sorted order
    is a least-cost matching for |min(x, k) - y| as for |x - y|. A group whose size at a leaf is z counts in class
    min(z, K) of its leaf and of all regions around it, each with its own K. There every level has to be measured.

    The result has integer, non-negative counts, every region's public number of groups, and adds up. A region that was
    not measured (padding, a level with epsilon 0) takes the groups of its children and has no say.

    `Matching(matcher=TransportFlow())` runs the same mechanism with a solver inside. Least-cost matchings often tie:
    their costs are equal, but which child gets which size may differ, and with it merged sizes and all that is matched
    further down. Every optimum gives a valid release; only the default shares ties in proportion to the children's
    groups, as the paper does.

    Complexity: that of the fit, and O(runs x children) per region for the rest (with the default matcher).

    Source: Kuo et al. 2018, section 5 and algorithms 1 and 2. Shown by `test_matching.py`.
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)
    merge: Merge = Merge.WEIGHTED
    matcher: Matcher = field(default_factory=SortedMatching)
    partitions: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "merge", member_of(Merge, self.merge, "merge", MethodError))
        require_kind(self.matcher, Matcher, "matcher", "give SortedMatching(), or a model such as TransportFlow()")

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        reason = refused_by_fit(self.fit, measurement) or _refused_by_level(measurement)
        if reason is not None or measurement.hierarchy.n_inner == 0:
            return reason
        # No region has more groups than the root, which is matched first.
        return self.matcher.supports(int(measurement.region_totals[0]))

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time or by this matcher.

        Raises:
            ProblemError: the measurement cannot be fitted.
        """
        refuse(refused_by_fit(self.fit, measurement) or _refused_by_level(measurement))
        deadline, tree = Deadline(checked_limit(time_limit)), measurement.hierarchy
        groups = self.alone(measurement)
        fitted = deadline.spent
        try:
            leaves = self.leaves_below(tree, groups[0], groups[1:], measurement.sizes.max_sizes, deadline)
        except Stopped as stopped:
            return Result(stopped.status, stopped.reason)
        if measurement.sizes.equal:
            estimate = estimate_of_runs(tree, leaves.owner, leaves.size, leaves.count, measurement.max_size)
        else:
            estimate = Estimate(tree, View.COUNTS, counted(all_levels(tree, leaves), measurement.sizes.max_sizes))
        seconds = Seconds(0.0, fitted, deadline.spent - fitted, deadline.compiling)
        return judged_release(measurement, estimate, seconds)

    def alone(self, measurement: Measurement) -> list[Runs]:
        """Fit every region alone (steps 1 and 2); the groups of every level, root first."""
        return levels_alone(self.fit, measurement, self.partitions)

    def leaves_below(
        self,
        tree: Hierarchy,
        root: Runs,
        below: Sequence[Runs],
        max_sizes: Sequence[int],
        deadline: Deadline = NO_LIMIT,
    ) -> Runs:
        """Merge down to the leaves' groups (step 3), from the root's and those of all other levels fitted alone.

        Raises:
            Stopped: out of time, or the matcher has no answer.
        """
        groups = root
        for level, fitted in enumerate(below, 1):
            groups = merged(groups, fitted, tree, level, max_sizes[level], self.merge, self.matcher, deadline)
        return groups

    def __repr__(self) -> str:
        parts = [repr(self.fit)] if self.fit != IsotonicFit() else []
        parts += [f"merge='{self.merge}'"] if self.merge is not Merge.WEIGHTED else []
        parts += [f"matcher={self.matcher!r}"] if self.matcher != SortedMatching() else []
        parts += ["partitions=True"] if self.partitions else []
        return f"Matching({', '.join(parts)})"


def all_levels(tree: Hierarchy, leaves: Runs) -> list[Runs]:
    """Add the leaves' groups up to all regions around them; the groups of every level, root first (step 4)."""
    levels = [leaves]
    for level in range(tree.n_levels - 1, 0, -1):
        levels.insert(0, levels[0].upwards(tree, level))
    return levels


def counted(levels: Sequence[Runs], max_sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Count the groups of all regions in the classes of their level; one table per level."""
    return tuple(runs.table(k) for runs, k in zip(levels, max_sizes, strict=True))


def _refused_by_level(measurement: Measurement) -> str | None:
    """Give the reason why groups cannot be matched where levels have sizes of their own, or None."""
    if measurement.sizes.equal:
        return None
    if measurement.public is Totals.NOISY:
        return "levels have sizes of their own here, which goes with public totals; measure with totals='regions'"
    if measurement.public is Totals.ROOT:
        return (
            "only the root's total is public here, and levels have sizes of their own, so every region's is needed; "
            "measure with totals='regions'"
        )
    if any(noise is None for noise in measurement.noise):
        return "levels have sizes of their own here, so every level has to be measured; give each a share"
    if measurement.hierarchy.padded.any():
        return "levels have sizes of their own here, so every branch needs the same depth; give it without padding"
    return None
