"""Side by side: every arm in a process of its own, failures as rows, the truth in nobody's hands but ours."""

import os
import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from models import Cvxpy, Flow, Gurobi
from pgsr import (
    Certificate,
    CountOfCounts,
    Estimate,
    Geometric,
    Hierarchy,
    PgsrError,
    Problem,
    ProblemError,
    Result,
    Seeded,
    Status,
    View,
    certify,
    compare,
)
from pgsr.algorithms import IsotonicTreeProjection, TreeProjection
from pgsr.isolation import run_isolated

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 200, 30, 1], [0, 100, 1, 100]], name="real")
NOISY = Geometric(View.COUNTS, "1").measure(TRUTH, Seeded("demo"))
PROBLEM = Problem.m_h(NOISY)


@dataclass(frozen=True)
class Doing:
    """A method that does something foolish."""

    what: str
    deed: object = field(repr=False)

    def supports(self, problem):
        return None

    def solve(self, problem, time_limit=None):
        if self.what != "sleep" or problem.hierarchy.paths == TRUTH.hierarchy.paths:
            self.deed()
        return TreeProjection().solve(problem)


def test_a_table_of_good_and_bad_arms():
    steps = Geometric(View.CUMULATIVE, "1").measure(TRUTH, Seeded("demo"))
    arms = [
        TreeProjection(),
        Flow(),
        Cvxpy("CLARABEL"),
        Gurobi(),
        Doing("raise", lambda: 1 / 0),
        Doing("die", lambda: os._exit(3)),
        Doing("sleep", lambda: time.sleep(100)),
        ("M_c^dp", steps, IsotonicTreeProjection()),
        ("M_c", Problem.m_c(steps), TreeProjection()),
    ]
    start = time.perf_counter()
    table = compare(PROBLEM, arms, time_limit=3, truth=TRUTH, progress=False)
    assert time.perf_counter() - start < 60
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
    for text in (str(table), table._repr_html_()):
        assert "stopped after 3 s" in text
        assert "UNSUPPORTED" in text
    assert len(table.plot().axes) == 2


def test_the_frame_survives_parquet(tmp_path):
    table = compare(PROBLEM, [TreeProjection(), Doing("raise", lambda: 1 / 0)], truth=TRUTH, progress=False)
    table.to_frame().to_parquet(tmp_path / "t.parquet")
    again = pd.read_parquet(tmp_path / "t.parquet")
    assert again["status"].tolist() == ["OPTIMAL", "FAILED"]
    assert int(again.loc[0, "objective_exact"]) == table.rows[0].result.certificate.objective


def test_errors_are_those_of_the_metrics():
    row = compare(PROBLEM, [TreeProjection()], truth=TRUTH, progress=False).rows[0]
    difference = np.abs(row.result.estimate.values - TRUTH.counts).sum(axis=1)
    assert row.errors["l1"] == [difference[0], difference[1] + difference[2]]
    totals = np.abs(row.result.estimate.values.sum(axis=1) - TRUTH.totals)
    assert ("emd" in row.errors) == (not totals.any())
    assert row.errors["total_error"] == [0, totals[1] + totals[2]]


def test_without_a_truth_there_are_no_errors():
    table = compare(PROBLEM, [TreeProjection()], progress=False)
    assert table.rows[0].errors == {}
    assert len(table.plot().axes) == 1


def test_a_post_process_needs_a_measurement():
    with pytest.raises(ProblemError, match="needs a post-process"):
        compare(PROBLEM, [("x", NOISY, TreeProjection())], progress=False)
    with pytest.raises(ProblemError, match="label, measurement, post-process"):
        compare(PROBLEM, [IsotonicTreeProjection()], progress=False)


def test_isolation_keeps_output_apart_and_measures_the_child():
    held = np.ones(50_000_000)  # 400 MB in this process must not count as the child's
    outcome = run_isolated(lambda: print("noise on standard output") or 42)
    assert outcome.value == 42
    assert 10**7 < outcome.peak_bytes < held.nbytes
    grown = run_isolated(lambda: int(np.ones(60_000_000).sum()))
    assert grown.value == 60_000_000
    assert grown.peak_bytes > 480_000_000


def test_the_limit_starts_after_the_warm_up():
    outcome = run_isolated(lambda: "done", warm_up=lambda: time.sleep(2), time_limit=1.5)
    assert outcome.value == "done"


def test_a_warm_up_that_never_ends_is_stopped_too(monkeypatch):
    monkeypatch.setattr("pgsr.isolation.START_LIMIT", 2.0)
    start = time.perf_counter()
    outcome = run_isolated(lambda: "done", warm_up=lambda: time.sleep(100), time_limit=50)
    assert outcome.timed_out
    assert time.perf_counter() - start < 30


@dataclass(frozen=True)
class Liar:
    """A method that claims more than its answer bears out."""

    says: Status

    def supports(self, problem):
        return None

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


@dataclass(frozen=True)
class Boaster:
    """A method whose answer is feasible, but far from optimal, with a bound it made up."""

    bound: float | None

    def supports(self, problem):
        return None

    def solve(self, problem, time_limit=None):
        kind = np.int64 if problem.integer else float
        worst = np.zeros(problem.target.shape, kind)
        worst[[0, 1], 0] = problem.root_total
        return Result(
            Status.OPTIMAL,
            "",
            Estimate(problem.hierarchy, problem.view, worst),
            Certificate(problem.label, 0, self.bound, "my word", {}),
        )


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
        ((NOISY, [TreeProjection()]), {}, "state one"),
        ((PROBLEM, TreeProjection()), {}, "give a list"),
        ((PROBLEM, [TreeProjection]), {}, r"write TreeProjection\(\.\.\.\)"),
        ((PROBLEM, []), {}, "at least one method"),
        ((PROBLEM, [("a", NOISY)]), {}, "is no arm"),
        ((PROBLEM, [TreeProjection()]), {"truth": other}, "other regions or sizes"),
        ((PROBLEM, [TreeProjection()]), {"truth": TRUTH.counts}, "give CountOfCounts"),
        ((PROBLEM, [TreeProjection()]), {"time_limit": -1}, "seconds above 0"),
        ((PROBLEM, [TreeProjection()]), {"time_limit": "x"}, "seconds above 0"),
    ]:
        with pytest.raises(PgsrError, match=word):
            compare(*arguments, progress=False, **options)


def test_a_slow_start_is_told_from_a_slow_solve(monkeypatch):
    monkeypatch.setattr("pgsr.isolation.START_LIMIT", 0.01)
    row = compare(PROBLEM, [TreeProjection()], time_limit=None, progress=False).rows[0]
    assert row.status is Status.TIMED_OUT
    assert "did not start in time" in row.reason


def test_a_result_without_an_answer_says_so():
    row = compare(PROBLEM, [Doing("raise", lambda: 1 / 0)], progress=False).rows[0]
    assert isinstance(row.result, Result)
    assert row.result.answer is None
