"""Small experiments for the tests of the store and the runner, and a sweep that tells what it stored.

Every worker of these tests imports this module; what takes long to import is imported by the functions that need it.
"""

import os
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.store import Store
from pgsr.noise import Geometric
from pgsr.problems.problem import Problem

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
SMALL = DataSet(
    "small", lambda: CountOfCounts(TREE, [[0, 200, 30, 1], [0, 100, 1, 100]], "small"), (1, 2), 3, 432, False, "made up"
)


def plot(frame):
    import pytest

    pytest.fail("no test draws the figure of this experiment; give it a plot")


def verdicts(frame):
    return []


def experiment(measure=None, replicates=1, arms=None, data=(SMALL,), **fields) -> Experiment:
    """An experiment on two regions; `scale_...` fields go to its scale."""
    scale = {"time_limit": 60.0, "epsilons": (Fraction(1),)} | {
        name.removeprefix("scale_"): fields.pop(name) for name in list(fields) if name.startswith("scale_")
    }
    if measure is not None:
        fields["measure"] = measure
    return Experiment(
        id="T1",
        title="a test",
        question="Does it work?",
        arms=arms or (Arm("one", noise), Arm("two", noise)),
        profiles={Profile.SMOKE: Scale(data, replicates=replicates, **scale)},
        plot=plot,
        verdicts=verdicts,
        **fields,
    )


def noise(epsilon, levels):
    del levels
    return Geometric(View.COUNTS, epsilon)


def steps(epsilon, levels):
    del levels
    return Geometric(View.CUMULATIVE, epsilon)


def releases() -> tuple[Arm, Arm]:
    """Make the arms of two releases."""
    from pgsr.algorithms import TreeProjection
    from pgsr.estimators import IsotonicTreeProjection

    return Arm("M_H", noise, TreeProjection(), Problem.m_h), Arm("M_c^dp", steps, IsotonicTreeProjection())


def noisy_counts(trial: Trial) -> dict:
    """Cheap: the noise itself."""
    return {"noisy": trial.noise.measure(trial.truth, trial.source).matrix, "solve_seconds": time.time()}


@dataclass(frozen=True)
class Telling(Store):
    """Prints every key once it is stored."""

    def save(self, entry, profile):
        path = super().save(entry, profile)
        print(entry.cell.key, flush=True)
        return path


def failing_where(marker: str):
    """A measure that fails while a file exists."""

    def measure(trial):
        if os.path.exists(marker):
            raise ValueError("the marker is there")
        return {}

    return measure


if __name__ == "__main__":
    import sweeps

    from pgsr.experiments.engine.digest import code_digest
    from pgsr.experiments.engine.runner import run

    sweep = sweeps.experiment(sweeps.noisy_counts, int(sys.argv[2]))
    code_digest(sweep)  # takes a second, once
    print("ready", flush=True)
    run(sweep, Profile.SMOKE, Telling(Path(sys.argv[1])), jobs=2, say=str)
