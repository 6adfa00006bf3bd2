"""The posterior release: regions by forward-backward, then all together, then integers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pgsr.algorithms.m_c import CumulativeProjection
from pgsr.algorithms.m_c.joint import (
    integers_of,
    joint_problem,
    refused_precision,
    together_by_level,
)
from pgsr.algorithms.tree_rounding.rounding import on_grid
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MemoryNeededError, ProblemError
from pgsr.estimators.posterior.evidence import BORDER, WINDOW, Marginals
from pgsr.estimators.posterior.learned import Learned, learn
from pgsr.estimators.posterior.likelihood import refused_law
from pgsr.estimators.posterior.prior_error import ErrorsOfMeans, errors_of_priors
from pgsr.estimators.posterior.propagation import Values, blocks, propagation_of, rows_of
from pgsr.estimators.posterior.uncertainty import Uncertainty
from pgsr.estimators.sizes_per_level import refused_by_level
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped, judged_release
from pgsr.methods.method import Result, Seconds, Status
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


@dataclass(frozen=True)
class Posterior:
    """Makes a release from every region's expected cumulative counts, given the noisy ones and the law of the noise.

    1. Every measured region alone: forward-backward gives the mean of every cumulative count under a negative binomial
       prior, which is learned from the noisy values of all regions (`pgsr.estimators.posterior.learned`).
    2. All regions together: with m the posterior means,

           minimise    sum over measured regions r, sizes s of  epsilon[r]^2 (x[r, s] - m[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   and public totals.

    3. Integers next to x, from the root down (`pgsr.algorithms.tree_rounding`).

    The result has integer, non-negative counts and the public numbers of groups, and adds up. It is the optimum of no
    stated problem, so its certificate counts violations only.

    Args:
        integer: whether step 3 is done. Without it the answer is fractional, so no release.
        intervals: whether the result knows its intervals, which it does where counts or cumulative counts were
            measured, also beside ranked sizes of some regions or of large groups (`Split`), see `Uncertainty`. Without
            them the release keeps the means alone, 8 bytes per cell beside the measurement, in place of 100, and all
            steps after the first follow each other in their memory. Learning the prior takes 44 bytes per cell and, per
            region, 6 per pair of knots and 4 per knot of the shape and of a deviation: some 60 KB at 1,001 sizes. Step
            2 adds 20 bytes per block of equal cumulative counts of a leaf.

    Shapes: any number of levels and sizes, any view, any split of epsilon that leaves a share for the leaves. Public
    or noisy totals of regions, or the root's alone. Levels may have sizes of their own, with any view, a share for
    every level, and every region's public total (`learned`).

    Complexity: O(steps of the search x regions x sizes x width of the windows x counts with prior mass), a few dozen
    operations per cell where epsilon of the level is 1; the search takes 8 to 25 steps, and the windows grow like
    1 / epsilon. All cores.

    Status: FEASIBLE, with a reason where the prior could not be learned; RELAXED without step 3; TIMED_OUT (checked
    between regions); TOO_LARGE without enough memory.

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

    integer: bool = True
    intervals: bool = True

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
        return reason or refused_precision(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        self._check(measurement)
        deadline = Deadline(checked_limit(time_limit))
        try:
            result = self._release(measurement, deadline)
        except Stopped as stopped:
            result = Result(stopped.status, stopped.reason, seconds=Seconds(solve=deadline.spent))
        except MemoryNeededError as error:
            result = Result(Status.TOO_LARGE, str(error), seconds=Seconds(solve=deadline.spent))
        return replace(result, seconds=replace(result.seconds, compile=deadline.compiling))

    def _release(self, measurement: Measurement, deadline: Deadline) -> Result:
        if not (self.intervals and Uncertainty.is_known(measurement)):
            means, remark = self._means(measurement, deadline)
            values = self._together_in_place(measurement, means, deadline)
            return _remarked(self._judged(measurement, values, deadline), remark)
        found, learned = self._marginals(measurement, deadline)
        values = self.together(measurement, found.mean, deadline)
        uncertainty = Uncertainty.of(measurement, found, learned, _on_grid(values))
        result = _remarked(self._judged(measurement, values, deadline), learned.remark)
        return replace(result, uncertainty=uncertainty)

    def alone(self, measurement: Measurement) -> list[np.ndarray]:
        """Compute the posterior means of every region's cumulative counts alone (step 1), where all totals are public.

        Real, without the totals; shape (regions of the level, K) per level.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        self._check(measurement)
        means = self._means(measurement, NO_LIMIT)[0]
        tables = means if isinstance(means, tuple) else measurement.sizes.tables(means)
        return [np.ascontiguousarray(mean[:, :-1]) for mean in tables]

    def _judged(self, measurement: Measurement, values: Values, deadline: Deadline) -> Result:
        """Round the real answer `values` in their own memory (step 3), and judge it."""
        solved = deadline.spent
        seconds = Seconds(solve=solved)
        if self.integer:
            values = integers_of(measurement, values, deadline, in_place=True)
            seconds = Seconds(solve=solved, round=deadline.spent - solved)
        return judged_release(measurement, Estimate(measurement.hierarchy, View.CUMULATIVE, values), seconds)

    def together(self, measurement: Measurement, means: Values, deadline: Deadline = NO_LIMIT) -> Values:
        """Compute the joint projection of posterior means (step 2), real; shaped as the means.

        Raises:
            Stopped: the projection gave no answer in time; its status and reason say why.
        """
        return self._together_in_place(measurement, means if isinstance(means, tuple) else means.copy(), deadline)

    def _together_in_place(self, measurement: Measurement, means: Values, deadline: Deadline) -> Values:
        """Do the same in the memory of the means, where all levels have the same sizes."""
        deadline.check("the joint projection reached")
        if isinstance(means, tuple):
            alone = [np.ascontiguousarray(mean[:, :-1]) for mean in means]
            return together_by_level(measurement, alone, deadline=deadline).values
        values = CumulativeProjection().in_place(_joint(measurement, means), deadline)
        values /= PARTS
        return values

    def draws(self, measurement: Measurement, number: int, seed: int = 0) -> Iterator[Values]:
        """Yield draws of the true cumulative counts, given the noisy values.

        A draw has the shape (regions, K + 1), or is one table per level where levels have sizes of their own.

        Every measured region is drawn from its posterior alone, exactly. How far these draws are from the posterior
        means, and an error of these means that the prior may have (`prior_error`), is carried through the joint
        projection (`propagation`) and added to its answer, so that draws scatter around it as the truth does.

        Draws are real, non-negative and non-decreasing, keep public totals, and add up but for what these conditions
        take. Where a draw falls with the size, it becomes the middle between its running maximum and its running
        minimum from the end, which favours neither side. Any statistic of them gives an interval: the quantiles of its
        values (`pgsr.intervals.posterior_intervals`).

        Args:
            number: of draws.
            seed: of the draws; the same seed gives the same draws.

        Raises:
            ProblemError: the measurement cannot be used.
            Stopped: the projection gave no answer.
        """
        self._check(measurement)
        found, learned = self._marginals(measurement, NO_LIMIT)
        centre = self.together(measurement, found.mean)
        propagation = propagation_of(measurement)
        evidence, known = learned.model.evidence, [rows_of(part) for part in vars(found).values()]
        means = rows_of(found.mean)
        batch = max(1, min(number, BATCH_CELLS // measurement.sizes.n_cells))
        for start in range(0, number, batch):
            here = min(batch, number - start)
            normal = np.random.default_rng([seed, start]).standard_normal
            xi = normal((len(learned.point.shape), here)), [normal((*d.shape, here)) for d in learned.point.deviations]
            of_means = ErrorsOfMeans(learned, found, errors_of_priors(learned, *xi), slice(0, here))
            apart = tuple(np.zeros((len(table), here, table.shape[1])) for table in blocks(found.mean))
            filled = rows_of(apart)

            def drawn(
                region: int, start: int = start, of_means: ErrorsOfMeans = of_means, filled: list = filled
            ) -> None:
                uniforms = np.random.default_rng([seed, region, start]).random(filled[region].shape)
                vectors = evidence[region].draws(Marginals(*(part[region] for part in known)), uniforms)
                filled[region][:] = of_means(region).T + (vectors - means[region])

            Threads(here * measurement.sizes.n_cells)(drawn, evidence)
            errors = propagation.errors(apart if isinstance(found.mean, tuple) else apart[0])
            for place in range(here):
                yield _drawn(measurement, centre, errors, place)

    def marginals(self, measurement: Measurement, deadline: Deadline | None = None) -> Marginals:
        """The posterior of every region's cumulative counts alone, before regions meet.

        Tables of shape (regions, K + 1), or one per level where levels have sizes of their own. Rows of regions that
        were not measured are 0, and their shapes 1.

        Raises:
            ProblemError: the measurement cannot be used.
            MemoryNeededError: it does not fit.
            Stopped: the deadline has passed.
        """
        self._check(measurement)
        return self._marginals(measurement, deadline or NO_LIMIT)[0]

    def _check(self, measurement: Measurement) -> None:
        reason = self.supports(measurement)
        if reason is not None:
            raise ProblemError(reason)

    def _marginals(self, measurement: Measurement, deadline: Deadline) -> tuple[Marginals, Learned]:
        sizes = measurement.sizes
        memory.require(BYTES * sizes.n_cells, f"the posterior of {sizes.n_cells:,} cells")
        mean, variance, step_variance, prior_mean = (np.zeros(sizes.n_cells) for _ in range(4))
        median, shape = np.zeros(sizes.n_cells, np.int64), np.ones(sizes.n_cells)
        cells = mean, variance, median, step_variance, prior_mean, shape
        rows, log_evidence = [sizes.rows(part) for part in cells], np.zeros(measurement.hierarchy.n_regions)

        def keep(region: int, alone: Marginals) -> None:
            for table, row in zip((*rows, log_evidence[:, None]), vars(alone).values(), strict=True):
                table[region][:] = row

        learned = self._learned(measurement, keep, deadline)
        tables: list[Any] = [*map(sizes.shaped, cells), log_evidence]
        return Marginals(*tables), learned

    def _means(self, measurement: Measurement, deadline: Deadline) -> tuple[Values, str]:
        """The posterior means alone, and what is to be said of the prior.

        Raises:
            MemoryNeededError: they do not fit.
            Stopped: the deadline has passed.
        """
        sizes, n_inner = measurement.sizes, measurement.hierarchy.n_inner
        needed = LEAN_BYTES * sizes.n_cells + INNER_BYTES * int(sizes.first_cell[n_inner])
        memory.require(needed, f"the posterior of {sizes.n_cells:,} cells")
        cells = np.zeros(sizes.n_cells)
        rows = sizes.rows(cells)

        def keep(region: int, alone: Marginals) -> None:
            rows[region][:] = alone.mean

        remark = self._learned(measurement, keep, deadline).remark
        return sizes.shaped(cells), remark

    def _learned(self, measurement: Measurement, keep: Callable[[int, Marginals], None], deadline: Deadline) -> Learned:
        """Learn the prior, and `keep` the posterior of every measured region under it (step 1)."""
        learned = learn(measurement, deadline)
        beginnings = learned.model.beginnings(learned.point)

        def improve(region: int) -> None:
            deadline.check("no posterior of all regions")
            keep(region, learned.marginals(region, beginnings, BORDER))

        threads = Threads(WINDOW * learned.model.sizes.n_cells)  # the compiled loops release Python's lock
        threads(improve, learned.model.evidence)
        for region in range(learned.model.tree.n_regions, measurement.hierarchy.n_regions):
            keep(region, _public(int(measurement.region_totals[region])))
        return learned

    def __repr__(self) -> str:
        defaults = Posterior()
        changed = [f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(defaults, name)]
        return f"Posterior({', '.join(changed)})"


def _remarked(result: Result, remark: str) -> Result:
    """Say in a result what went wrong with its prior."""
    return replace(result, reason="; ".join(part for part in (result.reason, remark) if part))


def _joint(measurement: Measurement, means: np.ndarray) -> Problem:
    """State step 2 of `Posterior` in integers, in the memory of the means: all times `PARTS`, means rounded."""
    values = means.view(np.int64)
    for region, measured in enumerate(measurement.measured):
        values[region] = nearest(PARTS * means[region]) if measured else 0
    return joint_problem(measurement, values, PARTS, LABEL)


def _public(groups: int) -> Marginals:
    """Give the posterior of a region whose only class is "0 or more"."""
    known, none = np.array([float(groups)]), np.zeros(1)
    return Marginals(known, none, known.astype(np.int64), none, known, np.ones(1), np.array(0.0))


def _on_grid(values: Values) -> Values:
    return tuple(map(on_grid, values)) if isinstance(values, tuple) else on_grid(values)


def _drawn(measurement: Measurement, centre: Values, errors: Values, place: int) -> Values:
    """Put one draw of the errors around the centre, and make it non-decreasing, with the public totals."""
    root_alone, start, out = measurement.public is Totals.ROOT, 0, []
    for middle, apart in zip(blocks(centre), blocks(errors), strict=True):
        stop = start + len(middle)
        most = measurement.root_total if root_alone else measurement.region_totals[start:stop, None]
        truth = np.clip(_ordered(middle + apart[:, place]), 0, most)
        if not root_alone:
            truth[:, -1] = middle[:, -1]
        out.append(truth)
        start = stop
    return tuple(out) if isinstance(centre, tuple) else out[0]


def _ordered(values: np.ndarray) -> np.ndarray:
    """The middle between the running maximum of every row and its running minimum from the end; neither falls."""
    from_the_end = np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    return (np.maximum.accumulate(values, axis=1) + from_the_end) / 2
