"""The programs of problems and their files: what rows and names say, and how problems are read back."""

import os
import re
import stat
import string
from dataclasses import fields, replace

import naive
import numpy as np
import pytest
from held_programs import of_file, of_program
from instances import rng_of, scale
from made_tables import write_long
from program_files import (
    NAMES,
    READERS,
    by_gurobi,
    by_scip,
    distance,
    flat_weights,
    optimum,
    problem_of,
    value_of,
)
from scipy import sparse

from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.data.sizes import Sizes
from pgsr.errors import ArgumentError, FileError, ProblemError, TooLargeError
from pgsr.problems.conditions import cells, entities, total
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.files import ENDINGS
from pgsr.problems.files.text import AT_ONCE
from pgsr.problems.programs import named
from pgsr.problems.programs.names import Names, decoded, encoded

TEXTS = (".mps", ".lp")
TWO = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
NATION = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def point_of(program, problem, rng):
    """Any point of the cells, and ups and downs that fit it where there are some."""
    x = rng.integers(-3, 9, problem.n_unknowns).astype(float)
    if program.n == len(x):
        return x
    y = problem.cells
    measured = np.flatnonzero(flat_weights(problem))
    up = np.maximum(x - y, 0)[measured]
    return np.concatenate([x, up, up - (x - y)[measured]])


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
def test_the_named_program_is_the_problem(name):
    """Its objective at any point is the distance, its constant included, in exact integers."""
    rng = rng_of(0)
    for instance in range(scale(2, 40)):
        problem = problem_of(name, instance)
        program = named(problem)
        x = point_of(program, problem, rng)
        cells = x[: problem.n_unknowns]
        assert value_of(program, x) == distance(problem, cells)
        assert program.integer[: problem.n_unknowns].all() == problem.integer or not problem.n_unknowns
        assert len(program.variables) == program.n
        assert len(program.rows) == program.m == program.matrix.shape[0]
        assert len(set(program.rows.words())) == program.m
        assert len(set(program.variables.words())) == program.n


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
def test_the_program_in_deviations_is_the_same(name, tmp_path):
    """Every row, bound and distance at x is that of z = x - origin in exact integers; .npz files tell the origin."""
    rng = rng_of(1)
    for instance in range(scale(2, 40)):
        problem = problem_of(name, instance)
        program, shifted = named(problem), named(problem, shifted=True)
        x = point_of(program, problem, rng)
        z = x.copy()
        z[: problem.n_unknowns] -= shifted.origin
        if problem.norm == 2:
            assert value_of(shifted, z) == value_of(program, x)
            assert shifted.constant == 0
            assert not shifted.linear[: problem.n_unknowns].any()
        moved = program.matrix @ x - shifted.matrix @ z
        for side in ("row_lower", "row_upper"):
            np.testing.assert_array_equal(getattr(shifted, side) + moved, getattr(program, side))
        for side in ("lower", "upper"):
            np.testing.assert_array_equal(getattr(shifted, side) + x - z, getattr(program, side))
        assert shifted.rows.words() == program.rows.words()
        cells = program.variables.words()[: problem.n_unknowns]
        assert shifted.variables.words()[: problem.n_unknowns] == [f"z{word[1:]}" for word in cells]
        if instance == 0:
            problem.write(tmp_path / "p.npz", shifted=True)
            np.testing.assert_array_equal(np.load(tmp_path / "p.npz")["origin"], shifted.origin)


