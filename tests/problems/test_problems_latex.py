"""The mathematics of problems as LaTeX: every condition that holds is there, and no other."""

import html

import numpy as np
import pytest
from instances import rng_of

from pgsr import Hierarchy, Problem, View
from pgsr.experiments.benchmarks.agreement import PROBLEMS, random_problem
from pgsr.problems.conditions import cells

MARKS = {"consistent": "children", "monotone": r"\le x_", "nonnegative": r"\ge 0", "integer": r"\mathbb{Z}"}
TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
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
