"""Measurements: truth plus the noise of the region's own stream, and nothing else of the truth."""

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data.views import cumulative, ranked
from pgsr.errors import ProblemError
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def small_truth() -> CountOfCounts:
    return CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]], name="small")


def vector(view: View, counts: np.ndarray) -> np.ndarray:
    return {View.COUNTS: np.copy, View.CUMULATIVE: cumulative, View.RANKED: ranked}[view](counts)


def noise_of(measurement: Measurement, truth: CountOfCounts) -> list[np.ndarray]:
    return [
        values - vector(measurement.view, counts) for values, counts in zip(measurement.rows, truth.counts, strict=True)
    ]


@pytest.mark.parametrize("view", View)
def test_values_are_truth_plus_the_noise_of_the_region(view: View) -> None:
    """Recomputed region by region: scale sensitivity / epsilon of the level, stream of data set, view, level, path."""
    rng = rng_of(51)
    source = Seeded("recomputed", 4)
    for i in range(scale(30, 500)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree, name=f"set {i}")
        weights = rng.integers(1, 5, tree.n_levels)
        shares = [Fraction(int(w), int(weights.sum())) for w in weights]
        measured = Geometric(view, epsilon="0.7", shares=shares).measure(truth, source)
        assert measured.epsilon == tuple(Fraction(7, 10) * share for share in shares)
        for region, path in enumerate(tree.paths):
            level = len(path) - 1
            expected = vector(view, truth.counts[region])
            law = DoubleGeometric(view.sensitivity / measured.epsilon[level])
            law.add_to(expected, source.stream(StreamId(truth.name, view.value, level, path)))
            assert np.array_equal(measured.row(region), expected)
            assert np.asarray(measured.row(region)).dtype == np.int64


def test_golden_measurement() -> None:
    """A change of these numbers changes every published experiment."""
    counts = Geometric(View.COUNTS, epsilon="1").measure(small_truth(), Seeded("golden"))
    assert counts.matrix.tolist() == [[29, 6, 5, -1], [-2, 5, -2, 2], [2, 0, 7, -4]]
    running = Geometric(View.CUMULATIVE, epsilon="1/2", shares=("1/4", "3/4")).measure(
        small_truth(), Seeded("golden", 2)
    )
    assert running.matrix.tolist() == [[2, 3, -15, 12], [1, -3, 2, 10], [3, 2, 2, 2]]
    sizes = Geometric(View.RANKED, epsilon=0.5).measure(small_truth(), Seeded(7))
    assert [row.tolist() for row in sizes.rows] == [[-1, -3, -2, -26, 5, 1], [2, 1, 2], [1, -7, 11]]


def test_epsilon_scales_the_same_draws() -> None:
    """The uniform numbers are those of the stream: a smaller epsilon never makes a draw smaller or turns its sign."""
    truth = random_truth(rng_of(54), TREE, max_size=300)
    loud, quiet = (Geometric(View.COUNTS, epsilon=e).measure(truth, Seeded("key")).matrix for e in ("0.1", "1"))
    loud, quiet = loud - truth.counts, quiet - truth.counts
    assert (np.abs(loud) >= np.abs(quiet)).all()
    assert (loud * quiet >= 0).all()
    assert (loud != quiet).any()


def test_padded_regions_are_not_measured() -> None:
    """A short branch is measured once, at its deepest copy; the copies above it would be noise on the same groups."""
    tree = Hierarchy.from_paths([("a", "b"), ("a", "c", "d"), ("a", "c", "e")], pad_ragged=True)
    truth = CountOfCounts(tree, np.full((3, 200), 5))
    asked = []

    class Recording:
        secure = False

        def stream(self, identity: StreamId) -> ByteStream:
            asked.append(identity.path)
            return Seeded("key").stream(identity)

    for view in View:
        asked.clear()
        measured = Geometric(view, epsilon="1").measure(truth, Recording())
        assert sorted(asked) == sorted(path for path in tree.paths if path != ("a", "b"))
        padded = tree.index(("a", "b"))
        assert measured.measured.tolist() == [region != padded for region in range(tree.n_regions)]
        assert not np.asarray(measured.row(padded)).any()
        assert measured.row(tree.index(("a", "b", "b"))).any()


