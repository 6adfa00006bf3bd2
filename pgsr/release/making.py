"""Making a release, so that nothing is charged that fails and nothing is published that was not charged."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pgsr.certificates import broken_conditions
from pgsr.errors import PgsrError
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement
from pgsr.method import Result
from pgsr.random import Secure, Seeded
from pgsr.release import artefact, manifest
from pgsr.release.check import Report, check
from pgsr.release.config import ReleaseConfig
from pgsr.release.errors import ReleaseError
from pgsr.release.judging import kept, replayed
from pgsr.release.ledger_file import LedgerFile
from pgsr.release.preflight import require_arithmetic, require_place, require_room
from pgsr.release.terms import Terms
from pgsr.tables import PrivateLog
from pgsr.views import View


@dataclass(frozen=True)
class Release:
    """A release that was made.

    Attributes:
        folder: where it lies.
        report: of the check that it passed before it got its name.
    """

    folder: Path
    report: Report

    @property
    def digest(self) -> str:
        """SHA-256 of the whole release, to be announced elsewhere."""
        return artefact.digest_of(self.folder)


def publish(config: ReleaseConfig, rehearse: bool = False, say: Callable[[str], None] | None = None) -> Release:
    """Read, charge, measure, post-process, certify, write and check.

    Everything that can be refused is refused before the ledger is charged, and the ledger is charged before any noise
    is drawn. The folder appears under its name in one step, complete and checked, or not at all.

    Args:
        config: what to release.
        rehearse: do all of it on seeded noise, without a charge. The folder has another name and says everywhere that
            it is not private: it is as secret as the data.
        say: is told in a few words what is going on.

    Raises:
        PgsrError: the tables, the terms or the place are not right, or the ledger lacks epsilon; nothing was charged.
        ReleaseError: something failed after the charge; the message says so.

    Shown by `tests/test_release.py`.
    """
    tell, log = say or _silent, _Log()
    terms, folder = config.terms, config.folder(rehearse)
    ledger = LedgerFile(config.ledger, config.ledger_total, terms.data_set)
    what = f"{terms.kind} into {folder.name}"
    require_place(folder)
    ledger.require(terms.epsilon, what)
    tell("reading the tables")
    require_room(folder, terms, config.tree())
    truth = config.count(log.rows)
    log.note("read")
    mechanism = terms.mechanism(truth.hierarchy.n_levels)
    source = Seeded(manifest.REHEARSAL_KEY) if rehearse else Secure()
    mechanism.check(truth, source)
    require_room(folder, terms, truth.hierarchy, truth)
    require_arithmetic(terms, truth)
    log.open(config.log)
    keep = False
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        if not rehearse:
            tell("charging the ledger")
            ledger.charge(terms.epsilon, what)
        try:
            tell("drawing noise")
            measurement = mechanism.noise.measure(truth, source)
            del truth
            _write_measurement(hidden, terms, measurement)
            log.note("measured")
            tell("post-processing")
            result = replayed(terms, measurement)
            log.note("post-processed")
            tell("writing and checking")
            _write(hidden, terms, measurement, result)
            report = _publish(hidden, folder)
            log.note("written and checked")
        except BaseException as error:
            # What epsilon has bought is kept: the noisy values are as publishable as the release would have been.
            keep = not rehearse and any(hidden.iterdir())
            spent = "nothing was charged" if rehearse else f"epsilon {terms.epsilon} is spent"
            where = f"; what was written lies in {str(hidden)!r}" if keep else ""
            if not isinstance(error, Exception):  # somebody ends the process
                tell(f"stopped after the noise was drawn, so {spent}{where}")
                raise
            said = str(error) if isinstance(error, PgsrError | OSError) else _unexpected(error)
            raise ReleaseError(f"the release failed after the noise was drawn, so {spent}{where}: {said}") from error
    finally:
        if not keep:
            shutil.rmtree(hidden, ignore_errors=True)
        log.close()
    return Release(folder, report)


def _write_measurement(folder: Path, terms: Terms, measurement: Measurement) -> None:
    facts = manifest.facts(terms, measurement.secure, "measurement")
    tree = measurement.hierarchy
    artefact.write_measurement(folder / artefact.MEASUREMENT, measurement.matrix, tree, terms, facts)
    artefact.write_hierarchy(folder / artefact.HIERARCHY, tree, measurement.totals)


def _write(folder: Path, terms: Terms, measurement: Measurement, result: Result) -> None:
    if result.answer is None or result.certificate is None:
        raise ReleaseError(f"{result.status.value}: {result.reason}")
    tree = measurement.hierarchy
    regions = [int(n) for n in np.diff(tree.level_start)]
    estimate = Estimate(tree, View.COUNTS, result.answer.as_counts)
    broken = {kind: n for kind, n in broken_conditions(kept(terms, measurement), estimate).items() if n}
    if broken:
        raise ReleaseError(f"the counts are no release: {broken}; please report this")
    counts = estimate.counts()
    artefact.write_counts(folder / artefact.COUNTS, counts, manifest.facts(terms, measurement.secure, "counts"))
    fields = manifest.terms_fields(terms, measurement.secure, regions)
    fields |= manifest.answer_fields(terms, measurement, result.status.name, result.certificate, estimate)
    fields["versions"] = manifest.versions()
    (folder / artefact.README).write_text(manifest.readme(fields), encoding="utf-8", newline="")
    fields["files"] = {name: artefact.digest(folder / name) for name in artefact.DIGESTED}
    (folder / artefact.MANIFEST).write_text(manifest.written(fields), encoding="utf-8", newline="")
    (folder / artefact.SUMS).write_text(artefact.sums_text(folder), encoding="utf-8", newline="")


def _publish(hidden: Path, folder: Path) -> Report:
    """Check the hidden folder as a stranger would, put it on the disk, and give it its name in one step."""
    report = check(hidden)
    if not report.passed:
        raise ReleaseError("; ".join(f"{f.name}: {f.sentence}" for f in report.findings if not f.passed))
    hidden.chmod(0o755)  # mkdtemp makes folders that nobody else may enter
    for path in (*hidden.iterdir(), hidden):
        _sync(path)
    hidden.rename(folder)  # replaces an empty folder, and fails on any other
    _sync(folder.parent)
    return report


def _unexpected(error: Exception) -> str:
    """Its text may quote data, so only its kind is told."""
    if isinstance(error, MemoryError):
        return "memory ran out; free some, or lower max_size"
    return (
        f"{type(error).__name__}, which no release should raise; `pgsr release CONFIG --rehearse --debug` tells where, "
        "at no charge"
    )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass
class _Log:
    """What is not for publication: numbers of rows, and times. Written outside the release, for its owner alone."""

    rows: PrivateLog = field(default_factory=PrivateLog)
    lines: list[str] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)
    path: Path | None = None

    def note(self, step: str) -> None:
        self.lines.append(f"{step} after {time.perf_counter() - self.start:.2f} s")

    def open(self, path: Path) -> None:
        """Raise `ReleaseError` if nothing can be written there."""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        except OSError as error:
            raise ReleaseError(
                f"the private log {str(path)!r} cannot be written ({error.strerror}); name another with log = ...; "
                "nothing was charged"
            ) from None
        self.path = path

    def close(self) -> None:
        numbers = (
            f"{self.rows.entities} rows of entities",
            f"{self.rows.clipped_groups} groups above max_size",
            f"{self.rows.clipped_quantities} quantities above max_quantity",
        )
        text = "".join(f"{line}\n" for line in ("PRIVATE, not for publication", *numbers, *self.lines, ""))
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)


def _silent(_: str) -> None:
    pass
