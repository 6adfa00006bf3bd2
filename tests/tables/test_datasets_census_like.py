"""Generated census data keep the published figures."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from pgsr.datasets import census_like
from pgsr.datasets.census_figures import DIVISIONS, HOUSEHOLDS, states
from pgsr.datasets.census_like import LARGEST_SIZE, N_TRACTS, TailShape, county_shares, tract_shares
from pgsr.datasets.table import CensusRegions
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


@pytest.mark.parametrize(
    ("regions", "levels", "tail"),
    [
        ("divisions", [1, 9, 51], TailShape.KUO),
        ("states", [1, 51], TailShape.FIORETTO),
        ("counties", [1, 51, 3_143], TailShape.PAPER),
    ],
)
def test_shape_and_total(regions, levels, tail):
    truth = generate(regions, max_size=30, groups=2_000_003, seed=1, tail=tail)
    assert np.diff(truth.hierarchy.level_start).tolist() == levels
    assert truth.max_size == 30
    assert truth.totals[0] == 2_000_003
    assert not truth.counts[:, 0].any()
    assert truth.name == f"census-like/{regions}/K=30/seed=1/{tail}/2000003"
    if regions == "divisions":
        held = {truth.hierarchy.paths[region][1:] for region in range(10, 61)}
        assert held == {(state.division, state.name) for state in states()}


@pytest.mark.parametrize("groups", [1, 10_007, 240_000_000])
def test_any_number_of_groups(groups):
    assert census_like("states", groups=groups).totals[0] == groups


def test_defaults_are_counties_of_2000():
    truth = census_like()
    assert truth.name == f"census-like/counties/K=1000/seed=0/calibrated/{truth.totals[0]}"
    assert (*truth.counts.shape, truth.totals[0]) == (3_195, 1_001, HOUSEHOLDS)


def test_levels_are_nested():
    divisions, coarse, counties, tracts = (
        generate(regions, max_size=30, groups=2_000_003, seed=1, tail=TailShape.CALIBRATED)
        for regions in ("divisions", "states", "counties", CensusRegions.TRACTS)
    )
    assert np.diff(tracts.hierarchy.level_start).tolist() == [1, 51, 3_143, 60_000]
    np.testing.assert_array_equal(states_of(coarse), states_of(divisions))
    np.testing.assert_array_equal(coarse.counts, counties.counts[: counties.hierarchy.n_inner])
    np.testing.assert_array_equal(counties.counts, tracts.counts[: tracts.hierarchy.n_inner])


def test_smaller_max_size_clips_the_same_groups():
    wide = census_like("states", max_size=LARGEST_SIZE, groups=3_000_000).counts
    for max_size in (1, 40, 12_000):
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


def test_the_second_papers_census_has_its_numbers_of_people_and_sizes():
    """117,630,445 groups give 305.1 million people (printed 305,276,358) and about 78 sizes; 51 leaves suffice."""
    row = census_like("states", groups=117_630_445, tail="fioretto").counts[0]
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


@pytest.mark.slow
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


@pytest.mark.slow
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
