"""The verifier of PGSR-LIB needs NumPy alone, proves no more than is true, and finds forgeries."""

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from itertools import product

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale
from lib_instances import INTEGER, MAGNITUDES, REAL, program_of

from pgsr import Hierarchy, Problem
from pgsr.experiments.lib import verify


def test_any_prices_give_a_bound_below_every_point():
    """Against exhaustive search: random prices never prove more than the integer optimum, nor the real one."""
    rng = rng_of(3)
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


@pytest.mark.few(23)
@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("name", [INTEGER, REAL, MAGNITUDES])
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
