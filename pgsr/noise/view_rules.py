"""The rules that say how regions are measured: all by one view, or each by noise already drawn."""

from collections.abc import Iterable

from pgsr.data.split_view import AnyView, Split
from pgsr.data.views import View
from pgsr.noise.split_by_root import SplitByRoot

ViewRule = View | Split | SplitByRoot
"""What says how the regions of a level are measured: all by one view, or each by the root's noisy values."""


def possible_views(rules: Iterable[ViewRule], max_size: int) -> tuple[AnyView, ...]:
    """List the views that regions under some rules may get where sizes are 0..max_size.

    One threshold stands for all those between the ends where the noisy root decides, as sensitivities of entities do
    not depend on it.
    """
    found: dict[AnyView, None] = {}
    for rule in rules:
        found |= dict.fromkeys(_possible(rule, max_size))
    return tuple(found)


def _possible(rule: ViewRule, max_size: int) -> tuple[AnyView, ...]:
    if isinstance(rule, SplitByRoot):
        return View.CUMULATIVE, *(Split(threshold, rule.ranks).on(max_size) for threshold in (0, 1))
    return (rule.on(max_size),)
