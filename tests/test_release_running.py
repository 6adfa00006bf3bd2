"""A closed console, a full disk or a log that cannot be written neither ends a release nor hides another fault."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import config, left, write_tables

from pgsr.errors import TableError
from pgsr.release import publish
from pgsr.release.errors import ReleaseError
from pgsr.release.running.places import only_one
from pgsr.release.running.private_log import OperatorLog
from pgsr.release.running.saying import unfailing


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    return tmp_path


def refused_table(place: Path) -> None:
    """A row of entities without a group, which no release accepts."""
    people = pq.read_table(place / "entities.parquet")
    group = pa.array([None, *people["group"].to_pylist()[1:]], pa.int64())
    pq.write_table(
        people.set_column(people.schema.get_field_index("group"), "group", group), place / "entities.parquet"
    )


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(errno.ENOSPC, "No space left on device")])
def test_words_that_nobody_hears_end_nothing(error):
    heard = []

    def say(line: str) -> None:
        heard.append(line)
        raise error

    tell = unfailing(say)
    tell("charging the ledger")
    tell("drawing noise")
    assert heard == ["charging the ledger", "drawing noise"]


def test_a_console_on_a_closed_pipe_ends_nothing():
    """The console turns the closed pipe into the end of the process: tried with a real one, in a process of its own."""
    code = """
import os, sys
from rich.console import Console
from pgsr.release.running.saying import unfailing
read, write = os.pipe()
os.close(read)
say = Console(file=os.fdopen(write, "w")).print
{tell}("charging the ledger")
sys.stderr.write("after it")
"""
    ends, goes_on = (
        subprocess.run([sys.executable, "-c", code.format(tell=tell)], check=False, capture_output=True, text=True)
        for tell in ("say", "unfailing(say)")
    )
    assert ends.returncode == 1
    assert "after it" not in ends.stderr
    assert "after it" in goes_on.stderr


@pytest.mark.parametrize("error", [ValueError("no line"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_else_a_listener_raises_is_raised(error):
    def say(_line: str) -> None:
        raise error

    with pytest.raises(type(error)):
        unfailing(say)("charging the ledger")


def test_a_log_that_cannot_be_written_does_not_hide_why_a_table_is_refused(place):
    refused_table(place)
    said: list[str] = []
    with pytest.raises(TableError, match="have no group"):
        publish(config(place, log='"nowhere/log"'), say=said.append)
    assert any("the private log cannot be written" in line for line in said), said
    assert left(place) == 100


def test_a_log_on_a_full_disk_does_not_hide_why_a_table_is_refused(place):
    refused_table(place)
    said: list[str] = []
    with pytest.raises(TableError, match=r"have no group.*none is dropped$"):
        publish(config(place, log='"/dev/full"'), say=said.append)
    assert any("the private log could not be written" in line for line in said), said


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


def held(target: Path) -> bool:
    """Say whether the name of an output is locked, by trying to lock it."""
    try:
        with only_one(target):
            return False
    except ReleaseError:
        return True


def test_a_lock_is_free_when_it_was_given_back(tmp_path):
    target = tmp_path / "release"
    for _ in range(2):
        with only_one(target):
            assert held(target)
        assert not held(target)


def test_a_release_is_on_the_disk_when_it_gets_its_name(place, monkeypatch):
    """Every file and the folder before the folder is renamed, and afterwards the folder that holds its name."""
    sync, synced = os.fsync, set()
    before_the_name: set[int] = set()
    rename = Path.rename

    def watch(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def named(path: Path, target: Path) -> Path:
        if stat.S_ISDIR(path.stat().st_mode):
            before_the_name.update(synced)
            synced.clear()
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", watch)
    monkeypatch.setattr(Path, "rename", named)
    made = publish(config(place)).folder
    assert {path.stat().st_ino for path in (made, *made.iterdir())} <= before_the_name
    assert place.stat().st_ino in synced
