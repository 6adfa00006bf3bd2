"""The files of a release: their names."""

from pgsr.release.publishing.digests import SUMS

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
