"""Statistics of a region's counts, against loops over its groups."""

from fractions import Fraction
from itertools import product

import numpy as np
from instances import random_tree, random_truth, rng_of, scale

from pgsr import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.intervals.bounds import Bounds
from pgsr.intervals.statistics import Statistic, statistic_of


def naive(text: str, counts: list[int]) -> float | list[float]:
    """The statistic of one region, from the list of its groups' sizes."""
    sizes = [size for size, count in enumerate(counts) for _ in range(count)]
    n, (word, _, value) = len(sizes), text.partition(":")
    match word, value:
        case "count", "":
            return [sizes.count(size) for size in range(len(counts))]
        case "cumulative", "":
            return [sum(h <= size for h in sizes) for size in range(len(counts))]
        case "count", _:
            return sum(h == int(value) for h in sizes)
        case "cumulative", _:
            return sum(h <= int(value) for h in sizes)
        case "tail", _:
            return sum(h > int(value) for h in sizes)
        case "mean", _:
            return sum(sizes) / n if n else np.nan
        case "median", _:
            return float(np.median(sizes)) if n else np.nan
        case "quantile", _:
            return next((h for rank, h in enumerate(sizes, 1) if Fraction(rank, n) >= Fraction(value)), np.nan)
        case "gini", _:
            if not n:
                return np.nan
            apart = sum(abs(a - b) for a in sizes for b in sizes)
            return apart / (2 * n * sum(sizes)) if sum(sizes) else 0
        case "share", _:
            first, last = map(int, value.split(".."))
            return sum(first <= h <= last for h in sizes) / n if n else np.nan
    raise AssertionError(text)


def texts_of(max_size: int) -> list[str]:
    sizes = range(max_size + 1)
    found = ["mean", "gini", "count", "cumulative"]
    found += [f"{word}:{size}" for word in ("count", "cumulative", "tail") for size in sizes]
    found += ["median", *(f"quantile:{p}" for p in ("1/10", "1/3", "1/2", "9/10", "1"))]
    return found + [f"share:{first}..{last}" for first in sizes for last in sizes if first <= last]


def all_of(sizes: Sizes) -> list[Statistic]:
    return [statistic_of(text, sizes) for text in texts_of(sizes.max_sizes[0])]


def sizes_up_to(max_size: int) -> Sizes:
    return Sizes.alike(Hierarchy.from_parents(["US", "n/a"], [-1, 0]), max_size)


def test_equal_loops_over_groups():
    rng = rng_of(1)
    for _ in range(scale(8, 200)):
        truth = random_truth(rng, random_tree(rng), max_size=int(rng.integers(1, 6)))
        for text in texts_of(truth.max_size):
            statistic = statistic_of(text, truth.sizes)
            expected = [naive(text, row.tolist()) for row in truth.counts]
            np.testing.assert_allclose(statistic.of(truth.counts), expected, rtol=1e-12)
            both = np.stack([truth.counts, truth.counts[::-1]])
            np.testing.assert_array_equal(statistic.of(both)[1], statistic.of(truth.counts)[::-1])


def test_values_are_possible():
    rng = rng_of(2)
    for _ in range(scale(8, 200)):
        truth = random_truth(rng, random_tree(rng))
        others = [statistic_of(f"{text} minus root", truth.sizes) for text in ("mean", "tail:2")]
        for statistic in [*all_of(truth.sizes), *others]:
            low, high = statistic.possible(float(truth.totals[0]))
            values = statistic.of(truth.counts)
            assert ((low <= values) & (values <= high) | np.isnan(values)).all(), statistic.name
            assert (values.dtype.kind == "i") == statistic.whole


def test_bounds_hold_for_all_counts_within_and_are_met_by_exact_ones():
    """Every vector of counts of a box lies within the bounds that the box gives; a box of one point gives its value."""
    rng = rng_of(3)
    for _ in range(scale(10, 100)):
        low = rng.integers(0, 3, 4)
        high = low + rng.integers(0, 3, 4)
        inside = np.array(list(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))))
        reached = np.cumsum(inside, axis=1)
        box = Bounds((low, high), (reached.min(axis=0), reached.max(axis=0)))
        for statistic in all_of(sizes_up_to(3)):
            if statistic.name == "gini":
                continue
            least, most = statistic.within(box)
            values = statistic.of(inside)
            none = np.isnan(values) & (inside.sum(axis=1) == 0)[(slice(None),) + (None,) * statistic.by_size]
            assert ((least <= values + 1e-12) | none).all(), statistic.name
            assert ((values <= most + 1e-12) | none).all(), statistic.name
            point = Bounds((low, low), (np.cumsum(low), np.cumsum(low)))
            np.testing.assert_allclose(statistic.within(point), [statistic.of(low)] * 2, rtol=1e-12)


def test_differences_are_taken_from_every_region():
    rng = rng_of(4)
    truth = random_truth(rng, random_tree(rng, n_levels=2))
    for text in ("tail:2", "mean", "count"):
        values = statistic_of(text, truth.sizes).of(truth.counts)
        difference = statistic_of(f"{text} minus root/r0", truth.sizes)
        np.testing.assert_array_equal(difference.of(truth.counts), values - values[1])
        point = Bounds((truth.counts,) * 2, (np.cumsum(truth.counts, axis=1),) * 2)
        np.testing.assert_allclose(difference.within(point)[0], values - values[1], atol=1e-12)


def test_quantiles_of_many_groups_do_not_wrap():
    counts = np.array([2**61, 2**61 - 1])
    assert statistic_of("quantile:0.5", sizes_up_to(1)).of(counts) == 0
    assert statistic_of("quantile:500001/1000000", sizes_up_to(1)).of(counts) == 1


def test_names_are_texts():
    """Each in one way of writing its numbers."""
    named = {text: text for text in [*texts_of(2), "tail:1 minus US/n%2Fa"]}
    for text, name in (named | {"quantile:0.5": "quantile:1/2", "tail:01": "tail:1"}).items():
        assert statistic_of(text, sizes_up_to(2)).name == name
