"""The columns lower and upper with sizes per level: what they are, that a changed end is found, and the command."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import config, release, write_tables
from planned import planned
from test_release_count_intervals import CHANGES, failed, forge
from typer.testing import CliRunner, Result

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.cli import app
from pgsr.estimators import Posterior
from pgsr.estimators.posterior.folded_errors import cells_of
from pgsr.intervals import intervals
from pgsr.methods.mechanism import Mechanism
from pgsr.privacy import Seeded
from pgsr.release import Terms, check, outline, publish, read_release
from pgsr.release.checks.judging import answer_of
from pgsr.release.folder import artefact
from pgsr.release.folder.count_intervals import CountIntervals
from pgsr.release.folder.released_tables import Ends
from pgsr.release.stated.kinds import Kind
from pgsr.release.stated.preflight import level_peak_bytes

KEYS = {"max_size": "{nation = 6, state = 3, county = 2}", "intervals": '"9/10"'}


@pytest.fixture(scope="module", autouse=True)
def rows_of_zeros_left_out() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.release.stated.plan.MOST_ROWS", 0)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    return release(config(folder, "posterior", **KEYS))


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy")


def test_the_columns_are_the_intervals_of_the_noisy_values(made: Path) -> None:
    """Of every cell, by the public function; a row is left out only where all three columns would hold 0."""
    assert not failed(made), check(made)
    read = read_release(made)
    wanted = Posterior().apply(read.measurement).intervals(0.9).to_frame(level_names=("nation", "state", "county"))
    wanted["size_class"] = wanted.pop("statistic").str.removeprefix("count:")
    wanted["group_size"] = wanted["size_class"].str.removesuffix(" or more").astype(int)
    wanted = wanted.rename(columns={"estimate": "n_groups"})
    kept = (wanted[["n_groups", "lower", "upper"]] != 0).any(axis=1) | (wanted["group_size"] == 0)
    for name in ("6 or more", "3 or more", "2 or more"):
        kept[wanted.index[wanted["size_class"] == name][0]] = True
    found = pd.read_csv(made / artefact.COUNTS_CSV, keep_default_na=False)
    columns = ["region_id", "level", "group_size", "size_class", "n_groups", "lower", "upper"]
    pd.testing.assert_frame_equal(found[columns], wanted.loc[kept, columns].reset_index(drop=True))
    assert (found["lower"] < found["upper"]).any()


def test_the_folder_says_what_they_are(made: Path) -> None:
    fields = json.loads((made / artefact.MANIFEST).read_text())
    assert fields["intervals"] == {"level": "9/10"}
    package = json.loads((made / artefact.PACKAGE).read_text())
    described = {f["name"]: f["description"] for f in package["resources"][0]["schema"]["fields"]}
    about = " ".join((made / artefact.README).read_text().split())
    for text in (about, (made / artefact.SUMMARY).read_text()):
        assert "90 % interval for the true number of groups of each class of sizes" in text
    for text in (about, (made / artefact.SUMMARY).read_text(), described["lower"]):
        assert "Every interval by itself aims" in text
        assert "In the last class of a region above the lowest level the chance can be smaller where" in text
    assert "groups of these sizes in this region" in described["lower"]
    assert "0 in all three columns" in described["n_groups"]
    assert pq.read_schema(made / artefact.COUNTS).names[-4:] == ["size_class", "n_groups", "lower", "upper"]


def test_the_counts_are_read_beside_them(tmp_path: Path) -> None:
    write_tables(tmp_path)
    found = publish(config(tmp_path, "posterior", **KEYS), rehearse=True)
    assert found.report.passed
    assert found.counts().max_sizes == (6, 3, 2)
    plain = publish(config(tmp_path, "posterior", name="plain", max_size=KEYS["max_size"]), rehearse=True)
    for ours, theirs in zip(found.counts().tables, plain.counts().tables, strict=True):
        assert np.array_equal(ours, theirs)
    assert dict(outline(config(tmp_path, "posterior", **KEYS)).facts)["intervals"].startswith("columns lower and upper")


def test_posteriors_of_counts_publish_them(tmp_path: Path) -> None:
    write_tables(tmp_path)
    folder = release(config(tmp_path, "posterior", **KEYS), rehearse=True)
    assert check(folder).passed
    assert "upper" in pq.read_schema(folder / artefact.COUNTS).names


def test_a_row_for_every_cell_needs_memory() -> None:
    assert level_peak_bytes(Kind.POSTERIOR, 100, 10_000, 5, intervals=True) > level_peak_bytes(
        Kind.POSTERIOR, 100, 10_000, 10_000
    )


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "no width"])
def test_a_changed_end_is_found(copy: Path, name: str) -> None:
    """By this check alone, and with a sentence that counts the cells: 7, two times 4 and four times 3."""
    forge(copy, CHANGES[name])
    assert "intervals" in failed(copy)
    assert set(failed(copy)) <= {"intervals", "descriptions"}, "summary.html shows ends of the nation, too"
    [said] = [finding.sentence for finding in check(copy).findings if finding.name == "intervals"]
    assert said == "1 of 27 intervals do not follow from the noisy values"


def without_row(table: pa.Table) -> pa.Table:
    """Drop the first row that is there only for its interval."""
    size, count, upper = (table[name].to_numpy() for name in ("group_size", "n_groups", "upper"))
    last = np.array([name.endswith("or more") for name in table["size_class"].to_pylist()])
    place = int(np.flatnonzero((size > 0) & (count == 0) & (upper > 0) & ~last)[0])
    return pa.concat_tables([table.slice(0, place), table.slice(place + 1)])


def test_a_row_that_is_dropped_is_found(tmp_path: Path) -> None:
    """Of a release in which some count is 0 within an interval that is not; the noise of a rehearsal repeats."""
    write_tables(tmp_path, n_groups=8)
    folder = release(config(tmp_path, "posterior", **KEYS), rehearse=True)
    assert not failed(folder)
    forge(folder, without_row)
    assert "intervals" in failed(folder)


# The command


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["intervals", *map(str, arguments)], env={"COLUMNS": "300"})


@pytest.fixture(scope="module", params=["posterior", "m_h", "m_c_dp", "kuo", "two_stage"])
def without_columns(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rehearsal whose tables have no intervals."""
    folder = tmp_path_factory.mktemp("plain")
    write_tables(folder)
    return release(config(folder, request.param, max_size=KEYS["max_size"]), rehearse=True)


