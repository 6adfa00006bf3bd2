"""The runner of missing cells: here on several cores, or on the workers of a Dask scheduler.

Cells are computed in other processes (`pgsr.machine.isolation`), killed at a cell's time limit; whatever a cell does,
the sweep goes on. Short cells of one data set and arm share such a process; long ones, and those whose seconds are the
result, have one each. One thread per job waits for a process, so memory is shared out in one place. Only this process
writes to the store, also for a scheduler, whose workers need no common disk; they need the same sources, and say so
where they differ.
"""

import contextlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from queue import SimpleQueue
from typing import Any

import joblib

from pgsr.errors import MemoryNeededError
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import Experiment, ExperimentError, Profile, Task, computed
from pgsr.experiments.engine.memory_gate import MemoryGate
from pgsr.experiments.engine.progress import Progress
from pgsr.experiments.engine.store import CellState, Store, StoredCell, Torn
from pgsr.figures.html import facts_table
from pgsr.machine.extras import extra
from pgsr.machine.isolation import Worker

ENDS = {
    "FAILED": CellState.FAILED,
    "TIMED_OUT": CellState.TIMED_OUT,
    "NOT_INSTALLED": CellState.ABSENT,
    "UNLICENSED": CellState.ABSENT,
}
"""The statuses of a record after which its cell may be run again, and how it ended."""

OBSERVED = 1.1
"""Where cells like it ran before, a cell needs at most this much of the most that they needed."""

SHORT = 4.0
"""Processor seconds up to which the process of a cell takes the next one of its kind: about what the start of a process
with torch takes. Longer cells run in their order, replicate by replicate, so that a sweep cut short has something of
all arms."""

_AS_THEY_COME: Any = {"return_as": "generator_unordered", "batch_size": 1, "pre_dispatch": "2*n_jobs"}


class CellCondition(StrEnum):
    """The state of a cell in the store. Cells in any but the first two states are run."""

    FINISHED = "finished"
    TIMED_OUT = "timed out"
    STALE = "stale"
    ABSENT = "not installed"
    FAILED = "failed"
    TORN = "torn"
    MISSING = "missing"


@dataclass(frozen=True)
class RunSummary:
    """The report of a run: the cells that it found, and those that it computed.

    Attributes:
        planned: number of cells of the profile.
        before: what the store knew about them.
        ran: how those that were run ended.
        failures: key and reason of each that failed.
        absent: what cells said of the packages and licences that they miss, each sentence once.
        left: cells still to run, because of a limit.
        restarted: cells that took several processes, because the machine was too busy to start one in time.
    """

    planned: int
    before: dict[CellCondition, int]
    ran: dict[CellState, int] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    absent: tuple[str, ...] = ()
    left: int = 0
    restarted: int = 0

    def _repr_html_(self) -> str:
        return facts_table(
            "Run",
            {
                "cells of the profile": self.planned,
                **{f"before: {condition}": n for condition, n in self.before.items()},
                **{f"run now: {state}": n for state, n in self.ran.items()},
                **{f"failed: {key}": reason for key, reason in self.failures},
                "not installed": "; ".join(self.absent) or None,
                "left": self.left,
                "took several processes": self.restarted or None,
            },
        )


def conditions(tasks: list[Task], profile: Profile, store: Store) -> list[tuple[Task, CellCondition]]:
    """Look up what the store knows about every task."""
    return [(task, _condition(task, store.load(task.cell, profile))) for task in tasks]


