"""The papers' tables into counts and back: against dictionaries, and every bad input refused by its own sentence."""

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from instances import rng_of, scale
from small_tables import HOMES, PEOPLE, REGIONS, counted, frame, with_row

from pgsr import Hierarchy, View
from pgsr.data.views import cumulative, ranked
from pgsr.errors import ArgumentError, HierarchyError, MemoryNeededError, ProblemError, TableError
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.tables import Csv, Entities, Groups, Levels, Limits, Parents, Quantities, count_groups
from pgsr.tables.inputs import PrivateLog
from pgsr.tables.source import Query, source


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


def test_counts_equal_a_loop_over_dictionaries(tmp_path: Path) -> None:
    rng = rng_of(71)
    for i in range(scale(5, 300)):
        kind = ("parquet", "csv", "query", "arrow", "pandas")[i % 5]
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


def test_a_large_table_stays_sparse() -> None:
    truth = counted(max_size=30_000_000)
    assert truth.is_sparse
    assert truth.totals.tolist() == [3, 1, 2]


def test_names_of_columns_and_limits_of_another_kind() -> None:
    for wrong in (0, ""):
        with pytest.raises(TableError, match="no column"):
            counted(Entities(PEOPLE, entity=wrong))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="limits is 3"):
        counted(limits=3)


@pytest.mark.parametrize(
    ("people", "homes", "message"),
    [
        (PEOPLE, with_row(HOMES, "g4", "TX"), "1 rows of the table of groups lie in an unknown region 'TX'"),
        (PEOPLE, with_row(HOMES, "g4", "US"), "lie in the inner region 'US'; a group lies in a leaf"),
        (PEOPLE, with_row(HOMES, "g4", None), "1 rows of the table of groups have no region"),
        (PEOPLE, with_row(HOMES, None, "GA"), r"1 rows of the table of groups have no group id \(first in row 4\)"),
        (PEOPLE, with_row(HOMES, "g1", "MI"), "group 'g1' lies in 'US' / 'GA' and 'US' / 'MI'.*pairs the groups"),
        (PEOPLE, with_row(HOMES, "g1", "GA"), "group 'g1' is listed twice"),
        (with_row(PEOPLE, "x", None), HOMES, "some entities have no group;"),
        (with_row(PEOPLE, "x", ""), HOMES, "some entities have no group;"),
        (with_row(PEOPLE, "x", "secret g"), HOMES, "some entities are in groups that the table of groups does not"),
        (with_row(PEOPLE, None, "g1"), HOMES, "some rows have no entity id;"),
        (with_row(PEOPLE, "secretA", "g2"), HOMES, "some entities have more than one row;"),
        (PEOPLE.drop(columns="group"), HOMES, "the table of entities has no column 'group', only 'entity'"),
        (PEOPLE, HOMES.drop(columns="region"), "the table of groups has no column 'region', only 'group'"),
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


def test_private_groups_are_not_quoted() -> None:
    with pytest.raises(TableError, match="a group is listed twice") as caught:
        counted(homes=with_row(HOMES, "g1", "GA"), private_groups=True)
    assert "g1" not in str(caught.value)
    with pytest.raises(TableError, match="a group lies in two leaves"):
        counted(homes=with_row(HOMES, "g1", "MI"), private_groups=True)


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
        assert Geometric(View.COUNTS, 1, totals="noisy").measure(truth, Seeded("p")).totals_noise is not None


def test_groups_without_entities_count_as_size_0() -> None:
    assert counted().counts[:, 0].tolist() == [1, 0, 1]
    people = Entities(PEOPLE.assign(region=["GA", "GA", "MI"]), region="region")
    assert counted(people, None, private_groups=True).counts[:, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("bad", [0, True, 1.0, "3", None])
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
    from pgsr.release.make.private_log import OperatorLog

    log = OperatorLog()
    log.keep(tmp_path / "refused.log", pytest.fail)
    kept = (tmp_path / "refused.log").read_text()
    assert "rows of entities: not counted\ngroups above max_size: not counted\n" in kept
    log = OperatorLog()
    counted(log=log.rows)
    log.keep(tmp_path / "read.log", pytest.fail)
    assert f"{len(PEOPLE)} rows of entities\n0 groups above max_size\n" in (tmp_path / "read.log").read_text()


def test_more_sizes_than_memory_are_refused_before_anything_is_read() -> None:
    with pytest.raises(MemoryNeededError, match="sizes needs"):
        counted(Entities("absent.parquet"), max_size=2**40)


def test_tables_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no file"):
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
    rng = rng_of(72)
    junk: list[Any] = [None, "", "g1", "GA", "US", 1, 1.5, np.nan, True, b"x", "é", "\x00", pd.Timestamp(0), []]
    refused: list[str] = []
    for _ in range(scale(30, 500)):
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


def test_counting_takes_every_frame_that_reconciling_takes():
    people = {"entity": ["Ann", "Bob", "Cy"], "group": [1, 1, 2]}
    homes = {"group": [1, 2, 3], "nation": ["US"] * 3, "state": ["GA", "MI", "MI"]}

    class Stream:
        def __init__(self, columns):
            self.table = pa.table(columns)

        def __arrow_c_stream__(self, schema=None):
            return self.table.__arrow_c_stream__(schema)

    for make in (dict, pd.DataFrame, pa.table, Stream, lambda columns: duckdb.from_arrow(pa.table(columns))):
        found = count_groups(Entities(make(people)), Groups(make(homes), region=("nation", "state")), max_size=3)
        assert found.counts.tolist() == [[1, 1, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]]
    with pytest.raises(TableError, match="DuckDB guesses from its rows"):
        Entities(duckdb.from_df(pd.DataFrame(people)))
    with pytest.raises(TableError, match="of one length"):
        Entities({"entity": [1, 2], "group": [1]})


def test_a_missing_state_is_called_missing():
    people = pd.DataFrame({"entity": ["Ann"], "group": [1]})
    homes = pd.DataFrame({"group": [1, 2], "nation": "US", "state": ["GA", None]})
    with pytest.raises(TableError, match="1 rows of the table of groups have nothing in column 'state' beside 'US'"):
        count_groups(Entities(people), Groups(homes, region=("nation", "state")), max_size=3)
    levels = Levels(homes[:1], ("nation", "state"))
    lost = pd.DataFrame({"group": [1, 2], "nation": ["US", None], "state": ["GA", "GA"]})
    with pytest.raises(TableError, match="have nothing in column 'nation' beside 'GA'"):
        count_groups(Entities(people), Groups(lost, region=("nation", "state")), levels, max_size=3)
