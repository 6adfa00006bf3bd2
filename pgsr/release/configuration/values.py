"""The values of a file as fields of a configuration: checked, completed, and made terms, tables and places."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from pgsr.release.configuration.keys import DeclaredTable, complete, require
from pgsr.release.configuration.schema import CONFIGURATION
from pgsr.release.configuration.sources import read_source
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.publication import USUAL, Publication
from pgsr.release.terms.terms import Terms
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, Quantities

TABLES = ("entities", "tuples", "groups", "regions")
"""The TOML tables that say where rows are."""


def fields_of(values: Mapping[str, Any], folder: Path, here: Collection[str]) -> dict[str, Any]:
    """Make the fields of `ReleaseConfig` of a file's values.

    Args:
        values: of the file.
        folder: that names of files are relative to.
        here: keys whose names of files are relative to the working folder instead.

    Raises:
        ConfigError: keys are missing, unknown or of the wrong kind, or contradict each other.
    """
    require(CONFIGURATION, values)
    told = complete(CONFIGURATION, values)
    output, ledger, sign = (
        told[key] and (Path() if key in here else folder) / told[key] for key in ("output", "ledger", "sign")
    )
    log = folder / (told["log"] or f"{output.name}-private.log")
    places = {"output": output, "ledger": ledger, "log": log, "sign": sign}
    return {"terms": _terms(told), **places, **_tables(values, folder)}


def _terms(told: Mapping[str, Any]) -> Terms:
    named = ("shares", "totals", "level_names", "intervals", "rho", "unit", "relation", "threshold", "min_size")
    return Terms(
        told["data_set"],
        told["max_size"],
        told["epsilon"],
        Kind(told["mechanism"]),
        **{name: told[name] for name in named},
        delta=None if Fraction(told["delta"]) == 0 else told["delta"],
        publication=Publication(**told["publication"]) if told["publication"] else USUAL,
    )


def _tables(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the fields that are tables, and the limits of reading; names of files are relative to `folder`."""
    known = {member.name: member for member in CONFIGURATION.members if isinstance(member, DeclaredTable)}
    tables = {name: complete(known[name], values[name]) for name in TABLES if name in values}
    rows, tuples, groups, regions = (tables.get(name) for name in TABLES)
    sources = {name: read_source(values[name], name, folder) for name in tables}
    if rows is not None:
        entities = Entities(sources["entities"], rows["entity"] or None, rows["group"], rows["region"])
    else:
        assert tuples is not None, "one of the two is there"
        about = tuples["user"] or None, tuples["unit"], tuples["region"], tuples["quantity"]
        entities = Quantities(sources["tuples"], tuples["max_quantity"], tuples["clip"], *about)
    listed = None
    if regions is not None and regions["levels"] is not None:
        listed = Levels(sources["regions"], regions["levels"], regions["region"], regions["pad_ragged"])
    elif regions is not None:
        region = regions["region"] or "region"
        listed = Parents(sources["regions"], region, regions["parent"], regions["pad_ragged"])
    return {
        "entities": entities,
        "groups": None if groups is None else Groups(sources["groups"], groups["group"], groups["region"]),
        "regions": listed,
        "private_groups": groups is None or groups["private"],
        "limits": Limits(**complete(known["limits"], values["limits"])) if "limits" in values else None,
    }
