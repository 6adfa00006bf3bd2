"""HiGHS, Gurobi and SCIP find the same optimum in the files of a problem."""

from functools import cache

import pytest
from program_files import NAMES, READERS, optimum, problem_of

from pgsr import Hierarchy, Problem, View
from pgsr.problems.conditions import cells
from pgsr.problems.programs import named
from pgsr.problems.programs.names import decoded


@cache
def known_optimum(name, relaxed):
    """The optimum by the fast path, computed once for all readers and kinds of files."""
    problem = problem_of(name)
    return optimum(problem.relaxed() if relaxed else problem)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "ending"),
    [(reader, ending) for reader, (_, endings, _) in READERS.items() for ending in endings],
)
def test_solvers_find_the_same_optimum_in_a_file(reader, ending, tmp_path):
    solve, endings, can = READERS[reader]
    solved = 0
    for name in NAMES:
        for relaxed in (False, True):
            given = problem_of(name).relaxed() if relaxed else problem_of(name)
            if given.view is View.RANKED and not given.integer:
                continue
            if not can(given) or not given.n_unknowns:
                continue
            path = tmp_path / f"p{ending}"
            given.write(path)
            value, names = solve(path)
            assert value == pytest.approx(known_optimum(name, relaxed), rel=1e-5, abs=1e-4), (name, given)
            expected = named(given).variables.words()
            assert names is None or names[: given.n_unknowns] == expected[: given.n_unknowns]
            solved += 1
    assert solved * len(endings) >= 10


@pytest.mark.parametrize("ending", [".mps", ".qps", ".lp"])
def test_a_negative_maximum_of_a_non_negative_cell_frees_no_reader(ending, tmp_path):
    """Some readers take a negative upper bound alone for -inf <= x, and find an optimum where there is no point."""
    gurobi = pytest.importorskip("gurobipy")
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    problem = Problem.of([[0, 3], [1, 2]], tree, groups=5).where(cells(("US", "GA"), size=0) <= -1)
    path = tmp_path / f"p{ending}"
    problem.write(path)
    model = gurobi.read(str(path), gurobi.Env(params={"OutputFlag": 0}))
    bounds = {v.VarName: (v.LB, v.UB) for v in model.getVars()}
    assert bounds["x(US~GA,0)"] == (0, -1)
    model.optimize()
    assert model.Status in (gurobi.GRB.INFEASIBLE, gurobi.GRB.INF_OR_UNBD)


@pytest.mark.parametrize("reader", ["HiGHS", "Gurobi", "SCIP"])
def test_strange_names_are_read_by_solvers(reader, tmp_path):
    """Blanks, brackets, signs, quotes and letters of other alphabets in names of regions."""
    tree = Hierarchy.from_paths([("e1", "New York [NY]"), ("e1", '3 + 4 < 7; "x" *'), ("e1", "Doña/Ana\\漢:^-=")])
    problem = Problem.of([[2, 5], [1, 2], [0, 3], [4, -2]], tree, groups=9, integer=False)
    solve, endings, _ = READERS[reader]
    for ending in endings:
        path = tmp_path / f"p{ending}"
        problem.write(path)
        value, names = solve(path)
        assert value == pytest.approx(optimum(problem), abs=1e-5)
        assert (
            names is None or [decoded(name) for name in names[: problem.n_unknowns]] == named(problem).variables.texts()
        )
