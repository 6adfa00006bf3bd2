"""The places of results: locked while they are made, and on the disk when they get their names."""

import os
import stat
from pathlib import Path

from made_tables import config

from pgsr.release import publish
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.places import only_one


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
    (tmp_path / "link").symlink_to(tmp_path)
    with only_one(target):
        assert held(tmp_path / "link" / "release"), "two names of one output share one lock"


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
