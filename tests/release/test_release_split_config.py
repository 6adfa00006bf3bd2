"""The configuration of releases with split views: keys, refusals, memory, and plans."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from planned import planned
from test_release_split_noise import TREE, TRUTH
from test_release_split_views import config, known

from pgsr.privacy import Seeded
from pgsr.release import Terms, check, publish
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.preflight import bytes_needed, n_ranks, rank_bytes, require_arithmetic


def test_any_unit_has_one_threshold(tmp_path):
    """Gaussian noise of a group's unit has the sigma of the view, which the manifest states."""
    wanted = config(tmp_path, Kind.BOTTOM_UP, None, rho="1/2", unit="group", threshold=4)
    folder = publish(wanted, rehearse=True).folder
    assert check(folder).passed
    level = json.loads((folder / artefact.MANIFEST).read_text())["levels"][2]
    assert level["sensitivity"] == {"l1": 9, "l2_squared": 5**2 + 4}


def test_arithmetic_beyond_64_bits_is_refused():
    """Ranks are fitted by exact squares."""
    for kind in (Kind.KUO, Kind.BOTTOM_UP, Kind.TWO_STAGE):
        terms = Terms("demo", 10**4, "1", kind, threshold=4)
        require_arithmetic(planned(terms, 1), 10**6 + 1)
        with pytest.raises(ReleaseError, match="more than 64 bits"):
            require_arithmetic(planned(terms, 1), 10**8 + 1)


@pytest.mark.parametrize(("threshold", "n_rows"), [(3, 40), (None, 4)])
def test_a_region_of_several_blocks_is_written_and_read(tmp_path, monkeypatch, threshold, n_rows):
    """Regions with more ranks or sizes than a block has rows, and several regions in one block."""
    monkeypatch.setattr(released_tables, "_BLOCK_ROWS", n_rows)
    wanted = config(tmp_path, threshold=threshold)
    folder = publish(wanted, rehearse=True).folder
    about = pq.read_metadata(folder / artefact.MEASUREMENT)
    assert about.num_row_groups > 5
    assert max(about.row_group(i).num_rows for i in range(about.num_row_groups)) <= n_rows
    expected = planned(wanted.terms, 3).mechanism.noise.measure(wanted.count(), Seeded(manifest.REHEARSAL_KEY))
    for ours, theirs in zip(known(folder)[1].rows, expected.rows, strict=True):
        assert np.array_equal(ours, theirs)


def test_memory_of_ranks_is_asked_for():
    """The nation's and the states' ranks, none of levels that are not measured."""
    terms = Terms("demo", 30, "1", Kind.KUO, threshold=4)
    assert n_ranks(planned(terms, TREE), TREE, TRUTH.totals) == 3 * 36_000
    assert n_ranks(planned(replace(terms, kind=Kind.BOTTOM_UP), TREE), TREE, TRUTH.totals) == 36_000
    plain = Terms("demo", 30, "1", Kind.KUO)
    assert n_ranks(planned(plain, TREE), TREE, TRUTH.totals) == 0
    ours, without = (bytes_needed(planned(each, TREE), TREE, TRUTH) for each in (terms, plain))
    assert ours == without + rank_bytes(3 * 36_000)
