"""Check a release from its folder alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.machine.progress import steps
from pgsr.methods.method import Result
from pgsr.noise.measurement import Totals
from pgsr.privacy.accounting.composition import composed
from pgsr.release.checks import noise_law
from pgsr.release.checks.check_base import FolderCheck, OpenError
from pgsr.release.checks.judgement import answer_of, broken, certificate_of, roundings
from pgsr.release.checks.rehearsals import is_rehearsal
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.columns import claim, percent
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.folder.summary import summary
from pgsr.release.publishing import digests
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.parquet_pages import require_plain
from pgsr.release.terms.kinds import MeasuredView
from pgsr.release.terms.plan import FromRoot, Plan
from pgsr.release.terms.preflight import require_publishable


def check(
    folder: str | Path,
    digest: str | None = None,
    key: str | Path | None = None,
    ignore: tuple[str, ...] = (),
) -> Report:
    """Verify everything that can be verified of a release without the data.

    Files, digests and signature; the manifest's fields and the budget's arithmetic; the law of the noise, wherever
    something was measured twice; the conditions of a release, its certificate, counts and intervals, computed again
    from the noisy values (`pgsr/release/THREATS.md` says how far they may differ); and the descriptions, written again.

    Without `digest` or `key` it cannot find a release made up as a whole from invented noisy values of the stated law,
    or one noisy number changed with everything that follows. It never finds noise that the publisher made up to fit.

    Args:
        folder: of a release.
        digest: what the publisher announced, in hexadecimal; None if it is not known.
        key: file of the publisher's public key; None if it is not known. A release that is not signed fails then.
        ignore: names of files that do not count, for a folder that is still being made.

    Returns:
        the findings; `report.passed` says whether nothing speaks against the folder.

    Complexity: that of reading, and of the post-processing.

    Example:
        >>> report = check("no such folder")
        >>> report.passed, report.findings[0].sentence
        (False, "'no such folder' is no folder; name the folder of a release")

    Shown by `test_release_checking.py`: every change of one number, field or file is found.
    """
    return ReleaseCheck(Path(folder), digest, key, ignore).report()


class ReleaseCheck(FolderCheck):
    """The check of a release; each step adds to what is known of the folder, or raises what is wrong."""

    def report(self) -> Report:
        """Take all steps."""
        findings, checks = [], self.steps()
        with steps("checking", len(checks)) as done:
            for name, check_one in checks:
                findings.append(self.find(name, check_one))
                done()
        return Report(tuple(findings))

    def steps(self) -> list[tuple[str, Callable[[], str]]]:
        """List the steps in order, each with the name of its finding."""
        return [
            ("files", self.files),
            ("digests", self.digests),
            ("signature", self.signature),
            ("manifest", self.manifest),
            ("regions", self.regions),
            ("budget", self.budget),
            ("measurement", self.measurement),
            ("privacy claim", self.privacy_claim),
            ("noise", self.noise),
            ("counts", self.counts),
            ("integrality", lambda: self.condition("integrality", "every count is a whole number")),
            ("sign", lambda: self.condition("sign", "no count is negative")),
            ("consistency", lambda: self.condition("consistency", "regions add up to those above them")),
            ("totals", lambda: self.condition("totals", self._totals_kept())),
            ("certificate", self.certificate),
            ("replay", self.replay),
            ("intervals", self.intervals),
            ("descriptions", self.descriptions),
        ]

    def manifest(self) -> str:
        fields = manifest.read((self.path / artefact.MANIFEST).read_bytes().decode())
        plan, secure = manifest.plan_of(fields)
        self.known |= {"fields": fields, "plan": plan, "secure": secure}
        return "the terms of a release"

    def regions(self) -> str:
        stated = self.need("plan")
        tree, totals = released_tables.read_regions(self.path / artefact.REGIONS, stated)
        if (
            stated.terms.totals is not Totals.ROOT
            and (totals[: tree.n_inner] != tree.sum_up(totals[tree.leaves])[: tree.n_inner]).any()
        ):
            raise ReleaseError("the numbers of groups of regions do not add up to those above them")
        if stated.from_root is not None and len(stated.from_root.thresholds) != tree.n_regions:
            n_stated = len(stated.from_root.thresholds)
            raise ReleaseError(f"{n_stated:,} thresholds are stated for {tree.n_regions:,} regions")
        plan = Plan.of(stated.terms, tree.regions_per_level, stated.from_root)
        require_publishable(plan, tree)
        self.known |= {"tree": tree, "totals": totals, "plan": plan}
        return f"{tree.n_regions:,} regions on {tree.n_levels} levels, {int(totals[0]):,} groups"

    def budget(self) -> str:
        plan, tree, fields = self.need("plan"), self.need("tree"), self.need("fields")
        terms, n = plan.terms, tree.n_levels
        noises = [*(level.noise for level in plan.levels), *[plan.totals_noise] * n]
        sensitivities = [*(level.sensitivity for level in plan.levels), *[terms.totals_sensitivity] * n]
        if not composed(noises, sensitivities).within(terms.total):
            raise ReleaseError(f"the levels together spend more than {terms.total}")
        known = {name: fields.get(name) for name in manifest.OF_ANSWER}
        known["files"] = {name: digests.digest(self.path / name) for name in artefact.DIGESTED}
        self._require_manifest(manifest.plan_fields(plan, self.need("secure")) | known)
        return f"shares, budgets, sensitivities, laws of noise and digests agree; {terms.total} in all, exactly"

    def measurement(self) -> str:
        plan, tree, secure = self.need("plan"), self.need("tree"), self.need("secure")
        path, totals = self.path / artefact.MEASUREMENT, self.need("totals")
        values = released_tables.read_measurement(path, tree, totals, plan, secure)
        measurement = plan.measured(tree, values, totals, secure)
        if plan.from_root is not None:
            if measurement.view_of(0) is not View.CUMULATIVE:
                raise ReleaseError("thresholds follow from the root, and it is not measured in cumulative counts")
            _require_follow(plan.from_root, plan.following(tree, totals, measurement.row(0)))
        self.known["measurement"] = measurement
        split = plan.terms.view is MeasuredView.SPLIT
        ranked = " below its threshold, and of every rank beyond it" if split else ""
        chosen = "; the shares of epsilon follow from the root's first ones" if plan.terms.shares_by_root else ""
        return f"noisy values of every measured region and {self._sizes}{ranked}{chosen}"

    def privacy_claim(self) -> str:
        if not self.need("secure"):
            if (self.path / digests.SIGNATURE).exists() or self.key is not None:
                raise ReleaseError("this is a rehearsal and not private; no publisher signs one, and none is published")
            return "none, as it says itself: THIS IS A REHEARSAL AND NOT PRIVATE, keep it as secret as the data"
        if is_rehearsal(self.need("plan"), self.need("measurement")):
            raise ReleaseError("the noise is that of a rehearsal, so that anybody can take it off: this is not private")
        return f"{claim(self.need('plan').terms, True)}, in the manifest and in every table"

    def noise(self) -> str:
        plan, measurement = self.need("plan"), self.need("measurement")
        if plan.first_root is not None and noise_law.root_steps_refuted(measurement, plan.first_scale):
            raise ReleaseError(
                "the root's first noisy values do not differ from its last ones by the noise that its share says; true "
                "ones would look so once in 10^13 releases"
            )
        laws = tuple(level.law for level in plan.levels)
        verdict = noise_law.judge(measurement, laws, plan.from_root is not None)
        if verdict.refuted:
            raise ReleaseError(
                f"the noise does not have the stated laws: {verdict.n_values:,} numbers are known twice, and they "
                "differ by noise of another epsilon, or by none; a true statement would look so once in 10^9 releases"
            )
        if not verdict.can_tell:
            raise OpenError(
                f"epsilon cannot be checked from this folder: {verdict.n_values:,} numbers are known twice (a region "
                "and the regions below it, or a public total), too few to tell one scale of noise from another"
            )
        bounds = [f"{verdict.most:,.3g} times as large or larger" if verdict.most else ""]
        bounds += [f"{verdict.least:,.3g} times as large or smaller" if verdict.least else ""]
        return (
            f"{verdict.n_values:,} numbers that are known twice differ by noise of the stated scales; an epsilon "
            f"{', or '.join(filter(None, bounds))} would be found (independent noise; false alarm below 10^-9)"
        )

    def counts(self) -> str:
        plan, tree = self.need("plan"), self.need("tree")
        found = released_tables.read_counts(self.path / artefact.COUNTS, tree, plan, self.need("secure"))
        self.known["counts"] = found
        self.known["broken"] = broken(plan, self.need("measurement"), found)
        table = pq.read_table(self.path / artefact.COUNTS)
        if plan.terms.intervals is not None:
            self.known["ends"] = released_tables.read_ends(self.path / artefact.COUNTS, tree, plan)
        artefact.require_same(self.path / artefact.COUNTS_CSV, released_tables.csv_bytes(table))
        for name in (artefact.COUNTS, artefact.MEASUREMENT):
            require_plain(self.path / name)
        return f"counts of every region and {self._sizes}, the same in all files"

    def condition(self, kind: str, sentence: str) -> str:
        n = self.need("broken")[kind]
        if n:
            raise ReleaseError(f"violated {n:,} times: {sentence}")
        return sentence

    def certificate(self) -> str:
        plan, measurement, counts = self.need("plan"), self.need("measurement"), self.need("counts")
        fields = self.need("fields")
        found = certificate_of(plan, measurement, counts, self._replayed())
        status = self._replayed().status.name
        self._require_manifest(fields | manifest.answer_fields(measurement, status, found, counts))
        if found.objective is None:
            return "no problem was stated, so there is no bound; the distance to the noisy values is right"
        optimal = f"proved optimal by {found.bound_by}" if found.optimal else "feasible, with no proof of optimality"
        return f"{found.problem}: objective {found.objective:,}, {optimal}"

    def replay(self) -> str:
        terms, method = self.need("plan").terms, repr(self.need("plan").mechanism.post)
        released, found = self.need("counts"), answer_of(self._replayed())
        if self._is_table_of(found):
            return f"{method} gives the same counts from the noisy values, every one"
        stated, here = self.need("fields")["versions"], manifest.versions()
        differ = {name: version for name, version in here.items() if version != stated[name]}
        hint = f"; here other versions run, {differ}" if differ else ""
        if terms.max_sizes is not None:
            return self._as_good(released, found, hint)
        if not terms.kind.is_joint:
            raise ReleaseError(f"{method} gives other counts from the noisy values{hint}")
        tolerable, apart = roundings(released_tables.dense(released), released_tables.dense(found))
        if not (tolerable and self._is_table_of(released)):
            raise ReleaseError(f"{method} gives other counts from the noisy values: {apart}{hint}")
        return f"{method} gives the same counts from the noisy values up to rounding: {apart}"

    def _as_good(self, released: Estimate, found: Estimate, hint: str) -> str:
        """Say that other counts than the replay's are optimal, too; prices in floating point may decide between them.

        Raises:
            ReleaseError: they are not, or their table is not what a release writes.
        """
        method = repr(self.need("plan").mechanism.post)
        certificate = certificate_of(self.need("plan"), self.need("measurement"), released, self._replayed())
        differ = sum(int(np.count_nonzero(x != y)) for x, y in zip(released.tables, found.tables, strict=True))
        if not differ:
            raise ReleaseError("the rows of the counts are not those that a release writes")
        if not (certificate.optimal and self._is_table_of(released)):
            raise ReleaseError(f"{method} gives other counts from the noisy values in {differ:,} cells{hint}")
        return f"{method} gives other counts in {differ:,} cells, and both are proved optimal, so equally near"

    def intervals(self) -> str:
        plan, released = self.need("plan"), self.need("counts")
        terms = plan.terms
        if terms.intervals is None:
            return "none are published"
        published = self.need("ends")
        if not self._is_table_of(released):
            raise ReleaseError("the rows of the counts and their intervals are not those that a release writes")
        found = CountIntervals.of(terms.intervals, plan.mechanism, self.need("measurement"), released)
        sizes = released.sizes
        cells = np.flatnonzero(~sizes.hierarchy.padded[sizes.region_of_cell])  # of copies the table has one
        refuted, differ = found.refuted(published, cells), found.differ(published, cells)
        if refuted.any():
            raise ReleaseError(
                f"{int(refuted.sum()):,} of {refuted.size:,} intervals do not follow from the noisy values"
            )
        what = f"the {percent(terms.intervals)} intervals follow from the noisy values"
        if differ:
            return f"{what} up to rounding: {differ:,} ends differ, as draws in floating point may"
        return f"{what}, every one"

    def descriptions(self) -> str:
        fields, counts = self.need("fields"), self.need("counts")
        about = fields, self.need("tree"), counts, self.known.get("ends")
        wanted = {
            artefact.README: readme(fields),
            artefact.PACKAGE: package_text(self.path, fields),
            artefact.SUMMARY: summary(*about),
        }
        for name, text in wanted.items():
            artefact.require_same(self.path / name, text.encode())
        return f"{', '.join(wanted)} say what the manifest and the tables say"

    def _require_manifest(self, fields: Mapping[str, Any]) -> None:
        artefact.require_same(self.path / artefact.MANIFEST, manifest.written(fields).encode())

    @property
    def _sizes(self) -> str:
        """The sizes in words."""
        terms = self.need("plan").terms
        least = terms.min_size
        if terms.max_sizes is None:
            return f"size {least:,}..{terms.largest:,}"
        return f"size of its level, {least:,}..K with K = {' / '.join(f'{k:,}' for k in terms.max_sizes)}"

    def _replayed(self) -> Result:
        if "replayed" not in self.known:
            self.known["replayed"] = self.need("plan").mechanism.post_process(self.need("measurement"))
        return self.known["replayed"]

    def _is_table_of(self, counts: Estimate) -> bool:
        """Tell whether the table of counts is, with its facts and order, what a release writes of these counts."""
        about = self.need("plan"), self.need("secure"), self.known.get("ends")
        expected = released_tables.counts_table(counts.counts(), *about)
        return pq.read_table(self.path / artefact.COUNTS).equals(expected, check_metadata=True)

    def _totals_kept(self) -> str:
        plan: Plan | None = self.known.get("plan")
        whose = "the root has" if plan is not None and plan.terms.kept is Totals.ROOT else "every region has"
        return f"{whose} its public number of groups"


def _require_follow(stated: FromRoot, follows: FromRoot) -> None:
    """Raise `ReleaseError` unless the stated thresholds and shares are those that follow from the noisy root."""
    if stated.shares != follows.shares:
        right = ", ".join(map(str, follows.shares or ()))
        raise ReleaseError(f"the shares of epsilon do not follow from the root's first noisy values, which say {right}")
    wrong = sum(ours != theirs for ours, theirs in zip(stated.thresholds, follows.thresholds, strict=True))
    if wrong:
        raise ReleaseError(
            f"the thresholds of {wrong:,} regions do not follow from the noisy root and the public numbers of groups"
        )