def run(
    experiment: Experiment,
    profile: Profile,
    store: Store,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    keep_stale: bool = False,
    limit: int | None = None,
    say: Callable[[str], None] = print,
) -> RunSummary:
    """Run the cells that are missing, failed, torn or stale.

    Args:
        experiment: with the data that is there (`Experiment.available`).
        jobs: cells at once; all cores if None, or one for experiments that measure seconds. A scheduler has its own.
        scheduler: address of a Dask scheduler, such as tcp://host:8786.
        keep_stale: take results of other sources for finished.
        limit: run at most this many cells.

    Raises:
        ExperimentError: both `jobs` and `scheduler` are given, or no scheduler answers there.
        MemoryNeededError: a cell does not fit into this machine; nothing was started.
        StoreError: results cannot be written.
        KeyboardInterrupt: running cells were stopped, finished ones are stored.
    """
    if jobs is not None and scheduler is not None:
        raise ExperimentError("--jobs has no meaning with --scheduler, which has workers of its own; leave it out")
    store.check(experiment.owner.id, profile)
    known = conditions(experiment.tasks(profile), profile, store)
    accepted = {CellCondition.FINISHED, CellCondition.TIMED_OUT} | ({CellCondition.STALE} if keep_stale else set())
    wanted = [task for task, condition in known if condition not in accepted]
    todo = wanted[:limit]
    before = dict(Counter(condition for _, condition in known))
    if not todo:
        return RunSummary(len(known), before, left=len(wanted))
    tasks = _with_memory(todo, profile, store)
    if scheduler is None:
        gate = MemoryGate()
        for task, needed in tasks:
            gate.require(needed, f"cell {task.cell.key}")
        at_once = jobs or (1 if experiment.alone else os.cpu_count()) or 1
        finished = _here(tasks, gate, at_once, share=not experiment.alone)
    else:
        finished = _on_cluster(tasks, scheduler)
    ran: Counter[CellState] = Counter()
    failures, absent, restarted = [], {}, 0
    progress = Progress(f"{experiment.id} {profile}", len(todo), say)
    with contextlib.closing(progress), contextlib.closing(finished):
        for entry in finished:
            store.save(entry, profile)
            ran[entry.state] += 1
            restarted += entry.starts > 1
            if entry.state is CellState.FAILED:
                failures.append((entry.cell.key, entry.reason))
            if entry.state is CellState.ABSENT:
                absent[entry.reason] = None
            progress.advance(entry.state is CellState.FAILED)
    return RunSummary(len(known), before, dict(ran), failures, tuple(absent), len(wanted) - len(todo), restarted)


def compute_entry(task: Task, worker: Worker | None = None) -> StoredCell:
    """Compute one cell in a process of its own, or in a worker; every failure becomes an entry with its reason."""
    start = time.perf_counter()
    with contextlib.closing(Worker.of_several(None)) if worker is None else contextlib.nullcontext(worker) as at_work:
        outcome = computed(task, at_work)
    finish = partial(
        StoredCell,
        cell=task.cell,
        real=task.data.real,
        code=code_digest(task.experiment),
        time_limit=task.time_limit,
        seconds=time.perf_counter() - start,
        peak_bytes=outcome.peak_bytes,
        baseline_bytes=outcome.baseline_bytes,
        starts=outcome.effort.starts,
        cpu_seconds=outcome.effort.cpu_seconds,
    )
    if not outcome.started:
        reason = (
            f"did not start in time (imports, compilation) in {outcome.effort.starts} processes, the machine is too "
            "busy; run it again, compiled code is kept"
        )
        return finish(state=CellState.FAILED, reason=reason, record={})
    if outcome.timed_out:
        reason = f"stopped after {task.time_limit:g} s without an answer"
        return finish(state=CellState.TIMED_OUT, reason=reason, record={"status": "TIMED_OUT"})
    if outcome.error:
        return finish(state=CellState.FAILED, reason=outcome.error, record={})
    if not isinstance(outcome.value, dict):
        reason = f"measure returned {type(outcome.value).__name__}; return a dict of names and values"
        return finish(state=CellState.FAILED, reason=reason, record={})
    record = {name: value for name, value in outcome.value.items() if name != "reason"}
    status, reason = record.get("status"), str(outcome.value.get("reason", ""))
    return finish(state=ENDS.get(str(status), CellState.DONE), reason=reason, record=record)


def _condition(task: Task, found: StoredCell | Torn | None) -> CellCondition:
    if found is None:
        return CellCondition.MISSING
    if isinstance(found, Torn):
        return CellCondition.TORN
    if found.state in (CellState.FAILED, CellState.ABSENT):
        return CellCondition(found.state.value)
    if found.code != code_digest(task.experiment):
        return CellCondition.STALE
    if found.state is CellState.TIMED_OUT:
        return CellCondition.TIMED_OUT if found.time_limit >= task.time_limit else CellCondition.MISSING
    return CellCondition.FINISHED


def _with_memory(tasks: list[Task], profile: Profile, store: Store) -> list[tuple[Task, int]]:
    """Find the memory that every task needs: what similar cells were observed to take, or else the estimate."""
    observed: dict[tuple, int] = {}
    for entry in store.entries(tasks[0].cell.experiment, profile):
        if isinstance(entry, StoredCell) and entry.state is CellState.DONE:
            kind = (entry.cell.data, entry.cell.arm, entry.cell.parameters)
            observed[kind] = max(observed.get(kind, 0), int(OBSERVED * entry.peak_bytes))
    return [(t, observed.get(_kind(t), 0) or t.memory) for t in tasks]


