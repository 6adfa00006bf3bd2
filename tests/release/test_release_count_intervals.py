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

from pgsr import CountOfCounts, Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.intervals.replicates import drawn_counts
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import Terms, check, outline, publish, read_release
from pgsr.release.checks.published import intervals_of
from pgsr.release.folder import artefact
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.ledger import LedgerFile
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.preflight import peak_bytes

LEVEL = {"intervals": '"9/10"', "max_size": "6"}


@pytest.fixture(scope="module", autouse=True)
def rows_of_zeros_left_out() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.release.terms.plan.MOST_ROWS", 0)
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
    [found] = intervals_of(read, ["count"], Fraction(9, 10), "posterior", 100, "intervals")
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


def test_draws_and_a_row_for_every_cell_need_memory():
    plain, most, half = (peak_bytes(Kind.POSTERIOR, 100, 1_000, 9, p) for p in (None, Fraction(9, 10), Fraction(1, 2)))
    assert plain + 8 * 100 * 100_000 < most < half


# Rounding


TREE = Hierarchy.from_paths([("US", f"s{i}") for i in range(12)])
TRUTH = CountOfCounts(TREE, rng_of(3).poisson(40 * 0.8 ** np.arange(40), (12, 40)), "d")


def test_one_draw_that_differs_is_allowed_and_no_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of every cell becomes any other number, as floating point may; an end moved further is refuted."""
    terms = Terms("d", 39, "1", Kind.POSTERIOR, intervals="9/10")
    measurement = planned(terms, 2).mechanism.noise.measure(TRUTH, Seeded("ends"))
    mechanism, everywhere = planned(terms, measurement).mechanism, np.arange(TREE.n_regions * 40)
    released = mechanism.post_process(measurement).estimate
    tables = list(drawn_counts(mechanism.post, measurement, 100, "intervals"))
    found, rng = CountIntervals.of(Fraction(9, 10), mechanism, measurement, released), rng_of(1)
    for off in (-1, 1, 1_000, -1_000):
        place = rng.integers(0, 100, TRUTH.counts.shape)
        moved = [table + off * (place == i) for i, table in enumerate(tables)]
        monkeypatch.setattr("pgsr.release.folder.count_intervals.drawn_counts", lambda *_, moved=moved: iter(moved))
        other = CountIntervals.of(Fraction(9, 10), mechanism, measurement, released)
        assert not found.refuted(other.ends, everywhere).any()
    for by in (-1, 1):
        for side in ("lower", "upper"):
            furthest = np.array([getattr(ends, side) for ends in (found.widest, found.ends, found.narrowest)])
            end = (furthest.min(axis=0) if by < 0 else furthest.max(axis=0)) + by
            ends = replace(found.ends, **{side: end})
            assert found.refuted(ends, everywhere).all()
            assert found.differ(ends, everywhere) == end.size


def test_the_command_gives_the_published_ends(tmp_path):
    """Of counts and of tails, which are the number of groups less a cumulative count; also by excess over min_size."""
    for least in (0, 1):
        folder = tmp_path / str(least)
        folder.mkdir()
        write_tables(folder)
        wanted = config(folder, "posterior", min_size=str(least), **LEVEL)
        read = read_release(publish(wanted).folder)
        counts, some, tail, cumulative = intervals_of(
            read, ["count", "count:2", "tail:3", "cumulative:3"], Fraction(9, 10), "posterior", 100, "intervals"
        )
        tree = read.counts.hierarchy
        for name, side in (("lower", counts.lower), ("upper", counts.upper)):
            published = cells(wanted.output, name)
            for region, path in enumerate(tree.paths):
                assert [published.get((region_id(path), size), 0) for size in range(7)] == side[region].tolist()
        assert np.array_equal(some.lower, counts.lower[:, 2])
        assert np.array_equal(tail.upper, read.counts.totals - cumulative.lower)
        assert (tail.lower <= tail.estimate).all()
        assert (tail.estimate <= tail.upper).all()
