"""The papers' tables into counts and back: against dictionaries, and every bad input refused by its own sentence."""

import re
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from instances import scale

from pgsr import CountOfCounts, Estimate, Geometric, Hierarchy, Seeded, View
from pgsr.algorithms.choosing import DISTINCT_SIZES
from pgsr.double_geometric import DoubleGeometric
from pgsr.entities import noisy_entities
from pgsr.errors import ArgumentError, HierarchyError, MemoryNeededError, ProblemError, TableError
from pgsr.random import StreamId
from pgsr.tables import (
    Csv,
    Entities,
    Frame,
    Groups,
    Levels,
    Limits,
    Parents,
    Parquet,
    PrivateLog,
    Quantities,
    Query,
    count_groups,
    read_long,
    source,
    to_long,
    write_long,
)
from pgsr.views import cumulative, ranked

REGIONS = pd.DataFrame({"region": ["US", "GA", "MI"], "parent": [None, "US", "US"]})
HOMES = pd.DataFrame({"group": ["g1", "g2", "g3"], "region": ["GA", "MI", "MI"]})
PEOPLE = pd.DataFrame({"entity": ["secretA", "secretB", "secretC"], "group": ["g1", "g1", "g2"]})
ONE = Limits(gibibytes=1, threads=1)


def counted(people: Any = PEOPLE, homes: Any = HOMES, regions: Any = REGIONS, **options: Any) -> CountOfCounts:
    options = {"max_size": 3, "limits": ONE, **options}
    homes = Groups(homes) if isinstance(homes, pd.DataFrame) else homes
    regions = Parents(regions) if isinstance(regions, pd.DataFrame) else regions
    people = Entities(people) if isinstance(people, pd.DataFrame) else people
    return count_groups(people, homes, regions, **options)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def with_row(table: pd.DataFrame, *row: Any) -> pd.DataFrame:
    return pd.concat([table, pd.DataFrame([row], columns=table.columns)], ignore_index=True)


# --- the papers' examples -----------------------------------------------------------------------------------------


def test_alice_and_bob() -> None:
    """Kuo et al., slides: printed from size 1."""
    names = ["Alice", "Bob", "Carol", "Dave", "Eve", "Frank", "Judy", "Nick"]
    people = frame(name=names, number=[1, 1, 1, 1, 2, 2, 3, 4])
    homes = frame(number=[1, 2, 3, 4], location=["a", "b", "a", "b"])
    tree = Hierarchy.from_parents(["root", "a", "b"], [-1, 0, 0])
    truth = counted(Entities(people, "name", "number"), Groups(homes, "number", "location"), tree, max_size=4)
    assert truth.counts[:, 1:].tolist() == [[2, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]]
    assert not truth.counts[:, 0].any()
    assert [ranked(row).tolist() for row in truth.counts] == [[1, 1, 2, 4], [1, 4], [1, 2]]
    assert cumulative(truth.counts)[:, 1:].tolist() == [[2, 3, 3, 4], [1, 1, 1, 2], [1, 2, 2, 2]]


def test_running_example_of_fioretto_and_van_hentenryck() -> None:
    units = ["A", "A", "A", "B", "C", "D", "E", "E", "F", "F", "F"]
    users = frame(user=list(range(11)), unit=units, region=["GA"] * 5 + ["MI"] * 6, quantity=[1] * 11)
    homes = frame(group=list("ABCDEF"), region=["GA"] * 3 + ["MI"] * 3)
    for groups, private in ((homes, False), (None, True)):
        truth = counted(Quantities(users, max_quantity=1), groups, max_size=5, private_groups=private)
        assert truth.counts[:, 1:].tolist() == [[3, 1, 2, 0, 0], [2, 0, 1, 0, 0], [1, 1, 1, 0, 0]]
        assert cumulative(truth.counts)[:, 1:].tolist() == [[3, 4, 6, 6, 6], [2, 2, 3, 3, 3], [1, 2, 3, 3, 3]]
        assert truth.totals[0] == 6
        assert truth.private_groups is private


# --- against dictionaries -----------------------------------------------------------------------------------------


def by_dictionaries(
    rows: list[tuple[Any, int]], where: dict[Any, str], tree: Hierarchy, largest: int
) -> dict[tuple[tuple[str, ...], int], int]:
    size: Counter[Any] = Counter()
    for group, amount in rows:
        size[group] += amount
    cells: Counter[tuple[tuple[str, ...], int]] = Counter()
    for group, leaf in where.items():
        path = next(p for p in tree.paths if p[-1] == leaf and len(p) == tree.n_levels)
        for depth in range(1, len(path) + 1):
            cells[path[:depth], min(size[group], largest)] += 1
    return dict(cells)


