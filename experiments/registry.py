"""All experiments. A new one is a module with an `EXPERIMENT`, and a line in each of the two lists here."""

from experiments import (
    coco_bottom_up,
    coco_conditions,
    coco_naive,
    coco_norms,
    coco_positions,
    coco_selection,
    coco_statistics,
    coco_three_levels,
    coco_top_level,
    coco_two_levels,
    coco_weighting,
    hpd_errors,
    hpd_relations,
    hpd_scaling,
    pgsr_error_by_epsilon,
    pgsr_error_by_level,
    pgsr_exact_optima,
    pgsr_headline,
    pgsr_runtime_by_epsilon,
    pgsr_runtime_by_size,
)
from experiments.engine.experiment import Experiment, ExperimentError

EXPERIMENTS: tuple[Experiment, ...] = (
    coco_statistics.EXPERIMENT,
    coco_naive.EXPERIMENT,
    coco_top_level.EXPERIMENT,
    coco_positions.EXPERIMENT,
    coco_weighting.EXPERIMENT,
    coco_two_levels.EXPERIMENT,
    coco_three_levels.EXPERIMENT,
    coco_bottom_up.EXPERIMENT,
    coco_selection.EXPERIMENT,
    coco_norms.EXPERIMENT,
    coco_conditions.EXPERIMENT,
    pgsr_runtime_by_size.EXPERIMENT,
    pgsr_runtime_by_epsilon.EXPERIMENT,
    pgsr_error_by_epsilon.EXPERIMENT,
    pgsr_error_by_level.EXPERIMENT,
    pgsr_headline.EXPERIMENT,
    pgsr_exact_optima.EXPERIMENT,
    hpd_errors.EXPERIMENT,
    hpd_relations.EXPERIMENT,
    hpd_errors.MEANS,
    hpd_relations.MEANS,
    hpd_scaling.EXPERIMENT,
)


def find(name: str) -> Experiment:
    """The experiment of this id, in any case.

    Raises:
        ExperimentError: there is none.
    """
    for experiment in EXPERIMENTS:
        if experiment.id.lower() == name.lower():
            return experiment
    known = ", ".join(experiment.id for experiment in EXPERIMENTS)
    raise ExperimentError(f"experiment {name!r} is unknown; use one of {known}")
