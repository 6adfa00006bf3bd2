"""The question whether rows are off by no more than their noise explains."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from instances import rng_of
from scipy.stats import kstest

from pgsr import Hierarchy, reconcile
from pgsr.data.columns import ColumnFrame
from pgsr.reconciling.diagnostics import plausibility
from pgsr.reconciling.laws import LAWS
from pgsr.reconciling.measurements import measured

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(4) for j in range(5)])
LEVELS = ["nation", "state", "county"]


def frame_of(values, variance) -> pd.DataFrame:
    frame = pd.DataFrame([(*path, None, None)[:3] for path in TREE.paths], columns=LEVELS)
    return frame.assign(n=values, v=variance)


def asked(frame, law=None):
    return plausibility(measured(ColumnFrame.of(frame), LEVELS, "n", None, (), None, "v", None, True), law)


def test_it_is_the_residual_sum_of_dense_least_squares():
    rng = rng_of(1)
    sums = np.array([TREE.sum_up(np.eye(20)[:, [leaf]])[:, 0] for leaf in range(20)]).T
    v = rng.uniform(1, 9, TREE.n_regions)
    values = sums @ rng.integers(0, 50, 20) + rng.normal(0, np.sqrt(v))
    root = 1 / np.sqrt(v)
    leaves = np.linalg.lstsq(root[:, None] * sums, root * values, rcond=None)[0]
    off = root * (values - sums @ leaves)
    hat = root[:, None] * sums
    free = 1 - np.diag(hat @ np.linalg.pinv(hat))
    found = asked(frame_of(values, v))
    assert found.chi_square == pytest.approx(float(off @ off))
    assert found.degrees == pytest.approx(5)  # the nation and four states say what counties say
    assert found.largest_z == pytest.approx(float(np.max(np.abs(off) / np.sqrt(free))))


@pytest.mark.few(1)
@pytest.mark.parametrize("law", sorted(LAWS))
def test_p_values_are_uniform_under_the_stated_noise(law):
    """Exactly for Gaussian noise; for others both moments are right, and 5 % tails are within a few hundredths."""
    rng, scale = rng_of(len(law)), 3.0
    p = 1 - np.exp(-1 / scale)
    truth = TREE.sum_up(rng.integers(0, 50, (20, 1)))[:, 0]
    draws = {
        "gaussian": lambda: rng.normal(0, scale, TREE.n_regions),
        "laplace": lambda: rng.laplace(0, scale, TREE.n_regions),
        "geometric": lambda: rng.geometric(p, TREE.n_regions) - rng.geometric(p, TREE.n_regions),
    }
    variance = float(LAWS[law].variance(np.array(scale)))
    table = measured(ColumnFrame.of(frame_of(truth, variance)), LEVELS, "n", None, (), None, "v", None, True)
    found = []
    for _ in range(1500):
        noisy = truth + draws[law]()
        found.append(plausibility(replace(table, value=noisy[:, None], row_value=noisy), LAWS[law]))
    values = np.array([each.p_value for each in found])
    assert np.mean([each.chi_square for each in found]) == pytest.approx(5, abs=0.4)
    assert 0.03 < (values < 0.05).mean() < 0.07
    if law == "gaussian":
        assert kstest(values, "uniform").pvalue > 0.01


def test_a_row_that_means_something_else_is_named():
    truth = TREE.sum_up(np.full((20, 1), 30))[:, 0].astype(float)
    truth[3] += 40
    done = reconcile(frame_of(truth, 4.0), LEVELS, "n", variance="v")
    assert done.plausibility.p_value < 1e-9
    assert done.plausibility.largest_at == "row 3 ('US/s2')"
    assert reconcile(frame_of(truth, 4.0), LEVELS, "n").plausibility is None


def test_fixed_cells_are_no_rows():
    """A fixed nation leaves five conditions among noisy rows; without other rows nothing can be off."""
    truth = TREE.sum_up(np.full((20, 1), 30))[:, 0]
    frame = frame_of(truth, 4.0).assign(sure=np.arange(TREE.n_regions) == 0)
    done = reconcile(frame, LEVELS, "n", variance="v", fixed="sure")
    assert done.plausibility.degrees == pytest.approx(5)
    assert done.plausibility.chi_square == pytest.approx(0, abs=1e-9)
    leaves = frame[frame.county.notna()]
    assert np.isnan(reconcile(leaves, LEVELS, "n", variance="v").plausibility.p_value)
