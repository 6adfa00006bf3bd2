"""Comparisons: every arm runs in a process of its own, failures are rows, and no arm sees the truth."""

import os
import re
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from waiting import MINUTES

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Result, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.bounds import lower_bound
from pgsr.certificates import Certificate, certify
from pgsr.comparison import Comparison
from pgsr.comparison.comparing import compare, label_of, template_of_arms
from pgsr.comparison.row import Row
from pgsr.data import Estimate
from pgsr.estimators import IsotonicTreeProjection, Matching
from pgsr.machine.isolation import run_isolated
from pgsr.models import Cvxpy, Flow, Gurobi
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.program import ProgramKind
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import entities
from pgsr.warming import warm_up, warmed

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 200, 30, 1], [0, 100, 1, 100]], name="real")
NOISY = Geometric(View.COUNTS, "1").measure(TRUTH, Seeded("demo"))
PROBLEM = Problem.m_h(NOISY)
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not fork")


@pytest.fixture(autouse=True, scope="module")
def imported_once():
    """Lets all comparisons of this file start their arms from one process, which imports the solvers once."""
    with template_of_arms() as template, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.comparison.comparing.template_of_arms", lambda: nullcontext(template))
        yield


@pytest.mark.slow
def test_comparisons_that_share_a_template_import_once():
    with template_of_arms() as template:
        first, second = (
            compare(PROBLEM, [Doing("tell", lambda: None), Cvxpy("CLARABEL")], progress=False, templates=[template])
            for _ in range(2)
        )
        assert "cvxpy" in template._imports
    assert [row.status.name for row in first.rows] == [row.status.name for row in second.rows] == ["OPTIMAL", "RELAXED"]


@pytest.mark.slow
@LINUX
def test_a_warm_up_of_our_own_runs_once_in_the_template_and_in_every_process(tmp_path):
    def note():
        with (tmp_path / "said").open("a") as file:
            file.write(f"{os.getpid()}\n")

    with template_of_arms() as template:
        first, second = (run_isolated(os.getpid, note, template=template, shared=True).value for _ in range(2))
        own = run_isolated(os.getpid, note, template=template).value
        assert (tmp_path / "said").read_text().split() == [str(i) for i in (template._process.pid, first, second, own)]
        assert len({template._process.pid, first, second, own}) == 4


@pytest.mark.slow
@LINUX
def test_toys_of_our_own_methods_leave_no_thread_that_a_fork_would_lose():
    def threads_more():
        before = len(os.listdir("/proc/self/task"))
        for method in warmed():
            list(warm_up([method]))
        end = time.monotonic() + MINUTES  # a thread that was joined is listed for another moment
        while (more := len(os.listdir("/proc/self/task")) - before) > 0 and time.monotonic() < end:
            time.sleep(0.01)
        return more

    assert run_isolated(threads_more).value == 0


class TakesAll:
    """A method that says it takes every problem."""

    def supports(self, problem):
        return None


@dataclass(frozen=True)
class Doing(TakesAll):
    """A method that does something foolish."""

    what: str
    deed: object = field(repr=False)

    def solve(self, problem, time_limit=None):
        if self.what != "sleep" or problem.hierarchy.paths == TRUTH.hierarchy.paths:
            self.deed()
        return TreeProjection().solve(problem)


