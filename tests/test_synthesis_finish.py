"""A synthesis that fails after its charge, and how it is finished; signatures; other names for a kept model."""

import errno
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from made_tables import write_long
from synthesis_fits import fewer_steps
from test_synthesis_command import configured, invoke, place, tables

from pgsr import CountOfCounts, Hierarchy
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.digests import SIGNATURE
from pgsr.release.publishing.errors import ConfigError, SignatureError
from pgsr.release.publishing.signature import new_key
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.data.linked_tables import LinkedTableError
from pgsr.synthesis.publish.check import check_synthesis
from pgsr.synthesis.publish.making import finish
from pgsr.synthesis.publish.sampling import load_model

__all__ = ["fewer_steps", "place"]


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def failed(place: Path, monkeypatch: pytest.MonkeyPatch, at: str, *arguments: object) -> str:
    """Fail at a step after the charge; return the message."""
    with monkeypatch.context() as patch:
        patch.setattr(at, full)
        with pytest.raises(SynthesisError) as caught:
            invoke(configured(place), *arguments)
    assert len(LedgerFile(place / "ledger.jsonl").entries) == 1
    return str(caught.value)


def command_of(message: str) -> list[str]:
    """Take the arguments of the command that a message names."""
    found = re.search("`pgsr synthesize (.*)` makes", message)
    assert found, message
    return shlex.split(found[1])


@pytest.mark.drawn(2)
@pytest.mark.parametrize("at", ["write", "quality.report", "signature.sign", "name_folder", "digests.sums_text"])
def test_the_command_of_the_message_finishes_what_was_paid_for(place, monkeypatch, at):
    """The same folder as without the failure, but for the signature's bytes, which depend on nothing else."""
    new_key(place / "publisher")
    message = failed(place, monkeypatch, f"pgsr.synthesis.publish.making.{at}", "--sign", place / "publisher.key")
    assert "epsilon 1 is spent" in message
    assert "the disk is full" in message
    arguments = command_of(message)
    hidden = Path(arguments[1])
    model, transcript = ((hidden / name).read_bytes() for name in ("model.npz", "transcript.json"))
    assert invoke(*arguments).exit_code == 0
    folder = place / "synthetic"
    assert (folder / "model.npz").read_bytes() == model
    assert (folder / "transcript.json").read_bytes() == transcript
    report = check_synthesis(folder, key=place / "publisher.pub")
    assert report.passed, report
    assert "signed with the key that was given" in repr(report)
    assert len(LedgerFile(place / "ledger.jsonl").entries) == 1
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_what_failed_twice_is_finished_without_its_first_signature(place, monkeypatch):
    new_key(place / "publisher")
    message = failed(place, monkeypatch, "pgsr.synthesis.publish.making.name_folder", "--sign", place / "publisher.key")
    hidden = Path(command_of(message)[1])
    assert (hidden / SIGNATURE).exists()
    finish(hidden)
    assert not (place / "synthetic" / SIGNATURE).exists()
    assert check_synthesis(place / "synthetic").passed


def test_a_fit_that_was_not_complete_is_lost(place, monkeypatch):
    message = failed(place, monkeypatch, "pgsr.synthesis.marginals.filling_fit.FillingFit.fit")
    assert "epsilon 1 is spent; the fit was not complete, and its noisy answers are lost" in message
    assert "--finish" not in message
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_a_model_without_its_transcript_is_kept(place, monkeypatch):
    message = failed(place, monkeypatch, "pgsr.synthesis.publish.making.files.written")
    assert "`pgsr synthesize --model` samples it at no further charge" in message
    [hidden] = [p for p in place.iterdir() if p.name.startswith(".")]
    assert load_model(hidden / "model.npz")
    with pytest.raises(SynthesisError, match="holds no complete fit"):
        finish(hidden)


