"""The files of a release: their names."""

import json
from collections.abc import Iterable
from pathlib import Path

from pgsr.release.publishing.digests import SUMS

COUNTS, COUNTS_CSV, MEASUREMENT = "counts.parquet", "counts.csv", "measurement.parquet"
REGIONS, PACKAGE, README, SUMMARY = "regions.csv", "datapackage.json", "README.txt", "summary.html"
MANIFEST = "manifest.json"

WIDE = "counts_wide_{}.csv"
"""The name of a table of counts in wide form, with the level put in; `columns` says which levels have one."""

TABLES = (COUNTS, COUNTS_CSV, MEASUREMENT, REGIONS)
"""The tables that every release has; everything else but those in wide form describes them."""


def digested(wide: Iterable[str] = ()) -> tuple[str, ...]:
    """The files whose digests the manifest holds, with these tables in wide form."""
    return (*TABLES, *wide, PACKAGE, README, SUMMARY)


def files(wide: Iterable[str] = ()) -> tuple[str, ...]:
    """The files of a release with these tables in wide form; a signed one has a signature besides."""
    return tuple(sorted((*digested(wide), MANIFEST, SUMS)))


def named_in(folder: Path) -> tuple[str, ...]:
    """The files of a release, by its own manifest."""
    return tuple(sorted((*json.loads((folder / MANIFEST).read_text("utf-8"))["files"], MANIFEST, SUMS)))
