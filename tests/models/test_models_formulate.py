"""Formulations and their LaTeX, without a solver's adapter in between."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from instances import rng_of, scale
from program_files import NAMES

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeProjection, TreeProjection
from pgsr.certificates.certificate import violations
from pgsr.data import Estimate
from pgsr.datasets import census_like
from pgsr.experiments.benchmarks.agreement import random_problem
from pgsr.models import Cvxpy
from pgsr.models.formulate import formulate
from pgsr.models.program import quadratic, scaled
from pgsr.models.window import magnitudes
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


def test_a_point_satisfies_the_program_if_and_only_if_it_satisfies_the_problem():
    """Rows and bounds against `pgsr.certificates.certificate.violations`, which shares nothing with them."""
    rng = rng_of(0)
    seen = set()
    for name, instance in product(NAMES, range(scale(1, 150))):
        problem = random_problem(name, rng_of(0, instance, *name.encode()))
        if problem.view is View.RANKED or not problem.sizes.equal:  # these in test_conditions_levels
            continue
        program, tree, y = formulate(problem), problem.hierarchy, problem.target
        for _ in range(6):
            x = rng.integers(-1, 6, y.shape)
            if rng.random() < 0.9:
                x = np.abs(x)
            if problem.monotone and rng.random() < 0.9:
                x = np.cumsum(x, axis=1)
            if problem.totals is not None and rng.random() < 0.9:
                total = problem.groups
                x[:, -1] = total if problem.monotone else total - x[:, :-1].sum(axis=1)
            if problem.consistent and rng.random() < 0.9:
                x = tree.sum_up(x[tree.leaves])
            z = x.ravel() - program.origin[: program.n_cells]
            fits = (
                (program.matrix @ z == program.right).all()
                and (program.order @ z <= program.order_right).all()
                and (z >= program.lower).all()
                and (z <= program.upper).all()
            )
            found = violations(problem, Estimate(tree, problem.view, x))
            assert fits == (not any(found.values())), (problem, found)
            seen.add((problem.label, bool(fits)))
    assert {fits for _, fits in seen} == {True, False}


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_unknowns_are_small_where_regions_are_not_measured(view):
    """With all budget at the leaves upper values are arbitrary; around 0, counts of 10^7 cost solvers their digits."""
    truth = census_like("states", 60, 20_000_000)
    noisy = Geometric(view, 1, shares=[0, 1]).measure(truth, Seeded("leaves alone"))
    problem = (Problem.m_h if view is View.COUNTS else Problem.m_c)(noisy).relaxed()
    program, n = formulate(problem), problem.hierarchy.n_inner * problem.target.shape[1]
    assert (program.right[:n] == 0).all()
    assert np.array_equal(program.origin[n:], problem.target.ravel()[n:])
    exact = (TreeProjection() if view is View.COUNTS else CumulativeProjection()).solve(problem)
    result = Cvxpy("CLARABEL").solve(problem)
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.objective == pytest.approx(exact.certificate.objective, rel=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_programs_are_handed_over_in_units_that_weights_do_not_change(norm):
    """A common factor of the weights is a unit of the objective, and duals come back in it."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    light = Problem.of([[90, 10], [31, 12], [40, -2]], tree, groups=100, norm=norm).relaxed()
    heavy = replace(light, weights=2**30 * light.weights)
    stated = [formulate(one) for one in (light, heavy)]
    programs = [quadratic(one) if norm == 2 else magnitudes(one).columns(False, None) for one in stated]
    (small, units), (large, heavier) = (scaled(one) for one in programs)
    assert (heavier.values, heavier.objective) == (units.values, 2**30 * units.objective)
    for name in ("quadratic", "linear", "right", "order_right", "lower", "upper"):
        assert (getattr(small, name) == getattr(large, name)).all(), name
