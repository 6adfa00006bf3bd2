"""Small instances of PGSR-LIB, which several tests share."""

import tempfile
from pathlib import Path

import numpy as np

from pgsr import Problem
from pgsr.datasets import census_like
from pgsr.experiments.lib import verify
from pgsr.experiments.lib.instances import FAMILIES
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

INTEGER = "mh-census-1e3-eps1"
REAL = "naive-relaxed-census-1e3-eps1"
MAGNITUDES = "hc-l1-census-1e3-eps1"


def small_problem(family: str, rng: np.random.Generator) -> Problem:
    """A tiny problem of a family, on a random tree."""
    view, state = FAMILIES[family]
    regions = ["divisions", "states"][int(rng.integers(2))]
    truth = census_like(regions=regions, max_size=int(rng.integers(1, 5)), groups=300, seed=int(rng.integers(9)))
    return state(Geometric(view, str(rng.choice(["1/5", "1", "4"]))).measure(truth, Seeded(int(rng.integers(2**40)))))


def program_of(problem: Problem) -> verify.ProblemArrays:
    with tempfile.TemporaryDirectory() as folder:
        problem.write(Path(folder) / "problem.npz")
        return verify.ProblemArrays(Path(folder) / "problem.npz")
