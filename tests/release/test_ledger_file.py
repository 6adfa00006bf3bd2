"""A ledger file that several processes share: no budget is spent twice, and no crash makes it lose a charge."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest
from instances import scale
from ledger_checks import files, left, new, small, spend
from waiting import MINUTES

from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import BrokenLedgerError, Charge, LedgerError

CHARGES = """
import sys
from fractions import Fraction
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.ledger.charge import LedgerError
print("ready", flush=True)
for line in sys.stdin:
    try:
        LedgerFile(line.strip()).charge(Charge(PureEpsilon(Fraction(2, 3)), "two thirds"), "demo")
        print("charged", flush=True)
    except LedgerError:
        print("refused", flush=True)
"""


def test_charges_add_up_exactly(tmp_path):
    ledger = new(tmp_path)
    for _ in range(3):
        spend(LedgerFile(ledger.path), Fraction(1, 3))
    assert ledger.left == PureEpsilon(0)
    with pytest.raises(LedgerError, match="nothing of epsilon 1 is left"):
        spend(ledger, "1e-9")
    assert len(ledger.entries) == 3
    assert len(ledger.path.read_text().splitlines()) == 4


def test_require_writes_nothing(tmp_path):
    ledger = new(tmp_path)
    before = files(tmp_path)
    with pytest.raises(LedgerError, match="lower its epsilon"):
        ledger.require(Charge(PureEpsilon(2), "too much"), "demo")
    ledger.require(Charge(PureEpsilon(1), "enough"), "demo")
    assert files(tmp_path) == before


def test_an_absent_ledger_is_no_full_budget(tmp_path):
    for path in (tmp_path / "ledger.jsonl", tmp_path / "nowhere" / "ledger.jsonl"):
        for use in (lambda file: file.left, lambda file: spend(file, 1)):
            with pytest.raises(
                LedgerError, match=r"pgsr ledger init ledger\.jsonl .*NEW data set.*nothing was charged"
            ):
                use(LedgerFile(path))
    assert not list(tmp_path.iterdir())


def test_a_lost_ledger_is_not_made_again(tmp_path):
    """The .head file, which is left of it, is enough to refuse."""
    new(tmp_path).path.unlink()
    with pytest.raises(LedgerError, match=r"ledger\.jsonl\.head is there already"):
        new(tmp_path)


def test_an_existing_file_is_not_replaced(tmp_path):
    small(tmp_path)
    before = files(tmp_path)
    with pytest.raises(LedgerError, match="second budget"):
        new(tmp_path, "100")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("data_set", "total", "word"),
    [("", PureEpsilon(1), "public name"), ("a\nb", PureEpsilon(1), "plain text"), ("demo", PureEpsilon(0), "is 0")],
)
def test_ledgers_that_make_no_sense_are_not_made(tmp_path, data_set, total, word):
    with pytest.raises(LedgerError, match=word):
        LedgerFile.create(tmp_path / "ledger.jsonl", data_set, total)
    assert not list(tmp_path.iterdir())


def test_an_empty_ledger_is_refused(tmp_path):
    ledger = small(tmp_path)
    ledger.path.write_bytes(b"")
    with pytest.raises(BrokenLedgerError, match="is empty"):
        spend(ledger, "1/8")
    assert ledger.path.read_bytes() == b""


def test_another_data_set_is_refused(tmp_path):
    ledger = new(tmp_path)
    with pytest.raises(LedgerError, match="is of the data set 'demo', and a release is of 'other'"):
        ledger.charge(Charge(PureEpsilon(1), "a release"), "other")
    assert not ledger.entries


def test_a_line_whose_head_was_not_noted_is_spent(tmp_path):
    """A process may die between writing a line and noting its hash: the charge counts, and the ledger goes on."""
    ledger = new(tmp_path)
    spend(ledger, "1/4")
    head = (tmp_path / "ledger.jsonl.head").read_bytes()
    spend(ledger, "1/4")
    (tmp_path / "ledger.jsonl.head").write_bytes(head)
    assert left(tmp_path) == Fraction(1, 2)
    spend(ledger, "1/4")
    assert left(tmp_path) == Fraction(1, 4)


def killed_in(step: str, ledger: LedgerFile) -> None:
    """A process that charges a quarter is killed where this step would begin."""
    code = f"""
