"""The evidence about one region: its noisy values, and what they weigh."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1, isotonic_l2_counts
from pgsr.algorithms.simplex import simplex_projection
from pgsr.data.views import AnyView, View
from pgsr.estimators.posterior.arrays import Moments, Noisy, Prior, Room, Window
from pgsr.estimators.posterior.likelihood import Likelihood
from pgsr.machine.compilation import read_only
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.laws import Law

BOXES, COUNTS = 0, 1
"""The kinds of noisy values in the compiled loops: columns and rows of a Young diagram, and counts."""

BORDER = 1e-9
"""The posterior mass at the edge of a window that is small enough for draws and intervals."""

ROUGH_BORDER = 1e-4
"""The same for the search, whose last pass gives the means of a release."""

CONTRADICTION = 0.5
"""The mass at an edge, after `PATIENCE`, from which on prior and noisy values contradict each other.

It is 1 where nothing is possible within the windows.
"""

PATIENCE = 4.0
"""How many times as wide as the first windows are those in which the prior is doubted."""

SETTLED = 0.01
"""A count is settled once the chance that a group is left is at most this part of the mass allowed at an edge."""

WINDOW = 64
"""About how many values a window holds, by which `Threads` tells whether there is enough to do for two."""

WIDENING = 2.3
"""How many times as wide as asked for windows are at first, so that most of them hold enough of the mass."""

CONFLICTS = (4.0, 2.0, 0.0)
"""By how many prior standard deviations, beside the window, a count may be off until its prior mean gives way."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """The posterior of the cumulative counts of one region, size by size; shape (K + 1,) each.

    That of all regions holds tables instead, of shape (regions, K + 1).

    Attributes:
        mean: E c[s].
        variance: Var c[s].
        median: the smallest c with P(c[s] <= c) of at least 1/2; it never falls with s.
        step_variance: Var x[s], of the counts x[s] = c[s] - c[s-1].
        prior_mean: mu, the prior means of the counts.
        shape: of the prior.
        log_evidence: the logarithm of the chance of the noisy values under the prior, up to a constant that only they
            determine; shape (), or (regions,).
    """

    mean: np.ndarray
    variance: np.ndarray
    median: np.ndarray
    step_variance: np.ndarray
    prior_mean: np.ndarray
    shape: np.ndarray
    log_evidence: np.ndarray


@dataclass(frozen=True, eq=False)
class Evidence:
    """The noisy values of one region, and what they say about its cumulative counts.

    Attributes:
        view: of the noisy values.
        values: the noisy values, int64; one per size below the threshold of a split view.
        measured: how many of them were measured; the cumulative count at K is not where it is a public total.
            `columns` are those of sizes, the others of ranks.
        law: of the noise.
        total: the region's number of groups, or None where it is not public.
        most: no cumulative count is larger.
        n_sizes: K + 1.
    """

    view: AnyView
    values: np.ndarray
    measured: int
    law: Law
    total: int | None
    most: int
    n_sizes: int

    @classmethod
    def of(cls, measurement: Measurement, region: int) -> "Evidence":
        """Collect the measurements of one region."""
        view, law = measurement.view_of(region), measurement.law(region)
        assert law is not None, "a measured region"
        known = measurement.public is not Totals.ROOT or region == 0
        total = int(measurement.totals[region]) if known else None
        values = np.ascontiguousarray(measurement.row(region))
        fixed_last = view is View.CUMULATIVE and known
        return cls(
            view,
            values,
            len(values) - fixed_last,
            law,
            total,
            int(measurement.totals[0]) if total is None else total,
            measurement.max_size_of(region) + 1,
        )

    @cached_property
    def columns(self) -> int:
        """The number of sizes, from 0 on, that have a measured value of their own."""
        return min(self.view.ranked_from(self.n_sizes - 1), self.measured)

    def pilot(self) -> np.ndarray:
        """Guess the cumulative counts without a prior: nearest non-decreasing values, or counts; int64, (K + 1,).

        Cumulative counts: the middle of the L1 isotonic optima. Ranked sizes: the L2 isotonic regression. A split view
        has both, and the former are not undercut by the latter. Counts: the nearest non-negative ones with the right
        total. A guess from ranks takes longest, and is kept.
        """
        if not self._has_rows:
            return self._guessed()
        if "_guess" not in vars(self):  # a cached property of Python 3.11 lets one thread in at a time
            vars(self)["_guess"] = self._guessed()
        return vars(self)["_guess"]

    @property
    def _has_rows(self) -> bool:
        return self.columns < self.measured

    def _guessed(self) -> np.ndarray:
        if self.view is View.COUNTS:
            assert self.total is not None, "`Posterior.supports` refuses counts without a total"
            return np.cumsum(simplex_projection(self.values[None], np.array([self.total]), integer=True)[0])
        below, beyond = self.values[: self.columns], self.values[self.columns : self.measured]
        least, largest = (isotonic_l1(below, 0, self.most, o) for o in (Optimum.SMALLEST, Optimum.LARGEST))
        middle = (least + largest) // 2
        top = self.n_sizes - 1 - len(middle)
        if top < 0:
            return middle
        assert self.total is not None, "`Geometric` refuses ranks without a total"
        ranks = np.cumsum(isotonic_l2_counts(beyond, top))
        return np.maximum.accumulate(np.append(middle, self.total - len(beyond) + ranks))

    def half_width(self) -> int:
        """The half-width of the first windows around the pilot, before any of them proves too narrow."""
        deviation = float(self.law.variance_bound) ** 0.5
        return int(20 + 7 * deviation) if self.view is View.COUNTS else int(8 + 2.1 * deviation)

    def settled(self, mean: np.ndarray, variance: np.ndarray, border: float) -> int:
        """Tell from which size on all groups have been counted, given moments of c; K + 1 where that is only K."""
        if self.total is None:
            return self.n_sizes
        doubtful = np.flatnonzero((variance > SETTLED * border) | (mean < self.total - 0.5))
        first = int(doubtful[-1]) + 1 if len(doubtful) else 1
        return first if first < self.n_sizes - 1 else self.n_sizes

    def marginals(
        self,
        centre: np.ndarray,
        half: np.ndarray,
        mu: np.ndarray,
        shape: np.ndarray,
        border: float,
        settled: int | None = None,
    ) -> Marginals:
        """The posterior under a negative binomial prior of these means and shapes, (K + 1,) each.

        Windows `centre` +- `WIDENING` x `half` are widened until no more than `border` of the mass lies at an edge.
        Where the prior contradicts the noisy values even so, as a smooth one does at a size where large counts end, it
        gives way at the sizes where it is off (`_without_conflict`); the result has the means and shapes in use then,
        and for the evidence a bound from below on that of the prior that was asked for (`_given_way`).

        Args:
            centre, half: of the windows, (K + 1,) each.
            mu, shape: of the prior.
            border: the mass that may lie at an edge.
            settled: the size from which on all groups have been counted, as `settled` tells; None where that is not
                known. Windows that are widened forget it.
        """
        from pgsr.estimators.posterior.chain_kernel import forward_backward

        settled = self.n_sizes if settled is None else settled
        asked, widening, conflicts = mu, WIDENING, iter(CONFLICTS)
        # The evidence of rows is counted from the pilot on, size by size, so it must lie near the states.
        anchor = self.pilot() if self._has_rows else np.zeros(self.n_sizes, np.int64)
        while True:
            window = self._window(centre, half * widening, settled)
            room = Room.of(window)
            mean, variance, step_variance = np.full((3, self.n_sizes), np.nan)
            found = Moments(mean, variance, np.empty(self.n_sizes, np.int64), step_variance)
            noisy = self._noisy(len(room.weight), anchor)
            edge, log_evidence = forward_backward(noisy, Prior(mu, shape), window, room, found)
            if edge <= border or (len(room.weight) > self.most and settled == self.n_sizes):
                assert not np.isnan(mean).any(), "the noisy values are impossible under their own law"
                log_evidence += _given_way(mean, asked, mu, shape) if mu is not asked else 0.0
                return Marginals(*found, mu, shape, np.array(log_evidence))
            widening, settled = 1.5 * widening, self.n_sizes
            if (
                edge > CONTRADICTION
                and (half * widening).max() > PATIENCE * self.half_width()
                and (conflict := next(conflicts, None)) is not None
            ):
                mu, widening = self._without_conflict(centre, half, mu, shape, conflict), WIDENING

    def draws(self, found: Marginals, uniforms: np.ndarray) -> np.ndarray:
        """Draw whole vectors of cumulative counts from the posterior `found`; int64, shape (draws, K + 1).

        Args:
            found: the marginals under the same prior; windows of 6.5 standard deviations around them hold the draws.
            uniforms: from [0, 1), shape (draws, K + 1).
        """
        from pgsr.estimators.posterior.chain_kernel import draw

        prior = Prior(found.prior_mean, found.shape)
        widening, out = 1.0, np.empty(uniforms.shape, np.int64)
        while True:
            half = (6.5 * np.sqrt(found.variance) + 3.0) * widening
            window = self._window(found.mean, half, self.n_sizes)
            room = Room.of(window)
            noisy = self._noisy(len(room.weight), np.empty(0, np.int64))
            if draw(noisy, prior, window, room, uniforms, out):
                return out
            widening *= 1.5

    def _without_conflict(
        self, centre: np.ndarray, half: np.ndarray, mu: np.ndarray, shape: np.ndarray, conflict: float
    ) -> np.ndarray:
        """Replace the prior means that are further from the counts of `centre` than these standard deviations.

        Such a mean becomes the region's own count, but no less than the noise's standard deviation. A negative binomial
        law of that mean is wide beside the noise where the count is large, and allows 0 where it is small.
        """
        own = np.diff(centre, prepend=0.0)
        off = np.abs(own - mu) > conflict * np.sqrt(mu + mu * mu / shape) + half
        return np.where(off, np.maximum(own, float(self.law.variance_bound) ** 0.5), mu)

    def _noisy(self, width: int, anchor: np.ndarray) -> Noisy:
        """Collect what the compiled loops read of the noisy values and their law, in windows of this width."""
        of = Likelihood.of(self.law, width)
        kind = COUNTS if self.view is View.COUNTS else BOXES
        first = self.most + 1 if self.total is None else self.total - (self.measured - self.columns)
        values = read_only(self.values[: self.measured])
        law = of.law, of.coarse, of.fine
        return Noisy(kind, values, *law, self.columns, first, anchor, of.log_base)

    def _window(self, centre: np.ndarray, half: np.ndarray, settled: int) -> Window:
        low = np.maximum(0, np.floor(centre - half)).astype(np.int64)
        high = np.minimum(self.most, np.ceil(centre + half)).astype(np.int64)
        low, high = np.maximum.accumulate(low), np.ascontiguousarray(np.minimum.accumulate(high[::-1])[::-1])
        if self.total is not None:
            low[-1] = high[-1] = self.total
            low[settled:] = high[settled:] = self.total
        return Window(low, high, self.most, settled)


def _given_way(mean: np.ndarray, asked: np.ndarray, used: np.ndarray, shape: np.ndarray) -> float:
    """Bound the logarithm of the evidence under the means `asked` for from that under the means `used`.

    With q the posterior under the latter, log P(y) under the former is at least the logarithm under the latter, plus
    the mean by q of log p(x) - log p'(x), by Jensen's inequality. This difference is linear in the counts, as both laws
    have one shape, so that its mean is its value at the posterior means.
    """
    from pgsr.estimators.posterior.elementary_kernel import log_mass

    counts = np.maximum(np.diff(mean, prepend=0.0), 0.0)
    off = np.flatnonzero(asked != used).tolist()
    pairs = ((counts[s], asked[s], used[s], shape[s]) for s in off)
    return sum(log_mass(x, before, k) - log_mass(x, after, k) for x, before, after, k in pairs)
