"""The priors that can be learned, and one pass over all regions under one of them; see `prior_fit` for the symbols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.estimators.posterior import dispersion
from pgsr.estimators.posterior.evidence import ROUGH_BORDER, WIDENING, WINDOW, Evidence, Marginals
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
        deviations: d, one table per level, shape (regions of the level, j); of the root 0.
        dispersions: k by level and band.
    """

    shape: np.ndarray
    deviations: tuple[np.ndarray, ...]
    dispersions: np.ndarray


@dataclass(frozen=True, eq=False)
class LevelSeen:
    """The findings about the measured regions of one level, in their order.

    Attributes:
        gradients: J' g, shape (measured, J).
        information: lower halves of J' I J, float32.
        shares, diagonal, beside: u and the diagonals of M; shape (measured, J).
        slopes, curvatures: of the evidence in log k; shape (measured, bands).
    """

    gradients: np.ndarray
    information: np.ndarray
    shares: np.ndarray
    diagonal: np.ndarray
    beside: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray

    @classmethod
    def empty(cls, n: int, n_knots: int, n_bands: int) -> "LevelSeen":
        """Make room for n regions."""
        half = np.zeros((n, n_knots * (n_knots + 1) // 2), np.float32)
        return cls(np.zeros((n, n_knots)), half, *np.zeros((3, n, n_knots)), *np.zeros((2, n, n_bands)))


@dataclass(frozen=True, eq=False)
class Seen:
    """The findings of one pass over all measured regions.

    Attributes:
        mean, variance: of cumulative counts, of all regions; region by region, shape (K + 1,) each.
        log_evidence: in the order of the measured regions, shape (measured,).
        levels: of every level.
    """

    mean: Sequence[np.ndarray]
    variance: Sequence[np.ndarray]
    log_evidence: np.ndarray
    levels: tuple[LevelSeen, ...]


Near = Seen | Sequence[np.ndarray]
"""An earlier pass, or pilots of all regions: guesses of cumulative counts without a prior."""


@dataclass(frozen=True, eq=False)
class PriorModel:
    """The facts that priors are learned from.

    Attributes:
        sizes: of the regions.
        evidence: of every measured region.
        groups: G, numbers of groups, possibly estimated; shape (regions,).
        knots: of f.
        deadline: asked at every region.
    """

    sizes: Sizes
    evidence: Mapping[int, Evidence]
    groups: np.ndarray
    knots: Knots
    deadline: Deadline

    @property
    def tree(self) -> Hierarchy:
        return self.sizes.hierarchy

    @property
    def n_inner(self) -> int:
        """The number of inner regions; the root counts, even alone."""
        return max(self.tree.n_inner, 1)

    @cached_property
    def measured(self) -> tuple[np.ndarray, ...]:
        """The measured regions of every level, in their order."""
        regions = np.fromiter(self.evidence, np.int64, len(self.evidence))
        return tuple(np.split(regions, np.searchsorted(regions, self.tree.level_start[1:-1])))

    def beginnings(self, point: Point) -> list[np.ndarray]:
        """Give f of every inner region, which is where f of its children begins."""
        values: list[np.ndarray] = []
        for region in range(self.n_inner):
            values.append(self._of(region, point, values))
        return values

    def _of(self, region: int, point: Point, beginnings: Sequence[np.ndarray]) -> np.ndarray:
        if not region:
            return point.shape
        level = int(self.tree.level_of[region])
        deviation = point.deviations[level][region - int(self.tree.level_start[level])]
        return beginnings[self.tree.parent[region]] + self.knots.spread(deviation)

    def means(self, region: int, point: Point, beginnings: Sequence[np.ndarray]) -> np.ndarray:
        """Compute the prior means of a region's counts; shape (K + 1,)."""
        from pgsr.estimators.posterior.prior_fit_kernel import prior_means

        knots = self.knots
        means = np.empty(len(knots.left))
        f = self._of(region, point, beginnings)
        prior_means(f, knots.left, knots.part, float(self.groups[region]), means)
        return means

    def marginals(
        self, region: int, point: Point, beginnings: Sequence[np.ndarray], near: Seen, border: float
    ) -> Marginals:
        """Compute the posterior of a measured region, in windows around its cumulative counts of an earlier pass."""
        return self._under(region, self.means(region, point, beginnings), point, near, border)

    def _under(self, region: int, means: np.ndarray, point: Point, near: Near, border: float) -> Marginals:
        """Compute the posterior of a measured region under a prior of these means."""
        about, shapes = self.evidence[region], self._shapes(region, point)
        if not isinstance(near, Seen):
            return about.marginals(near[region], np.full(len(means), float(about.half_width())), means, shapes, border)
        centre, variance = near.mean[region], near.variance[region]
        half = 6.5 * np.sqrt(variance.astype(float)) + 3.0
        if border == ROUGH_BORDER:
            half /= WIDENING  # as they are, they hold enough of the mass
        return about.marginals(centre, half, means, shapes, border, about.settled(centre, variance, border))

    def _shapes(self, region: int, point: Point) -> np.ndarray:
        return point.dispersions[self.tree.level_of[region]][self.knots.band]

    def see(self, point: Point, near: Near) -> Seen:
        """Go through all measured regions once, near an earlier pass or near pilots.

        Raises:
            Stopped: the deadline has passed.
        """
        from pgsr.estimators.posterior import dispersion_kernel
        from pgsr.estimators.posterior.prior_fit_kernel import complete_information, derivatives, of_softmax

        beginnings, knots, n_bands = self.beginnings(point), self.knots, point.dispersions.shape[1]
        seen = Seen(
            self.sizes.rows(np.zeros(self.sizes.n_cells)),
            self.sizes.rows(np.zeros(self.sizes.n_cells, np.float32)),
            np.zeros(len(self.evidence)),
            tuple(LevelSeen.empty(len(regions), len(knots.at), n_bands) for regions in self.measured),
        )

        def look(place: int, level: int, row: int, region: int) -> None:
            self.deadline.check("no posterior of all regions")
            means, here = self.means(region, point, beginnings), seen.levels[level]
            found = self._under(region, means, point, near, ROUGH_BORDER)
            seen.mean[region][:], seen.variance[region][:] = found.mean, found.variance
            seen.log_evidence[place] = found.log_evidence
            information = np.empty((len(knots.at), len(knots.at)))
            about = means, found.shape / (found.shape + means), knots.left, knots.part
            derivatives((found.mean, found.variance, found.step_variance), *about, here.gradients[row], information)
            complete_information(found.mean, *about, here.shares[row], here.diagonal[row], here.beside[row])
            of_softmax(here.gradients[row], information, here.shares[row], here.information[row])
            dispersion_kernel.derivatives(
                found.mean, found.step_variance, means, found.shape, knots.band,
                here.slopes[row], here.curvatures[row],
            )  # fmt: skip

        places = (
            (level, row, region)
            for level, regions in enumerate(self.measured)
            for row, region in enumerate(regions.tolist())
        )
        Threads(WINDOW * self.sizes.n_cells)(lambda each: look(each[0], *each[1]), enumerate(places))
        return seen

    def penalised(self, point: Point, scales: Scales, seen: Seen) -> float:
        """Compute L."""
        knots = self.knots
        pulled = point.shape[knots.free] - point.shape[knots.beside]
        penalty = scales.penalty(point.shape, point.deviations) + 0.5 * FREE**-2 * float((pulled**2).sum())
        return float(seen.log_evidence.sum()) - penalty - dispersion.penalty(point.dispersions)

    def stepped_dispersions(self, point: Point, seen: Seen) -> np.ndarray:
        """Move the dispersions by a step of their own."""
        slopes = np.array([each.slopes.sum(0) for each in seen.levels])
        curvatures = np.array([each.curvatures.sum(0) for each in seen.levels])
        return dispersion.stepped(point.dispersions, slopes, curvatures)
