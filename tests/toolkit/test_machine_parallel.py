"""Loops that share their rows among threads: every row once, in the order of levels, and the same answer."""

import os
import threading
import time

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of
from waiting import MINUTES, until

from pgsr import Problem, View
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection, RegionTotalsProjection
from pgsr.algorithms.isotonic.regression import isotonic_l2
from pgsr.machine import parallel
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [range(0), range(1), range(5, 42)])
def test_every_row_is_done_once(monkeypatch, threads, rows):
    on_threads(monkeypatch, threads)
    done = np.zeros(50, int)

    def count(start, stop, out):
        for row in range(start, stop):
            out[row] += 1

    parallel.share(count, rows, 1, done)
    np.testing.assert_array_equal(done, [row in rows for row in range(50)])


def test_rows_run_on_several_threads(monkeypatch):
    on_threads(monkeypatch, 2)
    both = threading.Barrier(2, timeout=MINUTES)
    met = []

    def wait(start, stop):
        if start == 0 or stop == 8:
            both.wait()
            met.append((start, stop))

    parallel.share(wait, range(8), 1)
    assert len(met) == 2


def test_a_level_begins_when_the_one_before_it_is_done(monkeypatch):
    on_threads(monkeypatch, 3)
    levels = [range(0, 1), range(1, 5), range(5, 20)]
    done = np.zeros(20, bool)
    early = []

    def note(start, stop):
        before = next(level for level in levels if start in level).stop
        if not done[before:].all():
            early.append(start)
        time.sleep(0.002)
        done[start:stop] = True

    parallel.share_levels(note, levels[::-1], 1)
    assert done.all()
    assert not early


def test_few_cells_are_one_call():
    calls = []
    parallel.share(lambda *rows: calls.append(rows), range(3, 9), 10)
    parallel.share_levels(lambda *rows: calls.append(rows), [range(3, 9), range(0, 3)], 10)
    assert calls == [(3, 9), (0, 9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    on_threads(monkeypatch, 2)
    done = np.zeros(8, int)

    def fill(start, stop):
        done[start:stop] = 1

    parallel.share(fill, range(8), 1)
    child = os.fork()
    if child == 0:
        parallel.share(fill, range(8), 1)
        os._exit(0)
    try:
        until(lambda: os.waitpid(child, os.WNOHANG)[0])
    except AssertionError:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it does not have")


@pytest.mark.slow
def test_answers_do_not_depend_on_the_number_of_threads(monkeypatch):
    """The answers agree to the last bit, on trees so small that usually one thread takes them."""
    rng = rng_of(601)
    for _ in range(6):
        tree = random_tree(rng, max_regions=30)
        truth = random_truth(rng, tree, max_size=int(rng.integers(3, 60)), max_count=20, name="threads")
        for totals in ("root", "regions"):
            problems = questions(truth, totals, Seeded(str(rng.integers(10**9))))
            with monkeypatch.context() as patch:
                on_threads(patch, 1)
                alone = answers(problems)
            for threads in (2, 5):
                with monkeypatch.context() as patch:
                    on_threads(patch, threads)
                    for one, other in zip(alone, answers(problems), strict=True):
                        np.testing.assert_array_equal(one, other)


def questions(truth, totals, seed):
    cumulative = Geometric(View.CUMULATIVE, "1/2", totals=totals).measure(truth, seed)
    found = [
        (CumulativeProjection(), Problem.m_c(cumulative, totals=totals).relaxed()),
        (CumulativeIntegers(), Problem.m_c(cumulative, totals=totals)),
    ]
    if totals == "regions":
        counts = Geometric(View.COUNTS, "1/2", totals=totals).measure(truth, seed)
        found.append((RegionTotalsProjection(), Problem.m_h(counts, totals=totals).relaxed()))
    return found


def answers(problems):
    rows = rng_of(602).integers(-20, 20, (30, 50))
    isotonic = isotonic_l2(rows, np.zeros(30, int), np.full(30, 15))
    return [*(method.solve(problem).estimate.values for method, problem in problems), isotonic]


def on_threads(patch, number):
    """Share even the smallest loops among so many threads."""
    patch.setattr(parallel, "SMALL", 1)
    patch.setattr(parallel, "number_of_threads", lambda: number)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_give_results_in_the_order_of_the_items(n, threads, monkeypatch):
    """Items are handed over in parts, whose number hangs on both."""
    on_threads(monkeypatch, threads)
    assert list(parallel.Threads()(lambda item: item * item, range(n))) == [item * item for item in range(n)]


def test_items_of_few_cells_stay_in_one_thread():
    assert {*parallel.Threads(cells=99)(lambda _: threading.get_ident(), range(99))} == {threading.get_ident()}


def test_an_error_in_a_thread_is_raised(monkeypatch):
    on_threads(monkeypatch, 2)
    with pytest.raises(ZeroDivisionError):
        parallel.share(lambda start, stop: start // 0, range(8), 1)
    with pytest.raises(ZeroDivisionError):
        parallel.Threads()(lambda item: 1 // (500 - item), range(1_000))


def test_threads_stay_for_the_next_items(monkeypatch):
    """Starting threads takes longer than short calls do."""
    on_threads(monkeypatch, 2)
    both = threading.Barrier(2, timeout=MINUTES)

    def met(item):
        if item % 31 == 0:
            both.wait()
        return threading.get_ident()

    assert {*parallel.Threads()(met, range(32))} == {*parallel.Threads()(met, range(32))}


def test_items_may_use_threads_themselves(monkeypatch):
    on_threads(monkeypatch, 3)
    every = parallel.Threads()
    assert every(lambda i: sum(every(lambda j: i * j, range(9))), range(40)) == [36 * i for i in range(40)]


def test_an_error_ends_the_work(monkeypatch):
    """What other threads have begun is done when it is raised, and nothing else is begun."""
    on_threads(monkeypatch, 2)
    both = threading.Barrier(2, timeout=MINUTES)
    done = []

    def work(item):
        if item < 2:
            both.wait()
        if item == 0:
            raise ArithmeticError
        time.sleep(0.1)
        done.append(item)

    with pytest.raises(ArithmeticError):
        parallel.Threads()(work, range(20))
    assert done[0] == 1
    assert len(done) < 19
