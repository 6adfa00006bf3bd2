"""Structural zeros of whole sizes, which every method takes: against the problem with bounds, and by hand."""

from dataclasses import replace

import naive
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, Problem, Status
from pgsr.algorithms import (
    CostTables,
    CumulativeProjection,
    MeanConsistency,
    RegionTotalsProjection,
    SimplexProjection,
    TreeProjection,
)
from pgsr.methods.toys import measurements
from pgsr.methods.zero_sizes import WithoutZeroSizes
from pgsr.problems.conditions import cells

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def test_the_optimum_is_that_of_all_points_with_zeros():
    """The paper's dynamic program takes zeros by leaving sizes out, TreeProjection as bounds; both are optimal."""
    rng = rng_of(71)
    for _ in range(scale(150, 3_000)):
        tree = random_tree(rng, max_regions=5)
        n_sizes, groups = int(rng.integers(2, 4)), int(rng.integers(0, 4))
        noisy, zero = rng.integers(-3, 6, (tree.n_regions, n_sizes)), int(rng.integers(n_sizes))
        free = naive.problem_of(tree, noisy, groups)
        problem = free.where(cells(size=zero) == 0) if rng.integers(2) else free.where(cells(level=0, size=zero) <= 0)
        points = naive.feasible_points(tree, n_sizes, groups)
        best = naive.objectives(free, points[(points[:, :, zero] == 0).all(axis=1)]).min()
        for method in (CostTables(window=None), TreeProjection()):
            result = method.solve(problem)
            assert result.status is Status.OPTIMAL
            assert result.certificate.optimal
            assert result.certificate.objective == best
            assert not result.estimate.values[:, zero].any()
        reduced = WithoutZeroSizes.of(problem)
        assert reduced.constant == int((free.w * noisy[:, zero] ** 2).sum())


def test_relaxations_are_proved_by_the_bound_of_the_smaller_problem():
    counts, cumulative = measurements()[:2]
    zero = cells(size=0) == 0
    for problem, method in [
        (Problem.m_h(counts, totals="regions").relaxed(), RegionTotalsProjection()),
        (Problem.m_c(cumulative).relaxed(), CumulativeProjection()),
        (Problem.m_c(cumulative, totals="regions").relaxed(), CumulativeProjection()),
        (Problem.naive(counts).relaxed(), SimplexProjection()),
        (Problem.mean_consistency(counts), MeanConsistency()),
    ]:
        stated = problem.where(zero)
        assert method.supports(stated) is None
        result = method.solve(stated)
        assert result.status is Status.OPTIMAL, (method, result)
        assert result.certificate.feasible
        assert not result.estimate.values[:, 0].any()
        assert result.estimate.values.shape == problem.target.shape
        if result.certificate.bound is not None:
            assert result.certificate.gap <= 1e-9
            assert result.certificate.bound <= result.certificate.objective
    relaxed = Problem.m_h(counts).where(zero).relaxed()
    with_bounds = TreeProjection().solve(relaxed)
    without = WithoutZeroSizes.of(relaxed)
    other = without.restored(TreeProjection().solve(without.reduced))
    assert other.certificate.objective == pytest.approx(with_bounds.certificate.objective)
    assert other.certificate.bound == pytest.approx(with_bounds.certificate.bound)


def test_zeros_of_cumulative_cells_reach_down():
    cumulative = measurements()[1]
    problem = Problem.m_c(cumulative).where(cells(size=1) == 0)
    smaller = WithoutZeroSizes.of(problem)
    assert smaller.kept.tolist() == [2, 3]
    result = CumulativeProjection().solve(problem.relaxed())
    assert not result.estimate.values[:, :2].any()


def test_only_whole_sizes_and_nothing_else():
    problem = Problem.of([[2, 4, 3], [1, 2, -1], [3, 2, 1]], TREE, groups=9, label="M_H")
    for conditions in (
        [cells(size=0) <= 1],
        [cells(region=("US", "GA"), size=0) == 0],
        [cells(size=0) == 0, cells(region=("US", "GA"), size=1) <= 5],
        [cells(size=0) == 0, cells(size=1) >= 1],
        [cells(size=0) == 0, 2 * cells(region=("US", "GA"), size=0) <= 1],  # a row that nothing is left of
        [cells() == 0],
    ):
        assert WithoutZeroSizes.of(problem.where(*conditions)) is None
    assert WithoutZeroSizes.of(problem) is None
    alone = replace(problem, consistent=False).where(cells(level=0, size=0) == 0)
    assert WithoutZeroSizes.of(alone) is None
    nothing_left = SimplexProjection().solve(
        Problem.naive(measurements()[0]).where(cells(size=slice(0, 3)) == 0, cells(size=3) <= 0)
    )
    assert nothing_left.status is Status.UNSUPPORTED
    assert "such as cells(every region, 0:3) == 0; take a solver model" in nothing_left.reason
