"""The gate before a solve: whatever the problem, every method answers with a status and a sentence."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from made_measurements import cells_of

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import (
    CostTables,
    CumulativeIntegers,
    CumulativeProjection,
    Isotonic,
    MeanConsistency,
    RegionTotalsProjection,
    SimplexProjection,
    TreeProjection,
)
from pgsr.errors import MemoryNeededError
from pgsr.machine import memory
from pgsr.methods import Method
from pgsr.methods.gate import Deadline, Stopped
from pgsr.models import Cvxpy, Flow
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded

TREE = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
COUNTS, CUMULATIVE = (
    Geometric(view, 1, totals="regions").measure(TRUTH, Seeded("gate")) for view in (View.COUNTS, View.CUMULATIVE)
)
SOLVES: list[tuple[Method, Problem]] = [
    (TreeProjection(), Problem.m_h(COUNTS)),
    (TreeProjection(), Problem.m_h(COUNTS).relaxed()),
    (CostTables(), Problem.m_h(COUNTS)),
    (RegionTotalsProjection(), Problem.m_h(COUNTS, totals="regions")),
    (CumulativeProjection(), Problem.m_c(CUMULATIVE).relaxed()),
    (CumulativeIntegers(), Problem.m_c(CUMULATIVE)),
    (Isotonic(), Problem.isotonic(CUMULATIVE)),
    (Isotonic(), Problem.isotonic(CUMULATIVE, norm=1)),
    (SimplexProjection(), Problem.naive(COUNTS)),
    (MeanConsistency(), Problem.mean_consistency(COUNTS)),
    (Flow(), Problem.m_h(COUNTS)),
    (Cvxpy("CLARABEL"), Problem.m_h(COUNTS).relaxed()),
]


def names(solve: tuple[Method, Problem] | Method | Problem) -> str:
    return repr(solve)


@pytest.mark.parametrize(("method", "problem"), SOLVES, ids=names)
def test_every_refusal_is_a_status(method: Method, problem: Problem, monkeypatch: pytest.MonkeyPatch):
    other = Problem.m_c(CUMULATIVE) if problem.view is View.COUNTS else Problem.m_h(COUNTS)
    reason = method.supports(other)
    if reason is not None:  # general solvers take all
        result = method.solve(other)
        assert (result.status, result.reason) == (Status.UNSUPPORTED, reason)

    for time_limit in (0, -1.0, float("nan"), True, "soon"):
        with pytest.raises(PgsrError, match="time_limit"):
            method.solve(problem, time_limit)  # type: ignore[arg-type]
    with pytest.raises(PgsrError, match="the problem"):
        method.solve(COUNTS)  # type: ignore[arg-type]

    def refuse(n_bytes: int, what: str, remedy: str = "") -> None:
        raise MemoryNeededError(f"{what} needs {n_bytes} bytes")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "require", refuse)
        result = method.solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "needs" in result.reason


@pytest.mark.parametrize(("method", "problem"), SOLVES, ids=names)
def test_a_contradiction_is_a_status(method: Method, problem: Problem):
    """A negative public total, where there is a condition on totals and signs."""
    totals = COUNTS.totals.copy()
    totals[1:] = [-1, totals[0] + 1]
    if problem.totals is None:
        return
    if problem.totals is Totals.ROOT:  # only the root's holds
        totals = np.array([-1, -1, 0])
    result = method.solve(replace(problem, groups=totals))
    assert result.status is Status.INFEASIBLE
    assert "negative public total" in result.reason


@pytest.mark.parametrize(
    ("method", "problem"), [solve for solve in SOLVES if not isinstance(solve[0], MeanConsistency)], ids=names
)
def test_numbers_beyond_exact_arithmetic_are_a_status(method: Method, problem: Problem):
    huge = np.where(np.arange(12).reshape(3, 4) % 2 == 0, 2**60, -(2**60))
    result = method.solve(replace(problem, cells=cells_of(huge)))
    if isinstance(method, Isotonic) and problem.norm == 1:
        assert result.status is Status.OPTIMAL  # order alone decides it
        return
    assert result.status is Status.TOO_LARGE
    assert "2^" in result.reason or "64" in result.reason


@pytest.mark.parametrize("integer", [True, False])
def test_sums_over_many_regions_beyond_64_bits_are_a_status(integer: bool):
    """Every number is within the limit of 2^50, and 20,000 of them add up to more than 64 bits hold."""
    tree = Hierarchy.from_parents(["all", *(f"r{i}" for i in range(20_000))], [-1, *[0] * 20_000])
    values = np.full((tree.n_regions, 2), 2**49 - 1)
    result = TreeProjection().solve(Problem.of(values, tree, integer=integer))
    assert result.status is Status.TOO_LARGE
    assert result.reason.startswith("counts add up to more than 2^62 over the regions of a level; give smaller counts")
    values[tree.leaves] //= 1_000
    assert Problem.of(values, tree, integer=integer).exceeds_arithmetic is None


def test_a_deadline_that_passed_stops():
    deadline = Deadline(1e-9)
    while not deadline.passed:
        pass
    assert deadline.left == 1e-9
    with pytest.raises(Stopped, match="region 3 reached after 1e-09 s"):
        deadline.check("region 3 reached")
    Deadline().check("never")
    problem = naive.problem_of(TREE, np.array([[3, 1], [1, 4], [0, 0]]), 6)
    assert CostTables(None).solve(problem, 1e-9).status is Status.TIMED_OUT
