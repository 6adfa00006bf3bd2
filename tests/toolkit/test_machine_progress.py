"""Progress is one line of long calls where somebody looks, and nothing anywhere else."""

import io
import sys
from types import SimpleNamespace

import pytest

import pgsr
from pgsr import Hierarchy, Problem
from pgsr.algorithms import CumulativeIntegers
from pgsr.machine import progress


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


def test_a_line_is_shown_on_a_terminal_and_goes_away(monkeypatch):
    pytest.importorskip("tqdm", reason="progress is drawn by tqdm")
    text = shown(monkeypatch, Terminal())
    assert "drawing tables" in text
    assert "inside" not in text
    assert not text.splitlines()[-1].strip()


def test_nothing_is_shown_of_short_calls_nor_where_nobody_looks(monkeypatch):
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
