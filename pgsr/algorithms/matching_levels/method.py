"""The method of Kuo et al. with other sizes on every level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.isotonic import isotonic_l1_middles
from pgsr.algorithms.m_c_levels.release import LevelRelease
from pgsr.algorithms.m_h_levels.certificate import violations
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.matching_levels.runs import Runs, merged
from pgsr.checks import require_kind
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement_by_level import MeasurementByLevel


@dataclass(frozen=True)
class LevelMatching:
    """The post-process that fits every region alone, and from the root down matches its groups to its children's.

    1. H_c of every region: the middle of the smallest and the largest L1 isotonic regression of its noisy cumulative
       counts, rounded. A group in a run of n groups of one size has the variance V = 4 / (n epsilon_l^2), as in
       `Matching`.
    2. From the root down, the groups of a region, of sizes x, are matched in sorted order to those of its children, of
       sizes y. With k the children's last class, "k or more", a child's group gets

           z = x,                                       variance Vx,                       where y = k < x,
           z = (x / Vx + y / Vy) / (1 / Vx + 1 / Vy),   variance 1 / (1 / Vx + 1 / Vy),    else,

       rounded to the nearest integer: in the last class the child knows no more of a size than that it is at least k.
       Sorted order is a least-cost matching for |min(x, k) - y| as for |x - y|.
    3. The sizes of the leaves' groups are final. A group of size z is in class min(z, K) of its leaf and of all regions
       around it, each with its own K.

    The counts are integer, non-negative, add up and have the public totals; they are the optimum of no stated problem.
    Where all K are equal they are those of `Matching(IsotonicFit(optimum="midpoint"))`.

    Complexity: O(cells log K), and O(runs x children) per region.

    Example:
        >>> from pgsr import Geometric, Seeded
        >>> from pgsr.noise import measured_by_level
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> noisy = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("demo"), "demo")
        >>> [table.sum(axis=1).tolist() for table in LevelMatching().apply(noisy).counts.tables]
        [[60], [30, 30]]

    Extends: algorithms 1 and 2 of Kuo et al. 2018, section 5, to sizes per level. Shown by
    `tests/test_matching_levels.py`.
    """

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        if measurement.view is not View.CUMULATIVE:
            return f"matching needs View.CUMULATIVE, this measurement is of {measurement.view!r}"
        if measurement.totals is None:
            return "only the root's total is public here, matching needs every region's; measure with totals='regions'"
        return None

    def apply(self, measurement: MeasurementByLevel) -> LevelRelease:
        """Make a release.

        Raises:
            ProblemError: the measurement is not of cumulative counts, or has the root's total alone.
        """
        deadline, tree = Deadline(), measurement.hierarchy
        groups = self.alone(measurement)
        leaves = leaves_below(tree, groups[0], groups[1:], measurement.max_sizes)
        counts = counted(tree, all_levels(tree, leaves), measurement.max_sizes)
        violated = violations(LevelProblem(measurement.values, totals=measurement.totals), counts)
        return LevelRelease(counts, violated, None, deadline.spent)

    def alone(self, measurement: MeasurementByLevel) -> list[Runs]:
        """Fit every region's cumulative counts alone (step 1); the groups of every level.

        Raises:
            ProblemError: the measurement is not of cumulative counts, or has the root's total alone.
        """
        require_kind(measurement, MeasurementByLevel, "the measurement", "give what measured_by_level returned")
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        levels = zip(measurement.values.tables, measurement.totals_by_level(), measurement.laws, strict=True)
        return [Runs.of_fit(_fitted(table, groups), float(law.variance_bound)) for table, groups, law in levels]


def leaves_below(tree: Hierarchy, root: Runs, below: Sequence[Runs], max_sizes: Sequence[int]) -> Runs:
    """Give the leaves' groups: from the root's, and all other levels' as they were fitted, level by level (step 2)."""
    groups = root
    for level, fitted in enumerate(below, 1):
        groups = merged(groups, fitted, tree, level, max_sizes[level])
    return groups


def all_levels(tree: Hierarchy, leaves: Runs) -> list[Runs]:
    """Add the leaves' groups up to all regions around them; the groups of every level, root first (step 3)."""
    levels = [leaves]
    for level in range(tree.n_levels - 1, 0, -1):
        levels.insert(0, levels[0].upwards(tree, level))
    return levels


def counted(tree: Hierarchy, levels: Sequence[Runs], max_sizes: Sequence[int]) -> CountsByLevel:
    """Count the groups of all regions in the classes of their level (step 3)."""
    return CountsByLevel(tree, tuple(runs.table(k) for runs, k in zip(levels, max_sizes, strict=True)))


def _fitted(table: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Fit noisy cumulative counts, shape (regions, K + 1), and take differences: counts of the same shape."""
    below = nearest(isotonic_l1_middles(table[:, :-1], groups)).astype(np.int64)
    return np.diff(np.column_stack([below, groups]), prepend=0, axis=1)
