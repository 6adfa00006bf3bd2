"""Steps of Newton's method for a prior, and the errors that the inverse information says it has; see `prior_fit`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.estimators.posterior.arrays import Steps
from pgsr.estimators.posterior.prior_model import FREE, Point, PriorModel, Seen
from pgsr.estimators.posterior.scales import Scales
from pgsr.machine.parallel import Threads

LEAST = 1e-6
"""Added to the curvature of F, so that no direction is free."""

CHILDREN_AT_ONCE = 32
"""Siblings that are eliminated by one thread; sums are formed over such parts, so that they have the same bits."""

Below = list[tuple[np.ndarray, np.ndarray]]
"""Of every level but the last: gradients and information of its regions, shape (regions, J) and (regions, J, J)."""


@dataclass(frozen=True, eq=False)
class Move:
    """A step of F and d."""

    shape: np.ndarray
    deviations: tuple[np.ndarray, ...]

    @property
    def farthest(self) -> float:
        """The largest change of a logarithm."""
        return max(float(np.abs(each).max()) for each in (self.shape, *self.deviations))


@dataclass(frozen=True, eq=False)
class Newton:
    """The quadratic model of L around a point; see `pgsr.estimators.posterior.prior_fit`."""

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
        moves, beginnings = tuple(np.zeros(table.shape) for table in self.point.deviations), [shape]
        for level in range(1, tree.n_levels):
            here, steps = tree.level(level), messages[level]
            for row, region in enumerate(range(here.start, here.stop)):
                above = beginnings[tree.parent[region]]
                moves[level][row] = steps.own[row] - (steps.gain[row] * above).sum(axis=1)
                if region < tree.n_inner:
                    beginnings.append(above + model.knots.spread(moves[level][row]))
        return Move(shape, moves)

    def variances(self) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Give the variances that the inverse information at theta = 0 leaves the differences of F, and of all d."""
        messages, below = self._upwards(0.0, None, with_variances=True)
        inverse, second = _inverse(self._root(0.0, below)[0]), self.model.knots.second
        of_shape = ((second[:, :, None] * inverse).sum(axis=1) * second).sum(axis=1)
        return of_shape, tuple(steps.variances for steps in messages)

    def errors(self, shape: np.ndarray, deviations: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield errors of the f of every measured region, with the covariance of the inverse information at theta = 0.

        Args:
            shape, deviations: independent values of variance 1, shape (J, draws) and, by level, (regions, j, draws);
                replaced.

        Yields:
            the region and its errors, shape (J, draws).
        """
        model, tree = self.model, self.model.tree
        messages, below = self._upwards(0.0, deviations)
        beginnings: dict[int, np.ndarray] = {}
        for level in range(tree.n_levels):
            here, steps = tree.level(level), messages[level]
            for row, region in enumerate(range(here.start, here.stop)):
                if region:
                    above = beginnings[int(tree.parent[region])]
                    own = steps.noise[row] - steps.gain[row].astype(float) @ above
                    value = above + model.knots.spread(own)
                else:
                    value = _with_covariance(self._root(0.0, below)[0], shape)
                if region < tree.n_inner:
                    beginnings[region] = value
                if region in model.evidence:
                    yield region, value

    def _upwards(
        self, theta: float, noise: Sequence[np.ndarray] | None, *, with_variances: bool = False
    ) -> tuple[list[Steps], Below]:
        """Eliminate all deviations from the leaves up: what regions keep, and the sums of inner ones, by level."""
        tree, knots, messages = self.model.tree, self.model.knots, []
        for level, deviations in enumerate(self.point.deviations):
            n, n_own = deviations.shape
            messages.append(
                Steps(
                    np.zeros((n, n_own, 0 if with_variances else len(knots.at)), np.float32),
                    np.zeros((n, n_own)),
                    np.zeros((n, n_own - 1 if with_variances else 0)),
                    np.zeros((n, n_own, 0)) if noise is None else noise[level],
                )
            )
        below: Below = []
        for deviations in self.point.deviations[: max(tree.n_levels - 1, 1)]:
            n, n_knots = len(deviations), len(knots.at)
            below.append((np.zeros((n, n_knots)), np.zeros((n, n_knots, n_knots))))
        for level in range(tree.n_levels - 1, 0, -1):
            self._eliminate(level, theta, below, messages[level])
        return messages, below

    def _eliminate(self, level: int, theta: float, below: Below, messages: Steps) -> None:
        """Eliminate the deviations of a level, and add up what its regions say about their parents."""
        from pgsr.estimators.posterior.elimination_kernel import family_eliminated

        tree, seen, knots = self.model.tree, self.seen.levels[level], self.model.knots
        above, here, n_knots = tree.level(level - 1), tree.level(level), len(knots.at)
        place = np.full(here.stop - here.start, -1)
        place[self.model.measured[level] - here.start] = np.arange(len(seen.gradients))
        known = place, seen.gradients, seen.information, seen.shares, seen.diagonal, seen.beside
        at = self.scales.own_precisions(level), self.point.deviations[level]
        inner = level < tree.n_levels - 1
        theirs = below[level] if inner else (np.zeros((0, n_knots)), np.zeros((0, n_knots, n_knots)))
        parts: list[tuple[int, int, int]] = []
        for parent in range(above.start, above.stop):
            first, last = (int(tree.first_child[parent + i]) - here.start for i in range(2))
            parts += [(parent, i, min(i + CHILDREN_AT_ONCE, last)) for i in range(first, last, CHILDREN_AT_ONCE)]
        group, cells = 64, len(place) * n_knots**2
        for start in range(0, len(parts), group):
            some = parts[start : start + group]
            slopes, sums = np.zeros((len(some), n_knots)), np.zeros((len(some), n_knots, n_knots))

            def eliminate(i: int, some: Sequence = some, out: tuple = (slopes, sums)) -> None:
                self.model.deadline.check("no posterior of all regions")
                _, first, last = some[i]
                regions = (first, last, inner, bool(tree.only_children[here.start + first]))
                family_eliminated(
                    regions, known, theirs, (knots.own_left, knots.own_part), at, theta, (out[0][i], out[1][i]),
                    messages,
                )  # fmt: skip

            Threads(cells)(eliminate, range(len(some)))
            for (parent, _, _), slope, curvature in zip(some, slopes, sums, strict=True):  # in order, for equal bits
                below[level - 1][0][parent - above.start] += slope
                below[level - 1][1][parent - above.start] += curvature

    def _root(self, theta: float, below: Below) -> tuple[np.ndarray, np.ndarray]:
        """Give the information on F, penalties included, and the slope of L in F."""
        from pgsr.estimators.posterior.elimination_kernel import LEVEL
        from pgsr.estimators.posterior.prior_fit_kernel import add_information

        knots, seen, shape = self.model.knots, self.seen.levels[0], self.point.shape
        slope, curvature = below[0][0][0].copy(), below[0][1][0].copy()
        if 0 in self.model.evidence:
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
    from pgsr.estimators.posterior.elimination_kernel import inverse_of

    inverse = np.empty(information.shape)
    inverse_of(*_factors(information), inverse)
    return inverse


def _with_covariance(information: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Turn independent values of variance 1 into some whose covariance is the inverse; shape (n, draws)."""
    from pgsr.estimators.posterior.elimination_kernel import with_covariance

    errors = noise.copy()
    with_covariance(*_factors(information), errors)
    return errors


def _factors(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find L and D of L D L', with as much added to the diagonal as makes it positive definite."""
    from pgsr.estimators.posterior.elimination_kernel import factorised

    n, ridge = len(information), 0.0
    low, pivot = np.zeros(information.shape), np.empty(n)
    while not factorised(information + ridge * np.eye(n), low, pivot):
        ridge = 5 * ridge if ridge else 1e-6 * float(np.abs(np.diag(information)).sum()) / n + 1e-6
        low[:] = 0.0
    return low, pivot
