"""Releases with split views: columns below public thresholds, and ranks of what groups have beyond them."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from exact_law import noise_by
from instances import random_tree, random_truth, scale
from made_tables import TABLES, write_config, write_tables
from release_checks import assert_files_follow_from_noisy_values
from test_release_views_by_region import GROUPS, failed, fix_digests, in_rows, known

from pgsr import CountOfCounts, Geometric, Hierarchy, Measurement, PgsrError, Seeded, Split, View
from pgsr.ledger import LedgerFile
from pgsr.noise import split_by, step
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import (
    ConfigError,
    Kind,
    Measured,
    ReleaseConfig,
    ReleaseError,
    Terms,
    check,
    epsilon_for,
    forecast,
    outline,
    publish,
    read_release,
)
from pgsr.release.fact_tests import judge_facts
from pgsr.release.facts import Fact
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.making import finish
from pgsr.release.noise_law import families, judge
from pgsr.release.preflight import bytes_needed, n_ranks, rank_bytes, require_arithmetic
from pgsr.release.rehearsals import is_rehearsal
from pgsr.release.split_residuals import DOUBT
from pgsr.release.thresholds import StandIn
from pgsr.tables import Entities, Groups, Levels

KINDS = (Kind.KUO, Kind.BOTTOM_UP, Kind.POSTERIOR, Kind.TWO_STAGE)
STAND_IN = StandIn((0, 60, 30, 9, 4, 1, 0, 1))
THRESHOLDS: dict[str, dict[str, Any]] = {
    "one": {"threshold": 4},
    "per level": {"threshold": (9, 4, 2), "ranks": 20},
    "few ranks": {"threshold": (2, 1, 1), "ranks": 30},
    "stand-in": {"stand_in": STAND_IN},
    "above all sizes": {"threshold": (12, 9, 10)},
    "least size": {"threshold": (6, 4, 3), "min_size": 1},
    "noisy totals": {"threshold": 4, "totals": "noisy"},
}


def config(
    folder: Path, kind: Kind = Kind.KUO, epsilon: str | None = "2", times: int = 1, **terms: Any
) -> ReleaseConfig:
    rows = [("US", *leaf) for leaf, n in GROUPS.items() for _ in range(times * n)]
    areas = pd.DataFrame([("US", *leaf) for leaf in GROUPS], columns=["nation", "state", "county"])
    homes = pd.DataFrame(rows, columns=["nation", "state", "county"]).assign(group=range(len(rows)))
    sizes = np.minimum(np.random.default_rng(8).geometric(0.4, len(rows)), 11)
    people = pd.DataFrame({"group": np.repeat(homes.group, sizes)})
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, "split", PureEpsilon(100))
    private = terms.get("totals") == "noisy"
    return ReleaseConfig(
        terms=Terms("split", 9, epsilon, kind, view=Measured.SPLIT, **terms),
        entities=Entities(people, entity=None),
        groups=Groups(homes, region=("nation", "state", "county")),
        regions=Levels(areas, ("nation", "state", "county")),
        output=folder / "release",
        ledger=ledger,
        private_groups=private,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[ReleaseConfig, Path]:
    wanted = config(tmp_path_factory.mktemp("made"), stand_in=STAND_IN)
    return wanted, publish(wanted).folder


@pytest.fixture
def copy(made, tmp_path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in artefact.named_in(made[1]):
        (folder / name).write_bytes((made[1] / name).read_bytes())
    return folder


@pytest.mark.drawn(3)
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
    if terms.stand_in is None:
        given = terms.threshold if isinstance(terms.threshold, tuple) else (terms.threshold,) * 3
        views = tuple(Split(size - terms.min_size, terms.ranks) for size in given)
    else:
        shape = CountOfCounts(truth.hierarchy.from_parents(["shape"], [-1]), [[*STAND_IN.counts, 0, 0]])
        views = split_by(Geometric(View.CUMULATIVE, 2, shares), shape, truth.hierarchy, truth.totals).view
        if kind is Kind.TWO_STAGE:
            views = tuple(Split(max(1, view.threshold)) for view in views)
    expected = Geometric(views, 2, shares, **totals).measure(truth, Seeded(manifest.REHEARSAL_KEY))
    found = read_release(folder).measurement
    assert [found.view_of(r) for r in range(11)] == [expected.view_of(r) for r in range(11)]
    for ours, theirs in zip(found.values, expected.values, strict=True):
        assert np.array_equal(ours, theirs)
    if kind is not Kind.BOTTOM_UP:  # the leaves alone know little twice in a folder this small
        assert is_rehearsal(known(folder)[0], found)


def test_the_terms_are_read_back(made):
    """Thresholds of every region, exactly, and the stand-in that they follow from."""
    wanted, folder = made
    terms, measurement = known(folder)
    tree = measurement.hierarchy
    assert terms.stand_in == STAND_IN.folded(9)
    assert terms.threshold == wanted.terms.resolved(tree, measurement.totals).threshold
    levels = json.loads((folder / artefact.MANIFEST).read_text())["levels"]
    assert [level["view"] for level in levels] == ["split"] * 3
    assert tuple(size for level in levels for size in level["threshold"]) == terms.threshold
    assert {level["ranks"] for level in levels} == {"all"}
    assert len(set(terms.threshold)) > 2


def test_the_distance_is_that_of_columns_and_rows(made):
    """Against lists of the released groups, region by region."""
    fields = json.loads((made[1] / artefact.MANIFEST).read_text())
    found = read_release(made[1])
    distances = []
    for region, noisy in enumerate(found.measurement.values):
        view = found.measurement.view_of(region)
        sizes = np.repeat(np.arange(10), found.counts.counts[region]).tolist()
        threshold = {View.RANKED: 0, View.CUMULATIVE: 10}.get(view, getattr(view, "threshold", 0))
        distances += (noisy - np.array(naive.split_view(sizes, threshold, None), np.int64)).tolist()
    assert fields["distance"] == {"sum": sum(map(abs, distances)), "squares": sum(d * d for d in distances)}


@pytest.mark.parametrize("thresholds", ["stand-in", "few ranks"])
def test_the_table_of_noisy_values(made, tmp_path, thresholds):
    """Rows of sizes and of ranks, the same as `Measurement.to_frame`."""
    folder = made[1]
    if thresholds == "few ranks":
        folder = publish(config(tmp_path, **THRESHOLDS[thresholds]), rehearse=True).folder
    found = pq.read_table(folder / artefact.MEASUREMENT).to_pandas()
    terms, measurement = known(folder)
    ranks = found["rank"].notna()
    assert found.loc[ranks, ["group_size", "noisy_cumulative_count"]].isna().all(axis=None)
    assert found.loc[~ranks, ["rank", "noisy_excess"]].isna().all(axis=None)
    below = found[~ranks].groupby("region_id").size()
    sizes = terms.threshold if len(terms.threshold) > 3 else np.array(terms.threshold)[measurement.hierarchy.level_of]
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
    wanted, folder = made
    for name in (artefact.README, artefact.SUMMARY):
        assert "what all groups have beyond it (split view)" in " ".join((folder / name).read_text().split())
    facts = dict(outline(config(tmp_path, threshold=4, ranks=7)).facts)
    assert (
        "cumulative counts below the threshold 4 and, beyond it, what the 7 largest groups have" in facts["mechanism"]
    )
    assert "thresholds from" in dict(outline(wanted_elsewhere(wanted, tmp_path)).facts)["mechanism"]


def wanted_elsewhere(wanted: ReleaseConfig, folder: Path) -> ReleaseConfig:
    return replace(wanted, output=folder / "elsewhere", log=folder / "elsewhere.log")


@pytest.mark.drawn(2)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_intervals(tmp_path, kind):
    """A posterior has its own, the others a band, which `check` computes again; both are those of the columns too."""
    folder = publish(config(tmp_path, kind, threshold=(6, 4, 3), intervals="9/10")).folder
    assert check(folder).passed
    found = pq.read_table(folder / artefact.COUNTS).to_pandas()
    assert (found.lower <= found.upper).all()
    assert not found.loc[found.region_id == "US/OH/c", ["lower", "upper"]].any(axis=None)
    if kind is not Kind.POSTERIOR:
        truth = config(tmp_path, kind, threshold=4).count()
        exact = np.concatenate(
            [truth.counts[truth.hierarchy.index(tuple(r.split("/")))] for r in found.region_id.unique()]
        )
        assert (found.lower <= exact).mean() > 0.99
        assert (found.upper >= exact).mean() > 0.99


def test_noisy_values_that_were_paid_for_can_be_finished(tmp_path, monkeypatch):
    wanted = config(tmp_path, stand_in=STAND_IN)
    with monkeypatch.context() as patch:
        patch.setattr("pgsr.release.making._write", lambda *rest: (_ for _ in ()).throw(OSError("disk")))
        with pytest.raises(Exception, match="epsilon 2 is spent"):
            publish(wanted)
    hidden = next(path for path in tmp_path.iterdir() if path.name.startswith(".release."))
    assert finish(hidden).report.passed


@pytest.mark.drawn(1, pool="files follow from noisy values")
def test_files_follow_from_noisy_values():
    assert_files_follow_from_noisy_values("kuo", view='"split"', max_size="60", threshold="2")


# Forgeries


def other_threshold(fields: dict) -> None:
    fields["levels"][2]["threshold"][1] += 1


def other_thresholds_everywhere(fields: dict) -> None:
    for level in fields["levels"]:
        level["threshold"] = [size + 1 for size in level["threshold"]]


def other_ranks(fields: dict) -> None:
    for level in fields["levels"]:
        level["ranks"] = 20


def one_for_a_level(fields: dict) -> None:
    fields["levels"][0]["threshold"] = fields["levels"][0]["threshold"][0]


def too_few_regions(fields: dict) -> None:
    """Fewer thresholds and regions on the level, which regions.csv does not say."""
    fields["levels"][2]["threshold"].pop()
    fields["levels"][2]["regions"] -= 1


def too_few(fields: dict) -> None:
    fields["levels"][2]["threshold"].pop()


def other_view(fields: dict) -> None:
    fields["levels"][1]["view"] = "cumulative"
    del fields["levels"][1]["threshold"], fields["levels"][1]["ranks"]


def other_stand_in(fields: dict) -> None:
    fields["stand_in"]["counts"][1] *= 3


def other_factor(fields: dict) -> None:
    fields["stand_in"]["factor"] = "3"


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    "change",
    [
        *(
            other_threshold,
            other_thresholds_everywhere,
            other_ranks,
            one_for_a_level,
            too_few,
            too_few_regions,
            other_view,
        ),
        *(other_stand_in, other_factor),
    ],
)
def test_thresholds_changed_in_the_manifest_are_found(copy, change):
    fields = json.loads((copy / artefact.MANIFEST).read_text())
    change(fields)
    (copy / artefact.MANIFEST).write_text(manifest.written(fields))
    fix_digests(copy)
    assert failed(copy).keys() & {"manifest", "regions", "measurement"}


def test_a_stand_in_left_out_leaves_thresholds_of_nobody_knows_where(copy):
    """They are the ones of the values all the same, which the folder then says to be stated by themselves."""
    fields = json.loads((copy / artefact.MANIFEST).read_text())
    del fields["stand_in"]
    (copy / artefact.MANIFEST).write_text(manifest.written(fields))
    fix_digests(copy)
    assert "descriptions" not in failed(copy)
    assert known(copy)[0].stand_in is None


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


@pytest.mark.drawn(3)
@pytest.mark.parametrize("change", [as_last_rank, both_columns, no_value, ranks_from_above])
def test_rows_of_noisy_values_changed_are_found(copy, change):
    in_rows(copy, change)
    fix_digests(copy)
    assert "measurement" in failed(copy)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("column", ["noisy_cumulative_count", "noisy_excess"])
def test_one_noisy_value_far_off_is_found(copy, column):
    """The counts follow from the noisy values, of columns and of ranks."""
    last = 4 if column == "noisy_cumulative_count" else 130

    def far_off(rows: list[dict]) -> list[dict]:
        place = {"noisy_cumulative_count": "group_size", "noisy_excess": "rank"}[column]
        return [
            {**row, column: row[column] + 60} if row["region_id"] == "US" and row[place] == last else row
            for row in rows
        ]

    in_rows(copy, far_off)
    fix_digests(copy)
    assert failed(copy).keys() & {"certificate", "replay", "noise"}


@pytest.mark.parametrize("thresholds", ["one", "per level", "few ranks", "stand-in", "noisy totals"])
def test_a_rehearsal_said_to_be_private_is_found(tmp_path, thresholds):
    wanted = config(tmp_path, Kind.POSTERIOR, **THRESHOLDS[thresholds])
    truth = wanted.count()
    terms = wanted.terms.resolved(truth.hierarchy, truth.totals)
    for seed, expected in ((manifest.REHEARSAL_KEY, True), ("another key", False)):
        measured = terms.mechanism(3).noise.measure(truth, Seeded(seed))
        assert is_rehearsal(terms, measured) == expected


# The noise: what is known twice, and planted bugs of the noise step


TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(10)])
TRUTH = CountOfCounts(
    TREE,
    [np.bincount(np.minimum(np.random.default_rng(i).geometric(0.25, 300), 30), minlength=31) for i in range(120)],
    "d",
)
LARGE = CountOfCounts(TREE, TRUTH.counts[TREE.leaves] * 20, "d")
LAWS = (DoubleGeometric(Fraction(3)),) * 3
VIEWS = (Split(20), Split(14), Split(9))


def measured(views: Any = VIEWS, epsilon: Any = 1, key: str = "k", truth: CountOfCounts = TRUTH) -> Measurement:
    return Geometric(views, epsilon).measure(truth, Seeded(key))


def bare(views: Any, truth: CountOfCounts, **about: Any) -> Measurement:
    """What would be measured without noise."""
    with noise_by(lambda law, values, stream: None):
        return Geometric(views, 1, **about).measure(truth, Seeded("bare"))


def test_residuals_are_noise_alone():
    """Without noise they are 0, of any thresholds and ranks; with it they have as many draws as is said."""
    rng, seen = np.random.default_rng(3), set()
    for i in range(scale(60, 600)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}", max_size=int(rng.integers(2, 9)))
        truth = CountOfCounts(truth.hierarchy, truth.counts[truth.hierarchy.leaves] * int(rng.integers(1, 200)), "many")
        ranks = None if i % 2 else int(rng.integers(1, 300))
        views = tuple(Split(int(t), ranks) for t in rng.integers(0, truth.max_size + 2, truth.hierarchy.n_regions))
        for family in families(bare(views, truth, totals="noisy" if i % 5 == 0 else "regions")):
            for residuals in family.residuals.values():
                assert not residuals.any(), (family.what, views)
            seen |= {family.what.split(",")[0]} if family.size else set()
    assert {"ranks of small groups", "members", "level 0"} <= seen


def test_ranks_of_small_groups_are_noise_alone_whatever_the_noise_of_columns_is():
    """It is at most what noise exceeds with a chance of 10^-13 over all regions; more takes in larger groups."""
    sizes = np.arange(1, 500)
    beyond = LAWS[0].probability_beyond(sizes) / 2 * TREE.n_regions
    reach = int(sizes[beyond <= DOUBT][0])
    without = bare(VIEWS, TRUTH)
    for raised, right in ((reach, True), (reach + 60, False), (-reach, True)):
        values = []
        for region, row in enumerate(without.values):
            columns = np.arange(len(row)) < VIEWS[int(TREE.level_of[region])].threshold
            values.append(row + raised * columns)
        found = {family.what: family for family in families(replace(without, values=tuple(values)))}
        ranks = np.concatenate(list(found["ranks of small groups"].residuals.values()))
        assert len(ranks) > 0
        assert right == (not ranks.any())


def test_empty_regions_leave_nothing_out():
    """A region without groups is ranked as a whole, and has no value; those around it are compared all the same."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI"), ("US", "NV")])
    truth = CountOfCounts(tree, [[9, 20, 30, 4], [8, 7, 20, 9], [0, 0, 0, 0]])
    noisy = Geometric((Split(2), Split(2), Split(2), Split(0)), 1).measure(truth, Seeded("empty"))
    assert noisy.view_of(3) is View.RANKED
    found = next(family for family in families(noisy) if family.what == "level 0")
    expected = noisy.values[0][:2] - noisy.values[1][:2] - noisy.values[2][:2]
    assert np.concatenate(list(found.residuals.values())).tolist() == expected.tolist()