def test_rows_are_what_their_names_say():
    """Every row by its name, coefficient by coefficient, written out from the problem's definition."""
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "n/a", "c d")])
    y = np.arange(tree.n_regions * 3).reshape(-1, 3)
    totals = tree.sum_up(np.array([[3], [4], [5]])).ravel()
    problem = Problem.of(y, tree, groups=totals).where(entities(level=0) == 9)
    program = named(problem)
    rows = dict(zip(program.rows.texts(), program.matrix.toarray().tolist(), strict=True))
    right = dict(zip(program.rows.texts(), program.row_upper, strict=True))
    names = program.variables.texts()
    assert names[:4] == ["x[US,0]", "x[US,1]", "x[US,2]", "x[US/GA,0]"]
    assert "x[US/n%2Fa/c d,2]" in names

    def row(**cells):
        return [cells.get(name, 0) for name in names]

    assert rows["consistency[US/GA,2]"] == row(**{"x[US/GA,2]": 1, "x[US/GA/a,2]": -1, "x[US/GA/b,2]": -1})
    assert rows["total[US/n%2Fa/c d]"] == row(**{f"x[US/n%2Fa/c d,{i}]": 1 for i in range(3)})
    assert rows["entities(US) == 9"] == row(**{f"x[US,{i}]": i for i in range(3)})
    assert (right["consistency[US/GA,2]"], right["total[US/n%2Fa/c d]"], right["entities(US) == 9"]) == (0, 5, 9)
    assert len(rows) == 3 * 3 + 3 + 1
    chain = named(Problem.of(y, tree, View.CUMULATIVE, groups=12))
    rows = dict(zip(chain.rows.texts(), chain.matrix.toarray().tolist(), strict=True))
    assert rows["order[US/GA/b,1]"] == row(**{"x[US/GA/b,1]": 1, "x[US/GA/b,2]": -1})
    assert rows["total[US]"] == row(**{"x[US,2]": 1})


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_problem_is_read_back_with_all_its_fields(name, tmp_path):
    for instance in range(scale(2, 20)):
        problem = problem_of(name, instance)
        problem.write(tmp_path / "p.npz")
        again = Problem.read(tmp_path / "p.npz")
        assert again.hierarchy.paths == problem.hierarchy.paths
        for part in ("parent", "first_child", "level_start", "order", "padded"):
            np.testing.assert_array_equal(getattr(again.hierarchy, part), getattr(problem.hierarchy, part))
        for field in fields(problem):
            have, want = getattr(again, field.name), getattr(problem, field.name)
            if isinstance(want, Sizes):
                assert have.max_sizes == want.max_sizes
            elif isinstance(want, Conditions):
                assert_same_conditions(have, want)
            elif isinstance(want, np.ndarray):
                np.testing.assert_array_equal(have, want)
                assert have.dtype == want.dtype
            else:
                assert have == want, field.name
                assert type(have) is type(want), field.name


def assert_same_conditions(have, want):
    for part in ("lower", "upper", "row_lower", "row_upper", "sources"):
        np.testing.assert_array_equal(getattr(have, part), getattr(want, part))
        assert getattr(have, part).dtype == getattr(want, part).dtype
    assert (have.rows != want.rows).nnz == 0
    assert have.rows.dtype == want.rows.dtype
    assert (have.names, have.stated) == (want.names, want.stated)


def test_conditions_are_rows_and_bounds_by_name(tmp_path):
    problem = Problem.of([[9, 5, 2], [3, 1, 1], [6, 4, 1]], NATION, groups=16).where(
        cells(size=0) == 0,
        cells(region=("US", "GA"), size=1) <= 2,
        total(region=("US", "MI")) >= 7,
        cells(region=("US", "GA"), size=1) >= 2 * cells(region=("US", "GA"), size=2),
        cells(region=[("US", "GA"), ("US", "MI")], size=1) == cells(region=[("US", "GA"), ("US", "MI")], size=2),
        total(region=("US", "MI")) >= 7,
    )
    program = named(problem)
    rows = dict(zip(program.rows.texts(), program.matrix.toarray().tolist(), strict=True))
    sides = dict(zip(program.rows.texts(), zip(program.row_lower, program.row_upper, strict=True), strict=True))
    bounds = dict(zip(program.variables.texts(), zip(program.lower, program.upper, strict=True), strict=True))
    inf = np.inf
    assert bounds["x[US/MI,0]"] == (0, 0)
    assert bounds["x[US/GA,1]"] == (0, 2)
    assert bounds["x[US/MI,1]"] == (0, inf)
    assert rows["total(US/MI) >= 7"] == [0] * 6 + [1, 1, 1]
    assert sides["total(US/MI) >= 7"] == sides["total(US/MI) >= 7 [2]"] == (7, inf)
    assert rows["cells(US/GA, 1) >= 2 cells(US/GA, 2)"] == [0, 0, 0, 0, 1, -2, 0, 0, 0]
    assert sides["cells(US/MI, 1) == cells(US/MI, 2)"] == (0, 0)
    assert "stated: cells(US/GA, 1) <= 2" in program.notes
    for ending in (*TEXTS, ".npz"):
        problem.write(tmp_path / f"p{ending}")
        assert of_file(tmp_path / f"p{ending}") == of_program(program)
    for ending in (".mps", ".lp"):
        for solve in (by_gurobi, by_scip):
            value, _ = solve(tmp_path / f"p{ending}")
            assert value == pytest.approx(optimum(problem), abs=1e-4)
    assert Problem.read(tmp_path / "p.npz").conditions.stated == problem.conditions.stated


