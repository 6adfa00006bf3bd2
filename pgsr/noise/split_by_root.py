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

FEWEST = 0.5
"""How many groups of one size are enough for a column.

On taxi pick-ups, flights, made households and people of a race by block group, at epsilon 1 and 1/10, it gave the
posterior release errors within 3 % of those of the best of 1/4, 1/2, 1, 2 and 4, but for taxi pick-ups at 1/10 (5 %).
"""

_ALL = 1 << 62
"""A threshold that no size reaches."""


def falling_shape(groups: np.ndarray) -> np.ndarray:
    """Fit non-increasing shares of sizes to numbers of groups, noisy ones too; float, shape (K + 1,), adding up to 1.

        minimise sum_s (p[s] - groups[s] / sum groups)^2   over   p[0] >= p[1] >= ... >= p[K] >= 0.

    That is the mean over stretches of sizes: it rests on many groups where single sizes have few, and does not take a
    last class, "K or more", or a single spike for a long tail. Shares of 0 everywhere stand for groups that are none.

    Args:
        groups: of every size, shape (K + 1,).

    Complexity: O(K).

    Example:
        >>> falling_shape(np.array([0, 6, 2, 3, 0, 1])).round(3).tolist()
        [0.25, 0.25, 0.208, 0.208, 0.042, 0.042]
    """
    from scipy.optimize import isotonic_regression

    fitted = np.maximum(isotonic_regression(groups.astype(float), increasing=False).x, 0)
    total = fitted.sum()
    return fitted / total if total else fitted


def shape_of_noisy(cumulative_counts: np.ndarray, groups: int) -> np.ndarray:
    """Fit non-increasing shares of sizes to noisy cumulative counts; float, shape (K + 1,).

    The nearest non-decreasing counts within 0..groups come first, then `falling_shape` of their steps.

    Args:
        cumulative_counts: noisy numbers of groups of at most s members, shape (K + 1,).
        groups: the number of groups.

    Complexity: O(K).

    Example:
        >>> shape_of_noisy(np.array([1, 5, 9, 8, 10, 9]), groups=10).round(3).tolist()
        [0.298, 0.298, 0.298, 0.053, 0.053, 0.0]
    """
    from scipy.optimize import isotonic_regression

    fitted = np.clip(isotonic_regression(cumulative_counts.astype(float)).x, 0, groups)
    return falling_shape(np.diff(fitted, prepend=0))


def columns_worth(shape: np.ndarray, groups: int, factor: float) -> int:
    """Count the sizes s with groups shape[s] > factor, where the shape does not increase.

    Complexity: O(log K).

    Example:
        >>> columns_worth(np.array([0.6, 0.3, 0.1]), groups=5, factor=1)
        2
    """
    return int(np.searchsorted(-groups * shape, -factor, side="left"))


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
