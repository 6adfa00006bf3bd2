"""A synthesis is checked from its folder alone: every change of a file, field, number or label is found."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import write_long
from parquet_footers import HIDING
from synthesis_fits import fewer_steps
from test_synthesis_command import configured, invoke, place
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, cli
from pgsr.errors import MissingPackageError
from pgsr.privacy import Seeded
from pgsr.release.publishing.digests import digest_of, sums_text
from pgsr.release.publishing.findings import Outcome
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.publish.check import check_synthesis
from pgsr.synthesis.publish.folder import FIELDS, FILES
from pgsr.synthesis.publish.given_sizes import require_source

__all__ = ["fewer_steps"]


class Fixed(Seeded):
    """Noise that is the same in every run, and passes for secure: what a change does depends on what was measured."""

    secure = True


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthesis that no test changes."""
    folder = tmp_path_factory.mktemp("once")
    place.__wrapped__(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.synthesis.publish.making.Secure", lambda: Fixed("check"))
        assert invoke(configured(folder)).exit_code == 0
    return folder / "synthetic"


@pytest.fixture
def made(once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(once, tmp_path / "synthetic"))


def signed(folder: Path) -> Path:
    """Write the digests of its files as they are now."""
    (folder / "SHA256SUMS").write_text(sums_text(folder, FILES))
    return folder


def failed(folder: Path) -> dict[str, str]:
    return {f.name: f.sentence for f in check_synthesis(folder).findings if f.outcome is Outcome.FAILED}


def told(folder: Path, **changed: object) -> None:
    path = folder / "transcript.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed, indent=1, ensure_ascii=False) + "\n")
    signed(folder)


def test_a_synthesis_passes(place):
    assert invoke(configured(place)).exit_code == 0
    made = place / "synthetic"
    report = check_synthesis(made)
    assert report.passed, report
    assert len(report.findings) == 11
    assert tuple(json.loads((made / "transcript.json").read_text())) == FIELDS
    assert "nobody can tell without the data whether the noise was secure" in repr(report)


def test_a_rehearsal_passes_and_is_told(place):
    assert invoke(configured(place), "--rehearse").exit_code == 0
    report = check_synthesis(place / "synthetic-rehearsal")
    assert report.passed, report
    assert "THIS IS A REHEARSAL AND NOT PRIVATE" in repr(report)
    assert "nothing was charged" in repr(report)


def test_given_sizes(place):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    write_long(CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 4]]), place / "counts.parquet")
    assert invoke(configured(place), "--sizes", place / "counts.parquet").exit_code == 0
    folder = place / "synthetic"
    report = check_synthesis(folder)
    assert report.passed, report
    assert "not drawn again" in repr(report)
    homes = pd.read_parquet(folder / "households.parquet")
    homes.loc[homes["COUNT"] == 0, "tenure"] = "owned"
    keep(homes, folder / "households.parquet")
    assert "have no attributes" in failed(signed(folder))["tables"]


def test_the_command_chooses_the_check(made):
    def run(*more: str):
        return CliRunner().invoke(cli.app, ["check", str(made), *more])

    digest = digest_of(made)
    assert run("--digest", digest).exit_code == 0
    assert "10 of 11 checks passed, 1 cannot be told" in run().stdout
    assert run("--digest", "0" * 64).exit_code == 1
    (made / "persons.parquet").unlink()
    done = run("--json")
    assert done.exit_code == 1
    assert "missing: persons.parquet" in json.loads(done.stdout)[0]["sentence"]


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_needed_and_digested(made, name):
    whole = (made / name).read_bytes()
    place_of_change = len(whole) // 2
    (made / name).write_bytes(
        whole[:place_of_change] + bytes([whole[place_of_change] ^ 1]) + whole[place_of_change + 1 :]
    )
    assert "digests" in failed(made)
    (made / name).unlink()
    assert name in failed(made)["files"]


def test_no_other_file(made):
    (made / "notes.txt").write_text("")
    assert "not of a synthesis: notes.txt" in failed(made)["files"]


CHANGED = {
    "format": "pgsr synthesis 2",
    "privacy_claim": "(1/2, 1/1000000)-differential privacy",
    "adds_up": "nothing adds up",
    "charged": None,
    "relation": "replace",
    "unit": "group",
    "neighbours": "everybody",
    "epsilon": "1/2",
    "delta": "1/10000000",
    "rho": "1/100",
    "conversion": "tight",
    "rounds": [3],
    "households": 301,
    "persons": 600,
    "method": "another method",
    "settings": {"components": 7},
    "seed": 1,
    "sampled": 299,
    "sizes_from": {},
    "measured": [],
}


