"""The list of all experiments. A new one is a module with an `EXPERIMENT`, and a line in each of the two lists here."""

from pgsr.experiments.engine.experiment import Experiment, ExperimentError
from pgsr.experiments.fioretto2019 import (
    error_by_epsilon,
    error_by_level,
    headline,
    runtime_by_epsilon,
    runtime_by_size,
)
from pgsr.experiments.kuo2018 import (
    averages,
    bottom_up,
    conditions,
    data_statistics,
    naive,
    norms,
    positions,
    selection,
    three_levels,
    top_level,
    two_levels,
)
from pgsr.experiments.liu2022 import errors, growth, relations, settings
from pgsr.experiments.ours import (
    coverage,
    every_release,
    exact_optima,
    known_priors,
)
from pgsr.experiments.ours.benchmark import experiment as benchmark

EXPERIMENTS: tuple[Experiment, ...] = (
    data_statistics.EXPERIMENT,
    naive.EXPERIMENT,
    top_level.EXPERIMENT,
    positions.EXPERIMENT,
    averages.EXPERIMENT,
    two_levels.EXPERIMENT,
    three_levels.EXPERIMENT,
    bottom_up.EXPERIMENT,
    selection.EXPERIMENT,
    norms.EXPERIMENT,
    conditions.EXPERIMENT,
    runtime_by_size.EXPERIMENT,
    runtime_by_epsilon.EXPERIMENT,
    error_by_epsilon.EXPERIMENT,
    error_by_level.EXPERIMENT,
    headline.EXPERIMENT,
    exact_optima.EXPERIMENT,
    every_release.EXPERIMENT,
    coverage.EXPERIMENT,
    known_priors.EXPERIMENT,
    benchmark.EXPERIMENT,
    settings.EXPERIMENT,
    errors.EXPERIMENT,
    relations.EXPERIMENT,
    errors.MEANS,
    relations.MEANS,
    growth.EXPERIMENT,
)


def find(name: str) -> Experiment:
    """Find the experiment of this id, in upper or lower case.

    Raises:
        ExperimentError: there is none.
    """
    for experiment in EXPERIMENTS:
        if experiment.id.lower() == name.lower():
            return experiment
    known = ", ".join(experiment.id for experiment in EXPERIMENTS)
    raise ExperimentError(f"experiment {name!r} is unknown; use one of {known}")
