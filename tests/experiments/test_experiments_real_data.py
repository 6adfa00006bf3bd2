"""Published and prototyped figures on the real taxi data. Skips where PGSR_DATA names no such file."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, Merge, NoConsistency
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.kuo2018.bottom_up import SharedSeed
from pgsr.experiments.kuo2018.data import two_levels
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

pytestmark = pytest.mark.slow

FILE = "kuo2018_taxi_nyc2013.parquet"

needs_taxi = pytest.mark.skipif(
    not (Path(os.environ.get("PGSR_DATA", "/nowhere")) / FILE).is_file(),
    reason=f"PGSR_DATA names no folder with {FILE}",
)


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


@needs_taxi
def test_the_projection_beats_raw_noise_and_is_proved(taxi):
    noisy = Geometric(View.COUNTS, epsilon=1).measure(taxi, Seeded("taxi"))
    raw = np.abs(noisy.matrix - taxi.counts).sum(axis=1)
    result = Mechanism(Geometric(View.COUNTS, epsilon=1), TreeProjection()).release(taxi, Seeded("taxi"))
    assert result.certificate.optimal
    assert metrics.l1(taxi, result.estimate).sum() < raw.sum() / 2


def emd_per_level(truth, view, post, epsilon, shares=None, replicates=5, source=Seeded):
    mechanism = Mechanism(Geometric(view, epsilon, shares), post)
    runs = [mechanism.release(truth, source("taxi", i)).estimate for i in range(replicates)]
    return np.mean([metrics.level_means(truth, metrics.emd(truth, estimate)) for estimate in runs], axis=0)


FIT = IsotonicFit(min_size=1)
HC, HG = View.CUMULATIVE, View.RANKED


@needs_taxi
def test_root_errors_as_published():
    """Epsilon 1 at the root, K = 100,000, 10 runs: 2,819.8 (H_c, L1) and 11,227.6 (H_g, L2) in the paper."""
    wide = kuo_taxi(max_size=100_000)
    root = CountOfCounts(Hierarchy.from_parents(["Manhattan"], [-1]), wide.rows(0, 1), "taxi root")
    runs = scale(20, 100)
    assert emd_per_level(root, HC, NoConsistency(FIT), 1, replicates=runs)[0] == pytest.approx(2_819.8, rel=0.03)
    assert emd_per_level(root, HG, NoConsistency(FIT), 1, replicates=runs)[0] == pytest.approx(11_227.6, rel=0.03)


# Earth mover's distance per region and level: five-run prototypes with independent noise (bottom-up: ten runs).
@needs_taxi
@pytest.mark.parametrize(
    ("view", "post", "epsilon", "shares", "expected"),
    [
        (HC, Matching(FIT), 1, None, (10_202, 6_094, 2_399)),
        (HC, Matching(FIT, Merge.AVERAGE), 1, None, (16_706, 8_886, 2_399)),
        (HC, NoConsistency(FIT), 1, None, (9_132, 5_609, 2_439)),
        (HC, Matching(FIT), 3, None, (3_197, 1_930, 832)),
        (HC, Matching(FIT, Merge.AVERAGE), 3, None, (6_013, 3_157, 807)),
        (HG, Matching(FIT), 1, None, (70_201, 39_176, 6_276)),
        (HG, Matching(FIT, Merge.AVERAGE), 1, None, (69_893, 36_378, 6_294)),
        (HG, NoConsistency(FIT), 1, None, (61_683, 35_188, 6_547)),
        (HG, Matching(FIT), 3, None, (13_986, 7_996, 2_178)),
        (HG, Matching(FIT, Merge.AVERAGE), 3, None, (23_139, 11_813, 2_196)),
        (HG, NoConsistency(FIT), 3, None, (11_239, 6_587, 2_172)),
        (HC, BottomUp(FIT), 1, (0, 0, 1), (8_010, 4_422, 766)),
        (HC, BottomUp(IsotonicFit(optimum="midpoint", min_size=1)), 1, (0, 0, 1), (7_656, 4_255, 755)),
        (HC, Matching(IsotonicFit(optimum="midpoint", min_size=1)), 1, None, (10_008, 5_950, 2_303)),
    ],
    ids=lambda value: str(value) if not isinstance(value, tuple) else "",
)
def test_three_levels(view, post, epsilon, shares, expected):
    truth = kuo_taxi(max_size=100_000)
    assert emd_per_level(truth, view, post, epsilon, shares, scale(8, 30)) == pytest.approx(expected, rel=0.05)


# Two levels, by views and epsilon per level: weighted merging, then plain average.
TWO_LEVELS = {
    (HC, HC): {"0.1": ((29_503, 17_412), (25_449, 15_130)), "0.5": ((6_929, 4_168), (6_171, 3_698)),
               "1": ((3_137, 1_925), (2_877, 1_742))},
    (HC, HG): {"0.1": ((173_798, 99_584), (103_737, 66_793)), "0.5": ((35_682, 19_924), (22_060, 13_675)),
               "1": ((11_824, 6_508), (8_138, 4_910))},
    (HG, HC): {"0.1": ((181_240, 92_033), (101_395, 52_362)), "0.5": ((35_362, 18_180), (21_405, 11_127)),
               "1": ((11_480, 6_057), (7_821, 4_137))},
    (HG, HG): {"0.1": ((175_802, 98_951), (150_335, 86_346)), "0.5": ((43_446, 24_302), (35_462, 19_710)),
               "1": ((14_377, 8_165), (12_500, 6_928))},
}  # fmt: skip


@pytest.mark.few(1)
@needs_taxi
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("views", TWO_LEVELS, ids=lambda views: " x ".join(view.value for view in views))
def test_two_levels(views, epsilon):
    truth = two_levels(kuo_taxi(max_size=100_000))
    for merge, expected in zip((Merge.WEIGHTED, Merge.AVERAGE), TWO_LEVELS[views][epsilon], strict=True):
        found = emd_per_level(truth, views, Matching(FIT, merge), 2 * Fraction(epsilon), replicates=scale(10, 40))
        assert found == pytest.approx(expected, rel=0.05), merge


@needs_taxi
def test_the_published_bottom_up_table_carries_one_seed():
    """One noise sequence for all regions gives the published 20,731 / 10,405.5 / 772.8; independent noise does not."""
    truth = kuo_taxi(max_size=100_000)
    midpoint = BottomUp(IsotonicFit(optimum="midpoint", min_size=1))
    artefact = emd_per_level(truth, HC, midpoint, 1, (0, 0, 1), scale(5, 10), SharedSeed)
    assert artefact == pytest.approx((20_731, 10_405.5, 772.8), rel=0.05)
