"""The refusals before anything is read, and how near the estimate of memory is to the truth."""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from instances import FULL, rng_of
from made_tables import AT_REST_SPREAD, make_ledger, release, write_config, write_tables
from planned import planned

from pgsr import CountOfCounts, Hierarchy
from pgsr.errors import MemoryNeededError
from pgsr.machine.isolation import run_isolated
from pgsr.noise import Totals
from pgsr.release import ReleaseConfig
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.preflight import most_filled, peak_bytes

# States, counties of each, sizes, and how many of the sizes occur.
SHAPES = [
    (2, 2, 10, 10), (50, 60, 21, 21), (5, 60, 1_001, 1_001), (50, 60, 101, 20), (5, 60, 5_001, 50),
    (5, 60, 5_001, 5_001), (50, 60, 1_001, 1_001), (50, 1_300, 21, 21), (1, 4, 300_001, 300_001),
    (5, 60, 20_001, 500), (50, 60, 1_001, 50),
]  # fmt: skip
CASES = list(zip(SHAPES, list(Kind) * 3, strict=False))


def made_release(shape: tuple[int, int, int, int], kind: Kind) -> tuple[int, int]:
    """Release made counts; regions, and cells that are not 0."""
    n_states, n_counties, n_sizes, n_occur = shape
    paths = [("US", f"{s:02}", f"{s:02}{c:04}") for s in range(n_states) for c in range(n_counties)]
    tree, counts = Hierarchy.from_paths(paths), np.zeros((len(paths), n_sizes), np.int64)
    counts[:, :n_occur] = rng_of(0).poisson(300, (len(paths), n_occur))
    truth, filled = CountOfCounts(tree, counts, "made"), (len(paths) + n_states + 1) * n_occur
    del counts
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        write_tables(Path(name))
        patch.setattr(ReleaseConfig, "count", lambda config, log=None: truth)
        patch.setattr(ReleaseConfig, "tree", lambda config: truth.hierarchy)
        release(ReleaseConfig.read(write_config(Path(name), kind, max_size=str(n_sizes - 1))))
    return tree.n_regions, filled


@pytest.mark.parametrize(("shape", "kind"), CASES if FULL else CASES[:3], ids=str)
@pytest.mark.slow
def test_the_estimate_is_near_the_true_peak(shape, kind, counted):
    """The estimate is within 25 % of the peak, but for what a process at rest takes."""
    outcome = run_isolated(partial(made_release, shape, kind))
    assert not outcome.error, outcome.error
    n_regions, filled = outcome.value
    estimate = peak_bytes(kind, n_regions, shape[2], filled)
    print(
        f"R17: {kind}, {n_regions} x {shape[2]}: estimate {estimate / 1e6:,.0f}, peak {outcome.peak_bytes / 1e6:,.0f}"
    )
    assert abs(estimate - outcome.peak_bytes) <= max(outcome.peak_bytes / 4, AT_REST_SPREAD)
    counted(1, "shapes")


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.few(2)
def test_no_release_has_more_rows_than_its_public_numbers_allow(tmp_path, monkeypatch, kind):
    """Rows of zeros are left out, but for size 0 of each of 7 regions and the largest size of the first one."""
    monkeypatch.setattr("pgsr.release.terms.plan.MOST_ROWS", 0)
    write_tables(tmp_path, n_groups=24)
    config = ReleaseConfig.read(write_config(tmp_path, kind, max_size="30", epsilon='"1/4"'))
    tree, totals = config.tree(), np.array([24, 12, 12, 6, 6, 6, 6])
    counts = pq.read_table(release(config) / "counts.parquet")["n_groups"].to_numpy()
    most = most_filled(planned(config.terms, tree), tree, totals)
    assert np.count_nonzero(counts) <= most == (3 * 24 if config.terms.totals is Totals.ROOT else totals.sum())
    assert len(counts) <= most + 8


def test_an_oversized_request_is_refused_at_once(tmp_path):
    """The refusal is from public facts alone: the private table, which may take minutes, is not even opened."""
    write_tables(tmp_path)
    (tmp_path / "entities.parquet").unlink()
    config = ReleaseConfig.read(write_config(tmp_path, max_size="100000000"))
    start = time.process_time()
    with pytest.raises(MemoryNeededError, match="a release of 7 regions x 100,000,001 sizes needs"):
        release(config)
    assert time.process_time() - start < 1
    assert not make_ledger(tmp_path).entries


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "refused"),
    [("m_c_dp", True), ("m_h", False), ("kuo", False)],
)
def test_what_leaves_64_bits_is_refused_before_the_charge(tmp_path, kind, refused):
    """10^11 groups and 6,001 sizes: the mean of a row cannot be compared."""
    write_tables(tmp_path)
    config = ReleaseConfig.read(write_config(tmp_path, kind, max_size="6000"))
    counts = np.zeros((4, 6_001), np.int64)
    counts[:, 1] = 4 * 10**10
    truth = CountOfCounts(config.tree(), counts, "made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseConfig, "count", lambda config, log=None: truth)
        patch.setattr(ReleaseConfig, "tree", lambda config: truth.hierarchy)
        if refused:
            with pytest.raises(ReleaseError, match=r"64 bits; lower max_size, or write .*nothing was charged"):
                release(config)
            assert not make_ledger(tmp_path).entries
        else:
            assert release(config).is_dir()


@pytest.mark.parametrize("kind", ["posterior", "two_stage"])
def test_what_leaves_too_few_digits_is_refused_before_the_charge(tmp_path, kind):
    """10^12 groups: a joint projection in floating point would have no digits for their fractions."""
    write_tables(tmp_path)
    config = ReleaseConfig.read(write_config(tmp_path, kind))
    truth = CountOfCounts(config.tree(), np.full((4, 4), 10**12 // 16), "made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseConfig, "count", lambda config, log=None: truth)
        patch.setattr(ReleaseConfig, "tree", lambda config: truth.hierarchy)
        with pytest.raises(ReleaseError, match=r"too few digits for fractions; .*nothing was charged"):
            release(config)
    assert not make_ledger(tmp_path).entries
