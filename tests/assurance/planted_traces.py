"""Bugs that tell of the data beside the published numbers, as patches of the real code; and bugs of counting."""

import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from parquet_footers import hide_between
from planted_bugs import around, by, replacing
from planted_publications import Seen, watched
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.release
from pgsr import CountOfCounts, Hierarchy, PgsrError
from pgsr.methods import Mechanism
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.budget import exact
from pgsr.release import ReleaseConfig
from pgsr.release.checks import release_check
from pgsr.release.folder import artefact, manifest
from pgsr.release.folder.datapackage import package_text
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.make import files
from pgsr.release.make import publish as publishing
from pgsr.release.publishing import digests, parquet_pages
from pgsr.release.terms import plan as release_plan
from pgsr.release.terms import preflight
from pgsr.release.terms.plan import Plan

# What is said


def after_reading(patch: MonkeyPatch, do: Callable[[int], object]) -> None:
    """Call `do(number of rows)` when the tables are read."""
    seen = watched(patch)

    def telling(count: Callable) -> Callable:
        def counted(config: ReleaseConfig, *rest: Any) -> CountOfCounts:
            truth = count(config, *rest)
            do(seen.log.entities)
            return truth

        return counted

    around(patch, ReleaseConfig, "count", telling)


def rows_on_standard_output(patch: MonkeyPatch) -> None:
    after_reading(patch, lambda rows: print(f"{rows} rows read"))


def rows_on_standard_error(patch: MonkeyPatch) -> None:
    after_reading(patch, lambda rows: print(f"{rows} rows read", file=sys.stderr))


def rows_below_python(patch: MonkeyPatch) -> None:
    """Write as a library would, past `sys.stdout`."""
    after_reading(patch, lambda rows: os.write(2, f"{rows} rows read\n".encode()))


@by(after_reading)
def rows_in_a_warning(rows: int) -> None:
    handler = logging.StreamHandler()
    handler.emit(logging.LogRecord("pgsr", logging.WARNING, "", 0, f"{rows} rows read", None, None))


def warning_of_large_groups(patch: MonkeyPatch) -> None:
    """Helpful: K may be too small."""
    seen = watched(patch)

    def warn(rows: int) -> None:
        del rows
        if seen.log.clipped_groups:
            print("some groups are larger than max_size", file=sys.stderr)

    after_reading(patch, warn)


def publishing_with(patch: MonkeyPatch, change: Callable[[Seen, Any, Callable[[str], None]], Any]) -> None:
    """Make `publish` return `change(seen, release, say)`."""
    seen = watched(patch)

    def telling(publish: Callable) -> Callable:
        def published(config: ReleaseConfig, rehearse: bool = False, say: Callable[[str], None] | None = None) -> Any:
            return change(seen, publish(config, rehearse, say), say or (lambda _: None))

        return published

    around(patch, pgsr.release, "publish", telling)


@by(publishing_with)
def rows_to_whoever_listens(seen: Seen, made: Any, say: Callable[[str], None]) -> Any:
    say(f"done with {seen.log.entities} rows")
    return made


@by(publishing_with)
def rows_in_the_exit_code(seen: Seen, made: Any, say: Callable[[str], None]) -> Any:
    raise SystemExit(seen.log.entities % 100)


@by(publishing_with)
def exit_code_if_there_are_few_rows(seen: Seen, made: Any, say: Callable[[str], None]) -> Any:
    if seen.log.entities < 100:
        raise SystemExit(3)
    return made


# What is left on the disk


def rows_in_the_hidden_folder_s_name(patch: MonkeyPatch) -> None:
    seen = watched(patch)

    def named(make: Callable) -> Callable:
        def made(suffix: str | None = None, prefix: str | None = None, *rest: Any, **names: Any) -> str:
            count = f"{seen.log.entities}." if hasattr(seen, "log") else ""
            return make(suffix, f"{prefix or ''}{count}", *rest, **names)

        return made

    around(patch, tempfile, "mkdtemp", named)


def after_writing(patch: MonkeyPatch, do: Callable[[Seen, Path], object]) -> None:
    """Call `do(seen, folder)` when all files are written; what says their digests is then made anew: `check` passes."""
    seen = watched(patch)

    def written(write: Callable) -> Callable:
        def changed(folder: Path, *rest: Any) -> None:
            write(folder, *rest)
            do(seen, folder)
            path = folder / artefact.MANIFEST
            fields = json.loads(path.read_text())
            (folder / artefact.PACKAGE).write_text(package_text(folder, fields), encoding="utf-8", newline="")
            found = {name: digests.digest(folder / name) for name in fields["files"]}
            if fields["files"] != found:
                path.write_text(manifest.written(fields | {"files": found}))
                (folder / digests.SUMS).write_text(digests.sums_text(folder, artefact.FILES))

        return changed

    around(patch, files, "_write", written)