import os, signal, unittest.mock
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
append = LedgerFile._append
def killed(*about):
    with unittest.mock.patch.object(LedgerFile, "_note", lambda *_: os.kill(os.getpid(), signal.SIGKILL)):
        append(*about)
LedgerFile._append = killed if {step!r} == "_note" else lambda *_: os.kill(os.getpid(), signal.SIGKILL)
LedgerFile({str(ledger.path)!r}).charge(Charge(PureEpsilon("1/4"), "killed"), "demo")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
def test_two_kills_in_a_row_leave_a_ledger_that_can_be_used(tmp_path):
    """Both between a line and its head: the second charge notes the head of the first one before its own line."""
    ledger = new(tmp_path)
    for kills in (1, 2):
        killed_in("_note", ledger)
        assert left(tmp_path) == 1 - Fraction(kills, 4)
    spend(ledger, "1/4")
    assert len(ledger.entries) == 3


def test_a_head_that_cannot_be_noted_charges_nothing(tmp_path, monkeypatch):
    ledger = new(tmp_path)
    head = (tmp_path / "ledger.jsonl.head").read_bytes()
    spend(ledger, "1/4")
    (tmp_path / "ledger.jsonl.head").write_bytes(head)
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing_once(os.replace))
        with pytest.raises(LedgerError, match="nothing was charged"):
            spend(ledger, "1/4")
    after = files(tmp_path)
    after.pop("ledger.jsonl.head.new", None)
    assert after == before


@pytest.mark.parametrize("kept", [0, 1, 40, None])
def test_a_killed_init_can_be_done_again(tmp_path, kept):
    """It ended before it noted the head, with nothing, a part of the header, or all of it on the disk."""
    ledger = new(tmp_path)
    (tmp_path / "ledger.jsonl.head").unlink()
    ledger.path.write_bytes(ledger.path.read_bytes()[:kept])
    remedy = "unfinished init without any charge: remove it and call `pgsr ledger init` again"
    for use in (ledger.read, lambda: spend(ledger, "1/4"), lambda: new(tmp_path)):
        with pytest.raises(LedgerError, match=remedy):
            use()
    ledger.path.unlink()
    new(tmp_path)
    assert left(tmp_path) == 1


def test_what_may_have_been_charged_is_no_unfinished_init(tmp_path):
    """A charge, a line that is no header, or a head: nobody is told to remove that."""
    ledger = new(tmp_path)
    spend(ledger, "1/4")
    header, charge = ledger.path.read_bytes().splitlines(keepends=True)
    (tmp_path / "ledger.jsonl.head").unlink()
    for text in (header + charge, header + charge[:1], charge, b"{}\n"):
        ledger.path.write_bytes(text)
        with pytest.raises(BrokenLedgerError, match=r"cannot be read.*restore"):
            ledger.read()
        with pytest.raises(LedgerError, match="second budget"):
            new(tmp_path)


@pytest.mark.slow
def test_two_processes_cannot_both_spend_the_last(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", CHARGES], **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in both] == ["ready\n"] * 2
    for trial in range(scale(20, 1_000)):
        folder = tmp_path / str(trial)
        folder.mkdir()
        ledger = new(folder)
        for process in both:
            process.stdin.write(f"{ledger.path}\n")
            process.stdin.flush()
        assert sorted(process.stdout.readline() for process in both) == ["charged\n", "refused\n"]
        assert left(folder) == Fraction(1, 3)
    for process in both:
        process.communicate(timeout=MINUTES)


def test_two_names_of_one_ledger_share_one_lock(tmp_path):
    ledger = new(tmp_path)
    (tmp_path / "link.jsonl").symlink_to(ledger.path)
    linked = LedgerFile(tmp_path / "link.jsonl", wait=0.1)
    with ledger._locked(), pytest.raises(LedgerError, match="another process holds"):
        spend(linked, "1/4")
    spend(linked, "1/4")
    assert left(tmp_path) == Fraction(3, 4)
    assert not list(tmp_path.glob("link.jsonl.*"))


@pytest.mark.slow
def test_a_killed_holder_lets_go(tmp_path):
    ledger = new(tmp_path)
    code = f"""
import time
from pgsr.release.ledger import LedgerFile
with LedgerFile({str(ledger.path)!r})._locked():
    print("held", flush=True)
    time.sleep(1000)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    spend(LedgerFile(ledger.path, wait=MINUTES), "1/2")
    assert left(tmp_path) == Fraction(1, 2)


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """Tests may run as root, who may write anywhere, so the refusal is the operating system's in disguise."""
    ledger = new(tmp_path)

    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LedgerError, match=r"Permission denied.*nothing was charged"):
        spend(ledger, "1/2")


