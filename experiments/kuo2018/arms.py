"""The arms of the experiments on Kuo et al. 2018: views and budgets by level, fits that know the smallest size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from pgsr import View
from pgsr.algorithms import IsotonicFit
from pgsr.experiments.engine.experiment import Arm, DataSet, Trial, release_memory
from pgsr.experiments.engine.release_record import Record
from pgsr.methods import Mechanism, PostProcess, metrics
from pgsr.noise import Geometric

HC, HG = View.CUMULATIVE, View.RANKED
SHORT = {HC: "Hc", HG: "Hg"}

TINY, TENTH, FIFTH, HALF, ONE = Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1)
EPSILONS = (TINY, TENTH, FIFTH, HALF, ONE)
"""The paper's grid is unknown; this one is ours."""

OTHER_VARIANCES = (
    "merging takes the variance of Hg by groups of one rounded size, not by partitions of its fit as in the paper, "
    "which Matching(partitions=True) does; the errata say what that costs"
)


@dataclass(frozen=True)
class WithSmallestSize:
    """A post-process on isotonic fits that know the public smallest size of the data set.

    Attributes:
        build: from a fit to the post-process, such as `Matching`.
        fit: all but its smallest size.
    """

    build: Callable[[IsotonicFit], PostProcess]
    fit: IsotonicFit = field(default_factory=IsotonicFit)

    def on(self, data: DataSet) -> PostProcess:
        return self.build(replace(self.fit, min_size=data.smallest_size))


def combined(views: tuple[View, ...]) -> str:
    """Name a choice of views, root first.

    Example:
        >>> combined((HC, HG))
        'Hc x Hg'
    """
    return " x ".join(SHORT[view] for view in views)


def combinations(levels: int) -> list[tuple[View, ...]]:
    """List all choices of Hc or Hg by level; Hc at every level comes first."""
    return list(product((HC, HG), repeat=levels))


def per_level(*views: View) -> Callable[[Fraction, int], Geometric]:
    """Spend epsilon at every level, as the paper counts it in its figures. One view goes for all levels."""
    return partial(_geometric, views, True)


def in_all(*views: View) -> Callable[[Fraction, int], Geometric]:
    """Spend epsilon on all levels together."""
    return partial(_geometric, views, False)


def one_arm(label: str, *views: View) -> Arm:
    """Make an arm for experiments that post-process one measurement in several ways (`posts_record`)."""
    return Arm(label, per_level(*views), note=note_on(*views))


def note_on(*views: View) -> str:
    """Say how weighted merging of these views deviates from the paper; "" where it does not."""
    return OTHER_VARIANCES if HG in views else ""


def posts_record(posts: Mapping[str, WithSmallestSize]) -> Callable[[Trial], Record]:
    """Measure the errors of several post-processes of one measurement, by their names, and the omniscient line.

    The measurement costs most of the time, and both sides of a comparison see the same noise anyway.
    """
    return partial(_posts_record, dict(posts))


def ranked_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate peak bytes; levels measured as ranked sizes hold at most one number per group and level."""
    assert arm.noise is not None, "every arm of these experiments measures"
    view = arm.noise(ONE, len(data.levels)).view
    ranked = HG in (view if isinstance(view, tuple) else (view,))
    return release_memory(data, arm, parameters) + 9 * data.groups * len(data.levels) * ranked


def _geometric(views: tuple[View, ...], each: bool, epsilon: Fraction, levels: int) -> Geometric:
    return Geometric(views[0] if len(set(views)) == 1 else views, epsilon * (levels if each else 1))


def _posts_record(posts: dict[str, WithSmallestSize], trial: Trial) -> Record:
    measurement = trial.noise.measure(trial.truth, trial.source)
    record: Record = {"status": "FEASIBLE", "reason": ""}
    levels = {}
    for name, post in posts.items():
        result = Mechanism(trial.noise, post.on(trial.data)).post_process(measurement, trial.time_limit)
        if result.answer is None:
            return {"status": result.status.name, "reason": f"{name}: {result.reason}"}
        levels[name] = metrics.level_means(trial.truth, metrics.emd(trial.truth, result.answer))
    per_level_epsilon = measurement.epsilon[0]
    levels["omniscient"] = metrics.level_means(trial.truth, metrics.omniscient(trial.truth, per_level_epsilon))
    return record | {"levels": levels}
