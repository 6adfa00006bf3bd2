"""The dual of M_c, its Hessian and every loop behind them, against slow twins."""

import naive
import numpy as np
import pytest
from instances import rng_of, scale
from test_m_c_projection import TOTALS, random_problem, with_bounds

from pgsr.algorithms.m_c import squares_kernel, tree_kernel
from pgsr.algorithms.m_c.arrays import Diagonal
from pgsr.algorithms.m_c.dual import SquaresDual


@pytest.mark.parametrize("totals", TOTALS)
def test_value_and_gradient_are_those_of_the_definition(totals):
    rng = rng_of(401)
    for _ in range(scale(5, 200)):
        dual, costs = random_dual(rng, totals)
        for spread in (0.1, 3.0, 30.0):  # the second and third start from the blocks of the one before
            prices = random_prices(rng, dual, spread)
            point = dual.at(prices)
            value, x = minimised(dual, costs, prices)
            assert point.value == pytest.approx(value, rel=1e-9, abs=1e-6)
            np.testing.assert_allclose(point.gradient, gradient(dual, x), atol=1e-6)
            leaves = np.zeros((len(dual.y), dual.n))
            tree_kernel.expand(0, len(leaves), dual.blocks, dual.upper, leaves)
            np.testing.assert_allclose(leaves, x[dual.problem.hierarchy.leaves], atol=1e-6)


@pytest.mark.parametrize("totals", TOTALS)
def test_leaves_with_bounds_of_cells_are_the_definitions(totals):
    """Every leaf at any prices, against all ways to cut its cells into runs; the gradient is what nodes miss."""
    rng = rng_of(405)
    done = 0
    while done < scale(8, 300):
        problem = with_bounds(rng, random_problem(rng, totals))
        if problem.contradiction is not None or not 1 < problem.max_size < 8:
            continue
        dual = SquaresDual(problem)
        prices = random_prices(rng, dual, float(rng.choice([0.1, 3.0, 30.0])))
        point = dual.at(prices)
        x = np.zeros((len(dual.y), dual.n))
        tree_kernel.expand(0, len(x), dual.blocks, dual.upper, x)
        least, most = dual.bounds
        assert (np.diff(x, axis=1) >= 0).all()
        assert (x >= least - 1e-9).all()
        assert (x <= most + 1e-9).all()
        for leaf, (y, w) in enumerate(zip(dual.y[:, : dual.n], dual.leaf_weight, strict=True)):
            net, d = -prices[dual.leaf_node[leaf]], x[leaf] - y
            high = np.minimum(most[leaf], 10**9)
            best = naive.bounded_chain_minimum_l2(y, net, int(w), least[leaf], high)
            assert (w * d**2 + net * d).sum() == pytest.approx(float(best), rel=1e-9, abs=1e-6)
        little, step = 1e-6, random_prices(rng, dual, 1.0)
        rise = (dual.at(prices + little * step).value - point.value) / little
        assert rise == pytest.approx(float(np.vdot(point.gradient, step)), rel=1e-3, abs=1e-2 * (1 + abs(rise)))
        done += 1


@pytest.mark.parametrize("totals", TOTALS)
def test_nodes_against_the_sums_of_the_leaves(totals):
    """Find by how much the sums exceed what nodes take, and what the nodes cost there."""
    rng = rng_of(402)
    for _ in range(scale(8, 100)):
        dual, costs = random_dual(rng, totals)
        tree, prices = dual.problem.hierarchy, random_prices(rng, dual, 3.0)
        beyond = dual.beyond(dual.at(prices))
        if tree.n_levels == 1:
            continue
        _, x = minimised(dual, costs, prices)
        sums = tree.sum_up(x[tree.leaves])[dual.kept]
        free = np.zeros(dual.shape, bool)  # a root without weight takes what its children take
        free[0, : dual.first_free] = True
        np.testing.assert_allclose(beyond[~free], (sums - x[dual.kept])[~free], atol=1e-6)

        cost = np.zeros(dual.shape[0])
        squares_kernel.node_costs(0, len(cost), dual.node_weight, dual.held, dual.own, beyond, cost)
        for k, region in enumerate(dual.kept):
            cells = range(dual.n - (k == 0 and dual.held))
            spent = sum(costs.at(region, i, sums[k, i]) for i in cells)
            assert cost[k] == pytest.approx(spent, rel=1e-9, abs=1e-5)


@pytest.mark.parametrize("totals", TOTALS)
def test_products_with_the_hessian(totals):
    """Equal to the dense matrix, which is how the gradient changes."""
    rng = rng_of(403)
    for _ in range(scale(8, 100)):
        dual, _ = random_dual(rng, totals)
        prices, step = random_prices(rng, dual, 3.0), random_prices(rng, dual, 1.0)
        before = dual.at(prices).gradient
        ridge = float(rng.random())
        _, plain = naive.curvature(dual)
        _, whole = naive.curvature(dual, ridge)
        out, dots = np.empty(dual.shape), np.empty(dual.shape[0])
        tree_kernel.multiply(0, len(out), dual.tree, dual.blocks, Diagonal(dual.rate, ridge), step, out, dots)
        np.testing.assert_allclose(out.ravel(), whole @ step.ravel(), atol=1e-9)
        np.testing.assert_allclose(dots, (step * out).sum(axis=1), rtol=1e-9, atol=1e-9)

        little = 1e-6  # so small that no block breaks and no kink is passed
        changed = (dual.at(prices + little * step).gradient - before) / little
        np.testing.assert_allclose(
            changed.ravel(), -plain @ step.ravel(), atol=1e-3 * (1 + np.abs(plain).max(initial=0))
        )


def random_dual(rng, totals):
    """A dual, and the costs that it should have."""
    problem = random_problem(rng, totals)
    w = np.repeat(problem.w[:, None].astype(float), problem.target.shape[1], axis=1)
    return SquaresDual(problem), naive.CellCosts(w, problem.target)


def random_prices(rng, dual, spread):
    prices = rng.normal(0, spread, dual.shape)
    prices[0, : dual.first_free] = 0.0
    return prices


def minimised(dual, costs, prices):
    """The dual's value and minimisers, shape (regions, free cells), by the twin."""
    tree, n, public = dual.problem.hierarchy, dual.n, dual.problem
    everywhere = np.zeros((tree.n_inner, n)) if tree.n_levels == 1 else prices[dual.node_of]
    fixed = float(public.root_total) if dual.held else None
    value, x = naive.cumulative_dual(tree, costs, everywhere, dual.upper, fixed)
    if dual.everywhere:
        value += sum(costs.at(r, n, float(public.groups[r])) for r in range(tree.n_regions))
    return value, x


def gradient(dual, x):
    """Subtract from c of every node what its children take."""
    tree, out = dual.problem.hierarchy, np.zeros(dual.shape)
    if tree.n_levels > 1:
        for k, region in enumerate(dual.kept):
            out[k] += x[region]
            if k:
                out[dual.node_of[tree.parent[region]]] -= x[region]
        for leaf in range(tree.n_inner, tree.n_regions):
            out[dual.node_of[tree.parent[leaf]]] -= x[leaf]
    out[0, : dual.first_free] = 0.0
    return out
