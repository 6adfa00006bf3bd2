"""PGSR-LIB: what is built is proved, the verifier needs NumPy alone and finds forgeries, runs are judged and go on."""

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
from instances import random_tree, scale
from typer.testing import CliRunner

from pgsr import Geometric, Hierarchy, PgsrError, Problem, Seeded, View
from pgsr.datasets import census_like
from pgsr.experiments.lib import verify
from pgsr.experiments.lib.command import app
from pgsr.experiments.lib.folder import build, is_built, problem_of, read
from pgsr.experiments.lib.grid import on_grid
from pgsr.experiments.lib.instances import FAMILIES, INSTANCES, Instance, find
from pgsr.experiments.lib.optimum import optimum_of
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
from pgsr.models.judge import Answer, Claim
from pgsr.programs.named import named

INTEGER = "mh-census-1e3-eps1"
REAL = "naive-relaxed-census-1e3-eps1"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("lib")
    for name in (INTEGER, REAL, "hc-l1-census-1e3-eps1"):
        build(find(name), out, with_mps=name == INTEGER)
    return out


def small_problem(family: str, rng: np.random.Generator) -> Problem:
    """A tiny problem of a family, on a random tree."""
    view, state = FAMILIES[family]
    regions = ["divisions", "states"][int(rng.integers(2))]
    truth = census_like(regions=regions, max_size=int(rng.integers(1, 5)), groups=300, seed=int(rng.integers(9)))
    return state(Geometric(view, str(rng.choice(["1/5", "1", "4"]))).measure(truth, Seeded(int(rng.integers(2**40)))))


EXACT = ("naive", "hc-l1", "hc-l2", "hg-l1", "hg-l2", "mh", "mh-regions")


@pytest.mark.parametrize("family", EXACT)
def test_integer_families_are_proved_without_a_gap(family):
    rng = np.random.default_rng([5, *family.encode()])
    for _ in range(scale(3, 40)):
        objective, bound = checked(small_problem(family, rng))
        assert objective == bound


@pytest.mark.parametrize("family", [*EXACT[:3], "mean", "mh", "mh-regions", "mc", "mc-regions", "mc-l1"])
def test_relaxed_families_are_proved_to_nine_digits(family):
    rng = np.random.default_rng([6, *family.encode()])
    for _ in range(scale(3, 40)):
        objective, bound = checked(small_problem(family, rng).relaxed())
        assert bound <= objective
        assert float(objective - bound) <= 1e-7 + 1e-8 * float(objective)


@pytest.mark.parametrize("family", ["mc", "mc-regions", "mc-l1"])
def test_integer_families_without_an_exact_proof_have_a_valid_interval(family):
    rng = np.random.default_rng([7, *family.encode()])
    for _ in range(scale(2, 10)):
        objective, bound = checked(small_problem(family, rng))
        assert bound <= objective
        assert float(objective - bound) <= 0.02 * max(1.0, float(bound))


def checked(problem: Problem) -> tuple[Fraction, Fraction]:
    """Solve, and let the verifier compute the objective and the bound."""
    program = named(problem)
    found = optimum_of(problem, program)
    stated = program_of(problem)
    return (
        verify.check_solution(stated, verify.whole(found.solution, "solution"), found.solution_unit),
        verify.check_bound(stated, verify.whole(found.prices, "prices"), found.prices_unit),
    )


def program_of(problem: Problem) -> verify.Program:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        problem.write(Path(folder) / "problem.npz")
        return verify.Program(Path(folder) / "problem.npz")


def test_any_prices_give_a_bound_below_every_point():
    """Against exhaustive search: random prices never prove more than the integer optimum, nor the real one."""
    rng = np.random.default_rng(3)
    for _ in range(scale(40, 400)):
        tree = random_tree(rng, max_regions=4)
        noisy = rng.integers(-2, 4, (tree.n_regions, 2))
        problem = naive.problem_of(tree, noisy, 3)
        best = min(
            objective_at(problem, leaves)
            for leaves in product(range(4), repeat=2 * (tree.n_regions - tree.n_inner))
            if sum(leaves) == 3
        )
        for stated in (problem, problem.relaxed()):
            program = program_of(stated)
            prices = rng.integers(-9, 10, program.m).astype(object)
            bound = verify.check_bound(program, prices, int(rng.integers(1, 5)))
            assert bound <= best


def objective_at(problem: Problem, leaves: tuple[int, ...]) -> int:
    tree = problem.hierarchy
    x = np.zeros(problem.target.shape, np.int64)
    x[tree.leaves] = np.reshape(leaves, (-1, 2))
    for level in range(tree.n_levels - 2, -1, -1):
        x[tree.level(level)] = tree.sum_children(x, level)
    return int((problem.w[:, None] * (x - problem.target) ** 2).sum())


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
    "another noisy value": lambda f: _problem(f, problem_values=_raised(0, 1000)),
    "another last noisy value": lambda f: _problem(f, problem_values=_raised(-1, 1)),
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
@pytest.mark.parametrize("name", [INTEGER, REAL, "hc-l1-census-1e3-eps1"])
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


MAGNITUDES = "hc-l1-census-1e3-eps1"


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
        verify.Program(tmp_path / "problem.npz")


def test_the_verifier_answers_a_wrong_call_in_a_sentence(built, tmp_path, capsys):
    assert verify.main([]) == 2
    assert "usage: python verify.py FOLDER" in capsys.readouterr().err
    assert verify.main([str(tmp_path / "absent")]) == 1
    assert capsys.readouterr().out == f"WRONG     {tmp_path / 'absent'}: there is no such folder\n"


