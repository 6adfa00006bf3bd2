"""Matching with sizes per level: against matching with equal sizes, a twin group by group, and in parts."""

import numpy as np
import pytest
from instances import scale
from test_m_h_levels_streaming import HERE, joined, nation

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
from pgsr.algorithms import IsotonicFit, Matching
from pgsr.algorithms.isotonic import isotonic_l1
from pgsr.algorithms.m_h_levels import measure
from pgsr.algorithms.matching_levels import LevelMatching, StreamedLevelMatching
from pgsr.algorithms.matching_levels.runs import Runs, merged
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.errors import ProblemError
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.noise import measured_by_level, require_by_level
from pgsr.noise.measurement_by_level import MeasurementByLevel

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(3) for j in range(4)])
NOISE = Geometric(View.CUMULATIVE, 2)


def truth_of(seed: int, sizes: tuple[int, ...]) -> CountsByLevel:
    generator = np.random.default_rng([41, seed])
    rows = np.zeros((12, max(sizes) + 1), np.int64)
    for row in rows:
        n = generator.integers(0, 60)
        np.add.at(row, np.minimum(generator.geometric(0.3, n), max(sizes)), 1)
    return CountsByLevel.of(CountOfCounts(TREE, rows), sizes)


def test_where_all_sizes_are_equal_it_is_matching():
    for seed in range(8):
        truth = truth_of(seed, (9, 9, 9))
        same = NOISE.measure(CountOfCounts(TREE, truth.tables[-1], name="d"), Seeded(f"equal {seed}"))
        tables = tuple(same.matrix[here] for here in map(TREE.level, range(3)))
        laws, totals = (
            tuple(same.law(here.start) for here in map(TREE.level, range(3))),
            same.region_totals[TREE.leaves],
        )
        values = CountsByLevel(TREE, tables)
        noisy = MeasurementByLevel(values, View.CUMULATIVE, laws, int(totals.sum()), totals)
        known = Matching(IsotonicFit(optimum="midpoint")).apply(same).estimate
        found = LevelMatching().apply(noisy)
        assert np.array_equal(np.concatenate(found.counts.tables), known.values)
        assert not any(found.violations.values())


def test_tables_add_up_have_the_public_totals_and_are_counted_from_groups():
    for seed, sizes in enumerate([(30, 12, 4), (30, 30, 4), (30, 4, 4), (9, 5, 0), (1, 1, 0)]):
        noisy = measured_by_level(NOISE, truth_of(seed, sizes), Seeded(f"sizes {seed}"), "d")
        found = LevelMatching().apply(noisy)
        assert found.counts.max_sizes == sizes
        assert not any(found.violations.values())
        assert not any(part.any() for part in found.counts.missing())
        for table, groups in zip(found.counts.tables, noisy.totals_by_level(), strict=True):
            assert table.min() >= 0
            assert np.array_equal(table.sum(axis=1), groups)


def test_equals_a_twin_group_by_group():
    """Every group is an entry of a list here, matched in the order of its size; merged with exact weights."""
    compared = 0
    for seed in range(scale(6, 60)):
        sizes = [(15, 6, 3), (15, 15, 2)][seed % 2]
        noisy = measured_by_level(NOISE, truth_of(seed, sizes), Seeded(f"twin {seed}"), "d")
        alone = LevelMatching().alone(noisy)
        state = as_lists(alone[0])
        for level in (1, 2):
            below = as_lists(fitted_twin(noisy, level))
            assert below == as_lists(alone[level])
            children = [[*TREE.children(r)] for r in range(TREE.level(level - 1).start, TREE.level(level - 1).stop)]
            start, runs = TREE.level(level).start, runs_of(state, alone[level - 1])
            found = merged(runs, alone[level], TREE, level, sizes[level])
            for parent, own in zip(children, state, strict=True):
                # A least-cost matching: as far apart, group by group, as the sorted sizes are.
                y = sorted(min(size, sizes[level]) for child in parent for size, _ in below[child - start])
                z = sorted(size for child in parent for size in sizes_of(found, child - start))
                x = sorted(size for size, _ in own)
                assert len(x) == len(y) == len(z)
                for a, b, c in zip(x, y, z, strict=True):
                    assert min(a, b) <= c <= max(a, b)
                    assert c == a or b < sizes[level] or a <= b
                    compared += 1
            state = as_lists(found)
    assert compared > 2_000


