"""Traps of PGSR-LIB: their proofs hold, forged ones do not, and falls are told from right answers."""

import copy
import json
import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest
from instances import rng_of
from typer.testing import CliRunner

from pgsr import Hierarchy, Problem, Result, Status
from pgsr.algorithms import TreeProjection
from pgsr.experiments.lib.command import app
from pgsr.experiments.lib.traps import verify_trap
from pgsr.experiments.lib.traps.declared import TRAPS, find
from pgsr.experiments.lib.traps.proof import build
from pgsr.experiments.lib.traps.running import of_program, of_result, takes
from pgsr.models import CpSat, Cvxpy, Scipy
from pgsr.models.judge import SolverClaim

NAMES = [trap.name for trap in TRAPS]
OF_OURS = [trap.name for trap in TRAPS if trap.base is not None]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traps")
    for trap in TRAPS:
        build(trap, folder)
    return folder


def stated(built, name) -> dict:
    return json.loads((built / f"{name}.json").read_text())


def test_every_trap_is_proved_by_its_file_and_python_alone(built):
    files = [str(built / f"{name}.json") for name in NAMES]
    command = [sys.executable, "-S", "-I", str(built / "verify_trap.py"), *files]  # without site-packages
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["optimal"] * len(NAMES)
    assert (built / "choices-squares-1e7.json").read_text().count("500000080000004") == 1


@pytest.mark.parametrize("name", OF_OURS)
def test_the_optimum_is_the_best_of_all_alternatives(built, name):
    """Every way to choose, solved by itself; squares by our own method, whose answer is proved in integers."""
    trap, values = find(name), []
    assert trap.base is not None
    for picks in product(*trap.choices):
        one = trap.base.where(*(condition for alternative in picks for condition in alternative))
        result = (TreeProjection() if trap.base.norm == 2 else CpSat()).solve(one)
        assert result.status is Status.OPTIMAL or trap.base.norm == 1
        values.append(result.certificate.objective)
    assert min(values) == int(stated(built, name)["optimum"])


def test_forged_traps_are_refused(built):
    held = stated(built, "choices-squares-1e7")
    assert verify_trap.verify(held) == 500000080000004
    for forge in (
        lambda trap: trap.update(optimum="500000080000003"),
        lambda trap: trap["solution"].update({"x[US,0]": "0"}),
        lambda trap: trap["solution"].update({"x[US,0]": "1/2"}),
        lambda trap: trap["proof"].update(above={"prices": {}}),
        lambda trap: trap["proof"].update(split="x[US,0]", at="1/2"),
        lambda trap: trap["rows"].pop("total[US]"),
        lambda trap: trap["unknowns"]["x[US,0]"].update(squares="-1"),
    ):
        forged = copy.deepcopy(held)
        forge(forged)
        with pytest.raises((verify_trap.Refused, KeyError)):
            verify_trap.verify(forged)


def test_prices_prove_no_more_than_is_true():
    """Random programs of two whole unknowns against enumeration, with random prices and a random split."""
    rng = rng_of(4)
    for _ in range(200):
        squares, linear, terms = rng.integers(0, 3, 2), rng.integers(-4, 5, 2), rng.integers(-2, 3, 2)
        trap = {
            "constant": "1",
            "unknowns": {
                name: {"squares": str(q), "linear": str(p), "lower": "-3", "upper": "4", "integer": True}
                for name, q, p in zip("ab", squares, linear, strict=True)
            },
            "rows": {"r": {"terms": dict(zip("ab", map(str, terms), strict=True)), "least": "-2", "most": "3"}},
        }
        points = [dict(zip("ab", map(Fraction, x), strict=True)) for x in product(range(-3, 5), repeat=2)]
        best = min(verify_trap.objective(trap, x) for x in points if verify_trap.broken(trap, x) is None)
        prices = lambda: {"prices": {"r": f"{rng.integers(-9, 10)}/2"}}  # noqa: E731
        box = {name: (Fraction(-3), Fraction(4)) for name in "ab"}
        proof = {"split": "a", "at": str(rng.integers(-3, 4)), "below": prices(), "above": prices()}
        assert verify_trap.bound(trap, proof, box) <= best
        assert verify_trap.bound(trap, prices(), box) <= best


def test_a_solver_that_presolves_halves_away_falls():
    trap = find("presolve-half")
    assert of_program(trap, Scipy(), Fraction(9), 10) == "right"
    assert takes(Cvxpy("HIGHS"), trap)
    assert not takes(CpSat(), trap)
    assert of_program(trap, Cvxpy("HIGHS"), Fraction(10), 10) != "right"


def test_falls_are_told_from_right_answers():
    problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree(), groups=10)
    right = TreeProjection().solve(problem)
    value = Fraction(right.certificate.objective)
    assert of_result(right, None, value) == "right"
    assert of_result(right, SolverClaim.OPTIMAL, value / 2) == "**2 times**"
    assert of_result(right, SolverClaim.STOPPED, value / 2) == "no claim"
    assert of_result(Result(Status.INFEASIBLE), None, value) == "**no point, ours**"
    assert of_result(Result(Status.FAILED), SolverClaim.INFEASIBLE, value) == "**no point**"
    assert of_result(Result(Status.FAILED), SolverClaim.OPTIMAL, value) == "no claim"


def tree():
    return Hierarchy.from_paths([("US", "GA"), ("US", "MI")])


@pytest.mark.slow
def test_the_command_makes_the_table(tmp_path):
    done = CliRunner().invoke(app, ["traps", "--solvers", "Scipy()", "--limit", "5", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    header, _, row = (tmp_path / "traps.md").read_text().splitlines()
    assert header.split(" | ")[1:-1] == NAMES[:-1]
    assert row.startswith("| `Scipy()` | ")
