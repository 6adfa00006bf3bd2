"""The cells of registered experiments at smoke profile, computed once per process for all tests that look at them."""

from copy import deepcopy
from functools import cache

from pgsr.experiments.engine.experiment import Experiment, Profile, Task
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.registry import find


def smoke_cells(experiment: Experiment) -> list[tuple[Task, Record]]:
    """List every cell with what was computed, a copy that a test may change."""
    assert find(experiment.id) is experiment, "a changed experiment has other cells; compute them"
    return [(task, deepcopy(record)) for task, record in _computed(experiment.id)]


@cache
def _computed(identity: str) -> list[tuple[Task, Record]]:
    return [(task, task.compute()) for task in find(identity).tasks(Profile.SMOKE)]
