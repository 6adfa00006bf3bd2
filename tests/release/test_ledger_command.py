"""The commands `pgsr ledger init | show | verify`: help with examples, tables, exit codes."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pgsr import cli
from pgsr.errors import BudgetError
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge


def invoke(*arguments: object):
    return CliRunner().invoke(cli.app, ["ledger", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.mark.parametrize(
    ("flags", "total", "relation", "unit"),
    [
        (["--total", "2"], PureEpsilon(2), Relation.ADD_REMOVE, Unit.ENTITY),
        (["--total", "1/3", "--delta", "1e-8"], Approximate("1/3", "1e-8"), Relation.ADD_REMOVE, Unit.ENTITY),
        (["--rho", "1/2", "--relation", "replace", "--unit", "group"], Rho("1/2"), Relation.REPLACE, Unit.GROUP),
    ],
)
def test_init(path, flags, total, relation, unit):
    done = invoke("init", path, "--data-set", "demo", *flags)
    assert done.exit_code == 0
    made = LedgerFile(path).read()
    assert (made.data_set, made.total, made.relation, made.unit) == ("demo", total, relation, unit)
    assert made.head in done.stdout


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str, str]:
    """The exit code of the process that a command would be, and what it prints."""
    monkeypatch.setattr("sys.argv", ["pgsr", "ledger", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code, *capsys.readouterr()  # type: ignore[return-value]


def test_from_init_to_verify(path, monkeypatch, capsys):
    assert invoke("init", path, "--data-set", "demo", "--total", "2").exit_code == 0
    head = LedgerFile(path).charge(Charge(PureEpsilon("1/3"), "kuo into [b]release"), "demo")
    shown = invoke("show", path)
    assert shown.exit_code == 0
    for word in ("kuo into [b]release", "epsilon 1/3", "epsilon 5/3", "one row more or less", head):
        assert word in shown.stdout
    verified = invoke("verify", path, "--head", head)
    assert verified.exit_code == 0
    assert "1 charge, every line follows the one before it; the noted head is the last" in verified.stdout
    path.write_text(path.read_text().replace("1/3", "1/9"))
    monkeypatch.chdir(path.parent)
    for arguments, expected in ((("verify", path.name, "--head", head), 1), (("show", path.name), 2)):
        code, *told = ended(monkeypatch, capsys, *arguments)
        assert code == expected
        assert "edited" in told[code - 1]
        assert "restore" in told[code - 1]
        assert len(told[code - 1].strip().splitlines()) == 1


def test_show_tells_all_charges_in_every_currency(path):
    assert invoke("init", path, "--data-set", "demo", "--total", "2", "--delta", "1e-6").exit_code == 0
    ledger = LedgerFile(path)
    for _ in range(2):
        ledger.charge(Charge(PureEpsilon("1/2"), "a release"), "demo")
    shown = invoke("show", path).stdout
    assert "all as epsilon with delta" in shown
    for line in (r"all as epsilon +│ epsilon 1 ", r"all as rho +│ rho 0.24491866", r"delta 1/1000000 "):
        assert re.search(line, shown), shown
    ledger.charge(Charge(Rho("1/100"), "a fit"), "demo")
    shown = invoke("show", path, "--delta", "1/1000").stdout
    assert "something charged is not pure" in shown
    assert "delta 1/1000 " in shown
    ledger.charge(Charge(Approximate("1/100", "1e-7"), "another"), "demo")
    shown = invoke("show", path, "--delta", "1e-8").stdout
    assert "a charge with a delta has no rho" in shown
    assert "the charges' deltas exceed this delta" in shown
    with pytest.raises(BudgetError, match="delta is 1 or more"):
        invoke("show", path, "--delta", "2")


def test_verify_against_heads_that_were_noted(path):
    invoke("init", path, "--data-set", "demo", "--total", "2")
    ledger = LedgerFile(path)
    heads = [ledger.head, *(ledger.charge(Charge(PureEpsilon("1/9"), "one"), "demo") for _ in range(3))]
    for behind, head in enumerate(reversed(heads)):
        done = invoke("verify", path, "--head", head.upper())
        assert done.exit_code == 0
        assert (f"{behind} came after the noted head" if behind else "the noted head is the last") in done.stdout
    done = invoke("verify", path, "--head", "0" * 64)
    assert done.exit_code == 1
    assert "charges were removed since" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("init", "new.jsonl", "--data-set", "demo"), "--total EPSILON --delta DELTA"),
        (("init", "new.jsonl", "--data-set", "demo", "--total", "1", "--rho", "1"), "say what may be spent"),
        (("init", "new.jsonl", "--data-set", "demo", "--rho", "1", "--delta", "1e-8"), "say what may be spent"),
        (("init", "new.jsonl", "--data-set", "demo", "--total", "much"), "finite number"),
        (("init", "new.jsonl", "--data-set", "demo", "--total", "0"), "is 0"),
        (("init", "new.jsonl", "--data-set", "", "--total", "1"), "public name"),
        (("init", "ledger.jsonl", "--data-set", "demo", "--total", "1"), "is there already"),
        (("init", "no/where.jsonl", "--data-set", "demo", "--total", "1"), "make its folder"),
        (("show", "absent.jsonl"), "pgsr ledger init"),
        (("verify", "absent.jsonl"), "restored from a copy"),
        (("verify", "."), "no plain file"),
    ],
)
def test_refusals_are_one_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, word):
    LedgerFile.create(tmp_path / "ledger.jsonl", "demo", PureEpsilon(1))
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    code, _, said = ended(monkeypatch, capsys, *arguments)
    assert code == 2
    assert word in said
    assert len(said.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["init", "show", "verify"])
def test_help_has_examples(command):
    done = invoke(command, "--help")
    assert done.exit_code == 0
    assert f"pgsr ledger {command}" in done.stdout
    assert "Example" in done.stdout
    assert re.search(rf"{command}\s+\w+", invoke("--help").stdout)
