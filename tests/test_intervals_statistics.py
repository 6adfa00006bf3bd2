"""Statistics of a region's counts, against loops over its groups."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from instances import random_tree, random_truth, scale

from pgsr import PgsrError
from pgsr.intervals import (
    Bounds,
    Count,
    Counts,
    Cumulative,
    CumulativeCounts,
    Difference,
    Gini,
    MeanSize,
    Quantile,
    Share,
    Statistic,
    Tail,
    statistic_of,
)


def naive(statistic: Statistic, counts: list[int]) -> float | list[float]:
    """The statistic of one region, from the list of its groups' sizes."""
    sizes = [size for size, count in enumerate(counts) for _ in range(count)]
    n = len(sizes)
    match statistic:
        case Count(size):
            return sum(h == size for h in sizes)
        case Cumulative(size):
            return sum(h <= size for h in sizes)
        case Tail(size):
            return sum(h > size for h in sizes)
        case MeanSize():
            return sum(sizes) / n if n else 0
        case Quantile(p):
            return next((h for rank, h in enumerate(sizes, 1) if Fraction(rank, n) >= p), 0)
        case Gini():
            apart = sum(abs(a - b) for a in sizes for b in sizes)
            return apart / (2 * n * sum(sizes)) if sum(sizes) else 0
        case Share(first, last):
            return sum(first <= h <= last for h in sizes) / n if n else 0
        case Counts():
            return [sizes.count(size) for size in range(len(counts))]
        case CumulativeCounts():
            return [sum(h <= size for h in sizes) for size in range(len(counts))]
    raise AssertionError(statistic)


def all_of(max_size: int) -> list[Statistic]:
    sizes = range(max_size + 1)
    found: list[Statistic] = [MeanSize(), Gini(), Counts(), CumulativeCounts()]
    found += [kind(size) for kind in (Count, Cumulative, Tail) for size in sizes]
    found += [Quantile(p) for p in ("1/10", "1/3", "0.5", "0.9", "1")]
    return found + [Share(first, last) for first in sizes for last in sizes if first <= last]


def test_equal_loops_over_groups():
    rng = np.random.default_rng(1)
    for _ in range(scale(20, 200)):
        truth = random_truth(rng, random_tree(rng), max_size=int(rng.integers(1, 6)))
        for statistic in all_of(truth.max_size):
            expected = [naive(statistic, row.tolist()) for row in truth.counts]
            np.testing.assert_allclose(statistic.of(truth.counts), expected, rtol=1e-12)
            both = np.stack([truth.counts, truth.counts[::-1]])
            np.testing.assert_array_equal(statistic.of(both)[1], statistic.of(truth.counts)[::-1])


def test_values_are_possible():
    rng = np.random.default_rng(2)
    for _ in range(scale(20, 200)):
        truth = random_truth(rng, random_tree(rng))
        for statistic in [*all_of(truth.max_size), Difference(MeanSize(), 0), Difference(Tail(2), 0)]:
            low, high = statistic.possible(float(truth.totals[0]), truth.max_size)
            values = statistic.of(truth.counts)
            assert ((low <= values) & (values <= high)).all(), statistic.name
            assert (values.dtype.kind == "i") == statistic.whole


def test_bounds_hold_for_all_counts_within_and_are_met_by_exact_ones():
    """Every vector of counts of a box lies within the bounds that the box gives; a box of one point gives its value."""
    rng = np.random.default_rng(3)
    for _ in range(scale(10, 100)):
        low = rng.integers(0, 3, 4)
        high = low + rng.integers(0, 3, 4)
        inside = np.array(list(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))))
        reached = np.cumsum(inside, axis=1)
        box = Bounds((low, high), (reached.min(axis=0), reached.max(axis=0)))
        for statistic in all_of(3):
            if isinstance(statistic, Gini):
                continue
            least, most = statistic.within(box)
            values = statistic.of(inside)
            assert (least <= values + 1e-12).all(), statistic.name
            assert (values <= most + 1e-12).all(), statistic.name
            point = Bounds((low, low), (np.cumsum(low), np.cumsum(low)))
            np.testing.assert_allclose(statistic.within(point), [statistic.of(low)] * 2, rtol=1e-12)


def test_differences_are_taken_from_every_region():
    rng = np.random.default_rng(4)
    truth = random_truth(rng, random_tree(rng, n_levels=2))
    tree = truth.hierarchy
    for statistic in (Tail(2), MeanSize(), Counts()):
        placed = Difference(statistic, tree.paths[1]).placed(tree)
        values = statistic.of(truth.counts)
        np.testing.assert_array_equal(placed.of(truth.counts), values - values[1])
        point = Bounds((truth.counts,) * 2, (np.cumsum(truth.counts, axis=1),) * 2)
        np.testing.assert_allclose(placed.within(point)[0], values - values[1], atol=1e-12)
    assert placed.names(1) == ["count:0 minus root/r0", "count:1 minus root/r0"]


def test_quantiles_of_many_groups_do_not_wrap():
    counts = np.array([2**61, 2**61 - 1])
    assert Quantile("0.5").of(counts) == 0
    assert Quantile("500001/1000000").of(counts) == 1


@pytest.mark.parametrize("statistic", [*all_of(2), Difference(Tail(1), ("US", "n/a"))])
def test_names_are_read_back(statistic):
    assert statistic_of(statistic.name) == statistic


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: statistic_of("median"), "quantile:0.5"),
        (lambda: statistic_of("tail:many"), "tail:100"),
        (lambda: statistic_of("share:3"), "share:1..3"),
        (lambda: statistic_of("mean minus "), "id of a region"),
        (lambda: Count(-1), "from 0 up"),
        (lambda: Tail(True), "from 0 up"),
        (lambda: Share(3, 1), "smaller size first"),
        (lambda: Quantile("1.5"), "at most 1"),
        (lambda: Quantile("0"), "greater than 0"),
        (lambda: Quantile("1/1234567"), "such as '0.9'"),
        (lambda: Tail(5).check(4), "up to that"),
        (lambda: Difference(Difference(MeanSize(), 0), 0), "difference of differences"),
        (lambda: Difference(MeanSize(), ("US",)).of(np.ones((2, 3), int)), "index"),
    ],
)
def test_what_is_no_statistic_is_a_sentence(make, word):
    with pytest.raises(PgsrError, match=word):
        make()
