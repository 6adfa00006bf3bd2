"""The posterior release: regions by forward-backward, then all together, then integers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pgsr.algorithms.m_c import CumulativeProjection
from pgsr.algorithms.m_c.joint import integers_of, joint_problem
from pgsr.algorithms.tree_rounding.integers import on_grid
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MemoryNeededError, ProblemError
from pgsr.estimators.posterior.evidence import BORDER, WINDOW, Marginals
from pgsr.estimators.posterior.likelihood import refused_law
from pgsr.estimators.posterior.prior_error import ErrorsOfMeans, errors_of_priors
from pgsr.estimators.posterior.prior_fit import Learned, learn
from pgsr.estimators.posterior.propagation import Propagation
from pgsr.estimators.sizes_per_level import refused_sizes
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.machine.progress import steps
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped, judged_release
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.precisions import refused_weights
from pgsr.problems.problem import Problem

PARTS = 64
"""Posterior means are handed to the joint projection in multiples of 1 / PARTS."""

LABEL = "M_c of posterior means"
"""What the joint projection is called."""

BATCH_CELLS = 20_000_000
"""Cells of draws that are held at a time."""

BYTES, LEAN_BYTES = 111, 13
"""Bytes per cell beyond the measurement, of draws and of a release; Newton's method needs `INNER_BYTES` more per cell
of an inner region."""

INNER_BYTES = 200


@dataclass(frozen=True)
class Posterior:
    """Makes a release from every region's expected cumulative counts, given the noisy ones and the law of the noise.

    1. Every measured region alone: forward-backward gives the mean of every cumulative count under a negative binomial
       prior, which is learned from the noisy values of all regions (`pgsr.estimators.posterior.prior_fit`).
    2. All regions together: with m the posterior means,

           minimise    sum over measured regions r, sizes s of  epsilon[r]^2 (x[r, s] - m[r, s])^2
           subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   and public totals.

    3. Integers next to x, from the root down (`pgsr.algorithms.tree_rounding`).

    The result has integer, non-negative counts and the public numbers of groups, and adds up. It is the optimum of no
    stated problem, so its certificate counts violations only.

    Args:
        integer: whether step 3 is done. Without it the answer is fractional, so no release.

    Memory: 8 bytes per cell beside the measurement, in which all steps after the first follow each other. Learning the
    prior takes 44 bytes per cell and, per region, 6 per pair of knots and 4 per knot of the shape and of a deviation:
    some 60 KB at 1,001 sizes. Step 2 adds 20 bytes per block of equal cumulative counts of a leaf. Draws take 100 bytes
    per cell.

    Shapes: any number of levels and sizes, any view, any split of epsilon that leaves a share for the leaves. Public
    or noisy totals of regions, or the root's alone.

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
    by `test_posterior_method.py`.
    """

    integer: bool = True

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
        return refused_sizes(measurement) or next(too_wide, None) or refused_weights(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a valid release, or give a status with the reason why there is none in time.

        Raises:
            ProblemError: the measurement cannot be used.
        """
        self._check(measurement)
        deadline = Deadline(checked_limit(time_limit))
        try:
            with steps(repr(self), None) as step:
                result = self._release(measurement, replace(deadline, step=step))
        except Stopped as stopped:
            result = Result(stopped.status, stopped.reason, seconds=Seconds(solve=deadline.spent))
        except MemoryNeededError as error:
            result = Result(Status.TOO_LARGE, str(error), seconds=Seconds(solve=deadline.spent))
        return replace(result, seconds=replace(result.seconds, compile=deadline.compiling))

    def _release(self, measurement: Measurement, deadline: Deadline) -> Result:
        means, remark = self._means(measurement, deadline)
        values = self._together_in_place(measurement, means, deadline)
        return _remarked(self._judged(measurement, values, deadline), remark)

    def _judged(self, measurement: Measurement, values: np.ndarray, deadline: Deadline) -> Result:
        """Round the real answer `values` in their own memory (step 3), and judge it."""
        solved = deadline.spent
        seconds = Seconds(solve=solved)
        if self.integer:
            values = integers_of(measurement, values, deadline)
            seconds = Seconds(solve=solved, round=deadline.spent - solved)
        return judged_release(measurement, Estimate(measurement.hierarchy, View.CUMULATIVE, values), seconds)

    def together(self, measurement: Measurement, means: np.ndarray) -> np.ndarray:
        """Compute the joint projection of posterior means (step 2), real; shape (regions, K + 1).

        Raises:
            Stopped: the projection gave no answer; its status and reason say why.
        """
        return self._together_in_place(measurement, means.copy(), NO_LIMIT)

    def _together_in_place(self, measurement: Measurement, means: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Do the same in the memory of the means."""
        deadline.check("the joint projection reached")
        values = CumulativeProjection().in_place(_joint(measurement, means), means, deadline)
        values /= PARTS
        return values

    def draws(self, measurement: Measurement, number: int, seed: int = 0) -> Iterator[np.ndarray]:
        """Yield draws of the true cumulative counts, given the noisy values; shape (regions, K + 1) each.

        Every measured region is drawn from its posterior alone, exactly. How far these draws are from the posterior
        means, and an error of these means that the prior may have (`prior_error`), is carried through the joint
        projection (`propagation`) and added to its answer, so that draws scatter around it as the truth does.

        Draws are real, non-negative and non-decreasing, keep public totals, and add up but for what these conditions
        take. Where a draw falls with the size, it becomes the middle between its running maximum and its running
        minimum from the end, which favours neither side. Any statistic of them gives an interval: the quantiles of its
        values (`pgsr.intervals.intervals`).

        Args:
            number: of draws.
            seed: of the draws; the same seed gives the same draws.

        Raises:
            ProblemError: the measurement cannot be used.
            Stopped: the projection gave no answer.
        """
        self._check(measurement)
        found, learned = self._marginals(measurement, NO_LIMIT)
        centre = on_grid(self.together(measurement, found.mean))
        propagation, evidence = Propagation.of(measurement), learned.model.evidence
        batch = max(1, min(number, BATCH_CELLS // measurement.sizes.n_cells))
        for start in range(0, number, batch):
            here = min(batch, number - start)
            normal = np.random.default_rng([seed, start]).standard_normal
            xi = normal((len(learned.point.shape), here)), [normal((*d.shape, here)) for d in learned.point.deviations]
            of_means = ErrorsOfMeans(learned, found, errors_of_priors(learned, *xi))
            apart = np.zeros((len(found.mean), here, found.mean.shape[1]))

            def drawn(
                region: int, start: int = start, of_means: ErrorsOfMeans = of_means, apart: np.ndarray = apart
            ) -> None:
                uniforms = np.random.default_rng([seed, region, start]).random(apart[region].shape)
                alone = Marginals(*(part[region] for part in vars(found).values()))
                apart[region] = of_means(region).T + (evidence[region].draws(alone, uniforms) - alone.mean)

            Threads(here * measurement.sizes.n_cells)(drawn, evidence)
            errors = propagation.errors(apart)
            for place in range(here):
                yield _drawn(measurement, centre, errors[:, place])

    def marginals(self, measurement: Measurement, deadline: Deadline | None = None) -> Marginals:
        """The posterior of every region's cumulative counts alone, before regions meet.

        Tables of shape (regions, K + 1). Rows of regions that were not measured are 0, and their shapes 1.

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
        n_regions, n_cells = measurement.hierarchy.n_regions, measurement.sizes.n_cells
        memory.require(BYTES * n_cells, f"the posterior of {n_cells:,} cells")
        shape = n_regions, measurement.max_size + 1
        mean, variance, step_variance, prior_mean = (np.zeros(shape) for _ in range(4))
        median, shapes, log_evidence = np.zeros(shape, np.int64), np.ones(shape), np.zeros(n_regions)
        found = Marginals(mean, variance, median, step_variance, prior_mean, shapes, log_evidence)
        learned = learn(measurement, deadline)
        beginnings = learned.model.beginnings(learned.point)

        def keep(region: int) -> None:
            deadline.check("no posterior of all regions")
            alone = learned.marginals(region, beginnings, BORDER)
            for table, row in zip(vars(found).values(), vars(alone).values(), strict=True):
                table[region] = row

        Threads(WINDOW * n_cells)(keep, learned.model.evidence)  # the compiled loops release Python's lock
        return found, learned

    def _means(self, measurement: Measurement, deadline: Deadline) -> tuple[np.ndarray, str]:
        """The posterior means alone, which the last pass of the search has left, and what is to be said of the prior.

        Raises:
            MemoryNeededError: they do not fit.
            Stopped: the deadline has passed.
        """
        tree, n_cells = measurement.hierarchy, measurement.sizes.n_cells
        needed = LEAN_BYTES * n_cells + INNER_BYTES * tree.n_inner * (measurement.max_size + 1)
        memory.require(needed, f"the posterior of {n_cells:,} cells")
        learned = learn(measurement, deadline)
        return np.array(learned.seen.mean), learned.remark

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


def _drawn(measurement: Measurement, middle: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Put one draw of the errors around the middle, and make it non-decreasing, with the public totals."""
    root_alone = measurement.public is Totals.ROOT
    most = measurement.root_total if root_alone else measurement.region_totals[:, None]
    truth = np.clip(_ordered(middle + errors), 0, most)
    if not root_alone:
        truth[:, -1] = middle[:, -1]
    return truth


def _ordered(values: np.ndarray) -> np.ndarray:
    """The middle between the running maximum of every row and its running minimum from the end; neither falls."""
    from_the_end = np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    return (np.maximum.accumulate(values, axis=1) + from_the_end) / 2
