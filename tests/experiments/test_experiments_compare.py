"""The comparison of all variants: every one is there, rows stay in their sections, pages hold what tables hold."""

import re
import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, Result, Status, View
from pgsr.data import Split
from pgsr.errors import ArgumentError
from pgsr.experiments.benchmarks import compare as comparing
from pgsr.experiments.benchmarks.compare import (
    CompareExperiment,
    Data,
    VariantSection,
    compared,
    notes_text,
)
from pgsr.experiments.benchmarks.lanes import Lanes
from pgsr.experiments.benchmarks.variants import INTERFACES, KEYS, VARIANTS, NoisyVariants, Size, chosen
from pgsr.experiments.commands.comparison import compare_table
from pgsr.experiments.commands.complete import app
from pgsr.methods.catalogue import Use
from pgsr.methods.method import PostProcess
from pgsr.models.catalogue import SOLVERS as ALL_SOLVERS
from pgsr.noise import Measurement
from pgsr.privacy.laws.per_level import GeometricNoise

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 9, 4, 1], [0, 8, 5, 2]], "tiny")
DEEP = CountOfCounts(
    Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")]),
    [[0, 9, 4, 1, 0, 2, 1], [0, 8, 5, 2, 3, 0, 0], [2, 1, 7, 4, 4, 0, 0], [0, 30, 9, 5, 1, 1, 2]],
    "three levels",
)


SOLVER_LABELS = {repr(entry.method) for entry in ALL_SOLVERS}

SOLVERS_ALONE = (
    "M_H, totals, members",
    "M_H^r, totals, members",
    "M_c, L1",
    "M_c^r, L1",
    "M_H^r, fewer sizes below",
)
"""The variants that no method of pgsr solves."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(comparing._TRUTHS, (Data.CENSUS, Size.STATES), lambda: TRUTH)
    monkeypatch.setattr(CompareExperiment, "before", None)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.words.partition(":")[0])
@pytest.mark.parametrize("size", Size)
def test_every_variant_has_a_method_of_pgsr_first(variant, size: Size) -> None:
    arms = variant.arms(NoisyVariants(TRUTH, Fraction(1), "arms"), size)
    if list(Size).index(size) > list(Size).index(variant.largest) or (variant.state is None and size is Size.SMALL):
        assert not arms
        return
    solvers_alone = variant.words.startswith(SOLVERS_ALONE)
    assert bool(arms) is not (size is Size.FULL and solvers_alone)
    assert not arms or (arms[0][0] in SOLVER_LABELS) is solvers_alone
    assert len({label for label, *_ in arms}) == len(arms)
    few = ("releases", *(() if size is Size.SMALL else ("isotonic", "by_level")))
    if size is not Size.FULL and variant.key not in few and "cost tables" not in variant.words:
        assert {"Cvxpy", "Gurobi", "MathOpt"} <= {label.partition("(")[0] for label, *_ in arms}


def test_m_h_and_m_c_show_every_interface_to_a_solver_and_other_parts_one() -> None:
    noisy = NoisyVariants(TRUTH, Fraction(1), "interfaces")
    for variant in VARIANTS[:-1]:
        for size in (Size.SMALL, Size.STATES):
            asked = {label for label, *_ in variant.arms(noisy, size)}
            shown = [len(asked & set(interfaces)) for interfaces in INTERFACES]
            if variant.interfaces and size is Size.SMALL:
                assert shown == [3, 3]
            else:
                assert max(shown) <= 1, (variant.words, size, asked)
    assert [variant.words[:4] for variant in VARIANTS if variant.interfaces] == ["M_H:", "M_c:"]
    relaxed = next(variant for variant in VARIANTS if variant.words.startswith("M_H^r:"))
    squares = {label for label, *_ in relaxed.arms(noisy, Size.SMALL)}
    assert "Direct('HIGHS')" in squares, "the interface that takes the problem stands for its solver"
    known = {repr(entry.method) for entry in ALL_SOLVERS if Use.COMPARE in entry.uses}
    assert {label for interfaces in INTERFACES for label in interfaces} <= known


@pytest.mark.slow
def test_the_small_comparison_comes_first_and_notes_stand_once() -> None:
    """That all methods find one optimum is the agreement matrix's to show."""
    small = CompareExperiment(problems=("naive",)).before
    assert small is not None
    assert small.size is Size.SMALL
    assert small.before is CompareExperiment(data=Data.TAXI).before is None
    truth = small.truth()
    assert truth.counts.shape == (13, 11)
    with Lanes() as lanes:
        own = compared([(small, truth)], str, lanes)[0]
    text = notes_text([own, VariantSection("again", "elsewhere", own.table)])
    assert text.count("EMD: entities to add or remove") == 1


@pytest.mark.parametrize(("sizes", "epsilon"), [(None, Fraction(1)), ((6, 3, 1), Fraction(1, 10))])
def test_every_release_spends_exactly_the_total_on_what_it_reads(epsilon: Fraction, sizes) -> None:
    """Shares of all measured levels add up to epsilon, and the answer changes with the values of every one of them.

    Of split views by the root, thresholds come from the noisy root, which so is read before the post-process.
    """
    for label, noisy, post in VARIANTS[-1].arms(NoisyVariants(DEEP, epsilon, "spent", sizes), Size.STATES):
        assert isinstance(noisy, Measurement)
        assert isinstance(post, PostProcess)
        spent = [level.epsilon if isinstance(level, GeometricNoise) else Fraction(0) for level in noisy.noise]
        assert sum(spent) == epsilon, label
        shares = [own / epsilon for own in spent]
        said = "1/3 each" if set(shares) == {Fraction(1, 3)} else ", ".join(map(str, shares))
        assert label.endswith(f"  {said}"), label
        before = post.apply(noisy)
        if before.answer is None:
            assert before.status is Status.TOO_LARGE, before
            continue
        for level, own in enumerate(noisy.noise):
            if own is None or (level == 0 and any(isinstance(view, Split) for view in noisy.views)):
                continue
            after = post.apply(elsewhere(noisy, level))
            assert any(not np.array_equal(a, b) for a, b in zip(cells(before), cells(after), strict=True)), label


