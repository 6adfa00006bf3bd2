"""Top-down consistency by optimal matching: the complete method of Kuo et al."""

import time
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

import numpy as np

from pgsr.algorithms.groups import Groups, estimate_of_groups
from pgsr.algorithms.isotonic_fit import IsotonicFit
from pgsr.checks import require_kind
from pgsr.errors import MethodError, ProblemError
from pgsr.measurement import Measurement
from pgsr.method import Result, Seconds, Status
from pgsr.release import judged_release
from pgsr.rounding import nearest
from pgsr.views import View


class Merge(StrEnum):
    """How two estimates of one group become one: by inverse variance, or the plain average."""

    WEIGHTED = "weighted"
    AVERAGE = "average"


@dataclass(frozen=True)
class Matching:
    """Every region alone, then from the root down: match a region's groups to its children's, and merge.

    1. `fit` estimates the groups of every region (H_c or H_g by level, as measured).
    2. Each group gets a variance estimate from the number n of estimated groups of its size:
       2 / (n epsilon_l^2) for H_g, 4 / (n epsilon_l^2) for H_c.
    3. From the root down, the G groups of a region are matched to the G groups of its children at the least total
       difference of sizes (`match_groups`), and every child's group gets the merged size

           z = (x / Vx + y / Vy) / (1 / Vx + 1 / Vy),  variance 1 / (1 / Vx + 1 / Vy)    (weighted), or
           z = (x + y) / 2,                            variance (Vx + Vy) / 4            (average).

       Sizes are rounded to the nearest integer (halves to even); groups of one rounded size share their mean variance.
    4. The leaves are final; every other region is the sum of its leaves.

    The result has integer, non-negative counts, every region's public number of groups, and adds up. A region that was
    not measured (padding, a level with epsilon 0) takes the groups of its children and has no say.

    Complexity: that of the fit, and O(runs x children) per region for the rest.

    Source: Kuo et al. 2018, section 5 and algorithms 1 and 2. Shown by `tests/test_matching.py`.
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)
    merge: Merge = Merge.WEIGHTED

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "merge", Merge(self.merge))
        except ValueError:
            raise MethodError(f"merge={self.merge!r} is unknown; use {', '.join(Merge)}") from None

    def supports(self, measurement: Measurement) -> str | None:
        """None, or the reason why this measurement cannot be used."""
        return _refusal(self.fit, measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        _refuse(self.supports(measurement))
        start = time.perf_counter()
        tree = measurement.hierarchy
        groups = _alone(self.fit, measurement)
        fitted = time.perf_counter()
        states = [_State(g, _precision(measurement, r, g)) for r, g in enumerate(groups)]
        for region in range(tree.n_inner):
            if time_limit is not None and time.perf_counter() - start > time_limit:
                return Result(Status.TIMED_OUT, f"region {region} of {tree.n_inner} reached after {time_limit:g} s")
            children = tree.children(region)
            merged = self._merged(states[region], states[children.start : children.stop])
            states[children.start : children.stop] = merged
        leaves = [state.groups for state in states[tree.leaves]]
        estimate = estimate_of_groups(tree, leaves, measurement.max_size)
        seconds = Seconds(0.0, fitted - start, time.perf_counter() - fitted)
        return judged_release(measurement, estimate, seconds)

    def _merged(self, parent: "_State", children: "list[_State]") -> "list[_State]":
        match = match_groups(parent.groups, [child.groups for child in children])
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
        bounds = np.searchsorted(match.child, np.arange(len(children) + 1))
        return [_State.pooled(size[a:b], match.count[a:b], variance[a:b]) for a, b in pairwise(bounds)]

    def __repr__(self) -> str:
        parts = [repr(self.fit)] if self.fit != IsotonicFit() else []
        parts += [f"merge='{self.merge}'"] if self.merge is not Merge.WEIGHTED else []
        return f"Matching({', '.join(parts)})"


@dataclass(frozen=True)
class BottomUp:
    """Every leaf alone by `fit`; every other region is the sum of its leaves.

    Give the leaves the whole budget: `Geometric(view, epsilon, shares=("0", "0", "1"))`. What was measured above them
    is ignored.

    Source: Kuo et al. 2018, slides.
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """None, or the reason why this measurement cannot be used."""
        return _refusal(self.fit, measurement, leaves_only=True)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        _refuse(self.supports(measurement))
        start = time.perf_counter()
        tree = measurement.hierarchy
        groups = self.fit.all_groups(measurement, range(tree.n_inner, tree.n_regions))
        estimate = estimate_of_groups(tree, groups, measurement.max_size)
        return judged_release(measurement, estimate, Seconds(solve=time.perf_counter() - start))

    def __repr__(self) -> str:
        return f"BottomUp({self.fit!r})" if self.fit != IsotonicFit() else "BottomUp()"