@pytest.mark.parametrize(("statistic", "view"), [("count", View.COUNTS), ("cumulative", View.CUMULATIVE)])
@pytest.mark.drawn(1)
def test_the_command_gives_what_python_gives(without_columns: Path, tmp_path: Path, statistic: str, view: View) -> None:
    """The posterior's own intervals, else the bootstrap's; from the folder alone, in the columns of other releases."""
    read, file = read_release(without_columns), tmp_path / "intervals.csv"
    assert not read.secure
    if read.terms.kind is Kind.POSTERIOR:
        wanted, draws = Posterior().apply(read.measurement).intervals(0.8, view), ()
    else:
        wanted, draws = intervals(read.mechanism, read.counts, statistic, "0.8", 20), ("--replicates", 20)
    done = command(without_columns, "--level", "0.8", "--statistic", statistic, *draws, "--output", file)
    assert done.exit_code == 0, done.exception
    assert "NOT private" in done.output
    found = pd.read_csv(file)
    names = ["nation", "state", "county"]
    assert list(found.columns) == [
        "region_id",
        "level",
        "level_name",
        *names,
        "statistic",
        "lower",
        "estimate",
        "upper",
    ]
    expected = wanted.to_frame(level_names=names)
    assert list(found["county"].dropna()) == list(expected["county"].dropna())
    assert list(found["region_id"]) == list(expected["region_id"])
    for name in ("lower", "upper"):
        assert list(found[name]) == list(expected[name])
    names = [f"{statistic}:{size}" for size in ("0", "1", "2", "3", "4", "5", "6 or more")]
    assert list(found["statistic"][:7]) == names


def test_two_statistics_share_one_set_of_replicates(made: Path, tmp_path: Path, monkeypatch) -> None:
    """Each ran a bootstrap of its own; the numbers are those of one statistic alone."""
    releases: list[object] = []
    released = Mechanism.release
    monkeypatch.setattr(Mechanism, "release", lambda self, *a: releases.append(0) or released(self, *a))
    asked = ("--kind", "bootstrap", "--replicates", 20, "--seed", "s")
    for name, statistics in (("both", ("count", "cumulative")), ("one", ("cumulative",))):
        options = [part for each in statistics for part in ("--statistic", each)]
        command(made, *asked, *options, "--output", tmp_path / f"{name}.csv")
        assert len(releases) == 20
        releases.clear()
    both, one = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("both", "one"))
    pd.testing.assert_frame_equal(both.tail(len(one)).reset_index(drop=True), one)
    posteriors: list[object] = []
    applied = Posterior.apply
    monkeypatch.setattr(Posterior, "apply", lambda self, *a: posteriors.append(0) or applied(self, *a))
    command(made, "--kind", "posterior", "--statistic", "count", "--statistic", "cumulative")
    assert len(posteriors) == 1


