"""Runs over PGSR-LIB: who says solved and is not, scores, and the instances for other benchmarks."""

import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from lib_instances import INTEGER, MAGNITUDES, REAL

from pgsr import PgsrError
from pgsr.experiments.lib import published, verify
from pgsr.experiments.lib.folder import problem_of, read
from pgsr.experiments.lib.other_benchmarks import (
    benchopt_dataset,
    benchopt_objective,
    qpbenchmark_test_set,
    quadratic_program,
    real_instances,
)
from pgsr.experiments.lib.run import chosen, run, takes
from pgsr.experiments.lib.score import duration, is_optimal, scores, shifted_geometric_mean
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


@pytest.mark.drawn(1, pool="experiments end to end")
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


@pytest.mark.drawn(3, pool="cells of experiments")
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


def test_qpbenchmark_iterates_the_instances_in_reals(built):
    """A solver of qpsolvers solves one: the objective with its constant is the proved optimum."""
    pytest.importorskip("qpbenchmark")
    qpsolvers = pytest.importorskip("qpsolvers")
    problems = list(qpbenchmark_test_set(built)())
    assert [problem.name for problem in problems] == [REAL]
    z = qpsolvers.solve_problem(problems[0], "clarabel", tol_gap_rel=1e-10).x
    value = 0.5 * z @ (problems[0].P @ z) + problems[0].q @ z
    assert value == pytest.approx(float(read(built / REAL).objective), rel=1e-7)


def differences(folder) -> np.ndarray:
    """The stored solution minus the noisy values."""
    with np.load(folder / "certificate.npz") as proof, np.load(folder / "problem.npz") as file:
        solution, unit, y = proof["solution"], int(proof["solution_unit"]), file["problem_cells"]
    padded = np.zeros(len(solution), np.int64)
    padded[: len(y)] = y
    return (solution - padded * unit) / unit


def test_benchopt_takes_data_and_objective(built):
    pytest.importorskip("benchopt")
    dataset = benchopt_dataset(built).get_instance(instance=REAL)
    data = dataset.get_data()
    objective = benchopt_objective().get_instance()
    objective.set_data(**data)
    z = differences(built / REAL)
    found = objective.evaluate_result(z)
    assert found["primal"] <= 1e-6
    assert found["value"] <= 1e-9
    assert objective.evaluate_result(z + 1)["primal"] >= 1


def test_other_benchmarks_that_are_missing_are_named(built, monkeypatch):
    for package, make in (("qpbenchmark", qpbenchmark_test_set), ("benchopt", benchopt_dataset)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(PgsrError, match=rf'{package} is missing; pip install "\.\[other-benchmarks\]"'):
            make(built)


def test_programs_for_other_benchmarks_are_those_of_the_files(built):
    """The stored solution satisfies them, and no row is lost."""
    for name in (INTEGER, REAL, MAGNITUDES):
        p, program = quadratic_program(built / name), verify.ProblemArrays(built / name / "problem.npz")
        z, near = differences(built / name), 1e-6
        assert (p["lb"] <= z + near).all()
        assert (z <= p["ub"] + near).all()
        n_rows = 0
        if p["A"] is not None:
            assert np.abs(p["A"] @ z - p["b"]).max() <= near
            n_rows += len(p["b"])
        if p["G"] is not None:
            assert (p["G"] @ z - p["h"]).max() <= near
            n_rows += len(p["h"])
        assert n_rows == program.m


def test_nothing_in_reals_is_a_sentence(tmp_path):
    with pytest.raises(PgsrError, match="lib build"):
        real_instances(tmp_path)


def test_times_have_three_digits_and_a_unit():
    assert [duration(s) for s in (0.01694665800459738, 0.5, 9.996, 20.0, 0.0)] == [
        "16.9 ms", "500 ms", "10.0 s", "20.0 s", "0 ms"
    ]  # fmt: skip
