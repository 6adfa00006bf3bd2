"""Published results: what is written says the same as the store, and figures and quoted tables are of today."""

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import FULL, rng_of
from smoke_cells import smoke_cells
from smoke_cells import stored as as_stored
from typer.testing import CliRunner

from pgsr.experiments.benchmarks import by_hand, formulations, history, peers
from pgsr.experiments.commands.complete import app
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import ExperimentError, Profile, Task
from pgsr.experiments.engine.store import CellState, Store, StoredCell, to_frame
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.lib import published as library
from pgsr.experiments.ours.benchmark import tables as benchmark_tables
from pgsr.experiments.quoted import MARK, pages, quotations, rewritten
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report import environment, paper_tables, screen
from pgsr.experiments.report.publication import publish, published
from pgsr.experiments.report.published_figures import BY_DATA, IN_WORDS, results_figures
from pgsr.experiments.report.svg import write_svg

DOCS = Path(__file__).parents[2] / "docs"
SMOKE = Profile.SMOKE
ALL = ("K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K8b", "K9", "K10", "PG2", "PG3", "PG4", "PG5", "X1")
"""Those whose papers' sizes a single machine can run."""
PUBLISHED = [each.id for each in EXPERIMENTS if (DOCS / "results" / f"{each.owner.id}.json").exists()]


@cache
def quoted_today() -> dict[str, str]:
    """All that pages may quote; several tests read it."""
    return quotations(DOCS / "results")


@pytest.fixture(autouse=True)
def _committed(monkeypatch):
    """What is tested here may be edited and not yet committed."""
    monkeypatch.setattr(environment, "ROOT", Path("/"))


def stored(identity: str, store: Store, but: int = 0, code: str | None = None) -> list[StoredCell]:
    """Store the smoke cells of an experiment, all but the last few."""
    experiment = find(identity)
    cells = smoke_cells(experiment)
    entries = [
        replace(
            as_stored(task, record, code or code_digest(experiment)),
            seconds=9.0, cpu_seconds=2.0, finished=f"2026-11-{min(day, 28):02}T10:00:00+00:00",
        )
        for day, (task, record) in enumerate(cells[: len(cells) - but], 1)
    ]  # fmt: skip
    for entry in entries:
        store.save(entry, SMOKE)
    return entries


@pytest.mark.slow
@pytest.mark.parametrize("identity", ["K6", *(pytest.param(i, marks=pytest.mark.full) for i in ALL if i != "K6")])
def test_what_is_published_says_what_the_store_says(identity, tmp_path):
    experiment, store = find(identity), Store(tmp_path / "results")
    stored(identity, store)
    publish(experiment, SMOKE, store, tmp_path)
    ((read, about, frame),) = published([experiment], tmp_path)
    assert read is experiment
    whole = to_frame(entry for entry in store.entries(identity, SMOKE) if isinstance(entry, StoredCell))
    order = [task.cell.key for task in experiment.tasks(SMOKE)]
    whole = whole.set_index("key").loc[order].reset_index()
    assert experiment.verdicts(frame) == experiment.verdicts(whole)
    assert about.cells == about.planned == len(order) == len(frame)
    ours, theirs = tmp_path / "ours.svg", tmp_path / "theirs.svg"
    parts = [whole[whole["data"] == name] for name in whole["data"].unique()] if identity in BY_DATA else [whole]
    parts = [] if identity in IN_WORDS else parts
    for (name, figure), part in zip(results_figures([experiment], tmp_path), parts, strict=True):
        assert re.fullmatch(rf"{identity}(-[a-z0-9-]+)?\.svg", name)
        write_svg(figure, ours)
        write_svg(experiment.plot(part), theirs)
        assert ours.read_bytes() == theirs.read_bytes()


def test_the_description_tells_duration_days_and_what_failed(tmp_path):
    store = Store(tmp_path / "results")
    entries = stored("K9", store, but=1)
    last = replace(
        entries[-1], cell=find("K9").tasks(SMOKE)[-1].cell, state=CellState.FAILED, reason="broken", record={}
    )
    store.save(last, SMOKE)
    about = publish(find("K9"), SMOKE, store, tmp_path)
    assert (about.cells, about.planned, about.replicates) == (len(entries), len(entries) + 1, 1)
    assert about.without == {"broken": 1}
    assert about.seconds == 2.0 * len(entries)
    assert about.computed == ("2026-11-01", f"2026-11-{len(entries):02}")
    words = paper_tables.runs_table(published([find("K9")], tmp_path))
    assert f"[K9](../results/K9.parquet) | {len(entries)} of {len(entries) + 1}; 1 broken | smoke | 1 | 18 s |" in words


