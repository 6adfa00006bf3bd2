"""What `pgsr synthesize` publishes: public facts, impossible combinations, check, sizes, refusals."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from made_tables import write_long
from synthesis_fits import METHOD
from test_synthesis_command import CONFIG, invoke, place, tables

from pgsr import CountOfCounts, Hierarchy
from pgsr.privacy.accounting import Rho
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.digests import sums_text
from pgsr.release.publishing.errors import ConfigError
from pgsr.synthesis import FilledHouseholds
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.publish.check import check_synthesis
from pgsr.synthesis.publish.config import SYNTHESIS_EXAMPLE, SynthesisConfig
from pgsr.synthesis.publish.folder import FILES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")]

RULES = """
[[impossible]]
years = ["0-17"]
sex = ["male"]
[[implied]]
when = {sex = ["female"]}
then = {years = ["0-17", "18-64"]}
"""
REPLACED = ('neighbours = "replace"\n' + CONFIG).replace("ledger.jsonl", "replace.jsonl")
MOVED = REPLACED.replace("replace", "move")


def configured(place: Path, text: str = REPLACED) -> Path:
    for relation in (Relation.REPLACE, Relation.MOVE):
        if not (place / f"{relation}.jsonl").exists():
            LedgerFile.create(place / f"{relation}.jsonl", "made", Rho(1), relation)
    (place / "c.toml").write_text(text)
    return place / "c.toml"


def test_public_facts_come_out_exactly(place, monkeypatch):
    monkeypatch.setattr(SynthesisConfig, "method", METHOD)
    done = invoke(configured(place, REPLACED + RULES))
    assert done.exit_code == 0, done.output
    homes, people = tables(place / "synthetic")
    true_homes, true_people = pd.read_parquet(place / "households.parquet"), pd.read_csv(place / "persons.csv")
    size = true_people.groupby("household").size()
    want = sorted(zip(true_homes["tenure"], size.reindex(true_homes["household"], fill_value=0), strict=True))
    assert sorted(zip(homes["tenure"], homes["COUNT"], strict=True)) == want
    assert len(people) == len(true_people)
    assert not ((people["years"] == "0-17") & (people["sex"] == "male")).any()
    assert not ((people["sex"] == "female") & (people["years"] == "65-120")).any()
    told = json.loads((place / "synthetic" / "transcript.json").read_text())
    assert told["method"] == "whole-marginals"
    assert told["persons"] == len(true_people)
    assert told["measured"][0]["marginal"] == "households with a member by sex"
    assert len(LedgerFile(place / "replace.jsonl").entries) == 1
    report = check_synthesis(place / "synthetic")
    assert report.passed, report
    assert "marginals and their selections spend exactly" in repr(report)
    page = (place / "synthetic" / "report.html").read_text()
    for words in ("Errors to be expected", "are public and are those of the data", "declared impossible; 0 persons"):
        assert words in page
    listed = pd.read_csv(place / "synthetic" / "dictionary.csv")
    of_homes, of_people = (listed[listed["table"] == name]["column"].tolist() for name in ("households", "persons"))
    assert of_homes == list(homes)
    assert of_people == list(people)


@pytest.mark.drawn(2, pool="whole marginals by the command")
def test_households_as_units(place: Path) -> None:
    """All members of a household are hidden: the noise, the ledger, the transcript, its check and the report say so."""
    text = ('unit = "group"\n' + REPLACED).replace("replace.jsonl", "groups.jsonl")
    LedgerFile.create(place / "groups.jsonl", "made", Rho(1), Relation.REPLACE, Unit.GROUP)
    assert invoke(configured(place, text)).exit_code == 0
    told = json.loads((place / "synthetic" / "transcript.json").read_text())
    assert told["unit"] == told["charged"]["unit"] == "group"
    assert "all members of one group" in told["privacy_claim"]
    of_persons = {m["squared_sensitivity"] for m in told["measured"] if m["level"] == "individual"}
    assert of_persons == {2 * 3**2}
    assert check_synthesis(place / "synthetic").passed
    assert "independent" not in (place / "synthetic" / "report.html").read_text()
    told["unit"] = "entity"
    (place / "synthetic" / "transcript.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    (place / "synthetic" / "SHA256SUMS").write_text(sums_text(place / "synthetic", FILES))
    assert not check_synthesis(place / "synthetic").passed


@pytest.mark.drawn(2, pool="whole marginals by the command")
@pytest.mark.parametrize("text", [CONFIG, MOVED])
def test_other_neighbours(place, text):
    assert invoke(configured(place, text)).exit_code == 0
    homes, people = tables(place / "synthetic")
    true_homes = pd.read_parquet(place / "households.parquet")
    assert sorted(homes["tenure"]) == sorted(true_homes["tenure"])
    assert 300 < len(people) < 900
    assert json.loads((place / "synthetic" / "transcript.json").read_text())["persons"] is None
    report = check_synthesis(place / "synthetic")
    assert report.passed, report


@pytest.mark.drawn(2, pool="whole marginals by the command")
@pytest.mark.parametrize("text", [CONFIG, REPLACED])
def test_sizes_are_those_of_the_release(place, text):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    write_long(CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 4]]), place / "counts.parquet")
    done = invoke(configured(place, text), "--sizes", place / "counts.parquet")
    assert done.exit_code == 0, done.output
    homes, people = tables(place / "synthetic")
    found = homes.groupby("level_1")["COUNT"].value_counts().to_dict()
    assert found == {("GA", s): n for s, n in enumerate([2, 10, 5, 1])} | {("MI", 1): 3, ("MI", 2): 8, ("MI", 3): 4}
    members = people.groupby("household").size().reindex(homes["household"], fill_value=0)
    assert (members.to_numpy() == homes["COUNT"].to_numpy()).all()
    assert check_synthesis(place / "synthetic").passed


def test_a_model_is_sampled_again(place):
    invoke(configured(place))
    model = place / "synthetic" / "model.npz"
    assert isinstance(FilledHouseholds.load(model), FilledHouseholds)
    assert invoke("--model", model, "--groups", 40, "--seed", 1, "--output", place / "more").exit_code == 0
    assert len(tables(place / "more")[0]) == 40


CHANGES = {
    "a noisy count": lambda told: told["measured"][0]["noisy"].__setitem__(0, told["measured"][0]["noisy"][0] + 40),
    "the variance": lambda told: told["measured"][0].__setitem__("variance", "1"),
    "the rho of one": lambda told: told["measured"][-1].__setitem__("rho", "1/1000"),
    "a marginal": lambda told: told["measured"][-1].__setitem__("group", []),
    "the rounds": lambda told: told.__setitem__("rounds", told["rounds"][::-1]),
    "the relation": lambda told: told.__setitem__("relation", "move"),
    "an impossible combination": lambda told: told["settings"].__setitem__("impossible", []),
    "the components": lambda told: told["settings"].__setitem__("components", 7),
    "persons": lambda told: told.__setitem__("persons", told["persons"] + 1),
    "one measurement less": lambda told: told["measured"].pop(),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    place.__wrapped__(folder)
    assert invoke(configured(folder, REPLACED + RULES), "--rehearse").exit_code == 0
    return folder / "synthetic-rehearsal"


@pytest.mark.drawn(2)
@pytest.mark.parametrize("what", CHANGES)
def test_changes_are_found(made: Path, what: str, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(made, folder)
    assert check_synthesis(folder).passed or what != next(iter(CHANGES))
    told = json.loads((folder / "transcript.json").read_text())
    CHANGES[what](told)
    (folder / "transcript.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    (folder / "SHA256SUMS").write_text(sums_text(folder, FILES))
    assert not check_synthesis(folder).passed


def test_refusals(place) -> None:
    for text, words in [
        ('unit = "group"\n' + CONFIG, "which households there are"),
        ('unit = "entity in 2 groups"\n' + REPLACED, "lives in one household"),
        (CONFIG + "[[impossible]]\nincome = [1]\n", "names income"),
        (CONFIG + "[[impossible]]\nsex = 'male'\n", "write an array"),
        (CONFIG + "[[implied]]\nwhen = {sex = ['male']}\n", "two keys"),
    ]:
        with pytest.raises((ConfigError, SynthesisError), match=words):
            invoke(configured(place, text))


def test_the_example_shows_impossible_combinations(tmp_path: Path) -> None:
    (tmp_path / "example.toml").write_text(SYNTHESIS_EXAMPLE)
    config = SynthesisConfig.read(tmp_path / "example.toml")
    assert config.impossible == ()
    lines = SYNTHESIS_EXAMPLE.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# [[impossible]]"))
    shown = [line.removeprefix("# ") for line in lines[start:]]
    (tmp_path / "example.toml").write_text("\n".join([*lines[:start], *shown]))
    assert len(SynthesisConfig.read(tmp_path / "example.toml").impossible) == 2