def failing_once(call: Callable) -> Callable:
    """The first call fails."""
    calls = []

    def fails(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            raise OSError(5, "Input/output error")
        return call(*arguments, **options)

    return fails


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_is_not_safely_on_the_disk_is_no_charge(tmp_path, monkeypatch, call):
    ledger = new(tmp_path)
    spend(ledger, "1/2")
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing_once(getattr(os, call)))
        with pytest.raises(LedgerError, match="nothing was charged"):
            spend(ledger, "1/4")
    after = files(tmp_path)
    after.pop("ledger.jsonl.head.new", None)
    assert after == before
    assert left(tmp_path) == Fraction(1, 2)


def test_a_charge_that_can_not_even_be_taken_back_says_so(tmp_path, monkeypatch):
    ledger = new(tmp_path)

    def fail(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(os, "truncate", fail)
    with pytest.raises(LedgerError, match="the charge may stand"):
        spend(ledger, "1/4")
    assert left(tmp_path) == Fraction(3, 4)


@pytest.mark.slow
def test_a_full_disk_charges_nothing(tmp_path):
    """A file-size limit stands for the full disk: writes end in the middle of a line."""
    ledger = new(tmp_path)
    spend(ledger, "1/2", "first")
    before = files(tmp_path)
    size = len(before["ledger.jsonl"]) + 10
    code = f"""
import resource, signal
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.ledger.charge import LedgerError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
try:
    LedgerFile({str(ledger.path)!r}).charge(Charge(PureEpsilon("1/4"), "second"), "demo")
except LedgerError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "nothing was charged" in done.stdout
    assert files(tmp_path) == before
    assert left(tmp_path) == Fraction(1, 2)


@pytest.mark.slow
def test_killed_before_a_line_is_written(tmp_path):
    """The ledger can be read and used, and does not hold the charge."""
    ledger = new(tmp_path)
    killed_in("_append", ledger)
    assert not ledger.entries
    spend(ledger, "1/4")
    assert len(ledger.entries) == 1


@pytest.mark.slow
def test_killed_at_any_time(tmp_path):
    """The charges that were told are in the ledger, and at most one charge more, that nobody was told of."""
    code = """
import os, signal, sys, time
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
for trial, path in enumerate(sys.argv[1:]):  # modules are imported once for all of them
    told, tell = os.pipe()
    if (charging := os.fork()) == 0:
        ledger = LedgerFile(path)
        while True:
            ledger.charge(Charge(PureEpsilon("1/1000000"), "a release"), "demo")
            os.write(tell, b"charged\\n")
    os.close(tell)
    with os.fdopen(told) as lines:
        first = lines.readline()
        time.sleep(0.003 * (trial % 17))
        os.kill(charging, signal.SIGKILL)
        os.waitpid(charging, 0)
        print(len([first, *lines]))
"""
    folders = [tmp_path / str(trial) for trial in range(scale(5, 100))]
    for folder in folders:
        folder.mkdir()
    ledgers = [new(folder) for folder in folders]
    command = [sys.executable, "-c", code, *(str(ledger.path) for ledger in ledgers)]
    counts = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    for ledger, told in zip(ledgers, map(int, counts), strict=True):
        assert len(ledger.entries) in (told, told + 1)
        spend(ledger, "1/2")
