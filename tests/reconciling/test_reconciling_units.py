"""Controlled rounding: the nearest multiples that add up, against all multiples."""

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr import reconcile
from pgsr.errors import PgsrError

LEVELS = ["nation", "state", "county"]
REGIONS = [(None, None), ("GA", None), ("MI", None), ("GA", "a"), ("GA", "b"), ("MI", "c"), ("MI", "d")]
BELOW = [[0, 1, 2, 3], [0, 1], [2, 3], [0], [1], [2], [3]]


def table_of(rng, noise) -> pd.DataFrame:
    leaves = rng.integers(0, 23, 4)
    frame = pd.DataFrame([("US", *region) for region in REGIONS], columns=LEVELS)
    n = np.array([leaves[below].sum() for below in BELOW]) + rng.normal(0, noise, 7)
    return frame.assign(n=n, w=rng.integers(1, 4, 7))


def least(frame, base, restricted) -> float:
    leaves = np.stack(np.meshgrid(*[np.arange(0, 26 + base, base)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = np.stack([leaves[:, below].sum(axis=1) for below in BELOW], axis=1)
    off = x - frame.n.to_numpy()
    allowed = (np.abs(off) < base).all(axis=1) | (not restricted)
    return float((np.square(off) @ frame.w.to_numpy())[allowed].min(initial=np.inf))


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("base", [3, 5])
@pytest.mark.parametrize("noise", [0, 1])
def test_equals_all_multiples(base, restricted, noise):
    rng, solved = rng_of(base, restricted, noise), 0
    for _ in range(6):
        frame = table_of(rng, noise)
        best = least(frame, base, restricted)
        if np.isinf(best):
            with pytest.raises(PgsrError):
                reconcile(frame, LEVELS, "n", weights="w", base=base, zero_restricted=restricted)
            continue
        done = reconcile(frame, LEVELS, "n", weights="w", base=base, zero_restricted=restricted)
        assert done.status.name == "OPTIMAL"
        assert (done.table.reconciled % base == 0).all()
        assert done.objective == pytest.approx(best, rel=1e-6)
        assert done.rounding["value"] < 1e-6
        solved += 1
    assert solved >= 3
    assert solved == 6 or noise
