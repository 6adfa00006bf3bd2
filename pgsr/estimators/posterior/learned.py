"""A prior that is learned from the evidence: one shape for the whole tree, and deviations from it down the tree.

**Model.** With G[r] the number of groups of region r, the counts x[r, s] are negative binomial with the means

    mu[r, s] = G[r] e^f[r](s) / sum over t of e^f[r](t),    f[root] = F,    f[r] = f[parent of r] + C d[r],

f linear in the size between knots. The sizes 0 and K and spikes are classes of their own (`Knots`). Second differences
of F, which vanish where a tail is geometric, and first differences of a deviation are Student t distributed: a bend, a
jump or an end is an outlier, and leaves the rest smooth (`Scales`). What is maximised is the penalised evidence

    L = sum over measured r of log P(y[r])
        - 1/2 sum over i of w[i] (D F)[i]^2 / t^2  -  1/2 sum over r, i of w[r, i] (E d[r])[i]^2 / t^2
        - 1/2 sum over free sizes of (F - F beside it)^2 / 25  -  1/2 sum of log(k / 100)^2,

k the dispersions of the counts (`dispersion`).

**Derivatives.** With a = k / (k + mu), u the share of mu / G at every knot, J = 1 - 1 u', b the hat functions, and
all moments given y (of a region whose prior gives way, those that are then found: the slope is that of a bound),

    g = J' sum over s of b a (E x - mu),
    I = J' (sum over s of b b' a mu  -  Cov(sum of b a x)) J,      M = J' (sum over s of b b' a max(mu, E x)) J,

the gradient by Fisher's identity, the information by Louis' formula, and the one that EM takes. The covariance is that
of a Gaussian Markov chain with the exact variances and neighbouring covariances of cumulative counts.

**A step** takes I(theta) = I + theta (M - I): theta = 0 is Newton's method, theta = 1 a step of EM, which is never
indefinite, and more is shorter. From the leaves up, the best d[r] is put in for a given change of f[parent], which
leaves a gradient and an information on the parent (`learned_kernel.eliminated`); the root is solved for F, and the way
down gives the changes of all d. The step is taken if L does not fall, else theta grows; after a first try it falls. No
component is clipped, for the direction would no longer be one of ascent; theta grows until none is too far.

**Scales** are estimated before every step, from the inverse information at theta = 0. Dispersions move along with a
step, and with it are dropped if it is refused. The search ends once two steps in a row gain next to nothing.

**If the search fails**, it begins again with no deviations and steps of EM. If that fails, too, or leaves less evidence
than there was at the start, the start is the prior, and `Learned.remark` says so.

docs/derivations/posterior.md derives all this.

Sources: Louis 1982 (information), Dempster, Laird and Rubin 1977 (EM), Schall 1991 (scales), Eilers and Marx 1996
(penalised differences). Shown by `tests/test_posterior_learned.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior import dispersion
from pgsr.estimators.posterior.arrays import Steps
from pgsr.estimators.posterior.evidence import ROUGH_BORDER, WIDENING, Evidence, Marginals
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.scales import Scales
from pgsr.estimators.posterior.start import Pooled, deviations_of, shape_of
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Measurement, Totals

MOST_STEPS = 40
"""After so many steps the search has failed."""

TRIES = 7
"""So many thetas are tried for a step."""

SLACK = 0.05
"""L may fall by as much in a step: windows leave its last digits open."""

GAIN, GAIN_PER_REGION = 0.3, 1e-3
"""A step that gains less than their sum gains next to nothing."""

WAIT = 5
"""So many steps are done before dispersions move."""

FIRST_THETA, FAILED_THETA = 0.1, 0.1
"""The first theta, and the least one after a step that was refused."""

FARTHEST = 6.0
"""theta grows, up to `LARGEST_THETA`, until no logarithm moves by more in a step."""

LARGEST_THETA = 3.0

FREE = 5.0
"""How far a free size is expected to be from the one beside it, in logarithms."""

LEAST = 1e-6
"""Added to the curvature of F, so that no direction is free."""

CHILDREN_AT_ONCE = 32
"""Siblings that are eliminated by one thread; sums are formed over such parts, so that they have the same bits."""


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
class Learned:
    """A prior of all regions, and what was found on the way.

    Attributes:
        model: which priors there are.
        start: where the search began.
        point: the parameters.
        seen: the last pass, under this prior.
        scales: of the differences.
        gains: of the penalised evidence, step by step.
        remark: what went wrong; "" where nothing did.
    """

    model: "PriorModel"
    start: Point
    point: Point
    seen: Seen
    scales: Scales
    gains: tuple[float, ...] = ()
    remark: str = ""

    def marginals(self, region: int, values: np.ndarray, border: float) -> Marginals:
        """Compute the posterior of a measured region; `values` are those of f of the inner regions."""
        return self.model.marginals(region, self.point, values, self.seen, border)


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
        about = self.evidence[region]
        means, shapes = self.means(region, point, values), self._shapes(region, point)
        if near is None:
            return about.marginals(about.pilot(), np.full(len(means), float(about.half_width())), means, shapes, border)
        half = 6.5 * np.sqrt(near.variance[region].astype(float)) + 3.0
        if border == ROUGH_BORDER:
            half /= WIDENING  # as they are, they hold enough of the mass
        return about.marginals(near.mean[region], half, means, shapes, border)

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
            found = self.marginals(region, point, values, near, ROUGH_BORDER)
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


@dataclass(frozen=True, eq=False)
class Move:
    """A step of F and d, and the variances that the inverse information leaves the differences of both (`Newton`)."""

    shape: np.ndarray
    deviations: np.ndarray
    variances: np.ndarray
    own_variances: np.ndarray

    @property
    def farthest(self) -> float:
        """The largest change of a logarithm."""
        return max(float(np.abs(self.shape).max()), float(np.abs(self.deviations).max()))


@dataclass(frozen=True, eq=False)
class Newton:
    """The quadratic model of L around a point; see the module."""

    model: PriorModel
    point: Point
    scales: Scales
    seen: Seen

    def move(self, theta: float, *, with_variances: bool = False) -> Move:
        """Solve for F and all d with I(theta).

        Complexity: O(regions x J j (J + j)).
        """
        model, tree = self.model, self.model.tree
        n_knots, n_own = len(self.point.shape), self.point.deviations.shape[1]
        gains = np.zeros((tree.n_regions, n_own, n_knots), np.float32)
        own, own_variances = np.zeros((tree.n_regions, n_own)), np.zeros((tree.n_regions, n_own - 1))
        below = np.zeros((model.n_inner, n_knots)), np.zeros((model.n_inner, n_knots, n_knots))
        messages = Steps(gains, own, own_variances if with_variances else own_variances[:, :0])
        for level in range(tree.n_levels - 1, 0, -1):
            self._eliminate(level, theta, below, messages)
        inverse, slope = self._root(theta, below)
        shape = (inverse * slope).sum(axis=1)
        changes, moves = np.zeros((model.n_inner, n_knots)), np.zeros(self.point.deviations.shape)
        changes[0] = shape
        for region in range(1, tree.n_regions):
            above = changes[tree.parent[region]]
            moves[region] = own[region] - (gains[region] * above).sum(axis=1)
            if region < tree.n_inner:
                changes[region] = above + model.knots.spread(moves[region])
        variances = np.zeros(len(model.knots.second))
        if with_variances:
            second = model.knots.second
            variances = ((second[:, :, None] * inverse).sum(axis=1) * second).sum(axis=1)
        return Move(shape, moves, variances, own_variances)

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
                regions = (here[i][1], here[i][2], tree.n_inner)
                family_eliminated(
                    regions, known, below, (knots.own_left, knots.own_part), at, theta, (out[0][i], out[1][i]), messages
                )

            Threads()(eliminate, range(len(here)))
            for (parent, _, _), slope, curvature in zip(here, slopes, sums, strict=True):  # in order, for equal bits
                below[0][parent] += slope
                below[1][parent] += curvature

    def _root(self, theta: float, below: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Give the inverse information on F, penalties included, and the slope of L in F."""
        from pgsr.estimators.posterior.learned_kernel import LEVEL, add_information, inverted

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
        inverse, ridge = np.empty(curvature.shape), 0.0
        while not inverted(curvature + ridge * np.eye(len(shape)), inverse):
            ridge = 5 * ridge if ridge else 1e-6 * float(np.abs(np.diag(curvature)).sum()) / len(shape) + 1e-6
        return inverse, slope


