"""The command `pgsr synthesize`: two tables to a folder, sizes of a release, a saved model, refusals in a sentence."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_tables import TABLES, stopped_reading, write_config, write_long, write_tables
from synthesis_fits import fewer_steps
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, cli
from pgsr.experiments.others.simulators import households
from pgsr.privacy import Secure
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import ReleaseConfig, publish
from pgsr.release.folder.manifest import written
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.ledger.errors import LedgerError
from pgsr.release.publishing.digests import digest, digest_of
from pgsr.release.publishing.errors import ConfigError, ReleaseError
from pgsr.synthesis import read_population
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.publish.config import SYNTHESIS_EXAMPLE, SynthesisConfig
from pgsr.synthesis.publish.given_sizes import read_sizes
from pgsr.synthesis.publish.making import synthesize
from pgsr.synthesis.publish.sampling import load_model
from pgsr.tables.session import Session

__all__ = ["fewer_steps"]

CONFIG = """
data_set = "made"
epsilon = "1"
delta = "1e-6"
components = 6
k = 2
output = "synthetic"
ledger = "ledger.jsonl"
public_household_attributes = true
max_size = 3
[households]
file = "households.parquet"
[persons]
file = "persons.csv"
[household_attributes]
tenure = ["owned", "rented"]
[person_attributes]
sex = ["female", "male"]
years = {bins = [0, 18, 65], last = 120}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """300 households and their members, with ages as numbers."""
    rng, population = np.random.default_rng(1), households(300, 3)
    tenure = np.array(["owned", "rented"])[population.groups[:, 1]]
    homes = pd.DataFrame({"household": np.arange(300), "tenure": tenure})
    people = pd.DataFrame(
        {"household": population.group_of, "sex": np.array(["female", "male"])[population.persons[:, 1]]}
    )
    people["years"] = rng.integers(0, 120, len(people))
    homes.to_parquet(tmp_path / "households.parquet")
    people.to_csv(tmp_path / "persons.csv", index=False)
    LedgerFile.create(tmp_path / "ledger.jsonl", "made", Approximate(2, "1e-6"))
    return tmp_path


def configured(place: Path, more: str = "") -> Path:
    path = place / "synthesis.toml"
    path.write_text(more + CONFIG)
    return path


def invoke(*arguments: object):
    return CliRunner().invoke(cli.app, ["synthesize", *map(str, arguments)], catch_exceptions=False)


def tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(folder / "households.parquet"), pd.read_parquet(folder / "persons.parquet")


def test_secure_noise_by_default(place):
    done = invoke(configured(place))
    assert done.exit_code == 0, done.output
    folder = place / "synthetic"
    assert sorted(p.name for p in folder.iterdir()) == [
        "SHA256SUMS", "dictionary.csv", "households.parquet", "model.npz", "persons.parquet", "report.html",
        "transcript.json",
    ]  # fmt: skip
    told = json.loads((folder / "transcript.json").read_text())
    assert told["privacy_claim"].startswith("(1, 1/1000000)-differential privacy")
    assert len(told["measured"]) == sum(told["rounds"])
    config = SynthesisConfig.read(place / "synthesis.toml")
    sample = read_population(*tables(folder), config.domain)  # raises where it is not in the domain
    assert sample.n_groups == 300
    assert load_model(folder / "model.npz").domain == config.domain
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_a_rehearsal_repeats_and_says_so(place):
    for name in ("a", "b"):
        done = invoke(configured(place), "--rehearse", "--output", place / name, "--epsilon", "1/2", "--k", "1")
        assert "NOT private" in done.output
    told, again = ((place / f"{n}-rehearsal" / "transcript.json").read_text() for n in "ab")
    assert told == again
    assert json.loads(told)["privacy_claim"] == "none (seeded)"
    assert (json.loads(told)["epsilon"], json.loads(told)["settings"]["k"]) == ("1/2", 1)


def test_a_saved_model_is_sampled_again(place):
    invoke(configured(place))
    model = place / "synthetic" / "model.npz"
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert invoke("--model", model, "--groups", 40, "--seed", seed, "--output", place / name).exit_code == 0
    homes, people = zip(*(tables(place / name) for name in "abc"), strict=True)
    assert len(homes[0]) == 40
    pd.testing.assert_frame_equal(people[0], people[1])
    assert not people[0].equals(people[2])