def test_residuals_have_as_many_draws_as_is_said():
    squares: dict[str, list[float]] = {}
    for seed in range(40):
        for family in families(measured(key=f"draws {seed}")):
            for kind, residuals in family.residuals.items():
                variance = sum(kind.draws) * LAWS[0].variance
                squares.setdefault(family.what, []).extend((residuals**2 / variance).tolist())
    assert {"level 0", "level 1", "ranks of small groups", "members, level 0", "members, level 1"} <= squares.keys()
    for what, found in squares.items():
        assert abs(np.mean(found) - 1) < 6 * np.std(found) / np.sqrt(len(found)), what


@pytest.mark.drawn(1, pool="power of the checks of noise")
def test_scales_of_noise_are_told_apart():
    for views in (VIEWS, Split(6), Split(6, ranks=200), (View.CUMULATIVE, Split(14), Split(9))):
        for seed in range(3):
            assert not judge(measured(views, key=f"right {seed}"), LAWS).refuted
        assert judge(measured(views), LAWS).can_tell
        assert judge(measured(views, 3), LAWS).refuted
        assert judge(measured(views, "1/3"), LAWS).refuted


def test_bottom_up_has_ranks_alone_to_be_compared():
    """Where leaves alone are measured, no regions are; cumulative counts had one number per region."""
    noisy = Geometric(Split(9), 1, ("0", "0", "1")).measure(TRUTH, Seeded("leaves"))
    laws = (None, None, DoubleGeometric(Fraction(1)))
    assert not judge(noisy, laws).refuted
    assert judge(noisy, laws).n_values > 20_000
    assert judge(noisy, (None, None, DoubleGeometric(Fraction(5, 4)))).refuted