def learn(measurement: Measurement, deadline: Deadline) -> Learned:
    """Learn the prior of a measurement.

    Raises:
        Stopped: the deadline has passed.
        MemoryNeededError: three passes over all regions do not fit.

    Complexity: some ten to thirty forward-backward passes, and O(regions x J j (J + j)) operations for each.
    """
    tree = measurement.hierarchy
    evidence = {r: Evidence.of(measurement, r) for r in np.flatnonzero(measurement.measured).tolist()}
    pilots = np.zeros((tree.n_regions, measurement.max_size + 1))
    pilots[list(evidence)] = Threads()(lambda region: evidence[region].pilot(), evidence)
    groups = numbers_of_groups(measurement, pilots)
    pooled = Pooled.of(tree, evidence, pilots)
    spikes = pooled.spikes()
    shares, knots = pooled.distribution(float(groups[0]), spikes), Knots.of(measurement.max_size + 1, spikes)
    memory.require(_memory(tree, knots), f"the prior of {tree.n_regions:,} regions with {len(knots.at)} knots")
    dispersions = np.full((tree.n_levels, int(knots.band[-1]) + 1), dispersion.MOST)
    start = Point(shape_of(shares, knots), deviations_of(tree, evidence, pilots, groups, shares, knots), dispersions)
    model = PriorModel(tree, evidence, groups, knots, deadline)
    if measurement.public is Totals.ROOT:  # numbers of groups are better known under a prior
        groups = numbers_of_groups(measurement, model.see(start, None).mean)
        model = replace(model, groups=groups)
    begun = Learned(model, start, start, model.see(start, None), Scales.typical(knots, tree))
    return guarded(begun)