def _here(tasks: list[tuple[Task, int]], gate: MemoryGate, jobs: int, share: bool) -> Generator[StoredCell]:
    """Yield entries as they are computed on this machine; a thread per job waits for a worker."""
    queue, results, workers = _Queue(tasks), SimpleQueue(), set()

    def work() -> None:
        try:
            while (first := queue.next()) is not None:
                task, needed = first
                with gate.hold(needed, task.cell.key):
                    if queue.stopped:
                        break
                    with contextlib.closing(Worker.of_several(None)) as worker:
                        workers.add(worker)
                        while task is not None and not queue.stopped:
                            results.put(compute_entry(task, worker))
                            short = share and worker.last is not None and worker.last.effort.work < SHORT
                            task = queue.alike(task) if short else None
                        workers.discard(worker)
        except BaseException as error:  # the thread that waits for results raises it
            results.put(error)
        results.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            found = results.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                running -= 1
            else:
                yield found
    finally:
        # After Ctrl-C or a full disk: threads cannot be stopped, but what they wait for can.
        queue.stopped = True
        for worker in list(workers):
            worker.close()
        for thread in threads:
            thread.join(timeout=5)


class _Queue:
    """A queue of cells for several threads: they take cells in order, or the next one that their worker can compute."""

    def __init__(self, tasks: list[tuple[Task, int]]) -> None:
        self._waiting = dict(enumerate(tasks))
        self._in_order = deque(self._waiting)
        self._of_kind: dict[tuple, deque[int]] = {}
        for place, (task, _) in self._waiting.items():
            self._of_kind.setdefault(_kind(task), deque()).append(place)
        self._lock = threading.Lock()
        self.stopped = False

    def next(self) -> tuple[Task, int] | None:
        return self._taken(self._in_order)

    def alike(self, task: Task) -> Task | None:
        found = self._taken(self._of_kind[_kind(task)])
        return None if found is None else found[0]

    def _taken(self, places: "deque[int]") -> tuple[Task, int] | None:
        """Take the first cell that nobody took in the other way."""
        with self._lock:
            while places and not self.stopped:
                found = self._waiting.pop(places.popleft(), None)
                if found is not None:
                    return found
        return None


def _kind(task: Task) -> tuple:
    """Collect what cells that share a worker have in common: data, code and memory."""
    return task.cell.data, task.cell.arm, task.cell.parameters


def _on_cluster(tasks: list[tuple[Task, int]], address: str) -> Generator[StoredCell]:
    with extra("cluster"):
        from distributed import Client
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ExperimentError(
            f"no Dask scheduler answers at {address} ({error}); start one with 'dask scheduler', workers with "
            "'dask worker ADDRESS' in this folder, and give its address as tcp://host:8786"
        ) from None
    with client:
        if not client.ncores():
            raise ExperimentError(f"the scheduler at {address} has no workers; start some with 'dask worker {address}'")
        with joblib.parallel_config(backend="dask", client=client):
            parallel = joblib.Parallel(**_AS_THEY_COME)
            digests = {task.experiment.id: code_digest(task.experiment) for task, _ in tasks}
            calls = (joblib.delayed(_on_worker)(task, needed, digests[task.experiment.id]) for task, needed in tasks)
            results: Any = parallel(calls)
            yield from results


def _on_worker(task: Task, needed: int, digest: str) -> StoredCell:
    """Compute a cell on a machine of a cluster, which shares out its own memory."""
    ours = code_digest(task.experiment)
    blank = partial(
        StoredCell, task.cell, task.data.real, CellState.FAILED, record={}, code=digest, time_limit=task.time_limit
    )
    if ours != digest:
        return blank(
            reason="the worker has other sources; update its checkout and restart it", seconds=0.0, peak_bytes=0
        )
    try:
        with _worker_gate().hold(needed, f"cell {task.cell.key}"):
            return compute_entry(task)
    except MemoryNeededError as error:
        return blank(reason=str(error), seconds=0.0, peak_bytes=0)


_GATE_LOCK = threading.Lock()
_GATES: list[MemoryGate] = []


def _worker_gate() -> MemoryGate:
    """Find the memory gate of this worker process, which is made when its first cell comes."""
    with _GATE_LOCK:
        if not _GATES:
            _GATES.append(MemoryGate())
        return _GATES[0]
