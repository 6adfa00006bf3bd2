"""Workers on a processor each, which answer the arms of many problems one after another."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Self

from pgsr.comparison.side_by_side import answered
from pgsr.experiments.benchmarks.variants import IMPORTS, Labelled
from pgsr.machine.isolation import TaskEnd, Worker
from pgsr.methods.method import Result


class Lanes:
    """Two workers, or one where processors have no numbers; each takes the next arm when it is free.

    One process answers all arms of a lane, whatever solves them, so a solver is imported and a method compiled once.
    """

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))[:2] if hasattr(os, "sched_getaffinity") else [None]
        self._workers = [Worker.of_several(core) for core in cores]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._pool = ThreadPoolExecutor(len(cores))

    def __enter__(self) -> Self:
        """Start the workers, which import solvers while their caller goes on."""
        for worker in self._workers:
            self._pool.submit(worker.compute, _import)
        return self

    def begin(self, arms: Sequence[Labelled], time_limit: float) -> list[Future[tuple[Result, TaskEnd]]]:
        """Have arms answered, each in `time_limit` seconds."""

        def answer(arm: Labelled) -> tuple[Result, TaskEnd]:
            worker = self._free.get()
            try:
                return answered(*arm[1:], time_limit, worker)
            finally:
                self._free.put(worker)

        return [self._pool.submit(partial(answer, arm)) for arm in arms]

    def __exit__(self, *_: object) -> None:
        """End the workers; arms that have not begun are left."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()


def _import() -> None:
    for module in IMPORTS:
        with suppress(ImportError):  # the arm that needs it says so
            import_module(module)
