"""Bounds of integer programs in exact integers, and the search for something better, against enumeration."""

import itertools
import math

import numpy as np
import pytest
from instances import rng_of, scale
from scipy import sparse

from pgsr import Status
from pgsr.experiments.benchmarks.compare import CompareExperiment
from pgsr.experiments.benchmarks.variants import VARIANTS, NoisyVariants, Size
from pgsr.models import CpSat, judge
from pgsr.models.program import Program
from pgsr.models.proof import integer_bound, search

LOW, HIGH = -3, 3


def random_program(rng, norm, n=4):
    """A few unknowns in a small box, with rows of no network, around a point that satisfies them."""
    point = rng.integers(LOW, HIGH + 1, n)
    equal, order = rng.integers(-3, 4, (1, n)), rng.integers(-3, 4, (2, n))
    box = np.full(n, float(LOW)), np.full(n, float(HIGH))
    return Program(
        norm=norm,
        weight=rng.integers(0, 4, n),
        matrix=sparse.csr_array(equal),
        right=equal @ point,
        order=sparse.csr_array(order),
        order_right=order @ point + rng.integers(0, 3, 2),
        lower=box[0],
        upper=box[1],
        integer=True,
        origin=np.zeros(n, np.int64),
        reach=box,
        n_cells=n,
    )


def cost(program, z):
    return int(program.weight @ np.abs(z) ** program.norm)


def feasible(program):
    for point in itertools.product(range(LOW, HIGH + 1), repeat=program.n):
        z = np.array(point)
        if (program.matrix @ z == program.right).all() and (program.order @ z <= program.order_right).all():
            yield z


@pytest.mark.parametrize("norm", [1, 2])
def test_no_bound_is_above_the_optimum_whatever_the_prices(norm):
    rng = rng_of(norm)
    for _ in range(scale(6, 300)):
        program = random_program(rng, norm)
        best = min(cost(program, z) for z in feasible(program))
        for size in (0, 1, 30):
            duals, order_duals = size * rng.normal(size=1), size * rng.normal(size=2)
            bound = integer_bound(program, duals, order_duals)
            twin = lagrangian_by_enumeration(program, duals, np.maximum(order_duals, 0))
            assert bound <= best
            assert bound >= twin - 1e-3
            assert bound <= math.ceil(twin + 1e-3)


def lagrangian_by_enumeration(program, v, mu):
    """The minimum of the Lagrangian over all points of the box, unknown by unknown since it separates."""
    c = program.matrix.T @ v + program.order.T @ mu
    z = np.arange(LOW, HIGH + 1)
    least = [(w * np.abs(z) ** program.norm + slope * z).min() for w, slope in zip(program.weight, c, strict=True)]
    return sum(least) - v @ program.right - mu @ program.order_right


@pytest.mark.parametrize("norm", [1, 2])
def test_the_search_proves_optima_and_finds_what_is_better(norm):
    rng, proved, refuted = rng_of(norm), 0, 0
    for _ in range(scale(8, 200)):
        program = random_program(rng, norm)
        points = list(feasible(program))
        costs = [cost(program, z) for z in points]
        best, worst = min(costs), max(costs)
        found = search(program, points[costs.index(best)], best, 20.0)
        assert found.better is None
        assert found.bound <= best
        proved += found.bound == best
        assert search(program, points[costs.index(best)], best, 20.0, nodes=1).bound <= best
        if worst > best:
            other = search(program, points[costs.index(worst)], worst, 20.0)
            assert other.bound <= best
            if other.better is not None:
                assert cost(program, other.better) < worst
                assert any((z == other.better).all() for z in points)
                refuted += 1
    assert proved >= 0.95 * scale(8, 200)
    assert refuted >= 1


def test_numbers_beyond_64_bits_have_no_bound():
    program = random_program(rng_of(0), 2)
    assert integer_bound(program, np.array([1e300]), np.zeros(2)) is None


@pytest.mark.slow
def test_totals_and_entities_of_all_regions_are_proved_at_13_x_11(monkeypatch):
    """No matrix of a network: the search has to branch, and on sizes that weigh most it does with few nodes."""
    experiment = CompareExperiment(size=Size.SMALL)
    noisy = NoisyVariants(experiment.truth(), experiment.epsilon, experiment.seed)
    problem = next(variant for variant in VARIANTS if variant.key == "m_h_entities").state(noisy)
    monkeypatch.setattr(judge, "SEARCHING_SECONDS", 120.0)
    result = CpSat().solve(problem, 300)
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.bound == result.certificate.objective == 9_388
