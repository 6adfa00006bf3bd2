"""Whose a release is: signatures, and what they prove."""

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from made_tables import write_config, write_tables

from pgsr.release import ReleaseConfig, check, finish, publish
from pgsr.release.folder import artefact
from pgsr.release.make.publish import UNFINISHED
from pgsr.release.publishing import digests
from pgsr.release.publishing.errors import ReleaseError, SignatureError
from pgsr.release.publishing.signature import fingerprint, load_private, load_public, new_key, sign


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    new_key(tmp_path / "publisher")
    return tmp_path


def config(place: Path, **keys: str) -> ReleaseConfig:
    return ReleaseConfig.read(write_config(place, **{"sign": '"publisher.key"'} | keys))


def said(folder: Path, key: Path | None) -> str:
    [finding] = [finding for finding in check(folder, key=key).findings if finding.name == "signature"]
    return f"{finding.outcome}: {finding.sentence}"


def test_a_signed_release(place):
    made = publish(config(place))
    public = place / "publisher.pub"
    assert check(made.folder, key=public).passed
    assert said(made.folder, public).startswith(
        f"passed: signed with the key that was given, {fingerprint(load_public(public))}"
    )
    assert said(made.folder, None).startswith("open: signed with the key")
    assert "no public key" in said(made.folder, place / "publisher.key")
    assert {path.name for path in made.folder.iterdir()} == {*artefact.FILES, digests.SIGNATURE}
    times = {path.stat().st_mtime_ns for path in made.folder.iterdir()}
    assert len(times) == 1, "times between them would tell how long the private steps took"


def test_missing_wrong_and_foreign_signatures(place):
    made, public = publish(config(place)).folder, place / "publisher.pub"
    new_key(place / "other")
    foreign = said(made, place / "other.pub")
    assert "signed with another key" in foreign
    assert foreign.endswith("; ask the publisher which key is theirs")
    signed = made / digests.SIGNATURE
    text = signed.read_text()
    fields = json.loads(text)
    other = publish(config(place, output='"second"')).folder
    shutil.copy(other / digests.SIGNATURE, signed)
    assert "is not what was signed; fetch the release again" in said(made, public)
    assert "is not what was signed" in said(made, None)
    for spoiled in ("", "[]", text + "\n", json.dumps(fields), text.replace("Ed25519", "none")):
        signed.write_text(spoiled)
        assert "no signature of a release; fetch the release again" in said(made, public), spoiled
    signed.unlink()
    assert "is not signed" in said(made, public)
    assert said(made, public).endswith("; ask the publisher for a signed copy, or check without --key")


def test_a_key_stays_secret_and_is_never_overwritten(place):
    assert stat.S_IMODE((place / "publisher.key").stat().st_mode) == 0o600
    before = (place / "publisher.key").read_bytes()
    with pytest.raises(SignatureError, match="is there already"):
        new_key(place / "publisher")
    (place / "publisher.pub").unlink()
    with pytest.raises(SignatureError, match="is there already"):
        new_key(place / "publisher")
    assert (place / "publisher.key").read_bytes() == before


@pytest.mark.parametrize(
    ("key", "word"),
    [("absent.key", "cannot be read"), ("publisher.pub", "no private key"), ("regions.csv", "no private")],
)
def test_a_wrong_key_is_refused_before_anything_is_charged(place, key, word):
    with pytest.raises(SignatureError, match=word):
        publish(config(place, sign=f'"{key}"'))
    assert not (place / "ledger.jsonl").exists() or "into release" not in (place / "ledger.jsonl").read_text()
    assert not (place / "release").exists()


