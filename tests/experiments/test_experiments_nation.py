"""The benchmark of a nation with sizes per level, small."""

import json
from collections.abc import Callable

import pytest
from rich.console import Console

from pgsr import View
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.benchmarks import nation
from pgsr.machine.isolation import TaskEnd
from pgsr.machine.partitions import ParquetFolder


@pytest.mark.slow
def test_a_small_nation_is_made_measured_and_released(tmp_path):
    data = CensusBlocks(blocks=3_200, groups=20_000, max_sizes=(12,) * 7 + (7,))
    folder = ParquetFolder(str(tmp_path))
    stored = nation.StoredNation(data, folder)
    assert stored.make() == "51 states"
    for made, kept in zip(data.part("Ohio").tables, stored.part("Ohio").tables, strict=True):
        assert (made == kept).all()
    ends = {
        "m_h": ("proved optimal, ", " passes"),
        "m_c_dp": ("proved optimal, ", " passes"),
        "matching": ("adds up, ", " cells"),
    }
    for name, (view, release) in nation.METHODS.items():
        measured = ParquetFolder(str(tmp_path / view.value))
        assert nation._measure(stored, measured, view, "2", "here").startswith("epsilon 2, with ")
        assert measured.has("Ohio", "totals-7") == (view is View.CUMULATIVE)
        result = release(stored, measured, "2", "here")
        assert result.startswith(ends[name][0])
        assert result.endswith(ends[name][1])


def test_an_unknown_method_is_told(tmp_path):
    with pytest.raises(ArgumentError, match="use one of m_h, m_c_dp, matching"):
        nation.main(Console(), tmp_path, [3_200], ["m_c"], "1", "here", None)


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
