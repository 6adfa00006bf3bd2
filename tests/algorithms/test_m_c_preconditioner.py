"""The preconditioners of `SquaresDual` against what their docstrings say, written out as dense matrices."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import Problem, View
from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal, TwoLevel, aggregates
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

TOTALS = ("root", "regions", None)


@pytest.mark.parametrize("totals", TOTALS)
def test_two_level_is_what_it_says(totals):
    rng = rng_of(301)
    for _ in range(scale(4, 300)):
        dual, rest = random_dual(rng, totals)
        two_level = TwoLevel(dual)
        free, leaves, hessian = dense(dual, two_level.ridge)
        means, onto = averaging(dual)
        z = means[:, free.reshape(means.shape[1])]
        z = z[np.abs(z).sum(axis=1) > 0]
        coarse = z.T @ np.linalg.solve(z @ hessian @ z.T, z)
        rough = (np.eye(len(onto)) - onto)[np.ix_(free, free)]
        fine = np.linalg.pinv(fine_tree(dual, leaves, onto, free), rcond=1e-13)
        expected = (coarse + rough @ fine @ rough) @ rest.ravel()[free]
        out, norm = applied(two_level, dual, rest)
        np.testing.assert_allclose(out.ravel()[free], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max(initial=0))
        assert norm == pytest.approx(float(np.vdot(rest, out)), rel=1e-9, abs=1e-12)


def test_the_tree_diagonal_is_what_it_says():
    rng = rng_of(303)
    for totals in TOTALS:
        for _ in range(scale(3, 100)):
            dual, rest = random_dual(rng, totals)
            made = TreeDiagonal(dual)
            free, leaves, hessian = dense(dual, made.ridge)
            approximation = hessian - leaves + np.diag(np.diag(leaves))
            expected = np.linalg.solve(approximation, rest.ravel()[free])
            out = made.solved(rest)
            np.testing.assert_allclose(
                out.ravel()[free], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max(initial=0)
            )


def random_dual(rng, totals):
    """A dual at the blocks of random prices, and a right-hand side; enough cells for aggregates of several."""
    while True:
        tree = random_tree(rng, max_regions=scale(8, 12))
        if tree.n_levels > 1:
            break
    truth = random_truth(rng, tree, max_size=int(rng.integers(1, scale(40, 60))), max_count=20, name="preconditioner")
    noisy = Geometric(View.CUMULATIVE, "1/2").measure(truth, Seeded(str(rng.integers(10**9))))
    weights = rng.integers(1, 5, tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    problem = replace(Problem.m_c(noisy, totals=totals or "root"), weights=weights).relaxed()
    dual = SquaresDual(problem if totals else replace(problem, totals=None))
    dual.at(rng.normal(0, 3, dual.shape) * (np.arange(dual.shape[0]) > 0)[:, None])
    rest = rng.normal(0, 1, dual.shape)
    rest[0, : dual.first_free] = 0
    return dual, rest


def applied(made, dual, rest):
    """Take a step of conjugate gradients, check x and the residual after it, and give what `advance` gave."""
    rng = rng_of(304)
    before, direction, product = rng.normal(size=(3, *dual.shape))
    product[0, : dual.first_free] = 0
    x, left = before.copy(), rest + 0.5 * product
    norm = made.advance(0.5, direction, product, x, left)
    np.testing.assert_allclose(x, before + 0.5 * direction, rtol=1e-12)
    np.testing.assert_allclose(left, rest, atol=1e-12)
    return product, norm


def dense(dual, ridge):
    """Which unknowns there are, the leaves' part of the Hessian on them, and the Hessian."""
    leaves, whole = naive.curvature(dual, ridge)
    free = np.arange(len(whole)) >= dual.first_free
    return free, leaves[np.ix_(free, free)], whole[np.ix_(free, free)]


def averaging(dual):
    """The indicators of all aggregates of all nodes, and the projection onto their means."""
    m, n = dual.shape
    starts = aggregates(n)
    one = np.zeros((len(starts) - 1, n))
    for p in range(len(one)):
        one[p, starts[p] : starts[p + 1]] = 1.0
    indicators = np.kron(np.eye(m), one)
    return indicators, indicators.T @ (indicators / indicators.sum(axis=1, keepdims=True))


def fine_tree(dual, leaves, onto, free):
    """T: the tree of every cell, with the diagonal of what aggregates miss of the leaves' part."""
    rough = (np.eye(len(onto)) - onto)[np.ix_(free, free)]
    sizes = 1.0 / np.diag(onto)[free]
    missed = np.diag(rough @ leaves @ rough) * np.divide(sizes, sizes - 1, out=np.ones(len(sizes)), where=sizes > 1)
    m, n = dual.shape
    tree = np.zeros((m * n, m * n))
    for r in range(m):
        for i in range(n):
            a, rate = r * n + i, dual.rate[r, i]
            if r == 0 and dual.held and i == n - 1:
                continue
            tree[a, a] += rate
            if r > 0:
                b = dual.parent[r] * n + i
                tree[b, b] += rate
                tree[a, b] -= rate
                tree[b, a] -= rate
    return tree[np.ix_(free, free)] + np.diag(missed)
