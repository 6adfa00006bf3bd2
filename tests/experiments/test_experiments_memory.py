"""The memory of cells: estimates near the truth, refusals at once, no more cells together than fit."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import psutil
import pytest
import sweeps
from instances import rng_of, scale

from pgsr import CountOfCounts, Hierarchy
from pgsr.errors import MemoryNeededError
from pgsr.estimators import Matching
from pgsr.experiments.engine.experiment import Arm, DataSet, Profile
from pgsr.experiments.engine.memory_gate import MemoryGate
from pgsr.experiments.engine.runner import run
from pgsr.experiments.engine.store import CellState, Store

SMOKE = Profile.SMOKE


def test_what_cannot_fit_is_refused_at_once(tmp_path):
    """The refusal comes before anything is started."""
    huge = replace(sweeps.SMALL, name="huge", max_size=2**44)
    start = time.process_time()
    with pytest.raises(MemoryNeededError, match=r"cell T1 \| huge .* needs about .* GiB .*smaller --profile"):
        run(sweeps.experiment(data=(sweeps.SMALL, huge)), SMOKE, Store(tmp_path), say=str)
    assert time.process_time() - start < 1
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.slow
def test_no_more_cells_at_once_than_fit(tmp_path):
    def measure(trial):
        start = time.time()
        time.sleep(0 if "toy" in trial.truth.name else 0.5)
        return {"start": start, "end": time.time()}

    share = int(0.6 * psutil.virtual_memory().available)
    store = Store(tmp_path)
    run(sweeps.experiment(measure, memory=lambda *_: share), SMOKE, store, jobs=4, say=str)
    spans = sorted((e.record["start"], e.record["end"]) for e in store.entries("T1", SMOKE))  # type: ignore
    assert len(spans) == 2
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_a_gate_gives_back_what_it_lent():
    gate = MemoryGate(100)
    for _ in range(3):
        with gate.hold(60, "a"), gate.hold(40, "b"):
            pass
    with pytest.raises(MemoryNeededError, match="a big one needs"):
        gate.require(101, "a big one")


SHAPES = [(31, 100_001), (3_195, 2_001), (101, 20_001), (1_001, 5_001), (2, 1_000_001), (11, 300_001),
          (301, 10_001), (61, 40_001), (501, 12_001), (61, 201), (1_501, 10_001), (551, 100_001)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES[: scale(2, len(SHAPES))])
def test_the_memory_estimate(shape, tmp_path):
    """Within 25 % of the true peak of the hungriest of Kuo's methods."""
    regions, sizes = shape
    tree = Hierarchy.from_parents(["all", *(f"r{i}" for i in range(regions - 1))], [-1] + [0] * (regions - 1))

    def load():
        counts = np.zeros((regions - 1, sizes), np.int64)
        counts[:, :50] = rng_of(0).integers(0, 100, (regions - 1, 50))
        counts[0, 0] += 10**8 - counts.sum()
        return CountOfCounts(tree, counts, "made up")

    data = DataSet("shape", load, (1, regions - 1), sizes - 1, 10**8, False, "made up")
    arms = (Arm("Hc", sweeps.steps, Matching()),)
    experiment, store = sweeps.experiment(data=(data,), arms=arms), Store(tmp_path)
    assert run(experiment, SMOKE, store, jobs=1, say=str).ran == {CellState.DONE: 1}
    peak = max(e.peak_bytes for e in store.entries("T1", SMOKE))  # type: ignore
    estimate = experiment.tasks(SMOKE)[0].memory
    print(f"{regions} x {sizes}: estimate {estimate / 1e6:,.0f} MB, peak {peak / 1e6:,.0f} MB")
    assert 0.75 <= estimate / peak <= 1.25
