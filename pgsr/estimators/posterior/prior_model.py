"""The priors that can be learned, and one pass over all regions under one of them; see `learned` for the symbols."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior import dispersion
from pgsr.estimators.posterior.evidence import ROUGH_BORDER, WIDENING, Evidence, Marginals
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.scales import Scales
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline

FREE = 5.0
"""How far a free size is expected to be from the one beside it, in logarithms."""


@dataclass(frozen=True, eq=False)
class Point:
    """The parameters of a prior.

    Attributes:
        shape: F, shape (J,).
        deviations: d, shape (regions, j); of the root 0.
        dispersions: k by level and band.
    """

    shape: np.ndarray
    deviations: np.ndarray
    dispersions: np.ndarray


@dataclass(frozen=True, eq=False)
class Seen:
    """The findings of one pass over all measured regions, in the order of the regions.

    Attributes:
        mean, variance: of cumulative counts, of all regions; shape (regions, K + 1).
        log_evidence: shape (measured,).
        gradients: J' g, shape (measured, J).
        information: lower halves of J' I J, float32.
        shares, diagonal, beside: u and the diagonals of M.
        slopes, curvatures: of the evidence in log k; shape (measured, bands).
    """

    mean: np.ndarray
    variance: np.ndarray
    log_evidence: np.ndarray
    gradients: np.ndarray
    information: np.ndarray
    shares: np.ndarray
    diagonal: np.ndarray
    beside: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray


@dataclass(frozen=True, eq=False)
class PriorModel:
    """The facts that priors are learned from.

    Attributes:
        tree: the regions.
        evidence: of every measured region.
        groups: G, numbers of groups, possibly estimated; shape (regions,).
        knots: of f.
        deadline: asked at every region.
    """

    tree: Hierarchy
    evidence: Mapping[int, Evidence]
    groups: np.ndarray
    knots: Knots
    deadline: Deadline

    @property
    def n_inner(self) -> int:
        """The number of inner regions; the root counts, even alone."""
        return max(self.tree.n_inner, 1)

    def values(self, point: Point) -> np.ndarray:
        """Give f of the inner regions at the knots."""
        values = np.zeros((self.n_inner, len(point.shape)))
        values[0] = point.shape
        for region in range(1, self.n_inner):
            values[region] = self._of(region, point, values)
        return values

    def _of(self, region: int, point: Point, values: np.ndarray) -> np.ndarray:
        if not region:
            return point.shape
        return values[self.tree.parent[region]] + self.knots.spread(point.deviations[region])

    def means(self, region: int, point: Point, values: np.ndarray) -> np.ndarray:
        """Compute the prior means of a region's counts; shape (K + 1,)."""
        from pgsr.estimators.posterior.learned_kernel import prior_means

        means = np.empty(len(self.knots.left))
        f = self._of(region, point, values)
        prior_means(f, self.knots.left, self.knots.part, float(self.groups[region]), means)
        return means

    def marginals(self, region: int, point: Point, values: np.ndarray, near: Seen | None, border: float) -> Marginals:
        """Compute the posterior of a measured region, in windows around its cumulative counts of an earlier pass."""
        return self._under(region, self.means(region, point, values), point, near, border)

    def _under(self, region: int, means: np.ndarray, point: Point, near: Seen | None, border: float) -> Marginals:
        """Compute the posterior of a measured region under a prior of these means."""
        about, shapes = self.evidence[region], self._shapes(region, point)
        if near is None:
            centre, half = about.pilot(), np.full(len(means), float(about.half_width()))
        else:
            centre, half = near.mean[region], 6.5 * np.sqrt(near.variance[region].astype(float)) + 3.0
        if border == ROUGH_BORDER:
            half /= WIDENING  # as they are, they hold enough of the mass
        return about.marginals(centre, half, means, shapes, border)

    def _shapes(self, region: int, point: Point) -> np.ndarray:
        return point.dispersions[self.tree.level_of[region]][self.knots.band]

    def see(self, point: Point, near: Seen | None) -> Seen:
        """Go through all measured regions once.

        Raises:
            Stopped: the deadline has passed.
        """
        from pgsr.estimators.posterior import dispersion_kernel
        from pgsr.estimators.posterior.learned_kernel import complete_information, derivatives, of_softmax

        n, n_knots, knots, values = len(self.evidence), len(point.shape), self.knots, self.values(point)
        seen = Seen(
            np.zeros((self.tree.n_regions, len(knots.left))),
            np.zeros((self.tree.n_regions, len(knots.left)), np.float32),
            np.zeros(n),
            np.zeros((n, n_knots)),
            np.zeros((n, n_knots * (n_knots + 1) // 2), np.float32),
            *np.zeros((3, n, n_knots)),
            *np.zeros((2, n, point.dispersions.shape[1])),
        )

        def look(place: int, region: int) -> None:
            self.deadline.check("no posterior of all regions")
            means = self.means(region, point, values)
            found = self._under(region, means, point, near, ROUGH_BORDER)
            seen.mean[region], seen.variance[region] = found.mean, found.variance
            seen.log_evidence[place] = found.log_evidence
            information = np.empty((n_knots, n_knots))
            about = means, found.shape / (found.shape + means), knots.left, knots.part
            derivatives((found.mean, found.variance, found.step_variance), *about, seen.gradients[place], information)
            complete_information(found.mean, *about, seen.shares[place], seen.diagonal[place], seen.beside[place])
            of_softmax(seen.gradients[place], information, seen.shares[place], seen.information[place])
            dispersion_kernel.derivatives(
                found.mean, found.step_variance, means, found.shape, knots.band,
                seen.slopes[place], seen.curvatures[place],
            )  # fmt: skip

        Threads()(lambda pair: look(*pair), enumerate(self.evidence))
        return seen

    def penalised(self, point: Point, scales: Scales, seen: Seen) -> float:
        """Compute L."""
        pulled = point.shape[self.knots.free] - point.shape[self.knots.beside]
        penalty = scales.penalty(point.shape, point.deviations) + 0.5 * FREE**-2 * float((pulled**2).sum())
        return float(seen.log_evidence.sum()) - penalty - dispersion.penalty(point.dispersions)

    def stepped_dispersions(self, point: Point, seen: Seen) -> np.ndarray:
        """Move the dispersions by a step of their own."""
        slopes, curvatures = np.zeros(point.dispersions.shape), np.zeros(point.dispersions.shape)
        level = self.tree.level_of[list(self.evidence)]
        for here in range(self.tree.n_levels):
            slopes[here], curvatures[here] = seen.slopes[level == here].sum(0), seen.curvatures[level == here].sum(0)
        return dispersion.stepped(point.dispersions, slopes, curvatures)
