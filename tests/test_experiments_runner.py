"""The runner: nothing finished is lost or computed again, whatever is killed, torn, stale or too large."""

import os
import queue
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest
import sweeps
from instances import scale
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, PgsrError
from pgsr.algorithms import Matching
from pgsr.errors import DataError, MemoryNeededError
from pgsr.experiments.__main__ import app
from pgsr.experiments.engine import from_file, runner, worker
from pgsr.experiments.engine.experiment import Arm, DataSet, ExperimentError, Profile
from pgsr.experiments.engine.memory_gate import MemoryGate
from pgsr.experiments.engine.runner import Condition, conditions, run
from pgsr.experiments.engine.store import Entry, State, Store, Torn
from pgsr.experiments.registry import EXPERIMENTS, find

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SMOKE = Profile.SMOKE


def late(times: int):
    """Make workers whose first `times` processes are not ready in time; waits that long take no time here."""
    answer, left, asked = worker.Worker._answer, [times], []

    def answered(self, seconds):
        if seconds >= worker.START_LIMIT and left[0]:
            asked.append(seconds)
            left[0] -= 1
            raise queue.Empty
        return answer(self, seconds)

    return answered, asked


def contents(store: Store, experiment: str = "T1") -> dict[str, object]:
    return {e.cell.key: e.content() for e in store.entries(experiment, SMOKE) if isinstance(e, Entry)}


def quiet(text: str) -> None:
    del text


def test_a_cell_that_did_not_start_in_time_starts_again(tmp_path, monkeypatch):
    """The machine was busy: nothing is lost, and the summary says how many cells it happened to."""
    store, experiment = Store(tmp_path), sweeps.experiment(arms=sweeps.RELEASES, replicates=2)
    answered, asked = late(2)
    monkeypatch.setattr(worker.Worker, "_answer", answered)
    summary = run(experiment, SMOKE, store, jobs=1, say=quiet)
    assert summary.ran == {State.DONE: 4}
    assert summary.restarted == 1
    assert asked == [worker.START_LIMIT, 2 * worker.START_LIMIT]
    assert sorted(e.starts for e in store.entries("T1", SMOKE) if isinstance(e, Entry)) == [1, 1, 1, 3]
    plain = Store(tmp_path / "plain")
    monkeypatch.undo()
    run(experiment, SMOKE, plain, say=quiet)
    assert contents(store) == contents(plain)


def test_a_cell_that_never_starts_in_time_fails_and_says_so(tmp_path, monkeypatch):
    store, experiment = Store(tmp_path), sweeps.experiment(arms=sweeps.RELEASES)
    monkeypatch.setattr(worker.Worker, "_answer", late(10)[0])
    summary = run(experiment, SMOKE, store, jobs=1, say=quiet)
    assert summary.ran == {State.FAILED: 2}
    assert {reason for _, reason in summary.failures} == {
        "did not start in time (imports, compilation) in 3 processes, the machine is too busy; run it again, compiled "
        "code is kept"
    }


def rest(trial) -> dict:
    del trial
    time.sleep(0.2)
    return {}


def burn(trial) -> dict:
    """Work for 0.3 s here, and for 0.4 s in another process."""
    del trial
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.4: pass"], check=True)
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    return {}


def burn_on(trial) -> dict:
    while trial.truth.hierarchy.paths[0][0] == "US":  # not while it warms up
        pass
    return {}


def test_cpu_seconds_are_of_the_cell_and_its_processes(tmp_path):
    """Waiting does not count; the first cell of a process pays for its start; cells that are late count, too."""
    store, arms = Store(tmp_path), sweeps.RELEASES[:1]
    for measure, identity, seconds in ((rest, "R", 60), (burn, "B", 60), (burn_on, "O", 1)):
        asked = sweeps.experiment(measure, replicates=3, arms=arms, scale_time_limit=seconds)
        run(replace(asked, id=identity), SMOKE, store, jobs=1, say=quiet)
    resting, burning, late = (
        sorted(e.cpu_seconds for e in store.entries(identity, SMOKE) if isinstance(e, Entry)) for identity in "RBO"
    )
    assert 0 <= resting[0] <= resting[1] < 0.15 < resting[2]
    assert burning[0] >= 0.65  # clocks tick in hundredths
    assert late[0] > 0.5
    assert set(store.frame("O", SMOKE)["state"]) == {State.TIMED_OUT}


