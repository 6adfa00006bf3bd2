"""M_H beyond one tree, by a cheapest flow: weights of cells, and sums measured besides, as by a second hierarchy."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from condition_checks import best_integer, feasible_points, random_problems
from instances import random_tree, scale

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_h.crossing import Sets
from pgsr.certificates.certificate import EXCHANGE_TEST, MULTIPLIERS
from pgsr.datasets import census_like
from pgsr.experiments.data.census2000 import COUNTIES, census2000
from pgsr.models import Flow, MathOpt, Scipy
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, total
from pgsr.problems.sums import leaves_below


def wider(rng, problem):
    """The problem with weights of cells or of regions, and up to three measured sums of leaf cells."""
    shape, last = problem.target.shape, problem.hierarchy.n_levels - 1
    made = replace(problem, weights=rng.integers(1, 4, shape if rng.random() < 0.6 else shape[0]))
    for _ in range(int(rng.integers(0, 4))):
        path = problem.hierarchy.paths[int(rng.integers(shape[0]))]
        sorts = total(path), cells(path, size=0), cells(level=last, size=1).sum(), cells(path)
        made = made.also_measured(sorts[int(rng.integers(4))], int(rng.integers(-1, 6)), int(rng.integers(1, 4)))
    return made


@pytest.mark.parametrize("totals", [Totals.ROOT, None])
def test_equals_brute_force(totals):
    rng, solved, with_sums = np.random.default_rng(31), 0, 0
    most = 5 if totals is Totals.ROOT else 3
    for problem, _ in random_problems(rng, (View.COUNTS, 2, totals, True), scale(30, 300)):
        stated = wider(rng, problem)
        if problem.hierarchy.n_levels == 1 or TreeProjection().supports(stated) is not None:
            continue
        points = feasible_points(problem, most)
        result = TreeProjection().solve(stated)
        assert result.status is Status.OPTIMAL, (result, stated)
        assert result.certificate.objective <= best_integer(stated, points)
        if result.estimate.values[problem.hierarchy.leaves].max() <= most:
            assert result.certificate.objective == best_integer(stated, points)
            solved += 1
        if stated.sums is None and stated.weights.ndim == 2:
            assert result.certificate.bound_by == EXCHANGE_TEST
        elif stated.sums is not None:
            assert result.certificate.bound_by == MULTIPLIERS
            with_sums += 1
    assert solved > 4
    assert with_sums > 4


def test_the_flow_of_or_tools_knows_weights_of_cells():
    pytest.importorskip("ortools")
    rng, solved = np.random.default_rng(35), 0
    for problem, _ in random_problems(rng, (View.COUNTS, 2, Totals.ROOT, True), scale(10, 100)):
        stated = replace(problem, weights=rng.integers(1, 5, problem.target.shape))
        assert Flow().solve(stated).certificate.objective == MathOpt("HIGHS").solve(stated).certificate.objective
        solved += 1
    assert solved > 0
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    weights = np.full((3, 2), 2)
    regions = Problem.of(np.ones((3, 2), int), tree, groups=np.array([4, 2, 2]), weights=weights, label="M_H")
    assert "root's total alone" in Flow().supports(regions)


def crossed(rng, regions, max_size, n_metros, epsilon="1"):
    """Noisy counts of a census-like nation, and of metropolitan areas across its states, over the same counties."""
    truth = census_like(regions, max_size, 1_000_000)
    tree = truth.hierarchy
    here = list(tree.paths[tree.n_inner :])
    there = [("US", f"metro {int(rng.integers(n_metros))}", "/".join(path)) for path in here]
    metros, leaves = Hierarchy.from_paths(there), dict(zip(there, here, strict=True))
    rows = truth.counts[[tree.index(leaves[path]) for path in metros.paths[metros.n_inner :]]]
    noisy = Geometric(View.COUNTS, epsilon).measure(truth, Seeded("states"))
    other = Geometric(View.COUNTS, epsilon).measure(CountOfCounts(metros, rows), Seeded("metros"))
    return truth, Problem.m_h(noisy).joined(Problem.m_h(other), leaves)


@pytest.mark.slow
def test_two_hierarchies_over_the_same_leaves_have_a_proved_optimum():
    rng = np.random.default_rng(32)
    truth, problem = crossed(rng, "states", 6, 7)
    result = TreeProjection().solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.certificate.bound_by == MULTIPLIERS
    again = Scipy().solve(problem, time_limit=60)
    assert again.certificate.objective == result.certificate.objective
    alone = TreeProjection().solve(replace(problem, sums=None))
    error = [np.square(x.estimate.values - truth.counts).sum() for x in (result, alone)]
    assert error[0] < error[1]  # the leaves were measured twice


@pytest.mark.drawn(1, pool="counties in two hierarchies")
@pytest.mark.slow
def test_counties_by_states_and_by_metropolitan_areas():
    _, problem = crossed(np.random.default_rng(33), "counties", 10, 300, "1/10")
    result = TreeProjection().solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == result.certificate.bound


@pytest.mark.drawn(1, pool="counties in two hierarchies")
@pytest.mark.slow
def test_real_counties_by_states_and_by_population():
    """Households of 3,141 counties, by states, and by classes of counties of about as many households."""
    folder = os.environ.get("PGSR_DATA")
    if folder is None or not (Path(folder) / COUNTIES.file).is_file():
        pytest.skip(f"PGSR_DATA names no folder with {COUNTIES.file}")
    truth = census2000("counties")
    tree = truth.hierarchy
    here = list(tree.paths[tree.n_inner :])
    sizes = truth.counts[tree.leaves].sum(axis=1)
    there = [("by households", f"2^{int(n).bit_length()}", path[-1]) for n, path in zip(sizes, here, strict=True)]
    classes, leaves = Hierarchy.from_paths(there), dict(zip(there, here, strict=True))
    rows = truth.counts[[tree.index(leaves[path]) for path in classes.paths[classes.n_inner :]]]
    problems = [
        Problem.m_h(Geometric(View.COUNTS, "1/10").measure(counts, Seeded(key)))
        for key, counts in (("states", truth), ("classes", CountOfCounts(classes, rows)))
    ]
    joined = problems[0].joined(problems[1])  # codes of counties are unique
    result, alone = TreeProjection().solve(joined), TreeProjection().solve(problems[0])
    assert result.status is Status.OPTIMAL
    assert result.certificate.bound_by == MULTIPLIERS
    error = [np.abs(x.estimate.values - truth.counts).sum() for x in (result, alone)]
    assert error[0] < error[1]


def test_sets_are_nested_or_apart_or_refused():
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c")])
    problem = Problem.of(np.ones((6, 2), int), tree, groups=3, label="M_H")
    nested = problem.also_measured(total(("US", "GA")), 3).also_measured(cells(("US", "GA", "a"), size=1), 2)
    sets = Sets.of(nested, nested.sums)
    assert sets.order.tolist() == [1, 0]
    assert sets.outer.tolist() == [1, -1]
    assert sets.innermost.tolist() == [1, 0, 1, 1, -1, -1]
    for sums in (
        total(("US", "GA")) - cells(("US", "MI"), size=0),  # no set
        2 * cells(("US", "GA", "a"), size=0),
        cells(("US", "GA", "b"), size=1) + cells(("US", "MI", "c"), size=1),  # across the total of GA
    ):
        wide = nested.also_measured(sums, 3)
        assert Sets.of(wide, wide.sums) is None
        assert "are no network" in TreeProjection().supports(wide)
        assert MathOpt("GSCIP").solve(wide).status is Status.OPTIMAL


def test_leaves_below_are_those_of_the_tree():
    rng = np.random.default_rng(34)
    for _ in range(20):
        tree = random_tree(rng, max_regions=12)
        x = rng.integers(0, 9, (tree.n_regions - tree.n_inner, 3))
        assert (leaves_below(tree, 3) @ x.ravel() == tree.sum_up(x).ravel()).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"integer": False}, "finds integers where"),
        ({"totals": Totals.REGIONS, "groups": np.array([3, 2, 1])}, "root's total alone"),
        ({"weights": np.array([0, 1, 1])}, "weights above 0"),
        ({"norm": 1}, "minimises squares"),
        ({"weights": np.full((3, 2), 2**31)}, "stay below 2.31"),
    ],
)
def test_what_the_flow_does_not_solve_is_refused(change, words):
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of(np.ones((3, 2), int), tree, groups=3, label="M_H").also_measured(total(level=1), 2)
    with pytest.raises(AssertionError, match=words):
        assert TreeProjection().supports(replace(problem, **change)) is None, TreeProjection().supports(
            replace(problem, **change)
        )
    assert "conditions" not in (TreeProjection().supports(problem) or "")
    assert "root's total alone" in TreeProjection().supports(problem.where(cells(size=0) <= 9))
