"""Published and prototyped figures on the real taxi data. Skips where PGSR_DATA names no such file."""

import os
from pathlib import Path

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Geometric, Mechanism, Seeded, View, metrics
from pgsr.algorithms import IsotonicTreeProjection, TreeProjection
from pgsr.datasets import kuo_taxi

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
