"""The folder of a synthesis: its files, and the one text of its transcript."""

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from pgsr.ledger import Relation, Unit
from pgsr.synthesis.adaptive import Family
from pgsr.synthesis.domain import Domain, SynthesisError
from pgsr.synthesis.queries import Level, Workload
from pgsr.synthesis.sensitivity import Neighbours, sensitivity
from pgsr.synthesis.transcript import Transcript

HOUSEHOLDS, PERSONS, MODEL, TRANSCRIPT = "households.parquet", "persons.parquet", "model.npz", "transcript.json"
SUMS = "SHA256SUMS"
FILES = (HOUSEHOLDS, MODEL, PERSONS, TRANSCRIPT, SUMS)

FORMAT = "pgsr synthesis 2"
ADDS_UP = "other releases of the same persons add to this one; the ledger of the data set holds them all"
PACKAGES = ("pgsr", "numpy", "scipy", "pandas", "pyarrow")

FIELDS = (
    *("format", "data_set", "privacy_claim", "adds_up", "charged", "relation", "unit", "neighbours"),
    *("epsilon", "delta", "rho", "alpha", "conversion", "rounds", "sensitivity", "households", "persons"),
    *("domain", "method", "settings", "k", "seed", "sampled", "sizes_from", "measured", "versions"),
)


def workload_of(domain: Domain, k: int) -> Workload:
    """All queries of k attributes; with relations where the domain has roles."""
    levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if len(domain.roles) > 1 else [])]
    return Workload.k_way(domain, k, levels)


def settings_of(family: Family) -> dict[str, Any]:
    """Settings of a method that make a difference to its result, as JSON has them."""
    return json.loads(json.dumps({name: value for name, value in vars(family).items() if name != "device"}))


def derived_fields(transcript: Transcript, neighbours: Neighbours) -> dict[str, Any]:
    """The fields of a transcript that follow from a fit's public numbers, domain, queries and budget."""
    privacy, workload = transcript.privacy, transcript.workload
    paid = {"rho": str(privacy.rho), "relation": str(Relation(str(neighbours))), "unit": str(Unit.ENTITY)}
    delta = sensitivity(workload, transcript.n_groups, transcript.n_persons, neighbours)
    return {
        "format": FORMAT,
        "privacy_claim": privacy.claim,
        "adds_up": ADDS_UP,
        "charged": paid if privacy.secure else None,
        "relation": paid["relation"],
        "unit": paid["unit"],
        "neighbours": privacy.neighbours,
        **{name: str(getattr(privacy, name)) for name in ("epsilon", "delta", "rho", "alpha", "conversion")},
        "rounds": privacy.rounds,
        "sensitivity": str(delta),
        "households": transcript.n_groups,
        "persons": transcript.n_persons,
        "domain": json.loads(json.dumps(asdict(transcript.domain), default=int)),
        "measured": [
            {"query": workload.describe(m.query), "number": m.query, "answer": m.value} for m in transcript.measured
        ],
    }


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Of what computed a synthesis."""
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def written(fields: dict[str, Any]) -> str:
    """The one text of a transcript."""
    ordered = {name: fields[name] for name in FIELDS}
    return json.dumps(ordered, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str) -> dict[str, Any]:
    """The fields of a transcript.

    Raises:
        SynthesisError: it is no JSON in the form of `written`, or a field is missing or unknown.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SynthesisError(f"{TRANSCRIPT} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SynthesisError(f"{TRANSCRIPT} is no table of fields")
    for name in found:
        if name not in FIELDS:
            raise SynthesisError(f"{TRANSCRIPT} has a field {name!r}, which no synthesis may publish")
    for name in FIELDS:
        if name not in found:
            raise SynthesisError(f"{TRANSCRIPT} lacks the field {name!r}")
    if written(found) != text:
        raise SynthesisError(f"{TRANSCRIPT} is not written as a synthesis writes it; fields were moved or reformatted")
    return found
