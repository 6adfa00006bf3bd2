"""Noise, solution and answer of a nation in parts, against the whole in memory."""

import os
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from made_measurements import measurement_of

from pgsr import View
from pgsr.algorithms.m_h_flow.part import FlowPart
from pgsr.algorithms.m_h_flow.solution import solve
from pgsr.data import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ArgumentError, BudgetError, MethodError, ProblemError, TableError
from pgsr.estimators import IsotonicTreeProjection
from pgsr.machine.parallel import DaskMap
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.nation import StreamedLevelTreeProjection, measure
from pgsr.nation.judge import judged
from pgsr.nation.layout import KINDS
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.laws.per_level import GeometricNoise

HERE = Engine(map, attempts=1)
GROUPS = 20_000
SIZES = {"one drop": (12,) * 7 + (7,), "drops above and below": (20, 20, 12, 12, 10, 9, 9, 3)}


def nation(sizes) -> CensusBlocks:
    return CensusBlocks(blocks=3_200, groups=GROUPS, max_sizes=sizes)


def measured(tmp_path, sizes, engine=HERE, view=View.COUNTS, totals_of=None):
    data, folder = nation(sizes), ParquetFolder(str(tmp_path / "nation"))
    measure(data, folder, Geometric(view, 4), Seeded("s"), engine, totals_of=totals_of)
    return data, folder


def in_memory(data, folder, view, totals_of):
    """The result of the method without parts, on what was written."""
    whole = joined(data, folder, KINDS[view])
    totals = None
    if totals_of is not None:
        totals = np.full(whole.hierarchy.n_regions, -1)
        of_parts = [folder.read(key, f"totals-{totals_of}")[:, 0] for key in data.keys]
        totals[whole.hierarchy.level(totals_of)] = np.concatenate(of_parts)
    tree, total, tables = whole.hierarchy, GROUPS if totals is None else None, whole.tables
    if view is View.CUMULATIVE:
        public = Totals.ROOT if totals is None else Totals.REGIONS
        known = np.array([GROUPS]) if totals is None else tree.sum_up(totals[tree.leaves])
        noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
        measurement = measurement_of(tree, view, whole.tables, 0, noise, public, known, False)
        tables = IsotonicTreeProjection(totals=public).stated(measurement).tables
    part = FlowPart.of(tree, tables, known=totals)
    counts, prices = solve(part, total)
    return counts, judged(part, counts, prices, total)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "totals_of", "name"),
    [
        (View.CUMULATIVE, None, "one drop"),
        (View.COUNTS, 3, "one drop"),
        (View.CUMULATIVE, 7, "drops above and below"),
        pytest.param(View.COUNTS, None, "drops above and below", marks=pytest.mark.full),
        pytest.param(View.COUNTS, 7, "one drop", marks=pytest.mark.full),
    ],
)
def test_equals_the_whole(tmp_path, view, totals_of, name):
    """With the root's total, with those of the states, which stand at the top of the parts, and with the blocks'."""
    data, folder = measured(tmp_path, SIZES[name], view=view, totals_of=totals_of)
    streamed = StreamedLevelTreeProjection(HERE, view).solve(data, folder)
    counts, outcome = in_memory(data, folder, view, totals_of)
    assert streamed.optimal, streamed
    assert outcome.optimal
    assert (streamed.objective, streamed.n_cells) == (outcome.objective, outcome.n_cells)
    answer = joined(data, folder, "counts")
    assert answer.counts().max_sizes == data.max_sizes, "non-negative, and adds up, or is refused"
    for ours, expected in zip(answer.tables, counts, strict=True):  # though other integers may be as near
        assert np.array_equal(ours, expected)
    assert answer.tables[0].sum() == GROUPS
    if totals_of is not None:
        exact = data.part("Ohio").tables[totals_of - 3].sum(axis=1)
        assert np.array_equal(folder.read("Ohio", f"totals-{totals_of}")[:, 0], exact)
        totals = np.concatenate([folder.read(key, f"totals-{totals_of}")[:, 0] for key in data.keys])
        assert np.array_equal(answer.tables[totals_of].sum(axis=1), totals)


