"""The benchmarks of releases, of nations and of peers at small size, and what is written of their runs."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from pgsr import Hierarchy, Problem
from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.benchmarks import formulations, history, nation, peers, release_run, scale
from pgsr.experiments.benchmarks.history import TimedRow
from pgsr.experiments.benchmarks.interval_peers import (
    PEERS,
    SCALE,
    compared,
    county_world,
    exact,
    importance_sampling,
    linear,
)
from pgsr.experiments.benchmarks.reconcile_peers import METHODS, dense_program, least_squares, made, ours
from pgsr.experiments.commands.complete import app
from pgsr.machine.isolation import TaskEnd
from pgsr.models import Flow, Scipy
from pgsr.own_methods import OwnAlgorithm
from pgsr.release import ReleaseConfig


def test_tables_hold_what_they_are_made_of(tmp_path):
    rows, regions = 20_000, "states"
    release_run.make_tables(tmp_path, rows, regions, 20)
    truth, _ = release_run.scaled_census(rows, regions)
    assert pq.read_metadata(tmp_path / "entities.parquet").num_rows == rows
    assert pq.read_metadata(tmp_path / "groups.parquet").num_rows == truth.totals[0]
    read = ReleaseConfig.read(tmp_path / "kuo.toml").count()
    place = [truth.hierarchy.index(path) for path in read.hierarchy.paths]
    assert np.array_equal(read.counts[:, :8], truth.counts[place])
    assert not read.counts[:, 8:].any()
    assert truth.totals[0] == read.totals[0]
    vacant = truth.counts[0, 0] / truth.counts[0, 1:].sum()
    assert vacant == pytest.approx(release_run.VACANT, rel=0.2)


def test_scaling_keeps_the_proportions_and_few_rows_are_exact_too():
    few, small, large = (release_run.scaled_census(n, "states")[0].counts[0] for n in (10, 10**6, 10**7))
    assert [counts @ np.arange(8) for counts in (few, small, large)] == [10, 10**6, 10**7]
    assert np.allclose(10 * small / large, 1, atol=0.01)


def test_what_stands_in_for_the_census_says_why(tmp_path, monkeypatch):
    """A file that cannot be read is not one that nobody named."""
    file = tmp_path / "census2000_county_hhsize.csv.gz"
    monkeypatch.delenv("PGSR_DATA", raising=False)
    assert "PGSR_DATA names, and it is not set" in release_run.scaled_census(1_000, "states")[1]
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    assert f"{file} does not exist" in release_run.scaled_census(1_000, "states")[1]
    file.write_text("torn")
    said = release_run.scaled_census(1_000, "states")[1]
    assert said.startswith("generated census, scaled, instead of the Census of 2000: ")
    assert f"{file} cannot be read" in said


def test_what_cannot_be_done_is_refused(tmp_path):
    """Nothing is made of it."""
    blocks = ["bench-release", "--rows", "1000", "--blocks", "--regions", "tracts", "--out", str(tmp_path)]
    for error, says, call in (
        (ArgumentError, "--blocks has regions of its own, so --regions has no meaning; leave one of them out",
         lambda: CliRunner().invoke(app, blocks, catch_exceptions=False)),
        (DataError, "GiB of disk", lambda: release_run.require_disk(Path("absent") / "below", 10**15)),
        (ArgumentError, "use one of m_h, m_c_dp, matching",
         lambda: nation.main(Console(), tmp_path, [3_200], ["m_c"], "1", "here", None)),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            call()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_blocks_have_sizes_of_their_own(tmp_path):
    """Every dwelling of a county lies in one of its blocks, and the release and its check pass."""
    release_run.make_tables(tmp_path, 30_000, "blocks", 50)
    truth, _ = release_run.scaled_census(30_000, "counties")
    read = ReleaseConfig.read(tmp_path / "m_h.toml").count()
    assert read.max_sizes == (50, 50, 50, 20, 7)
    place = [truth.hierarchy.index(path) for path in read.hierarchy.paths[read.hierarchy.level(2)]]
    assert np.array_equal(read.tables[2][:, :8], truth.counts[place])
    blocks = np.maximum(1, truth.totals // release_run.DWELLINGS)[truth.hierarchy.leaves].sum()
    assert 0.5 * blocks <= len(read.tables[4]) <= blocks
    n_cells, _, shape = release_run._release(tmp_path, "m_h")
    assert n_cells == read.sizes.n_cells
    assert shape.split(";")[0].endswith("x 51 / 21 / 8 sizes")
    assert "checks passed" in release_run._check(tmp_path, "m_h")[2]


# The benchmark of a nation with sizes per level, small.


def test_a_failed_step_is_told_after_all_are_written(tmp_path, monkeypatch):
    """Of two sizes with three steps each, the release of the second died and its measurement did not start."""
    ends = [TaskEnd((1.0, 1.0, "done"), peak_bytes=10**6)] * 4
    ends += [TaskEnd(timed_out=True, started=False), TaskEnd(error="the process died with exit code -9")]

    def end(task: Callable, warm_up: Callable) -> TaskEnd:
        return ends.pop(0)

    monkeypatch.setattr(nation, "run_isolated", end)
    out, kept = tmp_path / "out", tmp_path / "kept"
    with pytest.raises(DataError) as failed:
        nation.main(Console(), out, [3_200, 3_300], ["m_h"], "1", "here", kept)
    assert str(failed.value).startswith(
        "failed: measure counts at 3,300 blocks (the process took more than 60 s to start); "
        "m_h at 3,300 blocks (the process died with exit code -9); see to the first"
    )
    written = (out / "nation.json").read_text()
    steps = json.loads(written)
    assert "NaN" not in written
    assert [step["seconds"] for step in steps] == [1.0] * 4 + [None] * 2
    assert [step["result"] for step in steps[:4]] == ["done"] * 4
    assert len(steps) == 6


# The benchmark of tables made consistent: all methods answer the same question.


def test_all_methods_find_the_same_distance():
    pytest.importorskip("qpsolvers")
    data = made(120)
    least = data.judged(ours(data, integer=False)[0])
    whole = data.judged(ours(data, integer=True)[0])
    assert whole[0] == 0
    assert whole[2] >= least[2]
    for method in (dense_program, least_squares, METHODS["sparse program, HiGHS"]):
        off, _, distance = data.judged(method(data)[0])
        assert off < 1e-6
        assert distance == pytest.approx(least[2], rel=1e-6)
    off, below, distance = data.judged(METHODS["sparse program, OSQP"](data)[0])  # to its own tolerance, below 0 too
    assert off < 1e-3
    assert below < 0
    assert distance == pytest.approx(least[2], rel=0.02)


@pytest.mark.slow
def test_intervals_are_compared_on_one_world():
    found = compared(county_world(0, 3, 12))
    assert len(found) == 3 * len(PEERS)
    assert set(found.groupby("method")["level"].nunique()) == {3}
    missing = found.note.str.contains("is not installed")
    assert found["coverage"].isna().tolist() == missing.tolist()
    assert not missing[~found.method.str.startswith("hierarchicalforecast")].any()
    world = county_world(4, 4, 60)
    (low, high, *_), (below, above, *_) = exact(world), linear(world)
    leaves = world.tree.leaves
    assert (high - low)[leaves].mean() < (above - below)[leaves].mean()


def test_importance_sampling_has_the_law_of_the_values_alone():
    """Two counties, a state and a nation with the same number: every pair of counties is tried."""
    world = county_world(2, 1, 2)
    numbers = np.arange(250)
    off = np.abs(numbers[:, None] + numbers - world.noisy[0]) + np.abs(numbers[:, None] + numbers - world.noisy[1])
    off = off + np.abs(numbers[:, None] - world.noisy[2]) + np.abs(numbers - world.noisy[3])
    mass = np.exp(-off / SCALE)
    exactly = np.cumsum(mass.sum(axis=1)) / mass.sum()
    low, high, middle, _ = importance_sampling(world)
    for at, chance in ((low, 0.05), (middle, 0.5), (high, 0.95)):
        place = int(at[2])
        assert (exactly[place - 1] if place else 0.0) - 0.03 <= chance <= exactly[place] + 0.03


# The history of benchmarks: rows are added, read back, and compared with the version before on the same machine.


def _row(version: str, seconds: float, name: str = "m_h", machine: str = "CPU, 2 cores") -> TimedRow:
    return TimedRow("2026-11-27", version, machine, name, "3,198,195 unknowns", seconds, 300.0)


def test_rows_are_added_and_read_back(tmp_path):
    path = tmp_path / "results" / history.FILE
    assert history.read(path) == []
    first, second = [_row("a1", 0.2), _row("a1", 1.5, "m_c")], [_row("b2", 0.1)]
    history.append(path, first)
    history.append(path, second)
    assert history.read(path) == first + second
    assert path.read_text("utf-8").count("version") == 1


def test_ratios_are_to_the_version_before_on_the_same_machine():
    rows = [_row("a1", 8.0), _row("b2", 2.0), _row("b2", 3.0, "new"), _row("b2", 50.0, machine="another")]
    rows += [_row("c3", 1.0), _row("c3", 6.0, "new")]
    assert history.mean_ratio(rows) == pytest.approx(1)  # the geometric mean of 1/2 and 2
    assert history.mean_ratio(rows[:1]) is None


def test_a_broken_history_names_its_line(tmp_path):
    path = tmp_path / history.FILE
    history.append(path, [_row("a1", 8.0)])
    with path.open("a") as file:
        file.write("2026-11-27,b2,CPU\n")
    with pytest.raises(ArgumentError, match="line 3"):
        history.read(path)


# The benchmark of formulations: every form gets the same problem, and its record is the table of a page.


def test_the_record_of_a_small_problem_is_a_table(tmp_path, monkeypatch):
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1, 9, 4], [0, 5, 3], [-1, 4, 1]], tree, groups=13, label="M_H")
    monkeypatch.setattr(formulations, "stated", lambda: problem)
    asked = ((formulations.WINDOW, Scipy()), (formulations.NETWORK, Flow()))
    monkeypatch.setattr(formulations, "ASKED", asked)
    said = []
    formulations.main(tmp_path, said.append)
    rows = formulations.read(tmp_path)
    assert [(row["form"], row["method"], row["status"]) for row in rows] == [
        ("all unit steps", "", ""),
        ("window of steps", "Scipy()", "OPTIMAL"),
        ("network", "Flow()", "OPTIMAL"),
    ]
    assert len(said) == 2
    lines = formulations.quoted(rows)["formulations"].splitlines()
    assert lines[2].startswith("| all unit steps |")
    assert lines[2].endswith("| not built |")
    assert lines[-1].startswith("| network | `Flow()` |")


def test_who_beats_pgsr_is_said_with_what_it_has_instead():
    gap, none, proved, tree = "FEASIBLE, proven gap 2.0e-06", "TIMED_OUT: too late", "OPTIMAL", "TreeProjection()"
    asked = (("M_H", tree, 1.0, proved), ("M_H", "X()", 9.0, proved), ("L1^r", "Y()", 9.0, none),
             ("M_c", tree, 0.5, gap), ("M_c", "X()", 12.0, proved), ("L1^r", "X()", 3.0, proved),
             ("M_c^r", tree, 2.0, proved), ("M_c^r", "X()", 1.5, proved))  # fmt: skip
    rows = [dict(zip(("problem", "method", "seconds", "text"), each, strict=True)) for each in asked]
    common = {"unknowns": 10, "peak_mb": 1.0}
    found = peers.quoted(row | common | {"ours": row["method"] == tree, "solved": row["text"] != none} for row in rows)
    assert [line[2:-2].split(" | ")[-1] for line in found["peers.ahead"].splitlines()[2:]] == [
        *("no algorithm", "0.50 s, gap 2.0e-06", "2.00 s")]  # fmt: skip
    assert "Y()" not in found["peers"], "a method without any answer has no row"


def test_benchmarks_run_the_algorithm_that_solve_runs():
    """A row of another algorithm would tell a user seconds that nobody waits for."""
    for question in (*scale.QUESTIONS, *scale.GROWING):
        if question.state is None:
            continue
        noisy, truth = scale._measured(question, "1", "divisions", 5)
        assert type(OwnAlgorithm().of(question.state(noisy, truth))) is type(question.method), question.name
