"""Releases with sizes per level: made, read, checked, and their forgeries found."""

import json
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import FULL, rng_of
from made_tables import AT_REST_SPREAD, config, left, release, write_tables
from planned import planned
from test_release import BY_LEVEL as SIZES
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, PgsrError
from pgsr.cli import app
from pgsr.data.stand_in import geometric_law, stand_in_of
from pgsr.machine.isolation import run_isolated
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import ReleaseConfig, Terms, check, outline, read_release
from pgsr.release.folder import manifest
from pgsr.release.terms.plan import MOST_ROWS, Plan
from pgsr.release.terms.preflight import level_peak_bytes, require_arithmetic

OTHERS = ("m_c_dp", "kuo")
"""The mechanisms with sizes per level beside m_h; they measure cumulative counts."""


SHAPES = [(40, (20, 20, 3)), *[(20_000, (200, 50, 7))] * FULL, (4_000, (3_000, 1_000, 200))]
PEAKS = [
    *(("m_h", *shape) for shape in SHAPES),
    *((kind, 1_500, (1_000, 1_000, 1_000)) for kind in (OTHERS if FULL else ("kuo",))),
    *[("kuo", 20_000, (200, 50, 7))] * FULL,
]
"""The releases whose memory is measured: mechanism, number of blocks, largest sizes by level."""