def test_levels_without_epsilon_are_not_measured() -> None:
    truth = small_truth()
    for view in View:
        measured = Geometric(view, epsilon="1", shares=(0, 1)).measure(truth, Seeded("key"))
        assert measured.measured.tolist() == [False, True, True]
        assert measured.epsilon == (0, 1)
        assert not np.asarray(measured.row(0)).any()


def test_ranked_is_ragged() -> None:
    """One vector per region, as long as its public number of groups, empty for an empty region."""
    truth = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 0, 0, 0]])
    measured = Geometric(View.RANKED, epsilon=1).measure(truth, Seeded("key"))
    assert [len(row) for row in measured.rows] == [3, 3, 0] == measured.region_totals.tolist()
    with pytest.raises(ProblemError, match="one vector per region, of different lengths, not a matrix"):
        _ = measured.matrix


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_root_totals_hide_those_of_regions(view: View) -> None:
    truth = small_truth()
    measured = Geometric(view, epsilon=1, totals="root").measure(truth, Seeded("key"))
    assert measured.public is Totals.ROOT
    assert measured.totals.tolist() == [6]
    assert measured.root_total == 6
    with pytest.raises(ProblemError, match="only the root's total is public here; measure with Geometric"):
        _ = measured.region_totals
    assert measured.totals.base is None or measured.totals.base.size == 1  # a slice would carry the others along


def reachable_arrays(item: Any) -> list[np.ndarray]:
    """All arrays in the fields of a dataclass, with the arrays they are slices of."""
    if isinstance(item, np.ndarray):
        return [item] if item.base is None else [item, *reachable_arrays(item.base)]
    if isinstance(item, tuple | list):
        return [array for part in item for array in reachable_arrays(part)]
    if dataclasses.is_dataclass(item):
        return [array for field in dataclasses.fields(item) for array in reachable_arrays(getattr(item, field.name))]
    return []


@pytest.mark.parametrize("view", View)
def test_a_measurement_holds_no_truth(view: View) -> None:
    """No field is the truth or shares memory with it, and no array in it equals a table of the truth, which stays."""
    rng = rng_of(55)
    truth = random_truth(rng, random_tree(rng, n_levels=3), max_size=40, name="secret")
    before = truth.counts.copy()
    measured = Geometric(view, epsilon="0.1").measure(truth, Seeded("key"))
    assert np.array_equal(truth.counts, before)
    assert not any(isinstance(getattr(measured, f.name), CountOfCounts) for f in dataclasses.fields(measured))
    for array in reachable_arrays(measured):
        assert not np.shares_memory(array, truth.counts)
        assert array.shape != truth.counts.shape or not np.array_equal(array, truth.counts)
        assert array.shape != truth.counts.shape or not np.array_equal(array, cumulative(truth.counts))
    assert b"CountOfCounts" not in pickle.dumps(measured)


def test_sparse_truth_measures_alike() -> None:
    from scipy import sparse

    rng = rng_of(56)
    truth = random_truth(rng, random_tree(rng, n_levels=3), name="t")
    thin = CountOfCounts(truth.hierarchy, sparse.csr_array(truth.counts), name="t")
    for view in View:
        ours, theirs = (Geometric(view, epsilon=1).measure(t, Seeded("key")).rows for t in (truth, thin))
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_empty_region_is_measured() -> None:
    """Leaving it out would tell that it is empty (its number of groups may not be public)."""
    truth = CountOfCounts(TREE, np.array([[5] * 50, [0] * 50]))
    for view in (View.COUNTS, View.CUMULATIVE):
        measured = Geometric(view, epsilon="0.1").measure(truth, Seeded("key"))
        assert measured.measured.all()
        assert measured.matrix[2].any()
        assert measured.region_totals.tolist() == [250, 250, 0]


def test_single_child_is_drawn_independently_of_its_parent() -> None:
    tree = Hierarchy.from_paths([("a", "a", "a")])
    truth = CountOfCounts(tree, np.full((1, 100), 3))
    noise = noise_of(Geometric(View.COUNTS, epsilon="0.3").measure(truth, Seeded("key")), truth)
    assert len({row.tobytes() for row in noise}) == 3