@pytest.mark.parametrize("name", CHANGED)
def test_every_field_is_compared(made, name):
    assert json.loads((made / "transcript.json").read_text())[name] != CHANGED[name]
    told(made, **{name: CHANGED[name]})
    assert failed(made), name


def test_fields_that_are_not_compared_are_labels():
    """The name of the data set and the versions follow from nothing, but versions have a form."""
    assert set(FIELDS) - set(CHANGED) == {"data_set", "versions", "domain"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("pgsr", "the 3rd household is rich"), ("numpy", 1), ("numpy", "9" * 41), ("numpy", ""), ("note", "1.0")],
)
def test_versions_are_those_of_the_packages(made, name, value):
    versions = json.loads((made / "transcript.json").read_text())["versions"]
    told(made, versions=versions | {name: value})
    assert "version" in failed(made)["transcript"]
    told(made, versions={name: value for name, value in versions.items() if name != "numpy"})
    assert "versions of transcript.json are not those of python, pgsr" in failed(made)["transcript"]


TABLE_SAID = {"table": "of counts by region and size", "privacy_claim": None}
RELEASE_SAID = {"data_set": "made", "privacy_claim": "none", "epsilon": "1", "neighbours": "n", "digest": "0" * 64}


@pytest.mark.parametrize("said", [TABLE_SAID, TABLE_SAID | {"privacy_claim": "none"}, RELEASE_SAID])
def test_what_is_said_of_given_sizes_has_a_form(said):
    require_source(said)
    wrong: list[object] = [{}, [], "release", said | {"note": "1"}, dict(reversed(said.items()))]
    wrong += [said | {name: value} for name in said for value in (1, {}, ["a"])]
    wrong += [said | ({"digest": "0" * 63} if "digest" in said else {"table": "of incomes"})]
    for source in wrong:
        with pytest.raises(SynthesisError, match="sizes_from of the transcript"):
            require_source(source)


def test_given_sizes_that_say_more_are_found(made):
    told(made, sizes_from=TABLE_SAID | {"note": "the 3rd household is rich"})
    assert "sizes_from" in failed(made)["transcript"]


@pytest.mark.parametrize("name", ["households.parquet", "persons.parquet"])
def test_tables_have_no_metadata_and_no_other_types(made, name):
    table, whole = pq.read_table(made / name), (made / name).read_bytes()
    assert table.schema.metadata is None
    first = table.schema.field(0)
    for changed in (
        table.replace_schema_metadata({"note": "the 3rd household is rich"}),
        table.cast(table.schema.set(0, first.with_metadata({"note": "rich"}))),
        table.cast(table.schema.set(0, first.with_type(pa.int32()))),
    ):
        pq.write_table(changed, made / name)
        assert "metadata" in failed(signed(made))["tables"]
    with pq.ParquetWriter(made / name, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"note": "rich"})
    assert "metadata" in failed(signed(made))["tables"]
    (made / name).write_bytes(whole)
    assert not failed(signed(made))


@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.parametrize("name", ["households.parquet", "persons.parquet"])
def test_tables_hold_no_bytes_that_no_reader_shows(made, name, hide):
    before = pq.read_table(made / name)
    hide(made / name, b"the 3rd household is rich", 1)
    assert pq.read_table(made / name).equals(before)
    assert "bytes that belong to no column" in failed(signed(made))["tables"]


def test_a_model_holds_nothing_more(made):
    path = made / "model.npz"
    whole = path.read_bytes()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("note.npy", "rich")
    assert "note.npy" in failed(signed(made))["model"]
    path.write_bytes(whole)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"rich"
    assert "comments" in failed(signed(made))["model"]
    with np.load(made / "model.npz") as file:
        arrays = dict(file)
    described = json.loads(arrays.pop("domain").tobytes()) | {"note": "rich"}
    np.savez_compressed(path, domain=np.frombuffer(json.dumps(described).encode(), np.uint8), **arrays)
    assert "domain.npy in model.npz is not written" in failed(signed(made))["model"]
    path.write_bytes(whole)
    assert not failed(signed(made))