def test_a_second_run_does_nothing_and_a_cell_alone_is_identical(tmp_path):
    store, experiment = Store(tmp_path), sweeps.experiment(arms=sweeps.RELEASES, replicates=2)
    summary = run(experiment, SMOKE, store, say=quiet)
    assert summary.ran == {State.DONE: 4}
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    again = run(experiment, SMOKE, store, say=quiet)
    assert again.ran == {}
    assert again.before == {Condition.FINISHED: 4}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    for task in experiment.tasks(SMOKE):
        stored = store.load(task.cell, SMOKE)
        assert isinstance(stored, Entry)
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


def test_nothing_finished_is_lost_to_sigkill(tmp_path):
    """A sweep killed at random times, again and again, ends as if nothing had happened."""
    kills, cells = scale(3, 60), scale(300, 6_000)
    rng, store, told = np.random.default_rng(16), Store(tmp_path / "killed"), set()
    lost = torn = while_running = 0
    log = tmp_path / "log"
    for kill in range(kills):
        command = [sys.executable, "tests/sweeps.py", store.root, str(cells)]
        with log.open("wb") as out:
            sweep = subprocess.Popen(command, cwd=ROOT, stdout=out, env={**os.environ, "PYTHONPATH": str(ROOT)})
        _until(lambda: log.read_bytes().startswith(b"ready\n"))
        if kill % 2:  # on a busy machine nothing may be finished within seconds
            _until(lambda sweep=sweep: log.read_bytes().count(b"\n") > 1 or sweep.poll() is not None)
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
    assert run(experiment, SMOKE, store, say=quiet).before.get(Condition.FINISHED, 0) >= len(told)
    expected = {task.cell.key for task in experiment.tasks(SMOKE)}
    assert contents(store).keys() == expected
    for task in experiment.tasks(SMOKE):
        stored = store.load(task.cell, SMOKE)
        assert isinstance(stored, Entry)
        assert replace(stored, record=task.compute()).content() == stored.content()


def test_cells_end_with_a_killed_sweep(tmp_path):
    code = "import sys, time, sweeps; from pgsr.experiments.engine.experiment import Profile\n"
    code += "from pgsr.experiments.engine.runner import run; from pgsr.experiments.engine.store import *\n"
    code += (
        "mark = sys.argv[2]\ndef forever(trial):\n    open(mark, 'w').write(str(os.getpid()))\n    time.sleep(300)\n"
    )
    code += "run(sweeps.experiment(forever, arms=sweeps.RELEASES[:1]), Profile.SMOKE, Store(Path(sys.argv[1])), jobs=1)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    for end in (signal.SIGKILL, signal.SIGINT):
        mark = tmp_path / f"pid {end}"
        sweep = subprocess.Popen(
            [sys.executable, "-c", code, tmp_path, mark], env=environment, stderr=subprocess.DEVNULL
        )
        _until(lambda mark=mark: mark.exists() and mark.read_text())
        cell = psutil.Process(int(mark.read_text()))
        sweep.send_signal(end)
        assert sweep.wait(20) != 0
        _until(lambda cell=cell: not cell.is_running() or cell.status() == psutil.STATUS_ZOMBIE)
        assert list(tmp_path.rglob("*.json")) == []


def test_failed_cells_are_kept_and_run_again(tmp_path):
    store, marker = Store(tmp_path), tmp_path / "marker"
    marker.touch()
    experiment = sweeps.experiment(sweeps.failing_where(str(marker)))
    summary = run(experiment, SMOKE, store, say=quiet)
    assert summary.ran == {State.FAILED: 2}
    assert summary.failures[0][1] == "ValueError: the marker is there"
    assert store.frame("T1", SMOKE)["reason"].tolist() == ["ValueError: the marker is there"] * 2
    marker.unlink()
    again = run(experiment, SMOKE, store, say=quiet)
    assert again.before == {Condition.FAILED: 2}
    assert again.ran == {State.DONE: 2}


