"""The comparison of all variants: every one is there, rows stay in their sections, pages hold what tables hold."""

import io
import re
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, Result, Status
from pgsr.comparison.row import Row
from pgsr.errors import ArgumentError
from pgsr.experiments.__main__ import app
from pgsr.experiments.benchmarks import compare as comparing
from pgsr.experiments.benchmarks.compare import CompareExperiment, Data, Size
from pgsr.experiments.benchmarks.variant_figure import FAMILIES, family, figure
from pgsr.experiments.benchmarks.variants import KEYS, VARIANTS, Noisy, chosen
from pgsr.methods.method import Seconds

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 9, 4, 1], [0, 8, 5, 2]], "tiny")


SOLVERS_ALONE = ("M_H with every region's total and number of entities", "M_c L1: ", "M_H^r with sizes per level")
"""The variants that no method of pgsr solves."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(comparing._TRUTHS, (Data.CENSUS, Size.STATES), lambda: TRUTH)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.words.partition(":")[0])
@pytest.mark.parametrize("nation", [False, True])
def test_every_variant_has_a_method_of_pgsr_first(variant, nation: bool) -> None:
    arms = variant.arms(Noisy(TRUTH, Fraction(1), "arms"), nation)
    if nation and (variant.words.startswith(("H_g", "M_c^split")) or "cost tables" in variant.words):
        assert not arms
        return
    solvers_alone = variant.words.startswith(SOLVERS_ALONE)
    assert bool(arms) is not (nation and solvers_alone)
    assert not arms or (family(arms[0][0]) == next(iter(FAMILIES))) is not solvers_alone
    assert len({label for label, *_ in arms}) == len(arms)
    few = ("releases", "isotonic", "by_level")
    if not nation and variant.key not in few and "cost tables" not in variant.words:
        assert {"CVXPY", "Gurobi", "OR-tools"} <= {family(label) for label, *_ in arms}


def test_a_problem_narrows_and_an_unknown_one_is_a_sentence() -> None:
    assert [variant.key for variant in chosen(["m_c"])] == ["m_c", "m_c"]
    assert [variant.key for variant in chosen([])] == [variant.key for variant in VARIANTS]
    with pytest.raises(ArgumentError, match="'m_x' is unknown; write one of naive, "):
        chosen(["m_x"])


def test_rows_are_in_their_sections_and_files_hold_them_all(tiny: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", "--problem", "mean_consistency", "--problem", "releases", "--out",
                                    str(tmp_path)], env={"COLUMNS": "150"})  # fmt: skip
    assert done.exit_code == 0, done.output
    table = pd.read_parquet(next(tmp_path.glob("*.parquet")))
    releases = [arm[0] for arm in VARIANTS[-1].arms(Noisy(TRUTH, Fraction(1), "x"), False)]
    rows = table.to_dict("records")
    assert [row["method"] for row in rows if row["key"] == "releases"] == releases
    assert {row["key"] for row in rows} == {"mean_consistency", "releases"}
    optima = [row["objective"] for row in rows if row["status"] == "OPTIMAL"]
    assert optima == pytest.approx([optima[0]] * len(optima)), "one optimum of mean consistency"
    page = next(tmp_path.glob("*.html")).read_text()
    assert all(words in page for words in ("mean consistency: least squares", "Posterior()", "data:image/png;base64"))
    assert "Posterior()" in done.output
    assert "error" in done.output
    title = "29 households in 3 regions, sizes 0 to 3, epsilon 1"
    assert f"<title>{title}</title>" in page
    assert f"<h1>{title}</h1>" in page
    assert done.output.startswith(title)
    methods = [len(variant.arms(Noisy(TRUTH, Fraction(1), "x"), False)) for variant in VARIANTS if variant.key in
               ("mean_consistency", "releases")]  # fmt: skip
    told = re.findall(r"^ (\d) of 2 +[\d.]+ s +(\d+) methods +(.+)$", done.output, re.MULTILINE)
    words = [variant.words for variant in VARIANTS if variant.key in ("mean_consistency", "releases")]
    assert told == [(str(place), str(n), said) for place, (n, said) in enumerate(zip(methods, words, strict=True), 1)]
    assert done.output.index(told[-1][2]) < done.output.index("Posterior()"), "the lines come before the table"


@pytest.mark.drawn(1, pool="pages of a comparison")
def test_on_a_terminal_a_bar_shows_what_runs_and_how_much_is_left(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    lines: list[str] = []
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    CompareExperiment(problems=("mean_consistency",)).run(TRUTH, lines.append)
    assert not lines, "a line beside the bar"
    assert "mean consistency: MeanConsistency()" in terminal.getvalue()
    assert "mean consistency: Gurobi()" in terminal.getvalue()
    assert "0/5 [" in terminal.getvalue()
    assert "5/5 [" in terminal.getvalue()


def test_titles_are_words_with_the_noun_of_each_data_set() -> None:
    said = {data: CompareExperiment(data, epsilon=Fraction(1, 10)).title(TRUTH) for data in Data}
    assert said[Data.CENSUS] == "29 households in 3 regions, sizes 0 to 3, epsilon 1/10"
    assert said[Data.TAXI].startswith("29 pairs of taxi and neighbourhood in 3 regions")
    assert said[Data.FLIGHTS].startswith("29 pairs of aircraft and airport in 3 regions")


def test_the_figure_says_how_many_methods_have_no_answer() -> None:
    def row(status: Status) -> Row:
        return Row("Cvxpy('HIGHS')", "M_H", Result(status, seconds=Seconds(solve=1.0)), 0)

    rows = [row(Status.OPTIMAL), row(Status.TIMED_OUT), row(Status.TOO_LARGE)]
    drawn = figure("29 households", [("M_H: counts", rows), ("M_c: cumulative", rows[1:])])
    assert [words.get_text() for words in drawn.axes[0].texts] == ["2 without an answer", "no answer"]
    assert drawn.get_suptitle() == "29 households"


@pytest.mark.drawn(1, pool="pages of a comparison")
def test_arms_without_an_answer_are_explained_once(tiny: None) -> None:
    table = CompareExperiment(problems=("naive",)).run(TRUTH)
    console = Console(record=True, width=150)
    table.print(console)
    notes = table.notes()
    assert len(notes) == len(set(notes))
    assert all(note in console.export_text().replace("\n", " ") or len(note) > 140 for note in notes[1:])
    assert len(table.plot().axes) == 2


def test_keys_are_those_that_help_names() -> None:
    said = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "200"}).output
    assert all(key in said for key in KEYS)


def test_data_of_one_size_take_no_size() -> None:
    """The same table under two names would look like two results."""
    with pytest.raises(ArgumentError, match="taxi has one size"):
        CompareExperiment(Data.TAXI, Size.FULL)
    assert CompareExperiment(Data.TAXI).name == "taxi-epsilon-1-seed-compare"
    assert CompareExperiment(size=Size.FULL).name == "census-full-epsilon-1-seed-compare"
