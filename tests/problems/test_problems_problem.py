"""Problems: stated on the right view, with weights that fit, and written as LaTeX with every condition that holds."""

import html
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CostTables
from pgsr.estimators import IsotonicTreeProjection
from pgsr.experiments.benchmarks.agreement import PROBLEMS, random_problem
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])


def measure(view, **options):
    return Geometric(view, "1", **options).measure(TRUTH, Seeded("problem"))


def test_the_papers_problems():
    counts, steps, ranks = measure(View.COUNTS), measure(View.CUMULATIVE), measure(View.RANKED)
    m_h = Problem.m_h(counts)
    assert (m_h.norm, m_h.integer, m_h.consistent, m_h.monotone, m_h.totals) == (2, True, True, False, Totals.ROOT)
    assert Problem.m_h(counts, totals="regions").totals is Totals.REGIONS
    assert Problem.m_c(steps).monotone
    assert Problem.m_c(steps, norm=1).norm == 1
    assert not Problem.naive(counts).consistent
    assert Problem.isotonic(ranks, norm=1).label == "H_g L1"
    mean = Problem.mean_consistency(steps)
    assert (mean.integer, mean.nonnegative, mean.totals) == (False, False, None)
    relaxed = m_h.relaxed()
    assert (relaxed.label, relaxed.integer) == ("M_H^r", False)
    assert relaxed.relaxed() is relaxed


def test_weights_are_exact_integers_in_proportion_to_precision():
    noisy = measure(View.CUMULATIVE, shares=("1/4", "3/4"))
    assert Problem.mean_consistency(noisy).w.tolist() == [1, 9, 9]
    a = Fraction(1, 100_000_007)  # whose squares 64 bits do not hold
    odd = Geometric(View.COUNTS, 10**6, shares=(a, 1 - a)).measure(TRUTH, Seeded(0))
    light, heavy = np.unique(Problem.mean_consistency(odd).weights)
    assert heavy / light == pytest.approx(float((1 - a) ** 2 / a**2), rel=1e-12)


def test_plain_values_state_the_same_problem_as_a_measurement_of_them():
    counts, steps = measure(View.COUNTS, totals="regions"), measure(View.CUMULATIVE)
    for given, problem in [
        (counts, Problem.of(counts.matrix, TREE, groups=counts.totals)),
        (steps, Problem.of(steps.matrix.tolist(), TREE, View.CUMULATIVE, groups=steps.root_total)),
    ]:
        kind = Problem.m_h if given is counts else Problem.m_c
        stated = kind(given, totals=problem.totals)
        assert (problem.target == stated.target).all()
        assert (problem.stated_totals == stated.stated_totals).all()
        assert (problem.w == stated.w).all()
        for name in ("view", "totals", "norm", "integer", "nonnegative", "monotone", "consistent", "max_size"):
            assert getattr(problem, name) == getattr(stated, name), name
    assert Problem.of(counts.matrix, TREE, groups=counts.totals, totals="root").stated_totals.tolist() == [6]
    free = Problem.of(counts.matrix, TREE)
    assert (free.totals, free.stated_totals, free.contradiction) == (None, None, None)


def test_the_papers_windows_need_the_epsilon_of_every_level():
    """Fitted values have none, so the cost tables say what is missing; with the same epsilons nothing differs."""
    noisy = measure(View.COUNTS)
    fitted = Problem.of(noisy.matrix, TREE, groups=noisy.root_total, label="fitted")
    refused = CostTables().solve(fitted)
    assert refused.status is Status.UNSUPPORTED
    assert "fitted does not state" in refused.reason
    assert CostTables(window=None).solve(fitted).status is Status.OPTIMAL
    said = CostTables().solve(Problem.of(noisy.matrix, TREE, groups=noisy.root_total, noise=noisy.noise))
    assert (said.estimate.values == CostTables().solve(Problem.m_h(noisy)).estimate.values).all()
    repaired = IsotonicTreeProjection(CostTables()).apply(measure(View.CUMULATIVE))
    assert repaired.status is Status.FEASIBLE


def test_regions_that_were_not_measured_have_no_weight():
    noisy = measure(View.COUNTS, shares=("0", "1"))
    assert replace(Problem.m_h(noisy), weights=np.array([7, 7, 7])).w.tolist() == [0, 7, 7]
    assert Problem.of(noisy.matrix, TREE, noise=noisy.noise).w.tolist() == [0, 1, 1]
    deep = Hierarchy.from_paths([("US", "GA", "north"), ("US", "MI")], pad_ragged=True)
    assert Problem.of(np.zeros((deep.n_regions, 2), int), deep).w.tolist() == (~deep.padded).astype(int).tolist()


MARKS = {"consistent": "children", "monotone": r"\le x_", "nonnegative": r"\ge 0", "integer": r"\mathbb{Z}"}
TABLE = np.array([[1, 9], [0, 5], [-1, 4]])


@pytest.mark.parametrize("name", [name for name in PROBLEMS if "by level" not in name and "regions" not in name])
def test_every_condition_of_a_variant_is_written_and_no_other(name):
    problem = random_problem(name, rng_of(len(name)))
    lines = problem.latex.splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{aligned}", r"\end{aligned}")
    stated = " ".join(lines[2:-1])
    for field, mark in MARKS.items():
        assert (mark in stated) is getattr(problem, field), (field, problem.latex)
    assert ("groups of" in stated) is (problem.totals is not None and problem.view is not View.RANKED)
    assert ("^2" in lines[1]) is (problem.norm == 2)
    assert ("w_r" in lines[1]) is bool((problem.w != 1).any())
    assert problem.latex.count("{") == problem.latex.count("}")


def test_stated_conditions_are_told_and_html_holds_the_formula():
    problem = Problem.of(TABLE, TREE, groups=10).where(cells(region=("US", "GA"), size=0) == 3)
    assert "cells(US/GA, 0) == 3" in problem.latex
    assert f"$${problem.latex}$$" in html.unescape(problem._repr_html_())
    assert problem._repr_latex_() == f"$${problem.latex}$$"
    of_cells = Problem.of(TABLE, TREE, groups=10, weights=TABLE**2 + 1)
    assert r"w_{r,s}\, (x_{r,s}" in of_cells.latex
