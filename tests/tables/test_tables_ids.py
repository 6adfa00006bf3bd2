"""The ids of tables: text stays text, numbers stay numbers, and ids that look alike are refused."""

from pathlib import Path

import pytest
from small_tables import HOMES, PEOPLE, REGIONS, counted, frame, with_row

from pgsr.errors import HierarchyError, TableError
from pgsr.tables import Csv, Entities, Groups, Parents, Parquet
from pgsr.tables.source import Frame


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
    with pytest.raises(TableError, match="no column 'group', only 'entity', 'Group'"):
        counted(Entities(tmp_path / "people.parquet"))
    assert counted(Entities(tmp_path / "people.parquet", group="Group")).counts[0].tolist() == [2, 0, 0, 1]
    with pytest.raises(TableError, match="no column 'GROUP'"):
        counted(Entities(PEOPLE, group="GROUP"))


def test_numbers_that_refer_to_text_are_refused() -> None:
    with pytest.raises(TableError, match=r"group.*numbers.*group.*text.*'01001' becomes 1001"):
        counted(frame(entity=["a"], group=[1001]))
    with pytest.raises(TableError, match="'region' of the table of groups holds numbers, the hierarchy holds text"):
        counted(homes=frame(group=["g1"], region=[1001]))
    with pytest.raises(TableError, match=r"'group' of the table of entities is DOUBLE.*fill missing ids"):
        counted(frame(entity=["a", "b"], group=[1, None]))


def test_declared_integers_are_whole(tmp_path: Path) -> None:
    cast, homes = {"group": "integer"}, frame(group=[1, 2], region=["GA", "MI"])
    for bad in ("1.0", "01", "+1", "-0", "1e0", " 1", "0x1", "1_0", "9" * 19):
        people = frame(entity=["a", "b"], group=["1", bad])
        people.to_csv(tmp_path / "people.csv", index=False)
        people.to_parquet(tmp_path / "people.parquet")
        files = Csv(str(tmp_path / "people.csv"), cast), Parquet(str(tmp_path / "people.parquet"), cast)
        for table in (*files, Frame(people, cast)) if bad == "1.0" else files[:1]:
            with pytest.raises(TableError, match=r"column 'group' of the table of entities .* no plain whole numbers"):
                counted(Entities(table), homes)


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
    with pytest.raises(TableError, match="group 'é' is listed twice"):
        counted(homes=with_row(with_row(HOMES, composed, "GA"), apart, "GA"))
    with pytest.raises(TableError, match="some entities have more than one row"):
        counted(with_row(with_row(PEOPLE, composed, "g1"), apart, "g2"))


def test_ids_of_two_kinds_are_mended_in_python_or_in_a_configuration() -> None:
    homes = HOMES.assign(group=range(len(HOMES)))
    with pytest.raises(TableError, match=r"holds text.*holds numbers|holds numbers.*holds text") as caught:
        counted(PEOPLE, homes)
    assert "Csv(..., cast={column: 'integer'})" in str(caught.value)
    assert 'cast = {column = "integer"}' in str(caught.value)