def with_ranks(truth: CountOfCounts, change: Any) -> Measurement:
    """A measurement whose ranks are changed, given the exact ones, in every region."""
    measurement, exact, values = measured(truth=truth), bare(VIEWS, truth), []
    for region, (noisy, true) in enumerate(zip(measurement.values, exact.values, strict=True)):
        t = VIEWS[int(TREE.level_of[region])].threshold
        values.append(np.concatenate([noisy[:t], change(noisy[t:], true[t:])]))
    return replace(measurement, values=tuple(values))


def no_noise(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    return true


def no_noise_at_equal_sizes(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    return np.where(np.diff(true, prepend=-1) == 0, true, noisy)


def one_noise_at_equal_sizes(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    first = np.maximum.accumulate(np.where(np.diff(true, prepend=-1) != 0, np.arange(len(true)), 0))
    return true + (noisy - true)[first]


def box_counted_twice(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Ranks from one size too early: of every larger group a box is in a column and in a row."""
    return noisy + (true > 0)


def threshold_off_by_one(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Ranks from one size too late: of every larger group a box is in no set."""
    return noisy - (true > 0)


@pytest.mark.parametrize("bug", [no_noise, no_noise_at_equal_sizes, one_noise_at_equal_sizes])
def test_ranks_without_noise_of_their_own_are_found(bug):
    assert not judge(with_ranks(TRUTH, lambda noisy, true: noisy), LAWS).refuted
    assert judge(with_ranks(TRUTH, bug), LAWS).refuted


@pytest.mark.parametrize("bug", [box_counted_twice, threshold_off_by_one])
def test_boxes_in_two_sets_or_in_none_are_found(bug):
    """Levels have other thresholds, so that members do not add up; where all have the same, nothing tells."""
    assert not judge(with_ranks(LARGE, lambda noisy, true: noisy), LAWS).refuted
    assert judge(with_ranks(LARGE, bug), LAWS).refuted


def test_a_folder_without_noise_on_ranks_is_refused(tmp_path, monkeypatch):
    """The release fails its own check, and a folder that was made past it fails the check of whoever reads it."""
    wanted = config(tmp_path, Kind.BOTTOM_UP, times=10, threshold=4)
    both = step.parts
    monkeypatch.setattr(
        step, "parts", lambda row, view: [part for part in both(row, view) if part[0] is not View.RANKED]
    )
    with pytest.raises(ReleaseError, match="noise does not have the stated laws"):
        publish(wanted)


# Facts


def test_facts_are_compared_with_columns():
    """Of sizes below the threshold noisy values tell; of those beyond it, and of several levels, they may not."""
    for threshold, number, told, wrong in ((4, None, True, False), (4, 900, True, True), (1, 900, False, False)):
        truth = TRUTH
        real = int(truth.counts[truth.hierarchy.index(("US", "s0")), 2])
        fact = Fact("equal", real if number is None else number, region="US/s0", sizes=(2, 2))
        terms = Terms("facts", 30, "1", Kind.KUO, view="split", threshold=threshold, facts=(fact,))
        noisy = Geometric(Split(threshold), 1).measure(truth, Seeded("facts"))
        verdict = judge_facts(terms, noisy)
        assert (verdict.n_comparisons > 0, verdict.refuted) == (told, wrong)


def test_released_counts_keep_facts(tmp_path):
    facts = (Fact("equal", 0, level="county", sizes=(8, 9)), Fact("equal", 50, region="US/OH/a"))
    folder = publish(config(tmp_path, Kind.KUO, threshold=4, facts=facts), rehearse=True).folder
    found = pq.read_table(folder / artefact.COUNTS).to_pandas()
    assert found.loc[found.group_size >= 8, "n_groups"].sum() == 0
    assert check(folder).passed


# Configuration


def test_the_keys_of_a_configuration(tmp_path):
    write_tables(tmp_path)
    read = ReleaseConfig.read(
        write_config(tmp_path, "posterior", view='"split"', max_size="60", threshold="[9, 4, 2]", ranks="12")
    )
    assert (read.terms.view, read.terms.threshold, read.terms.ranks) == (Measured.SPLIT, (9, 4, 2), 12)
    assert check(publish(read).folder).passed
    one = ReleaseConfig.read(write_config(tmp_path, "two_stage", "other", view='"split"', threshold="1"))
    assert one.terms.threshold == 1


@pytest.mark.parametrize("columns", [("group_size", "n_groups"), ("size", "number")])
def test_a_stand_in_of_a_file(tmp_path, columns):
    """Rows are added up by size; larger sizes count as the largest."""
    write_tables(tmp_path)
    rows = pd.DataFrame({"region": ["a", "a", "b", "b"], columns[0]: [1, 2, 1, 900], columns[1]: [40, 20, 50, 3]})
    rows.to_csv(tmp_path / "older.csv", index=False)
    keys = "" if columns[0] == "group_size" else 'size = "size"\ngroups = "number"\nfactor = "3/2"\n'
    tables = f'{TABLES}[stand_in]\nfile = "older.csv"\n{keys}'
    read = ReleaseConfig.read(write_config(tmp_path, "kuo", view='"split"', tables=tables))
    assert read.terms.stand_in == StandIn((0, 90, 20, 3), "3/2" if keys else "1/2")
    folder = publish(read).folder
    assert known(folder)[0].stand_in == read.terms.stand_in


def test_a_release_is_a_stand_in(made, tmp_path):
    """Its table counts every group once per level, which leaves the shape as it is."""
    write_tables(tmp_path)
    tables = f'{TABLES}[stand_in]\nfile = "{made[1] / artefact.COUNTS_CSV}"\n'
    read = ReleaseConfig.read(write_config(tmp_path, "kuo", view='"split"', max_size="9", tables=tables))
    nation = read_release(made[1]).counts.counts[0]
    assert read.terms.stand_in == StandIn((3 * nation).tolist())


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("group_size,n_groups\n1,-4\n", "numbers of groups from 0 up"),
        ("group_size,n_groups\n", "has rows of sizes"),
        ("group_size,n_groups\n1,0\n", "some groups"),
        ("group_size\n1\n", "no column 'n_groups'"),
        ("group_size,n_groups\n1,3.5\n", "whole number"),
    ],
)
def test_refused_files_of_stand_ins(tmp_path, rows, why):
    write_tables(tmp_path)
    (tmp_path / "older.csv").write_text(rows)
    tables = f'{TABLES}[stand_in]\nfile = "older.csv"\n'
    with pytest.raises(PgsrError, match=why):
        ReleaseConfig.read(write_config(tmp_path, "kuo", view='"split"', tables=tables))


def test_a_private_table_is_no_stand_in(tmp_path):
    write_tables(tmp_path)
    tables = f'{TABLES}[stand_in]\nfile = "entities.parquet"\n'
    with pytest.raises(ConfigError, match=r"private table \[entities\]"):
        ReleaseConfig.read(write_config(tmp_path, "kuo", view='"split"', tables=tables))
    tables = f'{TABLES}[stand_in]\nfile = "ledger.jsonl"\nkind = "csv"\n'
    with pytest.raises(ConfigError, match=r"ledger .* is one of the tables that are read"):
        ReleaseConfig.read(write_config(tmp_path, "kuo", view='"split"', tables=tables))


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ({"threshold": None}, 'view = "split" wants thresholds: write threshold = 12'),
        ({"view": "cumulative"}, 'threshold with view = "cumulative", which has no thresholds; write view = "split"'),
        ({"view": "cumulative", "threshold": None, "ranks": 4}, 'ranks with view = "cumulative"'),
        ({"kind": "m_h"}, 'mechanism m_h does not work on view = "split"; write view = "counts"'),
        ({"kind": "m_c_dp"}, 'mechanism m_c_dp does not work on view = "split"; write view = "cumulative"'),
        (
            {"kind": "posterior", "totals": "root"},
            'totals = "root" publishes that of the root alone; write totals = "regions"',
        ),
        ({"threshold": -1}, "threshold is -1; write a public size, a whole number from 0 up"),
        ({"threshold": ()}, "threshold is an empty array"),
        ({"threshold": 1, "min_size": 2}, "threshold is 1, and min_size = 2 says that no group is smaller"),
        ({"ranks": 0}, "ranks is 0; write how many of the largest groups"),
        ({"kind": "two_stage", "threshold": (3, 0)}, "mechanism two_stage needs some cumulative counts"),
        ({"max_size": (9, 4)}, 'view = "split" has the same sizes on all levels'),
        (
            {"threshold": None, "stand_in": STAND_IN, "totals": "noisy"},
            r"\[stand_in\] finds thresholds from every region's public number of groups",
        ),
        (
            {"threshold": (4, 3), "epsilon": None, "rho": "1", "unit": "entity in 3 groups"},
            'view = "split" with several thresholds measures views that differ in sensitivity here',
        ),
    ],
)
def test_refusals(terms, why):
    with pytest.raises(ConfigError, match=why):
        Terms(
            **{
                "data_set": "demo",
                "max_size": 9,
                "epsilon": "1",
                "kind": "kuo",
                "view": "split",
                "threshold": 4,
                **terms,
            }
        )