def random_tables(
    rng: np.random.Generator,
) -> tuple[list[tuple[str, str | None]], dict[Any, str], list[tuple[Any, int]]]:
    n_states = int(rng.integers(1, 4))
    states = [f"s{i}" for i in range(n_states)]
    leaves = [(f"01{i:03}", states[int(rng.integers(n_states))] if i >= n_states else states[i]) for i in range(6)]
    regions: list[tuple[str, str | None]] = [*leaves, *((s, "US") for s in states), ("US", None)]
    regions = [regions[i] for i in rng.permutation(len(regions))]
    numbers = bool(rng.integers(2))
    ids: list[Any] = [int(i) if numbers else f"{i:02}é" for i in rng.permutation(50)[: rng.integers(1, 20)]]
    where = {g: leaves[int(rng.integers(6))][0] for g in ids}
    rows = [(ids[int(i)], int(rng.integers(4))) for i in rng.integers(0, len(ids), rng.integers(1, 60))]
    return regions, where, rows


def kept_as(kind: str, table: pd.DataFrame, path: Path, connection: duckdb.DuckDBPyConnection) -> Any:
    """The same rows as a source of every kind; files in two parts."""
    half = len(table) // 2
    parts = [table.iloc[:half], table.iloc[half:]] if half else [table]
    if kind == "parquet":
        for i, part in enumerate(parts):
            part.to_parquet(f"{path}-{i}.parquet")
        return f"{path}-*.parquet"
    if kind == "csv":
        for i, part in enumerate(parts):
            part.to_csv(f"{path}-{i}.csv", index=False)
        return Csv(f"{path}-*.csv", {c: "integer" for c in table.columns if table[c].dtype.kind == "i"})
    if kind == "query":
        connection.register(path.name, pa.Table.from_pandas(table, preserve_index=False))
        return Query(connection, f'select * from "{path.name}" -- all of it')
    return pa.Table.from_pandas(table, preserve_index=False) if kind == "arrow" else table


@pytest.mark.parametrize("kind", ["parquet", "csv", "query", "arrow", "pandas"])
def test_counts_equal_a_loop_over_dictionaries(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(71)
    for i in range(scale(8, 200)):
        regions, where, rows = random_tables(rng)
        tree = Parents(pd.DataFrame(regions, columns=["region", "parent"]).astype("string"))
        homes = pd.DataFrame({"group": list(where), "region": list(where.values())})
        largest = int(rng.integers(1, 9))
        people = frame(
            user=[f"u{j}" for j in range(len(rows))],
            unit=[g for g, _ in rows],
            region=[where[g] for g, _ in rows],
            quantity=[z for _, z in rows],
        )
        with duckdb.connect() as connection:
            a = kept_as(kind, people, tmp_path / f"people {i}", connection)
            b = kept_as(kind, homes, tmp_path / f"homes {i}", connection)
            by_rows, by_sums = PrivateLog(), PrivateLog()
            truth = counted(Entities(a, "user", "unit"), Groups(b), tree, max_size=largest, log=by_rows)
            sums = counted(Quantities(a, 2, clip=True), Groups(b), tree, max_size=largest, log=by_sums)
            assert connection.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]
        ones, capped = [(g, 1) for g, _ in rows], [(g, min(z, 2)) for g, z in rows]
        for found, log, amounts in ((truth, by_rows, ones), (sums, by_sums, capped)):
            expected = by_dictionaries(amounts, where, found.hierarchy, largest)
            assert found.counts.sum() == len(where) * 3
            for (path, size), n in expected.items():
                assert found.counts[found.hierarchy.index(path), size] == n
            size_of = Counter(dict.fromkeys(where, 0))
            for g, z in amounts:
                size_of[g] += z
            assert (log.entities, log.clipped_groups) == (len(rows), sum(s > largest for s in size_of.values()))
        assert by_sums.clipped_quantities == sum(z > 2 for _, z in rows)
        assert (truth.max_quantity, sums.max_quantity, truth.private_groups) == (1, 2, False)


def test_level_columns_region_ids_and_a_given_tree_are_the_same_hierarchy() -> None:
    paths = frame(id=["1", "2"], nation=["US", "US"], state=["GA", "MI"])
    homes = HOMES.assign(nation="US", state=HOMES.region, id=HOMES.region.map({"GA": "1", "MI": "2"}))
    found = [
        counted(),
        counted(homes=Groups(homes, region=("nation", "state")), regions=None),
        counted(homes=Groups(homes, region=("nation", "state")), regions=Levels(paths, ("nation", "state"))),
        counted(homes=Groups(homes, region="id"), regions=Levels(paths, ("nation", "state"), region="id")),
        counted(regions=Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])),
        counted(
            homes=Groups(homes, region=("nation", "state")), regions=Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        ),
    ]
    for truth in found:
        assert truth.hierarchy.paths == (("US",), ("US", "GA"), ("US", "MI"))
        assert truth.counts.tolist() == [[1, 1, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]]


