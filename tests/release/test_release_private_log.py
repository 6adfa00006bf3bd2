"""A private log that cannot be written hides no other fault, and tells what the refusal of a table leaves out."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import config, left

from pgsr.errors import TableError
from pgsr.release import publish
from pgsr.release.make.private_log import OperatorLog


def refused_table(place: Path) -> None:
    """A row of entities without a group, which no release accepts."""
    people = pq.read_table(place / "entities.parquet")
    group = pa.array([None, *people["group"].to_pylist()[1:]], pa.int64())
    pq.write_table(
        people.set_column(people.schema.get_field_index("group"), "group", group), place / "entities.parquet"
    )


@pytest.mark.parametrize(("log", "word"), [("nowhere/log", "cannot be written"), ("/dev/full", "could not be written")])
def test_a_log_that_is_not_written_does_not_hide_why_a_table_is_refused(place, log, word):
    refused_table(place)
    said: list[str] = []
    with pytest.raises(TableError, match=r"have no group.*none is dropped; delete rows that are empty$"):
        publish(config(place, log=f'"{log}"'), say=said.append)
    assert any(f"the private log {word}" in line for line in said), said
    assert left(place) == 100


def test_the_log_of_a_refused_table_is_written(place):
    refused_table(place)
    said: list[str] = []
    with pytest.raises(TableError, match=r"have no group.*stands in the private log '.*release-private\.log'$"):
        publish(config(place), say=said.append)
    assert "1 entities have no group" in (place / "release-private.log").read_text()
    assert not [line for line in said if "log" in line]


def test_the_log_tells_a_rehearsal_from_a_release(place):
    publish(config(place), rehearse=True)
    publish(config(place))
    lines = (place / "release-private.log").read_text().splitlines()
    assert [line for line in lines if "not for publication" in line] == [
        "rehearsal: PRIVATE, not for publication",
        "release: PRIVATE, not for publication",
    ]


def test_rows_of_groups_that_are_not_listed_point_to_the_log(place):
    groups = pq.read_table(place / "groups.parquet")
    pq.write_table(groups.slice(0, 50), place / "groups.parquet")
    with pytest.raises(TableError, match=r"does not list;.*private log '.*release-private\.log'$"):
        publish(config(place))
    assert "such groups" in (place / "release-private.log").read_text()


def test_a_log_writes_names_that_are_no_text(tmp_path):
    """The name of a file may hold any bytes; Python reads those that are no UTF-8 as lone surrogates."""
    log = OperatorLog()
    log.rows.faults.append("1 bad row in caf\udce9.csv")
    log.keep(tmp_path / "log", pytest.fail)
    assert r"caf\udce9.csv" in (tmp_path / "log").read_text()
