"""The runner: nothing finished is lost or computed again, whatever is killed, torn, stale or too large."""

import os
import queue
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import sweeps
from instances import rng_of, scale
from waiting import MINUTES, until

from pgsr.errors import DataError
from pgsr.experiments.engine import runner
from pgsr.experiments.engine.experiment import Arm, ExperimentError, Profile
from pgsr.experiments.engine.runner import CellCondition, conditions
from pgsr.experiments.engine.store import CellState, Store, StoredCell, Torn
from pgsr.machine import isolation

ROOT = Path(__file__).parents[2]
SMOKE, RESULTS = Profile.SMOKE, Store(Path("results"))


def late(times: int):
    """Make workers whose first `times` processes are not ready in time; waits that long take no time here."""
    answer, left, asked = isolation.Worker._answer, [times], []

    def answered(self, seconds):
        if seconds >= isolation.START_LIMIT and left[0]:
            asked.append(seconds)
            left[0] -= 1
            raise queue.Empty
        return answer(self, seconds)

    return answered, asked


def contents(store: Store, experiment: str = "T1") -> dict[str, object]:
    return {e.cell.key: e.content() for e in store.entries(experiment, SMOKE) if isinstance(e, StoredCell)}


run = partial(runner.run, say=str)


@pytest.mark.slow
def test_a_cell_that_did_not_start_in_time_starts_again(tmp_path, monkeypatch):
    """The machine was busy: nothing is lost, and the summary says how many cells it happened to."""
    store, experiment = Store(tmp_path), sweeps.experiment(arms=sweeps.releases(), replicates=2)
    answered, asked = late(2)
    monkeypatch.setattr(isolation.Worker, "_answer", answered)
    summary = run(experiment, SMOKE, store, jobs=1)
    assert summary.ran == {CellState.DONE: 4}
    assert summary.restarted == 1
    assert asked == [isolation.START_LIMIT, 2 * isolation.START_LIMIT]
    assert sorted(e.starts for e in store.entries("T1", SMOKE) if isinstance(e, StoredCell)) == [1, 1, 1, 3]
    never = Store(tmp_path / "never")
    monkeypatch.setattr(isolation.Worker, "_answer", late(10)[0])
    summary = run(replace(experiment, arms=experiment.arms[:1]), SMOKE, never, jobs=1)
    assert summary.ran == {CellState.FAILED: 2}
    assert "did not start in time (imports, compilation) in 3 processes" in summary.failures[0][1]
    plain = Store(tmp_path / "plain")
    monkeypatch.undo()
    run(experiment, SMOKE, plain)
    assert contents(store) == contents(plain)


@pytest.mark.slow
def test_a_second_run_does_nothing_and_a_cell_alone_is_identical(tmp_path):
    store, experiment = Store(tmp_path), sweeps.experiment(arms=sweeps.releases(), replicates=2)
    summary = run(experiment, SMOKE, store)
    assert summary.ran == {CellState.DONE: 4}
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    again = run(experiment, SMOKE, store)
    assert again.ran == {}
    assert again.before == {CellCondition.FINISHED: 4}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    for task in experiment.tasks(SMOKE):
        stored = store.load(task.cell, SMOKE)
        assert isinstance(stored, StoredCell)
        alone = replace(stored, record={k: v for k, v in task.compute().items() if k != "reason"})
        assert alone.content() == stored.content()
        assert stored.record["status"] in ("OPTIMAL", "FEASIBLE")
        assert len(stored.record["levels"]["l1"]) == 2
        assert stored.peak_bytes > 10**7
    frame = store.frame("T1", SMOKE)
    assert (frame.loc[frame["arm"] == "M_H", "objective"] == frame.loc[frame["arm"] == "M_H", "bound"]).all()


def test_all_arms_see_the_same_noise():
    tasks = sweeps.experiment(sweeps.noisy_counts, replicates=2).tasks(SMOKE)
    found = {(t.cell.replicate, t.cell.arm): t.compute()["noisy"].tolist() for t in tasks}
    for replicate in (0, 1):
        assert found[replicate, "one"] == found[replicate, "two"]
    assert found[0, "one"] != found[1, "one"]


