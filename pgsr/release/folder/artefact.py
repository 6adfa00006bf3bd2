"""The files of a release: their names, and that one is what `publish` writes."""

from itertools import zip_longest
from pathlib import Path

from pgsr.release.publishing.digests import SUMS
from pgsr.release.publishing.errors import ReleaseError

COUNTS, COUNTS_CSV, MEASUREMENT = "counts.parquet", "counts.csv", "measurement.parquet"
REGIONS, PACKAGE, README, SUMMARY = "regions.csv", "datapackage.json", "README.txt", "summary.html"
MANIFEST = "manifest.json"

TABLES = (COUNTS, COUNTS_CSV, MEASUREMENT, REGIONS)
"""The tables of a release; everything else describes them."""

DIGESTED = (*TABLES, PACKAGE, README, SUMMARY)
"""The files whose digests the manifest holds."""

LARGEST = {**dict.fromkeys(TABLES, 2**40), MANIFEST: 2**30, SUMMARY: 2**26}
"""The most bytes of the files that grow with regions and sizes; a manifest lists thresholds of regions."""

FILES = tuple(sorted((*DIGESTED, MANIFEST, SUMS)))
"""The files of a release; a signed one has a signature besides."""


def require_same(path: Path, text: bytes) -> None:
    """Raise `ReleaseError` with the first place where a file is not this text, which was written anew.

    No more of the file is read than there should be.
    """
    with path.open("rb") as file:
        found = file.read(len(text) + 1)
    if found == text:
        return
    place = next(at for at, (one, other) in enumerate(zip_longest(found, text)) if one != other)
    start = max(text.rfind(b"\n", 0, place) + 1, place - 30)
    have, want = (one[start : place + 30].partition(b"\n")[0].decode(errors="replace") for one in (found, text))
    number = text.count(b"\n", 0, place) + 1
    raise ReleaseError(f"{path.name} is not what a release writes: line {number} has {have!r}, and not {want!r}")
