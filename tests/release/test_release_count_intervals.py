"""The columns lower and upper of released counts: what they are, and that a changed end is found."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from instances import rng_of
from made_tables import TABLES, config, write_tables
from planned import planned

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Estimate
from pgsr.data.region_ids import region_id
from pgsr.intervals.statistics import statistic_of
from pgsr.noise import Measurement
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import Terms, check, outline, publish, read_release
from pgsr.release.folder import artefact
from pgsr.release.folder.count_intervals import SD_ERROR, CountIntervals
from pgsr.release.folder.released_tables import Ends
from pgsr.release.ledger import LedgerFile
from pgsr.release.read.intervals import own_intervals, own_result
from pgsr.release.stated.kinds import Kind
from pgsr.release.stated.preflight import peak_bytes

LEVEL = {"intervals": '"9/10"', "max_size": "6"}


@pytest.fixture(scope="module", autouse=True)
def rows_of_zeros_left_out() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.release.stated.plan.MOST_ROWS", 0)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    return publish(config(folder, "posterior", **LEVEL)).folder


def failed(folder: Path) -> list[str]:
    return [finding.name for finding in check(folder).findings if not finding.passed]


def cells(folder: Path, column: str) -> dict[tuple[str, int], int]:
    """A column of counts.csv by region and size."""
    table = pd.read_csv(folder / artefact.COUNTS_CSV)
    return dict(zip(zip(table.region_id, table.group_size, strict=True), table[column], strict=True))


def expected(folder: Path) -> tuple[Hierarchy, np.ndarray, np.ndarray]:
    """The ends by the public functions, from the folder alone."""
    read = read_release(folder)
    found = read.mechanism.post.apply(read.measurement).intervals("count", 0.9)
    return read.counts.hierarchy, found.lower, found.upper


def test_the_columns_are_the_intervals_of_the_noisy_values(made):
    assert not failed(made), check(made)
    said = dict(outline(config(made.parent, "posterior", "other", **LEVEL)).facts)["intervals"]
    assert said.startswith("columns lower and upper, 90 %, at no cost")
    tree, lower, upper = expected(made)
    table = read_release(made).counts.counts
    for name, side in (("lower", lower), ("upper", upper), ("n_groups", table)):
        found = cells(made, name)
        for region, path in enumerate(tree.paths):
            for size in range(7):
                key = region_id(path), size
                assert found.get(key, 0) == side[region, size], (name, key)
    kept = {key for key in cells(made, "n_groups") if key[1] > 0 and key != ("US", 6)}
    assert kept == {
        (region_id(path), size)
        for region, path in enumerate(tree.paths)
        for size in range(1, 7)
        if (table[region, size] or upper[region, size]) and (region or size < 6)
    }


def test_the_folder_says_what_they_are(made):
    fields = json.loads((made / artefact.MANIFEST).read_text())
    assert fields["intervals"] == {"level": "9/10"}
    package = json.loads((made / artefact.PACKAGE).read_text())
    described = {f["name"]: f["description"] for f in package["resources"][0]["schema"]["fields"]}
    about = " ".join((made / artefact.README).read_text().split())
    for text in (described["lower"], about, (made / artefact.SUMMARY).read_text()):
        assert "90 % interval" in text
        assert "Every interval by itself aims" in text
        assert "last class" not in text
    assert "HOW FAR IT MAY BE FROM THE TRUTH" in about
    assert pq.read_schema(made / artefact.COUNTS).names[-3:] == ["n_groups", "lower", "upper"]


def test_a_posterior_of_noisy_counts_publishes_its_own(tmp_path):
    """Households are hidden best by noisy counts."""
    write_tables(tmp_path)
    LedgerFile.create(tmp_path / "ledger.jsonl", "made", PureEpsilon(100), Relation.REPLACE, Unit.parse("group"))
    folder = publish(config(tmp_path, "posterior", unit='"group"', **LEVEL)).folder
    assert not failed(folder), check(folder)


def test_without_the_key_nothing_is_there(tmp_path):
    write_tables(tmp_path)
    wanted = config(tmp_path)
    assert "none are published" in dict(outline(wanted).facts)["intervals"]
    folder = publish(wanted).folder
    assert "intervals" not in json.loads((folder / artefact.MANIFEST).read_text())
    assert "interval" not in (folder / artefact.README).read_text() + (folder / artefact.SUMMARY).read_text()
    assert pq.read_schema(folder / artefact.COUNTS).names[-1] == "n_groups"
    [said] = [finding.sentence for finding in check(folder).findings if finding.name == "intervals"]
    assert said == "none are published"


def test_regions_of_different_depth(tmp_path):
    """A region that padding repeats has one set of rows."""
    write_tables(tmp_path, leaves=[("US", "DC"), ("US", "GA", "a"), ("US", "GA", "b")])
    folder = publish(config(tmp_path, "posterior", tables=TABLES + "pad_ragged = true\n", **LEVEL)).folder
    assert not failed(folder), check(folder)
    tree, lower, upper = expected(folder)
    for name, side in (("lower", lower), ("upper", upper)):
        assert cells(folder, name)["US/US%2FDC", 0] == side[tree.find(("US", "US/DC")), 0]


def test_a_row_for_every_cell_needs_memory():
    kind = Kind.POSTERIOR
    assert peak_bytes(kind, 100, 1_000, 5, intervals=True) > peak_bytes(kind, 100, 1_000, 100_000)


# Rounding


TREE = Hierarchy.from_paths([("US", f"s{i}") for i in range(12)])
TRUTH = CountOfCounts(TREE, rng_of(3).poisson(40 * 0.8 ** np.arange(40), (12, 40)), "d")


def posterior() -> tuple[Terms, Measurement, CountIntervals]:
    terms = Terms("d", 39, "1", Kind.POSTERIOR, intervals="9/10")
    measurement = planned(terms, 2).mechanism.noise.measure(TRUTH, Seeded("ends"))
    result = planned(terms, measurement).mechanism.post_process(measurement)
    return terms, measurement, CountIntervals.of(Fraction(9, 10), result, result.estimate)


def test_errors_of_floating_point_are_allowed_and_no_others():
    """Standard deviations off by less than the allowed error give allowed ends; an end moved by 1 is none elsewhere."""
    terms, measurement, found = posterior()
    result, everywhere = planned(terms, measurement).mechanism.post_process(measurement), np.arange(TREE.n_regions * 40)
    rng = rng_of(1)
    for error in (1e-12, 1e-9, 0.9 * SD_ERROR):
        reach = result.uncertainty.counts
        sd = reach.sd.astype(float)
        off = replace(result.uncertainty, counts=replace(reach, sd=sd * (1 + error * rng.choice([-1, 1], sd.shape))))
        other = off.intervals(Estimate(TREE, View.COUNTS, result.answer.as_counts), 0.9, View.COUNTS)
        assert not found.refuted(Ends(other.lower.ravel(), other.upper.ravel()), everywhere).any()
    loose = (found.widest.lower != found.narrowest.lower) | (found.widest.upper != found.narrowest.upper)
    assert loose.mean() < 0.02, "few ends are next to the middle between two integers"
    for by in (-1, 1):
        for moved in (
            Ends(found.ends.lower + by, found.ends.upper),
            Ends(found.ends.lower, found.ends.upper + by),
        ):
            refuted = found.refuted(moved, everywhere)
            assert refuted[~loose].all()
            assert found.differ(moved, everywhere) == moved.lower.size


def test_an_end_next_to_the_middle_may_be_either():
    """A standard deviation that puts an end on k + 1/2 almost exactly; then both integers pass, and no third one."""
    terms, measurement, _ = posterior()
    result = planned(terms, measurement).mechanism.post_process(measurement)
    exact = result.uncertainty.counts.sd.astype(float)
    exact[3, 5] = 2.5 / 1.6448536269514722
    table = result.answer.as_counts.copy()
    table[3, 5] = 30
    released = Estimate(TREE, View.COUNTS, table)
    low, high = result.uncertainty.counts.low.copy(), result.uncertainty.counts.high.copy()
    low[3, 5] = high[3, 5] = 30
    moved = np.zeros(exact.shape)
    reach = replace(result.uncertainty.counts, low=low, high=high, sd=exact, moved=moved)
    about = replace(result, uncertainty=replace(result.uncertainty, counts=reach))
    found = CountIntervals.of(Fraction(9, 10), about, released)
    allowed = []
    for end in range(25, 31):
        lower = found.ends.lower.copy()
        lower[3 * 40 + 5] = end
        if not found.refuted(Ends(lower, found.ends.upper), np.arange(len(lower))).any():
            allowed.append(end)
    assert allowed == [27, 28]


def test_the_command_gives_the_published_ends(tmp_path):
    """Of counts and of tails, which are the number of groups less a cumulative count; also by excess over min_size."""
    for least in (0, 1):
        folder = tmp_path / str(least)
        folder.mkdir()
        write_tables(folder)
        wanted = config(folder, "posterior", min_size=str(least), **LEVEL)
        read = read_release(publish(wanted).folder)
        result = own_result(read)
        counts, some, tail, cumulative = (
            own_intervals(read, result, statistic_of(text, read.counts.sizes), Fraction(9, 10))
            for text in ("count", "count:2", "tail:3", "cumulative:3")
        )
        assert all(found is not None for found in (counts, some, tail, cumulative))
        tree = read.counts.hierarchy
        for name, side in (("lower", counts.lower), ("upper", counts.upper)):
            published = cells(wanted.output, name)
            for region, path in enumerate(tree.paths):
                assert [published.get((region_id(path), size), 0) for size in range(7)] == side[region].tolist()
        assert np.array_equal(some.lower, counts.lower[:, 2])
        assert np.array_equal(tail.upper, read.counts.totals - cumulative.lower)
        assert (tail.lower <= tail.estimate).all()
        assert (tail.estimate <= tail.upper).all()
        assert own_intervals(read, result, statistic_of("mean", read.counts.sizes), Fraction(9, 10)) is None
