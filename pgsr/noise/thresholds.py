"""The thresholds of split views from public facts: a stand-in's shape and every region's public number of groups.

Below T a cumulative count is one noisy number for the groups of one size; from T on a rank is one noisy number for what
one group has beyond it. A size at which G[r] p[s] groups are expected has G[r] p[s] groups for one noisy number in the
columns, and one group for each in the rows. So columns are worth their noise, of standard deviation sigma, where many
groups are expected beside sigma, and rows where few are:

    T[r] = the number of sizes up to the largest s with G[r] p[s] > factor sigma / sqrt(2),

where p[s] is the share of the stand-in's groups of size s. With double geometric noise sigma / sqrt(2) is 1 / epsilon
(sigma^2 = 2 / epsilon^2 bounds its variance). On three data sets (Hawaiian population by block group, flights, made
households; epsilon 1/10) the error of the posterior at the root with a third and with three times this factor was 0.8
to 1.2 times that with it, so a stand-in needs to be near in its tail's order of magnitude alone.

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
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.noise.budgeted import Noise
from pgsr.noise.geometric import Geometric

Step = TypeVar("Step", Geometric, Noise)


def split_by(
    noise: Step,
    stand_in: CountOfCounts,
    hierarchy: Hierarchy,
    groups: np.ndarray,
    factor: float = 1.0,
    ranks: int | None = None,
) -> Step:
    """Give the noise step a split view per region, with thresholds from a stand-in's shape.

    With G[r] groups, p the shares of sizes among all groups of the stand-in, and sigma the standard deviation of the
    level's noise on cumulative counts, region r has

        T = 1 + max {s : G[r] p[s] > factor sigma / sqrt(2)}, or 0 if there is no such size.

    Args:
        noise: the step; of its views nothing is kept, all of its budget.
        stand_in: public counts of groups with a similar tail: an older publication, another population, generated data.
        hierarchy: the regions that are measured.
        groups: the public number of groups of every region, shape (regions,).
        factor: how many groups of one size, in units of the noise, are enough for a column.
        ranks: m, how many of a region's largest groups are measured by their ranks; None for all. A number must be far
            above that of the groups larger than T, in the region where there are most: with fewer the others have no
            noisy value beyond T, and errors of several times those of `View.CUMULATIVE` were seen.

    Returns:
        A step of the same budget, whose views are one `Split` per region.

    Raises:
        ProblemError: there is not one number of groups per region, the stand-in has no groups, or the noise step has
            sizes per level, which split views do not have.

    Complexity: O(regions log K + K).

    Example:
        >>> from pgsr.datasets import census_like
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> stand_in, groups = census_like("states", 200), np.array([9_000, 8_000, 1_000])
        >>> split_by(Geometric(View.CUMULATIVE, 1), stand_in, tree, groups).view
        (Split(13), Split(13), Split(10))

    Shown by `tests/test_noise_thresholds.py::test_equals_the_definition`.
    """
    require_kind(stand_in, CountOfCounts, "the stand-in", "give a CountOfCounts of public numbers")
    groups = np.asarray(groups)
    if groups.shape != (hierarchy.n_regions,) or (groups < 0).any():
        raise ProblemError(
            f"groups has the shape {groups.shape}; give the public number of groups of each of the "
            f"{hierarchy.n_regions:,} regions, in their order, none below 0"
        )
    if noise.max_sizes is not None:
        raise ProblemError("split views have one largest size for all levels; leave max_sizes= out")
    if not factor > 0 or not math.isfinite(factor):
        raise ProblemError(f"factor={factor!r}; give how many times the noise, a number above 0 such as 1")
    of_all = stand_in.row(0).astype(float)
    if not of_all.any():
        raise ProblemError("the stand-in has no groups, so no shape; give counts of a similar population")
    share = of_all / of_all.sum()
    # From the largest size down, the largest share so far: sizes up to T are those whose envelope is above the level.
    envelope = np.maximum.accumulate(share[::-1])
    whole = replace(noise, view=View.CUMULATIVE)
    sensitivity, largest = whole.sensitivity(View.CUMULATIVE, stand_in.max_size), stand_in.max_size
    views: list[Split] = []
    for level, drawn in enumerate(whole.levels(hierarchy.n_levels, largest)):
        # Where nothing is measured the view does not matter; columns alone have the least sensitivity.
        spread = 0.0 if drawn is None else math.sqrt(drawn.law(sensitivity).variance_bound)
        for g in groups[hierarchy.level(level)].tolist():
            few = int(np.searchsorted(envelope, factor * spread / math.sqrt(2) / g, side="right")) if g else len(share)
            threshold = len(share) if drawn is None else len(share) - few
            views.append(Split(threshold, ranks))
    return replace(noise, view=tuple(views))
