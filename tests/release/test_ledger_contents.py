"""The contents of a ledger file: whatever was edited, torn, lost or put back is refused."""

import json
import subprocess
from fractions import Fraction

import pytest
from instances import scale
from ledger_checks import files, left, new, small, spend

from pgsr.errors import BudgetError
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import BrokenLedgerError, Charge


def test_every_flipped_bit_is_refused(tmp_path):
    """The bits are those of the ledger and of its head, whatever the byte becomes."""
    ledger = small(tmp_path)
    for path in (ledger.path, ledger.path.with_name("ledger.jsonl.head")):
        whole = path.read_bytes()
        says = len(whole) - (path != ledger.path)  # the end of the head's only line says nothing
        for place in range(0, says, scale(3, 1)):
            for bit in range(8) if place % scale(16, 1) == 0 else (place % 8,):
                path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
                with pytest.raises(BrokenLedgerError, match="restore"):
                    ledger.read()
        path.write_bytes(whole)
    assert left(tmp_path) == Fraction(1, 8)


def test_every_removed_doubled_or_swapped_line_is_refused(tmp_path):
    ledger = small(tmp_path)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    n = len(lines)
    changed = [lines[:i] + lines[i + 1 :] for i in range(n)]
    changed += [lines[: i + 1] + lines[i:] for i in range(n)]
    changed += [
        [*lines[:i], lines[j], *lines[i + 1 : j], lines[i], *lines[j + 1 :]] for i in range(n) for j in range(i)
    ]
    changed += [lines[:i] for i in range(1, n)]
    for wrong in changed:
        assert wrong != lines
        ledger.path.write_bytes(b"".join(wrong))
        with pytest.raises(BrokenLedgerError):
            spend(ledger, "1/8")
        assert ledger.path.read_bytes() == b"".join(wrong)


def test_every_torn_end_is_refused(tmp_path):
    ledger = small(tmp_path)
    whole = ledger.path.read_bytes()
    for length in range(0, len(whole), scale(3, 1)):
        ledger.path.write_bytes(whole[:length])
        with pytest.raises(BrokenLedgerError):
            spend(ledger, "1/8")
        assert ledger.path.read_bytes() == whole[:length]


def test_a_ledger_put_back_as_a_whole_is_found_by_the_noted_head_alone(tmp_path):
    """The documented limit: with both files of an earlier time nothing in them tells; the later head is unknown."""
    ledger = new(tmp_path)
    spend(ledger, "1/4")
    earlier = files(tmp_path)
    noted = spend(ledger, "1/2")
    assert noted == ledger.head
    for name, data in earlier.items():
        (tmp_path / name).write_bytes(data)
    assert left(tmp_path) == Fraction(3, 4)
    assert noted not in ledger.read().hashes


@pytest.mark.parametrize("kept", ["ledger.jsonl", "ledger.jsonl.head"])
def test_files_of_different_times_are_refused(tmp_path, kept):
    ledger = new(tmp_path)
    spend(ledger, "1/4")
    earlier = (tmp_path / kept).read_bytes()
    for _ in range(2):
        spend(ledger, "1/4")
    (tmp_path / kept).write_bytes(earlier)
    with pytest.raises(BrokenLedgerError, match="of different times"):
        ledger.read()


def test_without_its_head_a_ledger_is_refused(tmp_path):
    ledger = small(tmp_path)
    (tmp_path / "ledger.jsonl.head").unlink()
    with pytest.raises(BrokenLedgerError, match=r"ledger\.jsonl\.head cannot be read"):
        spend(ledger, "1/8")


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"{}\n", b"[]\n", b"\n", b"1\n", b"\xff\n", b'{"loss": {"epsilon": "-1"}}\n', b"[" * 9999 + b"\n"],
)
def test_malformed_lines_are_refused(tmp_path, line):
    ledger = new(tmp_path)
    spend(ledger, "1/2")
    with ledger.path.open("ab") as file:
        file.write(line)
    with pytest.raises(BudgetError, match="line 3 of the ledger"):
        spend(ledger, "1/8")


def test_charges_that_the_ledger_cannot_hold_are_refused_when_they_are_read(tmp_path):
    """Somebody wrote a proper line, hash and all, that no charge would have written."""
    ledger = new(tmp_path)
    other = LedgerFile.create(tmp_path / "rho.jsonl", "demo", Rho(1))
    other.charge(Charge(Rho(1), "a fit"), "demo")
    fields = json.loads(other.path.read_text().splitlines()[1]) | {"previous": ledger.head}
    with ledger.path.open("a") as file:
        file.write(json.dumps(fields) + "\n")
    with pytest.raises(BrokenLedgerError, match="epsilon alone"):
        ledger.read()


def test_lines_are_readable_by_anyone(tmp_path):
    ledger = LedgerFile.create(tmp_path / "ledger.jsonl", "häuser", Approximate(1, "1e-8"), Relation.MOVE, Unit.GROUP)
    ledger.charge(Charge(PureEpsilon("1/3"), "kuo into release", Relation.MOVE, Unit.GROUP), "häuser")
    header, charge = map(json.loads, ledger.path.read_text().splitlines())
    assert header["total"] == {"epsilon": "1", "delta": "1/100000000"}
    assert (header["data_set"], header["relation"], header["unit"]) == ("häuser", "move", "group")
    assert charge["loss"] == {"epsilon": "1/3"}
    assert (charge["what"], charge["data_set"]) == ("kuo into release", "häuser")
    assert charge["at"].endswith("+00:00")
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o077 == 0, f"{path.name} is for its owner alone"


def test_the_head_is_what_common_tools_compute(tmp_path):
    ledger = small(tmp_path)
    done = subprocess.run(
        f"tail -n 1 {ledger.path} | sha256sum", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == ledger.head == (tmp_path / "ledger.jsonl.head").read_text().strip()
