"""Top-down consistency by optimal matching: the complete method of Kuo et al."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.algorithms.groups import Groups, estimate_of_groups
from pgsr.algorithms.isotonic_fit import IsotonicFit
from pgsr.checks import checked_limit, require_kind
from pgsr.conditions import judged_release
from pgsr.errors import MethodError, ProblemError
from pgsr.measurement import Measurement
from pgsr.method import Result, Seconds, Status
from pgsr.rounding import nearest
from pgsr.views import View


class Merge(StrEnum):
    """How two estimates of one group become one: by inverse variance, or the plain average."""

    WEIGHTED = "weighted"
    AVERAGE = "average"


@runtime_checkable
class Matcher(Protocol):
    """Finds a least-cost perfect matching: the specialised `SortedMatching()`, or a solver model of `models/`."""

    def supports(self, n_groups: int) -> str | None:
        """None, or the reason why this many groups cannot be matched; asked before any budget is spent."""
        ...

    def match(self, parent: Groups, children: Sequence[Groups], time_limit: float | None = None) -> "Match":
        """The matching, with its cost; arguments and answer are those of `match_groups`.

        Raises:
            ProblemError: the children have more or fewer groups than the parent.
            NoMatchError: there is no answer; its status and message say why.
        """
        ...


@dataclass(frozen=True)
class SortedMatching:
    """`match_groups` as a value: the sorted matching, which needs no solver and has no size limit.

    Example:
        >>> SortedMatching().match(Groups(np.array([2]), np.array([5])), [Groups(np.array([4]), np.array([5]))]).cost
        10
    """

    def supports(self, n_groups: int) -> str | None:
        del n_groups
        return None

    def match(self, parent: Groups, children: Sequence[Groups], time_limit: float | None = None) -> "Match":
        del time_limit
        return match_groups(parent, children)


class NoMatchError(MethodError):
    """A matcher has no answer; `status` is the status of the result that needed it."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True)
class Matching:
    """Every region alone, then from the root down: match a region's groups to its children's, and merge.

    1. `fit` estimates the groups of every region (H_c or H_g by level, as measured).
    2. Each group gets a variance estimate from the number n of estimated groups of its size:
       2 / (n epsilon_l^2) for H_g, 4 / (n epsilon_l^2) for H_c.
    3. From the root down, the G groups of a region are matched to the G groups of its children at the least total
       difference of sizes (by `matcher`), and every child's group gets the merged size

           z = (x / Vx + y / Vy) / (1 / Vx + 1 / Vy),  variance 1 / (1 / Vx + 1 / Vy)    (weighted), or
           z = (x + y) / 2,                            variance (Vx + Vy) / 4            (average).

       Sizes are rounded to the nearest integer (halves to even); groups of one rounded size share their mean variance.
    4. The leaves are final; every other region is the sum of its leaves.

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

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "merge", Merge(self.merge))
        except ValueError:
            raise MethodError(f"merge={self.merge!r} is unknown; use {', '.join(Merge)}") from None
        require_kind(self.matcher, Matcher, "matcher", "give SortedMatching(), or a model such as TransportFlow()")

    def supports(self, measurement: Measurement) -> str | None:
        """None, or the reason why this measurement cannot be used."""
        reason = _refusal(self.fit, measurement)
        if reason is not None or measurement.hierarchy.n_inner == 0:
            return reason
        # No region has more groups than the root, which is matched first.
        return self.matcher.supports(int(measurement.region_totals[0]))

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """A valid release, or a status with the reason why there is none in time or by this matcher.

        Raises:
            ProblemError: the measurement cannot be fitted.
        """
        _refuse(_refusal(self.fit, measurement))
        time_limit = checked_limit(time_limit)
        start = time.perf_counter()
        tree = measurement.hierarchy
        groups = _alone(self.fit, measurement)
        fitted = time.perf_counter()
        states = [_State(g, _precision(measurement, r, g)) for r, g in enumerate(groups)]
        for region in range(tree.n_inner):
            left = None if time_limit is None else time_limit - (time.perf_counter() - start)
            if left is not None and left <= 0:
                return Result(Status.TIMED_OUT, f"region {region} of {tree.n_inner} reached after {time_limit:g} s")
            below = slice(*_bounds(tree.children(region)))
            try:
                states[below] = self._merged(states[region], states[below], left)
            except NoMatchError as error:
                return Result(error.status, f"region {' / '.join(tree.paths[region])}: {error}")
        leaves = [state.groups for state in states[tree.leaves]]
        estimate = estimate_of_groups(tree, leaves, measurement.max_size)
        seconds = Seconds(0.0, fitted - start, time.perf_counter() - fitted)
        return judged_release(measurement, estimate, seconds)

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
        bounds = np.searchsorted(match.child, np.arange(len(children) + 1))
        return [_State.pooled(size[a:b], match.count[a:b], variance[a:b]) for a, b in pairwise(bounds)]

    def __repr__(self) -> str:
        parts = [repr(self.fit)] if self.fit != IsotonicFit() else []
        parts += [f"merge='{self.merge}'"] if self.merge is not Merge.WEIGHTED else []
        parts += [f"matcher={self.matcher!r}"] if self.matcher != SortedMatching() else []
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

    @classmethod
    def of(
        cls, parent: Groups, children: Sequence[Groups], top: np.ndarray, bottom: np.ndarray, count: np.ndarray
    ) -> "Match":
        """From entries in any order; the children and the cost are looked up."""
        owner, size, _ = runs_below(parent, children)
        cost = int((np.abs(parent.size[top] - size[bottom]) * count).sum())
        by_child = np.argsort(owner[bottom], kind="stable")
        return cls(top[by_child], bottom[by_child], owner[bottom][by_child], count[by_child], cost)


def match_groups(parent: Groups, children: Sequence[Groups]) -> Match:
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

    _, size, count = runs_below(parent, children)
    order = np.argsort(size, kind="stable")
    top, place, matched = match_runs(parent.size, parent.count, size[order], count[order])
    return Match.of(parent, children, top, order[place], matched)


def runs_below(parent: Groups, children: Sequence[Groups]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The runs of all children, one child after the other: child, size, count; shape (runs,) each.

    Raises:
        ProblemError: the children have more or fewer groups than the parent.
    """
    owner = np.repeat(np.arange(len(children)), [len(child.size) for child in children])
    size = np.concatenate([child.size for child in children])
    count = np.concatenate([child.count for child in children])
    if count.sum() != parent.total:
        raise ProblemError(f"{parent.total:,} groups cannot be matched to {int(count.sum()):,}; totals must add up")
    return owner, size, count


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
