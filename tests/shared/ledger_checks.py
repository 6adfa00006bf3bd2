"""The ledgers that tests write, and short ways to use them."""

import os
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest import MonkeyPatch  # noqa: PT013

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


def charges_are_on_the_disk() -> None:
    """When a charge returns, its line, the head and the folder were synced, as they are then."""
    sync, synced = os.fsync, {}

    def watch(descriptor: int) -> None:
        synced[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size
        sync(descriptor)

    with TemporaryDirectory() as name, MonkeyPatch.context() as patch:
        ledger = new(Path(name))
        patch.setattr(os, "fsync", watch)
        spend(ledger, "1/4")
        for path in (ledger.path, ledger.files["ledger's head"], Path(name)):
            assert synced.get(path.stat().st_ino) == path.stat().st_size, f"{path.name} is not on the disk"
