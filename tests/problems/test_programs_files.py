"""The files of problems: what solvers read from them, and what we read back."""

import os
import re
import stat
import string
from dataclasses import fields, replace

import naive
import numpy as np
import pytest
from instances import rng_of, scale
from made_tables import write_long
from program_files import (
    NAMES,
    READERS,
    by_gurobi,
    by_our_reader,
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
from pgsr.errors import ArgumentError, ProblemError, TooLargeError
from pgsr.problems.conditions import cells, entities, total
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.files import ENDINGS
from pgsr.problems.files.builder import FileError
from pgsr.problems.files.text import AT_ONCE
from pgsr.problems.programs import named, read_program
from pgsr.problems.programs.names import Names, decoded, encoded

TEXTS = (".mps", ".lp")
TWO = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
NATION = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
PARTS = ("quadratic", "linear", "row_lower", "row_upper", "lower", "upper", "integer")


def assert_same(again, program):
    for part in PARTS:
        np.testing.assert_array_equal(getattr(again, part), getattr(program, part), err_msg=part)
    assert (again.matrix != program.matrix).nnz == 0


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
    """Every row, bound and distance at x is that of z = x - origin in exact integers, in memory and in files."""
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
        for ending in ENDINGS if instance == 0 else ():
            problem.write(tmp_path / f"p{ending}", shifted=True)
            again = read_program(tmp_path / f"p{ending}")
            assert_same(again, shifted)
            if ending == ".npz":
                np.testing.assert_array_equal(again.origin, shifted.origin)


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


@pytest.mark.few(10)
@pytest.mark.parametrize("ending", [*TEXTS, ".qps", ".npz"])
@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_read_back_as_it_was(name, ending, tmp_path):
    for instance in range(scale(2, 20)):
        problem = problem_of(name, instance)
        program, path = named(problem), tmp_path / f"p{ending}"
        problem.write(path)
        again = read_program(path)
        assert_same(again, program)
        assert again.constant == program.constant
        assert again.variables.words() == program.variables.words()
        assert again.rows.words() == program.rows.words()


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
    for ending in ENDINGS:
        problem.write(tmp_path / f"p{ending}")
        again = read_program(tmp_path / f"p{ending}")
        assert again.rows.texts() == program.rows.texts()
        assert_same(again, program)
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
            if solve is not by_our_reader:
                assert solve(tmp_path / f"p{ending}")[0] == pytest.approx(best, abs=1e-4)
            elif ending != ".lp":
                again = read_program(tmp_path / f"p{ending}")
                assert (again.row_lower[-1], again.row_upper[-1]) == (1, 2)
    problem.write(tmp_path / "p.lp")
    assert read_program(tmp_path / "p.lp").rows.texts()[-2:] == ["between [1, 2]", "between [1, 2].low"]


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


@pytest.mark.parametrize("ending", [*TEXTS, ".qps", ".npz"])
def test_labels_of_several_lines_stay_comments(ending, tmp_path):
    problem = replace(TWO, label="M_H, 1 %\nEnd")
    path = tmp_path / f"p{ending}"
    problem.write(path)
    again = read_program(path)
    assert (again.n, again.m, again.constant) == (4, 3, 14)
    assert again.label.split() == problem.label.split()


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
    for ending in ENDINGS:
        problem.write(tmp_path / f"p{ending}")
        again = read_program(tmp_path / f"p{ending}")
        assert again.constant == 2 * big**2 + 13
        assert again.linear[0] == -2 * big
        assert again.row_upper[-1] == big
    with pytest.raises(TooLargeError, match="give smaller counts"):
        Problem.of([[2**52, 3], [1, 2]], tree, groups=5).write(tmp_path / "p.mps")


def test_what_is_no_such_file_is_a_sentence(tmp_path):
    problem = problem_of("M_H")
    with pytest.raises(ArgumentError, match="rename it"):
        problem.write(tmp_path / "p.txt")
    assert not list(tmp_path.iterdir())
    for ending in ENDINGS:
        path = tmp_path / f"p{ending}"
        problem.write(path)
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"hello\n", b"\xff\xfe\n", whole[:99] + b"\xff" + whole[100:], b""):
            path.write_bytes(damaged)
            with pytest.raises(FileError, match=re.escape(str(path))):
                read_program(path)
        with pytest.raises(ArgumentError if ending != ".npz" else FileError):
            Problem.read(path)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FileError, match="no problem"):
        Problem.read(tmp_path / "other.npz")


