"""Make a release: refuse before the charge what can be refused, and publish nothing that was not charged."""

import json
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pgsr.data.counts import CountOfCounts
from pgsr.errors import TableError
from pgsr.figures.html import facts_table
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement
from pgsr.privacy.random import Secure, Seeded
from pgsr.release.checks.checking import check
from pgsr.release.checks.judging import answer_of, broken, certificate_of, post_processed
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.folder.summary import summary
from pgsr.release.folder.wide_tables import wide_tables
from pgsr.release.ledger import Charge, LedgerFile
from pgsr.release.make.private_log import OperatorLog
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.errors import ManifestError, ReleaseError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.folder import appear, hidden_folder, name_folder, output_of, sync
from pgsr.release.publishing.places import folder_of, only_one, require_place
from pgsr.release.publishing.saying import STOPPED_CHARGING, cost_told, told_if_stopped, unfailing
from pgsr.release.stated.preflight import require_arithmetic, require_publishable, require_room
from pgsr.release.stated.terms import Terms
from pgsr.tables import read_long

UNFINISHED = "unfinished.json"
"""The terms of noisy values that are not yet a release; `finish` needs them."""


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
        return digests.digest_of(self.folder)

    def counts(self) -> CountOfCounts:
        """The released counts."""
        return read_long(self.folder / artefact.COUNTS).counts()

    def _repr_html_(self) -> str:
        """Describe the folder and its check, as HTML; of a folder that was moved it says so."""
        there = (self.folder / digests.SUMS).is_file()
        failed = ", ".join(finding.name for finding in self.report.findings if not finding.passed)
        return facts_table(
            "Release",
            {
                "folder": self.folder,
                "check, before it got its name": f"failed: {failed}" if failed else "passed",
                "digest, to be announced": self.digest if there else "unknown: the folder is not there any more",
            },
        )


def publish(
    config: ReleaseConfig | str | Path, rehearse: bool = False, say: Callable[[str], None] | None = None
) -> Release:
    """Read, charge, measure, post-process, certify, write, check and sign.

    Everything that can be refused is refused before the ledger is charged, and the ledger is charged before any noise
    is drawn. The folder appears under its name in one step, complete and checked, or not at all; noisy values that were
    paid for are kept, and `finish` makes a release of them.

    Args:
        config: what to release, or the name of the TOML file that says so.
        rehearse: do all of it on seeded noise, without a charge. The folder has another name and says everywhere that
            it is not private: it is as secret as the data. It is not signed.
        say: is told in a few words what is going on.

    Raises:
        PgsrError: the tables, the terms or the place are not right, or the ledger lacks epsilon; nothing was charged.
        ReleaseError: something failed after the charge; the message says so.

    Example: in `help(pgsr.release)`, from three data frames to a checked folder.

    Shown by `tests/test_release.py` and `tests/test_release_making.py`.
    """
    config = ReleaseConfig.of(config)
    tell, log = unfailing(say or _silent), OperatorLog("rehearsal" if rehearse else "release")
    terms, folder = config.terms, folder_of(config.output, rehearse)
    ledger, charges = LedgerFile(config.ledger), charges_for(terms, folder)
    require_place(folder)
    key = None if config.sign is None or rehearse else signature.load_private(config.sign)
    with only_one(folder):
        with told_if_stopped(tell):
            if not rehearse:
                ledger.require(charges, terms.data_set)
            tell("reading the tables")
            require_room(folder, terms, config.tree())
            try:
                truth = config.count(log.rows)
            except TableError as error:
                raise TableError(f"{error}{log.keep(config.log, tell)}") from error
            log.note("read")
            terms = terms.settled(truth.hierarchy.regions_per_level)
            mechanism = terms.mechanism(truth.hierarchy.n_levels)
            source = Seeded(manifest.REHEARSAL_KEY) if rehearse else Secure()
            require_publishable(terms, truth.hierarchy)
            if terms.facts:
                terms.require_possible_facts(truth.hierarchy, truth.totals)
            mechanism.check(truth, source)
            require_room(folder, terms, truth.hierarchy, truth)
            require_arithmetic(terms, truth)
            log.open(config.log)
        hidden, head = hidden_folder(folder), ""
        try:
            if not rehearse:
                require_place(folder)
                tell("charging the ledger")
                with told_if_stopped(tell, STOPPED_CHARGING):
                    head = ledger.charge(charges, terms.data_set)
            with _kept_if_paid(hidden, None if rehearse else str(terms.total), config.sign, tell):
                if not rehearse:
                    tell(f"the ledger's head is now {head}")
                tell("drawing noise")
                measurement = mechanism.measure(truth, source)
                terms = terms.as_measured(measurement)
                del truth
                _write_measurement(hidden, terms, measurement)
                log.note("measured")
                report = _completed(hidden, folder, terms, measurement, key, tell, log.note)
        finally:
            if not (hidden / UNFINISHED).exists() or rehearse:
                shutil.rmtree(hidden, ignore_errors=True)
            log.close(tell)
    return Release(folder, report)


