"""The scales of a learned prior: how far its differences are expected to be from 0, where all but a few are.

A difference x of scale t is Student t distributed, which is normal with the precision w / t^2 once its own weight

    w = (nu + 1) / (nu + E[x^2] / t^2),    E[x^2] = x^2 + v,

is known; v is the variance that the inverse information leaves it. So an outlier, a bend, a jump or an end, gets a
small weight and does not make the others rough. Scales follow from Schall's rule, as if a few differences of a typical
size had been seen besides:

    t^2 = (sum of w x^2 + n0 t0^2) / (f + n0),    f = n - sum of w v / t^2,

f being how many of the n differences the values determine.

Source: Schall 1991; Lange, Little and Taylor 1989 (weights of t).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior.knots import Knots

NU, TYPICAL = 2.0, 0.03
"""Degrees of freedom of second differences of the shape, and t0 of their scales."""

OWN_NU, OWN_TYPICAL = 1.0, 0.1
"""The same of first differences of deviations."""

SEEN = 2.0
"""n0, the number of differences of typical size that are taken as seen."""

FASTEST = 20.0
"""No precision changes by a larger factor at once."""

LEAST, MOST = 0.25, 1e6
OWN_LEAST = 1e-3
"""No precision of the shape's differences is less than `LEAST`, of deviations than `OWN_LEAST`; none above `MOST`."""


@dataclass(frozen=True, eq=False)
class Scales:
    """The precisions of all differences, weights included.

    Attributes:
        knots: of the shape and of deviations.
        tree: the regions.
        shape, weights: 1 / t^2 and w of the shape's second differences; shape (differences,) each.
        own: 1 / t^2 of differences of deviations, by level; shape (blocks,) each.
        own_weights: w of the differences of deviations, by level; shape (regions of the level, differences) each.
    """

    knots: Knots
    tree: Hierarchy
    shape: np.ndarray
    weights: np.ndarray
    own: tuple[np.ndarray, ...]
    own_weights: tuple[np.ndarray, ...]

    @classmethod
    def typical(cls, knots: Knots, tree: Hierarchy) -> "Scales":
        """Begin with typical differences, none of which is an outlier."""
        n, regions = len(knots.second), tree.regions_per_level
        own = tuple(np.full(knots.n_blocks, OWN_TYPICAL**-2) for _ in regions)
        weights = tuple(np.ones((n_regions, len(knots.block))) for n_regions in regions)
        return cls(knots, tree, np.full(n, TYPICAL**-2), np.ones(n), own, weights)

    def precisions(self) -> np.ndarray:
        """Give the precisions of the shape's second differences."""
        return self.shape * self.weights

    def own_precisions(self, level: int) -> np.ndarray:
        """Give the precisions of the differences of a level's deviations; shape (regions of the level, differences)."""
        return self.own[level][self.knots.block] * self.own_weights[level]

    def penalty(self, shape: np.ndarray, deviations: Sequence[np.ndarray]) -> float:
        """Compute half the sum of squared differences, each times its precision."""
        second = (self.knots.second * shape).sum(axis=1)
        total = float((self.precisions() * second**2).sum())
        for level in range(1, self.tree.n_levels):
            total += float((self.own_precisions(level) * np.diff(deviations[level], axis=1) ** 2).sum())
        return 0.5 * total

    def follow(
        self, shape: np.ndarray, deviations: Sequence[np.ndarray], variances: np.ndarray,
        own_variances: Sequence[np.ndarray],
    ) -> "Scales":  # fmt: skip
        """Estimate scales and weights anew.

        Args:
            shape, deviations: F and d.
            variances, own_variances: what the inverse information leaves of their differences.
        """
        squares = (self.knots.second * shape).sum(axis=1) ** 2
        precision = self.shape.copy()
        for zone in (self.knots.steep, ~self.knots.steep):
            if zone.any():
                about = self.weights[zone], squares[zone], variances[zone]
                precision[zone] = _precision(float(self.shape[zone][0]), TYPICAL, LEAST, *about)
        weights = (NU + 1) / (NU + (squares + variances) * precision)
        own = [each.copy() for each in self.own]
        own_weights = [each.copy() for each in self.own_weights]
        for level in range(1, self.tree.n_levels):
            rows = np.flatnonzero(~self.tree.only_children[self.tree.level(level)])
            own_squares = np.diff(deviations[level], axis=1) ** 2
            for block in range(self.knots.n_blocks):
                cells = np.ix_(rows, self.knots.block == block)
                of_block = self.own_weights[level][cells], own_squares[cells], own_variances[level][cells]
                precise = _precision(float(self.own[level][block]), OWN_TYPICAL, OWN_LEAST, *of_block)
                own[level][block] = precise
                own_weights[level][cells] = (OWN_NU + 1) / (OWN_NU + (of_block[1] + of_block[2]) * precise)
        return Scales(self.knots, self.tree, precision, weights, tuple(own), tuple(own_weights))


def _precision(
    before: float, typical: float, least: float, weights: np.ndarray, squares: np.ndarray, variances: np.ndarray
) -> float:
    """Update 1 / t^2 of some differences by Schall's rule, within bounds."""
    known = max(0.0, weights.size - before * float((weights * variances).sum()))
    square = (float((weights * squares).sum()) + SEEN * typical**2) / (known + SEEN)
    return min(max(1.0 / square, least, before / FASTEST), MOST, before * FASTEST)