def joined(data: CensusBlocks, folder: ParquetFolder, kind: str) -> Estimate:
    """All parts as one hierarchy in memory."""
    first = data.upper.n_levels - 1
    tables = [folder.read("above", f"{kind}-{level}") for level in range(first)]
    for level in range(first, len(data.max_sizes)):
        tables.append(np.concatenate([folder.read(key, f"{kind}-{level}") for key in data.keys]))
    return Estimate(whole_tree(data.blocks), View.COUNTS, tuple(tables))


@cache
def whole_tree(blocks: int) -> Hierarchy:
    """The hierarchies of all parts as one, which takes seconds; sizes and groups make no difference to it."""
    data = CensusBlocks(blocks)
    first = data.upper.n_levels - 1
    names, parents, last = [str(r) for r in range(data.upper.n_regions)], data.upper.parent.tolist(), {}
    for number, key in enumerate(data.keys):
        last[key] = {0: data.upper.leaves.start + number}
    for level in range(first + 1, len(data.max_sizes)):
        for key in data.keys:
            tree = data.tree(key)
            here = tree.level(level - first)
            for region in range(here.start, here.stop):
                last[key][region] = len(names)
                parents.append(last[key][int(tree.parent[region])])
                names.append(f"{key} {region}")
    return Hierarchy.from_parents(names, parents)


@dataclass
class Before:
    """What stands before a truth or a folder, and is like it but for its own methods."""

    behind: CensusBlocks | ParquetFolder

    def __getattr__(self, name):
        if name.startswith("__") or name == "behind":
            raise AttributeError(name)
        return getattr(self.behind, name)


@dataclass
class Failing(Before):
    """A truth whose parts fail now and then, as a worker does that is killed; it remembers who was asked for."""

    failures: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)

    def part(self, key):
        self.asked.append(key)
        if self.failures.get(key, 0):
            self.failures[key] -= 1
            raise OSError("the worker is gone")
        return self.behind.part(key)


def test_an_interrupted_run_goes_on_and_is_charged_once(tmp_path):
    data, ledger = nation(SIZES["one drop"]), Ledger(4)
    failing, folder = Failing(data, {"Ohio": 1}), ParquetFolder(str(tmp_path))
    with pytest.raises(OSError, match="worker is gone"):
        measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, ledger)
    done = [key for key in data.keys if folder.has(key, "noisy-7")]
    assert 0 < len(done) < 51
    before = folder.read(done[0], "noisy-7")
    failing.asked.clear()
    measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE)
    assert sorted(failing.asked) == sorted(set(data.keys) - set(done))
    assert np.array_equal(folder.read(done[0], "noisy-7"), before)
    with pytest.raises(BudgetError):
        measure(failing, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, ledger)


OTHERWISE = {
    "noise": (nation(SIZES["one drop"]), Geometric(View.COUNTS, 8), Seeded("s"), None),
    "data set": (CensusBlocks(3_200, SIZES["one drop"], GROUPS + 1), Geometric(View.COUNTS, 4), Seeded("s"), None),
    "sizes": (nation((12,) * 7 + (6,)), Geometric(View.COUNTS, 4), Seeded("s"), None),
    "seed": (nation(SIZES["one drop"]), Geometric(View.COUNTS, 4), Seeded("t"), None),
    "source": (nation(SIZES["one drop"]), Geometric(View.COUNTS, 4), Secure(), None),
    "totals": (nation(SIZES["one drop"]), Geometric(View.COUNTS, 4), Seeded("s"), 3),
}


