"""The problems that the tests of solver models solve."""

import naive
from instances import random_tree

from pgsr import Problem, View
from pgsr.datasets import census_like
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


def states_problem(epsilon="1", max_size=10):
    truth = census_like(regions="divisions", max_size=max_size, groups=1_000_000)
    return Problem.m_h(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("models")))


def random_problem(rng, max_regions=20, n_sizes=None):
    tree = random_tree(rng, max_regions=max_regions)
    noisy = rng.integers(-9, 40, (tree.n_regions, n_sizes or int(rng.integers(2, 12))))
    return naive.problem_of(tree, noisy, int(rng.integers(1, 300)))


def noisy_steps(truth):
    return Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(0))
