"""Errors against the truth: worked examples and what is refused."""

from collections.abc import Callable
from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from scipy import sparse

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Estimate
from pgsr.data.views import ranked
from pgsr.errors import CountError
from pgsr.machine import blocks
from pgsr.methods import metrics

ONE = Hierarchy.from_parents(["all"], [-1])
TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def groups(n: int, size: int, max_size: int = 10) -> CountOfCounts:
    """Make n groups of one size in one region."""
    counts = np.zeros((1, max_size + 1), np.int64)
    counts[0, size] = n
    return CountOfCounts(ONE, counts)


@pytest.mark.parametrize(("n", "size", "distance"), [(100, 2, 100), (100, 5, 400), (20, 2, 20), (20, 10, 180)])
def test_worked_distances(n: int, size: int, distance: int) -> None:
    """Groups of size 1 against groups of another size: L1 cannot tell how far they moved, the distance can."""
    assert metrics.emd(groups(n, 1), groups(n, size)).tolist() == [distance]
    assert metrics.l1(groups(n, 1), groups(n, size)).tolist() == [2 * n]


def test_distance_equals_that_of_sorted_groups() -> None:
    """The distance is sum |Hg - Hg'|, in every region, and it is a metric."""
    rng = rng_of(21)
    for _ in range(scale(200, 5_000)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree)
        leaves = truth.counts[tree.leaves]
        others = [CountOfCounts(tree, rng.permuted(leaves, axis=1)) for _ in range(2)]
        distance = metrics.emd(truth, others[0])
        expected = [np.abs(ranked(a) - ranked(b)).sum() for a, b in zip(truth.counts, others[0].counts, strict=True)]
        assert distance.tolist() == expected
        assert np.array_equal(distance, metrics.emd(others[0], truth))
        assert (metrics.emd(truth, others[1]) <= distance + metrics.emd(*others)).all()
        assert not metrics.emd(truth, truth).any()
        assert not metrics.l1(truth, truth).any()


def test_tails_means_and_quantiles_equal_those_group_by_group() -> None:
    """Dense and sparse regions, equal and unequal totals, regions without groups, parts that meet a rank exactly."""
    rng = rng_of(23)
    empty = 0
    for _ in range(scale(100, 3_000)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree)
        leaves = truth.counts[tree.leaves]
        moved = rng.permuted(leaves, axis=1)
        for other in (moved, rng.poisson(rng.choice([0.05, 1, 5]), leaves.shape)):
            estimate = CountOfCounts(tree, other)
            pairs = list(zip(truth.counts, estimate.counts, strict=True))
            empty += sum(not a.sum() or not b.sum() for a, b in pairs)
            for size in range(truth.max_size):
                expected = [naive.tail_error(*pair, size) for pair in pairs]
                assert metrics.tail_error(truth, estimate, size).tolist() == expected
            expected = [naive.mean_size_error(*pair) for pair in pairs]
            assert metrics.mean_size_error(truth, estimate) == pytest.approx(expected, rel=1e-12)
            for part in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(1)):
                expected = [naive.quantile_error(*pair, part) for pair in pairs]
                assert metrics.quantile_error(truth, estimate, part).tolist() == expected
    assert empty, "no region without groups was compared"


def test_worked_tails_means_and_quantiles() -> None:
    """Ten groups of size 1 against nine of size 1 and one of size 10; and sizes 1..4, whose products would wrap."""
    truth, other = groups(10, 1), CountOfCounts(ONE, np.array([[0, 9, *[0] * 8, 1]]))
    assert [metrics.tail_error(truth, other, size).tolist() for size in (0, 1)] == [[0], [1]]
    assert metrics.mean_size_error(truth, other).tolist() == pytest.approx([0.9])
    assert [metrics.quantile_error(truth, other, part).tolist() for part in ("9/10", "0.91")] == [[0], [9]]
    for part, expected in ((1 / 3, 2), ("0.1234567890123456789012345", 3)):
        rows = ([1, 1, 1, 1], [0, 0, 0, 4])  # of each 10,000
        even, ends = (CountOfCounts(ONE, 10_000 * np.array([[0, *row, *[0] * 6]])) for row in rows)
        assert metrics.quantile_error(even, ends, part).tolist() == [expected]
    with pytest.raises(CountError, match=r"size=10; give a whole number from 0 to K - 1 = 9"):
        metrics.tail_error(truth, other, 10)
    with pytest.raises(CountError, match=r"part=0; give a number above 0"):
        metrics.quantile_error(truth, other, 0)


