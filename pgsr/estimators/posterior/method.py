"""The posterior release: regions by forward-backward, then all together, then integers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pgsr.algorithms.m_c import CumulativeProjection
from pgsr.algorithms.m_c.joint import (
    integers_of,
    is_folded,
    joint_problem,
    laws_of,
    precisions,
    projected,
    refused_precision,
    together_by_level,
)
from pgsr.algorithms.tree_rounding import on_grid
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MemoryNeededError, MethodError, ProblemError
from pgsr.estimators.posterior.evidence import BORDER, ROUGH_BORDER, Evidence, Marginals
from pgsr.estimators.posterior.folded_errors import FoldedErrors
from pgsr.estimators.posterior.learned import Given, LearnedPrior
from pgsr.estimators.posterior.likelihood import refused_law
from pgsr.estimators.posterior.prior import PooledPrior
from pgsr.estimators.posterior.propagation import Propagation
from pgsr.estimators.posterior.rows import MarginalTables, marginal_tables
from pgsr.estimators.posterior.uncertainty import Uncertainty
from pgsr.estimators.sizes_per_level import refused_by_level
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped, judged_release
from pgsr.methods.method import Method, Result, Seconds, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.problem import Problem

PARTS = 64
"""Posterior means are handed to the joint projection in multiples of 1 / PARTS."""

LABEL = "M_c of posterior means"
"""What the joint projection is called."""

BATCH_CELLS = 20_000_000
"""Cells of draws that are held at a time."""

BYTES = 111
LEAN_BYTES = 13
"""Bytes per cell beyond the measurement, with and without intervals; Newton's method needs `INNER_BYTES` more per cell
of an inner region."""

INNER_BYTES = 200

BYTES_BY_LEVEL = 72
"""Bytes per cell beyond the measurement with sizes per level: counted, nine arrays of 8 bytes or less."""


@dataclass(frozen=True)
class Posterior:
    """Makes a release from every region's expected cumulative counts, given the noisy ones and the law of the noise.

    1. Every measured region alone, `rounds` times: forward-backward gives mean and variance of every cumulative count
       under a negative binomial prior, whose means are estimated from the round before (`PooledPrior`).
    2. All regions together: with m the posterior means,

           minimise    sum over measured regions r, sizes s of  epsilon[r]^2 (x[r, s] - m[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   and public totals.

    3. Integers next to x, from the root down (`pgsr.algorithms.tree_rounding`).

    The result has integer, non-negative counts and the public numbers of groups, and adds up. It is the optimum of no
    stated problem, so its certificate counts violations only.

    Args:
        rounds: how often priors are estimated anew; 3 are enough.
        prior: how prior means and shapes are estimated.
        learning: how many steps of Newton's method learn prior means from the evidence after the rounds, by
            `pgsr.estimators.posterior.learned`; 0 for none, 6 are enough. A family of siblings takes them where its
            noisy values are likelier under them than under those of the rounds. Sizes per level keep the latter.
        integer: whether step 3 is done. Without it the answer is fractional, so no release.
        projection: a method that solves step 2.
        intervals: whether the result knows its intervals, which it does where counts or cumulative counts were
            measured, also beside ranked sizes of some regions or of large groups (`Split`), see `Uncertainty`. Without
            them the release takes 8 bytes per cell beside the measurement, and 4 more while regions are improved, an
            eighth of what it takes with them: all steps follow each other in the memory of the means. Step 2 adds 20
            bytes per block of equal cumulative counts of a leaf; on census-like data there are 0.17 blocks per cell at
            1,001 sizes and 0.01 at 20,001. Variances, which say how wide the next windows are, are then kept in single
            precision, so that a window may be wider or narrower by one state in a million cells.

    Shapes: any number of levels and sizes, any view, any split of epsilon that leaves a share for the leaves. Public
    or noisy totals of regions, or the root's alone. Levels may have sizes of their own, with any view, a share for
    every level, and every region's public total (`rows`); intervals are then known where all regions are measured in
    cumulative counts, and draws are not offered.

    Complexity: O(rounds x regions x sizes x width of the windows x steps with prior mass), a few dozen operations per
    cell where epsilon of the level is 1; the windows grow like 1 / epsilon. All cores.

    Status: FEASIBLE; RELAXED without step 3; TIMED_OUT (checked between regions); TOO_LARGE without enough memory.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 9, 0, 1], [0, 8, 5, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1, totals="regions").measure(truth, Seeded("demo"))
        >>> Posterior().apply(noisy).estimate.counts().counts.sum(axis=1)
        array([24, 10, 14])

    Extends: the relaxed M_c of Fioretto and Van Hentenryck 2019, section 8, which makes regions add up, solved with the
    posterior means of every region's counts in place of its noisy values; `pgsr.estimators.posterior` derives it. Shown
    by `tests/test_posterior_method.py`.
    """

    rounds: int = 3
    prior: PooledPrior = field(default_factory=PooledPrior)
    learning: int = 0
    integer: bool = True
    projection: Method = field(default_factory=CumulativeProjection)
    intervals: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise MethodError(f"rounds={self.rounds!r}; give a whole number from 1 up")
        if isinstance(self.learning, bool) or not isinstance(self.learning, int) or self.learning < 0:
            raise MethodError(f"learning={self.learning!r}; give a whole number of steps, 0 for none")
        require_kind(self.prior, PooledPrior, "prior", "give PooledPrior()")
        require_kind(self.projection, Method, "projection", "give a method for the relaxed M_c")
        if not self.intervals and not isinstance(self.projection, CumulativeProjection):
            raise MethodError(
                f"{self.projection!r} does not project in place; give CumulativeProjection(), or intervals=True"
            )

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if not measurement.measured[measurement.hierarchy.leaves].all():
            return "Posterior needs measured leaves; give the last level a share of epsilon"
        if measurement.view is View.COUNTS and measurement.public is Totals.ROOT:
            return "Posterior of counts needs every region's number of groups; measure with totals='regions' or 'noisy'"
        one_of_each = {
            (measurement.hierarchy.level_of[region], measurement.view_of(region)): region
            for region in np.flatnonzero(measurement.measured).tolist()
        }
        laws = [law for region in one_of_each.values() if (law := measurement.law(region)) is not None]
        too_wide = (reason for law in laws if (reason := refused_law(law)) is not None)
        reason = next(too_wide, None) or refused_by_level(measurement)
        return reason or refused_precision(measurement, self.projection)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        deadline = Deadline(checked_limit(time_limit))
        try:
            release = self._release if measurement.sizes.equal else self._release_by_level
            result = release(measurement, deadline)
        except Stopped as stopped:
            result = Result(stopped.status, stopped.reason, seconds=Seconds(solve=deadline.spent))
        except MemoryNeededError as error:
            result = Result(Status.TOO_LARGE, str(error), seconds=Seconds(solve=deadline.spent))
        return replace(result, seconds=replace(result.seconds, compile=deadline.compiling))

    def _release(self, measurement: Measurement, deadline: Deadline) -> Result:
        if not self.intervals:
            values = self._together_in_place(measurement, self._means(measurement, deadline), deadline)
            return self._judged(measurement, values, deadline)
        found = self.marginals(measurement, deadline)
        values = self.together(measurement, found.mean, deadline)
        known = Uncertainty.is_known(measurement)
        uncertainty = Uncertainty.of(measurement, found, self.prior, on_grid(values)) if known else None
        return replace(self._judged(measurement, values, deadline), uncertainty=uncertainty)

    def _release_by_level(self, measurement: Measurement, deadline: Deadline) -> Result:
        known = self.intervals and Uncertainty.is_known(measurement)
        found = self._tables(measurement, with_steps=known, deadline=deadline)
        values = self._together_by_level(measurement, found.means, deadline)
        result = self._judged(measurement, values, deadline)
        if not known:
            return result
        weights = precisions(laws_of(measurement))
        errors = FoldedErrors(measurement.hierarchy, weights, found.variances, found.steps)
        centre = [on_grid(table) for table in values]
        return replace(result, uncertainty=Uncertainty.by_level(measurement, errors, centre))

    def alone(self, measurement: Measurement) -> list[np.ndarray]:
        """Compute the posterior means of every region's cumulative counts alone (step 1), where all totals are public.

        Real, without the totals; shape (regions of the level, K) per level.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)
        found = self._tables(measurement, with_steps=False, deadline=NO_LIMIT)
        return [np.ascontiguousarray(mean[:, :-1]) for mean in found.means]

    def _tables(self, measurement: Measurement, *, with_steps: bool, deadline: Deadline) -> MarginalTables:
        n_cells = measurement.sizes.n_cells
        memory.require(BYTES_BY_LEVEL * n_cells, f"the posterior of {n_cells:,} cells")
        return marginal_tables(measurement, self.rounds, self.prior, with_steps=with_steps, deadline=deadline)

    def _together_by_level(
        self, measurement: Measurement, means: Sequence[np.ndarray], deadline: Deadline
    ) -> tuple[np.ndarray, ...]:
        """Do the joint projection (step 2) where levels have sizes of their own; shape (regions, K + 1) per level."""
        if is_folded(measurement, self.projection):
            alone = [np.ascontiguousarray(mean[:, :-1]) for mean in means]
            return together_by_level(measurement, alone, deadline=deadline).values
        whole = tuple(nearest(PARTS * mean).astype(np.int64) for mean in means)
        return projected(self.projection, joint_problem(measurement, whole, PARTS, LABEL), PARTS, deadline)

    def _judged(
        self, measurement: Measurement, values: np.ndarray | tuple[np.ndarray, ...], deadline: Deadline
    ) -> Result:
        """Round the real answer `values` in their own memory (step 3), and judge it."""
        solved = deadline.spent
        seconds = Seconds(solve=solved)
        if self.integer:
            values = integers_of(measurement, values, deadline, in_place=True)
            seconds = Seconds(solve=solved, round=deadline.spent - solved)
        return judged_release(measurement, Estimate(measurement.hierarchy, View.CUMULATIVE, values), seconds)

    def together(self, measurement: Measurement, means: np.ndarray, deadline: Deadline = NO_LIMIT) -> np.ndarray:
        """Compute the joint projection of posterior means (step 2), real; shape (regions, K + 1).

        Raises:
            Stopped: the projection gave no answer in time; its status and reason say why.
        """
        return projected(self.projection, _joint(measurement, means), PARTS, deadline)

    def _together_in_place(self, measurement: Measurement, means: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Do the same in the memory of the means."""
        assert isinstance(self.projection, CumulativeProjection), "as the constructor made sure"
        deadline.check("the joint projection reached")
        values = self.projection.in_place(_joint(measurement, means, in_place=True), deadline)
        values /= PARTS
        return values

    def draws(self, measurement: Measurement, number: int, seed: int = 0) -> Iterator[np.ndarray]:
        """Yield draws of the true cumulative counts, given the noisy values; (regions, K + 1) each.

        Every measured region is drawn from its posterior alone, exactly; how far these draws v are from the posterior
        means m is carried through the joint projection (`propagation`) and added to its answer x, so that the draws
        scatter around x as the truth does: of one region alone they are v. They are real, non-negative and
        non-decreasing, keep public totals, and add up but for what these conditions take. Where a draw falls with the
        size, it becomes the middle between its running maximum and its running minimum from the end, which favours
        neither side. Any statistic of them gives an interval: the quantiles of its values
        (`pgsr.intervals.posterior_draws`).

        Args:
            number: of draws.
            seed: of the draws; the same seed gives the same draws.

        Raises:
            ProblemError: the measurement cannot be used.
            Stopped: the projection gave no answer.
        """
        tree, found = measurement.hierarchy, self.marginals(measurement)
        centre = self.together(measurement, found.mean)
        propagation = Propagation.of(measurement)
        regions = np.flatnonzero(measurement.measured).tolist()
        most = measurement.root_total if measurement.public is Totals.ROOT else measurement.region_totals[:, None]
        batch = max(1, min(number, BATCH_CELLS // centre.size))
        for start in range(0, number, batch):
            apart = np.zeros((tree.n_regions, min(batch, number - start), measurement.max_size + 1))

            def drawn(region: int, start: int = start, apart: np.ndarray = apart) -> None:
                uniforms = np.random.default_rng([seed, region, start]).random(apart.shape[1:])
                alone = Marginals(*(part[region] for part in vars(found).values()))
                vectors = Evidence.of(measurement, region).draws(alone, uniforms)
                apart[region] = vectors - alone.mean

            Threads()(drawn, regions)
            apart = propagation.errors(apart)
            for place in range(apart.shape[1]):
                truth = np.clip(_ordered(centre + apart[:, place]), 0, most)
                truth[:, -1] = centre[:, -1] if measurement.public is not Totals.ROOT else truth[:, -1]
                yield truth

    def marginals(self, measurement: Measurement, deadline: Deadline | None = None) -> Marginals:
        """The posterior of every region's cumulative counts alone, before regions meet; shape (regions, K + 1) each.

        Rows of regions that were not measured are 0, and their shapes 1.

        Raises:
            ProblemError: the measurement cannot be used.
            MemoryNeededError: it does not fit.
            Stopped: the deadline has passed.
        """
        reason = self.supports(measurement)
        if reason is None and not measurement.sizes.equal:
            reason = "levels have sizes of their own here, where the posterior keeps no medians and gives no draws"
        if reason is not None:
            raise ProblemError(reason)
        tree, n_sizes = measurement.hierarchy, measurement.max_size + 1
        needed = BYTES * tree.n_regions * n_sizes + (LearnedPrior.bytes(measurement) if self.learning else 0)
        memory.require(needed, f"the posterior of {tree.n_regions * n_sizes:,} cells")
        mean, variance, step_variance, prior_mean = np.zeros((4, tree.n_regions, n_sizes))
        shape = np.ones(mean.shape)
        median, log_evidence = np.zeros(mean.shape, np.int64), np.zeros(len(mean))

        def keep(region: int, found: Marginals) -> None:
            median[region], step_variance[region], prior_mean[region], shape[region], log_evidence[region] = (
                found.median, found.step_variance, found.prior_mean, found.shape, found.log_evidence,
            )  # fmt: skip

        self._improve(measurement, mean, variance, keep, deadline or NO_LIMIT)
        return Marginals(mean, variance, median, step_variance, prior_mean, shape, log_evidence)

    def _means(self, measurement: Measurement, deadline: Deadline) -> np.ndarray:
        """The posterior means alone, shape (regions, K + 1).

        Raises:
            MemoryNeededError: they do not fit.
            Stopped: the deadline has passed.
        """
        tree, n_sizes = measurement.hierarchy, measurement.max_size + 1
        needed = (LEAN_BYTES * tree.n_regions + INNER_BYTES * tree.n_inner) * n_sizes
        needed += LearnedPrior.bytes(measurement) if self.learning else 0
        memory.require(needed, f"the posterior of {tree.n_regions * n_sizes:,} cells")
        mean = np.zeros((tree.n_regions, n_sizes))
        self._improve(measurement, mean, np.zeros(mean.shape, np.float32), lambda region, found: None, deadline)
        return mean

    def _improve(
        self,
        measurement: Measurement,
        mean: np.ndarray,
        variance: np.ndarray,
        keep: Callable[[int, Marginals], None],
        deadline: Deadline,
    ) -> None:
        """Fill in the means and variances of all measured regions (step 1), and `keep` what the last round finds."""
        n_sizes = measurement.max_size + 1
        evidence = {r: Evidence.of(measurement, r) for r in np.flatnonzero(measurement.measured).tolist()}
        shapes, log_evidence = self.prior.shapes(n_sizes), np.zeros(len(mean))

        def begin(region: int) -> None:
            deadline.check("no posterior of all regions")
            mean[region] = evidence[region].pilot()

        def improve(region: int, mu: np.ndarray, turn: int) -> None:
            deadline.check("no posterior of all regions")
            about, last = evidence[region], turn == self.rounds - 1
            half = np.full(n_sizes, float(about.half_width())) if turn == 0 else 6.5 * np.sqrt(variance[region]) + 3.0
            found = about.marginals(mean[region], half, mu, shapes, BORDER if last else ROUGH_BORDER)
            mean[region], variance[region] = found.mean, found.variance
            log_evidence[region] = found.log_evidence
            if last:
                keep(region, found)

        Threads()(begin, evidence)  # the compiled loops release Python's lock
        for turn in range(self.rounds):
            known = _numbers_of_groups(measurement, mean)
            for family, mu in self.prior.families(measurement, mean, known):
                regions = [r for r in range(family.start, family.stop) if r in evidence]

                def in_turn(region: int, turn=turn, start=family.start, mu=mu) -> None:
                    improve(region, mu[region - start], turn)

                Threads()(in_turn, regions)
        if self.learning:
            given = Given(measurement, evidence, self.prior, mean, variance, _numbers_of_groups(measurement, mean))
            self._learn(given, log_evidence, keep, deadline)

    def _learn(
        self, given: Given, log_evidence: np.ndarray, keep: Callable[[int, Marginals], None], deadline: Deadline
    ) -> None:
        """Learn a prior, and replace what is given of the families that have more evidence under it."""
        learned = LearnedPrior(given)
        for _ in range(self.learning):
            learned.step(deadline)
        for family, mu, kept in given.families():
            regions = [r for r in range(family.start, family.stop) if r in given.evidence]

            def compare(region: int, start=family.start, mu=mu, kept=kept) -> None:
                deadline.check("no posterior of all regions")
                found = learned.marginals(region, mu[region - start], kept[region - start], ROUGH_BORDER)
                learned.log_evidence[region] = found.log_evidence

            def improve(region: int, start=family.start, mu=mu, kept=kept) -> None:
                deadline.check("no posterior of all regions")
                found = learned.marginals(region, mu[region - start], kept[region - start], BORDER)
                given.mean[region], given.variance[region] = found.mean, found.variance
                keep(region, found)

            Threads()(compare, regions)  # the last step may have been one too far
            if learned.is_better(family, log_evidence):
                Threads()(improve, regions)

    def __repr__(self) -> str:
        defaults = Posterior()
        changed = [f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(defaults, name)]
        return f"Posterior({', '.join(changed)})"


def _joint(measurement: Measurement, means: np.ndarray, *, in_place: bool = False) -> Problem:
    """State step 2 of `Posterior` in integers: everything times `PARTS`, posterior means rounded.

    Their memory is used for them if `in_place`.
    """
    values = means.view(np.int64) if in_place else np.empty(means.shape, np.int64)
    for region, measured in enumerate(measurement.measured):
        values[region] = nearest(PARTS * means[region]) if measured else 0
    return joint_problem(measurement, values, PARTS, LABEL)


def _ordered(values: np.ndarray) -> np.ndarray:
    """The middle between the running maximum of every row and its running minimum from the end; neither falls."""
    from_the_end = np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    return (np.maximum.accumulate(values, axis=1) + from_the_end) / 2


def _numbers_of_groups(measurement: Measurement, mean: np.ndarray) -> np.ndarray:
    """Public numbers of groups, or posterior means where only the root's is public; shape (regions,)."""
    if measurement.public is not Totals.ROOT:
        return measurement.region_totals
    tree = measurement.hierarchy
    own = np.maximum(mean[:, -1], 0.0)
    own[0] = measurement.root_total
    for region in range(tree.n_inner - 1, -1, -1):
        if region and not measurement.measured[region]:
            own[region] = own[tree.first_child[region] : tree.first_child[region + 1]].sum()
    return own