def test_what_was_paid_for_is_finished(place, monkeypatch):
    """The noisy values make the signed release later, without the tables and without a charge."""

    def fail(*_arguments, **_options):
        raise OSError(28, "No space left on device", "counts.parquet")

    with monkeypatch.context() as patch:
        patch.setattr("pgsr.release.make.publish.completed", fail)
        with pytest.raises(ReleaseError, match="the disk is full") as caught:
            publish(config(place))
    assert "--finish" in str(caught.value)
    [hidden] = [path for path in place.iterdir() if path.name.startswith(".release.")]
    noisy = (hidden / artefact.MEASUREMENT).read_bytes()
    spent = (place / "ledger.jsonl").read_bytes()
    (place / "entities.parquet").unlink()
    made = finish(hidden, place / "publisher.key")
    assert made.folder == place / "release"
    assert check(made.folder, key=place / "publisher.pub").passed
    assert (made.folder / artefact.MEASUREMENT).read_bytes() == noisy
    assert (place / "ledger.jsonl").read_bytes() == spent
    assert not hidden.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("moment", ["check", "rename"])
def test_a_kill_loses_nothing_that_was_paid_for(place, moment):
    """While the folder is checked, and when only its name is missing."""
    target = "pgsr.release.make.files.check" if moment == "check" else "pathlib.Path.rename"
    path = write_config(place, sign='"publisher.key"')
    code = f"""
import os, unittest.mock, pathlib
from pgsr.release import publish
rename = pathlib.Path.rename
def kill(*given, **_k):
    if {moment!r} == "rename" and not str(given[0]).rpartition("/")[2].startswith(".release."):
        return rename(*given)
    os._exit(9)
with unittest.mock.patch({target!r}, kill):
    publish({str(path)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 9
    [hidden] = [path for path in place.iterdir() if path.name.startswith(".release.")]
    assert check(finish(hidden, place / "publisher.key").folder, key=place / "publisher.pub").passed


def test_a_full_private_log_hides_nothing(place, monkeypatch):
    said: list[str] = []
    made = publish(config(place, log='"/dev/full"'), say=said.append)
    assert made.report.passed
    assert any("private log could not be written" in line for line in said)


def test_a_stopped_rehearsal_is_not_finished(place, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("pgsr.release.make.publish.shutil.rmtree", lambda *_a, **_k: None)
    monkeypatch.setattr("pgsr.methods.mechanism.Mechanism.post_process", stop)
    with pytest.raises(KeyboardInterrupt):
        publish(config(place), rehearse=True)
    [hidden] = [path for path in place.iterdir() if path.name.startswith(".release-rehearsal.")]
    with pytest.raises(ReleaseError, match="stopped rehearsal"):
        finish(hidden, place / "publisher.key")


def test_a_signed_rehearsal_does_not_pass(place):
    folder = publish(config(place), rehearse=True).folder
    sign(folder, load_private(place / "publisher.key"))
    assert not check(folder).passed
    assert not check(folder, key=place / "publisher.pub").passed


def test_what_cannot_be_finished(place, monkeypatch):
    with pytest.raises(ReleaseError, match="no folder that a failed release kept"):
        finish(place)
    torn = place / ".release.abcdefgh"
    torn.mkdir()
    (torn / artefact.MEASUREMENT).write_bytes(b"PAR1")
    with pytest.raises(ReleaseError, match="no complete noisy values"):
        finish(torn)
    (torn / UNFINISHED).write_text("{}")
    with pytest.raises(ReleaseError, match="no complete noisy values"):
        finish(torn)


def test_an_output_is_locked_before_the_charge(place, monkeypatch):
    """A second process that wants the same folder is refused before it pays."""
    from pgsr.release.make import publish as making

    reached = []

    def second(*_arguments):
        with pytest.raises(ReleaseError, match="another process is making 'release'"):
            publish(config(place))
        reached.append(True)
        return {}

    monkeypatch.setattr(making, "require_publishable", second)
    publish(config(place))
    assert reached == [True]


def test_faults_of_the_disk_are_sentences(place):
    for keys, word in (
        ({"output": '"' + "x" * 300 + '"'}, "too long"),
        ({"log": '"' + "y" * 300 + '"'}, "too long"),
    ):
        with pytest.raises(ReleaseError, match=word):
            publish(config(place, **keys))