def test_sizes_are_those_of_the_release(place):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    release = CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 4]])
    write_long(release, place / "counts.parquet")
    done = invoke(configured(place), "--sizes", place / "counts.parquet")
    assert done.exit_code == 0, done.output
    homes, people = tables(place / "synthetic")
    found = homes.groupby("level_1")["COUNT"].value_counts().to_dict()
    georgia = {("GA", size): n for size, n in enumerate([2, 10, 5, 1])}
    assert found == georgia | {("MI", 1): 3, ("MI", 2): 8, ("MI", 3): 4}
    assert set(homes["level_0"]) == {"US"}
    assert homes["household"].is_unique
    assert homes.loc[homes["COUNT"] == 0, "tenure"].isna().all()
    members = people.groupby("household").size().reindex(homes["household"], fill_value=0)
    assert (members.to_numpy() == homes["COUNT"].to_numpy()).all()


def test_refusals_are_sentences_before_any_noise(place, monkeypatch):
    monkeypatch.setattr(Secure, "stream", lambda *_: pytest.fail("noise was asked for"))
    tree = Hierarchy.from_parents(["US"], [-1])
    write_long(CountOfCounts(tree, [[0, 1, 0, 0, 7]]), place / "large.parquet")
    (place / "full").mkdir()
    (place / "full" / "a").write_text("")
    for arguments, error, words in [
        ([], ConfigError, "--example"),
        ([place / "absent.toml"], ConfigError, "cannot be read"),
        (
            [configured(place), "--output", place / "full"],
            ReleaseError,
            "is not empty; remove it or choose another; nothing was",
        ),
        ([configured(place), "--output", place / "no" / "where"], ReleaseError, "does not exist"),
        ([configured(place), "--sizes", place / "large.parquet"], SynthesisError, "size 4"),
        ([configured(place), "--epsilon", 3], LedgerError, "is left in ledger.jsonl"),
        ([configured(place), "--ledger", place / "absent.jsonl"], LedgerError, "pgsr ledger init"),
        (["--model", place / "synthesis.toml", "--groups", 3, "--output", place / "x"], SynthesisError, "no model"),
        (["--model", "m.npz", "--k", 3, "--output", place / "x"], ConfigError, "--k has no meaning"),
        (["--model", "m.npz"], ConfigError, "--output"),
        (["--model", "m.npz", "--ledger", "l", "--output", place / "x"], ConfigError, "--ledger has no meaning"),
    ]:
        with pytest.raises(error, match=words):
            invoke(*arguments)
        assert not LedgerFile(place / "ledger.jsonl").entries
        assert not [p for p in place.iterdir() if p.name.startswith(".")]
    for wrong, words in [("max_children = 2\n", "either max_size"), ("colour = 1\n", "'colour' is unknown")]:
        with pytest.raises(ConfigError, match=words):
            SynthesisConfig.read(configured(place, more=wrong))
    broken = configured(place, more="colour = 1\nseed = true\n")
    spoiled = broken.read_text().replace('["female", "male"]', '["female", 1.5]').replace("[persons]", "[person]")
    broken.write_text(spoiled)
    with pytest.raises(ConfigError, match="4 errors") as caught:
        SynthesisConfig.read(broken)
    for word in ("'seed' is true", "'person' is unknown; did you mean 'persons'", "'sex' of [person_attributes] is ["):
        assert word in str(caught.value)


@pytest.mark.parametrize("stopped", ["require_room", "_fitted", "hidden_folder"])
def test_an_interrupt_between_the_reading_and_the_charge_spends_nothing(place, monkeypatch, stopped):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    said: list[str] = []
    asked = SynthesisConfig.read(configured(place))
    monkeypatch.setattr(f"pgsr.synthesis.publish.making.{stopped}", stop)
    with pytest.raises(KeyboardInterrupt):
        synthesize(asked, say=said.append)
    assert said[-1] == "stopped, nothing spent"
    assert not LedgerFile(place / "ledger.jsonl").entries


