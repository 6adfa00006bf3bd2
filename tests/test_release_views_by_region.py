"""Releases whose regions are measured by ranked sizes or cumulative counts, as their public numbers of groups say."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_checks import assert_files_follow_from_noisy_values

from pgsr import ByGroups, CountOfCounts, Geometric, Hierarchy, Measurement, Seeded, View
from pgsr.ledger import LedgerFile
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.publishing import digests
from pgsr.release import (
    ConfigError,
    Kind,
    Measured,
    Outcome,
    ReleaseConfig,
    ReleaseError,
    Terms,
    check,
    outline,
    publish,
)
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.forecast import _choices
from pgsr.release.judging import post_processed
from pgsr.release.making import UNFINISHED, _write, _write_measurement, finish
from pgsr.release.noise_law import families, judge
from pgsr.release.preflight import require_arithmetic
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
"""With sizes 0..9 regions of at most 3 groups are ranked: four leaves of seven, one of them empty. No state is."""

RANKED = ("US/GA/a", "US/MI/a", "US/MI/b")
KINDS = (Kind.KUO, Kind.BOTTOM_UP, Kind.POSTERIOR)


def config(folder: Path, kind: Kind = Kind.KUO, **terms) -> ReleaseConfig:
    rows = [("US", *leaf) for leaf, n in GROUPS.items() for _ in range(n)]
    areas = pd.DataFrame([("US", *leaf) for leaf in GROUPS], columns=["nation", "state", "county"])
    homes = pd.DataFrame(rows, columns=["nation", "state", "county"]).assign(group=range(len(rows)))
    sizes = np.random.default_rng(8).integers(0, 10, len(rows))
    people = pd.DataFrame({"group": np.repeat(homes.group, sizes)})
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, "views", PureEpsilon(100))
    return ReleaseConfig(
        terms=Terms("views", 9, "2", kind, view=Measured.BY_GROUPS, **terms),
        entities=Entities(people, entity=None),
        groups=Groups(homes, region=("nation", "state", "county")),
        regions=Levels(areas, ("nation", "state", "county")),
        output=folder / "release",
        ledger=ledger,
    )


@pytest.fixture(scope="module", params=KINDS, ids=str)
def made(request, tmp_path_factory) -> tuple[ReleaseConfig, Path]:
    wanted = config(tmp_path_factory.mktemp("made"), request.param)
    return wanted, publish(wanted).folder


def known(folder: Path) -> tuple[Terms, Measurement]:
    terms, secure = manifest.terms_of(json.loads((folder / artefact.MANIFEST).read_text()))
    tree, totals = released_tables.read_regions(folder / artefact.REGIONS, terms)
    facts = manifest.facts(terms, secure, "measurement")
    values = released_tables.read_measurement(folder / artefact.MEASUREMENT, tree, totals, terms, facts)
    return terms, terms.measured(tree, values, totals, secure)


def failed(folder: Path) -> dict[str, str]:
    return {f.name: f.sentence for f in check(folder).findings if f.outcome is Outcome.FAILED}


@pytest.mark.drawn(1)
def test_a_release_is_checked(made):
    wanted, folder = made
    assert check(folder).passed, check(folder)
    terms, measurement = known(folder)
    assert (terms.view, terms.ranked_up_to, terms.kind) == (Measured.BY_GROUPS, 3, wanted.terms.kind)
    tree = measurement.hierarchy
    ranked = {"/".join(tree.paths[r]) for r in range(tree.n_regions) if measurement.view_of(r) is View.RANKED}
    assert ranked == {*RANKED, "US/OH/c"}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_intervals_of_ranked_regions(tmp_path, kind):
    """An empty region, whose number of groups is public, has none; the others have some that `check` computes again."""
    folder = publish(config(tmp_path, kind, intervals="9/10")).folder
    assert check(folder).passed, check(folder)
    found = pq.read_table(folder / artefact.COUNTS).to_pandas()
    assert not found.loc[found.region_id == "US/OH/c", ["lower", "upper"]].any(axis=None)
    few = found[found.region_id.isin(RANKED)]
    assert (few.lower <= few.upper).all()
    assert (few.upper <= few.region_id.map({region: GROUPS[tuple(region.split("/")[1:])] for region in RANKED})).all()


def test_the_table_of_noisy_values(made):
    """A region fills two of the four columns, the same as `Measurement.to_frame`."""
    _, folder = made
    found = pq.read_table(folder / artefact.MEASUREMENT).to_pandas()
    _, measurement = known(folder)
    ranked = found.region_id.isin(RANKED)
    assert ranked.any()
    assert found.loc[ranked, ["group_size", "noisy_cumulative_count"]].isna().all(axis=None)
    assert found.loc[~ranked, ["rank", "noisy_group_size"]].isna().all(axis=None)
    assert found.loc[ranked].groupby("region_id")["rank"].apply(list).to_dict() == {
        region: list(range(GROUPS[tuple(region.split("/")[1:])])) for region in RANKED
    }
    ours = measurement.to_frame(level_names=("nation", "state", "county"))
    key = ["region_id", "group_size", "rank", "noisy_cumulative_count", "noisy_group_size"]
    texts = [
        sorted(map(str, _whole(frame[key]).astype("string").fillna("").values.tolist())) for frame in (ours, found)
    ]
    assert texts[0] == texts[1]


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as whole ones, whatever the frame keeps missing ones with."""
    numbers = {name: frame[name].astype("Int64") for name in frame.columns if name != "region_id"}
    return frame.assign(**numbers)


