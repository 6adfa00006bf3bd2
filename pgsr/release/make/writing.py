"""Write a release of what was measured: the noisy values first, then the answer, checked before it gets its name."""

import json
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement
from pgsr.release.checks.checking import check
from pgsr.release.checks.judging import answer_of, broken, certificate_of
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.columns import Columns
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.folder.summary import summary
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.folder import appear, name_folder, sync
from pgsr.release.publishing.strict_fields import versions
from pgsr.release.stated.plan import Plan

UNFINISHED = "unfinished.json"
"""The plan of noisy values that are not yet a release; `finish` needs it."""


def write_measurement(folder: Path, plan: Plan, measurement: Measurement) -> None:
    """Put the noisy values on the disk; `UNFINISHED` appears last, and says that they are complete."""
    secure, columns = measurement.secure, Columns.of(plan)
    facts, fields = manifest.facts(plan.terms, secure, "measurement"), manifest.plan_fields(plan, secure)
    released_tables.write_measurement(folder / artefact.MEASUREMENT, measurement, plan, columns, facts)
    regions = released_tables.regions_text(measurement.hierarchy, measurement.totals, plan, columns)
    _write_text(folder / artefact.REGIONS, regions)
    for path in (folder / artefact.MEASUREMENT, folder / artefact.REGIONS):
        sync(path)
    part = folder / f"{UNFINISHED}.part"
    part.write_text(json.dumps(fields), encoding="utf-8")
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
    columns, facts = Columns.of(plan), manifest.facts(terms, measurement.secure, "counts")
    ends = None
    if terms.intervals is not None:
        ends = CountIntervals.of(terms.intervals, result, counts).ends
    table = released_tables.counts_table(counts.counts(), plan, columns, facts, ends)
    for name in (artefact.COUNTS, artefact.COUNTS_CSV):
        released_tables.write_counts(folder / name, table)
    fields = manifest.plan_fields(plan, measurement.secure)
    fields |= manifest.answer_fields(measurement, result.status.name, certificate, counts)
    fields["versions"] = versions(manifest.PACKAGES)
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


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
