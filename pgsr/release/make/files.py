"""Write a release of what was measured: the noisy values first, then the answer, checked before it gets its name."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pgsr.data.hierarchy import Hierarchy
from pgsr.machine.whole_files import sync
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement
from pgsr.release.checks.judgement import answer_of, broken, certificate_of
from pgsr.release.checks.release_check import check
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.folder.summary import summary
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.places import appear, name_folder
from pgsr.release.terms.plan import Plan

_CELL_BYTES, _DIGITS = 32, 20
"""The bytes of a noisy value with its place in Parquet at most, and of a number as text."""

UNFINISHED = "unfinished.json"
"""The plan of noisy values that are not yet a release; `finish` needs it."""


def reserve(folder: Path, plan: Plan, tree: Hierarchy) -> None:
    """Take the disk that noisy values need before they are paid for, so that none are lost on a disk that fills up.

    It is taken by public numbers alone, so not for ranks of private numbers of groups; macOS and Windows take none.

    Raises:
        ReleaseError: so much is not free.
    """
    regions = len(released_tables.regions_text(tree, np.zeros(0), plan).encode())
    per_region = {artefact.MEASUREMENT: 0, artefact.REGIONS: _DIGITS, f"{UNFINISHED}.part": _DIGITS}
    few = 2**16 + _DIGITS * plan.terms.max_excess  # a plan may hold noisy values of the root
    for name, n_bytes in per_region.items():
        cells = 2**20 + _CELL_BYTES * plan.n_cells if name == artefact.MEASUREMENT else few
        with _kept_open(folder / name) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, cells + n_bytes * tree.n_regions + regions)
            except AttributeError:  # macOS, Windows
                return
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    return  # a file system that takes none
                raise ReleaseError(
                    f"the disk of {str(folder.parent)!r} has no room for the noisy values; free some; nothing was "
                    "charged"
                ) from None


def write_measurement(folder: Path, plan: Plan, measurement: Measurement) -> None:
    """Put the noisy values on the disk; `UNFINISHED` appears last, and says that they are complete."""
    with _kept_open(folder / artefact.MEASUREMENT) as file:
        released_tables.write_measurement(file, measurement, plan)
        file.truncate()
    _fill(folder / artefact.REGIONS, released_tables.regions_text(measurement.hierarchy, measurement.totals, plan))
    for path in (folder / artefact.MEASUREMENT, folder / artefact.REGIONS):
        sync(path)
    part = folder / f"{UNFINISHED}.part"
    _fill(part, json.dumps(manifest.plan_fields(plan, measurement.secure)))
    appear(part, folder / UNFINISHED)


def completed(
    hidden: Path,
    folder: Path,
    plan: Plan,
    measurement: Measurement,
    key: Ed25519PrivateKey | None,
    tell: Callable[[str], None],
    note: Callable[[str], None],
) -> Report:
    """Post-process, write, check, sign, and give the folder its name."""
    tell("post-processing")
    result = plan.mechanism.post_process(measurement)
    note("post-processed")
    tell("writing")
    _write(hidden, plan, measurement, result)
    tell("checking")
    report = _publish(hidden, folder, key)
    note("written and checked")
    return report


def _write(folder: Path, plan: Plan, measurement: Measurement, result: Result) -> None:
    """Write the answer and all that tells of it, unless it is no release."""
    terms, counts = plan.terms, answer_of(result)
    violated = {kind: n for kind, n in broken(plan, measurement, counts).items() if n}
    if violated:
        raise ReleaseError(f"the counts are no release: {violated}; please report this")
    certificate = certificate_of(plan, measurement, counts, result)
    ends = None
    if terms.intervals is not None:
        ends = CountIntervals.of(terms.intervals, plan.mechanism, measurement, counts).ends
    table = released_tables.counts_table(counts.counts(), plan, measurement.secure, ends)
    pq.write_table(table, folder / artefact.COUNTS, compression="zstd")
    (folder / artefact.COUNTS_CSV).write_bytes(released_tables.csv_bytes(table))
    fields = manifest.plan_fields(plan, measurement.secure)
    fields |= manifest.answer_fields(measurement, result.status.name, certificate, counts)
    fields["versions"] = manifest.versions()
    _write_text(folder / artefact.PACKAGE, package_text(folder, fields))
    _write_text(folder / artefact.README, readme(fields))
    _write_text(folder / artefact.SUMMARY, summary(fields, measurement.hierarchy, counts, ends))
    fields["files"] = {name: digests.digest(folder / name) for name in artefact.DIGESTED}
    _write_text(folder / artefact.MANIFEST, manifest.written(fields))
    _write_text(folder / digests.SUMS, digests.sums_text(folder, artefact.FILES))


def _publish(hidden: Path, folder: Path, key: Ed25519PrivateKey | None = None) -> Report:
    """Check the hidden folder as a stranger would, sign it, put it on the disk, and give it its name in one step."""
    report = check(hidden, ignore=(UNFINISHED,))
    if not report.passed:
        raise ReleaseError("; ".join(f"{f.name}: {f.sentence}" for f in report.findings if not f.passed))
    if key is not None:
        signature.sign(hidden, key)
    name_folder(hidden, folder, hidden / UNFINISHED)
    return report


def _kept_open(path: Path) -> IO[bytes]:
    """Open a file to be written, new or reserved, without giving back what it has of the disk."""
    return open(path, "r+b", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666))


def _fill(path: Path, text: str) -> None:
    with _kept_open(path) as file:
        file.write(text.encode())
        file.truncate()


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
