"""The isotonic fit of every region alone: the baselines of Kuo et al., and the first step of their method."""

from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.groups import Groups, estimate_of_groups
from pgsr.algorithms.isotonic import IsotonicFit
from pgsr.algorithms.sizes_per_level import refusal_by_level
from pgsr.checks import require_kind
from pgsr.errors import ProblemError
from pgsr.methods.gate import Deadline, judged_release
from pgsr.methods.method import Result, Seconds
from pgsr.noise.measurement import Measurement


@dataclass(frozen=True)
class BottomUp:
    """The baseline that fits every leaf alone by `fit`, and adds the leaves up to all other regions.

    Give the leaves the whole budget: `Geometric(view, epsilon, shares=("0", "0", "1"))`. What was measured above them
    is ignored.

    Source: Kuo et al. 2018, slides.
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        return refusal(self.fit, measurement, leaves_only=True)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        refuse(self.supports(measurement))
        clock = Deadline()
        tree = measurement.hierarchy
        groups = self.fit.all_groups(measurement, range(tree.n_inner, tree.n_regions))
        estimate = estimate_of_groups(tree, groups, measurement.max_size)
        return judged_release(measurement, estimate, Seconds(solve=clock.spent, compile=clock.compiling))

    def __repr__(self) -> str:
        return f"BottomUp({self.fit!r})" if self.fit != IsotonicFit() else "BottomUp()"


@dataclass(frozen=True)
class NoConsistency:
    """The baseline that fits every region alone by `fit` and does no more, so that regions need not add up.

    Source: Kuo et al. 2018, section 6 (the baseline of its figure 6).
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        return refusal(self.fit, measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        refuse(self.supports(measurement))
        clock = Deadline()
        estimate = estimate_of_groups(measurement.hierarchy, groups_alone(self.fit, measurement), measurement.max_size)
        return judged_release(measurement, estimate, Seconds(solve=clock.spent, compile=clock.compiling))

    def __repr__(self) -> str:
        return f"NoConsistency({self.fit!r})" if self.fit != IsotonicFit() else "NoConsistency()"


def refusal(fit: IsotonicFit, measurement: Measurement, leaves_only: bool = False) -> str | None:
    require_kind(fit, IsotonicFit, "fit", "give IsotonicFit(...)")
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    levels = range(measurement.hierarchy.n_levels)
    if not measurement.sizes.equal:
        return refusal_by_level(None, measurement)
    return fit.refusal(measurement, levels[-1:] if leaves_only else [lv for lv in levels if measurement.noise[lv]])


def refuse(reason: str | None) -> None:
    if reason is not None:
        raise ProblemError(reason)


def groups_alone(fit: IsotonicFit, measurement: Measurement) -> list[Groups]:
    """Estimate the groups of every region; a region that was not measured gets those of its children."""
    tree, measured = measurement.hierarchy, measurement.measured
    regions = np.flatnonzero(measured)
    groups: list[Groups | None] = [None] * tree.n_regions
    for region, found in zip(regions, fit.all_groups(measurement, regions), strict=True):
        groups[region] = found
    for region in np.flatnonzero(~measured)[::-1]:
        below = [g for g in groups[slice(*bounds(tree.children(region)))] if g is not None]
        groups[region] = Groups.pooled(
            np.concatenate([g.size for g in below]), np.concatenate([g.count for g in below])
        )
    return [g for g in groups if g is not None]


def bounds(children: range) -> tuple[int, int]:
    return children.start, children.stop