def test_as_many_thresholds_as_levels(tmp_path):
    for call in (outline, publish):
        for n in (2, 11):  # there are 11 regions, whose order nobody knows who writes a file
            with pytest.raises(ConfigError, match=f"threshold gives {n} sizes, and the regions have 3 levels"):
                call(config(tmp_path, threshold=(4,) * n))
    assert LedgerFile(tmp_path / "ledger.jsonl").left == PureEpsilon(100)


def test_any_unit_has_one_threshold(tmp_path):
    """Gaussian noise of a group's unit has the sigma of the view, which the manifest states."""
    wanted = config(tmp_path, Kind.BOTTOM_UP, None, rho="2", unit="group", laws="gaussian", threshold=4)
    folder = publish(wanted, rehearse=True).folder
    assert check(folder).passed
    level = json.loads((folder / artefact.MANIFEST).read_text())["levels"][2]
    assert level["sensitivity"] == {"l1": 9, "l2_squared": 5**2 + 4}


def test_arithmetic_beyond_64_bits_is_refused():
    """Ranks are fitted by exact squares."""
    alone = Hierarchy.from_paths([("US",)])
    for kind in (Kind.KUO, Kind.BOTTOM_UP, Kind.TWO_STAGE):
        terms = Terms("demo", 10**4, "1", kind, view="split", threshold=4)
        require_arithmetic(terms, CountOfCounts(alone, [[10**6, 1]]))
        with pytest.raises(ReleaseError, match="more than 64 bits"):
            require_arithmetic(terms, CountOfCounts(alone, [[10**8, 1]]))
        require_arithmetic(replace(terms, ranks=10**5), CountOfCounts(alone, [[10**8, 1]]))


