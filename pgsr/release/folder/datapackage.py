"""The file datapackage.json: the tables and their columns in a standard form, for programs.

Source: Frictionless Data Package and Table Schema, specification version 1.
"""

import json
import re
from pathlib import Path
from typing import Any

from pgsr.release.folder import artefact
from pgsr.release.folder.columns import Column, counts_columns, measurement_columns, measurement_key, regions_columns
from pgsr.release.folder.manifest import terms_of


def package_text(folder: Path, manifest: dict[str, Any]) -> str:
    """Write the text of datapackage.json; the manifest and the tables in `folder` determine it.

    Args:
        folder: where the tables lie.
        manifest: its terms; fields that are written after the tables are not read.
    """
    terms, _ = terms_of(manifest)
    names = terms.names(len(manifest["levels"]))
    counts, regions = counts_columns(terms, names), regions_columns(names)
    package = {
        "profile": "data-package",
        "name": re.sub(r"[^-a-z0-9._]+", "-", manifest["data_set"].lower()).strip("-") or "release",
        "title": f"{manifest['data_set']}: numbers of groups by region and size",
        "description": f"{manifest['privacy_claim']}; {terms.total} in all. README.txt says more.",
        "resources": [
            _resource(folder, artefact.COUNTS_CSV, "released counts", counts, ["region_id", "group_size"]),
            _resource(folder, artefact.COUNTS, "released counts", counts, ["region_id", "group_size"]),
            _resource(folder, artefact.REGIONS, "regions", regions, ["region_id"]),
            _resource(
                folder,
                artefact.MEASUREMENT,
                "noisy values",
                measurement_columns(terms, names),
                measurement_key(terms),
            ),
        ],
    }
    return json.dumps(package, indent=1, ensure_ascii=False) + "\n"


def _resource(folder: Path, name: str, title: str, columns: list[Column], key: list[str]) -> dict[str, Any]:
    path = folder / name
    csv = path.suffix == ".csv"
    about = {
        "profile": "tabular-data-resource" if csv else "data-resource",
        "name": name.replace(".", "-"),
        "path": name,
        "title": title,
        "format": path.suffix[1:],
        "mediatype": "text/csv" if csv else "application/vnd.apache.parquet",
        "bytes": path.stat().st_size,
        "hash": f"sha256:{artefact.digest(path)}",
    }
    if csv:
        about |= {
            "encoding": "utf-8",
            "dialect": {
                "delimiter": ",",
                "quoteChar": '"',
                "doubleQuote": True,
                "lineTerminator": "\n",
                "header": True,
            },
        }
    fields = [
        {
            "name": column.name,
            "type": column.kind,
            "description": column.description,
            "constraints": {"required": column.required},
        }
        for column in columns
    ]
    return about | {"schema": {"fields": fields, "primaryKey": key, "missingValues": [""]}}
