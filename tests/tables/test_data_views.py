"""The three views: worked examples, round trips, and the sensitivity every privacy claim rests on."""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import rng_of, scale

from pgsr import View
from pgsr.data.views import counts_of_cumulative, counts_of_ranked, cumulative, ranked

LEAVES = 2
CAPS = (1, 3)

Database = tuple[tuple[int, int], ...]
"""(leaf, size) of every group, sorted. Groups and the leaf they lie in are public, their sizes are not."""


def test_worked_views() -> None:
    counts = np.array([0, 2, 1, 2])
    assert cumulative(counts).tolist() == [0, 2, 3, 5]
    assert ranked(counts).tolist() == [1, 1, 2, 3, 3]


@given(st.lists(st.integers(0, 20), min_size=2, max_size=12))
@settings(max_examples=scale(200, 5000), derandomize=True, deadline=None)
def test_round_trips(values: list[int]) -> None:
    counts = np.array(values)
    running, sizes = cumulative(counts), ranked(counts)
    assert np.array_equal(counts_of_cumulative(running), counts)
    assert np.array_equal(counts_of_ranked(sizes, len(counts) - 1), counts)
    assert (np.diff(running) >= 0).all()
    assert running[-1] == len(sizes) == counts.sum()
    assert (np.diff(sizes) >= 0).all()


def test_round_trips_of_noisy_values() -> None:
    """First differences invert running sums for any integers, also decreasing and negative ones."""
    values = rng_of(1).integers(-50, 50, (30, 9))
    assert np.array_equal(counts_of_cumulative(cumulative(values)), values)
    assert np.array_equal(cumulative(counts_of_cumulative(values)), values)


def test_empty_region() -> None:
    assert ranked(np.zeros(4, np.int64)).tolist() == []
    assert counts_of_ranked(np.array([], np.int64), 3).tolist() == [0, 0, 0, 0]


def test_sizes_above_the_cap_are_clipped() -> None:
    assert counts_of_ranked(np.array([0, 2, 3, 9, 1000]), 3).tolist() == [1, 0, 1, 3]


def test_distance_of_ranked_is_that_of_cumulative() -> None:
    """The sums |Hg - Hg'| and |Hc - Hc'| are one where the numbers of groups agree (earth mover's distance)."""
    rng = rng_of(2)
    for _ in range(scale(300, 20_000)):
        n_groups, max_size = int(rng.integers(0, 12)), int(rng.integers(1, 9))
        ours, theirs = np.sort(rng.integers(0, max_size + 1, (2, n_groups)), axis=1)
        difference = cumulative(counts_of_ranked(ours, max_size)) - cumulative(counts_of_ranked(theirs, max_size))
        assert np.abs(difference).sum() == np.abs(ours - theirs).sum()


def databases(max_groups: int, max_size: int) -> Iterator[Database]:
    """Every database with up to max_groups groups over two leaves, sizes 0..max_size."""
    cells = [(leaf, size) for leaf in range(LEAVES) for size in range(max_size + 1)]
    for n_groups in range(1, max_groups + 1):
        yield from combinations_with_replacement(cells, n_groups)


def neighbours(database: Database, max_size: int) -> Iterator[Database]:
    """The databases in which one entity more belongs to one of the groups; leaving is the same pair read backwards."""
    for i, (leaf, size) in enumerate(database):
        if size < max_size and (i == 0 or database[i - 1] != (leaf, size)):
            yield tuple(sorted((*database[:i], (leaf, size + 1), *database[i + 1 :])))


def views(database: Database, cap: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """All views of the regions (root, leaf 0, leaf 1), sizes above the cap counted as the cap."""
    leaves = [counts_of_ranked(np.array([s for leaf, s in database if leaf == r], int), cap) for r in range(LEAVES)]
    counts = np.array([leaves[0] + leaves[1], *leaves])
    return counts, cumulative(counts), [ranked(row) for row in counts]


@pytest.mark.parametrize("cap", CAPS)
def test_sensitivity_by_enumeration(cap: int) -> None:
    """One entity more or less changes every region's H by 2 at most, Hc and Hg by 1, and never a number of groups.

    Every neighbouring pair of small databases, sizes up to 6, so that groups also pass the cap. The bounds are reached,
    and at most one region of a level changes, which is what parallel composition needs.
    """
    max_groups, max_size = scale(4, 6), 6
    known: dict[Database, tuple[np.ndarray, np.ndarray, list[np.ndarray]]] = {}

    def of(database: Database) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        if database not in known:
            known[database] = views(database, cap)
        return known[database]

    n_pairs, largest = 0, np.zeros(3, int)
    for database in databases(max_groups, max_size):
        counts, running, sizes = of(database)
        for neighbour in neighbours(database, max_size):
            other_counts, other_running, other_sizes = of(neighbour)
            change = np.array(
                [
                    np.abs(counts - other_counts).sum(axis=1),
                    np.abs(running - other_running).sum(axis=1),
                    [np.abs(a - b).sum() for a, b in zip(sizes, other_sizes, strict=True)],
                ]
            )
            assert (counts.sum(axis=1) == other_counts.sum(axis=1)).all()
            assert (running[:, -1] == other_running[:, -1]).all()
            assert (change[:, 1:] > 0).any(axis=0).sum() <= 1
            largest = np.maximum(largest, change.max(axis=1))
            n_pairs += 1
    assert n_pairs >= scale(7_000, 100_000)
    assert largest.tolist() == [View.COUNTS.sensitivity, View.CUMULATIVE.sensitivity, View.RANKED.sensitivity]
    assert largest.tolist() == [2, 1, 1]


def test_sensitivity_needs_a_cell_for_size_0() -> None:
    """A group that loses its last member would, without the cell, vanish and change every cumulative cell."""
    before, after = np.array([0, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 0])
    assert np.abs(cumulative(before) - cumulative(after)).sum() == 1
    assert np.abs(cumulative(before[1:]) - cumulative(after[1:])).sum() == 4
