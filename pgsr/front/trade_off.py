"""The trade-off of a release before anything is spent: the error of an epsilon, or the epsilon of an error."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError
from pgsr.figures.numbers_table import NumbersTable, ShowsNumbers
from pgsr.front.estimation import chosen_estimator
from pgsr.front.measurement import noise_step
from pgsr.methods import metrics
from pgsr.methods.expected_errors import ExpectedErrors, expected_errors, least_epsilon
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import PostProcess
from pgsr.noise.split_by_root import ViewRule
from pgsr.privacy.budget import Number, exact

DISTANCES = {"emd": ("earth mover's distance", metrics.cumulative_l1), "l1": ("L1 distance of counts", metrics.l1)}
"""The names of distances, what they are called, and their functions."""


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(ShowsNumbers):
    """An epsilon and the errors to expect of it; printed as a table, a row per level.

    Attributes:
        epsilon: the whole privacy loss.
        level_names: of the levels, root first.
        regions: their number by level.
        errors: mean and standard error per region, by level.
        targets: the largest errors that were asked for, by the name of a level.
        about: what the errors are, in words.
    """

    epsilon: Fraction
    level_names: tuple[str, ...]
    regions: tuple[int, ...]
    errors: ExpectedErrors
    targets: Mapping[str, float]
    about: str

    def numbers_table(self) -> NumbersTable:
        """Give the errors by level, beside what was asked for."""
        rows = []
        columns = zip(self.level_names, self.regions, self.errors.mean, self.errors.standard_error, strict=True)
        for name, regions, mean, error in columns:
            target = [f"{self.targets[name]:g}" if name in self.targets else ""] if self.targets else []
            rows.append((name, [f"{regions:,}", f"{mean:,.3g}", f"{error:,.2g}", *target]))
        heads = ("regions", "expected error", "s.e.", *(["at most"] if self.targets else []))
        return NumbersTable(f"epsilon {float(self.epsilon):g}, {self.about}", heads, rows, {})

    __repr__ = ShowsNumbers.__str__


def plan(
    counts: CountOfCounts,
    view: str | ViewRule,
    method: str | PostProcess,
    *,
    epsilon: Number | None = None,
    error: float | Mapping[str, float] | None = None,
    distance: str = "emd",
    replicates: int = 5,
) -> TradeOff:
    """Tell beforehand which error to expect of an epsilon, or which epsilon an error takes.

    The release `pgsr.estimate(pgsr.measure(counts, view, epsilon=epsilon, ...), method)` is made of public counts
    several times, with research noise. Nothing is spent, as long as the counts are public: an earlier census, a
    published table, or made-up ones of your shape, `pgsr.data.stand_in`. Errors on the private data would tell about
    them.

    Args:
        counts: public counts of the shape that will be released.
        view: which vector of every region is measured, as in `pgsr.measure`.
        method: what makes counts of it, as in `pgsr.estimate`.
        epsilon: the whole privacy loss, whose error is asked for.
        error: the largest expected error, whose epsilon is asked for: a number for all levels, or by the names of some.
            The smallest epsilon with two leading digits is searched, from 1/1000 to 100.
        distance: what an error is, the mean over a level's regions of the earth mover's distance to the truth, "emd",
            or of the sum of |counts - true counts|, "l1".
        replicates: draws of the noise.

    Raises:
        ArgumentError: not one of epsilon and error is given, another argument is none, or no epsilon reaches the error.
        ProblemError: the method does not work on this view.

    Complexity: that of `replicates` releases, for an epsilon; up to some fifteen times as many, for an error.

    Example:
        >>> from pgsr.data import stand_in
        >>> guess = stand_in(regions=(1, 9, 51), groups=30_000, max_size=20, mean_size=2.5)
        >>> plan(guess, "cumulative", "matching", epsilon=1)
        epsilon 1, earth mover's distance per region, mean over 5 draws of the noise
                 regions  expected error  s.e.
        level_0        1            47.8   5.5
        level_1        9            49.4   1.8
        level_2       51            39.7   1.1
        >>> plan(guess, "cumulative", "matching", error={"level_2": 10}).epsilon
        Fraction(41, 10)
    """
    require_kind(counts, CountOfCounts, "counts", "give public ones, from pgsr.read or pgsr.data.stand_in")
    if (epsilon is None) is (error is None):
        raise ArgumentError("give epsilon, to be told its error, or error, to be told its epsilon")
    if distance not in DISTANCES:
        raise ArgumentError(f'distance={distance!r} is unknown; give "emd" or "l1"')
    (called, function), (post, problem) = DISTANCES[distance], chosen_estimator(method)
    tree = counts.hierarchy
    names = tree.level_names or tuple(f"level_{level}" for level in range(tree.n_levels))

    def errors_at(each: Number) -> ExpectedErrors:
        mechanism = Mechanism(noise_step(counts, view, each), post, problem)
        return expected_errors(counts, mechanism, replicates, distance=function)

    if error is None:
        assert epsilon is not None
        targets, found = {}, exact(epsilon)
        errors = errors_at(found)
    else:
        targets = dict(error) if isinstance(error, Mapping) else dict.fromkeys(names, error)
        found, tried = least_epsilon(errors_at, targets, names, Fraction(1))
        errors = tried[found]
    about = f"{called} per region, mean over {replicates} draws of the noise"
    return TradeOff(found, names, tuple(tree.regions_per_level), errors, targets, about)
