"""The nearest consistent integers on a tree, which the noise step uses and `TreeProjection` is made of."""

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy
from pgsr.engines.nearest_tree import kernel, nearest_integers


def test_weights_of_all_magnitudes():
    """Leaves that a price of 1e12 leaves barely positive; rounding once took them for 0, and prices rose by 1e5."""
    tree = Hierarchy.from_parents(["US", "GA", "a", "b"], [-1, 0, 1, 1])
    y = np.array([[1, 3], [5, 3], [-2, 1], [3, -1]])
    x = nearest_integers(tree, y, np.array([2**14, 2**37, 1, 2**21]), 2)
    assert x.tolist() == [[2, 0], [2, 0], [0, 0], [2, 0]]


def test_prices_are_those_at_which_regions_take_what_their_children_take():
    """The search starts from prices of infinity, at a given price above the root, in several chunks of sizes."""
    rng = rng_of(83)
    for _ in range(scale(3, 1_000)):
        tree, n_sizes = random_tree(rng, max_regions=12), int(rng.choice([1, 5, kernel.CHUNK + 3]))
        if not tree.n_inner:
            continue
        y, w = rng.integers(-9, 15, (tree.n_regions, n_sizes)), rng.integers(1, 5, tree.n_regions)
        w[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
        root, links = float(rng.normal(0, 5)), (tree.first_child.copy(), tree.n_inner)
        below, slope, offset = np.full((tree.n_inner, n_sizes), np.inf), np.empty(n_sizes), np.empty(n_sizes)
        active, x = np.empty(n_sizes, np.int64), np.empty(y.shape)
        parent = tree.parent.copy()
        kernel.find_prices(y, 0, n_sizes, w, parent, *links, root, below, slope, offset, active)
        kernel.continuous_point(y, None, None, 0, n_sizes, w, *links, below, x)
        for s in range(n_sizes):
            taken = naive.taken_at(w, parent, y[:, s], below[:, s], np.zeros(tree.n_regions - tree.n_inner))
            np.testing.assert_allclose(x[:, s], taken, atol=1e-9)
            assert active[s] == sum(value > 0 for value in taken[tree.n_inner :])
            assert taken[0] - y[0, s] == pytest.approx(slope[s] * root + offset[s], abs=1e-9)
            for r in range(tree.n_inner):
                above = below[parent[r], s] if r else root
                assert below[r, s] == pytest.approx(above - 2 * w[r] * (taken[r] - y[r, s]), abs=1e-8)
