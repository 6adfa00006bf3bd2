"""The prices of rows: derivatives of the optimum, whatever method gives them."""

import math
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from instances import rng_of, scale
from optimum_slopes import optimum_slopes

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeProjection, MeanConsistency, RegionTotalsProjection, TreeProjection
from pgsr.errors import NoDualsError
from pgsr.experiments.benchmarks.agreement import PROBLEMS as RANDOM
from pgsr.experiments.benchmarks.agreement import random_problem
from pgsr.models import Copt, Cvxpy, Direct, Gurobi, MathOpt, QpSolvers, Scipy, Xpress
from pgsr.problems.conditions import cells, entities, groups, total
from pgsr.problems.programs import named
from pgsr.problems.programs.formulation import row_names

TREE = Hierarchy.from_paths([("US", "GA", "Bibb"), ("US", "GA", "Cobb"), ("US", "MI", "Kent")])
COUNTS = np.array([[3, 40, 21], [-2, 23, 14], [2, 15, 8], [0, 12, 8], [1, 15, 9], [3, 10, 6]])
BY_LEVEL = ([[3, 40, 13, 9]], [[-2, 23, 14], [2, 15, 8]], [[7, 13], [4, 21], [5, 11]])
SUMS = np.array([[3, 44, 66], [-2, 21, 37], [2, 18, 25], [4, 11, 19], [0, 6, 25], [3, 12, 27]])
GROUPS = np.array([66, 40, 26, 18, 22, 26])
US, GA = ("US",), ("US", "GA")

M_H = Problem.of(COUNTS, TREE, groups=63, label="M_H")
M_C = Problem.of(SUMS, TREE, View.CUMULATIVE, groups=63, label="M_c")
MI = ("US", "MI")
STATED = (total(GA) <= 35, total(MI) >= 20, entities(MI) >= 45, groups(size=2, region=("US", "GA", "Bibb")) == 10)
PROBLEMS = {
    "M_H^r": M_H,
    "M_H^r, regions": Problem.of(COUNTS, TREE, groups=GROUPS, label="M_H"),
    "M_H^r, conditions": M_H.where(*STATED),
    "M_H^r, totals of some": M_H.where(total(GA) == 35),
    "M_H^r, bounds": M_H.where(cells(GA, size=1) <= 20, cells(US, size=0) >= 2),
    "M_H^r, by level": Problem.of(BY_LEVEL, TREE, groups=61, label="M_H"),
    "M_H^r, regions, by level": Problem.of(BY_LEVEL, TREE, groups=GROUPS, label="M_H"),
    "mean consistency": replace(Problem.of(COUNTS, TREE, label="mean consistency"), nonnegative=False),
    "M_c^r": M_C,
    "M_c^r, regions": Problem.of(SUMS, TREE, View.CUMULATIVE, groups=GROUPS, label="M_c"),
    "M_c^r, conditions": M_C.where(*STATED),
    "M_c L1^r": Problem.of(SUMS, TREE, View.CUMULATIVE, groups=63, norm=1, label="M_c L1"),
}

PROBLEMS = {name: problem.relaxed() for name, problem in PROBLEMS.items()}

LINEAR = [Scipy(), MathOpt("GLOP"), MathOpt("HIGHS"), Cvxpy("SCIPY"), Cvxpy("GLOP")]
BOTH = [Direct(name) for name in ("CLARABEL", "HIGHS", "OSQP", "PIQP")]
BOTH += [Cvxpy(name) for name in ("CLARABEL", "SCS", "QOCO")]
BOTH += [Cvxpy("GUROBI"), MathOpt("PDLP"), Gurobi(), Copt(), Xpress()]
SQUARES = [QpSolvers(name) for name in ("proxqp", "qpalm", "cvxopt", "daqp", "quadprog")]
OURS = [TreeProjection(), RegionTotalsProjection(), MeanConsistency(), CumulativeProjection()]


@cache
def slopes(name):
    return optimum_slopes(PROBLEMS[name])


def off(duals, sides):
    """The largest distance of a price from the slopes on its two sides, relative to 1 + the largest slope."""
    assert list(duals) == list(sides)
    finite = [abs(side) for pair in sides.values() for side in pair if math.isfinite(side)]
    outside = [max(low - duals[row], duals[row] - high, 0.0) for row, (low, high) in sides.items()]
    return max(outside, default=0.0) / (1.0 + max(finite, default=0.0))