def test_a_run_goes_on_as_it_was_begun_or_not_at_all(tmp_path):
    """Otherwise the states would be of two data sets, or have noise of two epsilons, and nothing would say so."""
    begun, folder = Failing(nation(SIZES["one drop"]), {"Ohio": 2}), ParquetFolder(str(tmp_path))
    with pytest.raises(OSError, match="worker is gone"):
        measure(begun, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE)
    for other, (data, noise, source, totals_of) in OTHERWISE.items():
        ledger = Ledger(8)
        with pytest.raises(ProblemError, match="or go on as it was begun"):
            measure(data, folder, noise, source, HERE, ledger, totals_of)
        assert ledger.left == Ledger(8).left, other
    assert not folder.has("Ohio", "noisy-7")
    with pytest.raises(OSError, match="worker is gone"):
        measure(begun, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE)
    measure(begun, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE)
    assert all(folder.has(key, "noisy-7") for key in begun.keys)


@dataclass
class Broken(Before):
    """A folder whose disk cannot be read, or is full, now and then: how often, by key and table."""

    failures: dict

    def read(self, key, name):
        self._fail(key, name)
        return self.behind.read(key, name)

    def write(self, key, name, table):
        self._fail(key, name)
        self.behind.write(key, name, table)

    def _fail(self, key, name):
        if self.failures.get((key, name), 0):
            self.failures[key, name] -= 1
            raise OSError("the disk is gone")


def test_what_a_broken_attempt_wrote_is_not_measured_anew(tmp_path):
    """Under secure noise a second draw for the same table would be a second look at the data."""
    data, folder = nation(SIZES["one drop"]), ParquetFolder(str(tmp_path / "nation"))
    full = Broken(folder, {("Ohio", "noisy-5"): 1})
    with pytest.raises(OSError, match="disk is gone"):
        measure(data, full, Geometric(View.COUNTS, 4), Secure(), HERE)
    before = folder.read("Ohio", "noisy-4")
    measure(data, full, Geometric(View.COUNTS, 4), Secure(), HERE)
    assert np.array_equal(folder.read("Ohio", "noisy-4"), before)
    assert all(folder.has(key, "noisy-7") for key in data.keys)


@pytest.mark.slow
@pytest.mark.parametrize("view", [View.CUMULATIVE, pytest.param(View.COUNTS, marks=pytest.mark.full)])
def test_an_interrupted_solve_goes_on_to_the_same_integers(tmp_path, view):
    """Where a table cannot be read or written the part is asked again, in the same run or in another."""
    data, folder = measured(tmp_path, SIZES["one drop"], view=view, totals_of=7)
    calm = StreamedLevelTreeProjection(HERE, view).solve(data, folder)
    before = joined(data, folder, "counts")
    broken = Broken(folder, {("Ohio", f"{KINDS[view]}-5"): 2, ("Ohio", "counts-6"): 1})
    with pytest.raises(OSError, match="disk is gone"):
        StreamedLevelTreeProjection(HERE, view).solve(data, broken)
    for key in data.keys:  # whatever it wrote until then is written anew
        for level in range(3, 8):
            folder.write(key, f"counts-{level}", folder.read(key, f"counts-{level}") - 1)
    found = StreamedLevelTreeProjection(Engine(map, attempts=3, wait=0), view).solve(data, broken)
    assert not any(broken.failures.values())
    assert (found.optimal, found.objective, found.passes) == (True, calm.objective, calm.passes)
    for ours, expected in zip(joined(data, folder, "counts").tables, before.tables, strict=True):
        assert np.array_equal(ours, expected)


@contextmanager
def by_dask():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield Engine(DaskMap(client))


@pytest.mark.full
@pytest.mark.parametrize("by", [by_dask, lambda: nullcontext(Engine())], ids=["dask", "threads"])
@pytest.mark.parametrize(("view", "totals_of"), [(View.COUNTS, None), (View.CUMULATIVE, None), (View.CUMULATIVE, 7)])
def test_threads_and_dask_give_the_same_integers(tmp_path, view, totals_of, by):
    data, folder = measured(tmp_path, SIZES["one drop"], HERE, view, totals_of)
    expected = StreamedLevelTreeProjection(HERE, view).solve(data, folder)
    before = joined(data, folder, "counts")
    with by() as engine:
        other = measured(tmp_path / "other", SIZES["one drop"], engine, view, totals_of)[1]
        found = StreamedLevelTreeProjection(engine, view).solve(data, other)
    assert (found.optimal, found.objective) == (True, expected.objective)
    for ours, same in zip(joined(data, other, "counts").tables, before.tables, strict=True):
        assert np.array_equal(ours, same)


