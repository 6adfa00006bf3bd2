"""The command line of the experiments, experiments in files of a user's own, and the registry."""

import inspect
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sweeps
import typer
from typer.testing import CliRunner

from pgsr import PgsrError
from pgsr.experiments.commands.complete import app
from pgsr.experiments.commands.overview import list_commands
from pgsr.experiments.commands.results import named
from pgsr.experiments.engine import from_file
from pgsr.experiments.engine.experiment import Arm, ExperimentError, Profile
from pgsr.experiments.engine.store import Store, StoredCell
from pgsr.experiments.registry import EXPERIMENTS, find

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_registry_is_sound():
    ids = [experiment.id for experiment in EXPERIMENTS]
    assert len({name.lower() for name in ids}) == len(ids)
    for experiment in EXPERIMENTS:
        for profile in experiment.profiles:
            keys = [task.cell.key for task in experiment.tasks(profile)]
            assert keys
            assert len(set(keys)) == len(keys)
    assert find("k8").id == "K8"
    with pytest.raises(ExperimentError, match=r"'K99' is unknown; use one of .*K8"):
        find("K99")


@pytest.mark.slow
def test_the_command_line(tmp_path, monkeypatch):
    def call(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments])
        assert done.exit_code == 0, done.output
        return done.output

    out = ["--out", str(tmp_path)]
    assert "K8" in call("list")
    assert "8 cells: 8 missing; ran: 4 done; 4 left" in call("run", "k8", "--profile", "smoke", "--limit", "4", *out)
    assert "8" in call("status", "K8", *out)
    store = Store(tmp_path)
    entry = next(iter(store.entries("K8", Profile.SMOKE)))
    assert isinstance(entry, StoredCell)
    store.save(replace(entry, cell=replace(entry.cell, arm="an arm of yesterday")), Profile.SMOKE)
    plotted = call("plot", "K8", "--profile", "smoke", *out)
    assert "1 stored cells are of no arm or data set of today and left out" in " ".join(plotted.split())
    assert "bottom-up is better at" in " ".join(plotted.split())
    assert "profile too small" in " ".join(plotted.split())
    assert {path.suffix for path in (tmp_path / "K8" / "smoke").iterdir()} == {".json", ".png", ".pdf"}
    command = "python -m pgsr.experiments run K8 --profile paper"
    for arguments, words in (
        (["run", "K99"], "use one of"),
        (["plot", "K99"], "use one of"),
        (["status", "K99"], "use one of"),
        (["plot", "K8", "--profile", "paper", *out], command),
        (["show", "K3", "--run", "large"], "use one of smoke, quick"),
    ):
        error = CliRunner().invoke(app, arguments).exception
        assert isinstance(error, PgsrError)
        assert words in str(error)
    monkeypatch.setattr(
        "pgsr.experiments.commands.experiments.find", lambda name: sweeps.experiment(lambda trial: {}, arms=(Arm("a"),))
    )
    assert "1 cells: 1 missing; ran: 1 done" in call("run", "T1", "--profile", "smoke", *out)
    assert "nothing to do: 1 cells, 1 finished" in call("run", "T1", "--profile", "smoke", *out)


def test_show_finds_every_part_of_the_papers_and_lists_near_ones():
    entries = json.loads((ROOT / "docs" / "results" / "shown.json").read_text("utf-8"))
    assert {entry["id"] for entry in entries} == {each.id for each in EXPERIMENTS}
    for experiment in (each for each in EXPERIMENTS if each.paper is not None):
        author, part = experiment.paper.name.partition(" ")[0], experiment.part
        assert experiment.id in [entry["id"] for entry in named(entries, f"{author} {part}")]
        assert [entry["id"] for entry in named(entries, experiment.id.lower())] == [experiment.id]
    assert [entry["id"] for entry in named(entries, "slides")] == ["K3", "K8"]
    assert [entry["id"] for entry in named(entries, "figure 1")] == ["K4"]
    with pytest.raises(PgsrError, match=r"near ones are K1 \(Kuo et al. 2018, section 6: table .*K3 \("):
        named(entries, "kuo table 9")


@pytest.mark.slow
def test_show_answers_within_two_seconds_of_the_processor():
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shown = call("show", "fioretto table 1", cwd=ROOT)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2
    assert "figure  docs/figures/results/PG4-census" in shown.stdout
    assert "data by its recipe" in " ".join(shown.stdout.split())


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """The command line as a user has it, in a folder of the user's."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "150"}
    command = [sys.executable, "-m", "pgsr.experiments", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_files_that_define_no_experiment_are_sentences(tmp_path):
    (tmp_path / "helper.py").write_text("NUMBER = 5\n")
    (tmp_path / "none.py").write_text("from helper import NUMBER\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    several = "import sweeps\nONE, TWO = sweeps.experiment(), sweeps.experiment()\n"
    (tmp_path / "several.py").write_text(several)
    for name, words in (
        ("none.py", "defines no experiment; give the one to run the name EXPERIMENT"),
        ("several.py", "defines several experiments"),
        ("broken.py", "cannot be run: ZeroDivisionError"),
        ("absent.py", "there is no file absent.py"),
    ):
        with pytest.raises(ExperimentError, match=words):
            from_file.load(tmp_path / name)
    (tmp_path / "chosen.py").write_text(several + "EXPERIMENT = TWO\n")
    assert from_file.load(tmp_path / "chosen.py").id == "T1"
    for name in ("two words", "", "../x", "1st"):
        with pytest.raises(ExperimentError, match="cannot name an experiment"):
            from_file.write_template(name, tmp_path)


def test_the_help_that_is_read_from_sources_lists_what_there_is():
    """`--help` imports no experiment; its commands and their words are those of the whole application."""
    listing = typer.Typer(rich_markup_mode="rich")
    list_commands(listing)
    wanted = {each.name or each.callback.__name__.replace("_", "-"): each for each in app.registered_commands}
    shown = {each.name: each.help for each in listing.registered_commands}
    assert sorted(shown) == sorted([*wanted, "data", "lib"])
    assert next(iter(shown)) == "compare"
    for name, command in wanted.items():
        assert shown[name] == inspect.getdoc(command.callback)
    groups = {group.name: group.typer_instance.info.help for group in app.registered_groups}
    assert {name: shown[name] for name in groups} == groups