@pytest.mark.slow
def test_a_table_of_good_and_bad_arms(tmp_path):
    steps = Geometric(View.CUMULATIVE, "1").measure(TRUTH, Seeded("demo"))
    arms = [
        TreeProjection(),
        Flow(),
        Cvxpy("CLARABEL"),
        Gurobi(),
        Doing("raise", lambda: 1 / 0),
        Doing("die", lambda: os._exit(3)),
        Doing("sleep", lambda: time.sleep(2 * MINUTES)),
        ("M_c^dp", steps, IsotonicTreeProjection()),
        ("M_c", Problem.m_c(steps), TreeProjection()),
    ]
    start = time.perf_counter()
    table = compare(PROBLEM, arms, time_limit=3, truth=TRUTH, progress=False)
    assert time.perf_counter() - start < MINUTES  # the sleeper was killed
    by_method = {row.method: row for row in table.rows}
    assert [row.method for row in table.rows] == [arm[0] if isinstance(arm, tuple) else repr(arm) for arm in arms]
    assert by_method["TreeProjection()"].result.certificate == by_method["Flow()"].result.certificate
    assert by_method["Gurobi()"].status is Status.OPTIMAL, "twelve unknowns fit into the bundled licence"
    assert by_method["Cvxpy('CLARABEL')"].status is Status.RELAXED
    assert "ZeroDivisionError" in by_method["Doing(what='raise')"].reason
    assert "exit code 3" in by_method["Doing(what='die')"].reason
    assert by_method["Doing(what='sleep')"].status is Status.TIMED_OUT
    assert by_method["M_c^dp"].status is Status.FEASIBLE
    assert by_method["M_c^dp"].problem == "M_c"
    assert by_method["M_c"].status is Status.UNSUPPORTED
    assert all(row.peak_bytes > 10**7 for row in table.rows if row.status is Status.OPTIMAL)

    frame = table.to_frame()
    assert len(frame) == len(arms)
    assert frame.loc[0, "objective"] == by_method["TreeProjection()"].result.certificate.objective
    assert frame.loc[0, "violations_consistency"] == 0
    assert not np.isnan(frame.loc[0, "l1_level0"])
    assert np.isnan(frame.loc[4, "l1_level0"])
    for text, status in ((str(table), "UNSUPPORTED"), (table._repr_html_(), "✕ unsupported")):
        assert "stopped after 3 s" in text
        assert status in text
    frame.to_parquet(tmp_path / "t.parquet")
    kept = int(pd.read_parquet(tmp_path / "t.parquet").loc[0, "objective_exact"])
    assert kept == table.rows[0].result.certificate.objective


def test_errors_are_those_of_the_metrics_and_memory_is_that_of_the_solve():
    row = compare(PROBLEM, [TreeProjection()], truth=TRUTH, progress=False).rows[0]
    difference = np.abs(row.result.estimate.values - TRUTH.counts).sum(axis=1)
    assert row.errors["l1"] == [difference[0], difference[1] + difference[2]]
    totals = np.abs(row.result.estimate.values.sum(axis=1) - TRUTH.totals)
    assert ("emd" in row.errors) == (not totals.any())
    assert row.errors["total_error"] == [0, totals[1] + totals[2]]
    assert row.solve_bytes < 20e6 < row.baseline_bytes
    assert Comparison([row], "memory").to_frame().loc[0, "memory_mb"] == row.solve_bytes / 1e6
    assert Row("x", "M_H", row.result, 0).solve_bytes is None
    without = compare(PROBLEM, [TreeProjection()], progress=False)
    assert without.rows[0].errors == {}, "without a truth"


def test_with_an_epsilon_errors_are_also_shown_as_times_the_bound():
    measured = Geometric(View.CUMULATIVE, "1").measure(TRUTH, Seeded("demo"))
    table = compare(PROBLEM, [("Kuo", measured, Matching())], truth=TRUTH, epsilon="1", progress=False)
    errors, bound = table.rows[0].errors, lower_bound(TRUTH, "1").emd
    assert errors["times_bound"] == pytest.approx([errors["emd"][0] / bound[0], errors["emd"][1] / bound[1:].mean()])
    shown = str(table)
    assert "times the bound, leaves" in shown
    assert f"{errors['times_bound'][1]:.2f}" in shown
    assert table.to_frame()["times_bound_level0"][0] == errors["times_bound"][0]
    without = compare(PROBLEM, [TreeProjection()], truth=TRUTH, epsilon="1", progress=False)
    assert ("times_bound" in without.rows[0].errors) == ("emd" in without.rows[0].errors)


@pytest.mark.slow
def test_isolation_keeps_output_apart_and_measures_the_child_beyond_its_imports():
    held = np.ones(50_000_000)  # 400 MB in this process must not count as the child's
    outcome = run_isolated(lambda: print("noise on standard output") or 42)
    assert outcome.value == 42
    assert 10**7 < outcome.peak_bytes < held.nbytes
    grown = run_isolated(lambda: int(np.ones(30_000_000).sum()), warm_up=lambda: np.ones(60_000_000).sum())
    assert grown.value == 30_000_000
    late = run_isolated(lambda: "done", warm_up=lambda: time.sleep(2), time_limit=1.5)
    assert late.value == "done", "the limit starts after the warm-up"
    assert grown.baseline_bytes > 2 * 10**7
    assert 230e6 < grown.peak_bytes - grown.baseline_bytes < 300e6, "the warm-up's peak is forgotten"


