"""The posterior of whole tables that add up: against enumeration, and as often right as it says."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from pgsr.reconciling.frames import ColumnFrame
from pgsr.reconciling.laws import LAWS
from pgsr.reconciling.measured import measured
from pgsr.reconciling.messages_kernel import downward, upward
from pgsr.reconciling.posterior import _of_regions, table_posterior

LEVELS = ["nation", "state", "county"]
REGIONS = [(None, None), ("GA", None), ("MI", None), ("GA", "a"), ("GA", "b"), ("GA", "c"), ("MI", "d")]
BELOW = [[0, 1, 2, 3], [0, 1, 2], [3], [0], [1], [2], [3]]
SHAPE = np.array([[1.0], [1.7], [0.6]])


def small_table(rng, law, scale, missing=()) -> pd.DataFrame:
    """A nation, two states and four counties with about three in each; one cell is measured twice."""
    leaves = rng.integers(0, 7, 4)
    rows = [(*REGIONS[r], None if r in missing else sum(leaves[b] for b in BELOW[r])) for r in range(7)]
    rows.append(rows[5])
    frame = pd.DataFrame([("US", *row) for row in rows], columns=[*LEVELS, "n"])
    noise = {"gaussian": rng.normal(0, scale, len(frame)), "laplace": rng.laplace(0, scale, len(frame))}
    p = 1 - np.exp(-1 / scale)
    noise["geometric"] = rng.geometric(p, len(frame)) - rng.geometric(p, len(frame))
    frame["n"] = frame["n"].astype(float) + noise[law]
    frame["v"] = LAWS[law].variance(np.full(len(frame), scale))
    return frame


def found_of(frame, fixed=None):
    return measured(ColumnFrame.of(frame), LEVELS, "n", None, None, "v", fixed, True)


def log_g(x, z):
    return gammaln(x + z) - gammaln(z) - gammaln(x + 1)


def enumerated(frame, law, scale, most, known=None):
    """Every table with leaves up to `most`, and its log of prior times likelihood; shapes (tables, 7), (tables,)."""
    r1, r2 = SHAPE[1, 0], SHAPE[2, 0]
    leaves = np.stack(np.meshgrid(*[np.arange(most + 1)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = np.stack([leaves[:, below].sum(axis=1) for below in BELOW], axis=1)
    known = known or {}
    x = x[np.all([x[:, r] == n for r, n in known.items()], axis=0)] if known else x
    logs = log_g(x[:, 1], r1) + log_g(x[:, 2], r1) - log_g(x[:, 0], 2 * r1)
    logs += log_g(x[:, 3:6], r2).sum(axis=1) - log_g(x[:, 1], 3 * r2)
    for row in frame.itertuples():
        region = REGIONS.index(tuple(None if pd.isna(part) else part for part in (row.state, row.county)))
        if not pd.isna(row.n) and region not in known:
            off = np.abs(x[:, region] - row.n) / scale
            logs -= off * off / 2 if law == "gaussian" else off
    return x, logs


@pytest.mark.parametrize("missing", [(), (0,), (1, 4), (3, 4, 5), (6, 2)])
@pytest.mark.parametrize("law", LAWS)
def test_equals_enumeration(law, missing):
    """Marginals, medians, intervals and evidence; cells that nothing measured below one that is measured."""
    rng = np.random.default_rng(len(missing) + 10 * len(law))
    scale = 1.1 if law == "gaussian" else 0.7
    frame = small_table(rng, law, scale, missing)
    found = found_of(frame)
    posterior = table_posterior(found, LAWS[law], 0.9, SHAPE)
    tables, logs = enumerated(frame, law, scale, 25)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ tables
    assert posterior.lost.max() <= 1e-6
    assert posterior.mean[:, 0] == pytest.approx(mean, abs=1e-5)
    assert posterior.variance[:, 0] == pytest.approx(weights @ np.square(tables - mean), abs=1e-4)
    for region in range(7):
        mass = np.bincount(tables[:, region], weights)
        assert posterior.median[region, 0] == np.argmax(np.cumsum(mass) >= 0.5)
        low, high = posterior.low[region, 0], posterior.high[region, 0]
        assert mass[low : high + 1].sum() >= 0.9 - 1e-9
        shorter = high - low
        assert all(mass[first : first + shorter].sum() < 0.9 + 1e-9 for first in range(len(mass)))


def test_evidence_and_its_slope_equal_enumeration():
    rng = np.random.default_rng(3)
    frame = small_table(rng, "geometric", 0.7)
    values = table_posterior(found_of(frame), LAWS["geometric"], 0.9, SHAPE).sizes[0].values
    numbers = values.numbers(), values.log_likelihood()

    def evidence(shape):
        logs, fall = values.factors(*numbers, shape)
        mass, windows, found, *_ = upward(*values.sums, values.low, values.at, logs, fall, 1e-14)
        return found, windows, downward(*values.sums, values.low, values.at, logs, mass, windows)[0]

    found, windows, law = evidence(SHAPE[:, 0])
    logs = enumerated(frame, "geometric", 0.7, 25)[1]
    assert found == pytest.approx(np.log(np.exp(logs).sum()), abs=1e-6)
    here, x = _of_regions(windows, 7)
    slope, _ = values.slopes(SHAPE[:, 0], x, law[here], windows[2, :7])
    for level in (1, 2):
        ends = [evidence(SHAPE[:, 0] * np.where(np.arange(3) == level, np.exp(off), 1.0))[0] for off in (-1e-4, 1e-4)]
        assert slope[level] == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=1e-6)
