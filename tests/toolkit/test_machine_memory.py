"""What large arrays take, and what long calls show: memory where it is written, one line where somebody looks."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

import pgsr
from pgsr import Hierarchy, Problem
from pgsr.algorithms import CumulativeIntegers
from pgsr.errors import MemoryNeededError
from pgsr.machine import progress
from pgsr.machine.memory import unwritten


def test_memory_is_taken_where_something_is_written() -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    room = unwritten((64, 1_000_000), np.float64)
    room[:, 7] = 1.0
    taken = process.memory_info().rss - before
    assert taken < 16 * 2**20, f"{taken:,} bytes of {room.nbytes:,} for one number a row"
    assert (room[:, 5:9].sum(axis=0) == [0, 0, 64, 0]).all()


@pytest.mark.parametrize(("shape", "dtype"), [((3, 0), np.int32), ((2, 3, 4), np.float64)])
def test_it_is_an_array_like_others(shape: tuple[int, ...], dtype: type[np.number]) -> None:
    room, like = unwritten(shape, dtype), np.zeros(shape, dtype)
    np.testing.assert_array_equal(room, like, strict=True)
    assert room.flags.carray, "what compiled loops want: contiguous, aligned, writeable"
    room += 1
    assert room.sum() == like.size


@pytest.mark.parametrize("rows", [2**30, 2**45])
def test_more_than_there_are_addresses(rows: int) -> None:
    with pytest.raises(MemoryNeededError, match="no addresses left; lower the largest size K"):
        unwritten((rows, 2**20), np.float64)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stream: io.StringIO, wait: float = 0.0) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "WAIT", wait)
    monkeypatch.setattr(progress, "BETWEEN", 0.0)
    with progress.steps("drawing tables", 3) as step:
        for _ in range(3):
            step()
            with progress.steps("inside of it", 9) as other:
                other()
    return stream.getvalue()


def test_a_line_is_shown_of_long_calls_on_a_terminal_and_goes_away(monkeypatch):
    pytest.importorskip("tqdm", reason="progress is drawn by tqdm")
    text = shown(monkeypatch, Terminal())
    assert ("drawing tables" in text, "inside" in text, text.splitlines()[-1].strip()) == (True, False, "")
    assert (shown(monkeypatch, Terminal(), 60.0), shown(monkeypatch, io.StringIO())) == ("", "")


@pytest.mark.parametrize(("kernel", "looks"), [({"_allow_stdin": True}, True), ({"_allow_stdin": False}, False)])
def test_somebody_looks_at_a_notebook_that_may_ask(monkeypatch, kernel, looks):
    shell = SimpleNamespace(kernel=SimpleNamespace(**kernel))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert progress.somebody_looks() is looks


def test_an_error_leaves_the_screen_free():
    told = []
    with pytest.raises(ZeroDivisionError), progress.steps("dividing", None) as step:
        step(1 / 0)
    with progress.told(lambda *part: told.append(part)), progress.steps("again", 1) as step:
        step()
    assert told == [(1, 1)]


def test_steps_of_solves_and_estimates_are_told(monkeypatch):
    monkeypatch.setattr(progress, "BETWEEN", 0.0)
    tree, told = Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), []
    truth = pgsr.CountOfCounts(tree, [[0, 900, 400, 90], [0, 800, 300, 110]])
    noisy = pgsr.measure(truth, "cumulative", epsilon=1, seed="demo")
    for call in (lambda: CumulativeIntegers().solve(Problem.m_c(noisy)), lambda: pgsr.estimate(noisy)):
        told.clear()
        with progress.told(lambda *part: told.append(part)):
            call()
        assert told == [(done, None) for done in range(1, len(told) + 1)]
        assert len(told) > 3
