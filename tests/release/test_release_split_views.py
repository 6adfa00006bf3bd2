"""Releases with split views: columns below public thresholds, and ranks of what groups have beyond them."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from instances import rng_of
from made_measurements import cells_of

from pgsr import View
from pgsr.data import Split
from pgsr.noise import Geometric, Measurement, SplitByRoot
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, outline, publish, read_release
from pgsr.release.checks.rehearsals import is_rehearsal
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.ledger import LedgerFile
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.plan import Plan
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
    "root": {"threshold": "root", "shares": ("1/5", "2/5", "2/5"), "times": 3},
}
THRESHOLDS["root, least size"] = THRESHOLDS["root"] | {"shares": "root", "min_size": 1}
THRESHOLDS["root, noisy totals"] = THRESHOLDS["root"] | {"shares": "root", "totals": "noisy"}


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
    tree, totals = released_tables.read_regions(folder / artefact.REGIONS, plan)
    values = released_tables.read_measurement(folder / artefact.MEASUREMENT, tree, totals, plan, secure)
    return plan, plan.measured(tree, cells_of(values), totals, secure)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[ReleaseConfig, Path]:
    wanted = config(tmp_path_factory.mktemp("made"), threshold=4)
    return wanted, publish(wanted).folder


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("kind", "thresholds"),
    [
        (kind, name)
        for kind, name in product(KINDS, THRESHOLDS)
        if "root" not in name or kind in (Kind.KUO, Kind.POSTERIOR)
    ],
)
def test_a_rehearsal_is_what_python_gives(tmp_path, kind, thresholds):
    """The folder is checked, and holds the noisy values of `Geometric` with the same views and the same noise."""
    by_root = "root" in thresholds
    wanted = config(tmp_path, kind, **THRESHOLDS[thresholds])
    folder = publish(wanted, rehearse=True).folder
    assert check(folder).passed
    truth, terms = wanted.count(), wanted.terms
    shares = ("0", "0", "1") if kind is Kind.BOTTOM_UP else terms.shares
    view = SplitByRoot() if by_root else Split(terms.threshold - terms.min_size)
    totals = {"totals": "noisy", "totals_share": "1/10"} if terms.totals == "noisy" else {}
    noise = Geometric(view, 2, shares, **totals)
    expected = noise.measure(truth, Seeded(manifest.REHEARSAL_KEY))
    found = read_release(folder).measurement
    assert [found.view_of(r) for r in range(11)] == [expected.view_of(r) for r in range(11)]
    for ours, theirs in zip(found.rows, expected.rows, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(found.first_root, expected.first_root)
    if kind is not Kind.BOTTOM_UP:  # the leaves alone know little twice in a folder this small
        assert is_rehearsal(known(folder)[0], found)
    assert by_root or not is_rehearsal(known(folder)[0], noise.measure(truth, Seeded("another key")))


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
