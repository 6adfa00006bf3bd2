"""Coverage of national releases by stratum: sums, widths and the probability integral transform."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
from pgsr.errors import TooLargeError
from pgsr.experiments.__main__ import app
from pgsr.experiments.benchmarks import national_coverage
from pgsr.experiments.benchmarks.national_coverage import NationalCoverage, in_words, raw_half_width
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import Kind


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> CountOfCounts:
    tree = Hierarchy.from_paths([("US", f"S{i}", f"C{j}") for i in range(2) for j in range(3)])
    leaves = np.random.default_rng(3).poisson(30 * 0.7 ** np.arange(12), (6, 12))
    truth = CountOfCounts(tree, leaves, "small")
    monkeypatch.setitem(national_coverage.DATA, "small", lambda: truth)
    return truth


@pytest.mark.parametrize("kind", [Kind.M_H, Kind.POSTERIOR])
def test_every_cell_is_in_one_stratum_and_a_rerun_continues(
    small: CountOfCounts, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = NationalCoverage("small", kind, "1", releases=3, replicates=20)
    found = asked.measure(tmp_path)
    views, n, held, pit = (found[name].to_numpy() for name in ("view", "n", "held", "pit_0.9"))
    for view in set(views):
        assert n[views == view].sum() == 3 * small.counts.size
    assert ((held >= 0) & (held <= 1)).all()
    assert (~np.isnan(pit)).all() == (kind is Kind.POSTERIOR)
    monkeypatch.setattr(NationalCoverage, "_of_a_release", lambda *_: pytest.fail("released once more"))
    assert asked.measure(tmp_path).equals(found)


def test_errors_that_the_replicates_cannot_hold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of -40,000 was kept as 25,536, and intervals were narrower for it."""
    truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[500_000] * 4] * 2, "large")
    monkeypatch.setitem(national_coverage.DATA, "large", lambda: truth)
    with pytest.raises(TooLargeError, match="off by more than 32,767 groups in a cell; measure a larger epsilon"):
        NationalCoverage("large", Kind.M_H, "0.00005", releases=1, replicates=20).measure(tmp_path)


@pytest.mark.parametrize(("view", "measured"), [(View.COUNTS, View.COUNTS), (View.COUNTS, View.CUMULATIVE)])
def test_intervals_of_raw_noise_hold_ninety_percent(view: View, measured: View) -> None:
    truth = CountOfCounts(Hierarchy.from_parents(["US"], [-1]), np.full((1, 40_001), 9))
    noisy = Geometric(measured, "1/2").measure(truth, Seeded("width"))
    error = noisy.values[0] - (truth.counts if measured is View.COUNTS else np.cumsum(truth.counts))
    error = np.asarray(error).ravel()[:-1]
    if view is not measured:
        error = np.diff(error)
    law = noisy.law(0)
    assert isinstance(law, DoubleGeometric)
    half = raw_half_width(view, measured, float(law.scale))
    assert np.mean(np.abs(error) <= half) > 0.89
    assert np.mean(np.abs(error) <= half - 1) < 0.91


def test_the_transform_is_uniform_where_the_law_is_right() -> None:
    draw = np.random.default_rng(8)
    sd = draw.uniform(0.05, 4, 60_000)
    truth = np.rint(7 + draw.normal(size=len(sd)) * sd)
    away = national_coverage._transform(truth, np.full(len(sd), 7.0), sd, draw.random(len(sd)))
    for chance in national_coverage.CHANCES:
        assert np.mean(away <= chance) == pytest.approx(chance, abs=0.01)


def test_other_settings_have_other_files() -> None:
    asked = NationalCoverage("taxi", Kind.KUO, "1", releases=1, replicates=20)
    others = [
        NationalCoverage("taxi", Kind.KUO, "1", releases=1, replicates=60),
        NationalCoverage("taxi", Kind.KUO, "1", releases=1, replicates=20, shares=("1/12", "0", "11/12")),
        NationalCoverage("census", Kind.KUO, "1", releases=1, replicates=20),
        NationalCoverage("taxi", Kind.KUO, "1/2", releases=1, replicates=20),
    ]
    assert len({asked.name, *(other.name for other in others)}) == 5
    assert "/" not in others[1].name


def test_a_level_may_have_no_share(small: CountOfCounts, tmp_path: Path) -> None:
    found = NationalCoverage("small", Kind.POSTERIOR, "1", releases=1, shares=("1/12", "0", "11/12")).measure(tmp_path)
    assert len(found)


def test_the_printed_table_has_whole_numbers_of_cells_no_empty_column_and_its_words() -> None:
    keys = dict.fromkeys(national_coverage.KEYS, "some")
    row = keys | {"n": 12_023.0, "held": 0.91, "width": 4.5, "raw_width": np.nan, "pit_0.5": np.nan}
    table, words = in_words(pd.DataFrame([row, row | {"width": np.nan}]))
    assert list(table.columns) == [*national_coverage.KEYS, "n", "held", "width"]
    assert table["n"].tolist() == ["12,023"] * 2
    assert table["width"].tolist() == ["4.500", "-"]
    assert "held: " in words
    assert "90 %" in words
    assert "pit" not in words
    assert "raw_width" not in words
    assert "pit_p: " in in_words(pd.DataFrame([row | {"pit_0.5": 0.5}]))[1]


@pytest.mark.parametrize(("least", "printed"), [(5, "held: the share"), (10**9, "give more --releases")])
def test_the_command_explains_its_columns(small, least, printed, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("pgsr.experiments.commands.benchmarks.LEAST", least)
    monkeypatch.setattr(
        "pgsr.experiments.commands.benchmarks.judged", lambda found: national_coverage.judged(found, least)
    )
    asked = ["national-coverage", "--mechanism", "m_h", "--data", "small", "--releases", "1", "--replicates", "20"]
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert printed in " ".join(done.output.split())
    assert "pit" not in done.output
