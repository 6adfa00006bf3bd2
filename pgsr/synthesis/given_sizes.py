"""Sizes that a synthesis is tied to: households by region and size, of a release or a table, and what they protect."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pgsr.histogram import CountOfCounts
from pgsr.ledger import LedgerError, Relation, steps
from pgsr.synthesis.domain import SynthesisError
from pgsr.synthesis.sensitivity import Neighbours


@dataclass(frozen=True, eq=False)
class GivenSizes:
    """Households by region and size.

    Attributes:
        counts: of every region.
        source: what is known of them, as a transcript tells it; a table on its own states nothing but its claim.
        relation: between which data sets the release protects; None where that is not known.
        secure: False for a rehearsal, True for a release, None where that is not known.
    """

    counts: CountOfCounts
    source: dict[str, Any]
    relation: Relation | None = None
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


def read_sizes(path: str | PathLike[str]) -> GivenSizes:
    """Of the folder of a release, or a long table of counts (Parquet or CSV).

    Raises:
        TableError: a file that is no table of counts, or is not consistent over regions.
        ManifestError: the folder's manifest is none of a release.
    """
    from pgsr.release import artefact, manifest
    from pgsr.release.making import charge_for
    from pgsr.tables import read_long

    place = Path(path)
    if not place.is_dir():
        claim = _claim(place)
        source = {"table": "of counts by region and size", "privacy_claim": claim}
        return GivenSizes(read_long(place).counts(), source, secure=None if claim is None else claim != manifest.SEEDED)
    fields = manifest.read((place / artefact.MANIFEST).read_text(encoding="utf-8"))
    terms, secure = manifest.terms_of(fields)
    source = {name: fields[name] for name in ("data_set", "privacy_claim", "epsilon", "neighbours")}
    source["digest"] = artefact.digest_of(place)
    return GivenSizes(read_long(place / artefact.COUNTS).counts(), source, charge_for(terms, place).relation, secure)


def _covers(release: Relation, under: Relation) -> bool:
    """Whether what a release protects includes all neighbours under another relation, at the same epsilon."""
    try:
        return steps(release, under) == 1
    except LedgerError:
        return False


def _claim(table: Path) -> str | None:
    """What a table of a release says of its privacy when it is copied out of its folder."""
    if table.suffix != ".parquet" or not table.is_file():
        return None
    import pyarrow.parquet as pq

    found = (pq.read_schema(table).metadata or {}).get(b"privacy_claim")
    return None if found is None else found.decode(errors="replace")
