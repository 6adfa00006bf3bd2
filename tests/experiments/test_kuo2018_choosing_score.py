"""The cost of a choice by scores: why the published accounting is wrong, and the steps of the proof of ours."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Estimate
from pgsr.experiments.kuo2018.choosing import (
    DISTINCT_SIZES,
    distinct_sizes,
    score,
)
from pgsr.methods import metrics

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
DEEP = Hierarchy.from_paths([("r", "a", "x"), ("r", "a", "y"), ("r", "b", "z")])


def difference_exceeds(a: Fraction, n: int) -> Fraction:
    """P(X - Y > n) for independent double geometric X, Y with P(k) ~ a^|k|, n >= 0.

    P(X - Y = w) = c^2 a^w (w + B) with c = (1 - a) / (1 + a) and B = 1 + 2 a^2 / (1 - a^2), and
    sum_{w > n} a^w (w + B) = a^m ((m + B) / (1 - a) + a / (1 - a)^2) with m = n + 1.
    """
    c, b, m = (1 - a) / (1 + a), 1 + 2 * a**2 / (1 - a**2), n + 1
    return c**2 * a**m * ((m + b) / (1 - a) + a / (1 - a) ** 2)


def test_the_law_of_a_difference() -> None:
    a = Fraction(1, 3)
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-60, 61)}
    for n in (0, 1, 5):
        summed = sum((p * q for (k, p), (m, q) in product(law.items(), law.items()) if k - m > n), Fraction(0))
        assert abs(difference_exceeds(a, n) - summed) < a**50


def test_counter_example_to_the_published_accounting() -> None:
    """Two eps-private methods and a noisy choice with eps2 = eps / 100 lose nearly 2 eps, not 1.01 eps.

    Both see the same bit, with independent randomness. Each answers b with probability q under D and q / r under D',
    else a; r = e^eps, and the ratio for a is below r, so each is eps-private and no better. The error of a is 0 and
    that of b is S under both. With s = e^(eps2 / 2) rational and r = s^200, everything is a fraction.
    """
    s = Fraction(101, 100)
    r, q, error = s**200, Fraction(1, 2), 10_000
    a = 1 / s  # the law of noise of scale 2 / eps2
    eps, eps2 = 200, 2  # in units of log s
    assert Fraction(eps2, eps) == Fraction(1, 100)

    def released_b(p: Fraction) -> Fraction:
        """Both answered b, or one did and the noise preferred it (ties by index; > 0 either way, and negligible)."""
        first_is_worse = difference_exceeds(a, error - 1)  # the worse one comes first and wins ties
        second_is_worse = difference_exceeds(a, error)
        return p**2 + p * (1 - p) * (first_is_worse + second_is_worse)

    p, p_neighbour = q, q / r
    assert p / p_neighbour == r  # eps, reached
    assert 1 / r <= (1 - p) / (1 - p_neighbour) <= r
    mistake = difference_exceeds(a, error - 1)
    assert 0 < mistake < Fraction(1, 10**38)
    ratio = released_b(p) / released_b(p_neighbour)
    assert ratio > s ** (eps + eps2)  # what the paper promises
    assert ratio > s ** (2 * eps - 1)  # a loss above 1.995 eps
    assert ratio <= s ** (2 * eps + eps2)  # the honest ledger


def chances(scores: tuple[int, ...], a: Fraction, reach: int = 80) -> list[Fraction]:
    """P(candidate i is chosen): least score + double geometric noise, ties by index. Short of 1 by the tails only."""
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-reach, reach + 1)}

    def above(n: int) -> Fraction:
        """P(X > n)."""
        return a ** (n + 1) / (1 + a) if n >= -1 else 1 - a ** (-n) / (1 + a)

    chosen = []
    for i, own in enumerate(scores):
        total = Fraction(0)
        for k, p in law.items():
            # an earlier one wins ties, a later one loses them
            others = [above(own + k - other - (j > i)) for j, other in enumerate(scores) if j != i]
            total += p * prod(others)
        chosen.append(total)
    return chosen


@pytest.mark.slow
def test_noisy_choice_loses_at_most_its_epsilon() -> None:
    """Three candidates, every direction of moves, in fractions: with a = e^(-eps2 / (2 L)) the ratio is <= e^eps2.

    Half that noise is too little: scores move in either direction.
    """
    a, worst, worst_with_half = Fraction(1, 2), Fraction(0), Fraction(0)
    for sensitivity in (1, 2):
        moves = [sensitivity, -sensitivity] if sensitivity > 1 else [-1, 0, 1]
        bound = a ** (-2 * sensitivity)
        for scores in product(*[(0, 1, 4)] * 2, (0,)):
            before = chances(scores, a)
            assert 1 - sum(before) < a**70
            for move in product(moves, repeat=3):
                after = chances(tuple(map(sum, zip(scores, move, strict=True))), a)
                for p, other in zip(before, after, strict=True):
                    assert p <= bound * other + a**70
                    worst = max(worst, p / (bound * other))
    for gap in (0, 10, 40):
        ratio = chances((gap, 0), a**2, 160)[0] / chances((gap + 1, -1), a**2, 160)[0]
        worst_with_half = max(worst_with_half, ratio / a**-2)
    assert worst <= 1
    assert worst_with_half > 3


def databases(n_leaves: int, max_groups: int, max_size: int) -> Iterator[np.ndarray]:
    """Counts of the leaves, shape (leaves, K + 1), of every database with up to max_groups groups."""
    cells = list(product(range(n_leaves), range(max_size + 1)))
    for n_groups in range(max_groups + 1):
        for groups in combinations_with_replacement(cells, n_groups):
            counts = np.zeros((n_leaves, max_size + 1), np.int64)
            for cell in groups:
                counts[cell] += 1
            yield counts


def neighbours(counts: np.ndarray, empty_groups: bool = False) -> Iterator[np.ndarray]:
    """One entity more in some group; with `empty_groups`, one empty group more as well."""
    for leaf, size in np.argwhere(counts[:, :-1]):
        other = counts.copy()
        other[leaf, size : size + 2] += [-1, 1]
        yield other
    for leaf in range(len(counts) if empty_groups else 0):
        other = counts.copy()
        other[leaf, 0] += 1
        yield other


def test_sensitivity_of_distinct_sizes() -> None:
    """All databases of up to 4 groups over two leaves, sizes 0..4: -1, 0 and 1 occur, nothing else."""
    changes = set()
    for counts in databases(2, scale(3, 5), 4):
        ours = distinct_sizes(CountOfCounts(TREE, counts))
        changes |= {distinct_sizes(CountOfCounts(TREE, c)) - ours for c in neighbours(counts, empty_groups=True)}
    assert changes == {-1, 0, 1}
    assert DISTINCT_SIZES.sensitivity == 1


@pytest.mark.parametrize("tree", [Hierarchy.from_parents(["r"], [-1]), TREE, DEEP])
def test_sensitivity_of_scores(tree: Hierarchy) -> None:
    """One entity, or one empty group, changes the score of any answer by the number of levels at most, and that much.

    Answers are integer or fractional, of any sign, with or without the true totals, adding up or not.
    """
    rng = rng_of(71)
    n_leaves = tree.n_regions - tree.n_inner
    changes = set()
    for counts in databases(n_leaves, 2, 2):
        answers = [rng.integers(-2, 4, (tree.n_regions, 3)) for _ in range(scale(2, 20))]
        answers += [rng.uniform(-1, 3, (tree.n_regions, 3)), tree.sum_up(rng.integers(0, 2, (n_leaves, 3)))]
        truth = CountOfCounts(tree, counts)
        others = [CountOfCounts(tree, c) for c in neighbours(counts, empty_groups=True)]
        for estimate in (Estimate(tree, View.COUNTS, answer) for answer in answers):
            ours = score(truth, estimate)
            assert ours is not None
            for other in others:
                theirs = score(other, estimate)
                assert theirs is not None
                changes.add(theirs - ours)
    assert min(changes) == -tree.n_levels
    assert max(changes) == tree.n_levels


def test_scores_are_the_earth_movers_distance_where_totals_agree() -> None:
    rng = rng_of(72)
    for _ in range(scale(30, 500)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree)
        leaves = truth.counts[tree.leaves].copy()
        for row in leaves:
            rng.shuffle(row)
        other = tree.sum_up(leaves)
        expected = int(metrics.emd(truth, CountOfCounts(tree, other)).sum())
        assert score(truth, Estimate(tree, View.COUNTS, other)) == expected
        assert score(truth, Estimate(tree, View.CUMULATIVE, np.cumsum(other, axis=1))) == expected


def test_scores_are_exact_or_absent() -> None:
    tree = Hierarchy.from_parents(["r"], [-1])
    truth = CountOfCounts(tree, [[2**61, 0, 0, 0, 0, 0, 0, 0, 0, 1]])
    nothing = Estimate(tree, View.COUNTS, np.zeros((1, 10), np.int64))
    assert score(truth, nothing) == 2**61 + 1 + 9
    for bad in (np.full((1, 10), np.nan), np.full((1, 10), 2.0**62), np.zeros((1, 9))):
        assert score(truth, Estimate(tree, View.COUNTS, bad)) is None
