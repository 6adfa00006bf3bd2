"""`pgsr synthesize`: from two tables to a folder, sizes of a release, a saved model again, refusals in a sentence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, cli
from pgsr.release.errors import ConfigError
from pgsr.synthesis import Mixture, SynthesisError, TypeDistribution, read_population
from pgsr.synthesis.config import SYNTHESIS_EXAMPLE, SynthesisConfig, SynthesisMethod
from pgsr.synthesis.publish import load_model
from pgsr.synthesis.simulators import households
from pgsr.tables import write_long

CONFIG = """
data_set = "made"
epsilon = "1"
delta = "1e-6"
rounds = 5
method = "{method}"
components = 20
k = 2
output = "synthetic"
max_size = 3
[households]
file = "households.parquet"
[persons]
file = "persons.csv"
[household_attributes]
tenure = ["owned", "rented"]
[person_attributes]
sex = ["female", "male"]
years = {{bins = [0, 18, 65], last = 120}}
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
    return tmp_path


def configured(place: Path, method: str = "mwem", more: str = "") -> Path:
    path = place / f"{method}.toml"
    path.write_text(more + CONFIG.format(method=method))
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
        "households.parquet", "model.npz", "persons.parquet", "transcript.json",
    ]  # fmt: skip
    told = json.loads((folder / "transcript.json").read_text())
    assert told["privacy_claim"].startswith("(1, 1/1000000)-differential privacy")
    assert len(told["measured"]) == told["rounds"] == 5
    assert len({m["number"] for m in told["measured"]}) == 5
    config = SynthesisConfig.read(place / "mwem.toml")
    sample = read_population(*tables(folder), config.domain)  # raises where it is not in the domain
    assert sample.n_groups == 300
    assert isinstance(load_model(folder / "model.npz"), TypeDistribution)
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_a_rehearsal_repeats_and_says_so(place):
    for name in ("a", "b"):
        done = invoke(configured(place), "--rehearse", "--output", place / name, "--epsilon", "1/2", "--rounds", "3")
        assert "NOT private" in done.output
    told, again = ((place / f"{n}-rehearsal" / "transcript.json").read_text() for n in "ab")
    assert told == again
    assert json.loads(told)["privacy_claim"] == "none (seeded)"
    assert (json.loads(told)["epsilon"], json.loads(told)["rounds"]) == ("1/2", 3)


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
    pytest.importorskip("torch")
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    release = CountOfCounts(tree, [[2, 10, 5, 1], [0, 3, 8, 4]])
    write_long(release, place / "counts.parquet")
    done = invoke(configured(place, "hpd-fixed"), "--sizes", place / "counts.parquet")
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
    assert isinstance(load_model(place / "synthetic" / "model.npz"), Mixture)


def test_refusals_are_sentences_before_any_noise(place, monkeypatch):
    monkeypatch.setattr("pgsr.synthesis.publish.Secure", lambda: pytest.fail("noise was asked for"))
    tree = Hierarchy.from_parents(["US"], [-1])
    write_long(CountOfCounts(tree, [[0, 1, 0, 0, 7]]), place / "large.parquet")
    (place / "full").mkdir()
    (place / "full" / "a").write_text("")
    for arguments, error, words in [
        ([], ConfigError, "--example"),
        ([place / "absent.toml"], ConfigError, "cannot be read"),
        ([configured(place), "--output", place / "full"], SynthesisError, "is there already"),
        ([configured(place), "--output", place / "no" / "where"], SynthesisError, "does not exist"),
        ([configured(place), "--sizes", place / "large.parquet"], SynthesisError, "for mixtures only"),
        ([configured(place, "hpd-fixed"), "--sizes", place / "large.parquet"], SynthesisError, "size 4"),
        (["--model", place / "mwem.toml", "--groups", 3, "--output", place / "x"], SynthesisError, "no model"),
        (["--model", "m.npz", "--rounds", 3, "--output", place / "x"], ConfigError, "--rounds has no meaning"),
        (["--model", "m.npz"], ConfigError, "--output"),
    ]:
        with pytest.raises(error, match=words):
            invoke(*arguments)
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
    with pytest.raises(ConfigError, match='"hpd-fixed", "hpd-gen", "mwem"'):
        SynthesisConfig.read(configured(place, "best"))


def test_a_failure_after_the_noise_says_what_is_spent(place, monkeypatch):
    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pgsr.synthesis.publish._write", full)
    with pytest.raises(SynthesisError, match=r"epsilon 1 is spent.*disk full"):
        invoke(configured(place))
    hidden = next(p for p in place.iterdir() if p.name.startswith(".synthetic"))
    assert load_model(hidden / "model.npz")


def test_the_example_is_a_configuration(place):
    assert invoke("--example").output == SYNTHESIS_EXAMPLE
    (place / "example.toml").write_text(SYNTHESIS_EXAMPLE)
    config = SynthesisConfig.read(place / "example.toml")
    assert [a.name for a in (*config.domain.group, *config.domain.individual)] == ["area", "vehicles", "sex", "age"]
    with_roles = SYNTHESIS_EXAMPLE.replace("max_size = 5", "max_children = 3")
    (place / "roles.toml").write_text(with_roles)
    assert len(SynthesisConfig.read(place / "roles.toml").domain.roles) == 3


def test_help_names_every_method():
    shown = invoke("--help").output
    assert "pgsr synthesize" in shown
    assert all(str(method) in shown for method in SynthesisMethod)
