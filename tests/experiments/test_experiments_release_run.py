"""The benchmark of releases at small size: its tables are the counts they are made of, and its steps leave no trace."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.benchmarks import release_run
from pgsr.experiments.commands.complete import app
from pgsr.release import ReleaseConfig


def test_tables_hold_what_they_are_made_of(tmp_path):
    rows, regions = 20_001, "counties"
    release_run.make_tables(tmp_path, rows, regions, 20)
    truth, _ = release_run.scaled_census(rows, regions)
    assert pq.read_metadata(tmp_path / "entities.parquet").num_rows == rows
    assert pq.read_metadata(tmp_path / "groups.parquet").num_rows == truth.totals[0]
    read = ReleaseConfig.read(tmp_path / "kuo.toml").count()
    place = [truth.hierarchy.index(path) for path in read.hierarchy.paths]
    assert np.array_equal(read.counts[:, :8], truth.counts[place])
    assert not read.counts[:, 8:].any()
    assert truth.totals[0] == read.totals[0]
    vacant = truth.counts[0, 0] / truth.counts[0, 1:].sum()
    assert vacant == pytest.approx(release_run.VACANT, rel=0.2)


def test_scaling_keeps_the_proportions_and_few_rows_are_exact_too():
    few, small, large = (release_run.scaled_census(n, "states")[0].counts[0] for n in (10, 10**6, 10**7))
    assert [counts @ np.arange(8) for counts in (few, small, large)] == [10, 10**6, 10**7]
    assert np.allclose(10 * small / large, 1, atol=0.01)


def test_what_stands_in_for_the_census_says_why(tmp_path, monkeypatch):
    """A file that cannot be read is not one that nobody named."""
    file = tmp_path / "census2000_county_hhsize.csv.gz"
    monkeypatch.delenv("PGSR_DATA", raising=False)
    assert "PGSR_DATA names, and it is not set" in release_run.scaled_census(1_000, "states")[1]
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    assert f"{file} does not exist" in release_run.scaled_census(1_000, "states")[1]
    file.write_text("torn")
    said = release_run.scaled_census(1_000, "states")[1]
    assert said.startswith("generated census, scaled, instead of the Census of 2000: ")
    assert f"{file} cannot be read" in said


def test_blocks_are_no_regions_to_choose_from(tmp_path):
    arguments = ["bench-release", "--rows", "1000", "--blocks", "--regions", "tracts", "--out", str(tmp_path)]
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, ArgumentError)
    assert str(error) == "--blocks has regions of its own, so --regions has no meaning; leave one of them out"
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_all_steps_run_and_leave_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = tmp_path / "out"
    out.mkdir()
    steps = release_run.main(Console(quiet=True), out, 20_000, "states", 10)
    assert [step.step for step in steps] == ["tables", "release m_c_dp", "check m_c_dp", "release kuo", "check kuo"]
    assert all(step.seconds > 0 and step.peak_mb > 50 for step in steps)
    assert steps[1].rows == 52 * 11
    [written] = out.iterdir()
    assert len(json.loads(written.read_text())) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_blocks_have_sizes_of_their_own(tmp_path):
    """Every dwelling of a county lies in one of its blocks, and the release and its check pass."""
    release_run.make_tables(tmp_path, 30_000, "blocks", 50)
    truth, _ = release_run.scaled_census(30_000, "counties")
    read = ReleaseConfig.read(tmp_path / "m_h.toml").count()
    assert read.max_sizes == (50, 50, 50, 20, 7)
    place = [truth.hierarchy.index(path) for path in read.hierarchy.paths[read.hierarchy.level(2)]]
    assert np.array_equal(read.tables[2][:, :8], truth.counts[place])
    blocks = np.maximum(1, truth.totals // release_run.DWELLINGS)[truth.hierarchy.leaves].sum()
    assert 0.5 * blocks <= len(read.tables[4]) <= blocks
    n_cells, _, shape = release_run._release(tmp_path, "m_h")
    assert n_cells == read.sizes.n_cells
    assert shape.split(";")[0].endswith("x 51 / 21 / 8 sizes")
    assert "checks passed" in release_run._check(tmp_path, "m_h")[2]


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match="GiB of disk"):
        release_run.require_disk(Path("absent") / "below", 10**15)