def test_a_cell_that_dies_takes_nothing_with_it(tmp_path):
    def measure(trial):
        if trial.arm.label == "one":
            os._exit(7)
        return {"status": "UNLICENSED", "reason": "buy one"} if trial.cell.replicate else {"a": 1}

    store = Store(tmp_path)
    experiment = sweeps.experiment(measure, replicates=2)
    summary = run(experiment, SMOKE, store, say=quiet)
    assert summary.ran == {State.FAILED: 2, State.ABSENT: 1, State.DONE: 1}
    assert {reason for _, reason in summary.failures} == {"the process died with exit code 7"}
    assert summary.absent == ("buy one",), "a licence that is missing is no failure"
    assert run(experiment, SMOKE, store, say=quiet).before[Condition.ABSENT] == 1, "and is asked for again"


def test_short_cells_share_a_process(tmp_path):
    """36 cells of milliseconds in two processes, one per arm; a cell's seconds are never shared where they count."""

    def measure(trial):
        return {"pid": os.getpid()}

    shared, alone = Store(tmp_path / "shared"), Store(tmp_path / "alone")
    run(sweeps.experiment(measure, replicates=18), SMOKE, shared, jobs=1, say=quiet)
    frame = shared.frame("T1", SMOKE)
    assert len(frame) == 36
    assert all(frame.groupby("pid")["arm"].nunique() == 1), "a process serves one arm"
    assert frame["pid"].nunique() == 2
    run(sweeps.experiment(measure, replicates=2, alone=True), SMOKE, alone, jobs=2, say=quiet)
    assert alone.frame("T1", SMOKE)["pid"].nunique() == 4


def test_long_cells_have_a_process_each_and_run_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "SHORT", 0.0)
    store = Store(tmp_path)
    run(sweeps.experiment(lambda trial: {"pid": os.getpid(), "at": time.time()}, 2), SMOKE, store, jobs=1, say=quiet)
    frame = store.frame("T1", SMOKE).sort_values("at")
    assert frame["pid"].nunique() == 4
    assert frame["replicate"].tolist() == [0, 0, 1, 1]


def test_a_shared_process_that_dies_or_is_late_takes_one_cell_with_it(tmp_path):
    def measure(trial):
        if "toy" not in trial.truth.name and trial.cell.replicate == 1:
            os._exit(7)
        if "toy" not in trial.truth.name and trial.cell.replicate == 3:
            time.sleep(60)
        return {"pid": os.getpid()}

    store, arms = Store(tmp_path), (Arm("one"),)
    experiment = sweeps.experiment(measure, replicates=6, arms=arms, scale_time_limit=1.0)
    assert run(experiment, SMOKE, store, jobs=1, say=quiet).ran == {State.DONE: 4, State.FAILED: 1, State.TIMED_OUT: 1}
    states = store.frame("T1", SMOKE).sort_values("replicate")
    assert states["state"].tolist() == ["done", "failed", "done", "timed out", "done", "done"]
    assert states.loc[states["replicate"] == 1, "reason"].item() == "the process died with exit code 7"
    assert states["pid"].nunique() == 3


def test_memory_of_a_cell_is_its_own(tmp_path):
    """A cell after a large one in the same process is small again, and imports count for none."""

    def measure(trial):
        cells = 10_000_000 if trial.cell.replicate == 1 and "toy" not in trial.truth.name else 1
        return {"pid": os.getpid(), "sum": int(np.ones(cells).sum())}

    store = Store(tmp_path)
    run(sweeps.experiment(measure, replicates=3, arms=(Arm("one"),)), SMOKE, store, jobs=1, say=quiet)
    frame = store.frame("T1", SMOKE).sort_values("replicate")
    if frame["pid"].nunique() > 1:
        pytest.skip("the kernel does not let a process forget its peak, so no process is shared here")
    own = frame["own_mb"].fillna(0).tolist()
    assert 70 < own[1] < 110
    assert max(own[0], own[2]) < 20
    assert frame["peak_mb"].min() > 50