def test_regions_without_groups_stay() -> None:
    truth = counted(homes=HOMES[HOMES.region == "GA"], people=PEOPLE[PEOPLE.group == "g1"])
    assert truth.totals.tolist() == [1, 1, 0]


def test_number_ids_of_regions_are_read_as_their_digits() -> None:
    homes = frame(group=[1, 2], region=[11, 12])
    tree = Parents(frame(region=[1, 11, 12], parent=pd.array([None, 1, 1], "Int64")))
    truth = counted(frame(entity=[7], group=[2]), homes, tree)
    assert truth.hierarchy.paths == (("1",), ("1", "11"), ("1", "12"))


def test_padded_branches() -> None:
    regions = with_row(REGIONS, "Cobb", "GA")
    homes = frame(group=["g1", "g2", "g3"], region=["Cobb", "MI", "MI"])
    with pytest.raises(HierarchyError, match="ragged"):
        counted(homes=homes, regions=regions)
    truth = counted(homes=homes, regions=Parents(regions, pad_ragged=True))
    assert truth.hierarchy.padded.sum() == 1
    assert truth.counts[truth.hierarchy.index(("US", "MI", "MI"))].tolist() == [1, 1, 0, 0]
    again = read_long(to_long(truth)).counts()
    assert again.hierarchy.paths == truth.hierarchy.paths
    assert np.array_equal(again.counts, truth.counts)
    assert again.hierarchy.padded.tolist() == truth.hierarchy.padded.tolist()


def test_a_large_table_stays_sparse() -> None:
    truth = counted(max_size=30_000_000)
    assert truth.is_sparse
    assert truth.totals.tolist() == [3, 1, 2]


# --- ids ----------------------------------------------------------------------------------------------------------


def test_csv_ids_keep_their_zeros(tmp_path: Path) -> None:
    for name, text in {
        "people.csv": "entity,group\n1,01001\n2,01001\n",
        "homes.csv": "group,region\n01001,007\n1001,08\n",
        "regions.csv": "region,parent\n0,\n007,0\n08,0\n",
    }.items():
        (tmp_path / name).write_text(text)
    truth = counted(
        Entities(tmp_path / "people.csv"), Groups(tmp_path / "homes.csv"), Parents(str(tmp_path / "regions.csv"))
    )
    assert truth.hierarchy.paths == (("0",), ("0", "007"), ("0", "08"))
    assert truth.counts.tolist() == [[1, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0]]


def test_columns_that_differ_in_capitals_only(tmp_path: Path) -> None:
    """DuckDB finds "Group" where "group" is asked for, and a table once was counted by the wrong one."""
    people = frame(entity=["a", "b", "c"], Group=["g3"] * 3, group=["g1", "g1", "g2"])
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    for table in (people, tmp_path / "people.csv"):
        assert counted(Entities(table)).counts[0].tolist() == [1, 1, 1, 0]
        assert counted(Entities(table, group="Group")).counts[0].tolist() == [2, 0, 0, 1]
        with pytest.raises(TableError, match="in capitals only from"):
            counted(Entities(table, entity="Group"))
    with pytest.raises(TableError, match="no column 'group', only entity, Group"):
        counted(Entities(tmp_path / "people.parquet"))
    assert counted(Entities(tmp_path / "people.parquet", group="Group")).counts[0].tolist() == [2, 0, 0, 1]
    with pytest.raises(TableError, match="no column 'GROUP'"):
        counted(Entities(PEOPLE, group="GROUP"))


def test_names_of_columns_and_limits_of_another_kind() -> None:
    for wrong in (0, ""):
        with pytest.raises(TableError, match="no column"):
            counted(Entities(PEOPLE, entity=wrong))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="limits is 3"):
        counted(limits=3)


def test_numbers_that_refer_to_text_are_refused() -> None:
    with pytest.raises(TableError, match=r"group.*numbers.*group.*text.*'01001' becomes 1001"):
        counted(frame(entity=["a"], group=[1001]))
    with pytest.raises(TableError, match="'region' of the table of groups holds numbers, the hierarchy holds text"):
        counted(homes=frame(group=["g1"], region=[1001]))
    with pytest.raises(TableError, match=r"'group' of the table of entities is DOUBLE.*fill missing ids"):
        counted(frame(entity=["a", "b"], group=[1, None]))


