"""Files leave nothing to guess: who reads one holds the very program, and HiGHS finds its optimum.

HiGHS from 1.16 on parses LP files by a formal grammar: it refuses a file without End, say.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from held_programs import of_file, of_program
from lib_instances import program_of
from program_files import NAMES, problem_of
from scipy import sparse

from pgsr import Hierarchy, Problem
from pgsr.experiments.lib import verify
from pgsr.experiments.lib.instances import INSTANCES
from pgsr.experiments.lib.optimum import optimum_of
from pgsr.problems.conditions import cells, either, groups, total, zero_or_at_least
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.programs import named

MADE_HERE = ("census", "ties", "deep")
"""The data of PGSR-LIB that need no download."""

SMALL = [instance for instance in INSTANCES if instance.size == 3 and instance.data in MADE_HERE]

CONTINUOUS = [one for one in SMALL if not one.integer or "-l1" in one.family]
"""Squares in reals, and magnitudes: what HiGHS solves."""


def wide_problems():
    """What beyond cells and totals a file holds, in every norm."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    noisy = np.array([[1, 9, 4, 2], [0, 5, 3, 1], [-1, 4, 1, 2]])
    plain = Problem.of(noisy, tree, groups=15, label="M_H")
    chosen = plain.where(
        zero_or_at_least(cells(level=1), 2), either(total(("US", "GA")) == 7, groups(level=0, size=3) >= 4)
    )
    for norm in (2, 1):
        yield f"norm {norm}", replace(plain, norm=norm)
        yield f"choices, norm {norm}", replace(chosen, norm=norm)
    yield "a negative maximum", plain.where(cells(("US", "GA"), size=0) <= -1)
    row = sparse.csr_array(np.eye(1, 12, 4, dtype=int))
    stated = replace(
        Conditions.none(12), rows=row, row_lower=np.array([1]), row_upper=np.array([2]), names=("between [1, 2]",)
    )
    yield "two sides", replace(plain, conditions=stated)
    strange = Hierarchy.from_paths([("e1", "New York [NY]"), ("e1", '3 + 4 < 7; "x" *'), ("e1", "Doña/Ana\\漢:^-=")])
    yield "strange names", Problem.of(np.vstack([noisy, noisy[:1]]), strange, groups=9, label="free \\ 漢\nEnd")
    yield "a region called inf", Problem.of([[5, -4]], Hierarchy.from_paths([("inf",)]), groups=3)
    yield "sizes per level", Problem.of(([[0, 3, 2]], [[1, 1], [0, 3]]), tree, groups=5)
    long = Hierarchy.from_paths([("US", "a" * 244), ("US", "b")])
    yield "long names", Problem.of(noisy, long, groups=15)


CASES = {
    **{f"agreement: {name}": lambda name=name: problem_of(name) for name in NAMES},
    **{f"PGSR-LIB: {one.name}": one.problem for one in SMALL},
    **{name: lambda problem=problem: problem for name, problem in wide_problems()},
}


@pytest.mark.few(8)
@pytest.mark.parametrize("ending", [".lp", ".mps", ".npz"])
@pytest.mark.parametrize("case", CASES)
def test_a_file_holds_the_very_program(case, ending, tmp_path):
    """Every coefficient, side, bound, square and name, in the problem's unknowns and in deviations; lines are short."""
    for shifted in (False, True):
        path, problem = tmp_path / f"p{ending}", CASES[case]()
        problem.write(path, shifted=shifted)
        stated, held = of_program(named(problem, shifted=shifted)), of_file(path)
        assert held == stated
        assert list(held.bounds) == list(stated.bounds)
        if ending != ".lp":
            assert list(held.rows) == list(stated.rows)
            continue
        lines = [line for line in path.read_text().splitlines() if not line.startswith("\\")]
        assert all(line.isascii() and len(line) <= 560 for line in lines)
        assert max(map(len, re.findall(r"[^\s:]+", "\n".join(lines)))) <= 255, "names that every reader takes"


@pytest.mark.few(3)
@pytest.mark.parametrize("instance", CONTINUOUS, ids=lambda one: one.name)
def test_highs_finds_the_optimum_of_a_shifted_file(instance, tmp_path):
    """The optimum in deviations, with the constant that the file states, is that of the proof in exact fractions."""
    highspy = pytest.importorskip("highspy")
    problem = instance.problem()
    found = optimum_of(problem, named(problem))
    ours = verify.check_solution(program_of(problem), verify.whole(found.solution, "solution"), found.solution_unit)
    problem.write(tmp_path / "p.lp", shifted=True)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "p.lp"))
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    value = solver.getInfo().objective_function_value
    assert value == pytest.approx(float(ours), rel=1e-7)
