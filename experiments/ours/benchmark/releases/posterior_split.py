"""The posterior means of every leaf's counts, small sizes measured by cumulative counts and large groups by ranks.

Thresholds come from the public stand-in of the data set by `pgsr.noise.split_by`; all of epsilon goes to the leaves. It
assumes that the stand-in's tail is right in its order of magnitude.
"""

from dataclasses import replace
from fractions import Fraction

from pgsr import Result, Status
from pgsr.algorithms import Posterior
from pgsr.experiments.engine.experiment import Trial
from pgsr.experiments.engine.release_record import released
from pgsr.experiments.ours.arms import CUMULATIVE_LEAVES_ONLY
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData
from pgsr.experiments.ours.competitor import Competitor
from pgsr.noise import NoiseStep, split_by


def release(trial: Trial) -> Result:
    """Release with the split views that the data set's stand-in says; UNSUPPORTED where it has none."""
    data = trial.data
    if not isinstance(data, BenchmarkData) or data.stand_in is None:
        return Result(Status.UNSUPPORTED, f"{data.name} has no public stand-in, of which thresholds are made")
    stand_in = data.stand_in()

    def noise(epsilon: Fraction, levels: int) -> NoiseStep:
        step = CUMULATIVE_LEAVES_ONLY(epsilon, levels)
        return split_by(step, stand_in, trial.truth.hierarchy, trial.truth.totals)

    return released(replace(trial, arm=replace(trial.arm, noise=noise)))


ARM = Competitor("posterior, split", CUMULATIVE_LEAVES_ONLY, Posterior(intervals=False), release=release)
