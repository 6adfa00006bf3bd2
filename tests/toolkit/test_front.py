"""The front door: names for methods, one call each to measure, solve, list, compare and estimate, and its errors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pgsr
from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import CumulativeIntegers, TreeProjection
from pgsr.errors import ProblemError
from pgsr.estimators import BottomUp
from pgsr.front.estimation import noise_of
from pgsr.front.names import catalogue, estimator_named, method_named
from pgsr.methods.method import Method
from pgsr.models import Cvxpy, Direct, Gurobi, MathOpt
from pgsr.models.catalogue import all_entries
from pgsr.noise import Geometric, Noise
from pgsr.privacy.accounting import Rho
from pgsr.privacy.random import Seeded
from pgsr.problems.conditions import cells, either, total

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 900, 400, 90], [0, 800, 300, 110]], "tiny")
NOISY = pgsr.measure(TRUTH, "cumulative", epsilon=1, seed="demo")
COUNTED = pgsr.measure(TRUTH, "counts", epsilon=1, seed="demo")
PROBLEM = Problem.m_c(NOISY)


@pytest.mark.slow
def test_names_are_unique_and_each_finds_its_own_entry():
    names = [entry.name for entry in all_entries()]
    assert len(set(names)) == len(names)
    for entry in all_entries():
        find = method_named if isinstance(entry.method, Method) else estimator_named
        # Of a measurement these two name problems, of a problem methods.
        assert entry.name in ("isotonic", "mean_consistency") or find(entry.name) is entry.method
    assert method_named("isotonic") is next(entry.method for entry in all_entries() if entry.name == "isotonic")


def test_a_name_means_a_row_of_the_catalogue():
    """Case and signs between words do not count."""
    for name, method in {
        "GUROBI": Gurobi(),
        "highs": Direct("HIGHS"),
        "cvxpy:highs": Cvxpy("HIGHS"),
        "glop": MathOpt("GLOP"),
        "MathOpt:HiGHS": MathOpt("HIGHS"),
        "tree-projection": TreeProjection(),
    }.items():
        assert method_named(name) == method
    assert method_named("cp_sat") is method_named("CP-SAT") is method_named("cpsat")
    assert estimator_named("Two-Stage") is estimator_named("two_stage")


class Tabling(TreeProjection):
    """A method that gives a table in place of a result."""

    def solve(self, problem, time_limit=None):
        return problem.target


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: pgsr.solve(PROBLEM, "gurobbi"), "did you mean 'gurobi'"),
        (lambda: pgsr.solve(PROBLEM, "zzz"), "no method is called 'zzz'; there are pgsr, tree_projection, "),
        (lambda: pgsr.solve(PROBLEM, "posterior"), r"call pgsr.estimate\(noisy, 'posterior'\)"),
        (lambda: pgsr.solve(PROBLEM, "m_c"), r"Problem.m_c\(noisy\)"),
        (lambda: pgsr.solve(PROBLEM, Gurobi), r"write Gurobi\(\.\.\.\)"),
        (lambda: pgsr.solve(PROBLEM, 3), 'give a name, such as "gurobi"'),
        (lambda: pgsr.solve(PROBLEM, lambda problem: problem.target), r"your own has supports\(problem\) and solve\("),
        (lambda: pgsr.solve(PROBLEM, Tabling()), "let solve return a Result; pgsr.certify judges tables"),
        (lambda: pgsr.compare(PROBLEM, [lambda problem: problem.target]), "not a method, which has supports and solve"),
        (lambda: pgsr.solve(NOISY), "state one"),
        (lambda: pgsr.solvers(NOISY), "state one"),
        (lambda: pgsr.estimate(NOISY, "posteriour"), "did you mean 'posterior'"),
        (lambda: pgsr.estimate(NOISY, "highs"), "solves a stated problem"),
        (lambda: pgsr.estimate(NOISY, TreeProjection()), "solves a stated problem"),
        (lambda: pgsr.estimate(NOISY, "m_h"), "M_H needs View.COUNTS"),
        (lambda: pgsr.estimate(PROBLEM, "posterior"), "pgsr.measure"),
        (lambda: pgsr.compare(PROBLEM, "pgsr"), "give a list"),
        (lambda: pgsr.compare(PROBLEM, ["pgsr", "highz"]), "did you mean 'highs'"),
        (lambda: pgsr.compare(NOISY, ["gurobi"]), "state one"),
        (lambda: pgsr.compare(NOISY, [TreeProjection()]), "it is no post-process"),
        (lambda: pgsr.compare(PROBLEM, [BottomUp()]), "it is not a method"),
        (lambda: pgsr.measure(TRUTH, "counts", epsilon=1), "neither seed nor secure"),
        (lambda: pgsr.measure(TRUTH, "counts", epsilon=1, seed=3, secure=True), "exclude each other"),
        (lambda: pgsr.measure(TRUTH, "counts", epsilon=1, secure="yes"), "give True or False"),
        (lambda: pgsr.measure(TRUTH, "totals", epsilon=1, seed=3), '"counts", "cumulative" or "ranked"'),
        (lambda: pgsr.measure(TRUTH, "counts", epsilon=-1, seed=3), "epsilon"),
        (lambda: pgsr.measure(TRUTH.counts, "counts", epsilon=1, seed=3), "pgsr.read"),
        (lambda: pgsr.estimate(NOISY, "m_c").intervals("tails"), "is no statistic"),
        (lambda: pgsr.estimate(NOISY, "m_c").intervals("tail:1", level=2), "level"),
    ],
)
def test_errors_are_sentences_that_say_what_to_do(call, word):
    with pytest.raises(PgsrError, match=word):
        call()


def test_a_measurement_is_that_of_the_noise_step():
    assert (NOISY.cells == Geometric(View.CUMULATIVE, 1).measure(TRUTH, Seeded("demo")).cells).all()
    assert not NOISY.secure
    private = pgsr.measure(CountOfCounts(TREE, TRUTH.counts, private_groups=True), "Cumulative", epsilon=1, seed="demo")
    assert private.totals_noise is not None
    assert pgsr.measure(TRUTH, View.RANKED, epsilon="1/2", secure=True).secure


def test_nothing_of_ours_is_asked_to_round():
    """Of M_H with every region's total and a bound, one of our algorithms only rounds the relaxation."""
    problem = Problem.m_h(COUNTED, totals="regions").where(cells(size=0) <= 5)
    named = pgsr.solve(problem, "region_totals_projection").status
    assert (pgsr.solve(problem).status, named) != (Status.RELAXED, Status.RELAXED)


