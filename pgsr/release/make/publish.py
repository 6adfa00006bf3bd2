"""Make a release: refuse before the charge what can be refused, and publish nothing that was not charged."""

import json
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pgsr.data.counts import CountOfCounts
from pgsr.errors import TableError
from pgsr.figures.html import facts_table
from pgsr.privacy.random import Secure, Seeded
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.make.files import UNFINISHED, completed, reserve, write_measurement
from pgsr.release.make.private_log import OperatorLog
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.console import STOPPED_CHARGING, cost_told, told_if_stopped, unfailing
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.places import folder_of, hidden_folder, only_one, output_of, require_place
from pgsr.release.terms.plan import Plan
from pgsr.release.terms.preflight import require_publishable, require_room
from pgsr.release.terms.terms import Terms
from pgsr.tables.long import read_long


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

    Shown by `test_release.py` and `test_release_making.py`.
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    tell, log = unfailing(say), OperatorLog("rehearsal" if rehearse else "release")
    terms, folder = config.terms, folder_of(config.output, rehearse)
    ledger, charge = LedgerFile(config.ledger), charge_for(terms, folder)
    require_place(folder)
    key = None if config.sign is None or rehearse else signature.load_private(config.sign)
    with only_one(folder):
        with told_if_stopped(tell):
            if not rehearse:
                ledger.require(charge, terms.data_set)
            tell("reading the tables")
            tree = config.tree()
            plan = Plan.of(terms, tree.regions_per_level)
            require_publishable(plan, tree)
            require_room(folder, plan, tree)
            try:
                truth = config.count(log.rows)
            except TableError as error:
                raise TableError(f"{error}{log.keep(config.log, tell)}") from error
            log.note("read")
            assert truth.hierarchy.regions_per_level == tree.regions_per_level, "the regions that were planned for"
            source = Seeded(manifest.REHEARSAL_KEY) if rehearse else Secure()
            plan.mechanism.check(truth, source)
            require_room(folder, plan, truth.hierarchy, truth)
            log.open(config.log)
        hidden, head = hidden_folder(folder), ""
        try:
            if not rehearse:
                require_place(folder)
                reserve(hidden, plan, truth.hierarchy)
                tell("charging the ledger")
                with told_if_stopped(tell, STOPPED_CHARGING):
                    head = ledger.charge(charge, terms.data_set)
            with _kept_if_paid(hidden, None if rehearse else str(terms.total), config.sign, tell):
                if not rehearse:
                    tell(f"the ledger's head is now {head}")
                tell("drawing noise")
                measurement = plan.mechanism.measure(truth, source)
                del truth
                if terms.by_root:
                    plan = plan.completed(measurement)
                write_measurement(hidden, plan, measurement)
                log.note("measured")
                report = completed(hidden, folder, plan, measurement, key, tell, log.note)
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
    hidden, tell = Path(hidden).absolute(), unfailing(say)
    folder = output_of(hidden)
    if folder is None:
        raise ReleaseError(f"{str(hidden)!r} is no folder that a failed release kept; its message names the folder")
    key = None if sign is None else signature.load_private(sign)
    require_place(folder)
    with only_one(folder):
        _restore_plan(hidden)
        plan, secure = _kept_plan(hidden)
        if not secure:
            raise ReleaseError(
                f"{hidden.name!r} is what a stopped rehearsal left, which is not private: remove it, and rehearse again"
            )
        require_place(folder)
        tree, totals = released_tables.read_regions(hidden / artefact.REGIONS, plan)
        values = released_tables.read_measurement(hidden / artefact.MEASUREMENT, tree, totals, plan, secure)
        measurement = plan.measured(tree, values, totals, secure)
        with _kept_if_paid(hidden, str(plan.terms.total), sign, tell):
            report = completed(hidden, folder, plan, measurement, key, tell, unfailing(None))
    return Release(folder, report)


def charge_for(terms: Terms, folder: Path) -> Charge:
    """Make the charge of a release under these terms: what it costs, and which data sets are neighbours.

    Thresholds and shares by the root are adaptive sequential composition: what numbers of groups, the root (all its
    values together, `pgsr.noise.shares_by_root`) and the other levels spend adds up, in epsilon and in rho (Dwork and
    Roth 2014, section 3.5; Bun and Steinke 2016, lemma 1.7). All of it is charged at once, so that a process that is
    killed leaves no part of it.
    """
    return Charge(terms.total, f"{terms.kind} into {folder.name}", terms.relation, unit=terms.unit)


def _restore_plan(hidden: Path) -> None:
    """Write `UNFINISHED` anew for a folder that lacks only its name: its plan stands in the manifest, too."""
    written = hidden / artefact.MANIFEST
    if not (hidden / UNFINISHED).exists() and written.exists():
        fields = manifest.read(written.read_bytes().decode())
        (hidden / UNFINISHED).write_text(json.dumps(fields), encoding="utf-8")


def _kept_plan(hidden: Path) -> tuple[Plan, bool]:
    """Read the plan of noisy values from `UNFINISHED`, which is written when the values are complete."""
    try:
        return manifest.plan_of(json.loads((hidden / UNFINISHED).read_text(encoding="utf-8")))
    except (OSError, ValueError):
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

    return cost_told(cost, tell)