def test_an_interrupt_of_the_charge_does_not_say_that_nothing_is_spent(place, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    said: list[str] = []
    asked = SynthesisConfig.read(configured(place))
    monkeypatch.setattr(LedgerFile, "charge", stop)
    with pytest.raises(KeyboardInterrupt):
        synthesize(asked, say=said.append)
    assert said[-1].startswith("stopped while charging")


def test_an_interrupt_of_the_reading_spends_nothing(place, monkeypatch, capsys):
    monkeypatch.setattr(Session, "_run", stopped_reading(Session._run))
    monkeypatch.setattr("sys.argv", ["pgsr", "synthesize", str(configured(place))])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().out.splitlines()[-1].strip() == "stopped, nothing spent"
    assert not LedgerFile(place / "ledger.jsonl").entries


def test_the_example_is_a_configuration(place):
    assert invoke("--example").output == SYNTHESIS_EXAMPLE
    (place / "example.toml").write_text(SYNTHESIS_EXAMPLE)
    config = SynthesisConfig.read(place / "example.toml")
    assert [a.name for a in (*config.domain.group, *config.domain.individual)] == ["area", "vehicles", "sex", "age"]
    with_roles = SYNTHESIS_EXAMPLE.replace("max_size = 5", "max_children = 3")
    (place / "roles.toml").write_text(with_roles)
    assert len(SynthesisConfig.read(place / "roles.toml").domain.roles) == 3


def test_the_ledger_is_charged_before_noise_is_drawn(place, monkeypatch):
    """All of rho, once, under the relation and unit of the synthesis; and the transcript says so."""
    stream, seen = Secure.stream, []

    def watch(source, identity):
        seen.append(len(LedgerFile(place / "ledger.jsonl").entries))
        return stream(source, identity)

    monkeypatch.setattr(Secure, "stream", watch)
    assert invoke(configured(place)).exit_code == 0
    assert set(seen) == {1}
    [entry] = LedgerFile(place / "ledger.jsonl").entries
    budget = SynthesisConfig.read(place / "synthesis.toml").budget
    assert entry.charge == Charge(Rho(budget.rho), "whole-marginals into synthetic", Relation.ADD_REMOVE, Unit.ENTITY)
    told = json.loads((place / "synthetic" / "transcript.json").read_text())
    assert len(seen) == 2 * len(told["measured"]) - told["rounds"][0], "a selection and a measurement, singles apart"
    assert told["charged"] == {"rho": str(budget.rho), "relation": "add_remove", "unit": "entity"}
    assert told["persons"] is None, "the exact number of persons is private"


def test_two_processes_do_not_both_pay_for_one_output(place, monkeypatch):
    """The second is refused while the first holds the name, by whatever way it names the folder."""
    (place / "link").symlink_to(place)
    read, refused = SynthesisConfig.population, []

    def second(config):
        if not refused:
            refused.append(config)
            with pytest.raises(ReleaseError, match=r"another process is making 'synthetic'.*nothing was charged"):
                invoke(configured(place), "--output", place / "link" / "synthetic")
        return read(config)

    monkeypatch.setattr(SynthesisConfig, "population", second)
    assert invoke(configured(place)).exit_code == 0
    assert refused
    assert len(LedgerFile(place / "ledger.jsonl").entries) == 1


def test_an_output_that_appears_meanwhile_is_not_paid_for(place, monkeypatch):
    read = SynthesisConfig.population

    def taken(config):
        (place / "synthetic").mkdir()
        (place / "synthetic" / "notes.txt").write_text("")
        return read(config)

    monkeypatch.setattr(SynthesisConfig, "population", taken)
    with pytest.raises(ReleaseError, match="is not empty"):
        invoke(configured(place))
    assert not LedgerFile(place / "ledger.jsonl").entries
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_files_have_one_time_and_are_on_the_disk(place, monkeypatch):
    """Times between the files would tell how long the fit took."""
    sync, synced = os.fsync, set()

    def watch(descriptor):
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    assert invoke(configured(place)).exit_code == 0
    folder = place / "synthetic"
    paths = [folder, *folder.iterdir()]
    assert len({path.stat().st_mtime_ns for path in paths}) == 1
    assert {path.stat().st_ino for path in [*paths, place]} <= synced


def ended_by_the_console() -> SystemExit:
    """Make what rich's console makes out of a closed pipe."""
    end = SystemExit(1)
    end.__context__ = BrokenPipeError(32, "Broken pipe")
    return end


@pytest.mark.drawn(1)
@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ended_by_the_console()])
def test_a_listener_who_hangs_up_loses_nothing(place, error):
    """The pipe `pgsr synthesize ... | head -1` is closed after every number of lines."""
    for heard in range(5):
        said = []

        def say(line, said=said, heard=heard):
            said.append(line)
            if len(said) > heard:
                raise error

        config = SynthesisConfig.read(configured(place), {"output": str(place / f"heard-{heard}"), "epsilon": "1/9"})
        assert synthesize(config, say=say) == place / f"heard-{heard}"
        assert any("charging" in line for line in said)
        assert "transcript.json" in {p.name for p in (place / f"heard-{heard}").iterdir()}
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_two_fits_share_one_ledger(place):
    """The rho of both is converted once: epsilon 1 and 1 come to less than 2, and a third one is refused."""
    for name in "ab":
        assert invoke(configured(place), "--output", place / name).exit_code == 0
    ledger = LedgerFile(place / "ledger.jsonl")
    assert 0.5 < ledger.left.parts[0] < 0.6
    with pytest.raises(LedgerError, match="lower its epsilon"):
        invoke(configured(place), "--output", place / "c", "--epsilon", "3/2")
    assert len(ledger.entries) == 2