def rows_in_a_file_name(patch: MonkeyPatch) -> None:
    """Beside the folder, where the next step of a pipeline looks for it."""
    after_writing(patch, lambda seen, folder: (folder.parent / f"made-of-{seen.log.entities}-rows").touch())


def table_left_behind(patch: MonkeyPatch) -> None:
    """Leave a table in the temporary folder; its size tells as much as its name."""
    after_reading(patch, lambda rows: (Path(tempfile.gettempdir()) / f"pgsr-{rows}.cache").touch())


def rows_as_modification_time(patch: MonkeyPatch) -> None:
    """Set a modification time by the rows after all files were given one time."""
    seen = watched(patch)

    def timed(publish: Callable) -> Callable:
        def published(hidden: Path, folder: Path, *rest: Any) -> Any:
            report = publish(hidden, folder, *rest)
            for path in folder.iterdir():
                os.utime(path, (seen.log.entities, seen.log.entities))
            return report

        return published

    around(patch, files, "_publish", timed)


def rows_in_permissions(patch: MonkeyPatch) -> None:
    """One bit is enough."""
    after_writing(
        patch, lambda seen, folder: (folder / artefact.README).chmod(0o600 if seen.log.entities % 2 else 0o644)
    )


@by(after_writing)
def rows_as_size_of_row_groups(seen: Seen, folder: Path) -> None:
    path = folder / artefact.COUNTS
    table = pq.read_table(path)
    pq.write_table(table, path, compression="zstd", row_group_size=1 + seen.log.entities % len(table))


@by(after_writing)
def rows_in_created_by(seen: Seen, folder: Path) -> None:
    path = folder / artefact.COUNTS
    data = path.read_bytes()
    assert b"parquet-cpp-arrow" in data
    path.write_bytes(data.replace(b"parquet-cpp-arrow", f"rows-{seen.log.entities:012d}".encode()))


@by(after_writing)
def compressed_by_the_number_of_rows(seen: Seen, folder: Path) -> None:
    """Well meant: little data needs no compression."""
    path = folder / artefact.COUNTS
    pq.write_table(pq.read_table(path), path, compression="none" if seen.log.entities < 100 else "zstd")


def rows_between_columns(patch: MonkeyPatch) -> None:
    """Hide the number of rows where no reader of Parquet looks; nor does the check, any more."""
    columns_not_looked_between(patch)
    after_writing(patch, lambda seen, folder: hide_between(folder / artefact.COUNTS, f"{seen.log.entities:9}".encode()))


def columns_not_looked_between(patch: MonkeyPatch) -> None:
    """A check that reads tables, and nothing but what their readers show."""
    patch.setattr(release_check, "require_plain", lambda path: None)


def pages_not_looked_at(patch: MonkeyPatch) -> None:
    """A check that believes the footer about how long a column is."""
    patch.setattr(parquet_pages, "_filled_by_pages", lambda *_: True)


# What is counted


def counted_by(patch: MonkeyPatch, change: Callable[[ReleaseConfig, CountOfCounts], CountOfCounts]) -> None:
    around(patch, ReleaseConfig, "count", lambda count: lambda config, *rest: change(config, count(config, *rest)))


@by(counted_by)
def largest_size_by_quantile(config: ReleaseConfig, truth: CountOfCounts) -> CountOfCounts:
    """K is where nine tenths of the groups are, and the terms say so."""
    cut = trimmed(truth, 0.9)
    object.__setattr__(config.terms, "max_size", cut.max_size)
    return cut


def trimmed(truth: CountOfCounts, part: float) -> CountOfCounts:
    """Truncated at a quantile of its own sizes."""
    below = np.cumsum(truth.counts[0])
    largest = max(1, int(np.searchsorted(below, part * below[-1])))
    if largest >= truth.max_size:
        return truth
    leaves = truth.counts[truth.hierarchy.leaves]
    kept = np.column_stack([leaves[:, :largest], leaves[:, largest:].sum(axis=1)])
    return CountOfCounts(truth.hierarchy, kept, truth.name, private_groups=truth.private_groups)


@by(counted_by)
def sizes_up_to_the_largest_filled(config: ReleaseConfig, truth: CountOfCounts) -> CountOfCounts:
    """All sizes beyond the largest that occurs are left out, as if they were a waste of noise."""
    largest = max(1, int(np.flatnonzero(truth.row(0)).max(initial=0)))
    if not truth.sizes.equal:
        sizes = tuple(min(k, largest) for k in truth.max_sizes)
        tables = tuple(table[:, : k + 1] for table, k in zip(truth.tables, sizes, strict=True))
        object.__setattr__(config.terms, "max_sizes", sizes)
        return CountOfCounts(truth.hierarchy, tables, truth.name, max_quantity=truth.max_quantity)
    object.__setattr__(config.terms, "max_size", largest)
    leaves = truth.counts[truth.hierarchy.leaves, : largest + 1]
    return CountOfCounts(truth.hierarchy, leaves, truth.name, private_groups=truth.private_groups)


