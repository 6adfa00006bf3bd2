"""The command `pgsr`: help with examples, errors in one sentence, exit codes."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest
from made_tables import TABLES, left, stopped_reading, write_config, write_tables
from planned import planned
from rich.console import Console
from typer.testing import CliRunner

from pgsr import PgsrError, __version__, cli
from pgsr.commands.options import MECHANISMS
from pgsr.noise.measurement import pure_epsilons
from pgsr.release import ReleaseConfig, forecast, publish
from pgsr.release.configuration.example import EXAMPLE
from pgsr.release.configuration.schema import schema_text
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.progress import DRAWING, Stages
from pgsr.release.terms.kinds import Kind
from pgsr.tables.session import Session

ROOT = Path(__file__).parents[2]


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pgsr", *map(str, arguments)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(cwd or ROOT), "COLUMNS": "150"}
    return subprocess.run(command, cwd=cwd or ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    return tmp_path


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ended(place: Path, monkeypatch, capsys) -> Callable[..., Ended]:
    """Run `pgsr` in `place` from its arguments to its exit code, in this process."""
    monkeypatch.chdir(place)

    def end(*arguments: object) -> Ended:
        monkeypatch.setattr("sys.argv", ["pgsr", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Ended(caught.value.code, *capsys.readouterr())

    return end


def invoke(*arguments: object):
    """Run a command in this process, which is quicker; errors are raised."""
    return CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=False)


@pytest.mark.slow
def test_from_three_tables_to_a_checked_folder(place, ended):
    """A release and a check that fails, each in a process of its own; what lies between, in this one."""
    write_config(place)
    made = run("release", "release.toml", cwd=place)
    assert made.returncode == 0, made.stderr
    digest = re.search(r"digest\s+([0-9a-f]{64})", made.stdout)
    assert digest
    checked = ended("check", "release", "--digest", digest[1])
    assert checked.code == 0, checked.out
    assert "of 18 checks passed, " in " ".join(checked.out.split())
    (place / "release" / "README.txt").write_text("nothing")
    spoiled = run("check", "release", cwd=place)
    assert spoiled.returncode == 1
    assert "failed" in spoiled.stdout
    assert not spoiled.stderr
    refused = ended("release", "absent.toml")
    assert (refused.code, refused.out) == (2, "")
    assert len(refused.err.splitlines()) == 1
    assert "cannot be read" in refused.err


def test_a_rehearsal_warns(place):
    write_config(place)
    done = invoke("release", place / "release.toml", "--rehearse", "--epsilon", "1/3", "--mechanism", "kuo")
    assert "NOT private" in done.stdout
    manifest = json.loads((place / "release-rehearsal" / "manifest.json").read_text())
    assert (manifest["epsilon"], manifest["mechanism"]) == ("1/3", "kuo")
    checked = invoke("check", place / "release-rehearsal")
    assert checked.stdout.splitlines()[-1].startswith("A rehearsal: NOT private.")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--version",), f"pgsr {__version__}\n"),
        (("release", "--example"), EXAMPLE),
        (("validate", "--schema"), schema_text()),
    ],
)
def test_what_is_stored_is_printed_as_it_is(arguments, shown):
    assert invoke(*arguments).stdout == shown


NO_MEANING = "--{} has no meaning with {}".format
FINISH = ("release", "--finish", ".release.abcdefgh")
BAND = ("intervals", "release", "--kind", "band")
PLAN = ("plan", "release.toml", "--replicates", "2")
TARGET = "--target-error"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("release",), "--example"),
        (("release", "absent.toml"), "cannot be read"),
        (("release", "release.toml", "--epsilon", "-1"), "greater than 0"),
        (
            ("release", "release.toml", "--mechanism", "best"),
            '"m_h", "m_c_dp", "kuo", "bottom_up", "posterior", "two_stage"',
        ),
        (("release", "release.toml", "--epsilon", "1000"), "is left"),
        (("validate",), "--schema"),
        (("selftest", "--epsilon", "many"), "finite number"),
        ((*FINISH, "--output", "other"), NO_MEANING("output", "--finish")),
        ((*FINISH, "--epsilon", "1"), NO_MEANING("epsilon", "--finish")),
        ((*FINISH, "--rehearse"), "--finish takes no configuration"),
        (("selftest", "release.toml", "--epsilon", "1/2"), NO_MEANING("epsilon", "a configuration")),
        (("selftest", "release.toml", "--sensitivity", 1), NO_MEANING("sensitivity", "a configuration")),
        ((*BAND, "--replicates", 50), NO_MEANING("replicates", "--kind band")),
        ((*BAND, "--seed", "s"), NO_MEANING("seed", "--kind band")),
        (("check", "absent"), "error: 'absent' is no folder; name the folder of a release\n"),
        (("check", "absent", "--json"), "error: 'absent' is no folder; name the folder of a release\n"),
        ((*PLAN, TARGET, "county"), "--target-error is 'county'; write LEVEL=ERROR, such as county=50"),
        ((*PLAN, TARGET, "=2"), "--target-error is '=2'; write LEVEL=ERROR"),
        ((*PLAN, TARGET, "level_2=5", TARGET, "level_2=6"), "--target-error is given twice for level_2"),
        ((*PLAN, TARGET, "level_2=inf"), "--target-error is 'level_2=inf'; write LEVEL=ERROR"),
        ((*PLAN, TARGET, "county=5"), "no level is called 'county'; write one of level_0, level_1, level_2"),
        ((*PLAN, "--groups", "5"), "leave out --groups"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(place, ended, arguments, said):
    """Options that would change nothing are refused, too."""
    write_config(place)
    (place / "release").mkdir()
    done = ended(*arguments)
    assert (done.code, len(done.err.strip().splitlines())) == (2, 1)
    assert said in done.err


@pytest.mark.parametrize("command", [info.callback.__name__ for info in cli.app.registered_commands])
def test_help_has_examples(command):
    done = invoke(command, "--help")
    assert done.exit_code == 0
    [lines] = re.findall(r"Examples(.*)", done.stdout, re.DOTALL)
    assert lines.count(f"pgsr {command}") >= 2
    assert "[[" not in done.stdout


@pytest.mark.parametrize("mechanism", [Kind.POSTERIOR, Kind.TWO_STAGE])
def test_validate_tells_what_would_be_released(place, mechanism):
    """The private table is not opened (it is none), and nothing is written."""
    path = write_config(place, mechanism, level_names='["nation", "state", "county"]', epsilon='"1/2"')
    (place / "entities.parquet").write_text("secret")
    before = sorted(place.iterdir())
    shown = " ".join(invoke("validate", path).stdout.split())
    assert [path for path in sorted(place.iterdir()) if path.suffix != ".lock"] == before
    terms = ReleaseConfig.read(path).terms
    words = ("made", f"{mechanism}: noise on", "0 to 3", "1/2 in all", "60 groups", "epsilon 100 left, of epsilon 100")
    for word in (*words, "counts.parquet"):
        assert word in shown, shown
    for level, regions in zip(planned(terms, 3).levels, (1, 2, 4), strict=True):
        [epsilon] = pure_epsilons((level.noise,))
        scale = f"sensitivity {terms.sensitivity.l1}, noise of scale {level.law.scale} (" if level.law else ""
        expected = f"{level.name} │ {regions} region{'s' * (regions > 1)}, epsilon {epsilon}, {scale or 'not measured'}"
        assert expected in shown
    assert "entities.parquet (private, not opened here)" in shown
    assert "secret" not in shown


def test_validate_names_absent_files_among_all_mistakes(place, ended):
    taken(place)
    path = write_config(place, sign='"publisher.key"', epsilon='"1000"')
    for name in ("entities.parquet", "groups.parquet", "regions.csv"):
        (place / name).unlink()
    done = ended("validate", path)
    assert (done.code, done.out) == (2, "")
    lines = done.err.strip().splitlines()
    assert "5 errors in the configuration" in lines[0]
    for line, word in zip(
        lines[1:],
        ("is not empty", "is left", "publisher.key' cannot be read", "the table of groups", "the table of regions"),
        strict=True,
    ):
        assert word in line
    assert "groups.parquet' is not there" in lines[4]
    assert "regions.csv' is not there" in lines[5]


def test_validate_of_private_groups_opens_none_of_them(place):
    tables = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    path = write_config(place, totals='"noisy"', tables=tables)
    (place / "groups.parquet").write_text("secret")
    shown = invoke("validate", path).stdout
    assert "numbers of groups │ epsilon 1/10, sensitivity 1, noise of scale 30" in shown
    assert "groups.parquet (private, not opened here)" in shown


def test_validate_tells_what_is_left_and_what_is_not_there(place):
    assert invoke("release", write_config(place)).exit_code == 0
    (place / "entities.parquet").unlink()
    shown = invoke("validate", write_config(place, name="second")).stdout
    assert "epsilon 99 left, of epsilon 100" in shown
    assert shown.count("NOT THERE") == 1
    for path in place.glob("ledger.jsonl*"):
        path.unlink()
    assert "NOT THERE; `pgsr ledger init` makes one" in invoke("validate", place / "second.toml").stdout


def orphan(place: Path) -> None:
    with (place / "regions.csv").open("a") as file:
        file.write("US/XX/XX1,US/XX\n")


def taken(place: Path) -> None:
    (place / "release").mkdir()
    (place / "release" / "kept.txt").touch()


@pytest.mark.parametrize(
    ("spoil", "keys", "word"),
    [
        (orphan, {}, "orphan"),
        (taken, {}, "is not empty"),
        (None, {"epsilon": '"1000"'}, "is left"),
        (None, {"max_size": "1000000000"}, "GiB"),
    ],
)
def test_validate_refuses_what_release_refuses(place, ended, spoil, keys, word):
    if spoil:
        spoil(place)
    done = ended("validate", write_config(place, **keys))
    assert (done.code, done.out) == (2, "")
    assert word in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not LedgerFile(place / "ledger.jsonl").entries


def test_the_key_that_signs_is_handed_on(place):
    for name in ("publisher", "other"):
        assert invoke("key", "new", place / name).exit_code == 0
    assert invoke("release", write_config(place), "--sign", place / "publisher.key").exit_code == 0
    done = invoke("check", place / "release", "--key", place / "publisher.pub")
    assert done.exit_code == 0
    assert invoke("key", "show", place / "publisher.pub").stdout.strip() in done.stdout.replace("\n", "")
    assert invoke("check", place / "release", "--key", place / "other.pub").exit_code == 1


def test_every_stage_is_known(place):
    """A line that is no stage is printed, and gets no time."""
    said: list[str] = []
    path = write_config(place)
    publish(path, say=said.append)
    forecast(path, replicates=2, say=said.append)
    said.append(DRAWING)  # the command `pgsr intervals` says it
    assert tuple(text for text in said if text in Stages.STAGES) == Stages.STAGES


def shown_on_a_terminal(end: Exception | None = None) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with pytest.raises(type(end)) if end else nullcontext(), Stages(console) as stages:
        stages("reading the tables")
        stages("drawing noise")
        stages.advance(1, 4)
        stages("stopped, and [this] is " + "long " * 40)
        if end:
            raise end
    return console.file.getvalue()


def test_stages_on_a_terminal_have_ticks_and_times():
    last = shown_on_a_terminal().splitlines()[-3:-1]
    assert re.search(r"✓.*reading the tables.*\d\.\d s", last[0])
    assert re.search(r"✓.*drawing noise.*\d\.\d s", last[1])
    assert "[this] is" in shown_on_a_terminal()
    done, failed = shown_on_a_terminal(ValueError()).splitlines()[-3:-1]
    assert ("✓" in done, "✓" in failed) == (True, False)


def test_stages_elsewhere_are_plain_lines_without_times(place):
    lines = invoke("release", write_config(place)).stdout.splitlines()
    assert tuple(line for line in lines if line in Stages.STAGES) == Stages.STAGES[:6]
    assert not re.search(r"\d s$", "\n".join(lines), re.MULTILINE)
    done = invoke("check", place / "release", "--json")
    assert {finding["outcome"] for finding in json.loads(done.stdout)} <= {"passed", "open"}
    assert invoke("check", place / "release").stdout.startswith("checking\n")


def test_selftest_of_a_setting_and_of_a_configuration(place):
    """Three levels of counts at epsilon 1: scale 6. Private rows are not opened."""
    assert "passed" in invoke("selftest", "--epsilon", "1/2", "--sensitivity", "2", "--levels", "3").stdout
    path = write_config(place)
    (place / "entities.parquet").unlink()
    assert "law 6" in invoke("selftest", path).stdout
    assert "law 4" in invoke("selftest", path, "--levels", "2").stdout


POST_PROCESS = "pgsr.methods.mechanism.Mechanism.post_process"


def fail(*_arguments, **_names):
    raise KeyError("secret row")


@pytest.mark.parametrize(
    ("target", "arguments", "words"),
    [
        (POST_PROCESS, ("release", "release.toml"), ("epsilon 1 is spent", "--rehearse --debug")),
        (POST_PROCESS, ("release", "release.toml", "--rehearse"), ("nothing was charged",)),
        (
            "pgsr.release.make.files._publish",
            ("release", "release.toml"),
            ("epsilon 1 is spent", "lie in", "--finish"),
        ),
        ("pgsr.release.check", ("check", "release"), ("no command should raise", "--debug")),
    ],
)
def test_what_nobody_expects_is_a_sentence_too(place, monkeypatch, ended, target, arguments, words):
    write_config(place)
    (place / "release").mkdir()
    monkeypatch.setattr(target, fail)
    code, _, said = ended(*arguments)
    assert code == 2
    assert len(said.strip().splitlines()) == 1
    assert "KeyError" in said
    assert "secret" not in said
    for word in words:
        assert word in said
    kept = [path.name for path in place.iterdir() if path.name.startswith(".release.")]
    assert len(kept) == ("epsilon 1 is spent" in words), "what epsilon has bought is kept"


def test_debug_shows_where(place, monkeypatch):
    write_config(place)
    monkeypatch.chdir(place)
    monkeypatch.setattr(POST_PROCESS, fail)
    monkeypatch.setattr("sys.argv", ["pgsr", "release", "release.toml", "--debug"])
    with pytest.raises(PgsrError) as caught:
        cli.main()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (POST_PROCESS, "epsilon 1 is spent"),
        ("pgsr.release.ledger.LedgerFile.charge", "`pgsr ledger show` tells whether the charge stands"),
    ],
)
def test_an_interrupt_says_what_it_cost(place, ended, monkeypatch, target, said):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    write_config(place)
    monkeypatch.setattr(target, interrupt)
    code, out, _ = ended("release", "release.toml")
    assert code == 130
    assert said in out
    assert "nothing spent" not in out


@pytest.mark.parametrize("arguments", [("release",), ("release", "--rehearse"), ("plan",)])
def test_an_interrupt_of_the_reading_spends_nothing(place, ended, monkeypatch, arguments):
    """DuckDB raises an error of its own for Ctrl-C, which is no fault of the table."""
    write_config(place)
    monkeypatch.setattr(Session, "_run", stopped_reading(Session._run))
    code, out, err = ended(*arguments, "release.toml")
    assert (code, err) == (130, "")
    assert out.splitlines()[-1].strip() == "stopped, nothing spent"
    assert left(place) == 100
    assert not [path for path in place.iterdir() if path.name.startswith(".release")]


def test_plan_shows_the_errors_of_the_configured_release(place):
    (place / "entities.parquet").unlink()
    done = invoke("plan", write_config(place, level_names='["nation", "state", "county"]'), "--replicates", "2")
    assert done.exit_code == 0
    for column in ("level", "regions", "expected error", "nation", "state", "county"):
        assert column in done.stdout
    said = " ".join(done.stdout.split())
    assert "All this is about the stand-in" in said
    assert "no release of epsilon 1, by whatever mechanism, has a smaller error" in said


def test_plan_finds_the_epsilon_of_a_target(place):
    path = write_config(place, level_names='["nation", "state", "county"]')
    (place / "entities.parquet").unlink()
    shown = " ".join(invoke("plan", path, "--replicates", "2", TARGET, "county=5").stdout.split())
    assert re.search(r'epsilon = "[0-9.]+" has expected errors of county [0-9.]+ \(standard error', shown)
    assert "at most 5 was asked" in shown


def test_names_to_complete_are_the_mechanisms():
    assert tuple(Kind) == MECHANISMS
