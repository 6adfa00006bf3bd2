"""The rules that say how regions are measured: all by one view, or each by noise already drawn."""

from collections.abc import Iterable

from pgsr.data.views import AnyView
from pgsr.noise.split_by_root import SplitByRoot

ViewRule = AnyView | SplitByRoot
"""What says how the regions of a level are measured: all by one view, or each by the root's noisy values."""


def possible_views(rules: Iterable[ViewRule], max_size: int) -> tuple[AnyView, ...]:
    """List the views that regions under some rules may get where sizes are 0..max_size."""
    return tuple(dict.fromkeys(view for rule in rules for view in rule.possible(max_size)))