def refuse_to_be_read() -> None:
    raise TypeError("not here")


class Unreadable:
    """An answer that the process that made it can send, and nobody can read."""

    def __reduce__(self) -> tuple:
        return refuse_to_be_read, ()


@pytest.mark.slow
def test_an_answer_that_cannot_be_read_is_a_failure_and_not_a_long_wait():
    outcome = run_isolated(Unreadable, time_limit=MINUTES)
    assert not outcome.timed_out
    assert outcome.error == "what it returned cannot be read: TypeError: not here"


@pytest.mark.slow
def test_a_warm_up_that_never_ends_is_stopped_too(monkeypatch):
    monkeypatch.setattr("pgsr.machine.isolation.START_LIMIT", 2.0)
    outcome = run_isolated(lambda: "done", warm_up=lambda: time.sleep(2 * MINUTES), time_limit=MINUTES)
    assert outcome.timed_out
    assert not outcome.started
    assert outcome.error == "the process did not start within 2 s; the machine is too busy"
    monkeypatch.setattr("pgsr.machine.isolation.START_LIMIT", 0.01)
    row = compare(PROBLEM, [TreeProjection()], time_limit=None, progress=False).rows[0]
    assert row.status is Status.FAILED, "no method reached its limit"
    assert "did not start in time" in row.reason


@dataclass(frozen=True)
class Liar(TakesAll):
    """A method that claims more than its answer bears out."""

    says: Status

    def solve(self, problem, time_limit=None):
        if self.says is Status.INFEASIBLE:
            return None
        wrong = problem.target.copy()
        invented = Certificate(problem.label, 0, 0, "my word", {})
        return Result(self.says, "", Estimate(problem.hierarchy, problem.view, wrong), invented)


def test_no_status_is_taken_on_trust():
    table = compare(PROBLEM, [Liar(Status.OPTIMAL), Liar(Status.FEASIBLE), Liar(Status.INFEASIBLE)], progress=False)
    assert [row.status for row in table.rows] == [Status.FAILED] * 3
    assert "says OPTIMAL, but violates" in table.rows[0].reason
    assert "returned NoneType" in table.rows[2].reason
    assert table.rows[0].result.certificate.objective == 0, "the noisy table itself: nearest, but inconsistent"
    assert table.rows[0].result.certificate.violations["consistency"] > 0
    refused = table.rows[0].result
    assert (refused.refused.values == PROBLEM.target).all(), "it stays for study"
    assert refused.answer is None
    with pytest.raises(PgsrError, match="no estimate"):
        _ = refused.estimate


@dataclass(frozen=True)
class Boaster(TakesAll):
    """A method whose answer is feasible, but far from optimal, with a bound it made up."""

    bound: float | None

    def solve(self, problem, time_limit=None):
        worst = np.zeros(problem.target.shape, np.int64 if problem.integer else float)
        worst[[0, 1], 0] = problem.root_total
        invented = Certificate(problem.label, 0, self.bound, "my word", {})
        return Result(Status.OPTIMAL, "", Estimate(problem.hierarchy, problem.view, worst), invented)


@pytest.mark.slow
def test_an_invented_proof_is_refuted():
    honest = certify(PROBLEM, Boaster(None).solve(PROBLEM).estimate).objective
    rows = compare(PROBLEM, [Boaster(honest), Boaster(None)], progress=False).rows
    assert [row.status for row in rows] == [Status.FAILED] * 2
    assert all("our exact test refutes it" in row.reason for row in rows)
    relaxed = compare(PROBLEM.relaxed(), [Boaster(1.0), Boaster(None), TreeProjection()], progress=False).rows
    assert [row.status for row in relaxed] == [Status.FAILED, Status.FAILED, Status.OPTIMAL]
    assert "relative gap" in relaxed[0].reason