def test_solvers_lists_everybody_once_with_a_reason_where_it_does_not_take_it():
    table = pgsr.solvers(PROBLEM)
    assert [row.name for row in table.rows if row.ready] == list(table) == table[:]
    assert {row.name for row in table.rows} == {e.name for e, _ in catalogue() if isinstance(e.method, Method)}
    for row in table.rows:
        supported = row.method.supports(PROBLEM) is None
        assert supported or not row.ready
        assert row.ready is not bool(row.reason)
        assert bool(row.how) is supported or row.name == "pgsr"
    assert table[0] == "pgsr"
    assert table.rows[0].method == CumulativeIntegers()
    shown = repr(table)
    for words in ("tree_projection", "works on counts", "others do not:"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 130
    first = table.rows[0]
    assert (first.proves, first.licence, first.version) == ("proved gap", "Apache 2.0", pgsr.__version__)
    assert "works on counts" in table._repr_html_().partition("<details>")[2]


PLAIN = Problem.m_h(COUNTED)
GA = ("US", "GA")
ASKED = {
    "works on cumulative counts": PLAIN,
    "total(US/GA) >= 900 ties several together": PLAIN.where(total(GA) >= 900),
    "takes no conditions that are stated by where": PLAIN.where(cells(size=0) <= 5),
    "is a choice between conditions": PLAIN.where(either(total(GA) == 1_380, cells(GA, size=1) <= 800)),
    "does not know weights of single cells": replace(PLAIN, weights=np.full((3, 4), 2)),
    "takes one largest size for all levels": Problem.of(([[0, 3, 2]], [[1, 1], [0, 3]]), TREE, groups=5),
}
"""What some methods say of a problem."""


@pytest.mark.parametrize("words", ASKED)
def test_who_is_listed_keeps_all_conditions_and_who_is_not_says_why_and_who_is(words):
    table = pgsr.solvers(ASKED[words])
    for row in table.rows:
        if row.ours and row.ready and row.how != "relaxed, rounded":
            assert row.method.solve(ASKED[words]).certificate.feasible, row.name
        elif row.ours and not row.ready:
            reason = pgsr.solve(ASKED[words], row.name).reason
            assert reason.startswith(f"{row.reason}; pgsr.solvers(problem) lists who takes it here: {table[0]}, "), (
                reason
            )
    assert any(words in row.reason for row in table.rows if row.ours)


@pytest.mark.parametrize(
    "step",
    [
        Geometric(View.COUNTS, 2, totals="root"),
        Geometric((View.CUMULATIVE, View.RANKED), 1, max_quantity=2, totals="noisy", totals_share="1/5"),
        Geometric(View.CUMULATIVE, 1, max_sizes=(3, 2)),
        Geometric(View.CUMULATIVE, 1, shares=(0, 1)),
    ],
)
def test_a_measurement_is_made_again_by_the_same_noise_step(step):
    first = step.measure(TRUTH, Seeded("again"))
    second = noise_of(first).measure(TRUTH, Seeded("again"))
    assert noise_of(first).cost == step.cost
    assert second.noise == first.noise
    assert second.totals_noise == first.totals_noise
    assert len(first.rows) == len(second.rows)
    assert all(np.array_equal(one, other) for one, other in zip(first.rows, second.rows, strict=True))


def test_noise_of_another_law_is_left_to_the_intervals_room():
    noisy = Noise(View.CUMULATIVE, Rho(1), laws="gaussian").measure(TRUTH, Seeded("demo"))
    with pytest.raises(ProblemError, match="the mechanism"):
        pgsr.estimate(noisy, "m_c").intervals()


def test_the_package_lists_its_names_and_rooms_and_nothing_else():
    assert set(dir(pgsr)) == {*pgsr.__all__, *pgsr._ROOMS}
    folders = {path.parent.name for path in Path(pgsr.__file__).parent.glob("*/__init__.py")}
    assert folders - set(pgsr._ROOMS) == {"commands", "experiments", "front"}
    assert pgsr.models.Gurobi is Gurobi