def finish(hidden: str | Path, sign: str | Path | None = None, say: Callable[[str], None] | None = None) -> Release:
    """Make a release of noisy values that were paid for and kept when `publish` failed. Nothing is charged or drawn.

    Args:
        hidden: the folder that the failed release named; it lies beside the output and its name starts with a dot.
        sign: file of a private key, or None for a release without signature.
        say: is told in a few words what is going on.

    Raises:
        ReleaseError: the folder holds no complete noisy values, or the output is there already.
        PgsrError: as `publish`.
    """
    hidden, tell = Path(hidden).absolute(), unfailing(say or _silent)
    folder = output_of(hidden)
    if folder is None:
        raise ReleaseError(f"{str(hidden)!r} is no folder that a failed release kept; its message names the folder")
    key = None if sign is None else signature.load_private(sign)
    require_place(folder)
    with only_one(folder):
        _restore_terms(hidden)
        terms, secure = _kept_terms(hidden)
        if not secure:
            raise ReleaseError(
                f"{hidden.name!r} is what a stopped rehearsal left, which is not private: remove it, and rehearse again"
            )
        require_place(folder)
        tree, totals = released_tables.read_regions(hidden / artefact.REGIONS, terms)
        facts = manifest.facts(terms, secure, "measurement")
        values = released_tables.read_measurement(hidden / artefact.MEASUREMENT, tree, totals, terms, facts)
        measurement = terms.measured(tree, values, totals, secure)
        with _kept_if_paid(hidden, str(terms.total), sign, tell):
            report = _completed(hidden, folder, terms, measurement, key, tell, _silent)
    return Release(folder, report)


def charges_for(terms: Terms, folder: Path) -> tuple[Charge, ...]:
    """The charges of a release under these terms: what it costs, and which data sets are neighbours.

    One for all of it, or one for each of `Terms.spending`, in order.
    """
    what = f"{terms.kind} into {folder.name}"
    return tuple(
        Charge(loss, f"{what}, {part}" if part else what, terms.relation, unit=terms.unit)
        for part, loss in terms.spending
    )


def _restore_terms(hidden: Path) -> None:
    """Write `UNFINISHED` anew for a folder that lacks only its name: its terms stand in the manifest, too."""
    written = hidden / artefact.MANIFEST
    if not (hidden / UNFINISHED).exists() and written.exists():
        fields = manifest.read(written.read_bytes().decode())
        (hidden / UNFINISHED).write_text(json.dumps(fields), encoding="utf-8")


