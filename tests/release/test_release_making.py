"""When a release is charged: what is refused costs nothing, and what was paid for outlives every failure."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest
from made_tables import TABLES, config, contents, left, release, write_config
from test_release import BY_LEVEL

from pgsr import PgsrError
from pgsr.errors import BudgetError, HierarchyError, MemoryNeededError, TableError
from pgsr.noise import Geometric
from pgsr.release import finish
from pgsr.release.folder import artefact
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import LedgerError
from pgsr.release.publishing.errors import ConfigError, ReleaseError


def test_the_ledger_is_charged_before_noise_is_drawn(place, monkeypatch):
    seen = []
    measure = Geometric.measure

    def watch(*arguments, **options):
        seen.append(left(place))
        return measure(*arguments, **options)

    monkeypatch.setattr(Geometric, "measure", watch)
    release(config(place))
    assert seen == [99]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["measure", "_write", "_publish"])
@pytest.mark.few(1)
def test_killed_after_the_charge(place, moment):
    """The budget stays spent, and there is no folder that could be taken for a release."""
    target = "pgsr.noise.step.NoiseStep.measure" if moment == "measure" else f"pgsr.release.make.files.{moment}"
    path = write_config(place)
    code = f"""
import os, signal, unittest.mock
from pgsr.release import ReleaseConfig, publish
with unittest.mock.patch({target!r}, lambda *_a, **_k: os.kill(os.getpid(), signal.SIGKILL)):
    publish(ReleaseConfig.read({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert left(place) == 99
    assert not (place / "release").exists()
    release(config(place))
    assert left(place) == 98


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (MemoryError, ReleaseError, "epsilon 1 is spent; the noisy values lie in .*: memory ran out; free some"),
        (AssertionError, ReleaseError, "epsilon 1 is spent; the noisy values lie in .*: AssertionError"),
        (KeyboardInterrupt, KeyboardInterrupt, None),  # whoever ends the process is told by `say`
    ],
)
def test_noisy_values_outlive_a_failing_post_process(place, monkeypatch, error, raised, said):
    """The noisy values, which epsilon has bought, are on the disk before anything else is done with them."""

    def fail(_terms, _measurement):
        raise error

    monkeypatch.setattr("pgsr.methods.mechanism.Mechanism.post_process", fail)
    with pytest.raises(raised, match=said):
        release(config(place))
    [kept] = [path for path in place.iterdir() if path.name.startswith(".release.")]
    assert sorted(contents(kept)) == ["measurement.parquet", "regions.csv", "unfinished.json"]
    assert not (place / "release").exists()


PAID_FOR = [
    ("m_h", {}),
    ("m_h", {"max_size": BY_LEVEL}),
    ("two_stage", {}),
    ("kuo", {"max_size": "60", "threshold": "2"}),
    ("posterior", {"max_size": "9", "threshold": '"root"', "shares": '"root"'}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize("step", ["_write", "check", "_publish"])
@pytest.mark.parametrize(("mechanism", "keys"), PAID_FOR)
def test_noisy_values_that_were_paid_for_are_finished(place, monkeypatch, mechanism, keys, step):
    wanted = config(place, mechanism, **keys)
    with monkeypatch.context() as patch:
        patch.setattr(f"pgsr.release.make.files.{step}", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(ReleaseError, match="--finish"):
            release(wanted)
    assert left(place) == 99
    [hidden] = place.glob(".release.*")
    finished = finish(hidden)
    assert finished.report.passed
    assert left(place) == 99
    assert finished.counts().max_sizes == (wanted.terms.max_sizes or (wanted.terms.largest,) * 3)


def full_folder(place):
    (place / "release").mkdir()
    (place / "release" / "kept.txt").touch()


def orphan(place):
    with (place / "regions.csv").open("a") as file:
        file.write("US/XX/XX1,US/XX\n")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("keys", "error", "word"),
    [
        ({"epsilon": '"101"'}, LedgerError, "100 of epsilon 100 is left"),
        ({"data_set": '"other"'}, LedgerError, "is of the data set 'made'"),
        ({"shares": '["1/2", "1/2"]'}, BudgetError, "2 shares for 3 levels"),
        ({"epsilon": '"1e-6"'}, BudgetError, "larger epsilon"),
        ({"max_size": "1000000000"}, MemoryNeededError, "GiB"),
        ({"ledger": '"nowhere/ledger.jsonl"'}, LedgerError, "nothing was charged"),
        ({"ledger": '"absent.jsonl"'}, LedgerError, "pgsr ledger init absent.jsonl"),
        ({"output": '"nowhere/release"'}, ReleaseError, "does not exist"),
        ({"output": '"release.toml"'}, ConfigError, "which it would spoil"),
        ({"log": '"nowhere/log"'}, ReleaseError, "private log"),
        ({"tables": TABLES.replace("groups.parquet", "absent.parquet")}, TableError, "absent.parquet"),
        ({"tables": TABLES.replace('"regions.csv"', '"regions.csv"\nparent = "above"')}, TableError, "above"),
    ],
)
def test_refusals_charge_nothing(place, keys, error, word):
    with pytest.raises(error, match=word):
        release(config(place, **keys))
    assert left(place) == 100
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("spoil", "error", "word"), [(full_folder, ReleaseError, "not empty"), (orphan, HierarchyError, "orphan")]
)
def test_spoiled_places_charge_nothing(place, spoil, error, word):
    spoil(place)
    with pytest.raises(error, match=word):
        release(config(place))
    assert left(place) == 100


def test_a_full_disk_is_refused_beforehand(place, monkeypatch):
    usage = shutil.disk_usage(place)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(ReleaseError, match="make room"):
        release(config(place))
    assert left(place) == 100


def test_a_disk_that_fills_up_loses_no_noisy_values(place, monkeypatch):
    """What they need is taken before the charge, and given up by none of the writes."""
    charge, taken = LedgerFile.charge, {}

    def look(*given):
        [hidden] = [path for path in place.iterdir() if path.is_dir() and path.name.startswith(".")]
        taken.update({path.name: (path.stat().st_ino, 512 * path.stat().st_blocks) for path in hidden.iterdir()})
        return charge(*given)

    monkeypatch.setattr(LedgerFile, "charge", look)
    made = release(config(place))
    for path in (made / artefact.MEASUREMENT, made / artefact.REGIONS):
        inode, had = taken[path.name]
        assert inode == path.stat().st_ino
        assert 0 < path.stat().st_size <= had
    assert taken["unfinished.json.part"][1] > 2**16
    shutil.rmtree(made)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ReleaseError, match=r"no room for the noisy values.*nothing was charged"):
        release(config(place))
    assert left(place) == 99
    assert not [path for path in place.iterdir() if path.is_dir() and path.name.startswith(".")]


def test_a_read_only_folder_is_refused(place, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_a: False)
    with pytest.raises(PgsrError, match="cannot be written to"):
        release(config(place))
    assert left(place) == 100