def test_the_descriptions_say_so(made):
    _, folder = made
    fields = json.loads((folder / artefact.MANIFEST).read_text())
    assert all(
        (level["view"], level["ranked_up_to"], level["sensitivity"]) == ("by_groups", 3, 1)
        for level in fields["levels"]
    )
    for name in (artefact.README, artefact.SUMMARY):
        assert "ranked sizes (in regions with at most 3 groups)" in " ".join((folder / name).read_text().split())
    package = json.loads((folder / artefact.PACKAGE).read_text())
    noisy = next(r for r in package["resources"] if r["path"] == artefact.MEASUREMENT)
    assert noisy["schema"]["primaryKey"] == ["region_id", "group_size", "rank"]
    assert [f["name"] for f in noisy["schema"]["fields"] if not f["constraints"]["required"]][-4:] == [
        *("group_size", "noisy_cumulative_count", "rank", "noisy_group_size")
    ]


def test_the_outline_says_so(tmp_path):
    facts = dict(outline(config(tmp_path)).facts)
    assert "ranked sizes of regions with at most 3 groups and cumulative counts of the others" in facts["mechanism"]
    assert "the number of groups of every region" in facts["exact"]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_rehearsal_is_what_python_gives(tmp_path, kind):
    """The same noisy values and counts as by `Geometric(ByGroups())` with the same noise."""
    wanted = config(tmp_path, kind)
    folder = publish(wanted, rehearse=True).folder
    truth = wanted.count()
    shares = ("0", "0", "1") if kind is Kind.BOTTOM_UP else None
    expected = Geometric(ByGroups(), 2, shares).measure(truth, Seeded(manifest.REHEARSAL_KEY))
    terms, found = known(folder)
    assert found.view == expected.view
    for ours, theirs in zip(found.values, expected.values, strict=True):
        assert np.array_equal(ours, theirs)
    assert "privacy claim" not in failed(folder)
    assert np.array_equal(
        post_processed(terms, found).estimate.as_counts,
        wanted.terms.mechanism(3).post_process(expected).estimate.as_counts,
    )


# Forgeries


@pytest.fixture
def copy(made, tmp_path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in artefact.named_in(made[1]):
        (folder / name).write_bytes((made[1] / name).read_bytes())
    return folder


def fix_digests(folder: Path) -> None:
    fields = json.loads((folder / artefact.MANIFEST).read_text())
    fields["files"] = {name: digests.digest(folder / name) for name in fields["files"]}
    (folder / artefact.MANIFEST).write_text(manifest.written(fields))
    (folder / digests.SUMS).write_text(digests.sums_text(folder, artefact.named_in(folder)))


def remake(folder: Path, measurement: Measurement, terms: Terms) -> None:
    _write_measurement(folder, terms, measurement)
    _write(folder, terms, measurement, post_processed(terms, measurement))
    (folder / UNFINISHED).unlink()


def in_rows(folder: Path, change) -> None:
    """The table of noisy values, changed as a list of rows."""
    path = folder / artefact.MEASUREMENT
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema), path, compression="zstd")


