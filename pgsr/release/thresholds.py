"""The thresholds of a release's split views: as they are stated, from a public stand-in, or from the noisy root.

Thresholds are sizes, and a mechanism knows excesses over `Terms.min_size`: a threshold T of sizes is T - min_size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import View
from pgsr.errors import BudgetError
from pgsr.noise.split_by_root import SplitByRoot
from pgsr.noise.thresholds import split_by
from pgsr.noise.view_rules import ViewRule
from pgsr.privacy.budget import Number, exact
from pgsr.publishing.errors import ConfigError


@dataclass(frozen=True)
class StandIn:
    """The shape of a public stand-in for the data, from which thresholds of split views follow.

    Attributes:
        counts: how many of its groups have each size, from 0 up. Their proportions alone matter.
        factor: as of `pgsr.noise.split_by`, exact.

    Raises:
        ConfigError: the counts are no whole numbers from 0 up, or all 0; the factor is not above 0.

    Example:
        >>> StandIn([0, 50, 20, 3, 0, 1]).folded(3).counts
        (0, 50, 20, 4)
    """

    counts: Sequence[int]
    factor: Number = Fraction(1, 2)

    def __post_init__(self) -> None:
        found = tuple(self.counts)
        if any(type(n) is not int or not 0 <= n < 2**53 for n in found) or not any(found):
            raise ConfigError(
                "the stand-in holds a number of groups per size, whole numbers from 0 up, and some groups; write an "
                "older publication of a similar population"
            )
        try:
            object.__setattr__(self, "factor", exact(self.factor, "factor"))
        except BudgetError as error:
            raise ConfigError(f"of the stand-in, {error}") from None
        object.__setattr__(self, "counts", found)

    @property
    def fields(self) -> dict[str, object]:
        """The fields of a manifest about the stand-in."""
        return {"counts": list(self.counts), "factor": str(exact(self.factor))}

    def folded(self, max_size: int) -> "StandIn":
        """Count larger groups as `max_size`; there are counts of the sizes 0..max_size afterwards."""
        kept = (*self.counts, *(0,) * (max_size + 1 - len(self.counts)))
        return StandIn((*kept[:max_size], sum(kept[max_size:])), self.factor)


FACTOR_BY_ROOT = exact(SplitByRoot().factor)
"""The factor of thresholds that follow from the noisy root, where none is given."""


def split_rule(thresholds: int | tuple[int, ...], ranks: int | None, min_size: int) -> ViewRule | tuple[ViewRule, ...]:
    """Make the rule of the noise step: one split view, or one per level or region.

    Example:
        >>> split_rule((5, 1), None, min_size=1)
        (Split(4), Split(0))
    """
    if isinstance(thresholds, int):
        return Split(thresholds - min_size, ranks)
    return tuple(Split(threshold - min_size, ranks) for threshold in thresholds)


def thresholds_by(stand_in: StandIn, step: Any, tree: Hierarchy, groups: np.ndarray, min_size: int) -> tuple[int, ...]:
    """Find the threshold of every region, a size, from a stand-in's shape and public numbers of groups.

    Args:
        stand_in: with the sizes 0..K of the release.
        step: the noise of the release, a `Geometric` or `Noise` of whatever view.
        tree, groups: the regions, and their public numbers of groups.
        min_size: the public least size; smaller groups count as such.
    """
    least, *larger = sum(stand_in.counts[: min_size + 1]), *stand_in.counts[min_size + 1 :]
    alone = Hierarchy.from_parents(["stand-in"], [-1])
    shape = CountOfCounts(alone, np.array([[least, *larger]], np.int64), "stand-in")
    views = split_by(step, shape, tree, groups, float(exact(stand_in.factor))).view
    return thresholds_of(views, len(larger), min_size)


def thresholds_of(views: Iterable[ViewRule], max_excess: int, min_size: int) -> tuple[int, ...]:
    """Give the sizes at which the views of regions are split; a view that is not split has one of its ends.

    Args:
        views: of the regions, in order.
        max_excess: the largest size that the views know.
        min_size: the public least size.

    Example:
        >>> thresholds_of((View.CUMULATIVE, Split(3), View.RANKED), 8, min_size=1)
        (9, 4, 1)
    """
    columns = (v.threshold if isinstance(v, Split) else 0 if v is View.RANKED else max_excess for v in views)
    return tuple(min_size + min(threshold, max_excess) for threshold in columns)


def checked_thresholds(given: int | Sequence[int], min_size: int) -> int | tuple[int, ...]:
    """Check the thresholds that somebody wrote: one, or several, root first.

    Raises:
        ConfigError: one is no size from `min_size` up.
    """
    found = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not found:
        raise ConfigError("threshold is an empty array; write one public size, or one per level, root first")
    for one in found:
        if type(one) is not int or one < 0:
            raise ConfigError(f"threshold is {one!r}; write a public size, a whole number from 0 up")
        if one < min_size:
            raise ConfigError(
                f"threshold is {one:,}, and min_size = {min_size:,} says that no group is smaller; write min_size or "
                "more"
            )
    return given if isinstance(given, int) else tuple(given)


def checked_ranks(given: object) -> int | None:
    """Check the number of ranks that are measured of a region; None for all.

    Raises:
        ConfigError: it is no number of groups from 1 up.
    """
    if given is not None and (type(given) is not int or given < 1):
        raise ConfigError(
            f"ranks is {given!r}; write how many of the largest groups of a region are measured by their ranks, a "
            "whole number from 1 up, or leave it out for all"
        )
    return given
