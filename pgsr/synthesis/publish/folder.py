"""The folder of a synthesis: the files in it, the exact text of its transcript and its fields, and dictionary.csv."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Secure, Seeded
from pgsr.release.publishing.parquet_pages import without_numbers
from pgsr.release.publishing.strict_fields import require_fields
from pgsr.synthesis.data.domain import COUNT, Attribute, Domain, Neighbours, SynthesisError
from pgsr.synthesis.data.impossible import Impossible
from pgsr.synthesis.marginals.marginal_curator import MarginalTranscript, MeasuredMarginal, variance_of
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
from pgsr.synthesis.queries.transcript import AdaptiveBudget, Privacy
from pgsr.synthesis.queries.workload import Level, Marginal

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


def dictionary(domain: Domain, n_levels: int = 0) -> str:
    """Write the dictionary, which follows from the public domain alone; `n_levels` are those of regions.

    Example:
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> for line in dictionary(domain).splitlines()[:4]:
        ...     print(line)
        table,column,type,values,meaning
        households,household,integer,,key of the household
        households,area,text,urban; rural,attribute of the household
        households,COUNT,integer,1 to 4,number of its persons
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "column", "type", "values", "meaning"))
    writer.writerows(("households", *row) for row in _households(domain, n_levels))
    writer.writerows(("persons", *row) for row in _persons(domain))
    return out.getvalue()


Row = tuple[str, str, str, str]


def _households(domain: Domain, n_levels: int) -> Iterator[Row]:
    yield "household", "integer", "", "key of the household"
    for level in range(n_levels):
        yield f"level_{level}", "text", "", f"region on level {level} of the release of sizes; level 0 is the root"
    for attribute in domain.group:
        yield (*_of(attribute), "attribute of the household")
    least = 0 if n_levels else domain.min_size
    yield COUNT, "integer", f"{least} to {domain.max_size}", "number of its persons"


def _persons(domain: Domain) -> Iterator[Row]:
    yield "household", "integer", "", "key of the person's household"
    yield "person", "integer", f"1 to {domain.max_size}", "number of the person in the household; no order is meant"
    yield "role", "text", "; ".join(role.name for role in domain.roles), "role in the household"
    for attribute in domain.individual:
        yield (*_of(attribute), "attribute of the person")


def _of(attribute: Attribute) -> tuple[str, str, str]:
    whole = all(isinstance(value, int) for value in attribute.values)
    return attribute.name, "integer" if whole else "text", "; ".join(map(str, attribute.values))


def derived_fields(transcript: MarginalTranscript, neighbours: Neighbours, unit: Unit) -> dict[str, Any]:
    """Compute the fields of a transcript that follow from a fit's public facts, domain, marginals and budget."""
    households = transcript.households
    return {
        **facts_of(transcript.privacy, transcript.domain, neighbours, unit),
        "rounds": list(transcript.rounds),
        "households": households.n_groups,
        "persons": households.n_persons if households.with_sizes else None,
        "measured": [_told(transcript.domain, m, neighbours, unit) for m in transcript.measured],
    }


def describe(domain: Domain, marginal: Marginal) -> str:
    """Describe a marginal in words.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> for marginal in (Marginal(Level.INDIVIDUAL, (0, 1), (0,)), Marginal(Level.GROUP, (), (0,))):
        ...     describe(domain, marginal)
        'persons by sex, area, COUNT'
        'households with a member by sex'
    """
    group = [domain.group[g].name if g < domain.count else "COUNT" for g in marginal.group]
    own = [domain.individual[i].name for i in marginal.individual]
    if marginal.level is Level.GROUP:
        return f"households {'with a member ' if own else ''}by {', '.join([*own, *group])}"
    theirs = [domain.individual[i].name for i in marginal.relative]
    relative = f" and of a {marginal.relation} by {', '.join(theirs)}" if marginal.relation else ""
    return f"persons by {', '.join([*own, *group])}{relative}"


def read_back(
    fields: dict[str, Any], households: PublicHouseholds, method: WholeMarginals, budget: AdaptiveBudget, secure: bool
) -> MarginalTranscript:
    """Make the transcript that the fields tell of; compare its `derived_fields` with them.

    Raises:
        SynthesisError: marginals that the method does not measure, noise of another variance than was paid for, rounds
            of other numbers, or a rho that is not spent exactly.
    """
    domain, neighbours, unit = households.domain, Neighbours(fields["relation"]), Unit.parse(fields["unit"])
    single, candidates = method.marginals(domain, neighbours)
    measured = tuple(_measured(told) for told in fields["measured"])
    rounds = fields["rounds"]
    if not isinstance(rounds, list) or not all(type(n) is int for n in rounds):
        raise SynthesisError("rounds of the transcript are no list of whole numbers")
    if not rounds or rounds[0] != len(single) or tuple(m.marginal for m in measured[: len(single)]) != single:
        raise SynthesisError("the marginals of one attribute are not measured first, each once")
    if not {m.marginal for m in measured[len(single) :]} <= set(candidates):
        raise SynthesisError("a marginal was measured that the method does not select")
    for m in measured:
        squared = marginal_sensitivity(domain, m.marginal, neighbours, unit).squared
        if m.variance != variance_of(squared, m.rho):
            raise SynthesisError(f"the noise of {describe(domain, m.marginal)} has another variance than was paid for")
    spent = sum(m.rho for m in measured[: len(single)])
    spent += sum(m.rho / (1 - Fraction(method.selection)) for m in measured[len(single) :])
    if spent != budget.rho:
        raise SynthesisError("selections and measurements do not spend rho exactly")
    privacy = Privacy.of(budget, neighbours, Secure() if secure else Seeded("none"), unit)
    return MarginalTranscript(households, measured, tuple(rounds), privacy)


def _told(domain: Domain, m: MeasuredMarginal, neighbours: Neighbours, unit: Unit) -> dict[str, Any]:
    return {
        "marginal": describe(domain, m.marginal),
        "level": str(m.marginal.level),
        "group": list(m.marginal.group),
        "individual": list(m.marginal.individual),
        "relation": None if m.marginal.relation is None else str(m.marginal.relation),
        "relative": list(m.marginal.relative),
        "squared_sensitivity": marginal_sensitivity(domain, m.marginal, neighbours, unit).squared,
        "rho": str(m.rho),
        "variance": str(m.variance),
        "noisy": m.noisy.tolist(),
    }


def _measured(told: dict[str, Any]) -> MeasuredMarginal:
    names = ("level", "group", "individual", "relation", "relative")
    if not isinstance(told, dict) or not {*names, "rho", "variance", "noisy"} <= set(told):
        raise SynthesisError("an entry of measured is not told as a marginal is")
    if not all(type(n) is int for n in told["noisy"]):
        raise SynthesisError("noisy counts are no whole numbers")
    marginal = Marginal(**{name: told[name] for name in names})
    noisy = np.array(told["noisy"], np.int64)
    return MeasuredMarginal(marginal, Fraction(told["rho"]), Fraction(told["variance"]), noisy)
