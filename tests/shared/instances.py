"""Random instances, and how many of them to test."""

import os
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from pgsr import CountOfCounts, Hierarchy

SEED = int(os.environ.get("PGSR_SEED", "0"))
"""The seed of all random instances of a run: PGSR_SEED=7 make test-all draws others than usual."""

FULL = os.environ.get("PGSR_FULL", "") not in ("", "0")
"""Whether the full counts run (environment variable PGSR_FULL=1) or the share that fits into continuous integration."""


def scale(ci: int, full: int) -> int:
    """Choose how many instances to test in this run."""
    return full if FULL else ci


def rng_of(*keys: int) -> np.random.Generator:
    """Make the generator of some random instances, by the run's seed and by keys that tell them from others."""
    return np.random.default_rng(keys if SEED == 0 else (SEED, *keys))


def random_tree(rng: np.random.Generator, max_regions: int = 12, n_levels: int | None = None) -> Hierarchy:
    """A tree with n_levels (or 1 to 4) levels and at most max_regions regions; single children occur."""
    if n_levels is None:
        n_levels = int(rng.integers(1, min(4, max_regions) + 1))
    if n_levels > max_regions:
        raise ValueError(f"{n_levels} levels need more than {max_regions} regions")
    level: list[tuple[str, ...]] = [("root",)]
    left = max_regions - 1
    for levels_left in range(n_levels - 1, 0, -1):
        n_below = int(rng.integers(len(level), left // levels_left + 1))
        left -= n_below
        n_children = np.ones(len(level), int)
        np.add.at(n_children, rng.integers(0, len(level), n_below - len(level)), 1)
        level = [(*path, f"r{i}") for path, n in zip(level, n_children, strict=True) for i in range(n)]
    return Hierarchy.from_paths(level)


def random_truth(
    rng: np.random.Generator, tree: Hierarchy, max_size: int = 6, max_count: int = 4, name: str = ""
) -> CountOfCounts:
    """Counts up to max_count per leaf and size; about half of the cells are 0, and one leaf in five is empty."""
    leaves = tree.leaves
    counts = rng.integers(0, max_count + 1, (leaves.stop - leaves.start, max_size + 1))
    counts *= rng.random(counts.shape) < 0.5
    counts[rng.random(len(counts)) < 0.2] = 0
    return CountOfCounts(tree, counts, name=name)


def privacy_amounts(n: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Draw n pairs of an epsilon from 1e-5 to 100 and a delta from 1e-30 to about 1."""
    rng = rng_of(71)
    for _ in range(n):
        epsilon = Fraction(str(round(10 ** rng.uniform(-4, 2), 6))) + Fraction(1, 10**5)
        yield epsilon, Fraction(int(rng.integers(1, 100)), 10 ** int(rng.integers(2, 31)))