def test_the_sizes_of_a_last_class_come_from_above():
    """Two states whose last class is "2 or more": precise noise keeps the nation's sizes 5 and 7, in proportion."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    root = Runs.of_fit(np.array([[0, 4, 0, 0, 0, 2, 0, 2]]), 1.0)
    below = Runs.of_fit(np.array([[0, 2, 2], [0, 2, 2]]), 1.0)
    found = merged(root, below, tree, 1, 2)
    assert [sizes_of(found, child) for child in (0, 1)] == [[1, 1, 5, 7]] * 2
    assert found.precision[found.size == 7].tolist() == [root.precision[-1]] * 2
    assert (found.precision[found.size == 1] > root.precision[0]).all()


def as_lists(runs: Runs) -> list[list[tuple[int, float]]]:
    """The size and precision of every group, region by region."""
    found: list[list[tuple[int, float]]] = [[] for _ in range(runs.n_regions)]
    for owner, size, count, precision in zip(runs.owner, runs.size, runs.count, runs.precision, strict=True):
        found[owner] += [(int(size), float(precision))] * int(count)
    return found


def runs_of(state: list[list[tuple[int, float]]], like: Runs) -> Runs:
    """The runs of such lists."""
    flat = [(owner, size, 1, 1 / precision) for owner, groups in enumerate(state) for size, precision in groups]
    owner, size, count, variance = (np.array(part) for part in zip(*flat, strict=True))
    return Runs.pooled(owner, size, count, variance, like.n_regions)


def sizes_of(runs: Runs, region: int) -> list[int]:
    here = runs.owner == region
    return np.repeat(runs.size[here], runs.count[here]).tolist()


def fitted_twin(noisy: MeasurementByLevel, level: int) -> Runs:
    """Every region's fit by the isotonic regression of vectors."""
    totals, table = noisy.totals_by_level()[level], noisy.values.tables[level]
    counts = []
    for row, groups in zip(table, totals, strict=True):
        low, high = (isotonic_l1(row[:-1].astype(np.int64), 0, int(groups), which) for which in ("smallest", "largest"))
        counts.append(np.diff([*np.rint((low + high) / 2).astype(int), groups], prepend=0))
    return Runs.of_fit(np.array(counts), float(noisy.laws[level].variance_bound))


SIZES = (12, 12, 12, 12, 8, 5, 5, 2)
BY_LEVEL = Geometric(View.CUMULATIVE, 4)


@pytest.mark.drawn(2, pool="a nation in parts, resumed and by threads")
@pytest.mark.parametrize("engine", [HERE, Engine()])
def test_a_nation_in_parts_equals_the_whole(tmp_path, engine):
    data, folder = nation(SIZES), ParquetFolder(str(tmp_path))
    measure(data, folder, BY_LEVEL, Seeded("s"), HERE, totals_of=7)
    found = StreamedLevelMatching(engine).release(data, folder, BY_LEVEL)
    assert not any(found.violations.values())
    answer, values = joined(data, folder, "counts"), joined(data, folder, "cumulative")
    assert found.n_cells == answer.n_cells
    totals = np.concatenate([folder.read(key, "totals-7")[:, 0] for key in data.keys])
    laws = tuple(require_by_level(BY_LEVEL, SIZES))
    whole = LevelMatching().apply(MeasurementByLevel(values, View.CUMULATIVE, laws, int(totals.sum()), totals)).counts
    for a, b in zip(answer.tables, whole.tables, strict=True):
        assert np.array_equal(a, b)


def test_what_cannot_be_done_is_told(tmp_path):
    truth = truth_of(0, (9, 5, 3))
    with pytest.raises(ProblemError, match=r"matching needs View\.CUMULATIVE"):
        LevelMatching().apply(measured_by_level(Geometric(View.COUNTS, 1), truth, Seeded("no"), "d"))
    with pytest.raises(ProblemError, match="matching needs every region's"):
        LevelMatching().apply(measured_by_level(Geometric(View.CUMULATIVE, 1, totals="root"), truth, Seeded("no"), "d"))
    data, folder = nation(SIZES), ParquetFolder(str(tmp_path))
    measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, totals_of=7)
    with pytest.raises(ProblemError, match="matching needs View"):
        StreamedLevelMatching(HERE).release(data, folder, Geometric(View.COUNTS, 4))
