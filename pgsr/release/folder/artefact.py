"""The files of a release: their names, and the digests of all."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

COUNTS, COUNTS_CSV, MEASUREMENT = "counts.parquet", "counts.csv", "measurement.parquet"
REGIONS, PACKAGE, README, SUMMARY = "regions.csv", "datapackage.json", "README.txt", "summary.html"
MANIFEST, SUMS, SIGNATURE = "manifest.json", "SHA256SUMS", "SHA256SUMS.sig"

WIDE = "counts_wide_{}.csv"
"""The name of a table of counts in wide form, with the level put in; `wide_tables` says which levels have one."""

TABLES = (COUNTS, COUNTS_CSV, MEASUREMENT, REGIONS)
"""The tables that every release has; everything else but those in wide form describes them."""


def digested(wide: Iterable[str] = ()) -> tuple[str, ...]:
    """The files whose digests the manifest holds, with these tables in wide form."""
    return (*TABLES, *wide, PACKAGE, README, SUMMARY)


def files(wide: Iterable[str] = ()) -> tuple[str, ...]:
    """The files of a release with these tables in wide form; a signed one has `SIGNATURE` besides."""
    return tuple(sorted((*digested(wide), MANIFEST, SUMS)))


def named_in(folder: Path) -> tuple[str, ...]:
    """The files of a release, by its own manifest."""
    return tuple(sorted((*json.loads((folder / MANIFEST).read_text("utf-8"))["files"], MANIFEST, SUMS)))


def digest(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(folder: Path, names: Iterable[str] | None = None) -> str:
    """The text that SHA256SUMS has to hold; `sha256sum -c SHA256SUMS` reads it.

    Args:
        folder: of the files.
        names: of the files; those of the manifest if None.
    """
    names = named_in(folder) if names is None else names
    return "".join(f"{digest(folder / name)}  {name}\n" for name in names if name != SUMS)


def digest_of(folder: Path) -> str:
    """Compute the SHA-256 of SHA256SUMS, which stands for the whole release: to be announced elsewhere."""
    return digest(folder / SUMS)