@pytest.mark.parametrize(
    ("total", "relation", "words"),
    [
        (PureEpsilon(9), Relation.ADD_REMOVE, "a ledger of epsilon alone"),
        (Rho(9), Relation.ADD_REMOVE_OR_EMPTY_GROUP, "more or less .* ask for add_remove_or_empty_group"),
    ],
)
def test_ledgers_that_cannot_hold_a_fit(place, total, relation, words):
    LedgerFile.create(place / "other.jsonl", "made", total, relation)
    with pytest.raises(LedgerError, match=words):
        invoke(configured(place), "--ledger", place / "other.jsonl")


def test_what_replacements_alone_protect_is_not_counted_as_a_row_more(place):
    with pytest.raises(LedgerError, match=r"one row whose values change alone.*--relation replace"):
        invoke(configured(place, 'neighbours = "replace"\n'))
    LedgerFile.create(place / "replace.jsonl", "made", Rho(1), Relation.REPLACE)
    done = invoke(configured(place, 'neighbours = "replace"\n'), "--ledger", place / "replace.jsonl")
    assert done.exit_code == 0
    assert LedgerFile(place / "replace.jsonl").entries[0].charge.relation is Relation.REPLACE


def test_a_rehearsal_needs_no_ledger_and_a_synthesis_does(place):
    path = configured(place)
    path.write_text(path.read_text().replace('ledger = "ledger.jsonl"\n', ""))
    with pytest.raises(ConfigError, match="'ledger' is missing"):
        invoke(path)
    assert invoke(path, "--rehearse").exit_code == 0
    told = json.loads((place / "synthetic-rehearsal" / "transcript.json").read_text())
    assert told["charged"] is None


def test_a_failing_fit_says_what_is_spent(place, monkeypatch):
    def fail(*_):
        raise KeyError("secret")

    monkeypatch.setattr("pgsr.synthesis.marginals.filling_fit.FillingFit.fit", fail)
    with pytest.raises(SynthesisError, match=r"epsilon 1 is spent; the fit was not complete.*: KeyError") as caught:
        invoke(configured(place))
    assert "secret" not in str(caught.value)
    assert len(LedgerFile(place / "ledger.jsonl").entries) == 1
    with pytest.raises(SynthesisError, match="nothing was charged"):
        invoke(configured(place), "--rehearse")
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


@pytest.fixture
def released(place: Path, tmp_path_factory) -> Path:
    """A folder with a release, a rehearsal, and a release with noisy totals.

    Of so many groups that no noise leaves a release empty, or like its rehearsal.
    """
    folder = tmp_path_factory.mktemp("released")
    write_tables(folder, n_groups=4_000)
    config = ReleaseConfig.read(write_config(folder))
    publish(config)
    publish(config, rehearse=True)
    private = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    publish(ReleaseConfig.read(write_config(folder, name="noisy", totals='"noisy"', tables=private)))
    return folder


def test_sizes_of_another_relation_or_of_a_rehearsal_are_refused(place, released):
    for relation in (Relation.REPLACE, Relation.MOVE):
        LedgerFile.create(place / f"{relation}.jsonl", "made", Rho(1), relation)
    for relation, sizes, words in [
        (None, "release-rehearsal", "those of a rehearsal"),
        (None, "release-rehearsal/counts.parquet", "those of a rehearsal"),
        (Relation.REPLACE, "release", "protects add_remove, and this synthesis replace"),
        (Relation.MOVE, "noisy", "protects add_remove_or_empty_group, and this synthesis move"),
    ]:
        ledger = place / (f"{relation}.jsonl" if relation else "ledger.jsonl")
        path = configured(place, f'neighbours = "{relation}"\n' if relation else "")
        with pytest.raises(SynthesisError, match=words):
            invoke(path, "--sizes", released / sizes, "--ledger", ledger)
        assert not LedgerFile(ledger).entries
    with pytest.raises(SynthesisError, match="those of a rehearsal"):
        invoke("--model", place / "x.npz", "--sizes", released / "release-rehearsal", "--output", place / "x")