def as_cumulative(rows: list[dict]) -> list[dict]:
    """A ranked region with a value for every size."""
    first = next(row for row in rows if row["region_id"] == RANKED[0])
    new = [
        {**first, "group_size": s, "noisy_cumulative_count": 2, "rank": None, "noisy_group_size": None}
        for s in range(10)
    ]
    place = rows.index(first)
    return [*rows[:place], *new, *(row for row in rows[place:] if row["region_id"] != RANKED[0])]


def as_ranked(rows: list[dict]) -> list[dict]:
    """The first region that has cumulative counts gets as many ranked sizes."""
    region = next(row["region_id"] for row in rows if row["group_size"] is not None)
    return [
        {
            **row,
            **{"group_size": None, "rank": row["group_size"]},
            **{"noisy_cumulative_count": None, "noisy_group_size": row["noisy_cumulative_count"]},
        }
        if row["region_id"] == region
        else row
        for row in rows
    ]


def moved_columns(rows: list[dict]) -> list[dict]:
    """The sizes of a ranked region stand in the column of cumulative counts."""
    return [
        {**row, "noisy_cumulative_count": row["noisy_group_size"], "noisy_group_size": None}
        if row["region_id"] == RANKED[1]
        else row
        for row in rows
    ]


def both_columns(rows: list[dict]) -> list[dict]:
    return [{**row, "noisy_cumulative_count": 7} if row["rank"] == 0 else row for row in rows]


def no_value(rows: list[dict]) -> list[dict]:
    return [{**row, "noisy_group_size": None} if row["rank"] == 0 else row for row in rows]


def swapped_ranks(rows: list[dict]) -> list[dict]:
    return [{**row, "rank": 1 - row["rank"]} if row["region_id"] == RANKED[0] else row for row in rows]


def far_off(rows: list[dict]) -> list[dict]:
    """The smallest sizes of all ranked regions are said to be the largest, or the other way round."""
    return [
        {**row, "noisy_group_size": 9 if row["noisy_group_size"] < 5 else 0} if row["rank"] == 0 else row
        for row in rows
    ]


@pytest.mark.drawn(4)
@pytest.mark.parametrize("change", [as_cumulative, as_ranked, moved_columns, both_columns, no_value, swapped_ranks])
def test_the_view_of_one_region_changed_is_found(copy, change):
    in_rows(copy, change)
    fix_digests(copy)
    assert "measurement" in failed(copy)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("name", "value"), [("ranked_up_to", 2), ("view", "cumulative"), ("view", "counts")])
def test_another_rule_in_the_manifest_is_found(copy, name, value):
    """The rule is another on one level, and on all."""
    path = copy / artefact.MANIFEST
    whole = json.loads(path.read_text())
    for levels in ([2], [0, 1, 2]):
        fields = json.loads(json.dumps(whole))
        for level in levels:
            fields["levels"][level][name] = value
            if name == "view":
                del fields["levels"][level]["ranked_up_to"]
        path.write_text(manifest.written(fields))
        fix_digests(copy)
        assert failed(copy).keys() & {"manifest", "budget", "measurement"}, (levels, check(copy))


def test_a_public_total_changed_is_found(copy):
    """A leaf and all above it have two groups more, so that the leaf would have another view."""
    lines = [line.split(",") for line in (copy / artefact.REGIONS).read_text().splitlines()]
    for line in lines:
        if line[0] in ("US", "US/GA", "US/GA/a"):
            line[-1] = str(int(line[-1]) + 2)
    (copy / artefact.REGIONS).write_text("".join(",".join(line) + "\n" for line in lines))
    fix_digests(copy)
    assert "measurement" in failed(copy)


