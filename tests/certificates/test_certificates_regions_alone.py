"""Proofs of per-region isotonic fits against exhaustive search."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import rng_of, scale

from pgsr import Hierarchy, PgsrError, Problem, View
from pgsr.certificates import certify
from pgsr.certificates.regions_alone import isotonic_bound, isotonic_is_optimal
from pgsr.data import Estimate
from pgsr.noise import Totals

LONE = Hierarchy.from_parents(["all"], [-1])


def isotonic_problem(rows, norm, totals=None):
    """Isotonic fits of these cumulative rows, a root and what lies below it; totals need not add up."""
    rows = np.asarray(rows)
    tree = Hierarchy.from_parents([f"r{i}" for i in range(len(rows))], [-1] + [0] * (len(rows) - 1))
    measurement = naive.measurement_of(tree, rows, 0, View.CUMULATIVE)
    if totals is not None:
        measurement = replace(measurement, public=Totals.REGIONS, totals=np.asarray(totals))
    return Problem.isotonic(measurement, norm=norm)


def candidates(rng, n, lower, upper, step=1.0):
    """Every monotone vector within the bounds; a missing bound lies far enough away."""
    grid = np.arange(-5 if lower is None else lower, (9 if upper is None else upper) + step / 2, step)
    return naive.monotone_vectors(n, grid)


def random_bounds(rng):
    lower = None if rng.random() < 0.3 else int(rng.integers(-3, 3))
    upper = None if rng.random() < 0.3 else int(rng.integers(0 if lower is None else lower, 6))
    return lower, upper


@pytest.mark.parametrize(("norm", "step"), [(1, 1), (2, 1), (1, 0.5)])
def test_chain_equals_brute_force(norm, step):
    """In integers, and for norm 1 in reals, where midpoints between two optima are optimal, too."""
    rng = rng_of(51)
    for _ in range(scale(150, 10_000)):
        y = rng.integers(-4, 7, int(rng.integers(1, 5 if step == 1 else 4)))
        lower, upper = random_bounds(rng)
        points = candidates(rng, len(y), lower, upper, step).astype(np.int64 if step == 1 else float)
        values = (np.abs(points - y) ** norm).sum(axis=1)
        order = np.argsort(values)[:10]  # the ones near the optimum are the hard ones
        for index in [*order, *rng.choice(len(points), min(10, len(points)), replace=False)]:
            optimal = values[index] == values.min()
            assert isotonic_is_optimal(points[index], y, lower, upper, norm) == optimal


def test_infeasible_vectors_are_not_optimal():
    y = np.array([1, 2])
    assert not isotonic_is_optimal(np.array([2, 1]), y, None, None, 1)
    assert not isotonic_is_optimal(np.array([1, 2]), y, 2, None, 1)
    assert not isotonic_is_optimal(np.array([1, 2]), y, None, 1, 1)
    assert not isotonic_is_optimal(np.array([1.0, np.nan]), y, None, None, 1)
    assert isotonic_is_optimal(np.array([], int), np.array([], int), 0, 3, 2)


def test_what_the_chain_cannot_prove_is_refused():
    with pytest.raises(PgsrError, match="integers only"):
        isotonic_is_optimal(np.array([1.5]), np.array([1]), None, None, 2)
    with pytest.raises(PgsrError, match="64-bit"):
        isotonic_is_optimal(np.array([2**60]), np.array([0]), None, None, 2)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("public", [True, False])
def test_certify_equals_brute_force(norm, public):
    """A public total fixes the last cell, which bounds the others."""
    rng = rng_of(53)
    for _ in range(scale(60, 3_000)):
        y = rng.integers(-3, 7, int(rng.integers(1, 5)))
        total = int(rng.integers(0, 6))
        problem = isotonic_problem([y], norm, [total] if public else None)
        points = naive.monotone_vectors(len(y), np.arange(0, total + 1 if public else 9))
        points = points[points[:, -1] == total] if public else points
        values = (np.abs(points - y) ** norm).sum(axis=1)
        for index in [int(values.argmin()), *rng.choice(len(points), min(10, len(points)), replace=False)]:
            certificate = certify(problem, Estimate(LONE, View.CUMULATIVE, points[[index]]))
            assert certificate.objective == values[index]
            assert certificate.optimal == (values[index] == values.min())
            if certificate.optimal:
                assert certificate.bound_by == "subgradient chain"
            elif certificate.bound is not None:
                assert certificate.bound <= values.min()


def test_a_wrong_last_cell_is_a_violation():
    problem = isotonic_problem([[1, 2, 3]], 1, [4])
    assert certify(problem, Estimate(LONE, View.CUMULATIVE, np.array([[1, 2, 3]]))).violations["totals"] == 1
    assert certify(problem, Estimate(LONE, View.CUMULATIVE, np.array([[1, 2, 4]]))).optimal


def test_every_region_has_to_be_optimal():
    problem = isotonic_problem([[1, 2, 3], [2, 1, 2]], 1, [3, 2])
    tree = problem.hierarchy
    assert certify(problem, Estimate(tree, View.CUMULATIVE, np.array([[1, 2, 3], [1, 1, 2]]))).optimal
    certificate = certify(problem, Estimate(tree, View.CUMULATIVE, np.array([[1, 2, 3], [0, 1, 2]])))
    assert certificate.feasible
    assert certificate.bound is None


@pytest.mark.parametrize("public", [True, False])
def test_any_estimate_gives_a_bound(public):
    rng = rng_of(54)
    for _ in range(scale(100, 5_000)):
        y = rng.integers(-4, 9, int(rng.integers(1, 8)))
        total = int(rng.integers(0, 7))
        problem = isotonic_problem([y], 2, [total] if public else None).relaxed()
        exact = [float(value) for value in naive.isotonic_l2(y[:-1] if public else y)]
        best = np.clip(exact, 0, total if public else None)
        best = np.append(best, total) if public else best
        optimum = float(((best - y) ** 2).sum())
        wild = np.sort(rng.normal(2, 3, len(y)))[None]
        assert isotonic_bound(problem, Estimate(LONE, View.CUMULATIVE, wild)) <= optimum + 1e-12
        certificate = certify(problem, Estimate(LONE, View.CUMULATIVE, best[None]))
        assert certificate.feasible
        assert certificate.bound_by == "Lagrangian bound"
        assert certificate.bound == pytest.approx(optimum, rel=1e-9, abs=1e-9)
        almost = best + rng.normal(0, 1e-9, len(y))  # as a solver answers
        bound = isotonic_bound(problem, Estimate(LONE, View.CUMULATIVE, almost[None]))
        assert bound == pytest.approx(optimum, abs=1e-5)