def test_a_number_of_households_beside_sizes_is_refused(place):
    """The sizes say how many there are of each; another number would be ignored."""
    given = ["--sizes", place / "sizes.csv"]
    for arguments in (
        [configured(place), "--groups", 40],
        [configured(place, "groups = 40\n")],
        ["--model", place / "x.npz", "--groups", 40, "--output", place / "x"],
    ):
        with pytest.raises(SynthesisError, match="the sizes say how many households to sample; leave out"):
            invoke(*arguments, *given)
    assert not LedgerFile(place / "ledger.jsonl").entries


def test_sizes_that_hide_households_do_not_hide_a_person_as_well(place, tmp_path):
    """A person more is a household less and another one more: twice the release's epsilon. Persons' values are none."""
    write_tables(tmp_path)
    private = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    LedgerFile.create(tmp_path / "groups.jsonl", "made", PureEpsilon(10), unit=Unit.GROUP)
    keys = {"unit": '"group"', "totals": '"noisy"', "tables": private, "ledger": '"groups.jsonl"'}
    publish(ReleaseConfig.read(write_config(tmp_path, **keys)))
    with pytest.raises(SynthesisError, match=r"protects one group .* and this synthesis a person"):
        invoke(configured(place), "--sizes", tmp_path / "release")
    assert not LedgerFile(place / "ledger.jsonl").entries
    found = read_sizes(tmp_path / "release")
    replace(found, relation=Relation.REPLACE).require(Neighbours.REPLACE, rehearse=False)


def test_a_rehearsal_does_not_pass_for_a_release_in_another_form(place, released):
    """Its CSV file tells no claim, and its Parquet file may lie beside another manifest."""
    rehearsal, real = released / "release-rehearsal", released / "release"
    shutil.copytree(real, released / "mixed")
    shutil.copy(rehearsal / "counts.parquet", released / "mixed" / "counts.parquet")
    shutil.copytree(real, released / "mixed-csv")
    shutil.copy(rehearsal / "counts.csv", released / "mixed-csv" / "counts.csv")
    shutil.copytree(real, released / "relabelled")
    shutil.copy(rehearsal / "counts.parquet", released / "relabelled" / "counts.parquet")
    manifest = json.loads((real / "manifest.json").read_text())
    manifest["files"]["counts.parquet"] = digest(rehearsal / "counts.parquet")
    (released / "relabelled" / "manifest.json").write_text(written(manifest))
    shutil.copy(rehearsal / "counts.csv", rehearsal / "mine.csv")
    (place / "link.csv").symlink_to(rehearsal / "counts.csv")
    for sizes, words in [
        (rehearsal / "counts.csv", "those of a rehearsal"),
        (place / "link.csv", "those of a rehearsal"),
        (rehearsal / "mine.csv", "is not the counts of that release"),
        (released / "mixed", r"counts\.parquet .*is not the table of this release's manifest"),
        (released / "mixed" / "counts.parquet", "is not the table of this release's manifest"),
        (released / "mixed-csv" / "counts.csv", r"counts\.csv .*is not the table of this release's manifest"),
        (released / "relabelled", "another privacy claim than the manifest"),
        (place, r"has no manifest\.json"),
    ]:
        with pytest.raises(SynthesisError, match=words):
            invoke(configured(place), "--sizes", sizes)
        with pytest.raises(SynthesisError, match=words):
            invoke("--model", place / "x.npz", "--sizes", sizes, "--output", place / "x")
        assert not LedgerFile(place / "ledger.jsonl").entries


def test_a_table_in_a_release_is_that_release(released):
    whole = read_sizes(released / "release")
    for name in ("counts.csv", "counts.parquet"):
        found = read_sizes(released / "release" / name)
        assert (found.source, found.relation, found.secure) == (whole.source, whole.relation, True)
        assert (found.counts.counts == whole.counts.counts).all()
        shutil.copy(released / "release" / name, released / name)
        alone = read_sizes(released / name)
        assert set(alone.source) == {"table", "privacy_claim"}


def test_sizes_of_a_release_stand_in_the_transcript(place, released):
    for name in ("release", "noisy"):
        done = invoke(configured(place), "--sizes", released / name, "--output", place / name)
        assert done.exit_code == 0
        told = json.loads((place / name / "transcript.json").read_text())["sizes_from"]
        assert told["digest"] == digest_of(released / name)
        assert (told["epsilon"], told["data_set"]) == ("1", "made")
    done = invoke(configured(place), "--sizes", released / "release-rehearsal", "--rehearse")
    assert done.exit_code == 0, "a rehearsal may be tied to a rehearsal"