@pytest.mark.parametrize("bad", ["1.5", "1.0", "01", "+1", "-0", "1e0", " 1", "1 ", "0x1", "1_0", "9" * 19])
def test_declared_integers_are_whole(bad: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"entity,group\na,1\nb,{bad}\n")
    homes = frame(group=[1, 2], region=["GA", "MI"])
    people = frame(entity=["a", "b"], group=["1", bad])
    people.to_parquet(tmp_path / "people.parquet")
    cast = {"group": "integer"}
    for table in (Parquet(str(tmp_path / "people.parquet"), cast), Frame(people, cast)):
        with pytest.raises(TableError, match="that are no plain whole numbers"):
            counted(Entities(table), homes)
    with pytest.raises(
        TableError, match="column 'group' of the table of entities holds values that are no plain whole"
    ):
        counted(Entities(Csv(str(tmp_path / "people.csv"), {"group": "integer"})), homes)


@pytest.mark.parametrize("bad", ["g\u200b1", "g\n1", "g\x00"])
def test_control_characters(bad: str) -> None:
    with pytest.raises(TableError, match="1 group ids hold control characters"):
        counted(homes=with_row(HOMES, bad, "GA"))
    with pytest.raises(TableError, match="some entity ids hold control characters"):
        counted(with_row(PEOPLE, bad, "g1"))
    with pytest.raises(HierarchyError, match="control character"):
        counted(regions=with_row(REGIONS, bad, "US"))


def test_ids_that_collide_after_normalisation() -> None:
    composed, apart = "\u00e9", "e\u0301"
    with pytest.raises(TableError, match="two Unicode spellings"):
        counted(homes=with_row(with_row(HOMES, composed, "GA"), apart, "GA"))
    with pytest.raises(HierarchyError, match="two Unicode spellings"):
        counted(regions=with_row(with_row(with_row(REGIONS, composed, "GA"), "x", "MI"), apart, "x"))
    with pytest.raises(TableError, match="some entities have more than one row"):
        counted(with_row(with_row(PEOPLE, composed, "g1"), apart, "g2"))
    assert counted(homes=with_row(HOMES, apart, "GA")).totals[0] == 4  # one spelling alone is fine


# --- regions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("TX", "MX")], "'TX' is an orphan: its parent 'MX' is unknown"),
        ([("CA", None)], "two roots, 'US' and 'CA'"),
        ([("a", "b"), ("b", "a")], "form a cycle"),
        ([("a", "a")], "'a' is its own parent"),
        ([("GA", "MI")], "'GA' has two parents, 'US' and 'MI'"),
        ([("GA", "US")], "'GA' is listed twice"),
        ([(None, "US")], "no region id"),
        ([("Cobb", "GA")], "ragged.*pad_ragged=True"),
    ],
)
def test_tables_of_regions_that_are_no_tree(rows: list[tuple[Any, Any]], message: str) -> None:
    regions = REGIONS
    for row in rows:
        regions = with_row(regions, *row)
    with pytest.raises(HierarchyError, match=message):
        counted(regions=regions)


def test_level_columns_that_are_no_tree() -> None:
    columns = ("nation", "state")

    def read(ids: list[Any], nations: list[Any], states: list[Any]) -> None:
        table = frame(id=ids, nation=nations, state=states)
        counted(regions=Levels(table, columns, region="id"))

    with pytest.raises(HierarchyError, match="'GA' is listed twice"):
        read(["GA", "GA"], ["US", "US"], ["GA", "MI"])
    with pytest.raises(HierarchyError, match="'US' / 'GA' is listed twice"):
        read(["GA", "MI"], ["US", "US"], ["GA", "GA"])
    with pytest.raises(HierarchyError, match="two roots"):
        read(["GA", "MI"], ["US", "CA"], ["GA", "MI"])
    with pytest.raises(HierarchyError, match="name every level"):
        read(["GA", "MI"], ["US", None], ["GA", "MI"])