def sizes_up_to_the_largest_filled_by_level(patch: MonkeyPatch) -> None:
    """The same, only where levels have sizes of their own."""
    count = ReleaseConfig.count
    sizes_up_to_the_largest_filled(patch)
    cut = ReleaseConfig.count
    patch.setattr(ReleaseConfig, "count", lambda c, *rest: (cut if c.terms.max_sizes else count)(c, *rest))


@by(counted_by)
def regions_sorted_by_size(config: ReleaseConfig, truth: CountOfCounts) -> CountOfCounts:
    """The largest first, as in any table for readers: the order of the true numbers of entities."""
    tree, leaves = truth.hierarchy, truth.counts[truth.hierarchy.leaves]
    order = np.argsort(-(leaves @ np.arange(truth.max_size + 1)), kind="stable")
    paths = [tree.paths[tree.leaves.start + i] for i in order]
    return CountOfCounts.from_listed(Hierarchy.from_paths(paths), leaves[order], truth.name)


@by(counted_by)
def small_regions_emptied(config: ReleaseConfig, truth: CountOfCounts) -> CountOfCounts:
    """Disclosure control from another world: a region of less than the usual number of entities has none."""
    leaves = truth.counts[truth.hierarchy.leaves].copy()
    entities = leaves @ np.arange(truth.max_size + 1)
    few = entities < np.median(entities)
    leaves[few, 0], leaves[few, 1:] = leaves[few].sum(axis=1), 0
    return replaced(truth, leaves)


@by(counted_by)
def outliers_made_usual(config: ReleaseConfig, truth: CountOfCounts) -> CountOfCounts:
    """Groups above the middle size of their region count as of that size."""
    leaves = truth.counts[truth.hierarchy.leaves].copy()
    for row in leaves:
        middle = int(np.searchsorted(np.cumsum(row), row.sum() / 2))
        row[middle] += row[middle + 1 :].sum()
        row[middle + 1 :] = 0
    return replaced(truth, leaves)


def replaced(truth: CountOfCounts, leaves: np.ndarray) -> CountOfCounts:
    return CountOfCounts(truth.hierarchy, leaves, truth.name)


# What the truth decides


def rows_of_zeros_by_the_truth(patch: MonkeyPatch) -> None:
    """Leave zeros out where many cells hold something: the limit is meant for all cells, and these are fewer."""
    seen = watched(patch)

    def by_truth(write: Callable) -> Callable:
        def written(folder: Path, plan: Plan, measurement: Any) -> None:
            rows = range(seen.truth.hierarchy.n_regions)
            filled = sum(int(np.count_nonzero(seen.truth.row(region))) for region in rows)
            object.__setattr__(plan, "zeros", filled <= release_plan.MOST_ROWS)
            write(folder, plan, measurement)

        return written

    around(patch, publishing, "write_measurement", by_truth)


@replacing(preflight, "bytes_needed")
def memory_by_the_filled_cells(
    needed: Callable, plan: Plan, tree: Hierarchy, truth: CountOfCounts | None = None
) -> int:
    """Ask for memory by the cells of the truth that are not 0: near the limit a refusal tells how many these are."""
    if truth is None:
        return needed(plan, tree)
    rows = range(tree.n_regions)
    return needed(plan, tree) + 75 * sum(int(np.count_nonzero(truth.row(region))) for region in rows)


# Charging


def charged_although_refused(patch: MonkeyPatch) -> None:
    """Whoever asks pays, whether or not there is an answer."""
    import release_checks

    def strict(release: Callable) -> Callable:
        def released(config: ReleaseConfig, rehearse: bool = False) -> Path:
            try:
                return release(config, rehearse)
            except PgsrError:
                LedgerFile(config.ledger).charge(Charge(PureEpsilon("1/4"), "a refusal"), config.terms.data_set)
                raise

        return released

    around(patch, release_checks, "release", strict)


def drawn_with_more_than_charged(patch: MonkeyPatch) -> None:
    def generous(mechanism: Mechanism) -> Mechanism:
        return replace(mechanism, noise=replace(mechanism.noise, epsilon=2 * exact(mechanism.noise.epsilon)))

    def planned(plan: Plan) -> None:
        complete(plan)
        object.__setattr__(plan, "mechanism", generous(plan.mechanism))

    complete = Plan.__post_init__
    patch.setattr(Plan, "__post_init__", planned)
