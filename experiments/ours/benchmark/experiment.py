"""The experiment B1: mechanisms of other authors beside the releases of this toolkit, at the same total epsilon."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pgsr.comparison.side_by_side import errors_by_level
from pgsr.estimators import Posterior
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.release_record import Record, result_record
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, smaller, worst
from pgsr.experiments.engine.words import number
from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals import cyclic_laplace
from pgsr.experiments.ours.benchmark.arms import ARMS, BOTTOM_UP, CURATOR, POSTERIOR_SPLIT, RIVALS
from pgsr.experiments.ours.benchmark.figure import drawn
from pgsr.experiments.ours.benchmark.standings import Standings
from pgsr.experiments.ours.benchmark_data import DATA
from pgsr.experiments.ours.benchmark_data.census import SMALL
from pgsr.experiments.ours.benchmark_data.flights import DATA as FLIGHTS
from pgsr.figures.drawing import level_name
from pgsr.machine import compilation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))


def measure(trial: Trial) -> Record:
    """Release, and record errors by level and seconds from the truth to the estimate, noise included.

    In "levels": "emd", and "times_bound", the same over the least mean error that any epsilon-DP release has near the
    truth (`pgsr.bounds.lower_bound`).
    """
    assert isinstance(trial.arm, Competitor), "arms of the benchmark are competitors"
    start, compiled = perf_counter(), compilation.seconds()
    result = trial.arm.release(trial)
    seconds = perf_counter() - start - (compilation.seconds() - compiled)
    errors = errors_by_level(trial.truth, result, trial.cell.epsilon)
    levels = {name: errors[name] for name in ("emd", "times_bound") if name in errors}
    return result_record(result) | {"levels": levels, "release_seconds": seconds}


def memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate the peak memory in bytes: libraries, tables, and a window of the posterior on every core."""
    del parameters
    needed = 420_000_000 + 80 * data.n_regions * (data.max_size + 1)
    if isinstance(arm.post, Posterior):
        width = 1_000 + 350 * float(1 / min(EPSILONS))
        needed += int(8 * (os.cpu_count() or 1) * (data.max_size + 1) * min(width, data.groups + 1))
    return needed


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw mean ranks of all arms, with bars, beside their errors over the lower bound."""
    standings = Standings.of(level_errors(frame, "emd"), [arm.label for arm in ARMS])
    return drawn(standings, level_errors(frame, "times_bound"))


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the posterior of split views and H_c against all others, and the cyclic noise against H_c alone."""
    errors = level_errors(frame, "emd")
    ours, hc = POSTERIOR_SPLIT, BOTTOM_UP
    rivals = [arm for arm in RIVALS if arm in CURATOR]
    releases = [arm for arm in CURATOR if arm is not ours and arm not in RIVALS]
    every = "than every mechanism of other authors with a curator, at every level"
    return [
        *_below_all(errors, f"{ours.label} has a smaller EMD {every}", ours, rivals),
        *_below_all(errors, f"{ours.label} has a smaller EMD than every other release, at every level", ours, releases),
        *_below_all(errors, f"{hc.label} has a smaller EMD {every}", hc, rivals),
        *_below_all(
            errors,
            f"{hc.label} has a smaller EMD than the cyclic Laplace, at every level",
            hc,
            (cyclic_laplace.ARM, cyclic_laplace.ARM_ISOTONIC),
        ),
    ]


def _below_all(errors: LevelErrors, claim: str, arm: Arm, others: Sequence[Arm]) -> Iterator[Verdict]:
    """Judge whether an arm is below all others at all levels, by data set and epsilon, and name the nearest other."""
    for data, epsilon in errors.values_of("data", "epsilon"):
        part, judged, words = errors.where(data=data, epsilon=epsilon), [], []
        for level in range(part.n_levels):
            mine = part.one(arm=arm.label, level=level)
            theirs = [part.one(arm=other.label, level=level) for other in others]
            judged.append(smaller(mine, *theirs))
            nearest = min((row for row in theirs if row is not None), key=lambda row: row.mean, default=None)
            if mine is not None and nearest is not None:
                name = level_name(level, part.n_levels)
                words.append(f"{name}: {number(mine.mean)} against {number(nearest.mean)} of {nearest.arm}")
        yield Verdict(claim, f"{data}, epsilon {epsilon:g}", worst(judged), "; ".join(words))


_ALL = Scale(DATA, EPSILONS, replicates=30, time_limit=600)

EXPERIMENT = Experiment(
    id="B1",
    title="The field",
    part="beyond the papers",
    question="Which of the mechanisms for counts of groups by size, ours and other authors', is nearest to the truth?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL,), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: Scale((SMALL, FLIGHTS), (Fraction(1),), replicates=5, time_limit=60),
        Profile.REDUCED: replace(_ALL, epsilons=(EPSILONS[0], EPSILONS[-1]), replicates=3),
        Profile.PAPER: _ALL,
    },
    plot=plot,
    verdicts=verdicts,
    measure=measure,
    memory=memory,
    seed="B1: the field, first used in this experiment",
)