def test_an_interrupted_synthesis_says_how_to_go_on(place, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pgsr.synthesis.publish.making.write", interrupted)
        done = invoke(configured(place))
    assert "stopped after the noise was drawn" in done.output
    [hidden] = [p for p in place.iterdir() if p.name.startswith(".")]
    finish(hidden)
    assert check_synthesis(place / "synthetic").passed


def test_sizes_are_given_again(place, monkeypatch):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    write_long(CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 4]]), place / "counts.parquet")
    write_long(CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 5]]), place / "others.parquet")
    sizes = ("--sizes", place / "counts.parquet")
    message = failed(place, monkeypatch, "pgsr.synthesis.publish.making.write", *sizes)
    arguments = command_of(message)
    hidden = arguments[1]
    with pytest.raises(SynthesisError, match="was tied to sizes; give them again"):
        finish(hidden)
    with pytest.raises(SynthesisError, match="are not the sizes"):
        finish(hidden, sizes=place / "others.parquet")
    assert invoke(*arguments).exit_code == 0
    assert len(tables(place / "synthetic")[0]) == 33


def test_a_rehearsal_is_not_finished(place, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("pgsr.synthesis.publish.making.write", full)
        with pytest.raises(SynthesisError, match="nothing was charged"):
            invoke(configured(place), "--rehearse")
    assert not [p for p in place.iterdir() if p.name.startswith(".")]
    with monkeypatch.context() as patch:  # a process that is killed removes nothing
        patch.setattr("pgsr.synthesis.publish.making.write", full)
        patch.setattr("pgsr.synthesis.publish.making.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(SynthesisError):
            invoke(configured(place), "--rehearse")
    [hidden] = [p for p in place.iterdir() if p.name.startswith(".")]
    with pytest.raises(SynthesisError, match="is what a stopped rehearsal left"):
        finish(hidden)


def test_finish_refuses_in_a_sentence(place):
    for arguments, error, words in [
        (["--finish", place], SynthesisError, "no folder that a failed synthesis kept"),
        (["--finish", place, "--epsilon", 2], ConfigError, "--epsilon has no meaning with --finish"),
        (["--finish", place, configured(place)], ConfigError, "CONFIG has no meaning with --finish"),
    ]:
        with pytest.raises(error, match=words):
            invoke(*arguments)


def test_a_synthesis_is_signed(place):
    private, public = new_key(place / "publisher")
    _, other = new_key(place / "other")
    path = configured(place, 'sign = "publisher.key"\n')
    assert invoke(path).exit_code == 0
    report = check_synthesis(place / "synthetic", key=public)
    assert report.passed, report
    assert not check_synthesis(place / "synthetic", key=other).passed
    assert invoke(configured(place), "--output", place / "unsigned").exit_code == 0
    unsigned = check_synthesis(place / "unsigned", key=public)
    assert not unsigned.passed
    assert "the synthesis is not signed" in repr(unsigned)
    with pytest.raises(SignatureError, match="cannot be read"):
        invoke(configured(place), "--sign", place / "absent.key", "--output", place / "third")
    assert len(LedgerFile(place / "ledger.jsonl").entries) == 2
    assert invoke(path, "--rehearse").exit_code == 0
    assert not (place / "synthetic-rehearsal" / SIGNATURE).exists()
    assert private.exists()


def test_an_attribute_that_is_called_like_a_column_of_regions_is_not_sampled_with_sizes(place):
    path = configured(place)
    path.write_text(path.read_text().replace("tenure", "level_0"))
    homes = pd.read_parquet(place / "households.parquet").rename(columns={"tenure": "level_0"})
    homes.to_parquet(place / "households.parquet")
    assert invoke(path).exit_code == 0
    write_long(CountOfCounts(Hierarchy.from_parents(["US"], [-1]), [[0, 3, 4]]), place / "counts.parquet")
    again = ["--model", place / "synthetic" / "model.npz", "--output", place / "more"]
    with pytest.raises(
        LinkedTableError, match=r"level_0 is an attribute and a column of the regions; sample .* without"
    ):
        invoke(*again, "--sizes", place / "counts.parquet")
    assert invoke(*again, "--groups", 9).exit_code == 0