# --- rows that fit nowhere or twice -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "homes", "message"),
    [
        (PEOPLE, with_row(HOMES, "g4", "TX"), "1 rows of the table of groups lie in an unknown region 'TX'"),
        (PEOPLE, with_row(HOMES, "g4", "US"), "lie in the inner region 'US'; a group lies in a leaf"),
        (PEOPLE, with_row(HOMES, "g4", None), "1 rows of the table of groups have no region"),
        (PEOPLE, with_row(HOMES, None, "GA"), r"1 rows of the table of groups have no group id \(first in row 4\)"),
        (PEOPLE, with_row(HOMES, "g1", "MI"), "group 'g1' lies in US / GA and US / MI.*pairs the groups"),
        (PEOPLE, with_row(HOMES, "g1", "GA"), "group 'g1' is listed twice"),
        (with_row(PEOPLE, "x", None), HOMES, "some entities have no group;"),
        (with_row(PEOPLE, "x", ""), HOMES, "some entities have no group;"),
        (
            with_row(PEOPLE, "x", "secret g"),
            HOMES,
            "some entities are in groups that the table of groups does not list;",
        ),
        (with_row(PEOPLE, None, "g1"), HOMES, "some rows have no entity id;"),
        (with_row(PEOPLE, "secretA", "g2"), HOMES, "some entities have more than one row;"),
        (with_row(PEOPLE, "secretA", "g1"), HOMES, "some entities have more than one row;"),
        (PEOPLE.drop(columns="group"), HOMES, "the table of entities has no column 'group', only entity"),
        (PEOPLE, HOMES.drop(columns="region"), "the table of groups has no column 'region', only group"),
        (PEOPLE.assign(group=[1, "g1", 2.5]), HOMES, "column 'group' of the table of entities mixes types"),
    ],
)
def test_rows_that_fit_nowhere_or_twice(people: pd.DataFrame, homes: pd.DataFrame, message: str) -> None:
    """The message about a private table has no number and no id in it; the log has the number of rows, and the row."""
    log = PrivateLog()
    with pytest.raises(TableError, match=message) as caught:
        counted(people, homes, log=log)
    assert "secret" not in str(caught.value)
    if message.startswith("some"):
        assert not re.search("[0-9]", str(caught.value))
        [fault] = log.faults
        assert log.entities is None, "a refused table was not counted"
        assert fault.startswith("1 ")
        assert "(first in row 4)" in fault or "more than one row" in fault
    else:
        assert log.faults == []


def test_which_refusal_comes_does_not_depend_on_private_values() -> None:
    """Two faults at once: the same one is told whatever ids and order the rows have."""
    for ids in (["a", "z"], ["z", "a"]):
        people = PEOPLE.assign(region=["GA", "GA", "MI"])
        people = with_row(with_row(people, "x", "g1", ids[0]), "y", "g1", "US")
        with pytest.raises(TableError, match="some rows of the table of entities lie in an unknown region;") as caught:
            counted(Entities(people.sort_values("region"), region="region"))
        assert not any(repr(i) in str(caught.value) for i in ids)
        with pytest.raises(TableError, match="some rows of the table of entities have no region;"):
            counted(Entities(with_row(people, "v", "g1", None), region="region"))
    people = PEOPLE.assign(region=["GA", "GA", "US"])
    with pytest.raises(TableError, match="some rows of the table of entities lie in an inner region; a group lies"):
        counted(Entities(people, region="region"))


def test_repeats_are_accepted_where_rows_are_protected() -> None:
    truth = counted(Entities(with_row(PEOPLE, "secretA", "g1"), entity=None))
    assert truth.counts[0].tolist() == [1, 1, 0, 1]


def test_regions_of_entities_have_to_agree() -> None:
    people = PEOPLE.assign(region=["GA", "GA", "MI"])
    assert counted(Entities(people, region="region")).totals[0] == 3
    with pytest.raises(TableError, match="some groups have entities outside their own region"):
        counted(Entities(people.assign(region=["GA", "MI", "MI"]), region="region"))
    with pytest.raises(TableError, match=r"some groups have entities in several regions.*pairs"):
        counted(Entities(people.assign(region=["GA", "MI", "MI"]), region="region"), None, private_groups=True)
    with pytest.raises(TableError, match="some rows of the table of entities have no region"):
        counted(Entities(people.assign(region=["GA", "GA", None]), region="region"))
    with pytest.raises(TableError, match="some rows of the table of entities lie in an unknown region;") as caught:
        counted(Entities(people.assign(region=["GA", "GA", "secret"]), region="region"))
    assert "secret" not in str(caught.value)


def test_private_groups_are_not_quoted() -> None:
    with pytest.raises(TableError, match="a group is listed twice") as caught:
        counted(homes=with_row(HOMES, "g1", "GA"), private_groups=True)
    assert "g1" not in str(caught.value)
    with pytest.raises(TableError, match="a group lies in two leaves"):
        counted(homes=with_row(HOMES, "g1", "MI"), private_groups=True)


# --- quantities ---------------------------------------------------------------------------------------------------

