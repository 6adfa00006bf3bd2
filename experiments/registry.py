"""All experiments. A new one is a module with an `EXPERIMENT`, and a line in each of the two lists here."""

from experiments import coco_bottom_up
from experiments.experiment import Experiment, ExperimentError

EXPERIMENTS: tuple[Experiment, ...] = (coco_bottom_up.EXPERIMENT,)


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
