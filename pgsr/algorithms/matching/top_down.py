"""The complete method of Kuo et al.: top-down consistency by optimal matching."""

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

import numpy as np

from pgsr.algorithms.groups import Groups, estimate_of_groups
from pgsr.algorithms.isotonic import IsotonicFit, Optimum, isotonic_l2_means
from pgsr.algorithms.matching.alone import bounds, groups_alone, refusal, refuse
from pgsr.algorithms.matching.sorted_matching import Matcher, NoMatchError, SortedMatching
from pgsr.algorithms.matching_levels import LevelMatching
from pgsr.algorithms.sizes_per_level import applied_by_level, refusal_by_level
from pgsr.checks import checked_limit, member_of, require_kind
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, judged_release
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Measurement


class Merge(StrEnum):
    """The rule by which two estimates of one group become one: inverse variance, or the plain average."""

    WEIGHTED = "weighted"
    AVERAGE = "average"


@dataclass(frozen=True)
class Matching:
    """The post-process that fits every region alone, and from the root down matches its groups to its children's.

    1. `fit` estimates the groups of every region (H_c or H_g, as each was measured).
    2. Each group gets a variance estimate from the number n of estimated groups of its size:
       2 / (n epsilon_l^2) for H_g, 4 / (n epsilon_l^2) for H_c. With `partitions`, n is for H_g the number of groups in
       its partition of the fit, those of one value before rounding, as the paper defines it; there may be several of
       one rounded size, whose mean variance counts.
    3. From the root down, the G groups of a region are matched to the G groups of its children at the least total
       difference of sizes (by `matcher`), and every child's group gets the merged size

           z = (x / Vx + y / Vy) / (1 / Vx + 1 / Vy),  variance 1 / (1 / Vx + 1 / Vy)    (weighted), or
           z = (x + y) / 2,                            variance (Vx + Vy) / 4            (average).

       Sizes are rounded to the nearest integer (halves to even); groups of one rounded size share their mean variance.
    4. The leaves are final; every other region is the sum of its leaves.

    Where levels have sizes of their own, with the fit of cumulative counts whose `optimum` is the midpoint and all else
    as it is by default, a child's last class says of a group's size only that it is at least so large
    (`pgsr.algorithms.matching_levels`).

    The result has integer, non-negative counts, every region's public number of groups, and adds up. A region that was
    not measured (padding, a level with epsilon 0) takes the groups of its children and has no say.

    `Matching(matcher=TransportFlow())` runs the same mechanism with a solver inside. Least-cost matchings often tie:
    their costs are equal, but which child gets which size may differ, and with it merged sizes and all that is matched
    further down. Every optimum gives a valid release; only the default shares ties in proportion to the children's
    groups, as the paper does.

    Complexity: that of the fit, and O(runs x children) per region for the rest (with the default matcher).

    Source: Kuo et al. 2018, section 5 and algorithms 1 and 2. Shown by `tests/test_matching.py`.
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
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if not measurement.sizes.equal:
            return refusal_by_level(self._by_level, measurement)
        reason = refusal(self.fit, measurement)
        if reason is not None or measurement.hierarchy.n_inner == 0:
            return reason
        # No region has more groups than the root, which is matched first.
        return self.matcher.supports(int(measurement.region_totals[0]))

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time or by this matcher.

        Raises:
            ProblemError: the measurement cannot be fitted.
        """
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if not measurement.sizes.equal:
            return applied_by_level(self._by_level, measurement, checked_limit(time_limit))
        refuse(refusal(self.fit, measurement))
        deadline = Deadline(checked_limit(time_limit))
        tree = measurement.hierarchy
        groups = groups_alone(self.fit, measurement)
        fitted = deadline.spent
        states = [_State(g, self._precision(measurement, r, g)) for r, g in enumerate(groups)]
        for region in range(tree.n_inner):
            if deadline.passed:
                return Result(Status.TIMED_OUT, f"region {region} of {tree.n_inner} reached after {time_limit:g} s")
            below = slice(*bounds(tree.children(region)))
            try:
                states[below] = self._merged(states[region], states[below], deadline.left)
            except NoMatchError as error:
                return Result(error.status, f"region {' / '.join(tree.paths[region])}: {error}")
        leaves = [state.groups for state in states[tree.leaves]]
        estimate = estimate_of_groups(tree, leaves, measurement.max_size)
        seconds = Seconds(0.0, fitted, deadline.spent - fitted, deadline.compiling)
        return judged_release(measurement, estimate, seconds)

    @property
    def _by_level(self) -> LevelMatching | None:
        return LevelMatching() if self == Matching(IsotonicFit(optimum=Optimum.MIDPOINT)) else None

    def _precision(self, measurement: Measurement, region: int, groups: Groups) -> np.ndarray:
        """Compute 1 / variance of the size of one group, per run; 0 where the region was not measured."""
        law = measurement.law(region)
        if law is None or not measurement.measured[region]:
            return np.zeros(len(groups.size))
        is_ranked = measurement.view_of(region) is View.RANKED
        precision = groups.count / ((1 if is_ranked else 2) * float(law.variance_bound))
        if self.partitions and is_ranked and self.fit.ranked_norm == 2:  # an L1 fit is whole: a partition per size
            means = isotonic_l2_means(measurement.values[region], self.fit.min_size, measurement.max_size)
            size, n_partitions = np.unique(nearest(np.unique(means)), return_counts=True)
            precision /= n_partitions[np.searchsorted(size, groups.size)]
        return precision

    def _merged(self, parent: "_State", children: "list[_State]", time_left: float | None = None) -> "list[_State]":
        match = self.matcher.match(parent.groups, [child.groups for child in children], time_left)
        x, y = parent.groups.size[match.top], np.concatenate([c.groups.size for c in children])[match.bottom]
        px, py = parent.precision[match.top], np.concatenate([c.precision for c in children])[match.bottom]
        known = px + py > 0
        if self.merge is Merge.WEIGHTED:
            with np.errstate(invalid="ignore"):
                z = np.where(known, (px * x + py * y) / (px + py), y)
            variance = _inverse(px + py)
        else:
            z = np.where(px > 0, np.where(py > 0, (x + y) / 2, x), y)
            variance = np.where((px > 0) & (py > 0), (_inverse(px) + _inverse(py)) / 4, _inverse(px + py))
        size = nearest(z)
        ends = np.searchsorted(match.child, np.arange(len(children) + 1))
        return [_State.pooled(size[a:b], match.count[a:b], variance[a:b]) for a, b in pairwise(ends)]

    def __repr__(self) -> str:
        parts = [repr(self.fit)] if self.fit != IsotonicFit() else []
        parts += [f"merge='{self.merge}'"] if self.merge is not Merge.WEIGHTED else []
        parts += [f"matcher={self.matcher!r}"] if self.matcher != SortedMatching() else []
        parts += ["partitions=True"] if self.partitions else []
        return f"Matching({', '.join(parts)})"


@dataclass(frozen=True, eq=False)
class _State:
    """The groups of a region on the way down, and the precision (1 / variance) of every run."""

    groups: Groups
    precision: np.ndarray

    @classmethod
    def pooled(cls, size: np.ndarray, count: np.ndarray, variance: np.ndarray) -> "_State":
        groups = Groups.pooled(size, count)
        total = np.zeros(len(groups.size))
        np.add.at(total, np.searchsorted(groups.size, size), variance * count)
        return cls(groups, _inverse(total / groups.count))


def _inverse(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / values
