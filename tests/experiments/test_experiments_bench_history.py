"""The history of benchmarks: rows are added, read back, and compared with the version before on the same machine."""

import pytest

from pgsr.errors import ArgumentError
from pgsr.experiments.benchmarks import history
from pgsr.experiments.benchmarks.history import TimedRow


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
    found = dict(history.quoted(rows))
    assert "| m_h | 3,198,195 unknowns | 1.000 | 0.50 |" in found["history"]
    assert "| new | 3,198,195 unknowns | 6.000 | 2.00 |" in found["history"]
    assert "`c3`" in found["history"]
    assert "`b2` before" in found["history"]
    assert found["history.mean"] == "1.00"  # the geometric mean of 1/2 and 2
    alone = dict(history.quoted(rows[:1]))
    assert alone["history.mean"] == "no ratio yet"
    assert "none before" in alone["history"]
    assert not dict(history.quoted([]))


def test_a_broken_history_names_its_line(tmp_path):
    path = tmp_path / history.FILE
    history.append(path, [_row("a1", 8.0)])
    with path.open("a") as file:
        file.write("2026-11-27,b2,CPU\n")
    with pytest.raises(ArgumentError, match="line 3"):
        history.read(path)
