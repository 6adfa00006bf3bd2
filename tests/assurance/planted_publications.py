"""Bugs of the release folder as patches of the real code: each function plants one, MonkeyPatch takes it away."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from planted_bugs import around, by, replacing
from pytest import MonkeyPatch  # noqa: PT013

from pgsr import CountOfCounts, View
from pgsr.data import Split
from pgsr.noise import Geometric
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import ReleaseConfig
from pgsr.release.checks import release_check
from pgsr.release.folder import artefact, columns, manifest
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger import file as ledger_file
from pgsr.release.ledger.charge import Charge
from pgsr.release.make import files as writing
from pgsr.release.make import publish as publishing
from pgsr.release.publishing import digests
from pgsr.release.terms import plan as release_plan
from pgsr.tables.inputs import PrivateLog

# Fields that tell of the data


def published(patch: MonkeyPatch, name: str, value: Callable[["Seen", Path], Any]) -> None:
    """The manifest gets a field `name`, and the list of fields that may be there gets it, too, so that `check` passes.

    `value` is made from all that the process has seen: that is the bug.
    """
    seen = watched(patch)

    def written(write: Callable) -> Callable:
        def with_field(folder: Path, terms: Any, measurement: Any, result: Any) -> None:
            write(folder, terms, measurement, result)
            path = folder / artefact.MANIFEST
            fields = json.loads(path.read_text()) | {name: value(seen, folder)}
            path.write_text(manifest.written(fields))
            (folder / digests.SUMS).write_text(digests.sums_text(folder, artefact.FILES))

        return with_field

    around(patch, writing, "_write", written)
    patch.setattr(manifest, "OF_ANSWER", (*manifest.OF_ANSWER, name))


class Seen:
    """The data that a process which makes a release has read."""

    config: ReleaseConfig
    log: PrivateLog
    truth: CountOfCounts


def watched(patch: MonkeyPatch) -> Seen:
    """Filled when the tables are read."""
    seen = Seen()

    def counted(count: Callable) -> Callable:
        def kept(config: ReleaseConfig, log: PrivateLog | None = None) -> CountOfCounts:
            seen.config, seen.log = config, log or PrivateLog()
            seen.truth = count(config, seen.log)
            return seen.truth

        return kept

    around(patch, ReleaseConfig, "count", counted)
    return seen


def hash_of_the_input(patch: MonkeyPatch) -> None:
    """Whoever guesses the table can confirm the guess."""

    def digest(seen: Seen, _: Path) -> str:
        return hashlib.sha256(Path(seen.config.entities.table.pattern).read_bytes()).hexdigest()

    published(patch, "input", digest)


def true_error(patch: MonkeyPatch) -> None:
    def error(seen: Seen, folder: Path) -> int:
        from pgsr.tables.long import read_long

        return int(np.abs(read_long(folder / artefact.COUNTS).counts().counts - seen.truth.counts).sum())

    published(patch, "error", error)


def number_of_rows(patch: MonkeyPatch) -> None:
    published(patch, "rows", lambda seen, _: seen.log.entities)


def number_of_clipped_groups(patch: MonkeyPatch) -> None:
    published(patch, "clipped", lambda seen, _: seen.log.clipped_groups)


def largest_true_size(patch: MonkeyPatch) -> None:
    published(patch, "largest", lambda seen, _: int(np.flatnonzero(seen.truth.counts[0])[-1] + seen.log.clipped_groups))


def seed(patch: MonkeyPatch) -> None:
    """Noise from a key that is published: anybody can take it off."""
    key = "2026-11-21"
    patch.setattr(publishing, "Secure", lambda: _SecureLooking(key))
    published(patch, "seed", lambda *_: key)


class _SecureLooking(Seeded):
    secure = True


def timings_per_region(patch: MonkeyPatch) -> None:
    seconds: list[float] = []

    def timed(add_to: Callable) -> Callable:
        def add(law: DoubleGeometric, values: np.ndarray, stream: Any) -> None:
            start = time.perf_counter()
            add_to(law, values, stream)
            seconds.append(time.perf_counter() - start)

        return add

    around(patch, DoubleGeometric, "add_to", timed)
    published(patch, "seconds", lambda *_: [round(s, 9) for s in seconds])


# Split views


def thresholds_stated_one_higher(patch: MonkeyPatch) -> None:
    """The noise step splits one size lower than the manifest says, and so do those who read it."""
    patch.setattr(release_plan, "Split", lambda threshold: Split(threshold - 1))


def ranks_without_noise(patch: MonkeyPatch) -> None:
    def columns_alone(parts: Callable) -> Callable:
        return lambda view, row: [part for part in parts(view, row) if part[0] is not View.RANKED]

    around(patch, Split, "parts", columns_alone)


def rows_in_the_readme(patch: MonkeyPatch) -> None:
    seen = watched(patch)
    for module in (writing, release_check):
        around(patch, module, "readme", lambda f: lambda fields: f"{f(fields)}\nFrom {seen.log.entities} rows.\n")


# Charging


def charged_after_drawing(patch: MonkeyPatch) -> None:
    charge = LedgerFile.charge
    owed: list[tuple[LedgerFile, Charge, str]] = []
    patch.setattr(LedgerFile, "charge", lambda ledger, amount, data_set: owed.append((ledger, amount, data_set)))

    def settle(write: Callable) -> Callable:
        def written(*arguments: Any) -> None:
            while owed:
                charge(*owed.pop())
            write(*arguments)

        return written

    around(patch, publishing, "write_measurement", settle)


@replacing(LedgerFile, "charge")
def charged_per_level(charge: Callable, ledger: LedgerFile, whole: Charge, data_set: str) -> str:
    """A third of epsilon, for three levels that each get a third."""
    return charge(ledger, replace(whole, loss=PureEpsilon(whole.loss.parts[0] / 3)), data_set)


def lines_not_put_on_the_disk(patch: MonkeyPatch) -> None:
    """A line of the ledger is written and not synced."""
    patch.setattr(ledger_file, "_write", lambda file, data: file.write(data))


def given_back_after_a_failure(patch: MonkeyPatch) -> None:
    def careful(release: Callable) -> Callable:
        def released(config: ReleaseConfig, *rest: Any) -> Path:
            files = [config.ledger, config.ledger.with_name(f"{config.ledger.name}.head")]
            before = [file.read_bytes() for file in files]
            try:
                return release(config, *rest)
            except Exception:
                for file, data in zip(files, before, strict=True):
                    file.write_bytes(data)
                raise

        return released

    import release_checks

    around(patch, release_checks, "release", careful)


def charged_before_refusing(patch: MonkeyPatch) -> None:
    def early(release: Callable) -> Callable:
        def released(config: ReleaseConfig, rehearse: bool = False) -> Path:
            if not rehearse:
                LedgerFile(config.ledger).charge(Charge(PureEpsilon("1/2"), "early"), config.terms.data_set)
            return release(config, rehearse)

        return released

    import release_checks

    around(patch, release_checks, "release", early)


# Noise and claims


def _measured(patch: MonkeyPatch, change: Callable[[Any, Callable[[], Any]], Any]) -> None:
    def changed(measure: Callable) -> Callable:
        def measured(noise: Geometric, truth: CountOfCounts, source: Any, *rest: Any) -> Any:
            return change(measure(noise, truth, source, *rest), lambda: measure(noise, truth, Secure(), *rest))

        return measured

    around(patch, Geometric, "measure", changed)


def rehearsal_marked_private(patch: MonkeyPatch) -> None:
    patch.setattr(manifest, "claim", lambda terms, secure: columns.PRIVATE)


def tables_of_a_rehearsal_marked_private(patch: MonkeyPatch) -> None:
    around(patch, columns, "_schema", lambda f: lambda what, terms, secure, table: f(what, terms, True, table))


def rehearsal_under_the_release_s_name(patch: MonkeyPatch) -> None:
    patch.setattr(publishing, "folder_of", lambda output, rehearse: output)


def released_with_the_rehearsal_s_noise(patch: MonkeyPatch) -> None:
    patch.setattr(publishing, "Secure", lambda: _SecureLooking(manifest.REHEARSAL_KEY))


def clipped_at_zero(patch: MonkeyPatch) -> None:
    """Noisy values are made presentable before they are published."""
    _measured(patch, lambda measurement, again: replace(measurement, cells=np.maximum(measurement.cells, 0)))


def mean_of_two_draws(patch: MonkeyPatch) -> None:
    """Better by a factor of 1.4, at twice the epsilon."""
    _measured(patch, lambda measurement, again: replace(measurement, cells=(measurement.cells + again().cells) // 2))


@by(_measured)
def best_of_two_draws(measurement: Any, again: Callable[[], Any]) -> Any:
    """The draw with less noise, judged by its sum."""
    return min((measurement, again()), key=lambda m: int(np.abs(m.matrix).sum()))
