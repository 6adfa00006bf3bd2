"""Noise, solution and answer of a nation in parts, against the whole in memory."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from pgsr import Geometric, Secure, Seeded, View
from pgsr.accounting.spending import Ledger
from pgsr.algorithms.m_h_levels import LevelProblem, LevelTreeProjection, StreamedLevelTreeProjection, measure
from pgsr.counts_by_level import CountsByLevel
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ArgumentError, BudgetError, ProblemError, TableError
from pgsr.hierarchy import Hierarchy
from pgsr.parallel import DaskMap
from pgsr.partitions import Engine, ParquetFolder

HERE = Engine(map, attempts=1)
SIZES = {"one drop": (40,) * 7 + (7,), "drops above and below": (60, 60, 40, 40, 20, 9, 9, 3)}


def nation(sizes) -> CensusBlocks:
    return CensusBlocks(blocks=3_200, groups=60_000, max_sizes=sizes)


def measured(tmp_path, sizes, engine=HERE):
    data, folder = nation(sizes), ParquetFolder(str(tmp_path / "nation"))
    measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), engine)
    return data, folder


@pytest.mark.parametrize("name", SIZES)
def test_equals_the_whole(tmp_path, name):
    data, folder = measured(tmp_path, SIZES[name])
    streamed = StreamedLevelTreeProjection(HERE).solve(data, folder)
    assert streamed.optimal, streamed
    whole = joined(data, folder, "noisy")
    result = LevelTreeProjection().solve(LevelProblem(whole, total=60_000))
    assert result.optimal
    assert streamed.objective == result.certificate.objective
    assert streamed.n_cells == whole.n_cells
    answer = joined(data, folder, "counts")
    assert not any(part.any() for part in answer.missing())
    squares = sum(int(((a - b).astype(int) ** 2).sum()) for a, b in zip(answer.tables, whole.tables, strict=True))
    assert squares == result.certificate.objective
    assert answer.tables[0].sum() == 60_000


@pytest.mark.parametrize("totals_of", [3, 7])
def test_equals_the_whole_with_public_totals(tmp_path, totals_of):
    """Of the states, which stand at the top of the parts, and of the blocks."""
    data, folder = nation(SIZES["one drop"]), ParquetFolder(str(tmp_path))
    measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, totals_of=totals_of)
    streamed = StreamedLevelTreeProjection(HERE).solve(data, folder)
    assert streamed.optimal, streamed
    whole = joined(data, folder, "noisy")
    tree, totals = whole.hierarchy, np.full(whole.hierarchy.n_regions, -1)
    totals[tree.level(totals_of)] = np.concatenate([folder.read(key, f"totals-{totals_of}")[:, 0] for key in data.keys])
    exact = data.part("Ohio").tables[totals_of - 3].sum(axis=1)
    assert np.array_equal(folder.read("Ohio", f"totals-{totals_of}")[:, 0], exact)
    result = LevelTreeProjection().solve(LevelProblem(whole, totals=totals))
    assert result.optimal
    assert streamed.objective == result.certificate.objective
    answer = joined(data, folder, "counts")
    assert not any(part.any() for part in answer.missing())
    assert np.array_equal(answer.tables[totals_of].sum(axis=1), totals[tree.level(totals_of)])


def joined(data: CensusBlocks, folder: ParquetFolder, kind: str) -> CountsByLevel:
    """All parts as one hierarchy in memory."""
    first = data.upper.n_levels - 1
    tables = [folder.read("above", f"{kind}-{level}") for level in range(first)]
    names, parents, last = [str(r) for r in range(data.upper.n_regions)], data.upper.parent.tolist(), {}
    for number, key in enumerate(data.keys):
        last[key] = {0: data.upper.leaves.start + number}
    for level in range(first, len(data.max_sizes)):
        tables.append(np.concatenate([folder.read(key, f"{kind}-{level}") for key in data.keys]))
        if level == first:
            continue
        for key in data.keys:
            tree = data.tree(key)
            here = tree.level(level - first)
            for region in range(here.start, here.stop):
                last[key][region] = len(names)
                parents.append(last[key][int(tree.parent[region])])
                names.append(f"{key} {region}")
    return CountsByLevel(Hierarchy.from_parents(names, parents), tuple(tables))


@dataclass
class Failing:
    """A truth whose parts fail now and then, as a worker does that is killed."""

    data: CensusBlocks
    failures: dict = field(default_factory=dict)

    def __getattr__(self, name):
        return getattr(self.data, name)

    def part(self, key):
        if self.failures.get(key, 0):
            self.failures[key] -= 1
            raise OSError("the worker is gone")
        return self.data.part(key)


def test_a_part_that_is_tried_again_has_the_same_noise(tmp_path):
    data, calm = measured(tmp_path / "calm", SIZES["one drop"])
    failing, folder = Failing(data, {"Georgia": 2, "Ohio": 1}), ParquetFolder(str(tmp_path / "failing"))
    measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), Engine(map, attempts=3, wait=0))
    assert not any(failing.failures.values())
    for key in data.keys:
        for level in range(3, 8):
            assert np.array_equal(folder.read(key, f"noisy-{level}"), calm.read(key, f"noisy-{level}"))


def test_an_interrupted_run_goes_on_and_is_charged_once(tmp_path):
    data, ledger = nation(SIZES["one drop"]), Ledger(4)
    failing, folder = Failing(data, {"Ohio": 1}), ParquetFolder(str(tmp_path))
    with pytest.raises(OSError, match="worker is gone"):
        measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, ledger)
    done = [key for key in data.keys if folder.has(key, "noisy-7")]
    assert 0 < len(done) < 51
    before = folder.read(done[0], "noisy-7")
    asked = []
    failing.data = Watched(data, asked)
    measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE)
    assert sorted(asked) == sorted(set(data.keys) - set(done))
    assert np.array_equal(folder.read(done[0], "noisy-7"), before)
    with pytest.raises(BudgetError):
        measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, ledger)


@dataclass(frozen=True)
class Full:
    """A folder whose disk is full once, after some tables of Ohio."""

    folder: ParquetFolder
    mark: Path

    def __getattr__(self, name):
        return getattr(self.folder, name)

    def write(self, key, name, table):
        if (key, name) == ("Ohio", "noisy-5") and not self.mark.exists():
            self.mark.touch()
            raise OSError("no space left on device")
        self.folder.write(key, name, table)


def test_what_a_broken_attempt_wrote_is_not_measured_anew(tmp_path):
    """Under secure noise a second draw for the same table would be a second look at the data."""
    data, folder = nation(SIZES["one drop"]), ParquetFolder(str(tmp_path / "nation"))
    full = Full(folder, tmp_path / "full")
    with pytest.raises(OSError, match="no space left"):
        measure(data, full, Geometric(View.COUNTS, 4), Secure(), HERE)
    before = folder.read("Ohio", "noisy-4")
    measure(data, full, Geometric(View.COUNTS, 4), Secure(), HERE)
    assert np.array_equal(folder.read("Ohio", "noisy-4"), before)
    assert all(folder.has(key, "noisy-7") for key in data.keys)


@dataclass
class Watched:
    data: CensusBlocks
    asked: list

    def __getattr__(self, name):
        return getattr(self.data, name)

    def part(self, key):
        self.asked.append(key)
        return self.data.part(key)


@pytest.mark.slow
def test_threads_and_dask_give_the_same_integers(tmp_path):
    distributed = pytest.importorskip("distributed")
    data, folder = measured(tmp_path, SIZES["one drop"])
    expected = StreamedLevelTreeProjection(HERE).solve(data, folder)
    counts = folder.read("Ohio", "counts-7")
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        for engine in (Engine(), Engine(DaskMap(client))):
            other = ParquetFolder(str(tmp_path / "other"))
            measure(data, other, Geometric(View.COUNTS, 4), Seeded("s"), engine)
            found = StreamedLevelTreeProjection(engine).solve(data, other)
            assert (found.optimal, found.objective) == (True, expected.objective)
            assert np.array_equal(other.read("Ohio", "counts-7"), counts)


@dataclass
class Dying:
    """A truth that kills the process that asks for Ohio, once."""

    data: CensusBlocks
    mark: str

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.data, name)

    def part(self, key):
        if key == "Ohio" and not Path(self.mark).exists():
            Path(self.mark).touch()
            os._exit(1)
        return self.data.part(key)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_its_part_has_the_same_noise(tmp_path):
    distributed = pytest.importorskip("distributed")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    data, calm = measured(tmp_path / "calm", SIZES["one drop"])
    folder, dying = ParquetFolder(str(tmp_path / "killed")), Dying(data, str(tmp_path / "mark"))
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        measure(dying, folder, Geometric(View.COUNTS, 4), Seeded("s"), Engine(DaskMap(client)))
    assert Path(dying.mark).exists()
    for key in data.keys:
        assert np.array_equal(folder.read(key, "noisy-7"), calm.read(key, "noisy-7"))


def test_what_cannot_be_done_is_told(tmp_path):
    data, folder = measured(tmp_path, SIZES["one drop"])
    with pytest.raises(ProblemError, match="give a level from 3, that of the parts, to 7, the last"):
        measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, totals_of=1)
    with pytest.raises(ProblemError, match="root's total alone is public"):
        measure(data, folder, Geometric(View.COUNTS, 4, totals="root"), Seeded("s"), HERE, totals_of=3)
    other = CensusBlocks(blocks=3_200, groups=60_000, max_sizes=(40,) * 7 + (5,))
    with pytest.raises(ProblemError, match="measure into an empty folder"):
        StreamedLevelTreeProjection(HERE).solve(other, folder)
    with pytest.raises(TableError, match="cannot be read as a table of counts"):
        folder.read("Guam", "noisy-3")
    with pytest.raises(ArgumentError, match="part of a file's name"):
        folder.write("../Ohio", "noisy-3", np.zeros((1, 1), int))
    with pytest.raises(ArgumentError, match="is no place to run"):
        Engine.named("moon")
    with pytest.raises(ArgumentError, match="whole number from 1 up"):
        Engine(map, attempts=0)
