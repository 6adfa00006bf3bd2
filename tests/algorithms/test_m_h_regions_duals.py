"""The dual of M_H with every region's totals, and every loop behind it, against slow twins."""

import naive
import numpy as np
import pytest
from instances import rng_of, scale
from test_m_h_regions_projection import random_problem, some_totals

from pgsr.algorithms.m_h_regions import totals_kernel, tree_kernel
from pgsr.algorithms.m_h_regions.forest import Forest
from pgsr.algorithms.m_h_regions.totals_dual import Dual


def test_the_dual_of_totals_is_the_definitions():
    rng = rng_of(501)
    for _ in range(scale(30, 1_000)):
        dual = Dual.of(some_totals(rng, random_problem(rng, least=2)))
        tree, sets, some = dual.forest, dual.fixed.set_of, dual.totals > 0
        below, step = random_prices(rng, tree), random_prices(rng, tree)
        mu, more = rng.normal(0, 5, (2, len(some))) * some
        paid, extra = np.zeros((2, len(sets)))
        for leaf, k in enumerate(sets):
            if k >= 0:
                paid[leaf], extra[leaf] = mu[k] if some[k] else -1e9, more[k]
        value, x = naive.regions_dual(tree.w, tree.parent, tree.y, below, np.tile(paid, (len(tree.y), 1)))
        leaves = x[:, tree.n_inner :]
        value += mu @ dual.totals
        point = dual.at(below, np.where(some, mu, -1e200))
        assert point.value == pytest.approx(value, rel=1e-9, abs=1e-6)
        taken = np.array([leaves[:, sets == k].sum() for k in range(len(some))])
        np.testing.assert_allclose(point.gradient[some], (dual.totals - taken)[some], atol=1e-8)
        np.testing.assert_array_equal(point.active, leaves > 0)
        np.testing.assert_array_equal(point.number, (leaves > 0).sum(axis=0))
        derivative = changes(tree, x, step, np.tile(extra, (len(tree.y), 1))) + more @ dual.totals
        assert dual._slope(point, step, more) == pytest.approx(derivative, rel=1e-9, abs=1e-6)


def test_takings_at_prices():
    rng = rng_of(503)
    for _ in range(scale(30, 500)):
        tree = Forest.of(random_problem(rng))
        below = random_prices(rng, tree)
        shift = np.append(np.zeros(tree.n_inner), rng.normal(0, 3, tree.y.shape[1] - tree.n_inner))
        x = np.empty(tree.y.shape)
        mu = shift[tree.n_inner :]
        every = np.ones((len(x), len(mu)), np.uint8)
        links = (tree.y, tree.w, tree.first_child, tree.n_inner)
        tree_kernel.continuous_point(0, len(x), *links, below, mu, every, x)
        expected = [
            naive.taken_at(tree.w, tree.parent, y, prices, shift[tree.n_inner :])
            for y, prices in zip(tree.y, below, strict=True)
        ]
        np.testing.assert_allclose(x, expected, atol=1e-9)


def test_best_prices_of_given_positive_leaves():
    """Newton's step in the prices: one pass up and one down solve a dense system per size."""
    rng = rng_of(504)
    for _ in range(scale(40, 500)):
        tree = Forest.of(random_problem(rng))
        n_sizes, n_leaves = len(tree.y), tree.y.shape[1] - tree.n_inner
        leaves, mu = slice(tree.n_inner, None), rng.normal(0, 3, n_leaves)
        rate, before = 0.5 / tree.w[leaves], random_prices(rng, tree)
        gain, offset, below = np.empty((3, *before.shape))
        on = (tree.y[:, leaves] + rate * (before[:, tree.parent[leaves]] + mu) > 0).astype(np.uint8)
        links = (tree.y, tree.w, tree.first_child, tree.n_inner)
        tree_kernel.newton_pass(0, n_sizes, *links, mu, on, gain, offset)
        tree_kernel.set_prices(0, n_sizes, tree.w, tree.parent, tree.n_inner, gain, offset, below)
        expected = best_prices(tree, on, on * (tree.y[:, leaves] + rate * mu), tree.y[:, : tree.n_inner])
        np.testing.assert_allclose(below, expected, rtol=1e-8, atol=1e-8)

        change = rng.normal(0, 1, n_leaves)
        keep, response = 1.0 - 2.0 * tree.w[: tree.n_inner] * gain, np.empty(before.shape)
        links = (on, tree.w, tree.parent, tree.first_child, tree.n_inner, keep)
        sums = np.empty((totals_kernel.CHUNKS, n_leaves))
        totals_kernel.respond(0, totals_kernel.CHUNKS, *links, change, response, sums)
        expected = best_prices(tree, on, on * change, np.zeros(before.shape))
        np.testing.assert_allclose(response, expected, rtol=1e-8, atol=1e-8)
        seen = on * response[:, tree.parent[leaves]]
        np.testing.assert_allclose(sums.sum(axis=0), seen.sum(axis=0), atol=1e-8)

        totals_kernel.paid_on(0, totals_kernel.CHUNKS, on, tree.first_child, tree.n_inner, below, sums)
        seen = on * below[:, tree.parent[leaves]]
        np.testing.assert_allclose(sums.sum(axis=0), seen.sum(axis=0), rtol=1e-8, atol=1e-7)


def random_prices(rng, tree):
    """Draw prices of inner regions by size; a region of weight 0 has the price above, a root of weight 0 has 0."""
    prices = rng.normal(0, 5, (len(tree.y), tree.n_inner))
    for r in range(tree.n_inner):
        if tree.w[r] == 0:
            prices[:, r] = prices[:, tree.parent[r]] if r else 0.0
    return prices


def changes(tree, x, step, besides):
    """The derivative of the dual along a step of prices and of what leaves are paid besides, totals apart."""
    total = 0.0
    for s, r in np.ndindex(*x.shape):
        above = step[s, tree.parent[r]] if r else 0.0
        total -= x[s, r] * (above + besides[s, r - tree.n_inner] if r >= tree.n_inner else above - step[s, r])
    return total


def best_prices(tree, on, taken, y):
    """Find the best prices by the twin, size by size."""
    rate = 0.5 / tree.w[tree.n_inner :]
    rows = zip(on, taken, y, strict=True)
    return np.array([naive.prices_of_linear_leaves(tree.w, tree.parent, b, a * rate, t) for a, t, b in rows])
