"""What follows from a release's noisy root, and the thresholds of split views, from it or one size for all regions.

Thresholds are sizes, and a mechanism knows excesses over `Terms.min_size`: a threshold T of sizes is T - min_size.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pgsr.data.views import AnyView
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.release.publishing.errors import ConfigError


@dataclass(frozen=True)
class FromRoot:
    """What followed from the noisy root of a release.

    Attributes:
        thresholds: of every region.
        shares: of epsilon per level, root first; None where they were stated.
        first: the root's first noisy values, by excess, which chose the shares; None where these were stated.
    """

    thresholds: tuple[int, ...]
    shares: tuple[Fraction, ...] | None
    first: tuple[int, ...] | None


def thresholds_of(views: Iterable[AnyView], max_excess: int, min_size: int) -> tuple[int, ...]:
    """Give the sizes at which the views of regions are split; a view that is not split has one of its ends.

    Args:
        views: of the regions, in order.
        max_excess: the largest size that the views know.
        min_size: the public least size.

    Example:
        >>> from pgsr.data.split_view import Split
        >>> from pgsr.data.views import View
        >>> thresholds_of((View.CUMULATIVE, Split(3), View.RANKED), 8, min_size=1)
        (9, 4, 1)
    """
    return tuple(min_size + min(view.ranked_from(max_excess), max_excess) for view in views)


def require_threshold(given: object, min_size: int) -> None:
    """Raise `ConfigError` unless this is a size from `min_size` up."""
    if type(given) is not int or given < 0:
        raise ConfigError(f'threshold is {given!r}; write a public size, a whole number from 0 up, or "{BY_ROOT}"')
    if given < min_size:
        raise ConfigError(
            f"threshold is {given:,}, and min_size = {min_size:,} says that no group is smaller; write min_size or more"
        )
