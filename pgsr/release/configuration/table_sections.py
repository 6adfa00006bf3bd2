"""The TOML tables of a release that say where rows are: [entities], [tuples], [groups], [regions], [limits]."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgsr.publishing.configuration.declared import complete
from pgsr.publishing.configuration.sources import read_source
from pgsr.release.configuration.schema import CONFIGURATION
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, Quantities


def read_tables(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the fields of `ReleaseConfig` that are tables, and the limits of reading.

    Args:
        values: of the file, of the declared forms.
        folder: that names of files are relative to.

    Raises:
        ConfigError: a key has no meaning for this kind of source.
    """
    known = CONFIGURATION.known
    tables = {name: complete(known[name], values[name]) for name in _TABLES if name in values}
    rows, tuples, groups, regions = (tables.get(name) for name in _TABLES)
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


_TABLES = ("entities", "tuples", "groups", "regions")