def test_a_region_and_the_bootstrap_of_a_posterior(made: Path) -> None:
    """The counts are the usual statistic, and --kind says which intervals are meant."""
    done = command(made, "--region", "US/US%2FGA")
    assert "90 % intervals, posterior" in done.output
    assert "count:3 or more" in done.output
    assert "US%2FMI" not in done.output
    again = command(made, "--region", "US/US%2FGA", "--kind", "bootstrap", "--replicates", 20, "--seed", "s")
    assert "90 % intervals, bootstrap" in again.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kind", "band"), "the band wants one max_size for all levels; leave --kind out"),
        (("--kind", "exact"), "write posterior, bootstrap or band"),
        (("--statistic", "mean"), "intervals of mean want one max_size for all levels; write count or cumulative"),
        (("--statistic", "count:5"), "write count or cumulative"),
        (("--replicates", 50), "--replicates has no meaning with the intervals of a posterior"),
        (("--seed", "s"), "--seed has no meaning with the intervals of a posterior"),
        (("--region", "US/HI"), "no region"),
        (("--level", "2"), "below 1"),
    ],
)
def test_the_command_refuses_in_the_users_words(made: Path, arguments: tuple, said: str) -> None:
    done = command(made, *arguments)
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}"


# Rounding

TREE = Hierarchy.from_paths([("US", f"s{i % 3}", f"c{i}") for i in range(12)])
SIZES = (40, 12, 5)
ALL = slice(None)


def found_of(relative: float, seed: int) -> tuple[CountIntervals, Ends]:
    """The intervals of a release, and the ends if its variances in 32 bits are off by up to this part of them."""
    counts = np.random.default_rng(3).poisson(40 * 0.8 ** np.arange(41), (12, 41))
    truth = CountOfCounts(TREE, TREE.sum_up(counts), "d").folded(SIZES)
    terms = Terms("d", SIZES, "1", Kind.POSTERIOR, intervals="9/10")
    measurement = planned(terms, 3).mechanism.measure(truth, Seeded("ends"))
    result, rng = planned(terms, measurement).mechanism.post_process(measurement), np.random.default_rng(seed)
    about, released = result.uncertainty, answer_of(result)
    errors = about.errors
    variances, steps = (
        [(table * (1 + relative * rng.choice([-1, 1], table.shape))).astype(np.float32) for table in tables]
        for tables in (errors.variances, errors.steps)
    )
    sd = cells_of(replace(errors, variances=variances, steps=steps).deviations(View.COUNTS))
    other = replace(about, counts=replace(about.counts, sd=sd)).intervals(released, 0.9, View.COUNTS)
    return CountIntervals.of(terms.intervals, result, released), Ends.of(other.lower, other.upper)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("relative", [1e-7, 1e-6, 4e-6])
def test_errors_of_floating_point_are_allowed(relative: float) -> None:
    for seed in range(3):
        found, other = found_of(relative, seed)
        assert not found.refuted(other, ALL).any()


def test_no_other_errors_are_allowed() -> None:
    """An end moved by 1 is refuted but next to the middle between two integers, which few ends are."""
    found, _ = found_of(0.0, 0)
    loose = (found.widest.lower != found.narrowest.lower) | (found.widest.upper != found.narrowest.upper)
    assert loose.mean() < 0.02
    for by in (-1, 1):
        for moved in (Ends(found.ends.lower + by, found.ends.upper), Ends(found.ends.lower, found.ends.upper + by)):
            assert found.refuted(moved, ALL)[~loose].all()
            assert found.differ(moved, ALL) == moved.lower.size


def test_variances_change_by_no_more_than_their_terms() -> None:
    """Also at the first size of a tail, where most of the terms cancel. Any change of the own variances is tried."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(40 * 0.8 ** np.arange(41), (12, 41))
    truth = CountOfCounts(TREE, TREE.sum_up(counts), "d").folded(SIZES)
    terms = Terms("d", SIZES, "1", Kind.POSTERIOR, intervals="9/10")
    mechanism = planned(terms, 3).mechanism
    about = mechanism.post_process(mechanism.measure(truth, Seeded("terms"))).uncertainty.errors
    plain = replace(about, **{name: [t.astype(float) for t in getattr(about, name)] for name in ("variances", "steps")})
    reached = 0.0
    for _ in range(20):
        changed = {
            name: [table * (1 + 1e-6 * rng.choice([-1, 1], table.shape)) for table in getattr(plain, name)]
            for name in ("variances", "steps")
        }
        off = replace(plain, **changed).deviations(View.COUNTS)
        for sd, other, of in zip(plain.deviations(View.COUNTS), off, plain.terms(), strict=True):
            assert (sd**2 <= of * (1 + 1e-9)).all()
            change = np.abs(other**2 - sd**2)
            assert (change <= 1.0001e-6 * of + 1e-12).all()
            reached = max(reached, float((change[of > 0] / of[of > 0]).max()))
    assert reached > 0.5e-6
    at_tail = plain.terms()[0][0, 12], plain.deviations(View.COUNTS)[0][0, 12] ** 2
    assert at_tail[0] > 1.5 * at_tail[1]