@pytest.mark.drawn(1)
def test_another_threshold_is_found(made, copy, monkeypatch):
    """Everything is made anew by a rule that ranks more regions."""
    with monkeypatch.context() as patch:
        patch.setattr(Measured, "rule", property(lambda view: ByGroups(4)))
        wanted, _ = made
        terms = replace(wanted.terms)  # what follows from them follows by the other rule
        measured = terms.mechanism(3).noise.measure(wanted.count(), Seeded("forger"))
        remake(copy, replace(measured, secure=True), terms)
        fix_digests(copy)
        assert check(copy).passed
    assert failed(copy).keys() & {"budget", "measurement"}


def test_one_noisy_size_changed_is_found(copy):
    """The counts follow from the noisy values, also from those of a ranked region."""
    in_rows(copy, far_off)
    fix_digests(copy)
    assert failed(copy).keys() & {"certificate", "replay"}


def test_a_rehearsal_said_to_be_private_is_found(tmp_path):
    """The release is of all levels; the leaves alone know too little twice in a folder this small."""
    wanted = config(tmp_path)
    copy = publish(wanted).folder
    measured = wanted.terms.mechanism(3).noise.measure(wanted.count(), Seeded(manifest.REHEARSAL_KEY))
    remake(copy, replace(measured, secure=True), wanted.terms)
    fix_digests(copy)
    assert "noise is that of a rehearsal" in failed(copy)["privacy claim"]
    other = wanted.terms.mechanism(3).noise.measure(wanted.count(), Seeded("another key"))
    remake(copy, replace(other, secure=True), wanted.terms)
    fix_digests(copy)
    assert check(copy).passed


@pytest.mark.drawn(1, pool="files follow from noisy values")
def test_files_follow_from_noisy_values():
    """The same noisy values of data that differ by a row are published byte for byte alike; leaves are ranked."""
    assert_files_follow_from_noisy_values("kuo", view='"by_groups"', max_size="60")


def test_noisy_values_that_were_paid_for_can_be_finished(tmp_path, monkeypatch):
    wanted = config(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("pgsr.release.making._write", lambda *rest: (_ for _ in ()).throw(OSError("disk")))
        with pytest.raises(Exception, match="epsilon 2 is spent"):
            publish(wanted)
    hidden = next(path for path in tmp_path.iterdir() if path.name.startswith(".release."))
    assert finish(hidden).report.passed


# The scale of the noise


TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(2 + i)])
TRUTH = CountOfCounts(
    TREE, [np.bincount(np.arange(3 if i >= 60 and i % 4 == 0 else 90) % 31, minlength=31) for i in range(90)], "d"
)
"""A few leaves are ranked, in the last three states."""


def measured(epsilon, key="k", truth=TRUTH) -> Measurement:
    return Geometric(ByGroups(), epsilon).measure(truth, Seeded(key))


@pytest.mark.drawn(1, pool="power of the checks of noise")
def test_scales_of_noise_are_told_apart():
    laws = (DoubleGeometric(Fraction(3)),) * 3
    assert not judge(measured(1), laws).refuted
    assert judge(measured(1), laws).can_tell
    assert judge(measured(3), laws).refuted
    assert judge(measured("1/3"), laws).refuted


def test_residuals_are_noise_alone():
    """The residuals are of cumulative counts, not of the truth: they do not change if the sizes do."""
    rows = TRUTH.counts[TREE.leaves]
    other = CountOfCounts(TREE, rows[:, ::-1].copy(), "d")
    pairs = zip(families(measured(1)), families(measured(1, truth=other)), strict=True)
    sizes = []
    for ours, theirs in pairs:
        assert ours.residuals.keys() == theirs.residuals.keys()
        assert all((ours.residuals[kind] == theirs.residuals[kind]).all() for kind in ours.residuals)
        sizes.append(ours.size)
    cumulative = int((TRUTH.totals > 10).sum())
    assert sizes[0] == cumulative
    assert sizes[1:] == [31, 31 * 9]  # the nation, and the states without a ranked county


