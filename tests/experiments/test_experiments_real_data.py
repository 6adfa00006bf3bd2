"""Published and prototyped figures on the real taxi data. Skips where PGSR_DATA names no such file."""

import numpy as np
import pytest
from instances import scale
from smoke_cells import needs

from pgsr import CountOfCounts, View
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, Merge
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.kuo2018.bottom_up import SharedSeed
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

pytestmark = pytest.mark.slow

needs_taxi = needs("kuo2018_taxi_nyc2013.parquet")


@pytest.fixture(scope="module")
def taxi() -> CountOfCounts:
    return kuo_taxi()


# L1 errors per level at total epsilon 1 and sizes up to 4,919, from two-replicate prototypes.
@needs_taxi
@pytest.mark.parametrize(
    ("view", "post", "expected"),
    [
        (View.COUNTS, TreeProjection(), (21_292, 30_247, 136_886)),
        (View.CUMULATIVE, IsotonicTreeProjection(), (8_578, 11_263, 78_662)),
    ],
    ids=["M_H^dp", "M_c^dp"],
)
def test_l1_per_level(taxi, view, post, expected):
    mechanism = Mechanism(Geometric(view, epsilon=1), post)
    errors = []
    for replicate in range(scale(5, 20)):
        result = mechanism.release(taxi, Seeded("taxi", replicate))
        result.estimate.counts()
        errors.append(metrics.level_sums(taxi, metrics.l1(taxi, result.estimate)))
    assert np.mean(errors, axis=0) == pytest.approx(expected, rel=0.05)


def emd_per_level(truth, view, post, epsilon, shares=None, replicates=5, source=Seeded):
    mechanism = Mechanism(Geometric(view, epsilon, shares), post)
    runs = [mechanism.release(truth, source("taxi", i)).estimate for i in range(replicates)]
    return np.mean([metrics.level_means(truth, metrics.emd(truth, estimate)) for estimate in runs], axis=0)


FIT = IsotonicFit(min_size=1)
HC, HG = View.CUMULATIVE, View.RANKED


# Earth mover's distance per region and level: five-run prototypes with independent noise (bottom-up: ten runs).
# Those of weighted merging, of regions alone and of two levels are in test_experiments_kuo2018.py.
@needs_taxi
@pytest.mark.parametrize(
    ("view", "post", "epsilon", "shares", "expected"),
    [
        (HC, Matching(FIT, Merge.AVERAGE), 1, None, (16_706, 8_886, 2_399)),
        (HC, Matching(FIT, Merge.AVERAGE), 3, None, (6_013, 3_157, 807)),
        (HG, Matching(FIT, Merge.AVERAGE), 1, None, (69_893, 36_378, 6_294)),
        (HG, Matching(FIT, Merge.AVERAGE), 3, None, (23_139, 11_813, 2_196)),
        (HC, BottomUp(FIT), 1, (0, 0, 1), (8_010, 4_422, 766)),
        (HC, BottomUp(IsotonicFit(optimum="midpoint", min_size=1)), 1, (0, 0, 1), (7_656, 4_255, 755)),
        (HC, Matching(IsotonicFit(optimum="midpoint", min_size=1)), 1, None, (10_008, 5_950, 2_303)),
    ],
    ids=lambda value: str(value) if not isinstance(value, tuple) else "",
)
def test_three_levels(view, post, epsilon, shares, expected):
    truth = kuo_taxi(max_size=100_000)
    assert emd_per_level(truth, view, post, epsilon, shares, scale(8, 30)) == pytest.approx(expected, rel=0.05)


@needs_taxi
def test_the_published_bottom_up_table_carries_one_seed():
    """One noise sequence for all regions gives the published 20,731 / 10,405.5 / 772.8; independent noise does not."""
    truth = kuo_taxi(max_size=100_000)
    midpoint = BottomUp(IsotonicFit(optimum="midpoint", min_size=1))
    artefact = emd_per_level(truth, HC, midpoint, 1, (0, 0, 1), scale(5, 10), SharedSeed)
    assert artefact == pytest.approx((20_731, 10_405.5, 772.8), rel=0.05)
