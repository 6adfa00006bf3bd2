"""PGSR-LIB: what is built is proved, files state the same program, the verifier finds forgeries, runs have scores."""

import copy
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from itertools import product

import naive
import numpy as np
import pandas as pd
import pytest
from instances import random_tree, rng_of, scale
from lib_instances import INTEGER, MAGNITUDES, REAL, program_of, small_problem
from typer.testing import CliRunner

from pgsr import Hierarchy, PgsrError, Problem, Status
from pgsr.algorithms import TreeProjection
from pgsr.experiments.lib import published, verify
from pgsr.experiments.lib.command import app
from pgsr.experiments.lib.folder import build, is_built, problem_of, read
from pgsr.experiments.lib.instances import Instance, find
from pgsr.experiments.lib.optimum import optimum_of
from pgsr.experiments.lib.run import chosen, run, takes
from pgsr.experiments.lib.score import is_optimal, scores, shifted_geometric_mean
from pgsr.experiments.lib.traps import verify_trap
from pgsr.experiments.lib.traps.problems import TRAPS
from pgsr.experiments.lib.traps.problems import find as find_trap
from pgsr.experiments.lib.traps.proof import build as build_trap
from pgsr.models import CpSat, Cvxpy, Scipy
from pgsr.models.adapter import Run
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.problems.programs.formulation import named

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


@pytest.mark.slow
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


def test_what_is_not_built_is_told(tmp_path, monkeypatch):
    """Data that are not there, and what `--largest` leaves out."""
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    made = CliRunner().invoke(app, ["build", "mh-taxi-1e3", "--out", str(tmp_path)])
    assert made.exit_code == 1
    assert "not built" in made.output
    with pytest.raises(PgsrError, match="give --largest 1e7"):
        CliRunner().invoke(app, ["build", "mh-census-1e7-eps1", "--out", str(tmp_path)], catch_exceptions=False)
    assert not list(tmp_path.iterdir())


# Runs over PGSR-LIB: who says solved and is not, and scores.


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


# The verifier of PGSR-LIB needs NumPy alone, proves no more than is true, and finds forgeries.


def test_any_prices_give_a_bound_below_every_point():
    """Against exhaustive search: random prices never prove more than the integer optimum, nor the real one."""
    rng = rng_of(3)
    for _ in range(scale(15, 400)):
        tree = random_tree(rng, max_regions=4)
        noisy = rng.integers(-2, 4, (tree.n_regions, 2))
        problem = naive.problem_of(tree, noisy, 3)
        best = naive.objectives(problem, naive.feasible_points(tree, 2, 3)).min()
        for stated in (problem, problem.relaxed()):
            program = program_of(stated)
            prices = rng.integers(-9, 10, program.m).astype(object)
            bound = verify.check_bound(program, prices, int(rng.integers(1, 5)))
            assert bound <= best


def test_no_product_wraps():
    """Numbers whose products are multiples of 2^64, which 64-bit integers would take for 0, prove nothing false."""
    tree, noisy = Hierarchy.from_parents(["US"], [-1]), 2**33 * np.array([[1, 2, 5]])
    program = program_of(Problem.of(noisy, tree, integer=False, consistent=False, label="large"))
    prices, x = np.zeros(program.m, object), np.array(noisy.ravel().tolist(), object)
    for unit in (1, 2**30, 2**60, 2**70):
        assert verify.check_solution(program, unit * x, unit) == 0
        assert verify.check_bound(program, prices, unit) <= 0