# Refusals


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ({"kind": "m_h"}, 'mechanism m_h does not work on view = "by_groups"; write view = "counts"'),
        ({"kind": "m_c_dp"}, 'mechanism m_c_dp does not work on view = "by_groups"; write view = "cumulative"'),
        ({"kind": "kuo", "totals": "noisy"}, "tells every region's number of groups"),
        ({"kind": "bottom_up", "totals": "root"}, "does not keep totals"),
        ({"kind": "posterior", "totals": "root"}, "tells every region's number of groups"),
        ({"kind": "two_stage"}, 'mechanism two_stage does not work on view = "by_groups"; write view = "cumulative"'),
        ({"kind": "kuo", "view": "ranked"}, "view is 'ranked'; write one of counts, cumulative, by_groups"),
        ({"kind": "kuo", "view": "counts"}, 'write view = "cumulative" or "by_groups"'),
    ],
)
def test_refusals(terms, why):
    with pytest.raises(ConfigError, match=why):
        Terms("demo", 9, "1", **{"view": "by_groups", **terms})


def test_arithmetic_beyond_64_bits_is_refused():
    """Ranked sizes are fitted by exact squares, whatever the norm of the cumulative counts."""
    truth = CountOfCounts(Hierarchy.from_paths([("US",)]), [[1, 2]], "d")
    require_arithmetic(Terms("demo", 10**6, "1", "kuo", view="by_groups"), truth)
    with pytest.raises(ReleaseError, match=r'view = "by_groups" .* more than 64 bits'):
        require_arithmetic(Terms("demo", 10**7, "1", "kuo", view="by_groups"), truth)
    require_arithmetic(Terms("demo", 10**7, "1", "kuo"), truth)


def test_the_key_of_a_configuration(tmp_path):
    from made_tables import write_config, write_tables

    write_tables(tmp_path)
    read = ReleaseConfig.read(write_config(tmp_path, "kuo", view='"by_groups"', max_size="60"))
    assert read.terms.view is Measured.BY_GROUPS
    assert read.terms.ranked_up_to == 20
    assert [law.scale for law in read.terms.noise_laws(3)] == [3, 3, 3]
    assert check(publish(read).folder).passed
    with pytest.raises(ConfigError, match="by_group"):
        ReleaseConfig.read(write_config(tmp_path, "kuo", view='"by_group"'))


CUSTOMERS = {"epsilon": None, "unit": "entity in 3 groups"}


@pytest.mark.parametrize("budget", [{"rho": "2"}, {"rho": "2", "laws": "gaussian"}, {"epsilon": "1", "delta": "1e-6"}])
def test_regions_of_a_level_have_the_law_that_is_stated_of_it(budget: dict[str, str]) -> None:
    """Customers of three taxis change cumulative counts by 3 in one cell, and three ranked sizes by 1: another sigma.

    A manifest states one law per level, and what tells a rehearsal takes off noise of that law.
    """
    with pytest.raises(ConfigError, match="differ in sensitivity here"):
        Terms("views", 9, kind=Kind.KUO, view=Measured.BY_GROUPS, **(CUSTOMERS | budget))


@pytest.mark.parametrize("budget", [{"epsilon": "1"}, {"rho": "2", "laws": "geometric"}])
def test_customers_are_measured_by_groups_with_geometric_noise(budget: dict[str, str]) -> None:
    """Both views change by 3 in all, so that both have the noise that is stated."""
    terms = Terms("views", 9, kind=Kind.KUO, view=Measured.BY_GROUPS, **(CUSTOMERS | budget))
    stated = terms.noise_laws(2)
    for of_views, law in zip(terms.noise(2)._laws(2, 9), stated, strict=True):
        assert set(of_views.values()) == {law}


@pytest.mark.parametrize("more", [{"unit": "entity in 3 groups"}, {"max_quantity": 2}])
def test_plans_leave_out_views_that_a_release_refuses(tmp_path: Path, more: dict[str, Any]) -> None:
    """Every region has few enough groups to be ranked."""
    truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), np.eye(10, dtype=np.int64)[:2])
    for terms, ranked in ((config(tmp_path).terms, True), (Terms("views", 9, None, Kind.KUO, rho="2", **more), False)):
        found = {choice.terms.view for choice in _choices(terms, [Kind.KUO, Kind.BOTTOM_UP], truth)}
        assert (Measured.BY_GROUPS in found) == ranked
