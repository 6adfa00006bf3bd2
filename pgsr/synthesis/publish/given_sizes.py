"""The sizes that a synthesis is tied to: households by region and size, from a release or a table."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pgsr.data.counts import CountOfCounts
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.folder import artefact, manifest
from pgsr.release.ledger.errors import LedgerError
from pgsr.release.ledger.relation import steps
from pgsr.release.publishing import digests
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.tables.long import read_long


@dataclass(frozen=True, eq=False)
class GivenSizes:
    """The households by region and size that a synthesis has to have.

    Attributes:
        counts: of every region.
        source: what is known of them, as a transcript tells it; a table on its own states nothing but its claim.
        relation, unit: between which data sets the release protects, and whose presence or values; None where that is
            not known.
        secure: False for a rehearsal, True for a release, None where that is not known.
    """

    counts: CountOfCounts
    source: dict[str, Any]
    relation: Relation | None = None
    unit: Unit | None = None
    secure: bool | None = None

    def require(self, neighbours: Neighbours, rehearse: bool) -> None:
        """Raise `SynthesisError` unless a synthesis that protects `neighbours` may be tied to these sizes."""
        if self.secure is False and not rehearse:
            raise SynthesisError(
                "the sizes are those of a rehearsal, whose noise anybody can take off; give a release, or rehearse the "
                "synthesis too"
            )
        under = Relation(str(neighbours))
        if self.relation is not None and not _covers(self.relation, under):
            raise SynthesisError(
                f"the release of the sizes protects {self.relation}, and this synthesis {under}, so that no one "
                f"statement holds for both; write neighbours = {str(Relation.ADD_REMOVE)!r}, or leave --sizes out"
            )
        # Where values are replaced no size changes. Elsewhere a person changes one or two households' sizes.
        if self.unit is not None and self.unit.is_group and neighbours is not Neighbours.REPLACE:
            raise SynthesisError(
                f"the release of the sizes protects one {self.unit} ({self.relation}), and this synthesis a person, "
                "who makes a household another one; give a release of unit = 'entity', or leave --sizes out"
            )


def read_sizes(path: str | PathLike[str]) -> GivenSizes:
    """Read the sizes from the folder of a release, or from a long table of counts (Parquet or CSV).

    A table that lies in the folder of a release is read as that release: a CSV file says nothing of its privacy.

    Raises:
        TableError: a file that is no table of counts, or is not consistent over regions.
        ManifestError: the folder's manifest is none of a release.
        SynthesisError: the folder holds no release, other counts than its manifest says, or another table was named.
    """
    place = Path(path)
    folder = _folder_of(place)
    if folder is None:
        claim = _claim(place)
        counts, source = read_long(place).counts(), {"table": TABLE, "privacy_claim": claim}
        if not counts.sizes.equal:
            raise SynthesisError(f"{str(place)!r} has sizes per level; {ONE_SIZE}")
        return GivenSizes(counts, source, secure=None if claim is None else claim != manifest.SEEDED)
    fields = _fields(folder)
    for name in (artefact.COUNTS, artefact.COUNTS_CSV):
        if not (folder / name).is_file() or digests.digest(folder / name) != fields["files"].get(name):
            raise SynthesisError(
                f"{name} in {str(folder)!r} is not the table of this release's manifest; give the whole folder of one "
                "release, as it was published"
            )
    if _claim(folder / artefact.COUNTS) != fields["privacy_claim"]:
        raise SynthesisError(
            f"{artefact.COUNTS} in {str(folder)!r} makes another privacy claim than the manifest; give the whole "
            "folder of one release, as it was published"
        )
    plan, secure = manifest.plan_of(fields)
    terms = plan.terms
    if terms.max_sizes is not None:
        raise SynthesisError(f"the release in {str(folder)!r} has sizes per level; {ONE_SIZE}")
    source = {name: fields[name] for name in RELEASE_FIELDS if name != "digest"}
    source["digest"] = digests.digest_of(folder)
    return GivenSizes(read_long(folder / artefact.COUNTS).counts(), source, terms.relation, terms.unit, secure)


ONE_SIZE = "a synthesis takes one max_size for all levels, so give counts of one"
"""What is wrong with sizes per level, and what to do."""

TABLE = "of counts by region and size"
"""The name in a transcript of a table without a release."""

TABLE_FIELDS = ("table", "privacy_claim")
RELEASE_FIELDS = ("data_set", "privacy_claim", "epsilon", "neighbours", "digest")
"""The fields of a transcript on given sizes: of a table on its own, and of a release."""


def require_source(source: object) -> None:
    """Raise `SynthesisError` unless this is what `read_sizes` says of a table or a release."""
    if not isinstance(source, dict) or tuple(source) not in (TABLE_FIELDS, RELEASE_FIELDS):
        raise SynthesisError(f"sizes_from of the transcript is neither {TABLE_FIELDS} nor {RELEASE_FIELDS}")
    alone = tuple(source) == TABLE_FIELDS
    for name, value in source.items():
        if not isinstance(value, str) and not (alone and name == "privacy_claim" and value is None):
            raise SynthesisError(f"{name} in sizes_from of the transcript is {value!r}, no text")
    if alone and source["table"] != TABLE:
        raise SynthesisError(f"table in sizes_from of the transcript is not {TABLE!r}")
    if not alone and re.fullmatch("[0-9a-f]{64}", source["digest"]) is None:
        raise SynthesisError("digest in sizes_from of the transcript is no SHA-256")


def _folder_of(place: Path) -> Path | None:
    """Find the folder of the release that is meant; None for a table without one."""
    if place.is_dir():
        return place
    folder = place.resolve().parent
    if not (folder / artefact.MANIFEST).exists():
        return None
    if place.resolve().name not in (artefact.COUNTS, artefact.COUNTS_CSV):
        raise SynthesisError(
            f"{place.name} lies beside a {artefact.MANIFEST} and is not the counts of that release; give the folder, "
            "or put the table elsewhere"
        )
    return folder


def _fields(folder: Path) -> dict[str, Any]:
    for name in (artefact.MANIFEST, digests.SUMS):
        if not (folder / name).is_file():
            raise SynthesisError(f"{str(folder)!r} has no {name}; give the folder of a release, or a table of counts")
    try:
        return manifest.read((folder / artefact.MANIFEST).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise SynthesisError(
            f"the {artefact.MANIFEST} in {str(folder)!r} is no text; give the folder of a release"
        ) from None


def _covers(release: Relation, under: Relation) -> bool:
    """Say whether a release protects all neighbours under another relation, at the same epsilon."""
    try:
        return steps(release, under) == 1
    except LedgerError:
        return False


def _claim(table: Path) -> str | None:
    """Read what a table of a release says of its privacy, which it keeps when it is copied out of its folder."""
    if table.suffix != ".parquet" or not table.is_file():
        return None
    found = (pq.read_schema(table).metadata or {}).get(b"privacy_claim")
    return None if found is None else found.decode(errors="replace")
