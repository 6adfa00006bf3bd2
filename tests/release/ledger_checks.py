"""The ledgers that tests write, and short ways to use them."""

from fractions import Fraction
from pathlib import Path

from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge


def new(folder: Path, total: str = "1") -> LedgerFile:
    return LedgerFile.create(folder / "ledger.jsonl", "demo", PureEpsilon(total))


def spend(ledger: LedgerFile, epsilon: object, what: str = "a release") -> str:
    return ledger.charge(Charge(PureEpsilon(str(epsilon)), what), "demo")


def left(folder: Path) -> Fraction:
    return LedgerFile(folder / "ledger.jsonl").left.parts[0]


def small(folder: Path) -> LedgerFile:
    """Make a ledger with three charges."""
    ledger = new(folder)
    for part in ("1/2", "1/4", "1/8"):
        spend(ledger, part, f"a part of {part}")
    return ledger


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}