def test_a_region_of_several_blocks_is_written_and_read(tmp_path, monkeypatch):
    """Regions with more ranks than a block has rows, and several regions in one block."""
    monkeypatch.setattr(released_tables, "_BLOCK_ROWS", 40)
    wanted = config(tmp_path, threshold=(4, 3, 2))
    folder = publish(wanted, rehearse=True).folder
    assert pq.ParquetFile(folder / artefact.MEASUREMENT).num_row_groups > 5
    expected = wanted.terms.mechanism(3).noise.measure(wanted.count(), Seeded(manifest.REHEARSAL_KEY))
    for ours, theirs in zip(known(folder)[1].values, expected.values, strict=True):
        assert np.array_equal(ours, theirs)


def test_memory_of_ranks_is_asked_for():
    """The nation's and the states' ranks, none of levels that are not measured, at most `ranks` of a region."""
    terms = Terms("demo", 30, "1", Kind.KUO, view="split", threshold=4)
    assert n_ranks(terms, TRUTH) == 3 * 36_000
    assert n_ranks(replace(terms, ranks=100), TRUTH) == 133 * 100
    assert n_ranks(replace(terms, kind=Kind.BOTTOM_UP), TRUTH) == 36_000
    plain = Terms("demo", 30, "1", Kind.KUO)
    assert n_ranks(plain, TRUTH) == 0
    ours, without = bytes_needed(terms, TREE, TRUTH), bytes_needed(plain, TREE, TRUTH)
    assert ours == without + rank_bytes(3 * 36_000)