TUPLES = frame(user=["u", "v", "w"], unit=["g1", "g1", "g2"], region=["GA", "GA", "MI"], quantity=[2, 0, 3])


@pytest.mark.parametrize(
    "bad", [[2, 0, -1], [2, 0, 0.5], ["2", "0", "x"], [2, 0, np.nan], ["1", "1", None], [1, 1, np.inf]]
)
def test_quantities_are_whole_numbers_from_0_up(bad: list[Any]) -> None:
    log = PrivateLog()
    with pytest.raises(TableError, match="some quantities are no whole numbers from 0 up;"):
        counted(Quantities(TUPLES.assign(quantity=bad), 3), log=log)
    assert log.faults == ["1 quantities are no whole numbers from 0 up (first in row 3)"]


def test_quantities_above_the_bound() -> None:
    with pytest.raises(TableError, match=r"some quantities exceed max_quantity=2;.*clip=True"):
        counted(Quantities(TUPLES, 2))
    log = PrivateLog()
    truth = counted(Quantities(TUPLES, 2, clip=True), log=log)
    assert truth.counts.tolist() == [[1, 0, 2, 0], [0, 0, 1, 0], [1, 0, 1, 0]]
    assert log.clipped_quantities == 1
    for bad in (0, True, 1.5, "2"):
        with pytest.raises(ArgumentError, match="max_quantity"):
            Quantities(TUPLES, bad)  # pyright: ignore[reportArgumentType]


def test_true_and_false_are_no_quantities() -> None:
    with pytest.raises(TableError, match="is BOOLEAN; quantities are whole numbers"):
        counted(Quantities(TUPLES.assign(quantity=[True, False, True]), 1))


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_sensitivity_of_quantities_by_enumeration(largest: int) -> None:
    """Every neighbour of small tables: one tuple more, in any unit, of any quantity 0..M."""
    worst = Counter[View]()
    noise = {view: Geometric(view, 1, max_quantity=largest) for view in View}
    for amounts in np.ndindex(*(largest + 2,) * 2):
        for unit in range(2):
            for z in range(largest + 1):
                before, after = list(amounts), list(amounts)
                after[unit] += z
                a, b = (np.bincount(np.minimum(sizes, 5), minlength=6) for sizes in (before, after))
                for view, of in ((View.COUNTS, np.copy), (View.CUMULATIVE, cumulative), (View.RANKED, ranked)):
                    worst[view] = max(worst[view], int(np.abs(of(a) - of(b)).sum()))
    assert worst == {view: noise[view]._sensitivity(view) for view in View}
    assert worst == {View.COUNTS: 2, View.CUMULATIVE: largest, View.RANKED: largest}


@pytest.mark.parametrize("view", View)
def test_noise_grows_with_the_quantity(view: View) -> None:
    truth, seed = counted(Quantities(TUPLES, 3), name="z"), Seeded("z")
    with pytest.raises(ProblemError, match=r"adds up to 3 .* hides 1; give Geometric\(\.\.\., max_quantity=3\)"):
        Geometric(view, 1).measure(truth, seed)
    measured = Geometric(view, 1, max_quantity=3).measure(truth, seed)
    for region, path in enumerate(truth.hierarchy.paths):
        row = {View.COUNTS: np.copy, View.CUMULATIVE: cumulative, View.RANKED: ranked}[view](truth.counts[region])
        law = DoubleGeometric((2 if view is View.COUNTS else 3) / Fraction(1, 2))
        law.add_to(row, seed.stream(StreamId("z", view.value, len(path) - 1, path)))
        assert np.array_equal(measured.values[region], row)


def test_what_is_proved_for_quantity_1_refuses_others() -> None:
    from pgsr import Mechanism
    from pgsr.algorithms import ChosenByScore, ChosenByStatistic, TreeProjection

    truth, seed = counted(Quantities(TUPLES, 3)), Seeded("z")
    noise = Geometric(View.COUNTS, 1, max_quantity=3)
    with pytest.raises(ProblemError, match="quantities of 0 and 1"):
        noisy_entities(truth, noise.measure(truth, seed), 1, seed)
    mechanism = Mechanism(noise, TreeProjection())
    with pytest.raises(ProblemError, match="quantity 1"):
        ChosenByScore([mechanism], 1).release(truth, seed)
    with pytest.raises(ProblemError, match="quantity 1"):
        ChosenByStatistic([mechanism], lambda _: mechanism, 1, DISTINCT_SIZES).release(truth, seed)


# --- the table of groups ------------------------------------------------------------------------------------------


