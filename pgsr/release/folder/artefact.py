"""The files of a release: their names, and the digests of all."""

import hashlib
from pathlib import Path

COUNTS, COUNTS_CSV, MEASUREMENT = "counts.parquet", "counts.csv", "measurement.parquet"
REGIONS, PACKAGE, README, SUMMARY = "regions.csv", "datapackage.json", "README.txt", "summary.html"
MANIFEST, SUMS, SIGNATURE = "manifest.json", "SHA256SUMS", "SHA256SUMS.sig"

TABLES = (COUNTS, COUNTS_CSV, MEASUREMENT, REGIONS)
"""The tables; everything else describes them."""

DIGESTED = (*TABLES, PACKAGE, README, SUMMARY)
"""The files whose digests the manifest holds."""

FILES = tuple(sorted((*DIGESTED, MANIFEST, SUMS)))
"""The files that every release has; a signed one has `SIGNATURE` besides."""


def digest(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(folder: Path, names: tuple[str, ...] = FILES) -> str:
    """The text that SHA256SUMS has to hold; `sha256sum -c SHA256SUMS` reads it."""
    return "".join(f"{digest(folder / name)}  {name}\n" for name in names if name != SUMS)


def digest_of(folder: Path) -> str:
    """Compute the SHA-256 of SHA256SUMS, which stands for the whole release: to be announced elsewhere."""
    return digest(folder / SUMS)