@pytest.mark.slow
def test_nothing_finished_is_lost_to_sigkill(tmp_path):
    """A sweep killed at random times, again and again, ends as if nothing had happened."""
    kills, cells = scale(2, 20), scale(40, 2_000)
    rng, store, told = rng_of(16), Store(tmp_path / "killed"), set()
    lost = torn = while_running = 0
    log = tmp_path / "log"
    for kill in range(kills):
        command = [sys.executable, "tests/experiments/sweeps.py", store.root, str(cells)]
        with log.open("wb") as out:
            sweep = subprocess.Popen(command, cwd=ROOT, stdout=out, env={**os.environ, "PYTHONPATH": str(ROOT)})
        until(lambda: log.read_bytes().startswith(b"ready\n"))
        if kill % 2:  # on a busy machine nothing may be finished within seconds
            until(lambda sweep=sweep: log.read_bytes().count(b"\n") > 1 or sweep.poll() is not None)
        time.sleep(rng.uniform(0.0, 1.5))
        while_running += sweep.poll() is None
        sweep.kill()
        assert sweep.wait() in (0, -signal.SIGKILL)
        told |= {line.strip() for line in log.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")}
        torn += sum(isinstance(entry, Torn) for entry in store.entries("T1", SMOKE))
        lost += len(told - contents(store).keys())
    print(f"{kills} kills ({while_running} while running), {len(told)} of {2 * cells} cells had been finished:")
    print(f"{lost} lost, {torn} torn files")
    assert (lost, torn) == (0, 0)
    assert while_running
    assert told
    experiment = sweeps.experiment(sweeps.noisy_counts, cells)
    assert run(experiment, SMOKE, store).before.get(CellCondition.FINISHED, 0) >= len(told)
    expected = {task.cell.key for task in experiment.tasks(SMOKE)}
    assert contents(store).keys() == expected
    for task in experiment.tasks(SMOKE):
        stored = store.load(task.cell, SMOKE)
        assert isinstance(stored, StoredCell)
        assert replace(stored, record=task.compute()).content() == stored.content()


@pytest.mark.slow
def test_failed_cells_are_kept_and_run_again(tmp_path):
    store, marker = Store(tmp_path), tmp_path / "marker"
    marker.touch()
    experiment = sweeps.experiment(sweeps.failing_where(str(marker)))
    summary = run(experiment, SMOKE, store)
    assert summary.ran == {CellState.FAILED: 2}
    assert summary.failures[0][1] == "ValueError: the marker is there"
    assert store.frame("T1", SMOKE)["reason"].tolist() == ["ValueError: the marker is there"] * 2
    marker.unlink()
    again = run(experiment, SMOKE, store)
    assert again.before == {CellCondition.FAILED: 2}
    assert again.ran == {CellState.DONE: 2}


@pytest.mark.slow
def test_short_cells_share_a_process(tmp_path, monkeypatch):
    """Cells of milliseconds in two processes, one per arm; a cell's seconds are never shared where they count."""

    def measure(trial):
        return {"pid": os.getpid(), "at": time.time()}

    shared, alone, long = (Store(tmp_path / name) for name in ("shared", "alone", "long"))
    run(sweeps.experiment(measure, replicates=6), SMOKE, shared, jobs=1)
    frame = shared.frame("T1", SMOKE)
    assert len(frame) == 12
    assert all(frame.groupby("pid")["arm"].nunique() == 1), "a process serves one arm"
    assert frame["pid"].nunique() == 2
    run(sweeps.experiment(measure, replicates=2, alone=True), SMOKE, alone, jobs=2)
    assert alone.frame("T1", SMOKE)["pid"].nunique() == 4
    monkeypatch.setattr(runner, "SHORT", 0.0)
    run(sweeps.experiment(measure, replicates=2), SMOKE, long, jobs=1)
    frame = long.frame("T1", SMOKE).sort_values("at")
    assert frame["pid"].nunique() == 4, "a long cell has a process of its own, too"
    assert frame["replicate"].tolist() == [0, 0, 1, 1], "and they run in their order"


@pytest.mark.slow
def test_a_shared_process_that_dies_or_is_late_takes_one_cell_with_it(tmp_path):
    def measure(trial):
        if "toy" not in trial.truth.name and trial.cell.replicate == 1:
            os._exit(7)
        if "toy" not in trial.truth.name and trial.cell.replicate == 3:
            time.sleep(60)
        if "toy" not in trial.truth.name and trial.cell.replicate == 4:
            return {"status": "UNLICENSED", "reason": "buy one"}
        return {"pid": os.getpid()}

    store, arms = Store(tmp_path), (Arm("one"),)
    experiment = sweeps.experiment(measure, replicates=6, arms=arms, scale_time_limit=1.0)
    summary = run(experiment, SMOKE, store, jobs=1)
    assert summary.absent == ("buy one",), "a licence that is missing is no failure"
    states = store.frame("T1", SMOKE).sort_values("replicate")
    assert states["state"].tolist() == ["done", "failed", "done", "timed out", "not installed", "done"]
    assert states.loc[states["replicate"] == 1, "reason"].item() == "the process died with exit code 7"
    assert states["pid"].nunique() == 3
    assert run(experiment, SMOKE, store).before[CellCondition.ABSENT] == 1, "and is asked for again"


@pytest.mark.slow
def test_time_limits_are_hard_and_their_answers_final(tmp_path):
    def measure(trial):
        time.sleep(0 if "toy" in trial.truth.name else MINUTES)
        return {}

    store, arms = Store(tmp_path), (Arm("slow"),)
    start, half = time.perf_counter(), sweeps.experiment(measure, arms=arms, scale_time_limit=0.5)
    assert run(half, SMOKE, store).ran == {CellState.TIMED_OUT: 1}
    assert time.perf_counter() - start < MINUTES
    assert store.frame("T1", SMOKE).loc[0, "reason"] == "stopped after 0.5 s without an answer"
    assert run(half, SMOKE, store).ran == {}
    more = run(sweeps.experiment(measure, arms=arms, scale_time_limit=1.0), SMOKE, store)
    assert more.ran == {CellState.TIMED_OUT: 1}, "more time, another attempt"


@pytest.mark.slow
def test_stale_and_torn_cells_are_run_again(tmp_path, monkeypatch):
    store, experiment = Store(tmp_path), sweeps.experiment(sweeps.noisy_counts)
    run(experiment, SMOKE, store)
    path = next(tmp_path.rglob("*.json"))
    path.write_bytes(path.read_bytes()[:100])
    torn = run(experiment, SMOKE, store)
    assert torn.before == {CellCondition.FINISHED: 1, CellCondition.TORN: 1}
    assert torn.ran == {CellState.DONE: 1}
    monkeypatch.setattr(runner, "code_digest", lambda experiment: "other sources")
    assert [c for _, c in conditions(experiment.tasks(SMOKE), SMOKE, store)] == [CellCondition.STALE] * 2
    assert run(experiment, SMOKE, store, keep_stale=True).ran == {}
    limited = run(experiment, SMOKE, store, limit=1)
    assert (limited.ran, limited.left) == ({CellState.DONE: 1}, 1)


def test_absent_data_falls_back_or_is_left_out():
    def absent():
        raise DataError("no such file; set PGSR_DATA")

    real = replace(sweeps.SMALL, name="real", real=True, load=absent)
    stand_in = replace(real, name="known", fallback=sweeps.SMALL)
    there, notes = sweeps.experiment(data=(real, stand_in)).available(SMOKE)
    assert [data.name for data in there.scale(SMOKE).data] == ["small"]
    assert notes[0].startswith("real is left out: no such file")
    assert "small (generated) stands in" in notes[1]
    wrong = replace(sweeps.SMALL, groups=1)
    with pytest.raises(DataError, match="correct the declaration"):
        wrong.truth()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sweeps.experiment(arms=(Arm("a"), Arm("a"))), "each label once"),
        (lambda: sweeps.experiment(data=(sweeps.SMALL, sweeps.SMALL)), "each name once"),
        (lambda: sweeps.experiment().tasks(Profile.PAPER), "has no profile paper"),
        (lambda: run(sweeps.experiment(), SMOKE, RESULTS, jobs=2, scheduler="tcp://x:1"), "--jobs has no meaning"),
        (lambda: run(sweeps.experiment(), SMOKE, RESULTS, scheduler="no-such-scheme://host:1"), "no-such-|distr"),
    ],
)
def test_what_makes_no_sense_is_refused(call, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExperimentError, match=says):
        call()


@pytest.mark.full
def test_dask_workers_give_the_same_records(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install '.[cluster]'")
    experiment = sweeps.experiment(arms=sweeps.releases())
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run(experiment, SMOKE, here)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        summary = run(experiment, SMOKE, there, scheduler=cluster.scheduler_address)
    assert summary.ran == {CellState.DONE: 2}
    assert contents(here) == contents(there)
