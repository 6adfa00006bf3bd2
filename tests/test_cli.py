"""The command `pgsr`: help with examples, errors in one sentence, exit codes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from made_tables import write_config, write_tables
from typer.testing import CliRunner

from pgsr import PgsrError, cli
from pgsr.release import EXAMPLE, Kind

ROOT = Path(__file__).parent.parent


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pgsr", *map(str, arguments)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(cwd or ROOT), "COLUMNS": "150"}
    return subprocess.run(command, cwd=cwd or ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    return tmp_path


def invoke(*arguments: object):
    """In this process, which is quicker; errors are raised."""
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=False)


def test_from_three_tables_to_a_checked_folder(place):
    write_config(place)
    made = run("release", "release.toml", cwd=place)
    assert made.returncode == 0, made.stderr
    digest = re.search(r"digest\s+([0-9a-f]{64})", made.stdout)
    assert digest
    checked = run("check", "release", "--digest", digest[1], cwd=place)
    assert checked.returncode == 0, checked.stdout
    assert "15 of 15 checks passed" in checked.stdout
    (place / "release" / "README.txt").write_text("nothing")
    spoiled = run("check", "release", cwd=place)
    assert spoiled.returncode == 1
    assert "failed" in spoiled.stdout
    assert not spoiled.stderr


def test_findings_as_json(place):
    write_config(place)
    assert invoke("release", place / "release.toml", "--rehearse").exit_code == 0
    done = invoke("check", place / "release-rehearsal", "--json")
    assert done.exit_code == 0
    assert {finding["outcome"] for finding in json.loads(done.stdout)} == {"passed"}


def test_a_rehearsal_warns(place):
    write_config(place)
    done = invoke("release", place / "release.toml", "--rehearse", "--epsilon", "1/3", "--mechanism", "kuo")
    assert "NOT private" in done.stdout
    manifest = json.loads((place / "release-rehearsal" / "manifest.json").read_text())
    assert (manifest["epsilon"], manifest["mechanism"]) == ("1/3", "kuo")


def test_the_example_is_printed_as_it_is():
    assert invoke("release", "--example").stdout == EXAMPLE


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("release",), "--example"),
        (("release", "absent.toml"), "cannot be read"),
        (("release", "release.toml", "--epsilon", "-1"), "greater than 0"),
        (("release", "release.toml", "--mechanism", "best"), '"m_h", "m_c_dp", "kuo", "bottom_up"'),
        (("release", "release.toml", "--mechanism", "m_c"), "exact integer program"),
        (("validate",), "--schema"),
        (("validate", "absent.toml"), "cannot be read"),
        (("release", "release.toml", "--max-size", "0"), "from 1 up"),
        (("release", "release.toml", "--epsilon", "1000"), "is left"),
        (("selftest", "--epsilon", "many"), "finite number"),
        (("plan", "absent.toml"), "cannot be read"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(place, arguments, word):
    write_config(place)
    done = run(*arguments, cwd=place)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["release", "check", "selftest", "plan"])
def test_help_has_examples(command):
    done = invoke(command, "--help")
    assert done.exit_code == 0
    assert f"pgsr {command}" in done.stdout
    assert "Example" in done.stdout


def test_selftest_of_a_setting_and_of_a_configuration(place):
    assert "passed" in invoke("selftest", "--epsilon", "1/2", "--sensitivity", "2", "--levels", "3").stdout
    done = invoke("selftest", write_config(place), "--levels", "2")
    assert done.exit_code == 0
    assert "law 4" in done.stdout


def test_selftest_counts_the_levels_of_the_configuration(place):
    """Three levels of counts at epsilon 1: scale 6. Private rows are not opened."""
    (place / "entities.parquet").unlink()
    assert "law 6" in invoke("selftest", write_config(place)).stdout


def fail(*_arguments, **_names):
    raise KeyError("secret row")


@pytest.mark.parametrize(
    ("target", "arguments", "words"),
    [
        ("pgsr.release.making.replayed", ("release", "release.toml"), ("epsilon 1 is spent", "--rehearse --debug")),
        ("pgsr.release.making.replayed", ("release", "release.toml", "--rehearse"), ("nothing was charged",)),
        ("pgsr.release.making._publish", ("release", "release.toml"), ("epsilon 1 is spent", "lies in")),
        ("pgsr.release.check", ("check", "release"), ("no command should raise", "--debug")),
    ],
)
def test_what_nobody_expects_is_a_sentence_too(place, monkeypatch, capsys, target, arguments, words):
    write_config(place)
    monkeypatch.chdir(place)
    (place / "release").mkdir()
    monkeypatch.setattr(target, fail)
    monkeypatch.setattr("sys.argv", ["pgsr", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert "KeyError" in said
    assert "secret" not in said
    for word in words:
        assert word in said
    kept = [path.name for path in place.iterdir() if path.name.startswith(".release.")]
    assert len(kept) == ("epsilon 1 is spent" in words), "what epsilon has bought is kept"


@pytest.mark.parametrize("place_of_flag", [1, 3])
def test_debug_shows_where(place, monkeypatch, place_of_flag):
    write_config(place)
    monkeypatch.chdir(place)
    monkeypatch.setattr("pgsr.release.making.replayed", fail)
    arguments = ["pgsr", "release", "release.toml"]
    arguments.insert(place_of_flag, "--debug")
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(PgsrError) as caught:
        cli.main()
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_says_what_it_cost(place, monkeypatch, capsys):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    write_config(place)
    monkeypatch.chdir(place)
    monkeypatch.setattr("pgsr.release.making.replayed", interrupt)
    monkeypatch.setattr("sys.argv", ["pgsr", "release", "release.toml"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert "epsilon 1 is spent" in capsys.readouterr().out


def test_the_console_script():
    """`make` installs it; .venv/bin/python -m pip install --no-deps --no-build-isolation -e . does, too."""
    script = Path(sys.executable).with_name("pgsr")
    done = subprocess.run([script, "release", "--example"], capture_output=True, text=True, check=True)
    assert done.stdout == EXAMPLE


def test_plan_shows_every_mechanism(place):
    (place / "entities.parquet").unlink()
    done = invoke("plan", write_config(place), "--replicates", "2")
    assert done.exit_code == 0
    for kind in Kind:
        assert str(kind) in done.stdout


def test_names_to_complete_are_the_mechanisms():
    assert tuple(Kind) == cli.MECHANISMS


def test_importing_pgsr_loads_no_command_line():
    heavy = ("typer", "rich", "pgsr.cli", "pgsr.release", "duckdb")
    code = f"import sys, pgsr; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
