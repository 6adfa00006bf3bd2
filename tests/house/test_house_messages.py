"""Messages that once misled: what is said of a wrong value is about that value, in English, with what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status
from pgsr.algorithms import CumulativeIntegers
from pgsr.errors import NoDualsError
from pgsr.models import Gurobi, QpSolvers
from pgsr.problems.programs.program import ProgramKind

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
VALUES = [[1, 9], [0, 5], [-1, 4]]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Problem.m_h(TRUTH), "the measurement of M_H is of type CountOfCounts; give what pgsr.measure returns"),
        (lambda: CountOfCounts(TREE, [[10**19, 1], [0, 1]]), "size 0 is 1e\\+19: larger than 2\\^62; no count may be"),
        (lambda: Problem.of([[10**19, 9], *VALUES[1:]], TREE, groups=10), "larger than 2\\^62"),
        (
            lambda: Problem.of([[-(10**19), 9], *VALUES[1:]], TREE, groups=10),
            "beyond 64 bits; no count may be larger than 2\\^62",
        ),
        (
            lambda: Problem.of(VALUES, TREE, groups=10**19),
            "a number of groups is 10000000000000000000; give numbers up",
        ),
    ],
)
def test_what_is_wrong_is_named(call, word):
    with pytest.raises(PgsrError, match=word) as refused:
        call()
    assert "is about is" not in str(refused.value)


def test_prices_of_a_problem_that_was_not_solved_are_missing_for_that_reason():
    result = CumulativeIntegers().solve(Problem.of(VALUES, TREE, groups=10))
    assert result.status is Status.UNSUPPORTED
    with pytest.raises(
        NoDualsError, match="does not solve this problem: CumulativeIntegers works on cumulative counts"
    ):
        _ = result.duals


def test_kinds_of_programs_have_their_articles():
    assert [kind.with_article.split()[0] for kind in ProgramKind] == ["a", "a", "an", "an"]
    problem = Problem.of(VALUES, TREE, groups=10, norm=1)
    assert "is an integer linear program (MILP)" in (QpSolvers("proxqp").supports(problem) or "")
    assert Gurobi().supports(problem) is None


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("argument", ["--foo", "gurobi"])
def test_the_table_of_solvers_takes_no_arguments(argument):
    command = [sys.executable, "-m", "pgsr.models", argument]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"'{argument}' is unknown; this command takes no arguments" in done.stderr
    assert "Traceback" not in done.stderr
