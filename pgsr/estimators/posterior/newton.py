"""Steps of Newton's method for a prior, and the errors that the inverse information says it has; see `learned`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior.arrays import Steps
from pgsr.estimators.posterior.prior_model import FREE, Point, PriorModel, Seen
from pgsr.estimators.posterior.scales import Scales
from pgsr.machine.parallel import Threads

LEAST = 1e-6
"""Added to the curvature of F, so that no direction is free."""

CHILDREN_AT_ONCE = 32
"""Siblings that are eliminated by one thread; sums are formed over such parts, so that they have the same bits."""


@dataclass(frozen=True, eq=False)
class Move:
    """A step of F and d."""

    shape: np.ndarray
    deviations: np.ndarray

    @property
    def farthest(self) -> float:
        """The largest change of a logarithm."""
        return max(float(np.abs(self.shape).max()), float(np.abs(self.deviations).max()))


@dataclass(frozen=True, eq=False)
class Newton:
    """The quadratic model of L around a point; see `pgsr.estimators.posterior.learned`."""

    model: PriorModel
    point: Point
    scales: Scales
    seen: Seen

    def move(self, theta: float) -> Move:
        """Solve for F and all d with I(theta).

        Complexity: O(regions x J j (J + j)).
        """
        model, tree = self.model, self.model.tree
        messages, below = self._upwards(theta, None)
        information, slope = self._root(theta, below)
        shape = (_inverse(information) * slope).sum(axis=1)
        changes, moves = np.zeros((model.n_inner, len(shape))), np.zeros(self.point.deviations.shape)
        changes[0] = shape
        for region in range(1, tree.n_regions):
            above = changes[tree.parent[region]]
            moves[region] = messages.own[region] - (messages.gain[region] * above).sum(axis=1)
            if region < tree.n_inner:
                changes[region] = above + model.knots.spread(moves[region])
        return Move(shape, moves)

    def variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Give the variances that the inverse information at theta = 0 leaves the differences of F, and of all d."""
        messages, below = self._upwards(0.0, None, with_variances=True)
        inverse, second = _inverse(self._root(0.0, below)[0]), self.model.knots.second
        return ((second[:, :, None] * inverse).sum(axis=1) * second).sum(axis=1), messages.variances

    def errors(self, shape: np.ndarray, deviations: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield errors of the f of every measured region, with the covariance of the inverse information at theta = 0.

        Args:
            shape, deviations: independent values of variance 1, shape (J, draws) and (regions, j, draws); replaced.

        Yields:
            the region and its errors, shape (J, draws).
        """
        model, tree = self.model, self.model.tree
        messages, below = self._upwards(0.0, deviations)
        values = {0: _with_covariance(self._root(0.0, below)[0], shape)}
        for region in range(tree.n_regions):
            if region:
                above = values[int(tree.parent[region])]
                own = messages.noise[region] - messages.gain[region].astype(float) @ above
                value = above + model.knots.spread(own)
            else:
                value = values[0]
            if region < model.n_inner:
                values[region] = value
            if region in model.evidence:
                yield region, value

    def _upwards(
        self, theta: float, noise: np.ndarray | None, *, with_variances: bool = False
    ) -> tuple[Steps, tuple[np.ndarray, np.ndarray]]:
        """Eliminate all deviations from the leaves up: what regions keep, and the sums of inner ones."""
        model, tree = self.model, self.model.tree
        n_knots, n_own = len(self.point.shape), self.point.deviations.shape[1]
        messages = Steps(
            np.zeros((tree.n_regions, n_own, 0 if with_variances else n_knots), np.float32),
            np.zeros((tree.n_regions, n_own)),
            np.zeros((tree.n_regions, n_own - 1 if with_variances else 0)),
            np.zeros((tree.n_regions, n_own, 0)) if noise is None else noise,
        )
        below = np.zeros((model.n_inner, n_knots)), np.zeros((model.n_inner, n_knots, n_knots))
        for level in range(tree.n_levels - 1, 0, -1):
            self._eliminate(level, theta, below, messages)
        return messages, below

    def _eliminate(self, level: int, theta: float, below: tuple[np.ndarray, np.ndarray], messages: Steps) -> None:
        """Eliminate the deviations of a level, and add up what its regions say about their parents."""
        from pgsr.estimators.posterior.learned_kernel import family_eliminated

        tree, seen, knots = self.model.tree, self.seen, self.model.knots
        place = np.full(tree.n_regions, -1)
        place[list(self.model.evidence)] = np.arange(len(self.model.evidence))
        known = place, seen.gradients, seen.information, seen.shares, seen.diagonal, seen.beside
        at = self.scales.own_precisions(), self.point.deviations
        parts: list[tuple[int, int, int]] = []
        for parent in range(*_inner(tree, level - 1)):
            first, last = int(tree.first_child[parent]), int(tree.first_child[parent + 1])
            parts += [(parent, i, min(i + CHILDREN_AT_ONCE, last)) for i in range(first, last, CHILDREN_AT_ONCE)]
        group = 64
        for start in range(0, len(parts), group):
            here = parts[start : start + group]
            slopes, sums = np.zeros((len(here), below[0].shape[1])), np.zeros((len(here), *below[1].shape[1:]))

            def eliminate(i: int, here: Sequence = here, out: tuple = (slopes, sums)) -> None:
                self.model.deadline.check("no posterior of all regions")
                regions = (here[i][1], here[i][2], tree.n_inner, bool(tree.only_children[here[i][1]]))
                family_eliminated(
                    regions, known, below, (knots.own_left, knots.own_part), at, theta, (out[0][i], out[1][i]), messages
                )

            Threads()(eliminate, range(len(here)))
            for (parent, _, _), slope, curvature in zip(here, slopes, sums, strict=True):  # in order, for equal bits
                below[0][parent] += slope
                below[1][parent] += curvature

    def _root(self, theta: float, below: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Give the information on F, penalties included, and the slope of L in F."""
        from pgsr.estimators.posterior.learned_kernel import LEVEL, add_information

        knots, seen, shape = self.model.knots, self.seen, self.point.shape
        slope, curvature = below[0][0].copy(), below[1][0].copy()
        if 0 in self.model.evidence:  # the first of all regions
            slope += seen.gradients[0]
            add_information(seen.information[0], seen.shares[0], seen.diagonal[0], seen.beside[0], theta, curvature)
        precisions, second = self.scales.precisions(), knots.second
        penalty = (precisions[:, None, None] * second[:, :, None] * second[:, None, :]).sum(axis=0)
        for free, beside in zip(knots.free.tolist(), knots.beside.tolist(), strict=True):
            penalty[free, free] += FREE**-2
            penalty[beside, beside] += FREE**-2
            penalty[free, beside] -= FREE**-2
            penalty[beside, free] -= FREE**-2
        slope -= (penalty * shape).sum(axis=1)
        curvature += penalty + LEVEL / len(shape)
        curvature[np.diag_indices(len(shape))] += LEAST
        return curvature, slope


def _inverse(information: np.ndarray) -> np.ndarray:
    from pgsr.estimators.posterior.learned_kernel import inverse_of

    inverse = np.empty(information.shape)
    inverse_of(*_factors(information), inverse)
    return inverse


def _with_covariance(information: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Turn independent values of variance 1 into some whose covariance is the inverse; shape (n, draws)."""
    from pgsr.estimators.posterior.learned_kernel import with_covariance

    errors = noise.copy()
    with_covariance(*_factors(information), errors)
    return errors


def _factors(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find L and D of L D L', with as much added to the diagonal as makes it positive definite."""
    from pgsr.estimators.posterior.learned_kernel import factorised

    n, ridge = len(information), 0.0
    low, pivot = np.zeros(information.shape), np.empty(n)
    while not factorised(information + ridge * np.eye(n), low, pivot):
        ridge = 5 * ridge if ridge else 1e-6 * float(np.abs(np.diag(information)).sum()) / n + 1e-6
        low[:] = 0.0
    return low, pivot


def _inner(tree: Hierarchy, level: int) -> tuple[int, int]:
    """Give the inner regions of a level."""
    here = tree.level(level)
    return here.start, min(here.stop, tree.n_inner)