def test_unequal_totals_are_refused() -> None:
    truth = CountOfCounts(TREE, [[0, 2, 0], [1, 1, 0]])
    other = CountOfCounts(TREE, [[0, 2, 0], [1, 1, 1]])
    with pytest.raises(CountError, match=r"region US has another number of groups.*use metrics\.cumulative_l1"):
        metrics.emd(truth, other)
    assert metrics.total_error(truth, other).tolist() == [1, 0, 1]
    assert metrics.cumulative_l1(truth, other).tolist() == [1, 0, 1]
    moved = CountOfCounts(TREE, [[0, 1, 0], [1, 2, 0]])  # equal at the root, not below
    with pytest.raises(CountError, match="region US / GA has another"):
        metrics.emd(truth, moved)


def test_worked_tree() -> None:
    truth = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
    values = np.array([[0, 3, 0, 3], [1, 1, 0, 1], [0, 2, -1, 2]])
    for estimate in (Estimate(TREE, View.COUNTS, values), Estimate(TREE, View.CUMULATIVE, np.cumsum(values, axis=1))):
        assert metrics.l1(truth, estimate).tolist() == [2, 2, 4]
        assert metrics.total_error(truth, estimate).tolist() == [0, 0, 0]
        assert metrics.emd(truth, estimate).tolist() == [1, 1, 2]
    assert metrics.level_means(truth, np.array([4, 1, 2])) == [4.0, 1.5]
    assert metrics.level_sums(truth, np.array([4, 1, 2])) == [4.0, 3.0]
    fractional = Estimate(TREE, View.COUNTS, truth.counts + np.array([0.5, -0.5, 0, 0]))
    assert metrics.l1(truth, fractional) == pytest.approx([1, 1, 1])
    assert metrics.emd(truth, fractional) == pytest.approx([0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    "metric", [metrics.l1, metrics.emd, metrics.cumulative_l1, metrics.total_error, metrics.mean_size_error]
)
def test_other_regions_or_sizes_are_refused(metric: Callable[..., np.ndarray]) -> None:
    truth = CountOfCounts(TREE, [[0, 2, 0], [1, 1, 0]])
    other_sizes = CountOfCounts(TREE, [[0, 2], [1, 1]])
    other_names = CountOfCounts(Hierarchy.from_parents(["US", "GA", "NY"], [-1, 0, 0]), [[0, 2, 0], [1, 1, 0]])
    for other in (other_sizes, other_names):
        with pytest.raises(CountError, match="different regions or sizes"):
            metric(truth, other)


def test_blocks_of_regions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = rng_of(22)
    tree = random_tree(rng, max_regions=40, n_levels=3)
    truth, other = random_truth(rng, tree), random_truth(rng, tree)
    whole = [metrics.l1(truth, other), metrics.cumulative_l1(truth, other), metrics.total_error(truth, other)]
    for cells in (1, 20, 63):
        monkeypatch.setattr(blocks, "BLOCK_CELLS", cells)
        parts = [metrics.l1(truth, other), metrics.cumulative_l1(truth, other), metrics.total_error(truth, other)]
        assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_sparse_tables_have_the_errors_of_dense_ones() -> None:
    """Most counts are zero, some regions are equal, some are empty, and changes meet the last size."""
    rng = rng_of(23)
    for _ in range(scale(30, 1_000)):
        tree = random_tree(rng, max_regions=12)
        n, k = tree.n_regions - tree.n_inner, int(rng.integers(1, 9))
        leaves = rng.integers(1, 4, (2, n, k + 1)) * (rng.random((2, n, k + 1)) < rng.random())
        leaves[1] = np.where(rng.random((n, 1)) < 0.3, leaves[0], leaves[1])
        dense, thin = ([CountOfCounts(tree, kind(each)) for each in leaves] for kind in (np.asarray, sparse.csr_array))
        assert all(each.is_sparse for each in thin)
        for metric in (metrics.l1, metrics.cumulative_l1, metrics.total_error):
            expected = metric(*dense)
            for other in (thin[1], Estimate(tree, View.COUNTS, thin[1].stored), dense[1]):
                found = metric(thin[0], other)
                assert found.dtype == expected.dtype
                assert np.array_equal(found, expected)


def test_omniscient_reference_counts_the_sizes_that_occur() -> None:
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 0]])
    assert metrics.omniscient(truth, 0.5) == pytest.approx(np.array([3, 2, 2]) * np.sqrt(2) / 0.5)
