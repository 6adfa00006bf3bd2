"""The thresholds of a release's split views: as they are stated, or from the noisy root.

Thresholds are sizes, and a mechanism knows excesses over `Terms.min_size`: a threshold T of sizes is T - min_size.
"""

from collections.abc import Iterable, Sequence

from pgsr.data.split_view import Split
from pgsr.data.views import AnyView
from pgsr.noise.split_by_root import SplitByRoot
from pgsr.noise.view_rules import ViewRule
from pgsr.privacy.budget import exact
from pgsr.release.publishing.errors import ConfigError

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


def thresholds_of(views: Iterable[AnyView], max_excess: int, min_size: int) -> tuple[int, ...]:
    """Give the sizes at which the views of regions are split; a view that is not split has one of its ends.

    Args:
        views: of the regions, in order.
        max_excess: the largest size that the views know.
        min_size: the public least size.

    Example:
        >>> from pgsr.data.views import View
        >>> thresholds_of((View.CUMULATIVE, Split(3), View.RANKED), 8, min_size=1)
        (9, 4, 1)
    """
    return tuple(min_size + min(view.ranked_from(max_excess), max_excess) for view in views)


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