def guarded(begun: Learned) -> Learned:
    """Search from the start; if that fails from no deviations, by steps of EM; and if that fails, keep the start."""
    found = search(begun, FIRST_THETA)
    if not failure(begun, found):
        return found
    bare = replace(begun.point, deviations=np.zeros(begun.point.deviations.shape))
    again = search(replace(begun, point=bare, seen=begun.model.see(bare, begun.seen)), 1.0)
    if not (why := failure(begun, again)):
        return again
    return replace(begun, remark=f"the prior was not learned, but is the start of the search: {why}")


def failure(begun: Learned, found: Learned) -> str:
    """Say why a search failed, or "".

    A prior is compared with the start by the penalised evidence: the start follows the noise of regions, so that its
    evidence alone may well be larger.
    """
    if found.remark:
        return found.remark
    scales = found.scales
    if found.model.penalised(found.point, scales, found.seen) < found.model.penalised(begun.point, scales, begun.seen):
        return "it ended with less penalised evidence than the start has at the same scales"
    return ""


def search(begun: Learned, theta: float) -> Learned:
    """Improve a prior step by step until steps gain next to nothing."""
    model, now = begun.model, begun
    enough, calm = GAIN + GAIN_PER_REGION * len(model.evidence), 0
    for step in range(MOST_STEPS):
        if step:
            moved = Newton(model, now.point, now.scales, now.seen).move(0.0, with_variances=True)
            variances = moved.variances, moved.own_variances
            now = replace(now, scales=now.scales.follow(now.point.shape, now.point.deviations, *variances))
        before = model.penalised(now.point, now.scales, now.seen)
        newton = Newton(model, now.point, now.scales, now.seen)
        for tried in range(TRIES):
            move = newton.move(theta)
            while move.farthest > FARTHEST and theta < LARGEST_THETA:
                theta = max(3 * theta, 0.03)
                move = newton.move(theta)
            point = Point(now.point.shape + move.shape, now.point.deviations + move.deviations, now.point.dispersions)
            if step >= WAIT and tried < 3:
                point = replace(point, dispersions=model.stepped_dispersions(now.point, now.seen))
            seen = model.see(point, now.seen)
            gain = model.penalised(point, now.scales, seen) - before
            if gain >= -SLACK:
                break
            theta = max(4 * theta, FAILED_THETA)
        else:
            return replace(now, remark="no step kept the evidence")
        now = replace(now, point=point, seen=seen, gains=(*now.gains, gain))
        if tried == 0:
            theta = theta / 4 if theta > 1e-3 else 0.0
        calm = calm + 1 if gain < enough and step > WAIT else 0
        if calm == 2:
            return now
    return replace(now, remark=f"it had not ended after {MOST_STEPS} steps")


def numbers_of_groups(measurement: Measurement, sums: np.ndarray) -> np.ndarray:
    """Public numbers of groups, or the last cumulative counts where only the root's is public; shape (regions,)."""
    if measurement.public is not Totals.ROOT:
        return measurement.region_totals.astype(float)
    tree = measurement.hierarchy
    own = np.maximum(sums[:, -1], 1.0)
    own[0] = measurement.root_total
    for region in range(tree.n_inner - 1, 0, -1):
        if not measurement.measured[region]:
            own[region] = own[tree.first_child[region] : tree.first_child[region + 1]].sum()
    return own


def _memory(tree: Hierarchy, knots: Knots) -> int:
    """Estimate the memory of pilots, of three passes (the first, the last, one that is tried) and of messages."""
    n_knots = len(knots.at)
    of_pass = 12 * len(knots.left) + 2 * n_knots * (n_knots + 17)
    per_region = 8 * len(knots.left) + 3 * of_pass + 4 * n_knots * len(knots.own)
    return per_region * tree.n_regions + 8 * n_knots**2 * max(tree.n_inner, 64)


def _inner(tree: Hierarchy, level: int) -> tuple[int, int]:
    """Give the inner regions of a level."""
    here = tree.level(level)
    return here.start, min(here.stop, tree.n_inner)