# Plans


def test_plans_compare_split_views_where_thresholds_are_configured(tmp_path):
    found = forecast(config(tmp_path, stand_in=STAND_IN), replicates=2, progress=False, mechanisms=["two_stage"])
    views = {choice.terms.view for choice in found.choices}
    assert views == {Measured.CUMULATIVE, Measured.SPLIT}
    assert found.choices[0].mechanism == "kuo, split"
    assert all(
        (choice.terms.stand_in is None) == (choice.terms.view is Measured.CUMULATIVE) for choice in found.choices
    )
    assert (found.mean > 0).all()
    assert any('view = "split"' in choice.toml for choice in found.choices)
    without = forecast(config_of_columns(tmp_path), replicates=2, progress=False, mechanisms=["kuo"])
    assert Measured.SPLIT not in {choice.terms.view for choice in without.choices}


def config_of_columns(folder: Path) -> ReleaseConfig:
    wanted = config(folder, threshold=4)
    return replace(wanted, terms=replace(wanted.terms, view=Measured.CUMULATIVE, threshold=None))


def test_an_epsilon_for_a_split_release(tmp_path):
    found = epsilon_for(config(tmp_path, stand_in=STAND_IN), {"county": 12}, progress=False, replicates=2)
    assert found.tried[found.epsilon][0][2] <= 12