def test_without_a_table_of_groups_the_totals_must_be_paid_for() -> None:
    people = Entities(PEOPLE.assign(region=["GA", "GA", "MI"]), region="region")
    with pytest.raises(TableError, match=r"no table of groups.*private_groups=True.*totals='noisy'"):
        counted(people, None)
    with pytest.raises(TableError, match="must tell their region"):
        counted(PEOPLE, None, private_groups=True)
    with pytest.raises(TableError, match="hierarchy is public and cannot come from private groups"):
        counted(PEOPLE, Groups(HOMES, region=("region",)), None, private_groups=True)
    for truth in (counted(people, None, private_groups=True), counted(private_groups=True)):
        for totals in ("regions", "root"):
            with pytest.raises(ProblemError, match="private; pay for the totals"):
                Geometric(View.COUNTS, 1, totals=totals).measure(truth, Seeded("p"))
        assert Geometric(View.COUNTS, 1, totals="noisy").measure(truth, Seeded("p")).totals_epsilon == Fraction(1, 10)


def test_groups_without_entities_count_as_size_0() -> None:
    assert counted().counts[:, 0].tolist() == [1, 0, 1]
    people = Entities(PEOPLE.assign(region=["GA", "GA", "MI"]), region="region")
    assert counted(people, None, private_groups=True).counts[:, 0].tolist() == [0, 0, 0]


# --- arguments, sizes, memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, True, 1.0, "3", None, 2**41])
def test_largest_sizes_that_are_none(bad: Any) -> None:
    with pytest.raises(ArgumentError, match="max_size"):
        counted(max_size=bad)


def test_sizes_above_the_largest_are_clipped_and_the_number_stays_private() -> None:
    log = PrivateLog()
    truth = counted(with_row(PEOPLE, "d", "g1"), max_size=2, log=log)
    assert truth.counts.tolist() == [[1, 1, 1], [0, 0, 1], [1, 1, 0]]
    assert log.clipped_groups == 1
    assert repr(log) == "PrivateLog(not for publication)"
    assert "clipped" not in vars(truth)


def test_a_refused_table_is_not_counted_in_the_private_log(tmp_path) -> None:
    from pgsr.release.running.private_log import OperatorLog

    log = OperatorLog()
    log.keep(tmp_path / "refused.log", pytest.fail)
    kept = (tmp_path / "refused.log").read_text()
    assert "rows of entities: not counted\ngroups above max_size: not counted\n" in kept
    log = OperatorLog()
    counted(log=log.rows)
    log.keep(tmp_path / "read.log", pytest.fail)
    assert f"{len(PEOPLE)} rows of entities\n0 groups above max_size\n" in (tmp_path / "read.log").read_text()


def test_ids_of_two_kinds_are_mended_in_python_or_in_a_configuration() -> None:
    homes = HOMES.assign(group=range(len(HOMES)))
    with pytest.raises(TableError, match=r"holds text.*holds numbers|holds numbers.*holds text") as caught:
        counted(PEOPLE, homes)
    assert "Csv(..., cast={column: 'integer'})" in str(caught.value)
    assert 'cast = {column = "integer"}' in str(caught.value)


def test_more_sizes_than_memory_are_refused_before_anything_is_read() -> None:
    with pytest.raises(MemoryNeededError, match="sizes needs"):
        counted(Entities("absent.parquet"), max_size=2**40)


def test_tables_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no file matches"):
        counted(Entities(tmp_path / "absent.parquet"))
    with pytest.raises(TableError, match="no file matches"):
        counted(Entities(str(tmp_path / "*.parquet")))
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 secret")
    (tmp_path / "torn.csv").write_text("entity,group\nsecret,a,b,c\n" * 3)
    for name, fault in (("torn.parquet", "cannot be read"), ("torn.csv", "a line with more or fewer fields")):
        with pytest.raises(TableError, match=fault) as caught:
            counted(Entities(tmp_path / name))
        assert "secret" not in str(caught.value)
    with pytest.raises(ArgumentError, match=r"neither \.parquet nor \.csv"):
        source("people.xlsx")
    with pytest.raises(ArgumentError, match="SQL text"):
        source(duckdb.connect())
    sql = "select 'a' as entity, 'g1' as \"group\""
    with pytest.raises(TableError, match="two DuckDB connections"):
        counted(Entities(Query(duckdb.connect(), sql)), Groups(Query(duckdb.connect(), sql)))