@pytest.fixture(scope="module", params=("m_h", *OTHERS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A release of small confidential tables on three levels, by every mechanism that knows sizes per level."""
    folder = tmp_path_factory.mktemp(request.param)
    write_tables(folder)
    return request.param, release(config(folder, request.param, max_size=SIZES))


def test_a_release_is_made_checked_and_charged_once(made: tuple[str, Path]) -> None:
    """Cumulative counts change by one, counts by two; M_c^dp proves its second step, and kuo no distance."""
    kind, folder = made
    report = check(folder)
    assert report.passed, report
    assert left(folder.parent) == 99
    fields = json.loads((folder / "manifest.json").read_text())
    names = [(level["name"], level["max_size"]) for level in fields["levels"]]
    assert names == [("nation", 6), ("state", 3), ("county", 2)]
    changed = 2 if kind == "m_h" else 1
    assert [level["sensitivity"] for level in fields["levels"]] == [changed] * 3
    assert [level["noise_scale"] for level in fields["levels"]] == [str(3 * changed)] * 3
    assert fields["totals"]["public"] == ("regions" if kind == "kuo" else "root")
    certificate = fields["certificate"]
    assert certificate["objective"] == certificate["bound"]
    assert (certificate["bound"] is None) == (kind == "kuo")
    if kind == "m_c_dp":
        assert certificate["problem"] == "M_H of repaired counts with sizes per level"


def test_tables_end_at_the_last_class_of_every_level(made: tuple[str, Path]) -> None:
    """Noisy cumulative counts are near the number of groups there; distances are of what was measured."""
    kind, folder = made
    counts, noisy = pd.read_csv(folder / "counts.csv"), pd.read_parquet(folder / "measurement.parquet")
    last = counts[counts["size_class"].str.endswith("or more")].groupby("level")["size_class"].unique()
    assert [list(names) for names in last] == [["6 or more"], ["3 or more"], ["2 or more"]]
    assert noisy.groupby("level")["group_size"].max().tolist() == [6, 3, 2]
    readme = " ".join((folder / "README.txt").read_text().split())
    assert ("At the last class of a level it is the noisy number" in readme) == (kind != "m_h")
    read = read_release(folder)
    assert read.counts.max_sizes == read.measurement.sizes.max_sizes == (6, 3, 2)
    assert read.measurement.totals.tolist() == ([60, 30, 30, 15, 15, 15, 15] if kind == "kuo" else [60])
    values = np.concatenate([table.ravel() for table in read.measurement.tables])
    assert np.array_equal(values, noisy["noisy_count" if kind == "m_h" else "noisy_cumulative_count"])
    tables = [table if kind == "m_h" else np.cumsum(table, axis=1) for table in read.counts.tables]
    off = np.concatenate([table.ravel() for table in tables]) - values
    distance = json.loads((folder / "manifest.json").read_text())["distance"]
    assert distance == {"sum": np.abs(off).sum(), "squares": (off**2).sum()}


def test_a_larger_quantity_changes_as_many_cells_as_a_level_has() -> None:
    """An entity of quantity 5 changes 5 cumulative counts, of a level with 4 or 2 sizes these; the manifest says so."""
    terms = Terms("d", (9, 4, 2), "1", "kuo", max_quantity=5)
    levels = manifest.plan_fields(Plan.of(terms, [1, 2, 4]), True)["levels"]
    assert [level["sensitivity"] for level in levels] == [5, 4, 2]
    assert [level["noise_scale"] for level in levels] == ["15", "12", "6"]
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "MI", "b")])
    truth = CountOfCounts(tree, np.ones((2, 10), int)).folded((9, 4, 2))
    measured = planned(terms, 3).mechanism.measure(truth, Seeded("k"))
    laws = tuple(measured.law(region) for region in (0, 1, 3))
    assert laws == tuple(level.law for level in planned(terms, 3).levels)
    assert laws == tuple(DoubleGeometric(Fraction(s)) for s in (15, 12, 6))
    assert measured.totals.tolist() == [20, 10, 10, 10, 10]


def test_terms_that_do_not_go_with_sizes_per_level_are_refused(tmp_path: Path) -> None:
    """A sentence names the key and the remedy; nothing is read."""
    write_tables(tmp_path)
    refused = {
        "may only be merged": {"max_size": "{a = 3, b = 4, c = 2}"},
        "write these names": {"level_names": '["us", "state", "county"]'},
        "mechanism bottom_up has the same sizes .* write mechanism": {"mechanism": "bottom_up"},
        "mechanism posterior has the same sizes .* write mechanism": {"mechanism": "posterior"},
        "mechanism two_stage has the same sizes .* write mechanism": {"mechanism": "two_stage"},
        'the root\'s public number .* write totals = "root"': {"totals": '"noisy"'},
        'every region\'s public number .* write totals = "regions"': {"mechanism": "kuo", "totals": '"noisy"'},
        "leave threshold out, or write one max_size": {"mechanism": "kuo", "threshold": "2"},
        "give every level a share": {"shares": '["0", "1/2", "1/2"]'},
        "only mechanism posterior publishes intervals": {"intervals": '"9/10"'},
        "one per level": {"max_size": "{nation = 6, county = 2}"},
        "with one for every level": {"max_size": "{nation = 6, state = 0, county = 2}"},
    }
    for said, keys in refused.items():
        given = {"max_size": SIZES, **keys}
        with pytest.raises(PgsrError, match=said):
            outline(config(tmp_path, **given))


def test_names_of_sizes_are_those_of_the_columns_of_levels(tmp_path: Path) -> None:
    homes = pd.DataFrame({"group": [1, 2, 3], "nation": "US", "state": ["GA", "MI", "MI"]})
    pd.DataFrame({"entity": [1], "group": [1]}).to_parquet(tmp_path / "entities.parquet")
    homes.to_parquet(tmp_path / "groups.parquet")
    tables = '[entities]\nfile = "entities.parquet"\n[groups]\nfile = "groups.parquet"\nregion = ["nation", "state"]\n'
    assert config(tmp_path, max_size="{nation = 3, state = 3}", tables=tables).terms.max_sizes == (3, 3)
    with pytest.raises(PgsrError, match="their columns are nation, state"):
        config(tmp_path, max_size="{state = 3, nation = 3}", tables=tables)
    named = {"max_size": "{US = 3, states = 3}", "level_names": '["US", "states"]'}
    assert config(tmp_path, tables=tables, **named).terms.level_names == ("US", "states")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_blocks", "sizes"), PEAKS, ids=str)
def test_the_estimate_is_near_the_true_peak(kind: str, n_blocks: int, sizes: tuple[int, ...]) -> None:
    """The estimate is within 25 % of the peak of a process of its own, but for what one at rest takes."""
    outcome = run_isolated(partial(made_counts, kind, n_blocks, sizes))
    assert not outcome.error, outcome.error
    estimate = level_peak_bytes(*outcome.value)
    print(f"{kind}, {n_blocks} x {sizes}: estimate {estimate / 1e6:,.0f}, peak {outcome.peak_bytes / 1e6:,.0f}")
    assert abs(estimate - outcome.peak_bytes) <= max(outcome.peak_bytes / 4, AT_REST_SPREAD)


def made_counts(kind: str, n_blocks: int, sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """Release made counts; their regions, cells, and cells that are not 0."""
    n_states = max(2, n_blocks // 100)
    tree = Hierarchy.from_paths([("US", f"s{i % n_states}", f"b{i}") for i in range(n_blocks)])
    totals = rng_of(0).poisson(60, n_blocks).tolist()
    truth = stand_in_of(tree, totals, geometric_law(2.6, sizes[0]), max_sizes=sizes)
    filled = sum(int(np.count_nonzero(table)) for table in truth.tables)
    filled = truth.sizes.n_cells if truth.sizes.n_cells <= MOST_ROWS else filled  # rows of zeros stand in small tables
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        write_tables(Path(name))
        patch.setattr(ReleaseConfig, "count", lambda config, log=None: truth)
        patch.setattr(ReleaseConfig, "tree", lambda config: truth.hierarchy)
        largest = f"{{us = {sizes[0]}, state = {sizes[1]}, block = {sizes[2]}}}"
        release(config(Path(name), kind, max_size=largest))
    return tree.n_regions, truth.sizes.n_cells, filled


def test_numbers_beyond_64_bits_are_refused() -> None:
    terms = Terms("made", (1, 1), "1", "m_h")
    require_arithmetic(planned(terms, 2), 2**40)
    with pytest.raises(PgsrError, match="more than 64 bits; spend more epsilon"):
        require_arithmetic(planned(terms, 2), 2**50)


def test_the_command_line_plans_releases_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    config(tmp_path, max_size=SIZES)
    for command, said in (
        (["validate", "release.toml"], "county 2 or more"),
        (["plan", "release.toml", "--replicates", "2", "--mean-size", "2"], "GiB of memory"),
        (["release", "release.toml"], "release"),
        (["check", "release"], "proved optimal"),
    ):
        outcome = CliRunner().invoke(app, command, env={"COLUMNS": "300"})
        assert outcome.exit_code == 0, outcome.output
        assert said in " ".join(outcome.output.split()), outcome.output
