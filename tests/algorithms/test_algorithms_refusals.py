"""What the methods of this room do not solve, and the sentence that says why."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import (
    ChoiceTree,
    CostTables,
    CumulativeIntegers,
    CumulativeProjection,
    Isotonic,
    RegionTotalsProjection,
    SlopeMerge,
    TreeProjection,
)
from pgsr.algorithms.isotonic.regression import isotonic_l1, isotonic_l2, isotonic_l2_runs
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.engines.nearest_tree import nearest_integers
from pgsr.estimators import TwoStage
from pgsr.models import TableConstraints
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.conditions import cells, either, groups, total

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
COUNTS, STEPS, RANKS = (Geometric(view, 1).measure(TRUTH, Seeded(0)) for view in View)
M_H, M_C = Problem.m_h(COUNTS), Problem.m_c(STEPS)
REGIONS = Problem.m_h(COUNTS, totals="regions").relaxed()
ALONE = {"monotone": True, "consistent": False}
GA, MI = ("US", "GA"), ("US", "MI")


def of_totals(problem, totals):
    return replace(problem, groups=np.array(totals))


UNSUPPORTED = [
    (MeanConsistency(), M_H, "conditions beyond"),
    (MeanConsistency(), replace(Problem.mean_consistency(COUNTS), consistent=False), "add up"),
    (MeanConsistency(), replace(Problem.mean_consistency(COUNTS), norm=1), "absolute"),
    (SimplexProjection(), replace(Problem.naive(COUNTS), consistent=True), ""),
    *(
        (method, problem, word)
        for method in (CostTables(), CostTables(step=TableConstraints()))
        for problem, word in (
            (M_C, "cumulative"),
            (replace(REGIONS, integer=True), "root"),
            (replace(M_H, totals=None), "root"),
            (Problem.naive(COUNTS), "consistency"),
            (replace(M_H, norm=1), "absolute"),
            (M_H.relaxed(), "integers"),
        )
    ),
    (TreeProjection(), M_C, "cumulative"),
    (TreeProjection(), REGIONS, "RegionTotalsProjection"),
    (TreeProjection(), Problem.naive(COUNTS), "consistency"),
    (TreeProjection(), replace(M_H, norm=1), "absolute"),
    (TreeProjection(), M_H.where(total(GA) == 4), r"Flow\(around=RegionTotalsProjection\(\)\)"),
    (TreeProjection(), M_H.where(total(MI) >= 2), r"total\(US/MI\) >= 2.*Cvxpy"),
    (RegionTotalsProjection(), M_C, "cumulative"),
    (RegionTotalsProjection(), M_H.relaxed(), "TreeProjection"),
    (RegionTotalsProjection(), replace(REGIONS, consistent=False), "consistency"),
    (RegionTotalsProjection(), replace(REGIONS, norm=1), "absolute"),
    *(
        (
            RegionTotalsProjection(),
            M_H.where(total(GA) == 4, condition).relaxed(),
            f"takes fixed totals of regions, {re.escape(condition.name)} is another condition; .*Cvxpy",
        )
        for condition in (
            total(MI) >= 2,
            cells(MI, size=2) <= 7,
            groups(MI, size=slice(0, 2)).sum() == 3,
            total(level=1).sum() == 9,
            2 * total(MI) == 9,
        )
    ),
    (CumulativeProjection(), M_H, "cumulative"),
    (CumulativeProjection(), Problem.m_c(STEPS, norm=1), "absolute"),
    (CumulativeProjection(), Problem.isotonic(STEPS), "consistency"),
    (CumulativeProjection(), Problem.mean_consistency(STEPS), "order"),
    (CumulativeIntegers(), M_C.relaxed(), "CumulativeProjection"),
    (Isotonic(), M_H, ""),
    (Isotonic(), Problem.isotonic(RANKS).relaxed(), ""),
    (Isotonic(), Problem.about(COUNTS, "ordered counts", totals=None, **ALONE), "counts view"),
    (Isotonic(), Problem.about(STEPS, "H_c", totals="root", **ALONE), "the root's alone"),
    (Isotonic(), Problem.isotonic(STEPS).where(cells(size=0) == 0).relaxed(), "squares of reals"),
    (Isotonic(), Problem.isotonic(STEPS).where(cells(size=1) >= cells(size=0) + 1), "ties several together"),
    (ChoiceTree(), M_H, "M_H has none; state some by"),
    (ChoiceTree(), M_H.where(either(cells(size=0) == 0, cells(size=1) * 2 >= cells(size=2) * 3)), "is no sum of cells"),
    (ChoiceTree(), M_H.relaxed().where(either(total(level=1) <= 4, total(level=1) >= 6)), "flows are in integers"),
]


@pytest.mark.parametrize(("method", "problem", "word"), UNSUPPORTED)
def test_what_a_method_does_not_solve_it_says(method, problem, word):
    result = method.solve(problem)
    assert result.status is Status.UNSUPPORTED
    assert re.search(word, result.reason), result.reason


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (RegionTotalsProjection(), of_totals(REGIONS, [7, 3, 5])),
        (CumulativeProjection(), of_totals(Problem.m_c(STEPS, totals="regions"), [6, 2, 3])),
        (CostTables(step=TableConstraints()), of_totals(M_H, [-1])),
    ],
)
def test_totals_that_no_counts_have_are_infeasible(method, problem):
    assert method.solve(problem).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: isotonic_l2(np.array([[2**61, 0]]), np.array([0]), np.array([9])), "64 bits"),
        (lambda: isotonic_l2_runs(np.full(4, 2**60), 0, 1), "64 bits"),
        (lambda: isotonic_l1(np.array([1.5, 1.0]), 0, 9), "not a whole number"),
        (lambda: isotonic_l1(np.array([np.nan, 1.0]), 0, 9), "not a finite number"),
        (lambda: isotonic_l1(np.array([[1, 2]]), 0, 9), "one vector"),
        (lambda: isotonic_l1(np.array([1, 2]), 9, 0), "bounds in order"),
        (lambda: isotonic_l2(np.array([3, 1]), np.array([0]), np.array([9])), "matrix of rows"),
        (lambda: nearest_integers(TREE, np.ones((3, 1), int), np.ones(3, int), -1), "total of 0 or more"),
        (lambda: nearest_integers(TREE, np.full((3, 1), 2**51), np.ones(3, int), None), r"2\^50"),
        (lambda: ChoiceTree(0), "whole number from 1 up"),
        *((lambda gap=gap: CumulativeProjection(gap=gap), "gap") for gap in (0, -1.0, math.inf, True, "small")),
        *((lambda gap=gap: CumulativeIntegers(gap=gap), "positive number") for gap in (0, -1e-3, math.inf, True, "a")),
        (lambda: CostTables(step=SlopeMerge), r"write SlopeMerge\(...\)"),
        (lambda: CostTables(step="greedy"), "give SlopeMerge"),
        *((lambda s=s: CostTables().solve(M_H, s), "seconds above 0") for s in (0, -1, math.nan, "x")),
        (lambda: TwoStage().apply(COUNTS), "CUMULATIVE"),
        (lambda: TwoStage().apply(replace(STEPS, noise=(GeometricNoise(Fraction(1)), None))), "leaves"),
    ],
)
def test_what_is_no_argument_is_refused(call, sentence):
    with pytest.raises(PgsrError, match=sentence):
        call()