def test_spilled_rows_are_deleted(tmp_path: Path) -> None:
    counted(limits=Limits(gibibytes=0.5, threads=1, folder=tmp_path))
    assert not list(tmp_path.iterdir())
    with pytest.raises(TableError):
        counted(with_row(PEOPLE, "x", None), limits=Limits(threads=1, folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_only_own_errors() -> None:
    """Random damage to a table: an error of this package or the right number of groups, and never a private id."""
    rng = np.random.default_rng(72)
    junk: list[Any] = [
        None,
        "",
        "g1",
        "GA",
        "US",
        1,
        1.5,
        np.nan,
        True,
        b"x",
        "é",
        "\x00",
        "g\u200b",
        pd.Timestamp(0),
        [],
    ]
    refused: list[str] = []
    for _ in range(scale(60, 2_000)):
        tables = [PEOPLE.astype(object), HOMES.astype(object), REGIONS.astype(object)]
        table = tables[int(rng.integers(3))]
        value = junk[int(rng.integers(len(junk)))]
        table.iat[int(rng.integers(len(table))), int(rng.integers(2))] = value
        with warnings.catch_warnings():  # of pandas, about setting values of another type
            warnings.simplefilter("ignore", FutureWarning)
            try:
                truth = counted(*tables)
            except (TableError, HierarchyError) as error:
                refused.append(str(error))
            else:
                assert truth.totals[0] == 3
    assert len(refused) > 20
    assert not any(re.search("secret[ABC]", message) for message in refused)


# --- long tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("names", [None, ("nation", "state, or none", "é")])
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_long_tables_come_back(ending: str, names: tuple[str, ...] | None, zeros: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(73)
    tree = Hierarchy.from_paths(
        [('U"S', "z, é", "0/7"), ('U"S', "z, é", "08"), ('U"S', "a%", "007"), ('U"S', "a%", "x")]
    )
    for i in range(scale(5, 100)):
        leaf_counts = rng.integers(0, 3, (4, 5)) * rng.integers(0, 2, (4, 1))
        truth = CountOfCounts(tree, leaf_counts)
        file = tmp_path / f"{i}{ending}"
        write_long(truth, file, zeros=zeros, level_names=names)
        again = read_long(file, limits=ONE).counts()
        assert again.hierarchy.paths == tree.paths
        assert np.array_equal(again.counts, truth.counts)
        rows = to_long(truth, zeros=zeros)
        assert rows.num_rows == (7 * 5 if zeros else (truth.counts[:, 1:] > 0).sum() + 7 + (truth.counts[0, -1] == 0))
        real = Estimate(tree, View.COUNTS, rng.normal(size=(7, 5)))
        write_long(real, file, zeros=zeros, level_names=names)
        assert np.array_equal(read_long(file, limits=ONE).values, real.values)
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [ending] * scale(5, 100)


def test_long_tables_of_cumulative_estimates_hold_counts() -> None:
    tree = Hierarchy.from_parents(["US"], [-1])
    assert to_long(Estimate(tree, View.CUMULATIVE, np.array([[1, 1, 4]])))["n_groups"].to_pylist() == [1, 3]


def test_long_tables_that_are_none(tmp_path: Path) -> None:
    good = frame(region_id=["US", "US/GA", "US/MI"], group_size=[0, 0, 0], n_groups=[2, 1, 1])
    assert read_long(good).values.tolist() == [[2], [1], [1]]
    for column, bad in (
        ("region_id", ["US", "US/GA", None]),
        ("group_size", [0, 0, -1]),
        ("group_size", ["0", "0", "x"]),
        ("n_groups", [2, 1, np.inf]),
        ("n_groups", [2, 1, None]),
    ):
        with pytest.raises(TableError, match="1 rows of the long table"):
            read_long(good.assign(**{column: bad}))
    with pytest.raises(TableError, match="two rows"):
        read_long(with_row(good, "US/GA", 0, 1))
    with pytest.raises(TableError, match="no rows of US"):
        read_long(good[1:])
    with pytest.raises(TableError, match="ids of regions of the long table are numbers"):
        read_long(frame(region_id=[1], group_size=[0], n_groups=[1]))
    with pytest.raises(TableError, match="no column 'n_groups'"):
        read_long(good.drop(columns="n_groups"))
    for wrong in ("US//GA", "US/%", "US/%2f"):
        with pytest.raises(HierarchyError, match="no id of a region"):
            read_long(good.assign(region_id=["US", "US/GA", wrong]))
    for names, word in ((("a",), "2 levels"), (("a", "a"), "different"), (("a", "n_groups"), "another column")):
        with pytest.raises(ArgumentError, match=word):
            to_long(counted(), level_names=names)
    with pytest.raises(ArgumentError, match=r"neither \.parquet nor \.csv"):
        write_long(counted(), tmp_path / "table.xlsx")
