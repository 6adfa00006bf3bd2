"""The three views: worked examples and round trips."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import rng_of, scale

from pgsr.data.views import counts_of_cumulative, counts_of_ranked, cumulative, ranked


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


def test_sensitivity_needs_a_cell_for_size_0() -> None:
    """A group that loses its last member would, without the cell, vanish and change every cumulative cell."""
    before, after = np.array([0, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 0])
    assert np.abs(cumulative(before) - cumulative(after)).sum() == 1
    assert np.abs(cumulative(before[1:]) - cumulative(after[1:])).sum() == 4
