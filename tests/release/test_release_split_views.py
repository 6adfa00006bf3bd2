"""Releases with split views: columns below public thresholds, and ranks of what groups have beyond them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from instances import rng_of
from made_measurements import cells_of
from planned import planned

from pgsr import View
from pgsr.data import Split
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, outline, publish, read_release
from pgsr.release.checks.rehearsals import is_rehearsal
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.columns import Columns
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing import digests
from pgsr.release.publishing.findings import Outcome
from pgsr.release.stated.kinds import Kind
from pgsr.release.stated.plan import Plan
from pgsr.tables import Entities, Groups, Levels

GROUPS = {
    ("GA", "a"): 2,
    ("GA", "b"): 30,
    ("MI", "a"): 3,
    ("MI", "b"): 1,
    ("OH", "a"): 50,
    ("OH", "b"): 45,
    ("OH", "c"): 0,
}
KINDS = (Kind.KUO, Kind.BOTTOM_UP, Kind.POSTERIOR, Kind.TWO_STAGE)
THRESHOLDS: dict[str, dict[str, Any]] = {
    "one": {"threshold": 4},
    "above all sizes": {"threshold": 12},
    "least size": {"threshold": 3, "min_size": 1},
    "noisy totals": {"threshold": 4, "totals": "noisy"},
}


def config(
    folder: Path, kind: Kind = Kind.KUO, epsilon: str | None = "2", times: int = 1, **terms: Any
) -> ReleaseConfig:
    rows = [("US", *leaf) for leaf, n in GROUPS.items() for _ in range(times * n)]
    areas = pd.DataFrame([("US", *leaf) for leaf in GROUPS], columns=["nation", "state", "county"])
    homes = pd.DataFrame(rows, columns=["nation", "state", "county"]).assign(group=range(len(rows)))
    sizes = np.minimum(rng_of(8).geometric(0.4, len(rows)), 11)
    people = pd.DataFrame({"group": np.repeat(homes.group, sizes)})
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, "split", PureEpsilon(100))
    private = terms.get("totals") == "noisy"
    return ReleaseConfig(
        terms=Terms("split", 9, epsilon, kind, **terms),
        entities=Entities(people, entity=None),
        groups=Groups(homes, region=("nation", "state", "county")),
        regions=Levels(areas, ("nation", "state", "county")),
        output=folder / "release",
        ledger=ledger,
        private_groups=private,
    )


def known(folder: Path) -> tuple[Plan, Measurement]:
    plan, secure = manifest.plan_of(json.loads((folder / artefact.MANIFEST).read_text()))
    columns, facts = Columns.of(plan), manifest.facts(plan.terms, secure, "measurement")
    tree, totals = released_tables.read_regions(folder / artefact.REGIONS, plan, columns)
    about = tree, totals, plan, columns, facts
    values = released_tables.read_measurement(folder / artefact.MEASUREMENT, *about)
    return plan, plan.measured(tree, cells_of(values), totals, secure)


def failed(folder: Path) -> dict[str, str]:
    return {f.name: f.sentence for f in check(folder).findings if f.outcome is Outcome.FAILED}


def fix_digests(folder: Path) -> None:
    fields = json.loads((folder / artefact.MANIFEST).read_text())
    fields["files"] = {name: digests.digest(folder / name) for name in fields["files"]}
    (folder / artefact.MANIFEST).write_text(manifest.written(fields))
    (folder / digests.SUMS).write_text(digests.sums_text(folder, artefact.FILES))


def in_rows(folder: Path, change: Callable[[list[dict]], list[dict]]) -> None:
    """Change the table of noisy values as a list of rows."""
    path = folder / artefact.MEASUREMENT
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema), path, compression="zstd")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[ReleaseConfig, Path]:
    wanted = config(tmp_path_factory.mktemp("made"), threshold=4)
    return wanted, publish(wanted).folder


@pytest.fixture
def copy(made, tmp_path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in artefact.FILES:
        (folder / name).write_bytes((made[1] / name).read_bytes())
    return folder


@pytest.mark.few(1)
@pytest.mark.parametrize("thresholds", THRESHOLDS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_rehearsal_is_what_python_gives(tmp_path, kind, thresholds):
    """The folder is checked, and holds the noisy values of `Geometric` with the same views and the same noise."""
    wanted = config(tmp_path, kind, **THRESHOLDS[thresholds])
    folder = publish(wanted, rehearse=True).folder
    assert check(folder).passed
    truth, terms = wanted.count(), wanted.terms
    shares = ("0", "0", "1") if kind is Kind.BOTTOM_UP else None
    totals = {"totals": "noisy", "totals_share": "1/10"} if terms.totals == "noisy" else {}
    expected = Geometric(Split(terms.threshold - terms.min_size), 2, shares, **totals).measure(
        truth, Seeded(manifest.REHEARSAL_KEY)
    )
    found = read_release(folder).measurement
    assert [found.view_of(r) for r in range(11)] == [expected.view_of(r) for r in range(11)]
    for ours, theirs in zip(found.rows, expected.rows, strict=True):
        assert np.array_equal(ours, theirs)
    if kind is not Kind.BOTTOM_UP:  # the leaves alone know little twice in a folder this small
        assert is_rehearsal(known(folder)[0], found)


def test_the_terms_are_read_back(made):
    wanted, folder = made
    terms = known(folder)[0].terms
    assert terms.threshold == wanted.terms.threshold == 4
    levels = json.loads((folder / artefact.MANIFEST).read_text())["levels"]
    assert [level["view"] for level in levels] == ["split"] * 3
    assert [level["threshold"] for level in levels] == [4] * 3


def test_the_distance_is_that_of_columns_and_rows(made):
    """Against lists of the released groups, region by region."""
    fields = json.loads((made[1] / artefact.MANIFEST).read_text())
    found = read_release(made[1])
    distances = []
    for region, noisy in enumerate(found.measurement.rows):
        view = found.measurement.view_of(region)
        sizes = np.repeat(np.arange(10), found.counts.counts[region]).tolist()
        threshold = {View.RANKED: 0, View.CUMULATIVE: 10}.get(view, getattr(view, "threshold", 0))
        distances += (noisy - np.array(naive.split_view(sizes, threshold), np.int64)).tolist()
    assert fields["distance"] == {"sum": sum(map(abs, distances)), "squares": sum(d * d for d in distances)}


def test_the_table_of_noisy_values(made):
    """Rows of sizes and of ranks, the same as `Measurement.to_frame`."""
    folder = made[1]
    found = pq.read_table(folder / artefact.MEASUREMENT).to_pandas()
    plan, measurement = known(folder)
    ranks = found["rank"].notna()
    assert found.loc[ranks, ["group_size", "noisy_cumulative_count"]].isna().all(axis=None)
    assert found.loc[~ranks, ["rank", "noisy_excess"]].isna().all(axis=None)
    below = found[~ranks].groupby("region_id").size()
    sizes = np.array([level.threshold for level in plan.levels])[measurement.hierarchy.level_of]
    regions = map("/".join, measurement.hierarchy.paths)
    assert below.to_dict() == {region: size for region, size in zip(regions, sizes, strict=True) if size}
    ours = measurement.to_frame(level_names=("nation", "state", "county"))
    if "noisy_group_size" in ours:  # of regions that are ranked as a whole
        ours["noisy_excess"] = ours["noisy_excess"].fillna(ours["noisy_group_size"])
    key = ["region_id", "group_size", "rank", "noisy_cumulative_count", "noisy_excess"]
    whole = dict.fromkeys(key[1:], "Int64")
    rows = [frame[key].astype(whole).astype("string").fillna("").values.tolist() for frame in (ours, found)]
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))


def test_the_descriptions_say_so(made, tmp_path):
    _, folder = made
    for name in (artefact.README, artefact.SUMMARY):
        assert "what all groups have beyond it (split view)" in " ".join((folder / name).read_text().split())
    facts = dict(outline(config(tmp_path, threshold=4)).facts)
    assert "cumulative counts below the threshold 4 and, beyond it, what all groups have by rank" in facts["mechanism"]


def test_intervals(tmp_path):
    """They are those of a posterior of both parts, and `check` computes them again."""
    folder = publish(config(tmp_path, Kind.POSTERIOR, threshold=4, intervals="9/10")).folder
    assert check(folder).passed
    found = pq.read_table(folder / artefact.COUNTS).to_pandas()
    assert (found.lower <= found.upper).all()
    assert not found.loc[found.region_id == "US/OH/c", ["lower", "upper"]].any(axis=None)


# Forgeries


def other_threshold(fields: dict) -> None:
    fields["levels"][2]["threshold"] += 1


def other_thresholds_everywhere(fields: dict) -> None:
    for level in fields["levels"]:
        level["threshold"] += 1


def one_per_region_of_a_level(fields: dict) -> None:
    fields["levels"][0]["threshold"] = [fields["levels"][0]["threshold"]]


def one_per_region(fields: dict) -> None:
    """The same thresholds, as those of regions that follow from the root are stated."""
    for level in fields["levels"]:
        level["threshold"] = [level["threshold"]] * level["regions"]


def too_few(fields: dict) -> None:
    one_per_region(fields)
    fields["levels"][2]["threshold"].pop()


def other_view(fields: dict) -> None:
    fields["levels"][1]["view"] = "cumulative"
    del fields["levels"][1]["threshold"]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "change",
    [
        *(other_threshold, other_thresholds_everywhere, other_view),
        *(one_per_region_of_a_level, one_per_region, too_few),
    ],
)
def test_thresholds_changed_in_the_manifest_are_found(copy, change):
    fields = json.loads((copy / artefact.MANIFEST).read_text())
    change(fields)
    (copy / artefact.MANIFEST).write_text(manifest.written(fields))
    fix_digests(copy)
    assert failed(copy).keys() & {"manifest", "regions", "measurement"}


def as_last_rank(rows: list[dict]) -> list[dict]:
    """The last column of the nation becomes its first rank."""
    place = max(i for i, row in enumerate(rows) if row["region_id"] == "US" and row["rank"] is None)
    moved = rows[place]
    moved["rank"], moved["noisy_excess"] = 0, moved["noisy_cumulative_count"]
    moved["group_size"] = moved["noisy_cumulative_count"] = None
    return rows


def both_columns(rows: list[dict]) -> list[dict]:
    return [{**row, "noisy_cumulative_count": 7} if row["rank"] == 0 else row for row in rows]


def no_value(rows: list[dict]) -> list[dict]:
    return [{**row, "noisy_excess": None} if row["rank"] == 0 else row for row in rows]


def ranks_from_above(rows: list[dict]) -> list[dict]:
    return [
        {**row, "rank": 130 - row["rank"]} if row["region_id"] == "US" and row["rank"] is not None else row
        for row in rows
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize("change", [as_last_rank, both_columns, no_value, ranks_from_above])
def test_rows_of_noisy_values_changed_are_found(copy, change):
    in_rows(copy, change)
    fix_digests(copy)
    assert "measurement" in failed(copy)


@pytest.mark.few(1)
@pytest.mark.parametrize("column", ["noisy_cumulative_count", "noisy_excess"])
def test_one_noisy_value_far_off_is_found(copy, column):
    """The counts follow from the noisy values, of columns and of ranks."""
    last = 3 if column == "noisy_cumulative_count" else 130

    def far_off(rows: list[dict]) -> list[dict]:
        place = {"noisy_cumulative_count": "group_size", "noisy_excess": "rank"}[column]
        return [
            {**row, column: row[column] + 60} if row["region_id"] == "US" and row[place] == last else row
            for row in rows
        ]

    in_rows(copy, far_off)
    fix_digests(copy)
    assert failed(copy).keys() & {"certificate", "replay", "noise"}


@pytest.mark.parametrize("thresholds", ["one", "least size", "noisy totals"])
def test_a_rehearsal_said_to_be_private_is_found(tmp_path, thresholds):
    wanted = config(tmp_path, Kind.POSTERIOR, **THRESHOLDS[thresholds])
    truth = wanted.count()
    terms = wanted.terms
    for seed, expected in ((manifest.REHEARSAL_KEY, True), ("another key", False)):
        measured = planned(terms, 3).mechanism.noise.measure(truth, Seeded(seed))
        assert is_rehearsal(planned(terms, measured), measured) == expected
