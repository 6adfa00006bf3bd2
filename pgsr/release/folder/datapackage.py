"""The file datapackage.json: the tables and their columns in a standard form, for programs.

Source: Frictionless Data Package and Table Schema, specification version 1.
"""

import json
import re
from pathlib import Path
from typing import Any

from pgsr.release.folder import artefact
from pgsr.release.folder.columns import Column, counts_columns, measurement_columns, regions_columns
from pgsr.release.folder.manifest import plan_of
from pgsr.release.folder.words import title
from pgsr.release.publishing import digests
from pgsr.release.terms.publication import Publication


def package_text(folder: Path, manifest: dict[str, Any]) -> str:
    """Write the text of datapackage.json; the manifest and the tables in `folder` determine it.

    Args:
        folder: where the tables lie.
        manifest: its terms; fields that are written after the tables are not read.
    """
    plan, _ = plan_of(manifest)
    words = plan.terms.publication
    package = {
        "profile": "data-package",
        "name": _plain(manifest["data_set"].lower(), "release"),
        "title": title(manifest),
        "description": f"{manifest['privacy_claim']}; {plan.terms.total} in all. README.txt says more.",
        **_contributors(words),
        **_licences(words),
        "resources": [
            _resource(folder, artefact.COUNTS_CSV, "released counts", counts_columns(plan)),
            _resource(folder, artefact.COUNTS, "released counts", counts_columns(plan)),
            _resource(folder, artefact.REGIONS, "regions", regions_columns(plan)),
            _resource(folder, artefact.MEASUREMENT, "noisy values", measurement_columns(plan)),
        ],
    }
    return json.dumps(package, indent=1, ensure_ascii=False) + "\n"


def _contributors(words: Publication) -> dict[str, Any]:
    """Say who publishes; the standard has fields for an address alone, and a sentence of contact stands in README."""
    name, contact = words.publisher or words.contact, words.contact or ""
    if name is None:
        return {}
    address = {"email": contact} if re.fullmatch(_EMAIL, contact) else {}
    page = {"path": contact} if re.fullmatch(_ADDRESS, contact) else {}
    return {"contributors": [{"title": name, "role": "publisher", **address, **page}]}


def _licences(words: Publication) -> dict[str, Any]:
    if words.licence is None:
        return {}
    if re.fullmatch(_ADDRESS, words.licence):
        return {"licenses": [{"path": words.licence, "title": words.licence}]}
    return {"licenses": [{"name": _plain(words.licence, "licence"), "title": words.licence}]}


def _plain(text: str, otherwise: str) -> str:
    """Keep of a text what the standard allows in a name."""
    return re.sub(r"[^-A-Za-z0-9._]+", "-", text).strip("-") or otherwise


_EMAIL, _ADDRESS = r"[^\s@<>\"]+@[^\s@<>\"]+\.[^\s@<>\"]+", r"https?://[^\s<>\"]+"


def _resource(folder: Path, name: str, title: str, columns: list[Column]) -> dict[str, Any]:
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
        "hash": f"sha256:{digests.digest(path)}",
    }
    if csv:
        dialect = {"delimiter": ",", "quoteChar": '"', "doubleQuote": True, "lineTerminator": "\n", "header": True}
        about |= {"encoding": "utf-8", "dialect": dialect}
    fields = [
        {
            "name": column.name,
            "type": column.kind,
            "description": column.description,
            "constraints": {"required": column.required},
        }
        for column in columns
    ]
    key = [column.name for column in columns if column.name in ("region_id", "group_size", "rank")]
    return about | {"schema": {"fields": fields, "primaryKey": key, "missingValues": [""]}}