def test_rows_with_two_sides(tmp_path):
    """`where` makes none, `Conditions` may: MPS has RANGES for them, LP two rows."""
    problem = Problem.of([[9, 5, 2], [3, 1, 1], [6, 4, 1]], NATION, groups=16, integer=False)
    stated = Conditions.none(9)
    row = sparse.csr_array(np.array([[0, 0, 0, 1, 1, 0, 0, 0, 0]]))
    two = replace(stated, rows=row, row_lower=np.array([1]), row_upper=np.array([2]), names=("between [1, 2]",))
    problem = replace(problem, conditions=two)
    best = optimum(problem)
    for solve, endings, _ in READERS.values():
        for ending in endings:
            problem.write(tmp_path / f"p{ending}")
            assert solve(tmp_path / f"p{ending}")[0] == pytest.approx(best, abs=1e-4)


def test_padded_trees_and_epsilons_come_back(tmp_path):
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "DC")], pad_ragged=True)
    problem = Problem.m_h(naive.measurement_of(tree, np.arange(3 * tree.n_regions).reshape(-1, 3), 9))
    problem.write(tmp_path / "p.npz")
    again = Problem.read(tmp_path / "p.npz")
    assert again.noise == problem.noise
    assert (again.hierarchy.padded == tree.padded).all()
    assert again.hierarchy.real_paths == tree.real_paths


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_problem_makes_the_same_bytes(ending, tmp_path, monkeypatch):
    """Again, and in pieces of a few lines, which join without a seam."""
    for problem in [problem_of(name) for name in ("M_H", "M_c L1", "M_c")]:
        problem.write(tmp_path / f"a{ending}")
        for size in (1, 3, 7, AT_ONCE):
            monkeypatch.setattr("pgsr.problems.files.text.AT_ONCE", size)
            problem.write(tmp_path / f"b{ending}")
            assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_names_go_back_and_forth():
    rng = rng_of(0)
    alphabet = [*"aZ09_.,;[]()~/% -+*^<>=:\"'\\é漢", "%20"]
    for _ in range(scale(300, 3000)):
        name = "".join(rng.choice(alphabet, int(rng.integers(1, 12))))
        assert decoded(encoded(name)) == name
        assert set(encoded(name)) <= set(string.ascii_letters + string.digits + "_.,(){}~%")
        assert encoded(name)[0] not in "0123456789.,"
    names = Names.cells("x", ["US", "US/GA"], np.array([0, 1, 1]), np.array([0, 0, 7]))
    assert names.texts() == ["x[US,0]", "x[US/GA,0]", "x[US/GA,7]"]
    assert [a + b for a, b in zip(*names.parts(np.array([2, 0])), strict=True)] == [b"x(US~GA,7)", b"x(US,0)"]


def test_names_are_short_where_there_are_many_or_long_ones():
    tree = Hierarchy.from_paths([("US", "a" * 300), ("US", "b")])
    problem = Problem.of([[2, 5], [1, 2], [0, 3]], tree, groups=7)
    program = named(problem)
    assert program.variables.texts()[:3] == ["x[0,0]", "x[0,1]", "x[1,0]"]
    assert any("region 1 is US/aaa" in note for note in program.notes)
    assert named(problem, "full").variables.texts()[2] == f"x[US/{'a' * 300},0]"
    small = problem_of("M_H")
    assert named(small, "short").variables.texts()[0] == "x[0,0]"
    with pytest.raises(ProblemError, match="full"):
        named(small, "long")