def test_no_field_more_or_less(made):
    fields = json.loads((made / "transcript.json").read_text())
    told(made, true_error=0.1)
    assert "a field 'true_error', which no synthesis may publish" in failed(made)["transcript"]
    fields.pop("delta")
    (made / "transcript.json").write_text(json.dumps(fields, indent=1) + "\n")
    assert "lacks the field 'delta'" in failed(signed(made))["transcript"]
    (made / "transcript.json").write_text("[" * 5000)
    assert "not JSON" in failed(signed(made))["transcript"]


def test_values_of_the_domain_are_compared(made):
    domain = json.loads((made / "transcript.json").read_text())["domain"]
    domain["group"][0]["values"] = ["owned", "let"]
    told(made, domain=domain)
    assert {"tables", "model"} <= set(failed(made))


def keep(frame: pd.DataFrame, path: Path) -> None:
    """Replace the file, in its columns and types."""
    pq.write_table(pa.Table.from_pandas(frame, pq.read_schema(path)).replace_schema_metadata(None), path)


def spoiled(folder: Path, name: str, column: str, row: int, value: object) -> Path:
    frame = pd.read_parquet(folder / name)
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value
    if isinstance(value, int):
        frame[column] = frame[column].astype("int64")
    keep(frame, folder / name)
    return signed(folder)


@pytest.mark.parametrize(
    ("name", "column", "row", "value"),
    [
        ("households.parquet", "tenure", 3, "let"),
        ("households.parquet", "tenure", 3, None),
        ("households.parquet", "household", 3, 4),
        ("households.parquet", "COUNT", 3, 9),
        ("households.parquet", "COUNT", 3, 0),
        ("persons.parquet", "household", 0, 999),
        ("persons.parquet", "person", 0, 2),
        ("persons.parquet", "role", 0, "guest"),
        ("persons.parquet", "sex", 0, "other"),
        ("persons.parquet", "years", 0, None),
    ],
)
def test_every_value_of_the_tables_is_of_the_domain(made, name, column, row, value):
    assert "tables" in failed(spoiled(made, name, column, row, value))


def test_another_value_of_the_domain_is_found_by_drawing_again(made):
    homes = pd.read_parquet(made / "households.parquet")
    other = {"owned": "rented", "rented": "owned"}[homes.loc[3, "tenure"]]
    assert set(failed(spoiled(made, "households.parquet", "tenure", 3, other))) == {"sample"}


def test_columns_are_those_of_a_synthesis(made):
    homes = pd.read_parquet(made / "households.parquet")
    homes.assign(income=1).to_parquet(made / "households.parquet", index=False)
    assert "income" in failed(signed(made))["tables"]


def test_a_model_of_other_answers_is_found(made, place, monkeypatch):
    monkeypatch.setattr("pgsr.synthesis.publish.making.Secure", lambda: Fixed("other"))
    assert invoke(configured(place), "--output", place / "again").exit_code == 0
    shutil.copy(place / "again" / "model.npz", made / "model.npz")
    assert set(failed(signed(made))) == {"replay", "sample"}
    (made / "model.npz").write_bytes(b"PK")
    assert "holds no model" in failed(signed(made))["model"]


def test_without_torch_a_mixture_is_not_looked_at_and_does_not_pass(place, monkeypatch):
    assert invoke(configured(place)).exit_code == 0

    def missing(*_):
        raise MissingPackageError('torch is missing; pip install ".[synthesis]"')

    monkeypatch.setattr("pgsr.synthesis.marginals.whole_marginals.replay", missing)
    report = check_synthesis(place / "synthetic")
    [finding] = [f for f in report.findings if not f.passed]
    assert (finding.name, finding.outcome) == ("replay", Outcome.SKIPPED)
    assert 'pip install ".[synthesis]"' in finding.sentence
    assert not report.passed


@pytest.mark.parametrize("spoil", ["", "nonsense", "{}", "[]", "null", "1"])
def test_garbage_is_a_finding(made, spoil):
    (made / "transcript.json").write_text(spoil)
    report = check_synthesis(signed(made))
    assert not report.passed
    assert {f.outcome for f in report.findings[4:]} == {Outcome.SKIPPED}


def test_a_folder_that_is_none(tmp_path):
    assert not check_synthesis(tmp_path / "absent").passed
    assert "no folder" in failed(tmp_path / "absent")["files"]
