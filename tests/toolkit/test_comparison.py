"""Comparisons: arms run in another process, failures are rows, and no arm sees the truth."""

import os
import re
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from waiting import MINUTES

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Result, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.bounds import lower_bound
from pgsr.certificates import Certificate, certify
from pgsr.comparison import Comparison
from pgsr.comparison.side_by_side import compare, label_of
from pgsr.comparison.table import Row
from pgsr.data import Estimate
from pgsr.estimators import IsotonicTreeProjection, Matching
from pgsr.models import Cvxpy, Flow, Gurobi
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.program import ProgramKind
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import entities

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 200, 30, 1], [0, 100, 1, 100]], name="real")
NOISY = Geometric(View.COUNTS, "1").measure(TRUTH, Seeded("demo"))
PROBLEM = Problem.m_h(NOISY)


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


def test_arms_of_all_comparisons_share_a_process_and_one_that_is_replaced_spoils_none():
    last = None

    @dataclass(frozen=True)
    class Telling(TakesAll):
        name: str

        def solve(self, problem, time_limit=None):
            return replace(TreeProjection().solve(problem), reason=f"{os.getpid()}")

    arms = [Telling("one"), Doing("die", lambda: os._exit(3)), Telling("two"), Telling("three")]
    for _ in range(2):
        rows = compare(PROBLEM, arms, progress=False).rows
        assert [row.status.name for row in rows] == ["OPTIMAL", "FAILED", "OPTIMAL", "OPTIMAL"]
        pids = [rows[i].reason for i in (0, 2, 3)]
        assert pids[1] == pids[2] != pids[0], "one died"
        assert last in (None, pids[0]), "it stayed for the next comparison"
        last = pids[2]


def test_without_isolation_arms_run_here_and_raise():
    table = compare(PROBLEM, [TreeProjection(), Liar(Status.OPTIMAL)], progress=False, isolate=False)
    assert [row.status for row in table.rows] == [Status.OPTIMAL, Status.FAILED], "answers are judged all the same"
    assert table.rows[0].solve_bytes is None
    with pytest.raises(ZeroDivisionError):
        compare(PROBLEM, [Doing("raise", lambda: 1 / 0)], progress=False, isolate=False)


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
        assert "let run return Run(SolverAnswer(SolverClaim.OPTIMAL, values=v)" in result.reason
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