def test_broken_rows_are_counted_in_words(built):
    program = verify.Program(built / INTEGER / "problem.npz")
    with np.load(built / INTEGER / "certificate.npz") as file:
        x = verify.whole(file["solution"], "solution")
    with pytest.raises(verify.Refused, match=r"breaks row \d+$"):
        verify.check_solution(program, _swapped(x), 1)
    with pytest.raises(verify.Refused, match=r"breaks row \d+ and \d+ more$"):
        verify.check_solution(program, x + 1, 1)


def test_a_price_on_a_missing_side_proves_nothing(built):
    program = verify.Program(built / "hc-l1-census-1e3-eps1" / "problem.npz")
    prices = np.zeros(program.m, object)
    prices[np.flatnonzero(program.sides[0] == -np.inf)[0]] = 1
    with pytest.raises(verify.Refused, match="side"):
        verify.check_bound(program, prices, 1)


def test_mps_states_the_same_program(built):
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(built / INTEGER / "problem.mps"))
    program = verify.Program(built / INTEGER / "problem.npz")
    assert (highs.getNumCol(), highs.getNumRow()) == (program.n, program.m)
    with np.load(built / INTEGER / "certificate.npz") as file:
        x = file["solution"].astype(float)
    lp, quadratic = highs.getLp(), highs.getModel().hessian_
    value = float(np.asarray(lp.col_cost_) @ x) + lp.offset_ + 0.5 * float(np.asarray(quadratic.value_) @ x**2)
    assert value == pytest.approx(float(read(built / INTEGER).objective))


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


def test_grid_points_are_feasible_exactly():
    rng = np.random.default_rng(11)
    for family in ("naive", "hc-l2", "mh", "mh-regions", "mc", "mc-regions"):
        problem = small_problem(family, rng).relaxed()
        solved = Cvxpy("CLARABEL").solve(problem)
        grid = on_grid(problem, solved.estimate.values, 2**20)
        verify.check_solution(program_of(problem), grid.ravel(), 2**20)


class Liar(Scipy):
    """Says optimal of zeros."""

    def run(self, program, time_limit):
        answer = super().run(program, time_limit).answer
        return Run(Answer(Claim.OPTIMAL, "", answer.values + 1, answer.duals, answer.order_duals), 0.0, 0.0)

    def __repr__(self):
        return "Liar()"


@pytest.mark.slow
def test_a_run_tells_who_says_solved_and_is_not_and_goes_on(built, tmp_path):
    folders = [built / name for name in (INTEGER, REAL, "hc-l1-census-1e3-eps1")]
    said: list[str] = []
    methods = [Cvxpy("CLARABEL"), *chosen(["TreeProjection()"]), Liar()]
    rows = run(folders, methods, 30, tmp_path / "rows.jsonl", said.append)
    by_pair = rows.set_index(["method", "instance"])
    assert set(by_pair.index) == {
        ("Cvxpy('CLARABEL')", REAL),
        ("TreeProjection()", INTEGER),
        ("Liar()", INTEGER),
        ("Liar()", "hc-l1-census-1e3-eps1"),
    }
    assert is_optimal(rows, 1e-6).sum() == 2
    table = scores(rows, "MIQP").set_index("method")
    assert table.loc["TreeProjection()", "1e-09"] == 1
    assert table.loc["Liar()", ["said", "1e-06", "wrong"]].tolist() == [1, 0, 1]
    before = len(said)
    again = run(folders, methods, 30, tmp_path / "rows.jsonl", said.append)
    assert len(said) == before, "nothing runs twice"
    pd.testing.assert_frame_equal(rows, again)


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


def test_the_commands_build_verify_and_list(tmp_path):
    runner = CliRunner()
    made = runner.invoke(app, ["build", "naive-census-1e3", "--out", str(tmp_path)])
    assert made.exit_code == 0, made.output
    assert is_built(tmp_path / "naive-census-1e3-eps1")
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


def test_views_of_families_are_those_of_their_problems():
    truth = census_like("divisions", 2, 200)
    for name, (view, state) in FAMILIES.items():
        assert state(Geometric(view, 1).measure(truth, Seeded(name))).view is view
        assert isinstance(view, View)


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
        solution, unit, y = proof["solution"], int(proof["solution_unit"]), file["problem_values"].ravel()
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
        with pytest.raises(PgsrError, match=f"pip install {package}"):
            make(built)


def test_programs_for_other_benchmarks_are_those_of_the_files(built):
    """The stored solution satisfies them, and no row is lost."""
    for name in (INTEGER, REAL, "hc-l1-census-1e3-eps1"):
        p, program = quadratic_program(built / name), verify.Program(built / name / "problem.npz")
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


def test_instances_that_largest_leaves_out_are_a_sentence(tmp_path):
    command = [sys.executable, "-m", "pgsr.experiments", "lib", "build", "mh-census-1e7-eps1", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "give --largest 1e7" in " ".join((done.stdout + done.stderr).split())
    assert not list(tmp_path.iterdir())


def test_a_second_build_tells_what_it_keeps(built):
    done = CliRunner().invoke(app, ["build", REAL, "--out", str(built)])
    assert done.exit_code == 0
    assert "1 built before" in done.output


def test_times_have_three_digits_and_a_unit():
    assert [duration(s) for s in (0.01694665800459738, 0.5, 9.996, 20.0, 0.0)] == [
        "16.9 ms", "500 ms", "10.0 s", "20.0 s", "0 ms"
    ]  # fmt: skip