@dataclass
class Dying(Before):
    """A truth, or a folder, that kills the process that asks for Ohio, once."""

    mark: str

    def part(self, key):
        self.die_once(key)
        return self.behind.part(key)

    def read(self, key, name):
        self.die_once(key)
        return self.behind.read(key, name)

    def die_once(self, key):
        if key == "Ohio" and not Path(self.mark).exists():
            Path(self.mark).touch()
            os._exit(1)


@pytest.mark.full
@pytest.mark.parametrize("view", KINDS)
def test_a_worker_that_is_killed_is_replaced_and_nothing_changes(tmp_path, view):
    """While it draws noise, and while it solves."""
    distributed = pytest.importorskip("distributed")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    data, folder = measured(tmp_path, SIZES["one drop"], HERE, view, 7)
    expected = StreamedLevelTreeProjection(HERE, view).solve(data, folder)
    other, marks = ParquetFolder(str(tmp_path / "killed")), [tmp_path / "drawing", tmp_path / "solving"]
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        engine = Engine(DaskMap(client))
        measure(Dying(data, str(marks[0])), other, Geometric(view, 4), Seeded("s"), engine, totals_of=7)
        found = StreamedLevelTreeProjection(engine, view).solve(data, Dying(other, str(marks[1])))
    assert all(mark.exists() for mark in marks)
    assert (found.optimal, found.objective) == (True, expected.objective)
    for table in (f"{KINDS[view]}-7", "counts-7"):
        assert all(np.array_equal(folder.read(key, table), other.read(key, table)) for key in data.keys)


def test_what_cannot_be_done_is_told(tmp_path):
    data, states = measured(tmp_path, SIZES["one drop"], view=View.CUMULATIVE, totals_of=3)
    counted = measured(tmp_path / "counts", SIZES["one drop"])[1]
    empty, other = ParquetFolder(str(tmp_path / "empty")), nation((12,) * 7 + (5,))
    noise, all_totals = Geometric(View.COUNTS, 4), Geometric(View.COUNTS, 4, totals="root")
    for error, says, call in (
        (ProblemError, "give a level from 3, that of the parts, to 7, the last",
         lambda: measure(data, empty, noise, Seeded("s"), HERE, totals_of=1)),
        (ProblemError, "root's total alone is public",
         lambda: measure(data, empty, all_totals, Seeded("s"), HERE, totals_of=3)),
        (MethodError, "for M_H or", lambda: StreamedLevelTreeProjection(HERE, View.RANKED)),
        (ProblemError, "totals_of=7, the last level, or without totals_of",
         lambda: StreamedLevelTreeProjection(HERE, View.CUMULATIVE).solve(data, states)),
        (ProblemError, "measure into an empty folder",
         lambda: StreamedLevelTreeProjection(HERE).solve(other, counted)),
        (TableError, "cannot be read as a table of counts", lambda: states.read("Guam", "cumulative-3")),
        (ArgumentError, "part of a file's name", lambda: empty.write("../Ohio", "noisy-3", np.zeros((1, 1), int))),
        (ArgumentError, "is no place to run", lambda: Engine.named("moon")),
        (ArgumentError, "whole number from 1 up", lambda: Engine(map, attempts=0)),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            call()
    empty.write("Ohio", "noisy-3", np.zeros((1, 13), np.int64))
    with pytest.raises(ProblemError, match="none that says how they were measured; measure into an empty folder"):
        measure(data, empty, noise, Seeded("s"), HERE)
    before = states.read("Ohio", "cumulative-7")
    measure(data, states, Geometric(View.CUMULATIVE, 4), Seeded("s"), HERE, totals_of=np.int64(3))
    assert np.array_equal(states.read("Ohio", "cumulative-7"), before), "a level by any kind of whole number"