@pytest.mark.few(8)
@pytest.mark.parametrize("method", [*OURS, *LINEAR, *BOTH, *SQUARES], ids=repr)
def test_prices_are_derivatives_of_the_optimum(method):
    """On every problem that the method solves; the slopes are of another solver that moves one row at a time."""
    missing = method.unavailable()
    if missing is not None:
        pytest.skip(missing.reason)
    seen = 0
    for name, problem in PROBLEMS.items():
        if method.supports(problem) is None:
            result = method.solve(problem)
            assert result.status is Status.OPTIMAL, (name, result)
            assert off(result.duals, slopes(name)) < 1e-3, (name, dict(result.duals), slopes(name))
            seen += 1
    assert seen


def test_most_rows_have_one_price():
    """Where the slopes on both sides are the same, the price is compared with a number and not with an interval."""
    for name in PROBLEMS:
        kinks = [row for row, (low, high) in slopes(name).items() if high - low > 0.01 * (1 + abs(low))]
        assert len(kinks) <= 1, (name, kinks)
        assert any(high < -0.1 or low > 0.1 for low, high in slopes(name).values()), name


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("method", OURS, ids=repr)
def test_our_prices_are_derivatives_on_random_problems(method):
    """Levels, weights, bounds and regions without groups among them; some multipliers do not tell the prices."""
    seen = untold = 0
    for name in RANDOM:
        for seed in range(scale(2, 40)):
            problem = random_problem(name, rng_of(seed, *name.encode())).relaxed()
            if problem.view is View.RANKED or problem.n_unknowns > 60 or method.supports(problem) is not None:
                continue
            result = method.solve(problem)
            if result.status is not Status.OPTIMAL:
                continue
            try:
                duals = result.duals
            except NoDualsError:
                untold += 1
                continue
            assert off(duals, optimum_slopes(problem)) < 1e-3, (name, seed)
            seen += 1
    assert seen > 4 * untold


@pytest.mark.parametrize("name", PROBLEMS)
def test_names_without_the_program_are_those_of_the_program(name):
    problem = PROBLEMS[name]
    for how in ("full", "short"):
        assert row_names(problem, how).texts() == named(problem, how).rows.texts()


@pytest.mark.parametrize("method", [Cvxpy("CLARABEL"), Gurobi(), MathOpt("PDLP")], ids=repr)
def test_native_models_give_prices_too(method):
    for name in ("M_H^r, conditions", "M_c^r", "M_c L1^r"):
        problem = PROBLEMS[name]
        result = method.model(problem).solve(problem)
        assert off(result.duals, slopes(name)) < 1e-3, name


def test_a_mapping_names_what_it_has():
    result = TreeProjection().solve(M_H.relaxed())
    duals = result.duals
    assert len(duals) == 10
    assert "total[US]" in duals
    assert "total[GA]" not in duals
    with pytest.raises(KeyError, match=r"has no row 'total\[GA\]'; its rows are consistency\[US,0\], .*, total\[US\]"):
        duals["total[GA]"]
    assert dict(pickle.loads(pickle.dumps(result)).duals) == dict(duals)


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (TreeProjection(), M_H),  # integers: their optimum has no derivative
        (Cvxpy("CLARABEL"), M_H),  # a relaxation, rounded
        (Gurobi(), M_H),
        (RegionTotalsProjection(), M_H.where(cells(size=0) == 0, total(GA) == 35).relaxed()),  # solved without size 0
        (CumulativeProjection(), M_C.where(cells(("US", "GA", "Bibb"), size=0) <= 2).relaxed()),
    ],
    ids=str,
)
def test_without_prices_it_says_what_has_them(method, problem):
    result = method.solve(problem)
    assert result.answer is not None
    with pytest.raises(NoDualsError, match="solver model"):
        result.duals  # noqa: B018


def test_duals_that_prove_nothing_are_not_handed_on():
    """A solver with the right values and wrong duals, whose answer has another proof, or none."""

    class WrongDuals(Cvxpy):
        def run(self, program, time_limit):
            run = super().run(program, time_limit)
            return replace(run, answer=replace(run.answer, duals=1.5 * run.answer.duals))

    result = WrongDuals("CLARABEL").solve(PROBLEMS["M_H^r"])
    assert result.row_prices is None
    with pytest.raises(NoDualsError):
        result.duals  # noqa: B018