def test_time_limits_are_hard_and_their_answers_final(tmp_path):
    def measure(trial):
        time.sleep(0 if "toy" in trial.truth.name else 30)
        return {}

    store, arms = Store(tmp_path), (Arm("slow"),)
    start = time.perf_counter()
    assert run(sweeps.experiment(measure, arms=arms, scale_time_limit=0.5), SMOKE, store).ran == {State.TIMED_OUT: 1}
    assert time.perf_counter() - start < 20
    assert store.frame("T1", SMOKE).loc[0, "reason"] == "stopped after 0.5 s without an answer"
    assert run(sweeps.experiment(measure, arms=arms, scale_time_limit=0.5), SMOKE, store).ran == {}
    more = run(sweeps.experiment(measure, arms=arms, scale_time_limit=1.0), SMOKE, store)
    assert more.ran == {State.TIMED_OUT: 1}, "more time, another attempt"


def test_stale_and_torn_cells_are_run_again(tmp_path, monkeypatch):
    store, experiment = Store(tmp_path), sweeps.experiment(sweeps.noisy_counts)
    run(experiment, SMOKE, store, say=quiet)
    path = next(tmp_path.rglob("*.json"))
    path.write_bytes(path.read_bytes()[:100])
    torn = run(experiment, SMOKE, store, say=quiet)
    assert torn.before == {Condition.FINISHED: 1, Condition.TORN: 1}
    assert torn.ran == {State.DONE: 1}
    monkeypatch.setattr(runner, "code_digest", lambda experiment: "other sources")
    assert [c for _, c in conditions(experiment.tasks(SMOKE), SMOKE, store)] == [Condition.STALE] * 2
    assert run(experiment, SMOKE, store, keep_stale=True, say=quiet).ran == {}
    limited = run(experiment, SMOKE, store, limit=1, say=quiet)
    assert (limited.ran, limited.left) == ({State.DONE: 1}, 1)


def test_what_cannot_fit_is_refused_at_once(tmp_path):
    """The refusal comes before anything is started."""
    huge = replace(sweeps.SMALL, name="huge", max_size=2**44)
    start = time.perf_counter()
    with pytest.raises(MemoryNeededError, match=r"cell T1 \| huge .* needs about .* GiB .*smaller --profile"):
        run(sweeps.experiment(data=(sweeps.SMALL, huge)), SMOKE, Store(tmp_path), say=quiet)
    assert time.perf_counter() - start < 1
    assert list(tmp_path.rglob("*.json")) == []


def test_no_more_cells_at_once_than_fit(tmp_path):
    def measure(trial):
        start = time.time()
        time.sleep(0 if "toy" in trial.truth.name else 0.5)
        return {"start": start, "end": time.time()}

    share = int(0.6 * psutil.virtual_memory().available)
    store = Store(tmp_path)
    run(sweeps.experiment(measure, memory=lambda *_: share), SMOKE, store, jobs=4, say=quiet)
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


@pytest.mark.parametrize("shape", SHAPES[: scale(2, len(SHAPES))])
def test_the_memory_estimate(shape, tmp_path):
    """Within 25 % of the true peak of the hungriest of Kuo's methods."""
    regions, sizes = shape
    tree = Hierarchy.from_parents(["all", *(f"r{i}" for i in range(regions - 1))], [-1] + [0] * (regions - 1))

    def load():
        counts = np.zeros((regions - 1, sizes), np.int64)
        counts[:, :50] = np.random.default_rng(0).integers(0, 100, (regions - 1, 50))
        counts[0, 0] += 10**8 - counts.sum()
        return CountOfCounts(tree, counts, "made up")

    data = DataSet("shape", load, (1, regions - 1), sizes - 1, 10**8, False, "made up")
    arms = (Arm("Hc", sweeps.steps, Matching()),)
    experiment, store = sweeps.experiment(data=(data,), arms=arms), Store(tmp_path)
    assert run(experiment, SMOKE, store, jobs=1, say=quiet).ran == {State.DONE: 1}
    peak = max(e.peak_bytes for e in store.entries("T1", SMOKE))  # type: ignore
    estimate = experiment.tasks(SMOKE)[0].memory
    print(f"{regions} x {sizes}: estimate {estimate / 1e6:,.0f} MB, peak {peak / 1e6:,.0f} MB")
    assert 0.75 <= estimate / peak <= 1.25


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