CHANGED = {
    "two entries in a line of a column": (
        ".mps",
        " x(US,0) total(US) 1\n",
        " x(US,0) total(US) 1 consistency(US,1) 1\n",
    ),
    "two right-hand sides in a line": (".mps", " RHS total(US) 5\n", " RHS total(US) 5 consistency(US,0) 1\n"),
    "a bound with more behind it": (".mps", " PL BOUND x(US,0)\n", " PL BOUND x(US,0) 7\n"),
    "an upper bound without a number": (".mps", " PL BOUND x(US,0)\n", " UP BOUND x(US,0)\n"),
    "a second objective": (".mps", " E total(US)\n", " E total(US)\n N other\n"),
    "a range of a row with one side": (".mps", "BOUNDS\n", "RANGES\n RANGE total(US) 1\nBOUNDS\n"),
    "a product of two unknowns": (".mps", " x(US,0) x(US,0) 2\n", " x(US,0) x(US,1) 2\n"),
    "a square in a row": (".lp", " + x(US,1) = 5\n", " + x(US,1) ^2 = 5\n"),
    "a sense in the objective": (".lp", " - 6 x(US,1)\n", " - 6 x(US,1) <= 3\n"),
    "another number for the constant": (".lp", " constant = 1\n", " constant = 2\n"),
    "a bound without a number": (".lp", " constant = 1\n", " constant = 1\n x(US,0) <=\n"),
    "a bound with two numbers": (".lp", " constant = 1\n", " constant = 1\n x(US,0) <= 3 4\n"),
    "a term of no row": (".lp", "Subject To\n", "Subject To\n + x(US,0)\n"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_what_is_not_read_is_refused_and_never_left_out(what, tmp_path):
    """Each is a program that other readers take for another one than ours would, had it read on."""
    ending, old, new = CHANGED[what]
    path = tmp_path / f"p{ending}"
    TWO.write(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=re.escape(str(path))) as caught:
        read_program(path)
    assert what != "a product of two unknowns" or "distances have squares alone" in str(caught.value)


def test_a_term_twice_is_its_sum(tmp_path):
    """As other programs write them."""
    TWO.write(tmp_path / "p.lp")
    text, old = (tmp_path / "p.lp").read_text(), " - 6 x(US,1)\n"
    assert old in text
    (tmp_path / "p.lp").write_text(text.replace(old, old + " + 2 x(US,1)\n", 1))
    assert read_program(tmp_path / "p.lp").linear.tolist() == [0, -4, -2, -4]


def test_files_that_cannot_be_are_named(tmp_path):
    problem = problem_of("M_H")
    for ending in ENDINGS:
        absent = tmp_path / "nodir" / f"a{ending}"
        with pytest.raises(FileError, match=f"^{re.escape(str(absent))} cannot be written: there is no folder .*nodir"):
            problem.write(absent)
        with pytest.raises(FileError, match=f"^there is no file {re.escape(str(absent))}; give"):
            read_program(absent)
        folder = tmp_path / f"folder{ending}"
        folder.mkdir()
        with pytest.raises(FileError, match=f"^{re.escape(str(folder))} cannot be written: Is a directory; choose"):
            problem.write(folder)
        with pytest.raises(FileError, match=f"^{re.escape(str(folder))} cannot be read: Is a directory"):
            read_program(folder)
    with pytest.raises(FileError, match=r"^there is no file no\.npz; give the name of one that Problem\.write made"):
        Problem.read("no.npz")
    for call in (problem.write, Problem.read, read_program):
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
