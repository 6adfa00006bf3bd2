"""Prior means that are learned from the evidence: one smooth shape, and deviations from it down the tree.

**Model.** The logarithm of the shape of a region r, f[r], is linear in the size between knots, with

    mu[r, s] = G[r] e^(f[r](s)),    f[root] = F,    f[r] = f[parent of r] + C d[r].

F has a penalty on its second differences, which vanish where the tail is geometric, and a deviation d, on fewer knots,
one on its first differences:

    maximise    sum over measured r of log P(y[r])  -  1/2 sum over blocks b of lambda[b] |D2[b] F|^2
                                                    -  1/2 sum over r, b of tau[level of r, b] |D1[b] d[r]|^2.

**Derivatives.** With a = shape / (shape + mu), all moments given y, and b[j] the hat function of knot j,

    g[j] = sum over s of b[j](s) a[s] (E x[s] - mu[s]),
    I[j, k] = sum over s of b[j](s) b[k](s) a[s] mu[s]  -  Cov(sum of b[j] a x, sum of b[k] a x),

the gradient by Fisher's identity, the information by Louis' formula, with what the prior expects in the place of what
is given y in its first part. Counts of neighbouring sizes have posterior covariances near minus their variances, since
noise moves groups from one to the other; without them the information on smooth changes comes out far too small. The
covariance needs those of c[s] and c[t], which are taken to be the ones of a Gaussian Markov chain with the exact
variances and neighbouring covariances: a product of regressions from one size to the next. Only the way to the optimum
depends on that, and the penalties.

**A step** is Newton's for all F and d at once. From the leaves up, the best d[r] is put in for a given change of
f[parent], which leaves a gradient and an information on the parent (`learned_kernel.eliminated`); the root is solved
for F, and the way back down gives the changes of all d.

**Penalties** follow from Fellner and Schall's rule after every step: with H the information on F and all penalties,

    lambda[b] <- lambda[b] (rank[b] / lambda[b] - tr(H^-1 P[b])) / |D2[b] F|^2,    P[b] = D2[b]' D2[b],

and in the same way tau, with sums over the regions of a level. Where regions do not differ, tau grows, and they share
F.

**Spikes.** Sizes at which the root stands out from its surroundings are knots of F that no penalty holds (`Knots`). All
other cells that stand out keep the prior means that `PooledPrior` gives them, so F and d are not bent by them.

**Shapes** of the negative binomial counts are learned along with the means (`Dispersion`).

docs/learned_prior.md derives all this.

Sources: Louis 1982 (information), Schall 1991 (penalties), Eilers and Marx 1996 (penalised differences). Shown by
`tests/test_posterior_learned.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.estimators.posterior.dispersion import Dispersion
from pgsr.estimators.posterior.evidence import ROUGH_BORDER, Evidence, Marginals
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.prior import PooledPrior, positive
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Measurement

FIRST_PENALTY = 100.0
"""The penalties of the first step."""

PENALTIES = (1e-3, 1e7)
"""The least and the largest penalty."""

FASTEST = 50.0
"""No penalty changes by a larger factor in one step."""

RIDGE = 1e-6
"""Added to all penalties, so that no direction is free."""

LEAST_LOG = -30.0
"""F begins no further below its largest value."""

FARTHEST = 2.0
"""No deviation begins further from 0."""

MOST_SPIKES = 40
"""No more sizes are spikes; those with the most groups are."""

AT_ONCE = 32
"""Regions whose information is held at a time."""


@dataclass(frozen=True, eq=False)
class Given:
    """The facts about all regions that a prior is learned from.

    Attributes:
        measurement: the noisy values.
        evidence: of every measured region.
        rule: the prior of cells that stand out, and the shape that the others begin with.
        mean, variance: of the cumulative counts under the rule's prior, around which windows lie; shape
            (regions, K + 1).
        groups: numbers of groups, possibly estimated; shape (regions,).
    """

    measurement: Measurement
    evidence: Mapping[int, Evidence]
    rule: PooledPrior
    mean: np.ndarray
    variance: np.ndarray
    groups: np.ndarray

    @cached_property
    def spikes(self) -> np.ndarray:
        """The sizes at which the root stands out, but for 0 and K, in ascending order."""
        _, mu, kept = next(self._families())
        found = np.flatnonzero(kept[0, 1:-1]) + 1
        return np.sort(found[np.argsort(-mu[0, found], kind="stable")[:MOST_SPIKES]])

    def families(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield families of siblings with the rule's means, and the cells that keep them; spikes do not."""
        for regions, mu, kept in self._families():
            kept[:, self.spikes] = False
            yield regions, mu, kept

    def _families(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        return self.rule.families_and_kept(self.measurement, self.mean, self.groups)


class LearnedPrior:
    """The prior means of all regions of a measurement, improved step by step.

    Attributes:
        shape: F, shape (J,).
        deviations: d, shape (regions, j); of the root 0.
        penalties: lambda, one per block.
        own_penalties: tau, shape (levels, blocks).
        dispersion: the shapes of counts.
        log_evidence: of every region before the last step, or as its user replaced it; 0 of those not measured.

    Complexity: a step takes a forward-backward pass and O(sizes x J + J j (J + j)) operations per region.
    """

    def __init__(self, given: Given) -> None:
        tree, n_sizes = given.measurement.hierarchy, given.mean.shape[1]
        self.given, self.knots = given, Knots.of(n_sizes, given.spikes)
        self.dispersion = Dispersion(tree, self.knots, given.rule.shape)
        self._kept_shapes = given.rule.shapes(n_sizes)
        self._n_inner = max(tree.n_inner, 1)  # the root counts, even alone
        blocks = self.knots.second, self.knots.first
        self._squares, self._own_squares = ([_square(block) for block in each] for each in blocks)
        self._mean, self._variance = given.mean.copy(), given.variance.astype(np.float32)  # of the last step
        self.shape = np.zeros(len(self.knots.at))
        self.deviations = np.zeros((tree.n_regions, self.knots.spread.shape[1]))
        self.penalties = np.full(len(self._squares), FIRST_PENALTY)
        self.own_penalties = np.full((tree.n_levels, len(self._own_squares)), FIRST_PENALTY)
        self.log_evidence = np.zeros(tree.n_regions)
        self._start()

    @staticmethod
    def bytes(measurement: Measurement) -> int:
        """Estimate the memory of means, variances, messages and information of regions, beside `Given`."""
        tree, knots = measurement.hierarchy, Knots.of(measurement.max_size + 1).spread.shape
        n_knots = knots[0] + 3 * min(MOST_SPIKES, measurement.max_size)
        per_region = 12 * (measurement.max_size + 1) + 4 * n_knots * knots[1]
        return per_region * tree.n_regions + 8 * n_knots**2 * (tree.n_inner + AT_ONCE)

    def step(self, deadline: Deadline) -> None:
        """Do a Newton step in F and d, then one of the penalties and of the shapes.

        Raises:
            Stopped: the deadline has passed.
        """
        tree = self.given.measurement.hierarchy
        gradient, information, messages = self._gather(deadline)
        for region in range(tree.n_inner - 1, 0, -1):
            self._eliminate(region, gradient[region], information[region], messages)
            gradient[tree.parent[region]] += gradient[region]
            information[tree.parent[region]] += information[region]
        inverse = self._move(gradient[0], information[0], messages)
        self._update_penalties(inverse, messages.traces)
        self.dispersion.step()

    def marginals(self, region: int, mu: np.ndarray, kept: np.ndarray, border: float) -> Marginals:
        """Compute the posterior of a measured region under the learned prior.

        Args:
            region: a measured one.
            mu, kept: the means of the rule, and the cells that keep them; shape (K + 1,).
            border: the mass that may lie at the edge of a window.
        """
        return self._posterior(region, *self._prior(region, self._of(self._values(), region), mu, kept), border)

    def is_better(self, family: slice, others: np.ndarray) -> bool:
        """Tell whether a family of siblings has more evidence than under another prior, whose evidence is given."""
        return bool(self.log_evidence[family].sum() > others[family].sum())

    def _start(self) -> None:
        """Begin with the mean shape that the rule gives measured regions, and with their deviations from it."""
        from pgsr.estimators.posterior.elementary_kernel import log

        tree, own = self.given.measurement.hierarchy, self.knots.own
        total, groups, logs = np.zeros(self.given.mean.shape[1]), 0.0, np.zeros(self.deviations.shape)
        for family, mu, _ in self.given.families():
            for region in range(family.start, family.stop):
                if region in self.given.evidence:
                    row, n_groups = mu[region - family.start], max(float(self.given.groups[region]), 1.0)
                    total += row
                    groups += n_groups
                    logs[region] = [log(value / n_groups) for value in row[self.knots.at[own]]]
        shape = np.array([log(value / max(groups, 1.0)) for value in total[self.knots.at]])
        self.shape = np.maximum(shape, shape.max() + LEAST_LOG)
        above = np.tile(self.shape[own], (self._n_inner, 1))
        for region in range(1, tree.n_regions):
            if region in self.given.evidence:
                self.deviations[region] = np.clip(logs[region] - above[tree.parent[region]], -FARTHEST, FARTHEST)
            if region < tree.n_inner:
                above[region] = above[tree.parent[region]] + self.deviations[region]

    def _gather(self, deadline: Deadline) -> tuple[np.ndarray, np.ndarray, "_Messages"]:
        """Go through all regions; leaves hand what they know to their parents.

        Returns:
            Gradients and information of the inner regions, own and from leaves below them, and what leaves keep.
        """
        n_knots, tree = len(self.shape), self.given.measurement.hierarchy
        gradient, information = np.zeros((self._n_inner, n_knots)), np.zeros((self._n_inner, n_knots, n_knots))
        messages = _Messages.of(tree.n_regions, self.knots.spread.T.shape, len(self._own_squares))
        values = self._values()
        for family, mu, kept in self.given.families():
            regions = [r for r in range(family.start, family.stop) if r in self.given.evidence]
            for start in range(0, len(regions), AT_ONCE):
                block = regions[start : start + AT_ONCE]
                slopes, curvatures = np.empty((len(block), n_knots)), np.empty((len(block), n_knots, n_knots))

                def derive(
                    place: int, block=block, first=family.start, mu=mu, kept=kept, out=(slopes, curvatures)
                ) -> None:
                    deadline.check("no learned prior")
                    region = block[place]
                    row, derivatives = region - first, (out[0][place], out[1][place])
                    self._derive(region, self._of(values, region), mu[row], kept[row], *derivatives)
                    if region >= self._n_inner:
                        self._eliminate(region, *derivatives, messages)

                Threads()(derive, range(len(block)))
                for region, slope, curvature in zip(block, slopes, curvatures, strict=True):  # in order, for equal bits
                    to = region if region < self._n_inner else int(tree.parent[region])
                    gradient[to] += slope
                    information[to] += curvature
        return gradient, information, messages

    def _derive(
        self,
        region: int,
        values: np.ndarray,
        mu: np.ndarray,
        kept: np.ndarray,
        slope: np.ndarray,
        curvature: np.ndarray,
    ) -> None:
        from pgsr.estimators.posterior.learned_kernel import derivatives

        means, shapes = self._prior(region, values, mu, kept)
        found = self._posterior(region, means, shapes, ROUGH_BORDER)
        self._mean[region], self._variance[region], self.log_evidence[region] = (
            found.mean, found.variance, found.log_evidence,
        )  # fmt: skip
        # Means that were kept, or that gave way to the region's own counts, do not follow f.
        follows = ~kept & (found.prior_mean == means)
        weight = np.where(follows, found.shape / (found.shape + means), 0.0)
        moments = found.mean, found.variance, found.step_variance
        derivatives(*moments, means, weight, self.knots.left, self.knots.part, slope, curvature)
        self.dispersion.see(region, found, follows & (found.shape == shapes))

    def _prior(
        self, region: int, values: np.ndarray, mu: np.ndarray, kept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        from pgsr.estimators.posterior.learned_kernel import prior_means

        means, groups = np.empty(len(mu)), self.given.groups[region : region + 1]
        prior_means(values, self.knots.left, self.knots.part, float(groups[0]), means)
        means = np.where(kept, mu, positive(means[None], groups)[0])
        return means, np.where(kept, self._kept_shapes, self.dispersion.shapes(region))

    def _posterior(self, region: int, means: np.ndarray, shapes: np.ndarray, border: float) -> Marginals:
        half = 6.5 * np.sqrt(self._variance[region].astype(float)) + 3.0
        return self.given.evidence[region].marginals(self._mean[region], half, means, shapes, border)

    def _eliminate(self, region: int, gradient: np.ndarray, information: np.ndarray, messages: "_Messages") -> None:
        """Put in the best deviation of a region, and keep how it depends on the parent."""
        from pgsr.estimators.posterior.learned_kernel import eliminated

        spread, deviation = self.knots.spread, self.deviations[region]
        taus = self.own_penalties[self.given.measurement.hierarchy.level_of[region]]
        penalty = _weighted(taus, self._own_squares, len(deviation))
        gain, inverse = np.empty(spread.T.shape), np.empty(penalty.shape)
        eliminated(gradient, information, spread, penalty, deviation, gain, messages.own[region], inverse)
        messages.gain[region] = gain
        messages.traces[region] = [(inverse * square).sum() for square in self._own_squares]

    def _move(self, gradient: np.ndarray, information: np.ndarray, messages: "_Messages") -> np.ndarray:
        """Change F and all deviations; return the inverse of the information on F with its penalties."""
        from pgsr.estimators.posterior.learned_kernel import CLIP, inverted

        tree = self.given.measurement.hierarchy
        penalty = _weighted(self.penalties, self._squares, len(self.shape))
        slope, inverse, ridge = gradient - (penalty * self.shape).sum(axis=1), np.empty(penalty.shape), 0.0
        while not inverted(information + penalty + ridge * np.eye(len(penalty)), inverse):
            ridge = max(1e-3, 2 * ridge)
        changes = np.zeros((self._n_inner, len(self.shape)))
        changes[0] = np.clip((inverse * slope).sum(axis=1), -CLIP, CLIP)
        self.shape = self.shape + changes[0]
        for region in range(1, tree.n_regions):
            above = changes[tree.parent[region]]
            move = np.clip(messages.own[region] - (messages.gain[region] * above).sum(axis=1), -CLIP, CLIP)
            self.deviations[region] += move
            if region < tree.n_inner:
                changes[region] = above + (self.knots.spread * move).sum(axis=1)
        return inverse

    def _update_penalties(self, inverse: np.ndarray, traces: np.ndarray) -> None:
        tree = self.given.measurement.hierarchy
        for b, (difference, square) in enumerate(zip(self.knots.second, self._squares, strict=True)):
            roughness = float(((difference * self.shape).sum(axis=1) ** 2).sum())
            trace = float((inverse * square).sum())
            self.penalties[b] = _penalty(float(self.penalties[b]), len(difference), trace, roughness)
        for level in range(1, tree.n_levels):
            rows = tree.level(level)
            for b, difference in enumerate(self.knots.first):
                moves = (difference[None] * self.deviations[rows, None]).sum(axis=2)
                about = len(difference) * len(moves), float(traces[rows, b].sum()), float((moves**2).sum())
                self.own_penalties[level, b] = _penalty(float(self.own_penalties[level, b]), *about)

    def _values(self) -> np.ndarray:
        """Give f of the inner regions at the knots."""
        values = np.zeros((self._n_inner, len(self.shape)))
        values[0] = self.shape
        for region in range(1, self._n_inner):
            values[region] = self._of(values[:region], region)
        return values

    def _of(self, values: np.ndarray, region: int) -> np.ndarray:
        """Give f of one region, from those of the first regions."""
        if region < len(values):
            return values[region]
        above = values[self.given.measurement.hierarchy.parent[region]]
        return above + (self.knots.spread * self.deviations[region]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class _Messages:
    """The part of their elimination that regions keep.

    Attributes:
        gain, own: d[r] moves by own - gain (change of f[parent]); shape (regions, j, J) and (regions, j).
        traces: tr of the inverse information on d[r] times D1[b]' D1[b]; shape (regions, blocks).
    """

    gain: np.ndarray
    own: np.ndarray
    traces: np.ndarray

    @classmethod
    def of(cls, n_regions: int, gain: tuple[int, ...], n_blocks: int) -> "_Messages":
        gains = np.zeros((n_regions, *gain), np.float32)
        return cls(gains, np.zeros((n_regions, gain[0])), np.zeros((n_regions, n_blocks)))


def _square(differences: np.ndarray) -> np.ndarray:
    """D' D, each sum in the order of the rows."""
    return (differences[:, :, None] * differences[:, None, :]).sum(axis=0)


def _weighted(weights: np.ndarray, squares: list[np.ndarray], n: int) -> np.ndarray:
    out = RIDGE * np.eye(n)
    for weight, square in zip(weights, squares, strict=True):
        out += weight * square
    return out


def _penalty(before: float, rank: int, trace: float, roughness: float) -> float:
    """Update a penalty by the rule of Fellner and Schall, within bounds."""
    free = max(rank / before - trace, 1e-3 * rank / before)
    factor = min(max(free / max(roughness, 1e-12), 1 / FASTEST), FASTEST)
    return min(max(before * factor, PENALTIES[0]), PENALTIES[1])
