"""The folder of a synthesis: the files in it, and the exact text of its transcript."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.publishing.parquet_pages import without_numbers
from pgsr.release.publishing.strict_fields import require_fields
from pgsr.synthesis.data.domain import COUNT, Attribute, Domain, SynthesisError
from pgsr.synthesis.data.impossible import Impossible
from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
from pgsr.synthesis.queries.sensitivity import Neighbours
from pgsr.synthesis.queries.transcript import Privacy

if TYPE_CHECKING:
    import pandas as pd

HOUSEHOLDS, PERSONS, MODEL, TRANSCRIPT = "households.parquet", "persons.parquet", "model.npz", "transcript.json"
SUMS = "SHA256SUMS"
DICTIONARY, REPORT = "dictionary.csv", "report.html"
FILES = (DICTIONARY, HOUSEHOLDS, MODEL, PERSONS, REPORT, TRANSCRIPT, SUMS)

FORMAT = "pgsr synthesis 1"
ADDS_UP = "other releases of the same persons add to this one; the ledger of the data set holds them all"
METHOD = "whole-marginals"
PACKAGES = ("pgsr", "numpy", "scipy", "pandas", "pyarrow", "torch")

FIELDS = (
    *("format", "data_set", "privacy_claim", "adds_up", "charged", "relation", "unit", "neighbours"),
    *("epsilon", "delta", "rho", "conversion", "rounds", "households", "persons"),
    *("domain", "method", "settings", "seed", "sampled", "sizes_from", "measured", "versions"),
)


def settings_of(method: WholeMarginals) -> dict[str, Any]:
    """Collect the settings of a method that affect its result, in the form that JSON gives them."""
    return json.loads(json.dumps(vars(method), default=vars))


def method_of(settings: Mapping[str, Any]) -> WholeMarginals:
    """Make the method with these settings, and its defaults for all others."""
    impossible = tuple(Impossible(zero["values"]) for zero in settings.get("impossible", ()))
    return WholeMarginals(**{**settings, "impossible": impossible})


def facts_of(privacy: Privacy, domain: Domain, neighbours: Neighbours, unit: Unit) -> dict[str, Any]:
    """Compute the fields that tell of the guarantee, its cost and the domain."""
    paid = {"rho": str(privacy.rho), "relation": str(Relation(str(neighbours))), "unit": str(unit)}
    return {
        "format": FORMAT,
        "privacy_claim": privacy.claim,
        "adds_up": ADDS_UP,
        "charged": paid if privacy.secure else None,
        "relation": paid["relation"],
        "unit": paid["unit"],
        "neighbours": privacy.neighbours,
        **{name: str(getattr(privacy, name)) for name in ("epsilon", "delta", "rho", "conversion")},
        "domain": json.loads(json.dumps(asdict(domain), default=int)),
    }


def schemas(domain: Domain, n_levels: int = 0) -> tuple[pa.Schema, pa.Schema]:
    """Make the schemas of both tables, without metadata; with regions, households have a column per level."""
    levels = [pa.field(f"level_{level}", pa.string()) for level in range(n_levels)]
    key, size = pa.field("household", pa.int64()), pa.field(COUNT, pa.int64())
    homes = [key, *levels, *map(_field, domain.group), size]
    people = [key, pa.field("person", pa.int64()), pa.field("role", pa.string()), *map(_field, domain.individual)]
    return pa.schema(homes), pa.schema(people)


def table_of(frame: "pd.DataFrame", schema: pa.Schema) -> pa.Table:
    """Make the table of a frame as it is written, without the notes that pandas adds."""
    return pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata(None)


def require_schema(path: Path, schema: pa.Schema) -> None:
    """Raise `SynthesisError` unless the Parquet file has these columns, their types, and no metadata."""
    found = pq.ParquetFile(path)
    plain = without_numbers(found.schema_arrow)
    if plain.names != schema.names:
        raise SynthesisError(f"{path.name} has the columns {plain.names}, not {schema.names}")
    # What Arrow itself notes is the schema, which is compared.
    if not plain.equals(schema, check_metadata=True) or set(found.metadata.metadata or ()) - {b"ARROW:schema"}:
        raise SynthesisError(f"{path.name} has other types of columns, or metadata, than a synthesis writes")


def _field(attribute: Attribute) -> pa.Field:
    whole = all(isinstance(value, int) for value in attribute.values)
    return pa.field(attribute.name, pa.int64() if whole else pa.string())


def written(fields: dict[str, Any]) -> str:
    """Write the fields of a transcript as text; equal fields give equal text."""
    ordered = {name: fields[name] for name in FIELDS}
    return json.dumps(ordered, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str) -> dict[str, Any]:
    """Read the fields of a transcript from its text.

    Raises:
        SynthesisError: it is no JSON in the form of `written`, or a field is missing or unknown.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SynthesisError(f"{TRANSCRIPT} is not JSON: {error}") from None
    require_fields(found, FIELDS, TRANSCRIPT, "synthesis", SynthesisError)
    if written(found) != text:
        raise SynthesisError(f"{TRANSCRIPT} is not written as a synthesis writes it; fields were moved or reformatted")
    return found