def _kept_terms(hidden: Path) -> tuple[Terms, bool]:
    """Read the terms of noisy values from `UNFINISHED`, which is written when the values are complete."""
    try:
        return manifest.terms_of(json.loads((hidden / UNFINISHED).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, ManifestError):
        raise ReleaseError(
            f"{str(hidden)!r} holds no complete noisy values, so nothing can be made of it; a new release costs "
            "epsilon again"
        ) from None


def _kept_if_paid(
    hidden: Path, paid: str | None, sign: str | Path | None, tell: Callable[[str], None]
) -> AbstractContextManager[None]:
    """Say of every failure after the charge what it costs and what is left.

    `paid` is the budget in words, None in a rehearsal.
    """

    def cost() -> str:
        # What epsilon has bought is kept: the noisy values are as publishable as the release would have been.
        if paid is None:
            return "nothing was charged"
        if not (hidden / UNFINISHED).exists():
            return f"{paid} is spent"
        signed = f" --sign {shlex.quote(str(Path(sign).absolute()))}" if sign is not None else ""
        command = f"pgsr release --finish {shlex.quote(str(hidden.absolute()))}{signed}"
        return (
            f"{paid} is spent; the noisy values lie in {str(hidden)!r}, and `{command}` makes a release of them "
            "at no further charge"
        )

    return cost_told("release", "pgsr release CONFIG", "lower max_size", ReleaseError, cost, tell)


def _completed(
    hidden: Path,
    folder: Path,
    terms: Terms,
    measurement: Measurement,
    key: Ed25519PrivateKey | None,
    tell: Callable[[str], None],
    note: Callable[[str], None],
) -> Report:
    """Post-process, write, check, sign, and give the folder its name."""
    tell("post-processing")
    result = post_processed(terms, measurement)
    note("post-processed")
    tell("writing")
    _write(hidden, terms, measurement, result)
    tell("checking")
    report = _publish(hidden, folder, key)
    note("written and checked")
    return report


def _write_measurement(folder: Path, terms: Terms, measurement: Measurement) -> None:
    """Put the noisy values on the disk; `UNFINISHED` appears last, and says that they are complete."""
    facts = manifest.facts(terms, measurement.secure, "measurement")
    tree = measurement.hierarchy
    released_tables.write_measurement(folder / artefact.MEASUREMENT, measurement, terms, facts)
    _write_text(folder / artefact.REGIONS, released_tables.regions_text(tree, measurement.totals, terms))
    for path in (folder / artefact.MEASUREMENT, folder / artefact.REGIONS):
        sync(path)
    fields = manifest.terms_fields(terms, measurement.secure, measurement.hierarchy.regions_per_level)
    part = folder / f"{UNFINISHED}.part"
    part.write_text(json.dumps(fields), encoding="utf-8")
    appear(part, folder / UNFINISHED)


def _write(folder: Path, terms: Terms, measurement: Measurement, result: Result) -> None:
    tree, counts = measurement.hierarchy, answer_of(result)
    violated = {kind: n for kind, n in broken(terms, measurement, counts).items() if n}
    if violated:
        raise ReleaseError(f"the counts are no release: {violated}; please report this")
    facts = manifest.facts(terms, measurement.secure, "counts")
    ends = None
    if terms.intervals is not None:
        ends = CountIntervals.of(terms, measurement, result, counts).ends
    table = released_tables.counts_table(counts.counts(), terms, facts, ends)
    for name in (artefact.COUNTS, artefact.COUNTS_CSV):
        released_tables.write_counts(folder / name, table, terms.publication.bom)
    wide = wide_tables(counts, terms)
    for name, data in wide.items():
        (folder / name).write_bytes(data)
    fields = manifest.terms_fields(terms, measurement.secure, tree.regions_per_level)
    certificate = certificate_of(terms, measurement, counts, result)
    fields |= manifest.answer_fields(measurement, result.status.name, certificate, counts)
    fields["versions"] = manifest.versions()
    _write_text(folder / artefact.PACKAGE, package_text(folder, fields))
    _write_text(folder / artefact.README, readme(fields))
    _write_text(folder / artefact.SUMMARY, summary(fields, tree, counts, ends))
    fields["files"] = {name: digests.digest(folder / name) for name in artefact.digested(wide)}
    _write_text(folder / artefact.MANIFEST, manifest.written(fields))
    _write_text(folder / digests.SUMS, digests.sums_text(folder, artefact.files(wide)))


def _publish(hidden: Path, folder: Path, key: Ed25519PrivateKey | None = None) -> Report:
    """Check the hidden folder as a stranger would, sign it, put it on the disk, and give it its name in one step."""
    report = check(hidden, ignore=(UNFINISHED,))
    if not report.passed:
        raise ReleaseError("; ".join(f"{f.name}: {f.sentence}" for f in report.findings if not f.passed))
    if key is not None:
        signature.sign(hidden, key)
    name_folder(hidden, folder, hidden / UNFINISHED)
    return report


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _silent(_: str) -> None:
    pass
