"""The contents of a ledger: lines of JSON, each holding the SHA-256 of the line before it; every line is checked."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pgsr.errors import BudgetError, PgsrError
from pgsr.privacy.accounting import Rho
from pgsr.privacy.accounting.loss import Loss, epsilon_delta
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger.charge import BrokenLedgerError, Charge, LedgerError
from pgsr.release.ledger.sums import counted, fits, spent

FORMAT = "pgsr ledger 1"


@dataclass(frozen=True)
class LedgerEntry:
    """A charge that was made, with its data set and time (UTC)."""

    charge: Charge
    data_set: str
    at: str


@dataclass(frozen=True)
class LedgerContents:
    """The contents of a ledger whose lines were checked.

    Attributes:
        data_set: whose ledger it is.
        total: what may be spent in all.
        relation, unit: what the total protects.
        entries: the charges, oldest first.
        hashes: SHA-256 of every line, the header's first.
    """

    data_set: str
    total: Loss
    relation: Relation
    unit: Unit
    entries: tuple[LedgerEntry, ...]
    hashes: tuple[str, ...]

    @property
    def head(self) -> str:
        """The SHA-256 of the last line, on which all lines before it depend."""
        return self.hashes[-1]

    @cached_property
    def counted(self) -> tuple[Loss, ...]:
        """The charges, each under the relation of the ledger."""
        return tuple(counted(e.charge.loss, e.charge.relation, self.relation) for e in self.entries)

    @property
    def spent(self) -> Loss:
        """The sum of all charges, in the currency of the total."""
        return spent(self.total, self.counted)

    @property
    def left(self) -> Loss:
        """The total without what is spent, part by part; rho counts as epsilon at the delta that is left."""
        left = (max(Fraction(0), a - b) for a, b in zip(self.total.parts, self.spent.parts, strict=True))
        epsilon, delta, rho = left
        if isinstance(self.total, Rho):
            return Rho(rho)
        return epsilon_delta(epsilon, delta)

    def require(self, charge: Charge, data_set: str, name: str) -> None:
        """Raise `LedgerError` unless the charge may be made; `name` is the ledger's, for the message."""
        if data_set != self.data_set:
            raise LedgerError(
                f"the ledger {name} is of the data set {self.data_set!r}, and {charge.what} is of {data_set!r}; "
                "name its own ledger, or write data_set as the ledger has it"
            )
        if charge.unit != self.unit:
            raise LedgerError(
                f"{charge.what} protects the unit {charge.unit}, and the ledger {name} counts the unit {self.unit}; "
                "keep a ledger of its own"
            )
        if not fits(self.total, [*self.counted, counted(charge.loss, charge.relation, self.relation)]):
            if any(self.left.parts):
                have, remedy = f"{self.left} of {self.total} is left in {name}", "lower its epsilon"
            else:
                have = f"nothing of {self.total} is left in {name}"
                remedy = "what is published already may be used and worked on at no cost, and no more can be released"
            raise LedgerError(f"{charge.what} would spend {charge.loss}, and {have}; {remedy}; nothing was charged")


def header_line(data_set: str, total: Loss, relation: Relation, unit: Unit, at: str) -> bytes:
    """Write the first line of a ledger."""
    fields = {"format": FORMAT, "data_set": data_set, "total": total.texts(), "relation": relation, "unit": str(unit)}
    return _line({**fields, "at": at})


def charge_line(charge: Charge, data_set: str, at: str, previous: str) -> bytes:
    """Write the line of a charge after the line with the hash `previous`."""
    fields = {"what": charge.what, "loss": charge.loss.texts(), "relation": charge.relation, "unit": str(charge.unit)}
    return _line({**fields, "data_set": data_set, "at": at, "previous": previous})


def is_header(line: bytes) -> bool:
    """Say whether the line, with its end, is the first one of a ledger."""
    try:
        _checked(line, 0, "", _header)
    except BrokenLedgerError:
        return False
    return True


def hash_of(line: bytes) -> str:
    """Compute the SHA-256 of a line with its end, as `tail -n 1 LEDGER | sha256sum` gives it for the last."""
    return hashlib.sha256(line).hexdigest()


def read(data: bytes, head: str, name: str) -> LedgerContents:
    """Read the ledger that these bytes are, and check every line.

    Args:
        data: of the file.
        head: hash of the last line, noted with the last charge. One more line than it knows is taken: the process
            ended between writing the line and noting its hash.
        name: of the ledger, for messages.

    Raises:
        BrokenLedgerError: the ledger is empty, torn, shortened or edited.
    """
    if not data:
        raise BrokenLedgerError(f"the ledger {name} is empty, so nobody knows what was spent; {REMEDY}")
    if not data.endswith(b"\n"):
        raise BrokenLedgerError(f"the last line of the ledger {name} is torn, so a charge may be missing; {REMEDY}")
    lines = data.splitlines(keepends=True)
    hashes = tuple(map(hash_of, lines))
    data_set, total, relation, unit = _checked(lines[0], 0, name, _header)
    entries = []
    for number, line in enumerate(lines[1:], 1):
        entry, previous = _checked(line, number, name, _entry)
        if previous != hashes[number - 1]:
            raise BrokenLedgerError(
                f"line {number + 1} of the ledger {name} does not follow the line before it: a line was edited, "
                f"removed or moved; {REMEDY}"
            )
        if entry.data_set != data_set:
            raise BrokenLedgerError(f"line {number + 1} of the ledger {name} is of another data set; {REMEDY}")
        entries.append(entry)
    if head not in hashes[-2:]:
        raise BrokenLedgerError(
            f"the ledger {name} does not end as its last charge left it: its last lines were edited, removed or added, "
            f"or it and its .head file are of different times; {REMEDY}"
        )
    contents = LedgerContents(data_set, total, relation, unit, tuple(entries), hashes)
    try:
        _ = contents.spent
    except BudgetError as error:
        raise BrokenLedgerError(f"the ledger {name} holds a charge that it cannot hold: {error}; {REMEDY}") from None
    return contents


REMEDY = "restore the ledger and its .head file from a copy; nothing is spent until then"

_HEADER = ("format", "data_set", "total", "relation", "unit", "at")
_ENTRY = ("what", "loss", "relation", "unit", "data_set", "at", "previous")


def _line(fields: dict[str, Any]) -> bytes:
    return (json.dumps(fields) + "\n").encode()


def _checked(line: bytes, number: int, name: str, parse: Callable[[dict[str, Any]], Any]) -> Any:
    """Apply `parse` to a line, which has to be written exactly as a ledger writes it."""
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or _line(fields) != line:
            raise ValueError("a ledger writes its lines otherwise")
        return parse(fields)
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError, PgsrError):
        raise BrokenLedgerError(
            f"line {number + 1} of the ledger {name} is not one that a ledger writes, so it was edited; {REMEDY}"
        ) from None


def _header(fields: dict[str, Any]) -> tuple[str, Loss, Relation, Unit]:
    if tuple(fields) != _HEADER or fields["format"] != FORMAT:
        raise ValueError("no header")
    total = Loss.of(fields["total"])
    if not total.positive:
        raise ValueError("a total of 0")
    return _text(fields["data_set"]), total, Relation(fields["relation"]), Unit.parse(fields["unit"])


def _entry(fields: dict[str, Any]) -> tuple[LedgerEntry, str]:
    if tuple(fields) != _ENTRY:
        raise ValueError("no charge")
    charge = Charge(Loss.of(fields["loss"]), _text(fields["what"]), fields["relation"], fields["unit"])
    return LedgerEntry(charge, _text(fields["data_set"]), _text(fields["at"])), _text(fields["previous"])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
