"""The thresholds of split views from public facts: a stand-in's shape and every region's public number of groups.

The rule is that of `pgsr.noise.falling_shape`. Where the root is measured, `SplitByRoot` needs no stand-in.

Extends: the views of Kuo et al. 2018, section 4.
"""

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.errors import ProblemError
from pgsr.noise.budgeted import Noise
from pgsr.noise.falling_shape import columns_worth, falling_shape
from pgsr.noise.geometric import Geometric

Step = TypeVar("Step", Geometric, Noise)


def split_by(
    noise: Step,
    stand_in: CountOfCounts,
    hierarchy: Hierarchy,
    groups: np.ndarray,
    factor: float = 1 / 2,
    ranks: int | None = None,
) -> Step:
    """Give the noise step a split view per region, with thresholds from a stand-in's shape.

    With G[r] groups, and p the falling shares of sizes fitted to the stand-in, region r has

        T[r] = number of sizes s with G[r] p[s] > factor.

    Where levels have sizes of their own, classes below the last are single sizes, so T[r] is the same; of a level with
    T[r] = K or more the whole view is `View.CUMULATIVE`.

    Args:
        noise: the step; of its views nothing is kept, all of its budget.
        stand_in: public counts of groups with a similar tail: an older publication, another population, generated data.
        hierarchy: the regions that are measured.
        groups: the public number of groups of every region, shape (regions,).
        factor: how many groups of one size are enough for a column.
        ranks: m, how many of a region's largest groups are measured by their ranks; None for all. A number must be far
            above that of the groups larger than T, in the region where there are most: with fewer the others have no
            noisy value beyond T, and errors of several times those of `View.CUMULATIVE` were seen.

    Returns:
        A step of the same budget, whose views are one `Split` per region.

    Raises:
        ProblemError: there is not one number of groups per region, or the stand-in has no groups.

    Complexity: O(regions log K + K).

    Example:
        >>> from pgsr import View
        >>> from pgsr.datasets import census_like
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> stand_in, groups = census_like("states", 200), np.array([9_000, 8_000, 1_000])
        >>> split_by(Geometric(View.CUMULATIVE, 1), stand_in, tree, groups).view
        (Split(17), Split(17), Split(12))

    Shown by `tests/test_noise_thresholds.py::test_equals_the_definition`.
    """
    require_kind(stand_in, CountOfCounts, "the stand-in", "give a CountOfCounts of public numbers")
    groups = np.asarray(groups)
    if groups.shape != (hierarchy.n_regions,) or (groups < 0).any():
        raise ProblemError(
            f"groups has the shape {groups.shape}; give the public number of groups of each of the "
            f"{hierarchy.n_regions:,} regions, in their order, none below 0"
        )
    if not factor > 0 or not math.isfinite(factor):
        raise ProblemError(
            f"factor={factor!r}; give how many groups of one size are enough for a column, a number above 0 such as 1"
        )
    if not stand_in.totals[0]:
        raise ProblemError("the stand-in has no groups, so no shape; give counts of a similar population")
    shape = falling_shape(stand_in.row(0))
    sizes = stand_in.max_size if noise.max_sizes is None else noise.max_sizes
    levels = noise.levels(hierarchy.n_levels, sizes)

    def view(groups: int, level: int) -> Split:
        if levels[level] is None:  # the view does not matter; columns alone have the least sensitivity
            return Split(len(shape), ranks)
        return Split(columns_worth(shape, groups, factor), ranks)

    views = map(view, groups.tolist(), hierarchy.level_of.tolist())
    return replace(noise, view=tuple(views))
