"""PGSR-LIB: what is built is proved, its files state the same program, its commands tell what they did."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of, scale
from lib_instances import INTEGER, program_of, small_problem
from typer.testing import CliRunner

from pgsr import PgsrError, Problem
from pgsr.experiments.lib import verify
from pgsr.experiments.lib.command import app
from pgsr.experiments.lib.folder import build, is_built, read
from pgsr.experiments.lib.instances import INSTANCES, Instance, find
from pgsr.experiments.lib.optimum import optimum_of
from pgsr.problems.programs.named import named

EXACT = ("naive", "hc-l1", "hc-l2", "hg-l1", "hg-l2", "mh", "mh-regions")
WITH_A_GAP = ("mc", "mc-regions", "mc-l1")


@pytest.mark.parametrize("family", [*EXACT, *WITH_A_GAP])
def test_integer_families_are_proved(family):
    """Without a gap, or by an interval where no exact proof is known."""
    rng = rng_of(5, *family.encode())
    for _ in range(scale(1, 20)):
        objective, bound = checked(small_problem(family, rng))
        assert bound <= objective if family in WITH_A_GAP else bound == objective
        assert float(objective - bound) <= 0.02 * max(1.0, float(bound))


@pytest.mark.parametrize("family", [*EXACT[:3], "mean", "mh", "mh-regions", *WITH_A_GAP])
def test_relaxed_families_are_proved_to_nine_digits(family):
    rng = rng_of(6, *family.encode())
    for _ in range(scale(1, 40)):
        objective, bound = checked(small_problem(family, rng).relaxed())
        assert bound <= objective
        assert float(objective - bound) <= 1e-7 + 1e-8 * float(objective)


def checked(problem: Problem) -> tuple[Fraction, Fraction]:
    """Solve, and let the verifier compute the objective and the bound."""
    program = named(problem)
    found = optimum_of(problem, program)
    stated = program_of(problem)
    return (
        verify.check_solution(stated, verify.whole(found.solution, "solution"), found.solution_unit),
        verify.check_bound(stated, verify.whole(found.prices, "prices"), found.prices_unit),
    )


def test_mps_states_the_same_program_in_deviations(built):
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(built / INTEGER / "problem.mps"))
    program = verify.ProblemArrays(built / INTEGER / "problem.npz")
    assert (highs.getNumCol(), highs.getNumRow()) == (program.n, program.m)
    with np.load(built / INTEGER / "certificate.npz") as file:
        x = file["solution"].astype(float) - find(INTEGER).problem().cells
    lp, quadratic = highs.getLp(), highs.getModel().hessian_
    value = float(np.asarray(lp.col_cost_) @ x) + lp.offset_ + 0.5 * float(np.asarray(quadratic.value_) @ x**2)
    assert value == pytest.approx(float(read(built / INTEGER).objective))


def test_a_solver_of_the_mps_finds_the_optimum(tmp_path):
    """In counts, with a constant of 10^17, HiGHS called 4,928 the optimum of this instance, which is 4,216.8."""
    highspy = pytest.importorskip("highspy")
    name = "mc-relaxed-census-1e3-eps1"
    known = build(find(name), tmp_path, with_mps=True)
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(tmp_path / name / "problem.mps"))
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert highs.getInfo().objective_function_value == pytest.approx(float(known.objective), rel=1e-7)


def test_the_same_instance_gives_the_same_bytes(tmp_path, built):
    build(find(INTEGER), tmp_path, with_mps=True)
    for name in ("problem.npz", "problem.mps"):
        assert (tmp_path / INTEGER / name).read_bytes() == (built / INTEGER / name).read_bytes()


def test_names_are_distinct_and_make_folders():
    names = [instance.name for instance in INSTANCES]
    assert len(set(names)) == len(names) >= 60
    assert all("/" not in name for name in names)
    assert {instance.size for instance in INSTANCES} == {3, 4, 5, 6, 7}
    with pytest.raises(PgsrError, match="lib list"):
        find("mh-moon-1e3")


def test_hard_values_are_what_they_are_called():
    ties = Instance("mh", "ties", 3, epsilon="").problem()
    assert set(np.unique(ties.target)) == {0, 1}
    assert not Instance("hc-l2", "ties", 4, epsilon="").problem().consistent
    deep = Instance("mh", "deep", 5, epsilon="").problem()
    assert deep.hierarchy.n_levels >= 12


def test_the_commands_build_verify_and_list(tmp_path):
    runner = CliRunner()
    made = runner.invoke(app, ["build", "naive-census-1e3", "--out", str(tmp_path)])
    assert made.exit_code == 0, made.output
    assert is_built(tmp_path / "naive-census-1e3-eps1")
    again = runner.invoke(app, ["build", "naive-census-1e3", "--out", str(tmp_path)])
    assert "built before" in again.output
    checked = runner.invoke(app, ["verify", "--out", str(tmp_path)])
    assert checked.exit_code == 0, checked.output
    assert "optimal" in checked.output
    listed = runner.invoke(app, ["list", "naive-census", "--out", str(tmp_path)])
    assert "not built" in listed.output
    assert "proved" in listed.output
    nothing = runner.invoke(app, ["verify", "mh-census", "--out", str(tmp_path)])
    assert isinstance(nothing.exception, PgsrError)


def test_data_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    made = CliRunner().invoke(app, ["build", "mh-taxi-1e3", "--out", str(tmp_path)])
    assert made.exit_code == 1
    assert "not built" in made.output


@pytest.mark.slow
def test_instances_that_largest_leaves_out_are_a_sentence(tmp_path):
    command = [sys.executable, "-m", "pgsr.experiments", "lib", "build", "mh-census-1e7-eps1", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "give --largest 1e7" in " ".join((done.stdout + done.stderr).split())
    assert not list(tmp_path.iterdir())