def test_experiments_that_make_no_sense_are_refused():
    with pytest.raises(ExperimentError, match="each label once"):
        sweeps.experiment(arms=(Arm("a"), Arm("a")))
    with pytest.raises(ExperimentError, match="each name once"):
        sweeps.experiment(data=(sweeps.SMALL, sweeps.SMALL))
    with pytest.raises(ExperimentError, match="has no profile paper"):
        sweeps.experiment().tasks(Profile.PAPER)


def test_free_parameters_and_preparation(tmp_path):
    def prepare(truth, parameters):
        return CountOfCounts(truth.hierarchy, truth.counts[:, : parameters.get("N", 3) + 1], truth.name)

    def measure(trial):
        return {"cells": trial.truth.counts.size, "half": Fraction(1, 2), "N_seen": trial.parameters["N"]}

    grid = ((("N", 1),), (("N", 2),))
    store = Store(tmp_path)
    run(sweeps.experiment(measure, prepare=prepare, scale_grid=grid, arms=(Arm("a"),)), SMOKE, store, say=quiet)
    frame = store.frame("T1", SMOKE)
    assert frame[["N", "N_seen", "cells"]].to_numpy().tolist() == [[1, 1, 6], [2, 2, 9]]
    assert frame["half"].tolist() == ["1/2"] * 2


