"""The preconditioner of `SquaresDual` against what its docstring says, written out as dense matrices."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import Problem, View
from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

TOTALS = ("root", "regions", None)


def test_the_tree_diagonal_is_what_it_says():
    rng = rng_of(303)
    for totals in TOTALS:
        for number in range(scale(4, 100)):
            dual, rest = random_dual(rng, totals)
            lumped = number % 2 == 1
            made = TreeDiagonal(dual, lumped)
            free, sums, leaves, hessian = dense(dual, made.ridge)
            approximation = hessian - leaves + np.diag(sums if lumped else np.diag(leaves))
            expected = np.linalg.solve(approximation, rest.ravel()[free])
            out = made.solved(rest)
            np.testing.assert_allclose(
                out.ravel()[free], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max(initial=0)
            )
            product, norm = applied(made, dual, rest)
            np.testing.assert_allclose(product, out, rtol=1e-9, atol=1e-9 * np.abs(out).max(initial=0))
            assert norm == pytest.approx(float(np.vdot(rest, product)), rel=1e-9, abs=1e-12)


def random_dual(rng, totals):
    """A dual at the blocks of random prices, and a right-hand side."""
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
    """Which unknowns there are, the sums of rows of the leaves' part of the Hessian, this part, and the Hessian."""
    leaves, whole = naive.curvature(dual, ridge)
    free = np.arange(len(whole)) >= dual.first_free
    return free, leaves.sum(axis=1)[free], leaves[np.ix_(free, free)], whole[np.ix_(free, free)]
