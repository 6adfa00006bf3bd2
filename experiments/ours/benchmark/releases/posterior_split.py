"""The posterior means of every leaf's counts, small sizes measured by cumulative counts and large groups by ranks.

Thresholds come from the public stand-in of the data set by `pgsr.noise.split_by`; all of epsilon goes to the leaves. It
assumes that the stand-in's tail is right in its order of magnitude.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr import CountOfCounts, Geometric, Hierarchy, Result, Status
from pgsr.algorithms import Posterior
from pgsr.experiments.engine.experiment import Trial
from pgsr.experiments.engine.release_record import released
from pgsr.experiments.ours.arms import CUMULATIVE_LEAVES_ONLY
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData
from pgsr.experiments.ours.competitor import Competitor
from pgsr.noise import split_by


def release(trial: Trial) -> Result:
    """Release with the split views that the data set's stand-in says; UNSUPPORTED where it has none."""
    data, truth = trial.data, trial.truth
    if not isinstance(data, BenchmarkData) or data.stand_in is None:
        return Result(Status.UNSUPPORTED, f"{data.name} has no public stand-in, of which thresholds are made")
    stand_in = data.stand_in()

    def noise(epsilon: Fraction, levels: int) -> Geometric:
        del levels
        return step(epsilon, truth.hierarchy, truth.totals, stand_in)

    return released(replace(trial, arm=replace(trial.arm, noise=noise)))


def step(epsilon: Fraction, tree: Hierarchy, groups: np.ndarray, stand_in: CountOfCounts) -> Geometric:
    """Make the noise step from public facts: regions, their numbers of groups, and the stand-in."""
    return split_by(CUMULATIVE_LEAVES_ONLY(epsilon, tree.n_levels), stand_in, tree, groups)


ARM = Competitor(
    "posterior, split",
    CUMULATIVE_LEAVES_ONLY,
    Posterior(intervals=False),
    release=release,
    made_by="this toolkit",
    assumes="counts that are smooth in size, and a public stand-in whose tail is right in order of magnitude",
)
