"""Every forgery of `forgeries.py` is found by the step that should find it, without the publisher's key.

Where the folder alone cannot tell, the key does, or the announced digest. No folder is signed when the steps are
looked at, so that nothing is found by "the signature is wrong".
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forgeries import FORGERIES, made, raw, text
from forging import Forgery, Target, unsigned

from pgsr.release import ReleaseConfig, check
from pgsr.release.folder import artefact
from pgsr.release.publishing import digests
from pgsr.release.publishing.findings import Outcome
from pgsr.release.publishing.signature import load_private, new_key, sign

Copied = Callable[[str], Target]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ReleaseConfig]:
    """A release, made when it is first asked for."""
    return cache(lambda name: made(name, tmp_path_factory.mktemp("made")))


@pytest.fixture
def copied(release: Callable[[str], ReleaseConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copied:
    def copy(name: str) -> Target:
        config = release(name)
        if name == "intervals":  # as when it was made
            monkeypatch.setattr("pgsr.release.terms.plan.MOST_ROWS", 0)
        return Target(shutil.copytree(config.output, tmp_path / "copy"), config)

    return copy


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The private keys of the publisher and of a forger, and the publisher's public one."""
    folder = tmp_path_factory.mktemp("keys")
    (private, public), (forger, _) = new_key(folder / "publisher"), new_key(folder / "forger")
    return {"publisher": private, "public": public, "forger": forger}


def failed(target: Target, key: Path | None = None, digest: str | None = None) -> list[str]:
    """The steps that found something, the first one first."""
    return [f.name for f in check(target.folder, digest, key).findings if f.outcome is Outcome.FAILED]


def forged(target: Target, forge: Forgery) -> None:
    forge(target)
    with suppress(OSError):  # a file is gone
        target.fix_digests()


@pytest.mark.few(45)
@pytest.mark.parametrize(
    ("name", "forge", "step"),
    [
        pytest.param(name, forge, step, id=f"{name}: {what}", marks=[pytest.mark.slow] * name.startswith("large"))
        for name, what, forge, step in FORGERIES
    ],
)
def test_the_step_that_should_find_it_does(copied: Copied, name: str, forge: Forgery, step: str | None) -> None:
    target = copied(name)
    forged(target, forge)
    assert failed(target)[:1] == [step] * (step is not None)


def rows(target: Target) -> None:
    found = pq.read_table(target / artefact.COUNTS)
    pq.write_table(found.take(pa.array(np.zeros(10**5, int))), target / artefact.COUNTS)


CAUSES: list[tuple[Forgery, str]] = [
    (lambda target: (target / "\x1b[2J\x1b[8mpassed").touch(), r"not of a release: '\x1b[2J\x1b[8mpassed'"),
    (lambda target: os.truncate(target / artefact.README, 2**23), "README.txt has 8,388,608 bytes, more than"),
    (lambda target: os.truncate(target / artefact.COUNTS, 900), "counts.parquet is no whole Parquet file"),
    (lambda target: os.truncate(target / artefact.MEASUREMENT, 900), "measurement.parquet is no whole Parquet file"),
    (partial(raw, artefact.MANIFEST, lambda data: b"\xff" + data), "no text in UTF-8; get the folder anew"),
    (partial(raw, artefact.REGIONS, lambda data: data + b"\xff"), "no text in UTF-8; get the folder anew"),
    (partial(text, artefact.MANIFEST, '"max_quantity": 1', '"max_quantity": 1e400'), "not JSON compliant"),
    (rows, "counts.parquet has 100,000 rows; its regions and sizes have"),
]


def test_a_cause_is_told_and_nothing_is_read_or_printed_that_does_harm(copied: Copied, tmp_path: Path) -> None:
    whole = copied("m_h")
    for place, (forge, cause) in enumerate(CAUSES):
        target = Target(shutil.copytree(whole.folder, tmp_path / str(place)), whole.config)
        forge(target)
        with suppress(ValueError):  # a manifest that is no text
            target.fix_digests()
        findings = check(target.folder).findings
        assert [f.sentence for f in findings if cause in f.sentence], (cause, findings)
        assert all(f.sentence.isprintable() for f in findings)


ONLY_BY_KEY = {
    what: (name, forge) for name, what, forge, step in FORGERIES if step is None and name in ("m_h", "words")
}


@pytest.mark.parametrize("what", ["the release as it is", *ONLY_BY_KEY])
@pytest.mark.few(3)
def test_what_the_folder_does_not_tell_the_key_and_the_digest_do(
    copied: Copied, keys: dict[str, Path], what: str
) -> None:
    """The publisher's signature is left in place, removed, or replaced by another one."""
    name, forge = ONLY_BY_KEY.get(what, ("m_h", lambda target: None))
    target, public = copied(name), keys["public"]
    sign(target.folder, load_private(keys["publisher"]))
    announced = digests.digest_of(target.folder)
    assert not failed(target, public, announced)
    forged(target, forge)
    changed = what in ONLY_BY_KEY
    assert failed(target, public) == ["signature"] * changed
    unsigned(target)
    assert failed(target, public) == ["signature"]
    assert failed(target, digest=announced) == ["digests"] * changed
    sign(target.folder, load_private(keys["forger"]))
    assert failed(target, public) == ["signature"]
    assert not failed(target), "the forger's own signature proves nothing, and refutes nothing"


def test_a_file_that_does_not_have_its_digest_is_found(copied: Copied) -> None:
    target = copied("m_h")
    for name in artefact.FILES:
        whole = (target / name).read_bytes()
        place = len(whole) // 2
        (target / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert failed(target)[0] == "digests", name
        (target / name).write_bytes(whole)
    assert not failed(target)