@pytest.mark.slow
def test_printed_numbers_are_counted_once():
    sentence = paper_tables.counts_sentence(kuo.PAPER, published(EXPERIMENTS, DOCS / "results"))
    total, *parts = map(int, re.findall(r"\b\d+\b", re.sub(r" \(.*?\)|of \d+ (?=errors|counts)", "", sentence)))
    assert total == sum(parts) == len(kuo.PAPER.numbers)
    nothing = paper_tables.counts_sentence(kuo.PAPER, [])
    assert nothing == f"All {total} printed numbers have nothing of the kind beside them."


def test_parts_and_results_of_other_sources_are_not_published(tmp_path):
    store = Store(tmp_path / "results")
    with pytest.raises(ExperimentError, match="K9 lacks all cells of profile smoke"):
        publish(find("K9"), SMOKE, store, tmp_path)
    stored("K9", store, but=2)
    with pytest.raises(ExperimentError, match=r"K9 lacks 2 cells of profile smoke.* run K9 --profile smoke"):
        publish(find("K9"), SMOKE, store, tmp_path)
    entries = stored("K9", store, code="older")
    with pytest.raises(ExperimentError, match=f"{len(entries)} cells of K9 come from other sources"):
        publish(find("K9"), SMOKE, store, tmp_path)
    assert not list(tmp_path.glob("K9.*"))


def test_results_of_uncommitted_sources_are_not_published(tmp_path, monkeypatch):
    """The commit that a description names has the sources; pages and results are no sources."""
    here, store = tmp_path / "checkout", Store(tmp_path / "results")
    (here / "docs").mkdir(parents=True)
    stored("K9", store)
    monkeypatch.setattr(environment, "ROOT", here)
    for name in ("a.py", "docs/page.md", "README.md"):
        (here / name).write_text("1\n")
    git = ("git", "-C", str(here), "-c", "user.name=n", "-c", "user.email=e")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "all")):
        subprocess.run([*git, *command], check=True)
    for name in ("docs/page.md", "README.md"):
        (here / name).write_text("2\n")
    assert re.fullmatch("commit [0-9a-f]{12}", publish(find("K9"), SMOKE, store, tmp_path).sources)
    (tmp_path / "K9.json").unlink()
    for name in ("a.py", "b.py"):
        (here / name).write_text("2\n")
        with pytest.raises(ExperimentError, match=rf"K9 is not published: sources differ .*\({name}\); commit"):
            publish(find("K9"), SMOKE, store, tmp_path)
        (here / name).unlink()
        subprocess.run([*git, "checkout", "-q", "."], check=True)
    assert not (tmp_path / "K9.json").exists()


@pytest.mark.slow
def test_the_command_writes_results_figures_and_quotations(tmp_path):
    stored("K9", Store(tmp_path / "results"))
    page = tmp_path / "page.md"
    page.write_text("<!-- quoted: kuo2018.runs -->\n\n<!-- / -->\n", encoding="utf-8")
    command = ["publish", "K9", "--profile", "smoke", "--out", f"{tmp_path / 'results'}", "--docs", f"{tmp_path}"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "results").glob("K9.*")} == {"K9.parquet", "K9.json"}
    assert "| [K9](../results/K9.parquet) | 10 | smoke |" in page.read_text("utf-8")
    assert [path.name for path in (tmp_path / "figures" / "results").iterdir()] == ["K9.svg"]


