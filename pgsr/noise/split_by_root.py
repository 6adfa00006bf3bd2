"""The choice of a split view for every region below the root by the noisy root, which is measured first.

For every outcome of the root the other levels keep their own epsilons, as their sensitivity does not depend on the
thresholds: docs/derivations/split_view.md. The root needs little for it. A size that has one group in one of fifty
equal regions has fifty in the root, and noise that is fifty times that of the regions hides it no more.

Extends: the views of Kuo et al. 2018, section 4.

Source of the composition: Dwork and Roth 2014, The Algorithmic Foundations of Differential Privacy, section 3.5.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View
from pgsr.noise.falling_shape import columns_worth

FEWEST = 0.5
"""How many groups of one size are enough for a column."""


@dataclass(frozen=True)
class SplitByRoot:
    """The rule that measures the root in cumulative counts, and every region below in a split view that fits its shape.

    With G[r] the number of groups of region r, and p the falling shares of sizes fitted to the root's noisy cumulative
    counts,

        view of region r  =  Split(T[r]),     T[r] = number of sizes s with G[r] p[s] > `FEWEST`.

    The root must get a part of the budget; 1/20 to 1/50 is enough where there are some ten regions or more. Where
    levels have sizes of their own, a region whose largest size is T[r] or less is measured in cumulative counts.

    Example:
        >>> SplitByRoot().view_at(3, np.array([0.5, 0.3, 0.15, 0.05, 0, 0]), groups=9)
        Split(3)

    Shown by `test_noise_split_by_root.py::test_the_views_follow_from_the_published_root_alone`.
    """

    has_a_cell_per_size = False
    """Regions may be measured by ranks."""

    def on(self, max_size: int) -> AnyView:
        """Give the view of a region with sizes 0..max_size where no root is known: the threshold 1 stands for all."""
        return Split(1).on(max_size)

    def possible(self, max_size: int) -> tuple[AnyView, ...]:
        """List the views that a region may get; one threshold stands for all between the ends.

        Sensitivities of entities do not depend on it.
        """
        return View.CUMULATIVE, *(Split(threshold).on(max_size) for threshold in (0, 1))

    def n_values(self, groups: int, max_size: int) -> int:
        """Count the most values that a region with this number of groups may have."""
        return max_size + 1 + groups

    def view_at(self, region: int, shape: np.ndarray, groups: int) -> Split:
        """Give the view of a region; that of the root, region 0, has all columns.

        Args:
            region: its index.
            shape: non-increasing shares of sizes, shape (K + 1,).
            groups: of the region.
        """
        if not region:
            return Split(_ALL)
        return Split(columns_worth(shape, groups, FEWEST))


ViewRule = AnyView | SplitByRoot
"""What says how the regions of a level are measured: all by one view, or each by the root's noisy values."""


def possible_views(rules: Iterable[ViewRule], max_size: int) -> tuple[AnyView, ...]:
    """List the views that regions under some rules may get where sizes are 0..max_size."""
    return tuple(dict.fromkeys(view for rule in rules for view in rule.possible(max_size)))


_ALL = 1 << 62
"""A threshold that no size reaches."""
