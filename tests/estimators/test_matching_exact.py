"""Merged sizes are exact: a twin in fractions, run by run, and halves that floats lose."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from made_measurements import measurement_of

from pgsr import Hierarchy, View
from pgsr.algorithms import IsotonicFit
from pgsr.estimators import Matching, Merge
from pgsr.noise import Geometric, Measurement, Noise, Totals
from pgsr.privacy import Rho, Seeded
from pgsr.privacy.laws.per_level import GeometricNoise

TENTH = GeometricNoise(Fraction(1, 10))


def test_a_half_of_unequal_precisions_is_rounded_to_even():
    """Three groups of 0 in the nation, one of 0 in A and two of 6 in B: 3/5 of 0 and 2/5 of 6, and so on."""
    tree = Hierarchy.from_parents(["US", "A", "B"], [-1, 0, 0])
    halves = 0
    for n in range(1, 6):
        for m in range(1, 6):
            for y in range(1, 9):
                values = [[0] * (n + m), [0] * n, [y] * m]
                released = Matching().apply(measured(tree, values, TENTH)).estimate.counts()
                mean = Fraction(m * y, n + 2 * m)
                halves += mean.denominator == 2
                assert sizes_of(released.counts[2]) == [round(mean)] * m
    assert halves > 5


@pytest.mark.parametrize("merge", Merge)
def test_equals_a_twin_in_fractions(merge):
    """All levels: halves of sums of mean variances, at noise of one law and of several."""
    rng, halves = rng_of(61), 0
    for i in range(scale(30, 5_000)):
        tree = random_tree(rng, max_regions=16, n_levels=int(rng.integers(2, 5)))
        truth = random_truth(rng, tree, max_size=int(rng.integers(2, 12)), name=str(i), max_count=4)
        view = View.CUMULATIVE if i % 2 else View.RANKED
        noise = Geometric(view, str(rng.choice(["1/10", "1/3", "3"]))) if i % 3 else Noise(view, Rho("1/10"))
        noisy = noise.measure(truth, Seeded(i))
        found = Matching(merge=merge).apply(noisy).estimate.counts()
        expected, near = twin(noisy, merge)
        halves += near
        for region, sizes in zip(range(tree.level(tree.n_levels - 1).start, tree.n_regions), expected, strict=True):
            assert sizes_of(found.counts[region]) == sizes
    assert halves > 5


def test_a_region_by_itself_keeps_its_precisions():
    """What is handed to another process, of merged groups, too."""
    rng = rng_of(62)
    tree = random_tree(rng, max_regions=12, n_levels=3)
    noisy = Geometric(View.CUMULATIVE, "1/10").measure(random_truth(rng, tree, max_size=6, max_count=9), Seeded(1))
    method = Matching()
    alone = method.alone(noisy)
    merged = method.leaves_below(tree, alone[0], alone[1:2], noisy.sizes.max_sizes)
    for region in range(merged.n_regions):
        own = merged.region(region)
        here = np.arange(*merged.first[region : region + 2])
        assert [own.precision.exact(k) for k in range(len(here))] == [merged.precision.exact(k) for k in here]
        assert own.precision.near.tolist() == pytest.approx(merged.precision.near[here].tolist(), rel=1e-12)


def test_precisions_in_floats_are_as_near_as_they_say():
    rng = rng_of(63)
    for i in range(scale(10, 300)):
        tree = random_tree(rng, max_regions=16, n_levels=4)
        noisy = Geometric(View.CUMULATIVE, "1/7").measure(
            random_truth(rng, tree, max_size=9, max_count=30, name=str(i)), Seeded(i)
        )
        method = Matching()
        alone = method.alone(noisy)
        precision = method.leaves_below(tree, alone[0], alone[1:], noisy.sizes.max_sizes).precision
        for run, near in enumerate(precision.near.tolist()):
            exact = precision.exact(run)
            assert abs(Fraction(near) - exact) <= Fraction(precision.error) * exact


def twin(noisy: Measurement, merge: Merge) -> tuple[list[list[int]], int]:
    """The sizes of the groups of every leaf, and how often a mean was a half; in fractions throughout."""
    tree, fit = noisy.hierarchy, IsotonicFit()
    factor = 1 if noisy.view is View.RANKED else 2

    def alone(region: int) -> list[tuple[int, int, Fraction]]:
        groups, law = fit.groups(noisy, region), noisy.law(region)
        assert law is not None
        variance = law.variance_bound
        return [(int(s), int(n), factor * variance / int(n)) for s, n in zip(groups.size, groups.count, strict=True)]

    state, halves = {0: alone(0)}, 0
    for parent in range(tree.n_inner):
        above = state[parent]
        children = [(child, *run) for child in tree.children(parent) for run in alone(child)]
        parts: dict[int, list[tuple[int, int, Fraction]]] = {child: [] for child in tree.children(parent)}
        below = sorted(children, key=lambda run: run[1])  # stable: children in their order
        pairs = naive.matched_runs([n for _, n, _ in above], [run[1] for run in below], [run[2] for run in below])
        for top, bottom, n in pairs:
            (x, _, vx), (child, y, _, vy) = above[top], below[bottom]
            z, v = (x / vx + y / vy) / (1 / vx + 1 / vy), Fraction(1) / (1 / vx + 1 / vy)
            if merge is Merge.AVERAGE:
                z, v = Fraction(x + y, 2), (vx + vy) / 4
            halves += Fraction(z).denominator == 2
            parts[child].append((round(z), n, v))
        for child, own in parts.items():
            state[child] = [
                (size, total, Fraction(sum(n * v for s, n, v in own if s == size)) / total)
                for size in sorted({s for s, _, _ in own})
                for total in [sum(n for s, n, _ in own if s == size)]
            ]
    leaves = range(tree.level(tree.n_levels - 1).start, tree.n_regions)
    return [[size for size, n, _ in state[leaf] for _ in range(n)] for leaf in leaves], halves


def measured(tree: Hierarchy, sizes: list[list[int]], noise: GeometricNoise) -> Measurement:
    """A measurement whose noise happens to be 0, of groups of these sizes; parents need not be sums."""
    values: object = tuple(np.sort(np.array(own)) for own in sizes)
    totals, levels = np.array([len(own) for own in sizes]), (noise,) * tree.n_levels
    return measurement_of(tree, View.RANKED, values, 9, levels, Totals.REGIONS, totals, False)


def sizes_of(counts: np.ndarray) -> list[int]:
    return np.repeat(np.arange(len(counts)), counts).tolist()