def test_dask_workers_give_the_same_records(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'pgsr[cluster]'")
    experiment = sweeps.experiment(arms=sweeps.RELEASES)
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run(experiment, SMOKE, here, say=quiet)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        summary = run(experiment, SMOKE, there, scheduler=cluster.scheduler_address, say=quiet)
    assert summary.ran == {State.DONE: 2}
    assert contents(here) == contents(there)


def test_a_scheduler_that_is_not_there_is_a_sentence(tmp_path):
    pytest.importorskip("distributed", reason="pip install 'pgsr[cluster]'")
    with pytest.raises(ExperimentError, match="no-such-scheme"):
        run(sweeps.experiment(), SMOKE, Store(tmp_path), scheduler="no-such-scheme://host:1", say=quiet)


def test_the_registry_is_sound():
    ids = [experiment.id for experiment in EXPERIMENTS]
    assert len({name.lower() for name in ids}) == len(ids)
    for experiment in EXPERIMENTS:
        for profile in experiment.profiles:
            keys = [task.cell.key for task in experiment.tasks(profile)]
            assert keys
            assert len(set(keys)) == len(keys)
    assert find("k8").id == "K8"
    with pytest.raises(ExperimentError, match=r"'K99' is unknown; use one of .*K8"):
        find("K99")


def test_the_command_line(tmp_path, monkeypatch):
    def call(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments])
        assert done.exit_code == 0, done.output
        return done.output

    out = ["--out", str(tmp_path)]
    assert "K8" in call("list")
    assert "8 cells: 8 missing; ran: 4 done; 4 left" in call("run", "k8", "--profile", "smoke", "--limit", "4", *out)
    assert "8" in call("status", "K8", *out)
    plotted = call("plot", "K8", "--profile", "smoke", *out)
    assert "bottom-up is better at" in " ".join(plotted.split())
    assert "profile too small" in " ".join(plotted.split())
    assert {path.suffix for path in (tmp_path / "K8" / "smoke").iterdir()} == {".json", ".png", ".pdf"}
    said = " ".join(call("verdicts", "K8", "K9", "--profile", "smoke", *out).split())
    assert "4 cells are missing" in said
    assert "K9 L1 against L2 nothing is stored" in said
    assert "1 of 2 experiments have results in profile smoke: " in said
    assert "Findings by cause" in said
    assert "bottom-up is better at" in said
    for arguments in (
        ["run", "K99"],
        ["plot", "K99"],
        ["status", "K99"],
        ["plot", "K8", "--profile", "paper", *out],
        ["verdicts", "K8", "--profile", "paper", *out],
    ):
        error = CliRunner().invoke(app, arguments).exception
        assert isinstance(error, PgsrError)
        assert "use one of" in str(error) or "python -m pgsr.experiments run K8 --profile paper" in str(error)
    monkeypatch.setattr(
        "pgsr.experiments.commands.registered.find", lambda name: sweeps.experiment(lambda trial: {}, arms=(Arm("a"),))
    )
    assert "1 cells: 1 missing; ran: 1 done" in call("run", "T1", "--profile", "smoke", *out)
    assert "nothing to do: 1 cells, 1 finished" in call("run", "T1", "--profile", "smoke", *out)


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """The command line as a user has it, in a folder of the user's."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "150"}
    command = [sys.executable, "-m", "pgsr.experiments", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_a_new_experiment_runs_as_it_is(tmp_path):
    """The template gives a figure, a report and verdicts, without a registry; the second run has nothing to do."""
    written = call("new", "mine", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "python -m pgsr.experiments run mine.py --profile smoke" in written.stdout
    ran = call("run", "mine.py", "--profile", "smoke", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 cells: 4 missing; ran: 4 done" in ran.stdout
    assert "nothing to do: 4 cells, 4 finished" in call("run", "mine.py", "--profile", "smoke", cwd=tmp_path).stdout
    drawn = call("plot", "mine.py", "--profile", "smoke", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "results" / "mine" / "smoke" / "mine.png").read_bytes().startswith(b"\x89PNG")
    assert "too few replicates: 2 of 5" in " ".join(drawn.stdout.split())
    reported = call("report", "mine.py", "--profile", "smoke", cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "results" / "report" / "report.md").read_text()
    assert "`python -m pgsr.experiments run mine.py --profile quick`" in page.replace(
        "PGSR_DATA=folder-of-the-real-data ", ""
    )
    again = call("new", "mine", cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already; choose another name" in again.stderr
    changed = (tmp_path / "mine.py").read_text().replace('totals="root")', 'totals="regions")')
    (tmp_path / "mine.py").write_text(changed)
    assert "4 stale" in call("run", "mine.py", "--profile", "smoke", "--limit", "1", cwd=tmp_path).stdout


def test_files_that_define_no_experiment_are_sentences(tmp_path):
    (tmp_path / "helper.py").write_text("NUMBER = 5\n")
    (tmp_path / "none.py").write_text("from helper import NUMBER\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    several = "import sweeps\nONE, TWO = sweeps.experiment(), sweeps.experiment()\n"
    (tmp_path / "several.py").write_text(several)
    for name, words in (
        ("none.py", "defines no experiment; give the one to run the name EXPERIMENT"),
        ("several.py", "defines several experiments"),
        ("broken.py", "cannot be run: ZeroDivisionError"),
        ("absent.py", "there is no file absent.py"),
    ):
        with pytest.raises(ExperimentError, match=words):
            from_file.load(tmp_path / name)
    (tmp_path / "chosen.py").write_text(several + "EXPERIMENT = TWO\n")
    assert from_file.load(tmp_path / "chosen.py").id == "T1"
    for name in ("two words", "", "../x", "1st"):
        with pytest.raises(ExperimentError, match="cannot name an experiment"):
            from_file.write_template(name, tmp_path)


def test_help_has_examples_that_are_commands():
    for arguments in ([], ["run"], ["new"], ["plot"], ["status"], ["verdicts"], ["report"], ["compare"], ["list"]):
        done = CliRunner().invoke(app, [*arguments, "--help"], terminal_width=200)
        assert done.exit_code == 0
        examples = re.findall(r"python -m pgsr.experiments ([a-z-]+)", done.output)
        assert examples, arguments
        known = {command.name or command.callback.__name__ for command in app.registered_commands}
        known |= {group.name or group.typer_instance.info.name for group in app.registered_groups}
        assert set(examples) <= {name.replace("_", "-") for name in known}


def _until(condition) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 20 s")
