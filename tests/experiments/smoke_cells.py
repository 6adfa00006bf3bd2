"""The cells of registered experiments at smoke profile, computed once per process for all tests that look at them."""

import io
import os
import warnings
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from pgsr.experiments.engine.experiment import Experiment, Profile, Task
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.store import CellState, StoredCell, to_frame
from pgsr.experiments.registry import find


def smoke_cells(experiment: Experiment) -> list[tuple[Task, Record]]:
    """List every cell with what was computed, a copy that a test may change."""
    assert find(experiment.id) is experiment, "a changed experiment has other cells; compute them"
    return [(task, deepcopy(record)) for task, record in _computed(experiment.id)]


@cache
def _computed(identity: str) -> list[tuple[Task, Record]]:
    return [(task, task.compute()) for task in find(identity).tasks(Profile.SMOKE)]


def stored(task: Task, record: Record, code: str = "code") -> StoredCell:
    """Make the entry that the runner stores."""
    rest = {name: value for name, value in record.items() if name != "reason"}
    reason = str(record.get("reason", ""))
    return StoredCell(task.cell, task.data.real, CellState.DONE, reason, rest, code, task.time_limit, 1.0, 1)


def runs_draws_and_judges(experiment: Experiment) -> pd.DataFrame:
    """Compute, draw and judge all cells, and the first alone, as of a sweep that was cut short; nothing may warn."""
    assert find(experiment.id) is experiment
    assert set(experiment.profiles) >= {Profile.SMOKE, Profile.PAPER}
    frame = to_frame([stored(task, record) for task, record in smoke_cells(experiment.owner)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in (frame.iloc[:1], frame):
            experiment.plot(part).savefig(io.BytesIO(), format="png")
            verdicts = experiment.verdicts(part)
            assert all(each.claim and each.words and "nan" not in each.words for each in verdicts)
    assert verdicts
    return frame


def one_quick(ids: Sequence[str], quick: str) -> list:
    """Make the parameters of a test of experiments: one runs in `make test`, all others are slow."""
    return [pytest.param(each, marks=() if each == quick else pytest.mark.slow) for each in ids]


def needs(file: str) -> pytest.MarkDecorator:
    """Mark a test that needs a file of the real data."""
    there = (Path(os.environ.get("PGSR_DATA", "/nowhere")) / file).is_file()
    return pytest.mark.skipif(not there, reason=f"PGSR_DATA names no folder with {file}")
