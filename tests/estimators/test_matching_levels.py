"""Matching with sizes per level: a twin group by group, and what every release has."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of, scale

from pgsr import CountOfCounts, Hierarchy, Status, View
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import isotonic_l1
from pgsr.estimators import Matching, Merge
from pgsr.estimators.matching.levels import merged
from pgsr.estimators.matching.precisions import GivenPrecisions
from pgsr.estimators.matching.runs import Runs
from pgsr.models import TransportFlow
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

MIDDLE = Matching(IsotonicFit(optimum="midpoint"))
TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(3) for j in range(4)])


def measured(seed: int, sizes: tuple[int, ...], view: View = View.CUMULATIVE, totals: str = "regions") -> Measurement:
    generator = rng_of(41, seed)
    rows = np.zeros((12, max(sizes) + 1), np.int64)
    for row in rows:
        n = generator.integers(0, 60)
        np.add.at(row, np.minimum(generator.geometric(0.3, n), max(sizes)), 1)
    noise = Geometric(view, 2, totals=totals, max_sizes=sizes)
    return noise.measure(CountOfCounts(TREE, rows, "d"), Seeded(f"sizes {seed}"))


METHODS = [
    MIDDLE,
    Matching(),
    Matching(IsotonicFit(cumulative_norm=2), merge=Merge.AVERAGE),
    Matching(IsotonicFit(optimum="largest", min_size=0), matcher=TransportFlow()),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_tables_add_up_have_the_public_totals_and_are_counted_from_groups(method):
    for seed, sizes in enumerate([(30, 12, 4), (30, 30, 4), (30, 4, 4), (9, 5, 0), (1, 1, 0)]):
        noisy = measured(seed, sizes)
        found = method.apply(noisy)
        assert found.status is Status.FEASIBLE
        assert method.apply(noisy, 1e-9).status is Status.TIMED_OUT
        tables = found.estimate.as_counts
        assert found.estimate.sizes.max_sizes == sizes
        assert not any(found.certificate.violations.values())
        sizes_of = found.estimate.sizes
        for level in range(TREE.n_levels - 1):
            folded = sizes_of.folded(tables[level], level, View.COUNTS)
            assert np.array_equal(folded, sizes_of.children_sums(tables, level))
        for level, table in enumerate(tables):
            assert table.min() >= 0
            assert np.array_equal(table.sum(axis=1), noisy.region_totals[TREE.level(level)])


def test_equals_a_twin_group_by_group():
    """Every group is an entry of a list here, matched in the order of its size; merged with exact weights."""
    compared = 0
    for seed in range(scale(6, 60)):
        sizes = [(15, 6, 3), (15, 15, 2)][seed % 2]
        noisy = measured(100 + seed, sizes)
        alone = MIDDLE.alone(noisy)
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
    root = Runs.of_fit(np.array([[0, 4, 0, 0, 0, 2, 0, 2]]), Fraction(1))
    below = Runs.of_fit(np.array([[0, 2, 2], [0, 2, 2]]), Fraction(1))
    found = merged(root, below, tree, 1, 2)
    assert [sizes_of(found, child) for child in (0, 1)] == [[1, 1, 5, 7]] * 2
    assert [found.precision.exact(run) for run in np.flatnonzero(found.size == 7)] == [root.precision.exact(2)] * 2
    assert all(found.precision.exact(run) > root.precision.exact(0) for run in np.flatnonzero(found.size == 1))


def as_lists(runs: Runs) -> list[list[tuple[int, Fraction]]]:
    """The size and precision of every group, region by region."""
    found: list[list[tuple[int, Fraction]]] = [[] for _ in range(runs.n_regions)]
    for run, (owner, size, count) in enumerate(zip(runs.owner, runs.size, runs.count, strict=True)):
        found[owner] += [(int(size), runs.precision.exact(run))] * int(count)
    return found


def runs_of(state: list[list[tuple[int, Fraction]]], like: Runs) -> Runs:
    """The runs of such lists."""
    flat = Counter((owner, *group) for owner, groups in enumerate(state) for group in groups)
    owner, size, precision = zip(*sorted(flat), strict=True)
    count = np.array([flat[key] for key in sorted(flat)])
    return Runs(np.array(owner), np.array(size), count, GivenPrecisions.of(precision), like.n_regions)


def sizes_of(runs: Runs, region: int) -> list[int]:
    here = runs.owner == region
    return np.repeat(runs.size[here], runs.count[here]).tolist()


def fitted_twin(noisy: Measurement, level: int) -> Runs:
    """Every region's fit by the isotonic regression of vectors."""
    totals, table = noisy.region_totals[TREE.level(level)], noisy.tables[level]
    counts = []
    for row, groups in zip(table, totals, strict=True):
        low, high = (isotonic_l1(row[:-1].astype(np.int64), 0, int(groups), which) for which in ("smallest", "largest"))
        counts.append(np.diff([*np.rint((low + high) / 2).astype(int), groups], prepend=0))
    return Runs.of_fit(np.array(counts), noisy.law(TREE.level(level).start).variance_bound)
