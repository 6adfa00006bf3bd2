"""A ledger file that several processes share: no budget is spent twice, and nothing is charged in error."""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from instances import scale

from pgsr.errors import BudgetError
from pgsr.release import LedgerError, LedgerFile

CHARGES = """
import sys
from fractions import Fraction
from pgsr.release import LedgerError, LedgerFile
print("ready", flush=True)
for line in sys.stdin:
    try:
        LedgerFile(line.strip(), "1", "demo").charge(Fraction(2, 3), "two thirds")
        print("charged", flush=True)
    except LedgerError:
        print("refused", flush=True)
"""


def ledger(folder: Path, total: str = "1", data_set: str = "demo", wait: float = 60.0) -> LedgerFile:
    return LedgerFile(folder / "ledger.jsonl", total, data_set, wait)


def test_charges_add_up_exactly(tmp_path):
    for _ in range(3):
        ledger(tmp_path).charge(Fraction(1, 3), "a third")
    assert ledger(tmp_path).left == 0
    with pytest.raises(LedgerError, match="0 of 1 is left"):
        ledger(tmp_path).charge(Fraction(1, 10**6), "one too many")
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 4


def test_nothing_is_written_before_the_first_charge(tmp_path):
    assert ledger(tmp_path).left == 1
    with pytest.raises(LedgerError, match="lower its epsilon"):
        ledger(tmp_path).require(Fraction(2), "too much")
    assert not (tmp_path / "ledger.jsonl").exists()


def test_an_empty_file_is_a_new_ledger(tmp_path):
    """A process may die between making the file and its first line."""
    (tmp_path / "ledger.jsonl").touch()
    assert ledger(tmp_path).left == 1
    ledger(tmp_path).charge(Fraction(1, 2), "first")
    assert ledger(tmp_path).left == Fraction(1, 2)


@pytest.mark.parametrize(("total", "data_set", "word"), [("2", "demo", "total"), ("1", "other", "data set")])
def test_total_and_data_set_are_fixed(tmp_path, total, data_set, word):
    ledger(tmp_path).charge(Fraction(1, 2), "first")
    before = (tmp_path / "ledger.jsonl").read_bytes()
    with pytest.raises(LedgerError, match=word):
        ledger(tmp_path, total, data_set).charge(Fraction(1, 4), "second")
    assert (tmp_path / "ledger.jsonl").read_bytes() == before


def test_every_torn_end_is_refused(tmp_path):
    ledger(tmp_path).charge(Fraction(1, 2), "first")
    ledger(tmp_path).charge(Fraction(1, 4), "second")
    path = tmp_path / "ledger.jsonl"
    whole = path.read_bytes()
    first_lines = {i + 1 for i, byte in enumerate(whole) if byte == ord("\n")}
    for length in range(1, len(whole)):
        if length in first_lines:
            continue  # whole lines: a ledger with fewer charges cannot be told from an older one
        path.write_bytes(whole[:length])
        with pytest.raises(LedgerError, match="torn"):
            ledger(tmp_path).charge(Fraction(1, 8), "third")
        assert path.read_bytes() == whole[:length]


@pytest.mark.parametrize(
    "line", ["nonsense\n", "{}\n", '{"epsilon": "-1"}\n', '{"epsilon": "nan"}\n', '{"epsilon": null}\n', "[]\n"]
)
def test_malformed_lines_are_refused(tmp_path, line):
    ledger(tmp_path).charge(Fraction(1, 2), "first")
    with (tmp_path / "ledger.jsonl").open("a") as file:
        file.write(line)
    with pytest.raises(BudgetError, match="ledger"):
        ledger(tmp_path).charge(Fraction(1, 8), "second")


def test_two_processes_cannot_both_spend_the_last(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", CHARGES], **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in both] == ["ready\n"] * 2
    for trial in range(scale(20, 1_000)):
        folder = tmp_path / str(trial)
        folder.mkdir()
        for process in both:
            process.stdin.write(f"{folder / 'ledger.jsonl'}\n")
            process.stdin.flush()
        assert sorted(process.stdout.readline() for process in both) == ["charged\n", "refused\n"]
        assert ledger(folder).left == Fraction(1, 3)
    for process in both:
        process.communicate(timeout=60)


def test_a_holder_that_does_not_let_go_is_waited_for_then_refused(tmp_path):
    ledger(tmp_path).charge(Fraction(1, 4), "first")
    with ledger(tmp_path)._locked(os.O_RDWR), pytest.raises(LedgerError, match="another process holds"):
        ledger(tmp_path, wait=0.1).charge(Fraction(1, 4), "second")
    ledger(tmp_path).charge(Fraction(1, 4), "second")


def test_a_killed_holder_lets_go(tmp_path):
    code = f"""
import os, time
from pgsr.release.ledger_file import LedgerFile
with LedgerFile({str(tmp_path / "ledger.jsonl")!r}, "1", "demo")._locked(os.O_RDWR | os.O_CREAT):
    print("held", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    ledger(tmp_path, wait=5).charge(Fraction(1, 2), "after")
    assert ledger(tmp_path).left == Fraction(1, 2)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LedgerError, match="nothing was charged"):
        ledger(tmp_path / "nowhere").charge(Fraction(1, 2), "first")


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """Tests may run as root, who may write anywhere, so the refusal is the operating system's in disguise."""

    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LedgerError, match="Permission denied"):
        ledger(tmp_path).charge(Fraction(1, 2), "first")


def test_a_full_disk_charges_nothing(tmp_path):
    """A file-size limit stands for the full disk: writes end in the middle of a line."""
    ledger(tmp_path).charge(Fraction(1, 2), "first")
    path = tmp_path / "ledger.jsonl"
    before = path.read_bytes()
    code = f"""
import resource, signal
from fractions import Fraction
from pgsr.release.ledger_file import LedgerFile
from pgsr.release.errors import LedgerError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 10}, {len(before) + 10}))
try:
    LedgerFile({str(path)!r}, "1", "demo").charge(Fraction(1, 4), "second")
except LedgerError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "nothing was charged" in done.stdout
    assert path.read_bytes() == before
    assert ledger(tmp_path).left == Fraction(1, 2)


def test_lines_are_readable_by_anyone(tmp_path):
    ledger(tmp_path).charge(Fraction(1, 3), "first")
    header, charge = map(json.loads, (tmp_path / "ledger.jsonl").read_text().splitlines())
    assert header["total"] == "1"
    assert charge["epsilon"] == "1/3"
    assert charge["what"] == "first"
    assert (tmp_path / "ledger.jsonl").stat().st_mode & 0o077 == 0