def test_the_verifier_needs_numpy_alone_and_accepts(built):
    """With pgsr, SciPy and everything else hidden, by the file in the folder."""
    code = (
        "import sys; [sys.modules.__setitem__(name, None) for name in ('pgsr', 'scipy', 'pandas', 'numba')]\n"
        "import runpy; main = runpy.run_path(sys.argv[1] + '/verify.py', run_name='x')['main']\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, str(built / INTEGER), str(built / REAL)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("optimal")
    assert second.startswith("interval")
    assert len((built / INTEGER / "verify.py").read_text().splitlines()) < 220


def _certificate(folder, **changes):
    with np.load(folder / "certificate.npz") as file:
        arrays = dict(file)
    np.savez_compressed(folder / "certificate.npz", **(arrays | {k: f(arrays[k]) for k, f in changes.items()}))


def _claim(folder, **changes):
    facts = json.loads((folder / "optimum.json").read_text())
    (folder / "optimum.json").write_text(json.dumps(facts | {k: f(facts[k]) for k, f in changes.items()}))


def _problem(folder, **changes):
    """Change arrays of the program, and its digest with them, as somebody who forges a folder would."""
    with np.load(folder / "problem.npz") as file:
        arrays = dict(file)
    np.savez_compressed(folder / "problem.npz", **(arrays | {k: f(arrays[k]) for k, f in changes.items()}))
    _claim(folder, sha256=lambda known: known | {"problem.npz": verify.digest(folder / "problem.npz")})


def _raised(place, by):
    """The change that adds `by` to one entry of an array."""

    def change(array):
        array = array.copy()
        array.flat[place] += by
        return array

    return change


def _longer(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b" ")


def _swapped(x):
    """Move one group between two cells of a leaf: not feasible any more, as sums above stay."""
    x = x.copy()
    x[-1] += 1
    return x


FORGERIES = {
    "a solution that breaks a condition": lambda f: _certificate(f, solution=_swapped),
    "half the solution": lambda f: _certificate(f, solution_unit=lambda unit: unit * 2),
    "a solution of another shape": lambda f: _certificate(f, solution=lambda x: x[:-1]),
    "another optimum": lambda f: _claim(f, objective=lambda text: str(Fraction(text) - 1)),
    "a better bound": lambda f: _claim(f, bound=lambda text: str(Fraction(text) + 1)),
    "optimal, where it is an interval": lambda f: _claim(
        f, status=lambda s: "interval" if s == "optimal" else "optimal"
    ),
    "other prices": lambda f: _certificate(f, prices=lambda prices: prices + 3),
    "prices of another shape": lambda f: _certificate(f, prices=lambda prices: prices[1:]),
    "no proof at all": lambda f: (f / "certificate.npz").unlink(),
    "damaged proof": lambda f: (f / "certificate.npz").write_bytes(b"PK"),
    "damaged claims": lambda f: (f / "optimum.json").write_text("[1"),
    "another noisy value": lambda f: _problem(f, problem_cells=_raised(0, 1000)),
    "another last noisy value": lambda f: _problem(f, problem_cells=_raised(-1, 1)),
    "another weight": lambda f: _problem(f, problem_weights=_raised(0, 1)),
    "another norm": lambda f: _problem(f, problem_norm=lambda norm: 3 - norm),
    "other integrality": lambda f: _problem(f, problem_integer=np.logical_not),
    "one column more": lambda f: _problem(f, A_shape=_raised(1, 1)),
    "one row less": lambda f: _problem(f, A_shape=_raised(0, -1)),
    "an entry outside": lambda f: _problem(f, A_indices=_raised(0, 10**6)),
    "an infinite cost": lambda f: _problem(f, q=lambda q: np.where(np.arange(len(q)) == 0, np.inf, q)),
    "another total, the digest kept": lambda f: (
        _problem(f, problem_groups=_raised(0, 1)), _claim(f, sha256=lambda known: known | {"problem.npz": "0"})
    ),
    "another float of the objective": lambda f: _claim(f, objective_float=lambda value: value + 1),
    "another gap": lambda f: _claim(f, gap=lambda gap: gap + 1e-3),
    "another kind": lambda f: _claim(f, kind=lambda kind: kind.removeprefix("MI") + "X"),
    "more unknowns": lambda f: _claim(f, unknowns=lambda n: n + 1),
    "more rows": lambda f: _claim(f, rows=lambda m: m + 1),
    "more entries": lambda f: _claim(f, entries=lambda n: n + 1),
    "another problem": lambda f: _claim(f, problem=lambda label: label + "^r"),
    "another name": lambda f: _claim(f, name=lambda name: name + "-leaves"),
    "no name": lambda f: (f / "optimum.json").write_text((f / "optimum.json").read_text().replace('"name"', '"nom"')),
    "another program": lambda f: _longer(f, "problem.npz"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize(
    "name", [INTEGER, *(pytest.param(each, marks=pytest.mark.full) for each in (REAL, MAGNITUDES))]
)
def test_every_forgery_is_found(name, forgery, built, tmp_path, capsys):
    folder = tmp_path / name
    shutil.copytree(built / name, folder)
    assert verify.main([str(folder)]) == 0
    FORGERIES[forgery](folder)
    capsys.readouterr()
    assert verify.main([str(folder)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"WRONG     {folder}: ")
    assert "Error" not in said
    assert "Refused" not in said


def test_another_mps_is_found_and_one_of_unknown_origin_is_told(built, tmp_path, capsys):
    folder = tmp_path / INTEGER
    shutil.copytree(built / INTEGER, folder)
    assert verify.main([str(folder)]) == 0
    assert "not checked" not in capsys.readouterr().out
    _longer(folder, "problem.mps")
    assert verify.main([str(folder)]) == 1
    assert "problem.mps is not the file that was built" in capsys.readouterr().out
    _claim(folder, sha256=lambda known: {})
    assert verify.main([str(folder)]) == 0
    assert "mps not checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("array", "place"),
    [("q", -1), ("q", 0), ("constant", 0), ("P", 0), ("A_data", -1), ("A_indices", -1), ("l", -1), ("u", -1),
     ("lower", -1)],
)  # fmt: skip
def test_magnitudes_are_checked_to_be_the_distance(array, place, built, tmp_path):
    """Every array that states sum w |x - y|, changed alone."""
    with np.load(built / MAGNITUDES / "problem.npz") as file:
        arrays = dict(file)
    by = -1 if array == "A_indices" else 2
    arrays[array] = np.array("2") if array == "constant" else _raised(place, by)(arrays[array])
    np.savez_compressed(tmp_path / "problem.npz", **arrays)
    with pytest.raises(verify.Refused, match="objective is not sum w"):
        verify.ProblemArrays(tmp_path / "problem.npz")


def test_the_verifier_answers_a_wrong_call_in_a_sentence(built, tmp_path, capsys):
    assert verify.main([]) == 2
    assert "usage: python verify.py FOLDER" in capsys.readouterr().err
    assert verify.main([str(tmp_path / "absent")]) == 1
    assert capsys.readouterr().out == f"WRONG     {tmp_path / 'absent'}: there is no such folder\n"


def test_a_price_on_a_missing_side_proves_nothing(built):
    program = verify.ProblemArrays(built / MAGNITUDES / "problem.npz")
    prices = np.zeros(program.m, object)
    prices[np.flatnonzero(program.sides[0] == -np.inf)[0]] = 1
    with pytest.raises(verify.Refused, match="side"):
        verify.check_bound(program, prices, 1)


# Traps of PGSR-LIB: their proofs hold, forged ones do not, and falls are told from right answers.


NAMES = [trap.name for trap in TRAPS]
OF_OURS = [trap.name for trap in TRAPS if trap.base is not None]


@pytest.fixture(scope="module")
def traps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traps")
    for trap in TRAPS:
        build_trap(trap, folder)
    return folder


def stated(traps, name) -> dict:
    return json.loads((traps / f"{name}.json").read_text())


def test_every_trap_is_proved_by_its_file_and_python_alone(traps):
    files = [str(traps / f"{name}.json") for name in NAMES]
    command = [sys.executable, "-S", "-I", str(traps / "verify_trap.py"), *files]  # without site-packages
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["optimal"] * len(NAMES)
    assert (traps / "choices-squares-1e7.json").read_text().count("500000080000004") == 1


@pytest.mark.parametrize("name", OF_OURS)
def test_the_optimum_is_the_best_of_all_alternatives(traps, name):
    """Every way to choose, solved by itself; squares by our own method, whose answer is proved in integers."""
    trap, values = find_trap(name), []
    assert trap.base is not None
    for picks in product(*trap.choices):
        one = trap.base.where(*(condition for alternative in picks for condition in alternative))
        result = (TreeProjection() if trap.base.norm == 2 else CpSat()).solve(one)
        assert result.status is Status.OPTIMAL or trap.base.norm == 1
        values.append(result.certificate.objective)
    assert min(values) == int(stated(traps, name)["optimum"])


def test_forged_traps_are_refused(traps):
    held = stated(traps, "choices-squares-1e7")
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
    for _ in range(scale(60, 400)):
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


def tree():
    return Hierarchy.from_paths([("US", "GA"), ("US", "MI")])


@pytest.mark.slow
def test_the_command_makes_the_table(tmp_path):
    done = CliRunner().invoke(app, ["traps", "--solvers", "Scipy()", "--limit", "5", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    header, _, row = (tmp_path / "traps.md").read_text().splitlines()
    assert header.split(" | ")[1:-1] == NAMES[:-1]
    assert row.startswith("| `Scipy()` | ")
