"""Runs over PGSR-LIB: who says solved and is not, and scores."""

import json
import shutil

import pandas as pd
import pytest
from lib_instances import INTEGER, MAGNITUDES, REAL

from pgsr import PgsrError
from pgsr.experiments.lib import published
from pgsr.experiments.lib.folder import problem_of
from pgsr.experiments.lib.run import chosen, run, takes
from pgsr.experiments.lib.score import is_optimal, scores, shifted_geometric_mean
from pgsr.models import Cvxpy, Scipy
from pgsr.models.adapter import Run
from pgsr.models.judge import SolverAnswer, SolverClaim


class Liar(Scipy):
    """Says optimal of zeros."""

    def run(self, program, time_limit):
        answer = super().run(program, time_limit).answer
        return Run(
            SolverAnswer(SolverClaim.OPTIMAL, "", 0.0 * answer.values, answer.duals, answer.order_duals), 0.0, 0.0
        )

    def __repr__(self):
        return "Liar()"


@pytest.mark.slow
def test_a_run_tells_who_says_solved_and_is_not_and_goes_on(built, tmp_path):
    folders = [built / name for name in (INTEGER, REAL, MAGNITUDES)]
    said: list[str] = []
    methods = [Cvxpy("CLARABEL"), *chosen(["TreeProjection()"]), Liar()]
    rows = run(folders, methods, 30, tmp_path / "rows.jsonl", said.append)
    by_pair = rows.set_index(["method", "instance"])
    assert set(by_pair.index) == {
        ("Cvxpy('CLARABEL')", REAL),
        ("TreeProjection()", INTEGER),
        ("Liar()", INTEGER),
        ("Liar()", MAGNITUDES),
    }
    assert is_optimal(rows, 1e-6).sum() == 2
    table = scores(rows, "MIQP").set_index("method")
    assert table.loc["TreeProjection()", "1e-09"] == 1
    assert table.loc["Liar()", ["said", "1e-06", "wrong"]].tolist() == [1, 0, 1]
    before = len(said)
    again = run(folders, methods, 30, tmp_path / "rows.jsonl", said.append)
    assert len(said) == before, "nothing runs twice"
    pd.testing.assert_frame_equal(rows, again)
    anew = tmp_path / INTEGER
    shutil.copytree(built / INTEGER, anew)
    facts = json.loads((anew / "optimum.json").read_text())
    facts["sha256"]["problem.npz"] = "that of another problem of this name"
    (anew / "optimum.json").write_text(json.dumps(facts))
    run([anew], chosen(["TreeProjection()"]), 30, tmp_path / "rows.jsonl", said.append)
    assert len(said) == before + 1, "an instance that was built anew runs again"


@pytest.mark.slow
def test_a_line_that_was_torn_does_not_tear_the_next_one(built, tmp_path):
    out = tmp_path / "rows.jsonl"
    out.write_text('{"instance": "cut sho')
    run([built / INTEGER], chosen(["TreeProjection()"]), 30, out, lambda line: None)
    row = out.read_text().splitlines()[1]
    assert json.loads(row)["instance"] == INTEGER
    said: list[str] = []
    run([built / INTEGER], chosen(["TreeProjection()"]), 30, out, said.append)
    assert not said, "nothing runs twice"


def test_methods_take_what_they_solve_as_stated(built):
    problem = problem_of(built / INTEGER)
    assert not takes(Cvxpy("CLARABEL"), problem)
    assert takes(Cvxpy("CLARABEL"), problem.relaxed())
    assert takes(Scipy(), problem)
    with pytest.raises(PgsrError, match="installed are"):
        chosen(["no such solver"])


def test_scores_count_what_is_not_taken_as_the_limit():
    assert shifted_geometric_mean([60.0, 60.0]) == pytest.approx(60.0)
    row = {"kind": "QP", "limit": 60.0, "violated": 5, "primal": 1e-8, "error": 1e-7, "said_solved": True, "seconds": 0}
    row |= {"status": "OPTIMAL"}
    rows = pd.DataFrame(
        [
            row | {"instance": "a", "method": "fast"},
            row | {"instance": "b", "method": "fast", "error": 1e-4},
            row | {"instance": "a", "method": "slow", "seconds": 50.0},
        ]
    )
    table = scores(rows, "QP").set_index("method")
    assert table.loc["fast", ["said", "0.001", "1e-06", "1e-09", "wrong"]].tolist() == [2, 2, 1, 0, 1]
    assert table.loc["slow", "taken"] == "1 of 2"
    assert table.loc["fast", "time"] == pytest.approx(shifted_geometric_mean([0.0, 60.0]))


def test_a_published_run_is_a_table_per_kind_without_those_who_have_no_licence(tmp_path):
    row = {"kind": "QP", "limit": 60.0, "violated": 0, "primal": 0.0, "error": 0.0, "said_solved": True, "seconds": 1.0}
    row |= {"status": "OPTIMAL", "unknowns": 9}
    refused = {"kind": "QP", "limit": 60.0, "unknowns": 9, "status": "UNLICENSED", "instance": "a", "method": "C()"}
    rows = [row | {"instance": name, "method": method} for name in "ab" for method in ("A()", "B()")]
    rows += [row | {"instance": "a", "method": "D()", "error": 1.0}, refused]
    traps = pd.DataFrame([{"method": "A()", "half": "**no point**"}, {"method": "B()", "half": "right"}])
    published.publish(pd.DataFrame(rows), traps, tmp_path)
    found = dict(published.quoted(tmp_path))
    assert found["pgsr_lib.QP"].splitlines()[0] == "Squares in reals (QP), 2 instances:"
    assert found["pgsr_lib.QP"].splitlines()[-2:] == ["| 2 | 2 | 0 | `A()` 1, `B()` 1 |", "| 0 | 1 | 1 | `D()` 60 |"]
    assert "C()" not in found["pgsr_lib.QP"]
    assert found["pgsr_lib.traps"].splitlines()[-1] == "| `half` | 1 | 0 | no point: `A()` |"