@pytest.mark.slow
@pytest.mark.parametrize("identity", PUBLISHED)
def test_the_figures_in_docs_are_of_today(identity, tmp_path):
    """After a change of how they are drawn: python -m pgsr.experiments publish. Panels have a mark or say why not."""
    for name, figure in results_figures([find(identity)], DOCS / "results"):
        assert len(figure.axes) <= MOST_PANELS
        assert figure.get_figwidth() <= WIDEST
        for axes in filter(lambda each: each.axison, figure.axes):
            marks = [*axes.patches, *axes.collections, *axes.texts]
            assert marks or any(np.size(line.get_xdata()) for line in axes.lines), name
        write_svg(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes() == (DOCS / "figures" / "results" / name).read_bytes(), name


@pytest.mark.full
@pytest.mark.skipif(not FULL, reason="takes minutes")
@pytest.mark.parametrize("identity", [identity for identity in PUBLISHED if find(identity).owner.id == identity])
def test_published_cells_are_what_this_version_computes(identity):
    """One of the quicker half of the cells of every arm, another one at every commit, to nine digits; seconds apart."""
    ((experiment, about, frame),) = published([find(identity)], DOCS / "results")
    if experiment.alone:
        pytest.skip("seconds are its result")
    computed = {}
    for task in experiment.available(Profile(about.profile))[0].tasks(Profile(about.profile)):
        computed[place(as_row(task, {}), task)] = task
    if not computed:
        pytest.skip("its data are not here")
    some, lot = next(iter(computed.values())), rng_of(209)
    for _, cells in frame.groupby("arm"):
        rows = [row for _, row in cells[cells["cpu_seconds"] <= cells["cpu_seconds"].median()].iterrows()]
        there = [(row, task) for row in rows if (task := computed.get(place(row, some)))]
        if not there:
            continue
        row, task = there[lot.integers(len(there))]
        new = as_row(task, task.compute())
        for name in set(new.index) & set(frame.columns) - {"seconds", "cpu_seconds", "peak_mb"}:
            if not name.endswith("_seconds"):
                ours, theirs = (
                    pd.Series(np.ravel(each).tolist()).replace({None: np.nan}) for each in (new[name], row[name])
                )
                of = f"{task.cell.key}: {name}"
                pd.testing.assert_series_equal(ours, theirs, check_dtype=False, rtol=1e-9, obj=of)


def as_row(task: Task, record: dict) -> pd.Series:
    """The row of a store's table with what was computed."""
    return to_frame([as_stored(task, record)]).iloc[0]


def place(row: pd.Series, task: Task) -> tuple:
    """The cell of a row, by the names of free parameters that a task has."""
    free = (name for name, _ in task.cell.parameters)
    return tuple(str(row.get(name)) for name in ("data", "arm", "epsilon_exact", "replicate", *free))


MOST_PANELS, WIDEST = 16, 11.5
"""Of a figure, so that it can be read at the width of a page; the width in inches."""


@pytest.mark.slow
@pytest.mark.parametrize("identity", PUBLISHED)
def test_every_published_experiment_has_a_verdict(identity):
    ((experiment, _, frame),) = published([find(identity)], DOCS / "results")
    assert experiment.verdicts(frame)


def test_all_errors_of_the_field_in_docs_are_those_of_the_results(tmp_path):
    """After a change of either: python -m pgsr.experiments publish."""
    ((_, _, frame),) = published([find("B1")], DOCS / "results")
    written = benchmark_tables.write_errors(frame, tmp_path)
    assert written.read_bytes() == (DOCS / "results" / written.name).read_bytes()


@pytest.mark.slow
def test_what_is_shown_on_the_screen_is_of_the_results(tmp_path):
    """After a change of either: python -m pgsr.experiments publish."""
    screen.write_shown(published(EXPERIMENTS, DOCS / "results"), tmp_path)
    assert (tmp_path / screen.FILE).read_bytes() == (DOCS / "results" / screen.FILE).read_bytes()


@pytest.mark.slow
def test_numbers_that_pages_quote_are_those_of_the_results():
    """After a change of either: python -m pgsr.experiments publish."""
    values, quoting = quoted_today(), {}
    for page in pages(DOCS):
        text = page.read_text("utf-8")
        assert rewritten(text, values) == text, page.name
        quoting[page.stem] = len(MARK.findall(text))
        assert quoting[page.stem] == text.count("<!-- quoted:") == text.count("<!-- / -->")
        assert not re.search(r"^ *<!--.*-->.", text, re.MULTILINE), "a comment at the start of a line ends a paragraph"
    assert all(quoting[name] for name in ("methods", "benchmarks", "kuo2018", "choose_a_mechanism", "field")), quoting
    quoted = {name for page in pages(DOCS) for _, name, *_ in MARK.findall(page.read_text("utf-8"))}
    assert values.keys() <= quoted, "computed for no page"


@pytest.mark.slow
def test_a_number_that_differs_is_written_anew_and_one_of_no_result_refused():
    page = "M_H takes <!-- quoted: peers.ours -->0.06 s<!-- / --> there.\n"
    values = quoted_today()
    assert rewritten(page, values) == page.replace("0.06 s", values["peers.ours"]) != page
    with pytest.raises(ExperimentError, match=r"quotes 'peers\.nowhere', which is not among .*K2\.taxi"):
        rewritten(page.replace("ours", "nowhere"), {"K2.taxi": "490 million"})


def test_the_files_of_results_are_those_of_experiments_and_small():
    records = (history.FILE, peers.FILE, formulations.FILE, by_hand.FILE, library.ROWS)
    of_no_experiment = (*records, library.TRAPS, benchmark_tables.ERRORS_FILE, screen.FILE, "compare.parquet")
    files = [path for path in (DOCS / "results").iterdir() if path.name not in of_no_experiment]
    assert len(files) == 2 * len({find(identity).owner.id for identity in PUBLISHED})
    assert sum(path.stat().st_size for path in files) < 2e6
