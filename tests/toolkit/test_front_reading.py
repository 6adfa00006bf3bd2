"""Tables of one's own: three forms of rows, every kind of table gives the same counts, and what is wrong is said."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from instances import rng_of

import pgsr
from pgsr import Hierarchy, PgsrError
from pgsr.errors import TableError
from pgsr.tables import Csv

HOMES = {"state": ["GA", "GA", "MI", "GA"], "county": ["1", "2", "1", "1"], "members": [2, 5, 1, 0]}
PLACES = ["state", "county"]


def kinds(tmp_path):
    """The same rows in every kind of table."""
    frame = pd.DataFrame(HOMES)
    frame.to_csv(tmp_path / "homes.csv", index=False)
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    frame.to_parquet(tmp_path / "homes.parquet")
    base = duckdb.connect()
    base.sql("create table homes (state varchar, county varchar, members int)")
    base.executemany("insert into homes values (?, ?, ?)", list(zip(*HOMES.values(), strict=True)))
    yield from (HOMES, frame, frame.astype({"members": "Int64", "state": "category"}), pa.table(frame))
    yield from (base.table("homes"), tmp_path / "homes.csv", str(tmp_path / "homes.csv"), tmp_path / "homes.parquet")
    yield Csv(tmp_path / "semicolons.csv", delimiter=";")
    try:
        import polars
    except ImportError:
        return
    yield polars.DataFrame(HOMES)


def test_every_kind_of_table_gives_the_same_counts(tmp_path):
    n = 0
    for table in kinds(tmp_path):
        truth = pgsr.read(table, PLACES, size="members", max_size=3)
        assert truth.hierarchy.paths == (
            *(("(all)",), ("(all)", "GA"), ("(all)", "MI")),
            *(("(all)", "GA", "1"), ("(all)", "GA", "2"), ("(all)", "MI", "1")),
        )
        assert truth.counts.tolist() == [
            *([1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0]),
            *([1, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]),
        ]
        assert not truth.private_groups
        n += 1
    assert n >= 9


def test_members_groups_and_counts_agree_with_a_loop():
    draw = rng_of(5)
    state = draw.choice(["a", "b", "c"], 200)
    size = draw.integers(1, 6, 200)
    people = {"state": np.repeat(state, size), "home": np.repeat(np.arange(200), size)}
    order = draw.permutation(size.sum())
    people = {name: column[order] for name, column in people.items()}
    homes = {"state": state, "size": size}
    table = pd.DataFrame(homes).groupby(["state", "size"]).size().rename("n").reset_index()

    counted = {place: [sum((state == place) & (np.minimum(size, 4) == s)) for s in range(5)] for place in "abc"}
    for truth in (
        pgsr.read(people, ["state"], group="home", max_size=4),
        pgsr.read(homes, ["state"], size="size", max_size=4),
        pgsr.read(table, ["state"], size="size", count="n", max_size=4),
    ):
        for place in "abc":
            assert truth.row(truth.hierarchy.index(("(all)", place))).tolist() == counted[place]
    assert "1 above" not in truth.about


def test_it_says_what_it_understood():
    truth = pgsr.read(HOMES, PLACES, size="members", max_size=3, name="homes")
    assert truth.about == "a row per group, regions by state (2) and county (3), sizes by members, 1 above 3"
    assert truth.about in repr(truth)
    assert truth.about in truth._repr_html_()
    people = {"state": ["GA", "GA", "MI"], "home": [1, 1, 1]}
    truth = pgsr.read(people, ["state"], group=["state", "home"], max_size=3)
    assert truth.about == "a row per member, regions by state (2), groups by state and home, numbers of groups private"
    assert truth.private_groups
    assert pgsr.measure(truth, "cumulative", epsilon=1, seed="demo").totals_noise is not None
    counts = {"state": ["GA", "MI"], "size": [1, 2], "n": [5, 6]}
    truth = pgsr.read(counts, ["state"], size="size", count="n", max_size=3)
    assert truth.about == "a row per region and size, regions by state (2), sizes by size, numbers by n"


def test_one_region_at_the_top_is_the_root():
    truth = pgsr.read(
        {"nation": ["US", "US"], "state": ["GA", "MI"], "n": [1, 2]}, ["nation", "state"], size="n", max_size=2
    )
    assert truth.hierarchy.paths[0] == ("US",)
    assert list(truth.to_frame()[["nation", "state"]].iloc[-1]) == ["US", "MI"]


def test_sizes_may_differ_by_level():
    truth = pgsr.read(HOMES, PLACES, size="members", max_size=(5, 3, 2))
    assert truth.max_sizes == (5, 3, 2)
    assert truth.tables[0].tolist() == [[1, 1, 1, 0, 0, 1]]


def test_a_hierarchy_has_regions_without_groups():
    tree = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1"), ("US", "OH", "1")])
    truth = pgsr.read(HOMES, PLACES, size="members", max_size=3, hierarchy=tree)
    assert truth.row(tree.index(("US", "OH"))).tolist() == [0, 0, 0, 0]
    assert truth.row(0).tolist() == [1, 1, 1, 1]
    less = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2")])
    with pytest.raises(TableError, match="no leaves") as refused:
        pgsr.read(HOMES, PLACES, size="members", max_size=3, hierarchy=less)
    assert "MI" not in str(refused.value)


def test_leading_zeros_of_names_stay(tmp_path):
    file = tmp_path / "fips.csv"
    file.write_text("state,members\n01,2.0\n02,1\n")
    truth = pgsr.read(file, ["state"], size="members", max_size=2)
    assert truth.hierarchy.paths[1:] == (("(all)", "01"), ("(all)", "02"))


def test_large_tables_stay_sparse():
    truth = pgsr.read({"state": ["a", "b"], "n": [1, 10**9]}, ["state"], size="n", max_size=50_000_000)
    assert truth.is_sparse
    assert truth.totals.tolist() == [2, 1, 1]


SIZED = {"size": "members", "max_size": 3}


@pytest.mark.parametrize(
    ("table", "regions", "options", "word"),
    [
        (HOMES, PLACES, {"max_size": 3}, "say what a row is"),
        (HOMES, PLACES, {"max_size": 3, "group": "members", "size": "members"}, "say what a row is"),
        (HOMES, PLACES, {"max_size": 3, "size": ["members"]}, "give the name of a column"),
        (HOMES, "state", SIZED, "give a list of names of columns"),
        (HOMES, ["state", "state"], SIZED, "each once"),
        (HOMES, ["province"], SIZED, "no column 'province'; its columns are 'state', 'county', 'members'"),
        (HOMES, PLACES, {"size": "members", "max_size": 0}, "max_size=0; give a whole number from 1 up"),
        (HOMES, PLACES, {"size": "members", "max_size": (3, 2)}, "give one per level"),
        (HOMES, PLACES, {"size": "state", "max_size": 3}, "holds string, no numbers"),
        (HOMES | {"members": [1.5, 2, 3, 4]}, PLACES, SIZED, "whole numbers from 0 up"),
        (HOMES | {"members": [None, 2, 3, 4]}, PLACES, SIZED, "whole numbers from 0 up"),
        (HOMES | {"county": ["1", None, "1", ""]}, PLACES, SIZED, "name no region in column 'county'"),
        ({"state": [], "members": []}, ["state"], SIZED, "no rows"),
        ({"state": ["a", "b"], "home": [7, 7]}, ["state"], {"group": "home", "max_size": 3}, "in several regions"),
        ({"state": ["a", "b"], "home": [7, None]}, ["state"], {"group": "home", "max_size": 3}, "name no group"),
        ({"state": ["a"], "s": [1], "n": [2**63 - 1]}, ["state"], {"size": "s", "count": "n", "max_size": 3}, "above"),
        (7, PLACES, SIZED, "give a pandas, Polars or Arrow table"),
        ("nowhere.csv", PLACES, SIZED, "there is no file"),
        ("homes.xlsx", PLACES, SIZED, "neither .parquet nor .csv"),
        (HOMES, PLACES, {**SIZED, "hierarchy": 3}, "Hierarchy.from_paths"),
    ],
)
def test_what_is_wrong_is_said(table, regions, options, word):
    with pytest.raises(PgsrError, match=word):
        pgsr.read(table, regions, **options)