def test_large_numbers_stay_exact(tmp_path):
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    big = 2**44 + 1
    problem = Problem.of([[big, 3], [-big, 2]], tree, groups=big)
    assert named(problem).constant == 2 * big**2 + 9 + 4
    for ending in TEXTS:
        problem.write(tmp_path / f"p{ending}")
        numbers = {word.lstrip("-") for word in (tmp_path / f"p{ending}").read_text().split()}
        assert {str(2 * big**2 + 13), str(2 * big), str(big)} <= numbers
    problem.write(tmp_path / "p.npz")
    arrays = np.load(tmp_path / "p.npz")
    assert (int(str(arrays["constant"])), arrays["q"][0], arrays["u"][-1]) == (2 * big**2 + 13, -2 * big, big)
    with pytest.raises(TooLargeError, match="give smaller counts"):
        Problem.of([[2**52, 3], [1, 2]], tree, groups=5).write(tmp_path / "p.mps")


def test_what_is_no_such_file_is_a_sentence(tmp_path):
    problem = problem_of("M_H")
    with pytest.raises(ArgumentError, match="rename it"):
        problem.write(tmp_path / "p.txt")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "p.npz"
    problem.write(path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"hello\n", b"\xff\xfe\n", whole[:99] + b"\xff" + whole[100:], b""):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=re.escape(str(path))):
            Problem.read(path)
    for ending in (*TEXTS, ".qps"):
        with pytest.raises(ArgumentError, match=f"^p{ending} holds a program.*have HiGHS, Gurobi or SCIP read it"):
            Problem.read(tmp_path / f"p{ending}")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FileError, match="no problem"):
        Problem.read(tmp_path / "other.npz")
    np.savez(path, problem_label="M_H", A_shape=(0, 0))
    with pytest.raises(FileError, match=r"p\.npz is damaged, or not one that pgsr writes"):
        Problem.read(path)


def test_files_that_cannot_be_are_named(tmp_path):
    problem = problem_of("M_H")
    for ending in ENDINGS:
        absent = tmp_path / "nodir" / f"a{ending}"
        with pytest.raises(FileError, match=f"^{re.escape(str(absent))} cannot be written: there is no folder .*nodir"):
            problem.write(absent)
        folder = tmp_path / f"folder{ending}"
        folder.mkdir()
        with pytest.raises(FileError, match=f"^{re.escape(str(folder))} cannot be written: Is a directory; choose"):
            problem.write(folder)
    with pytest.raises(FileError, match=f"^{re.escape(str(tmp_path))}/folder.npz cannot be read: Is a directory"):
        Problem.read(tmp_path / "folder.npz")
    with pytest.raises(FileError, match=r"^there is no file no\.npz; give the name of one that Problem\.write made"):
        Problem.read("no.npz")
    for call in (problem.write, Problem.read):
        with pytest.raises(ArgumentError, match=r"the name of a file is 7; give text or a pathlib\.Path"):
            call(7)
    assert not [file for file in tmp_path.iterdir() if file.is_file()]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_files_have_the_mode_that_open_gives(tmp_path, mask):
    problem, long = problem_of("M_H"), CountOfCounts(Hierarchy.from_parents(["US"], [-1]), [[0, 2]])
    before = os.umask(mask)
    try:
        problem.write(tmp_path / "p.mps")
        problem.write(tmp_path / "p.npz")
        write_long(long, tmp_path / "long.csv")
        write_long(long, tmp_path / "long.parquet")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o666 & ~mask}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    problem, path = problem_of("M_H"), tmp_path / "p.mps"
    problem.write(path)
    before = path.read_bytes()
    monkeypatch.setattr("pgsr.machine.whole_files.os.fsync", lambda _: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(FileError, match=r"p\.mps cannot be written: no space"):
        replace(problem, label="another").write(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["p.mps"]
