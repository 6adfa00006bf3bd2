"""The summary that can be kept: means, their origin, and a page."""

import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from pgsr.experiments.engine.experiment import Cell, ExperimentError, Profile
from pgsr.experiments.engine.store import Entry, State, Store
from pgsr.experiments.ours import every_release as x2
from pgsr.experiments.report.summary import write_summary

KUO = {"emd": (40.0, 3.0, 1.0), "tail_10": (0.5, 0.25, 0.125)}
POSTERIOR = {"emd": (20.0, 4.0, 0.5), "tail_10": (0.1, 0.2, 0.3)}


def stored(root: Path) -> Store:
    """Store three replicates of two arms, whose errors are the numbers above plus -1, 0 and 1 hundredths of them."""
    store = Store(root)
    for arm, levels in ((x2.KUO, KUO), (x2.POSTERIOR, POSTERIOR)):
        for replicate in range(3):
            cell = Cell("X2", "town", Fraction(1), replicate, arm.label)
            record = {"levels": {m: [v * (1 + (replicate - 1) / 100) for v in vs] for m, vs in levels.items()}}
            store.save(Entry(cell, False, State.DONE, "", record, "code", 60, 2.0, 10**9), Profile.SMOKE)
    failed = Cell("X2", "town", Fraction(1), 3, x2.KUO.label)
    store.save(Entry(failed, False, State.FAILED, "no memory", {}, "code", 60, 2.0, 0), Profile.SMOKE)
    return store


def test_the_files_hold_the_means_and_what_made_them(tmp_path: Path) -> None:
    table, about, page = write_summary(x2.EXPERIMENT, Profile.SMOKE, stored(tmp_path / "in"), tmp_path / "out")
    frame = pd.read_parquet(table)
    assert len(frame) == 2 * 2 * 3
    for arm, levels in ((x2.KUO, KUO), (x2.POSTERIOR, POSTERIOR)):
        for metric, values in levels.items():
            rows = frame[(frame.arm == arm.label) & (frame.metric == metric)].sort_values("level")
            assert rows["mean"].tolist() == pytest.approx(values)
            assert rows["standard_error"].tolist() == pytest.approx([v / 100 / 3**0.5 for v in values])
            assert rows["replicates"].tolist() == [3, 3, 3]
    said = json.loads(about.read_text())
    assert (said["cells"], said["replicates_begun"], said["seconds"]) == (6, {"town": 3}, {"town": 12})
    assert said["versions"]["python"]
    assert "name" not in said["machine"], "no host name is published"
    lines = page.read_text().splitlines()
    assert "## town, epsilon 1" in lines
    assert "3 replicates." in lines
    assert "| release | root | level 1 | leaves |" in lines
    for arm, best in ((x2.KUO, [False, True, False]), (x2.POSTERIOR, [True, False, True])):
        (row,) = (line for line in lines if line.startswith(f"| {arm.label} |"))
        assert [cell.startswith(" **") for cell in row.split("|")[2:5]] == best
    assert any(line.startswith("- one setting, fixed beforehand") for line in lines)


def test_nothing_stored_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="run X2 --profile paper"):
        write_summary(x2.EXPERIMENT, Profile.PAPER, stored(tmp_path / "in"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
