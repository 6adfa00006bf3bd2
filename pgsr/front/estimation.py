"""A release from a measurement by an estimator or a problem, and how far it may be from the truth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.certificates import Certificate
from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.errors import ArgumentError, ProblemError
from pgsr.front.names import estimator_named
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess, Result, Status
from pgsr.noise.geometric import Geometric
from pgsr.noise.measurement import Measurement
from pgsr.own_methods import OwnAlgorithm
from pgsr.privacy.budget import Number
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.problem import Problem

if TYPE_CHECKING:
    from pgsr.intervals import Intervals


@dataclass(frozen=True, eq=False)
class Released:
    """A release that `pgsr.estimate` made of a measurement.

    Attributes:
        result: status, certificate, estimate and times.
        measurement: the noisy values.
        post, problem: the post-processing that made it, with what states the problem of a method; for intervals.
    """

    result: Result
    measurement: Measurement
    post: Method | PostProcess
    problem: Callable[[Measurement], Problem] | None

    @property
    def status(self) -> Status:
        """The way in which the estimation ended."""
        return self.result.status

    @property
    def certificate(self) -> Certificate | None:
        """The proof about the estimate; None without one."""
        return self.result.certificate

    @property
    def estimate(self) -> Estimate:
        """The estimate; raises `NoEstimateError` if there is none."""
        return self.result.estimate

    @property
    def counts(self) -> CountOfCounts:
        """The released counts of groups by region and size; raises `NoEstimateError` or `CountError` without."""
        return self.estimate.counts()

    def intervals(self, statistic: str = "count", level: Number = 0.9) -> "Intervals":
        """Give intervals for a statistic of every region; only what was released is used, so they cost no privacy.

        A release by `Posterior()` has those of draws from the posterior, any other those of the bootstrap, in which the
        release is measured again and again. `pgsr.intervals` says what they hold, and has others.

        Args:
            statistic: its text, such as "median" or "tail:3", the number of groups of more than 3 members;
                `pgsr.intervals` lists them.
            level: the chance that an interval holds the truth, each by itself.

        Raises:
            ArgumentError: the statistic or the level is none.
            ProblemError: levels have noise that is not double geometric, from which a release cannot be repeated here.

        Complexity: 100 draws, or 200 releases.
        """
        from pgsr.intervals import intervals

        mechanism = Mechanism(noise_of(self.measurement), self.post, self.problem)
        return intervals(mechanism, self.result, statistic, level)

    def __repr__(self) -> str:
        return f"Released({self.post!r}: {self.result!r})"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


def estimate(noisy: Measurement, method: str | PostProcess = "posterior", time_limit: float | None = None) -> Released:
    """Estimate the true counts from a measurement; it sees noisy values and public facts alone.

    Args:
        noisy: the measurement.
        method: the name of an estimator, such as "matching" or "bottom_up", or of a problem that our exact algorithm
            solves, such as "m_h" or "m_c"; or an estimator with options of its own, such as
            `pgsr.estimators.Matching(merge=...)`. The posterior has the least error.
        time_limit: seconds, or None.

    Raises:
        ArgumentError: nothing has this name, and the message lists the near ones; or another argument is wrong.
        ProblemError: the problem is of another view than was measured.

    Complexity: that of the method.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> truth = pgsr.CountOfCounts(tree, [[0, 900, 400, 90], [0, 800, 300, 110]])
        >>> noisy = pgsr.measure(truth, "cumulative", epsilon=1, seed="demo")
        >>> released = estimate(noisy, "posterior")
        >>> released.counts.totals.tolist()
        [2600, 1390, 1210]
        >>> found = released.intervals("tail:2")
        >>> bool((found.lower <= found.estimate).all() and (found.estimate <= found.upper).all())
        True
    """
    require_kind(noisy, Measurement, "the measurement", "give what pgsr.measure returns")
    post, problem = chosen_estimator(method)
    if isinstance(post, Method):
        assert problem is not None
        result = post.solve(problem(noisy), time_limit)
    else:
        result = post.apply(noisy, time_limit)
    return Released(replace(result, measurement=noisy), noisy, post, problem)


def chosen_estimator(method: object) -> tuple[Method | PostProcess, Callable[[Measurement], Problem] | None]:
    """Find what makes an estimate of a measurement: a post-process, or our exact algorithm and what states its problem.

    Raises:
        ArgumentError: there is none.
    """
    meant = estimator_named(method) if isinstance(method, str) else method
    if isinstance(meant, Method):
        raise ArgumentError(
            f"{meant!r} solves a stated problem; state one, such as Problem.m_h(noisy), and call pgsr.solve(problem, "
            f"{meant!r})"
        )
    if isinstance(method, str) and not isinstance(meant, PostProcess):
        return OwnAlgorithm(), meant  # pyright: ignore[reportReturnType]
    require_kind(meant, PostProcess, "the method", 'give a name, such as "posterior", or a value, such as Posterior()')
    assert isinstance(meant, PostProcess)
    return meant, None


def noise_of(measurement: Measurement) -> Geometric:
    """Make the noise step that measures again as a measurement was made.

    Raises:
        ProblemError: a level has noise of another law, or of another unit of privacy.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> truth = pgsr.CountOfCounts(tree, [[0, 900, 400, 90], [0, 800, 300, 110]])
        >>> noise_of(pgsr.measure(truth, "ranked", epsilon="1/2", seed="demo"))
        Geometric(view=View.RANKED, epsilon=Fraction(1, 2), shares=(Fraction(1, 2), Fraction(1, 2)), \
totals=<Totals.REGIONS: 'regions'>, totals_share=Fraction(1, 10), max_quantity=1, max_sizes=None)
    """
    levels = (*measurement.noise, measurement.totals_noise)
    if measurement.unit.is_group or not all(each is None or isinstance(each, GeometricNoise) for each in levels):
        raise ProblemError(
            f"{measurement!r} has noise that pgsr.noise.Geometric does not draw; give pgsr.intervals the mechanism"
        )
    spent = [Fraction(0) if each is None else each.epsilon for each in measurement.noise]  # pyright: ignore[reportAttributeAccessIssue]
    totals = measurement.totals_noise
    of_totals = Fraction(0) if totals is None else totals.epsilon * len(spent)  # pyright: ignore[reportAttributeAccessIssue]
    whole = sum(spent, of_totals)
    return Geometric(
        measurement.views if measurement.view is None else measurement.view,
        whole,
        tuple(each / (whole - of_totals) for each in spent),
        measurement.public,
        of_totals / whole if totals is not None else "1/10",
        measurement.max_quantity,
        None if measurement.sizes.equal else measurement.sizes.max_sizes,
    )