def test_wrong_arguments_are_sentences():
    other = CountOfCounts(TREE, [[0, 1], [1, 0]])
    for arguments, options, word in [
        ((PROBLEM, [("x", NOISY, TreeProjection())]), {}, "needs a post-process"),
        ((PROBLEM, [IsotonicTreeProjection()]), {}, "label, measurement, post-process"),
        ((PROBLEM, [TreeProjection()]), {"epsilon": "1"}, "give truth="),
        ((TRUTH, [TreeProjection()]), {}, "state one"),
        ((NOISY, [TreeProjection()]), {}, "it is no post-process"),
        ((PROBLEM, TreeProjection()), {}, "give a list"),
        ((PROBLEM, [TreeProjection]), {}, r"write TreeProjection\(\.\.\.\)"),
        ((PROBLEM, []), {}, "at least one method"),
        ((PROBLEM, [("a", NOISY)]), {}, "is no arm"),
        ((PROBLEM, [TreeProjection()]), {"truth": other}, "other regions or sizes"),
        ((PROBLEM, [TreeProjection()]), {"truth": TRUTH.counts}, "give CountOfCounts"),
        ((PROBLEM, [TreeProjection()]), {"truth": TRUTH, "epsilon": "one"}, "epsilon"),
        ((PROBLEM, [TreeProjection()]), {"time_limit": -1}, "seconds above 0"),
    ]:
        with pytest.raises(PgsrError, match=word):
            compare(*arguments, progress=False, **options)


class Toy(TakesAll):
    """A method of a newcomer: no `repr`, no times."""

    def solve(self, problem, time_limit=None):
        time.sleep(0.2)
        estimate = TreeProjection().solve(problem).estimate
        return Result(Status.FEASIBLE, "", estimate, certify(problem, estimate))


def test_a_toy_is_called_by_its_class_and_timed_by_us():
    row = compare(PROBLEM, [Toy()], progress=False).rows[0]
    assert row.method == "Toy"
    assert 0.2 <= row.result.seconds.total < 20

    class Inner:
        pass

    assert label_of((Inner(), TreeProjection())) == "(Inner, TreeProjection())"
    assert "0x" not in label_of(lambda: 1)


@dataclass(frozen=True)
class Wrong(SolverModel):
    """A solver model whose `run` returns something else than a `Run`."""

    returned: object

    def __repr__(self):
        return "Wrong()"

    takes = frozenset({ProgramKind.QP})

    def unavailable(self):
        return None

    def run(self, program, time_limit):
        return self.returned


def test_a_run_that_is_none_is_a_row_with_the_remedy():
    for returned in (np.zeros(2), None, Run(np.zeros(2), 0.0, 0.0)):
        result = Wrong(returned).solve(PROBLEM.relaxed())
        assert result.status is Status.FAILED
        assert "let run return Run(Answer(Claim.OPTIMAL, values=v)" in result.reason
        assert ("ndarray" in result.reason) == (returned is not None)


def test_violated_conditions_are_in_the_tables():
    people = TRUTH.counts @ np.arange(TRUTH.max_size + 1)
    problem = Problem.m_h(NOISY).where(entities() == people)
    estimate = Estimate(problem.hierarchy, problem.view, np.zeros(problem.target.shape))
    judged = Result(Status.RELAXED, "", estimate, certify(problem, estimate))
    table = Comparison([Row("off", problem.label, judged, 10**8, {}, 6 * 10**7)], "conditions")
    assert table.to_frame().loc[0, "violations_conditions"] == 3
    assert "3 conditions" in str(table)
    assert "3 conditions" in table._repr_html_()


@pytest.mark.slow
def test_an_objective_below_its_bound_is_explained():
    table = compare(PROBLEM, [Cvxpy("CLARABEL"), TreeProjection()], progress=False)
    first = table.rows[0].result.certificate
    below = first.objective < first.bound
    assert below, "cells rounded one by one do not add up, and come nearer than any that do"
    assert re.search(r"objective below bound: .*\(Cvxpy\('CLARABEL'\)\)", " ".join(str(table).split()))
    assert "objective below bound" not in str(compare(PROBLEM, [TreeProjection()], progress=False))
