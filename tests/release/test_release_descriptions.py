"""The folder as its readers find it: tables that cannot be added up wrongly, and their dictionary."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from instances import rng_of
from made_tables import TABLES, write_config, write_tables

from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, check, publish
from pgsr.release.folder import artefact
from pgsr.release.folder.summary import MOST_BARS, size_bins
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing import digests
from pgsr.release.publishing.charts import bars, nice_ticks
from pgsr.release.terms.kinds import Kind

TYPES = {"string": "string", "integer": "int64", "boolean": "boolean"}


@pytest.fixture(scope="module", params=[Kind.M_H, Kind.POSTERIOR], ids=str)
def folder(request, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("made")
    write_tables(place, leaves=[("US", "GA", "GA 1"), ("US", "GA", "GA 2"), ("US", "D/C"), ("US", "MI", "MI 1")])
    keys = {"level_names": '["nation", "state", "county"]', "tables": TABLES + "pad_ragged = true\n"}
    return publish(ReleaseConfig.read(write_config(place, request.param, **keys))).folder


def test_sums_over_leaves_count_every_group_once(folder):
    counts = pd.read_parquet(folder / "counts.parquet")
    assert counts[counts.is_leaf].n_groups.sum() == 60
    for level in (0, 1):
        # A branch that ends above stays where it ends.
        here = counts[(counts.level == level) | (counts.is_leaf & (counts.level < level))]
        assert here.n_groups.sum() == 60
    assert counts.columns.tolist() == [
        *("region_id", "level", "level_name", "is_leaf", "nation", "state", "county", "group_size", "n_groups"),
    ]
    assert not set(counts.columns) & set(dir(pd.DataFrame)), "columns must not collide with pandas"


def test_cumulative_values_say_so(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    [column] = [name for name in pq.read_schema(folder / "measurement.parquet").names if name.startswith("noisy")]
    cumulative = manifest["mechanism"] != "m_h"
    assert column == ("noisy_cumulative_count" if cumulative else "noisy_count")
    described = pq.read_schema(folder / "measurement.parquet").field(column).metadata[b"description"]
    assert (b"OR SMALLER" in described) == cumulative


def test_the_data_package_describes_every_column_of_every_table(folder):
    package = json.loads((folder / "datapackage.json").read_text())
    readme = (folder / "README.txt").read_text()
    assert {resource["path"] for resource in package["resources"]} == set(artefact.TABLES)
    for resource in package["resources"]:
        path = folder / resource["path"]
        assert resource["bytes"] == path.stat().st_size
        assert resource["hash"] == f"sha256:{digests.digest(path)}"
        fields = resource["schema"]["fields"]
        names = [field["name"] for field in fields]
        if path.suffix == ".csv":
            types = {field["name"]: TYPES[field["type"]].replace("int64", "Int64") for field in fields}
            table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
        else:
            table = pd.read_parquet(path)
            schema = pq.read_schema(path)
            assert all(schema.field(f["name"]).metadata[b"description"].decode() == f["description"] for f in fields)
        assert table.columns.tolist() == names
        assert not table.duplicated(resource["schema"]["primaryKey"]).any()
        for field in fields:
            assert f"{field['name']} ({field['type']}): " in readme
            if field["constraints"]["required"]:
                assert table[field["name"]].notna().all(), field["name"]


def test_regions_name_the_one_above(folder):
    regions = pd.read_csv(folder / "regions.csv", dtype="string", keep_default_na=False)
    assert regions.region_id.is_unique
    assert set(regions.parent_id) <= {"", *regions.region_id}
    assert (regions.parent_id == "").tolist() == [True] + [False] * (len(regions) - 1)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "line", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "rect"):
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)


def test_the_summary_is_a_page_with_plots(folder):
    text = (folder / "summary.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.seen.count("svg") == 3, "one of the nation, and two of all states"
    assert "Groups by state" in text
    assert "http" not in text, "nothing is loaded from elsewhere"
    status = json.loads((folder / "manifest.json").read_text())["status"]
    assert {"OPTIMAL": "proved", "FEASIBLE": "no proof"}[status] in text


def test_names_in_the_data_are_escaped(tmp_path):
    write_tables(tmp_path, leaves=[("<b>", "&", "a"), ("<b>", "x", "y")])
    name = "<script>alert(1)</script>"
    ledger = LedgerFile.create(tmp_path / "other.jsonl", name, PureEpsilon(1))
    config = ReleaseConfig.read(write_config(tmp_path, data_set=f'"{name}"', ledger=f'"{ledger.path.name}"'))
    folder = publish(config).folder
    assert check(folder).passed
    text = (folder / "summary.html").read_text()
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_sizes_are_put_together_where_there_are_many():
    rng = rng_of(3)
    for largest in (1, 5, 59, 60, 61, 1_000, 100_000):
        counts = rng.integers(0, 9, largest + 1)
        labels, values = size_bins(counts)
        assert len(labels) == len(values) <= MOST_BARS + 1
        assert sum(values) == counts.sum()
        assert labels[-1] == f"{largest:,}+"
        assert values[-1] == counts[-1]


def test_ticks_and_bars():
    for largest in (0, 1, 3, 4, 7, 10, 999, 10**6, 123_456_789):
        ticks = nice_ticks(largest)
        assert ticks[0] == 0
        assert ticks[-1] >= largest
        assert 2 <= len(ticks) <= 6
    assert bars([], [], "x", "y").count("<rect") == 0
    assert bars(["a & b"], [3], "x", "y").count("a &amp; b") == 2