@dataclass(frozen=True)
class NoConsistency:
    """Every region alone by `fit`, and nothing more: regions need not add up.

    Source: Kuo et al. 2018, section 6 (the baseline of its figure 6).
    """

    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def supports(self, measurement: Measurement) -> str | None:
        """None, or the reason why this measurement cannot be used."""
        return _refusal(self.fit, measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        del time_limit
        _refuse(self.supports(measurement))
        start = time.perf_counter()
        estimate = estimate_of_groups(measurement.hierarchy, _alone(self.fit, measurement), measurement.max_size)
        return judged_release(measurement, estimate, Seconds(solve=time.perf_counter() - start))

    def __repr__(self) -> str:
        return f"NoConsistency({self.fit!r})" if self.fit != IsotonicFit() else "NoConsistency()"


@dataclass(frozen=True, eq=False)
class Match:
    """`count[i]` groups of the parent's run `top[i]` are matched to the children's run `bottom[i]`, child `child[i]`'s.

    `bottom` counts the children's runs one child after the other; entries are sorted by child.
    """

    top: np.ndarray
    bottom: np.ndarray
    child: np.ndarray
    count: np.ndarray
    cost: int


def match_groups(parent: Groups, children: list[Groups]) -> Match:
    """A least-cost perfect matching of a parent's groups to its children's.

        minimise  sum over matched pairs of |size in the parent - size in the child|,

    which for sizes on a line is the sorted matching: its cost is the earth mover's distance between the parent and the
    sum of its children. Where one size of the parent must be shared, children get shares in proportion to their groups
    of the size at hand.

    Complexity: O(runs log runs + splits x children).

    Raises:
        ProblemError: the children have more or fewer groups than the parent.

    Example:
        >>> parent = Groups(np.array([1, 2]), np.array([300, 100]))
        >>> children = [Groups(np.array([1]), np.array([200])), Groups(np.array([1]), np.array([200]))]
        >>> match = match_groups(parent, children)
        >>> match.count, match.cost
        (array([150,  50, 150,  50]), 100)

    Source: Kuo et al. 2018, algorithm 2.
    """
    from pgsr.kernels.matching import match_runs

    owner = np.repeat(np.arange(len(children)), [len(child.size) for child in children])
    size = np.concatenate([child.size for child in children])
    count = np.concatenate([child.count for child in children])
    if count.sum() != parent.total:
        raise ProblemError(f"{parent.total:,} groups cannot be matched to {int(count.sum()):,}; totals must add up")
    order = np.argsort(size, kind="stable")
    top, place, matched = match_runs(parent.size, parent.count, size[order], count[order])
    bottom = order[place]
    cost = int((np.abs(parent.size[top] - size[bottom]) * matched).sum())
    by_child = np.argsort(owner[bottom], kind="stable")
    return Match(top[by_child], bottom[by_child], owner[bottom][by_child], matched[by_child], cost)


@dataclass(frozen=True, eq=False)
class _State:
    """A region's groups on the way down, and the precision (1 / variance) of every run."""

    groups: Groups
    precision: np.ndarray

    @classmethod
    def pooled(cls, size: np.ndarray, count: np.ndarray, variance: np.ndarray) -> "_State":
        groups = Groups.pooled(size, count)
        total = np.zeros(len(groups.size))
        np.add.at(total, np.searchsorted(groups.size, size), variance * count)
        return cls(groups, _inverse(total / groups.count))


def _refusal(fit: IsotonicFit, measurement: Measurement, leaves_only: bool = False) -> str | None:
    require_kind(fit, IsotonicFit, "fit", "give IsotonicFit(...)")
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    levels = range(measurement.hierarchy.n_levels)
    return fit.refusal(measurement, levels[-1:] if leaves_only else [lv for lv in levels if measurement.epsilon[lv]])


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise ProblemError(reason)


def _alone(fit: IsotonicFit, measurement: Measurement) -> list[Groups]:
    """The groups of every region; of one that was not measured, those of its children."""
    tree, measured = measurement.hierarchy, measurement.measured
    regions = np.flatnonzero(measured)
    groups: list[Groups | None] = [None] * tree.n_regions
    for region, found in zip(regions, fit.all_groups(measurement, regions), strict=True):
        groups[region] = found
    for region in np.flatnonzero(~measured)[::-1]:
        below = [g for g in groups[slice(*_bounds(tree.children(region)))] if g is not None]
        groups[region] = Groups.pooled(
            np.concatenate([g.size for g in below]), np.concatenate([g.count for g in below])
        )
    return [g for g in groups if g is not None]


def _bounds(children: range) -> tuple[int, int]:
    return children.start, children.stop


def _precision(measurement: Measurement, region: int, groups: Groups) -> np.ndarray:
    """1 / variance of the size of one group, per run; 0 where the region was not measured."""
    level = int(measurement.hierarchy.level_of[region])
    if not measurement.measured[region]:
        return np.zeros(len(groups.size))
    factor = 2 if measurement.view_of(level) is View.RANKED else 4
    return groups.count * float(measurement.epsilon[level]) ** 2 / factor


def _inverse(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / values