def cells(result: Result) -> list[np.ndarray]:
    return [np.asarray(table) for table in result.estimate.tables]


def elsewhere(noisy: Measurement, level: int) -> Measurement:
    """The same measurement with all groups of the level's regions at the smallest size, and none anywhere else."""
    here, cells = noisy.hierarchy.level(level), noisy.cells.copy()
    for region in range(here.start, here.stop):
        view, row = noisy.view_of(region), cells[noisy.first_cell[region] : noisy.first_cell[region + 1]]
        row[:] = 0 if view is View.RANKED else int(noisy.region_totals[region])
        if isinstance(view, Split):
            row[view.threshold :] = view.threshold
    return replace(noisy, cells=cells)


def test_a_problem_narrows_and_an_unknown_one_is_a_sentence() -> None:
    assert [variant.key for variant in chosen(["m_c"])] == ["m_c", "m_c"]
    assert [variant.key for variant in chosen([])] == [variant.key for variant in VARIANTS]
    with pytest.raises(ArgumentError, match="'m_x' is unknown; write one of naive, "):
        chosen(["m_x"])
    said = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "200"}).output
    assert all(key in said for key in KEYS)


@pytest.mark.slow
def test_rows_are_in_their_sections_and_files_hold_them_all(tiny: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", "--problem", "mean_consistency", "--problem", "releases", "--out",
                                    str(tmp_path)], env={"COLUMNS": "150"})  # fmt: skip
    assert done.exit_code == 0, done.output
    table = pd.read_parquet(next(tmp_path.glob("*.parquet")))
    releases = [arm[0] for arm in VARIANTS[-1].arms(NoisyVariants(TRUTH, Fraction(1), "x"), Size.STATES)]
    rows = table.to_dict("records")
    assert [row["method"] for row in rows if row["key"] == "releases"] == releases
    assert {row["key"] for row in rows} == {"mean_consistency", "releases"}
    optima = [row["objective"] for row in rows if row["status"] == "OPTIMAL"]
    assert optima == pytest.approx([optima[0]] * len(optima)), "one optimum of mean consistency"
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".parquet", ".png"}
    page = next(tmp_path.glob("*.html")).read_text()
    assert all(
        words in page for words in ("mean consistency", "regions add up", "Posterior", "At most 2 or 20 s per method")
    )
    noisy, asked = NoisyVariants(TRUTH, Fraction(1), "x"), ("mean_consistency", "releases")
    methods = [len(variant.arms(noisy, Size.STATES)) for variant in VARIANTS if variant.key in asked]
    told = re.findall(r"^ (\d) of 2 +[\d.]+ s +(\d+) methods +(.+)$", done.output, re.MULTILINE)
    words = [variant.words for variant in VARIANTS if variant.key in ("mean_consistency", "releases")]
    assert told == [(str(place), str(n), said) for place, (n, said) in enumerate(zip(methods, words, strict=True), 1)]
    assert done.output.index(told[0][2]) < done.output.index("Posterior()"), "a section is told when it ends"
    assert done.output.splitlines()[-1].startswith("mean consistency is proved and all proofs agree; pgsr is ")


@pytest.mark.slow
def test_the_page_of_ones_own_table_is_made_again_by_its_script(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "chosen", lambda keys: chosen(["mean_consistency"]))
    frame = {"Country": ["US"] * 9, "State": ["GA"] * 4 + ["MI"] * 5, "Household Size": [1, 1, 2, 5, 1, 2, 2, 3, 9]}
    pd.DataFrame(frame).to_csv(tmp_path / "homes.csv", index=False)
    compare_table(tmp_path / "homes.csv", "Country, State", "Household Size", 3, seed="my seed", out=tmp_path / "out")
    page, script = (next((tmp_path / "out").glob(ending)) for ending in ("*.html", "*.py"))
    first = page.read_text()
    assert "9 groups in 3 regions, sizes 0 to 3, epsilon 1" in first
    for said in ("For research, not for publication", "seed 'my seed'", "pgsr.read("):
        assert said in first
    page.unlink()
    runpy.run_path(str(script))
    optimum = r"MeanConsistency\(\).*?proved optimal.*?([\d.,]+)</td>"
    assert re.findall(optimum, page.read_text()) == re.findall(optimum, first) != []


def test_names_and_titles_say_what_is_compared() -> None:
    """The same table under two names would look like two results, so data of one size take no size."""
    with pytest.raises(ArgumentError, match="taxi has one size"):
        CompareExperiment(Data.TAXI, Size.FULL)
    assert CompareExperiment(Data.TAXI).name == "taxi-epsilon-1-seed-compare"
    assert CompareExperiment(size=Size.FULL).name == "census-full-epsilon-1-seed-compare"
    tenth = CompareExperiment(epsilon=Fraction(1, 10))
    assert tenth.title(TRUTH) == "29 households in 3 regions, sizes 0 to 3, epsilon 1/10"
    assert CompareExperiment(Data.FLIGHTS).title(TRUTH).startswith("29 pairs of aircraft and airport in 3 regions")
