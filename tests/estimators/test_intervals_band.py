"""The band: its quantiles, its exact coverage on small trees, and that tightening excludes nothing."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import mpmath
import numpy as np
import pytest
from exact_law import noise_by
from instances import random_tree, random_truth, rng_of, scale
from made_measurements import cells_of
from test_intervals_statistics import texts_of

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.data import Split
from pgsr.intervals import band
from pgsr.intervals.band import noise_quantiles
from pgsr.intervals.bounds import Bounds, tightened
from pgsr.noise import Geometric, Noise
from pgsr.noise.measurement import Measurement
from pgsr.privacy import Rho, Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.neighbours import Unit

SMALL = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def chance_within(law: Law, m: int) -> mpmath.mpf:
    """P(|z| <= m), a sum over the law's masses to 60 digits."""
    with mpmath.workdps(60):
        if isinstance(law, DoubleGeometric):
            a = mpmath.exp(-mpmath.mpf(law.scale.denominator) / law.scale.numerator)
            return (1 - a) / (1 + a) * (1 + 2 * sum(a**k for k in range(1, m + 1)))
        assert isinstance(law, DiscreteGaussian)
        b = mpmath.mpf(law.sigma_squared.denominator) / law.sigma_squared.numerator / 2
        masses = [mpmath.exp(-b * k**2) for k in range(int(20 * law.deviation) + 20)]
        return (1 + 2 * sum(masses[1 : m + 1])) / (1 + 2 * sum(masses[1:]))


def chance_of(law: Law, z: int) -> float:
    return float(np.exp(law.log_pmf(np.array([z])))[0])


def any_law(rng: np.random.Generator) -> Law:
    parameter = Fraction(int(rng.integers(1, 30)), int(rng.integers(1, 6)))
    return DoubleGeometric(parameter) if rng.random() < 0.5 else DiscreteGaussian(2 * parameter**2)


def test_quantiles_are_the_exact_laws():
    """They reach the level, none can be lowered alone, and no other split found by search has a much smaller sum."""
    rng = rng_of(1)
    for _ in range(scale(12, 200)):
        n = int(rng.integers(1, 4))
        laws = [any_law(rng) for _ in range(n)]
        cells = [int(rng.integers(1, 2_000)) for _ in range(n)]
        level = Fraction(int(rng.integers(1, 100)), 100)
        found = noise_quantiles(laws, cells, level)

        def chance(quantiles, laws=laws, cells=cells):
            return prod(chance_within(b, q) ** k for b, k, q in zip(laws, cells, quantiles, strict=True))

        assert chance(found) >= float(level)
        lowered = [[*found[:i], found[i] - 1, *found[i + 1 :]] for i in range(n) if found[i]]
        assert all(chance(lower) < level.numerator / mpmath.mpf(level.denominator) for lower in lowered)


def test_the_split_over_levels_is_near_the_best():
    laws, cells = [DoubleGeometric(Fraction(scale)) for scale in (2, 2, 5)], [4, 40, 400]
    found = noise_quantiles(laws, cells, Fraction(9, 10))
    tried = range(24), range(30), range(70)
    chances = [[float(chance_within(b, m)) ** n for m in m_s] for b, n, m_s in zip(laws, cells, tried, strict=True)]
    best = min(sum(q) for q in product(*tried) if prod(chances[i][m] for i, m in enumerate(q)) >= 0.9)
    assert all(m < ends.stop - 1 for m, ends in zip(found, tried, strict=True))
    assert sum(found) <= best + 1


def with_values(measurement: Measurement, noise: list[int]) -> Measurement:
    """The same measurement with noise added to its values, region by region; to public totals, too."""
    left = iter(noise)
    measured = np.repeat(measurement.measured, np.diff(measurement.first_cell)).tolist()
    moved = [
        value + (next(left) if there else 0) for value, there in zip(measurement.cells.tolist(), measured, strict=True)
    ]
    return replace(measurement, cells=np.array(moved, np.int64))


def bare(truth: CountOfCounts, noise: Geometric) -> Measurement:
    """Make what would be measured without noise."""
    with noise_by(lambda law, values, stream: None):
        return noise.measure(truth, Seeded("bare"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "counts", "shares", "totals"),
    [
        (View.CUMULATIVE, [[1, 2], [0, 1]], None, "regions"),
        (View.CUMULATIVE, [[1, 0], [3, 2]], ("1/4", "3/4"), "regions"),
        (View.COUNTS, [[2, 0], [1, 1]], ("0", "1"), "regions"),
        (View.COUNTS, [[2, 1], [0, 1]], ("0", "1"), "root"),
        (View.CUMULATIVE, [[1, 2], [0, 1]], ("0", "1"), "root"),
        (View.RANKED, [[0, 1], [0, 1]], None, "regions"),
        (View.RANKED, [[0, 1], [1, 1]], ("0", "1"), "regions"),
        (Split(1), [[1, 0, 0], [0, 0, 1]], ("0", "1"), "regions"),
    ],
)
@pytest.mark.few(1)
def test_the_exact_coverage_is_at_least_the_level(view, counts, shares, totals):
    """Over all noise of a range that holds nearly all mass: P(truth inside) >= level, and always within the quantiles.

    Where no counts fit the values the band says so, and that counts as not covered.
    """
    level = Fraction(7, 10)
    truth = CountOfCounts(SMALL, counts)
    noise = Geometric(view, epsilon=4, shares=shares, totals=totals)
    exact = bare(truth, noise)
    cells = [
        (exact.law(int(region)), int(SMALL.level_of[region]), known)
        for region in np.flatnonzero(exact.measured)
        for place in range(len(exact.row(region)))
        for known in [view is View.CUMULATIVE and place == truth.max_size and region < len(exact.totals)]
    ]
    quantiles = band(exact, level).quantiles
    widest = 2 if sum(not known for *_, known in cells) > 3 else 6
    covered = within = 0.0
    for drawn in product(*([0] if known else range(-widest, widest + 1) for *_, known in cells)):
        chance = prod(1.0 if known else chance_of(b, z) for z, (b, _, known) in zip(drawn, cells, strict=True))
        is_within = all(abs(z) <= quantiles[place] for z, (_, place, _) in zip(drawn, cells, strict=True))
        try:
            found = band(with_values(exact, list(drawn)), level)
        except PgsrError:
            assert not is_within
            continue
        inside = holds(found.bounds, truth.counts)
        assert inside or not is_within
        covered += chance * inside
        within += chance * is_within
    assert level <= within <= covered <= 1 + 1e-9


def holds(bounds: Bounds, counts: np.ndarray) -> bool:
    pairs = ((bounds.counts, counts), (bounds.cumulative, np.cumsum(counts, axis=1)))
    return all(bool(((low <= values) & (values <= high)).all()) for (low, high), values in pairs)


def random_measurement(rng: np.random.Generator) -> tuple[CountOfCounts, Measurement]:
    """A truth and a measurement of it whose noise stays within the quantiles of level 0.8, often at their edge."""
    paths = [path for path in random_tree(rng).paths if rng.random() < 0.8 or len(path) == 1]
    tree = Hierarchy.from_paths(paths, pad_ragged=True)
    truth = random_truth(rng, tree, max_size=int(rng.integers(1, 7)))
    totals = str(rng.choice(["root", "regions"]))
    views = [View.COUNTS, View.CUMULATIVE]
    if totals == "regions":
        views += [View.RANKED, Split(int(rng.integers(truth.max_size + 1)))]
    view = tuple(views[rng.integers(len(views))] for _ in range(tree.n_levels))
    shares = rng.integers(0, 3, tree.n_levels)
    shares[rng.integers(tree.n_levels)] += 1
    parts = [Fraction(int(share), int(shares.sum())) for share in shares]
    noise = Geometric(view, epsilon=Fraction(int(rng.integers(1, 20)), 2), shares=parts, totals=totals)
    quantiles = band(bare(truth, noise), "0.8").quantiles
    laws = [bare(truth, noise).law(int(first)) for first in tree.level_start[:-1]]

    def add(law, values, stream):
        q = min(quantile for quantile, b in zip(quantiles, laws, strict=True) if b == law)
        values += np.clip(rng.integers(-2 * q, 2 * q + 1, len(values)), -q, q)

    with noise_by(add):
        return truth, noise.measure(truth, Seeded("random"))


@pytest.mark.parametrize(("totals", "free"), [("root", [0]), ("regions", [0, 1, 2])])
def test_noise_on_public_totals_plays_no_part(totals, free):
    """It is drawn, but it tells nothing, and is no cell that has to stay within its quantile."""
    measured = Geometric(View.CUMULATIVE, 1, totals=totals).measure(CountOfCounts(SMALL, [[0, 5], [2, 4]]), Seeded(3))
    values = measured.matrix.copy()
    values[free, -1] += 1_000
    for kept, moved in zip(
        *(band(m).bounds.cumulative for m in (measured, replace(measured, cells=cells_of(values)))), strict=True
    ):
        np.testing.assert_array_equal(kept, moved)
    n_cells = 6 - len(free)
    assert band(measured).quantiles == noise_quantiles(
        [DoubleGeometric(Fraction(2))] * 2, [1, n_cells - 1], Fraction(9, 10)
    )


def test_tightening_never_excludes_the_truth():
    rng = rng_of(5)
    for _ in range(scale(20, 2_000)):
        truth, measurement = random_measurement(rng)
        found = band(measurement, "0.8")
        assert holds(found.bounds, truth.counts)
        for text in [*texts_of(truth.max_size), "mean minus root", "tail:0 minus root"]:
            if text != "gini":
                of = found.intervals(text, truth)
                inside = (of.lower <= of.estimate + 1e-12) & (of.estimate <= of.upper + 1e-12)
                assert (inside | np.isnan(of.estimate)).all(), text


def test_tightening_excludes_nothing_and_equals_brute_force_over_sizes():
    """The bounds in one region, a chain of equations, become the smallest box around all counts that fit."""
    rng = rng_of(6)
    alone = Hierarchy.from_parents(["US"], [-1])
    empty = 0
    for _ in range(scale(30, 1_000)):
        n = int(rng.integers(1, 5))
        low, c_low = rng.integers(0, 3, (1, n)), rng.integers(0, 5, (1, n))
        high, c_high = low + rng.integers(0, 3, (1, n)), c_low + rng.integers(0, 4, (1, n))
        inside = np.array(list(product(*(range(a, b + 1) for a, b in zip(low[0], high[0], strict=True)))))
        reached = np.cumsum(inside, axis=1)
        fits = ((c_low <= reached) & (reached <= c_high)).all(axis=1)
        found = tightened(alone, Bounds((low, high), (c_low, c_high)), sweeps=1_000)
        if not fits.any():
            assert found is None
            empty += 1
            continue
        assert found is not None
        for pair, values in ((found.counts, inside[fits]), (found.cumulative, reached[fits])):
            np.testing.assert_array_equal(pair[0][0], values.min(axis=0))
            np.testing.assert_array_equal(pair[1][0], values.max(axis=0))
    assert empty


def test_tightening_over_regions_excludes_nothing_and_is_idempotent():
    rng = rng_of(7)
    for _ in range(scale(8, 300)):
        low, c_low = rng.integers(0, 2, (3, 2)), rng.integers(0, 3, (3, 2))
        high, c_high = low + rng.integers(0, 4, (3, 2)), c_low + rng.integers(0, 4, (3, 2))
        found = tightened(SMALL, Bounds((low, high), (c_low, c_high)), sweeps=1_000)
        for leaves in product(range(6), repeat=4):
            counts = SMALL.sum_up(np.array(leaves).reshape(2, 2))
            if holds(Bounds((low, high), (c_low, c_high)), counts):
                assert found is not None
                assert holds(found, counts)
        if found is not None:
            again = tightened(SMALL, found)
            assert again is not None
            np.testing.assert_array_equal(again.cumulative, found.cumulative)


def test_a_parent_bounds_its_children_and_they_bound_it():
    low = np.zeros((3, 2), np.int64)
    high = np.array([[5, 5], [9, 9], [9, 9]])
    c_low = np.array([[0, 5], [0, 2], [0, 3]])
    found = tightened(SMALL, Bounds((low, high), (c_low, high)))
    assert found is not None
    np.testing.assert_array_equal(found.cumulative[1][:, 1], [5, 2, 3])
    np.testing.assert_array_equal(found.counts[1][1:], [[2, 2], [3, 3]])


@pytest.mark.parametrize("ranked", ["GA", "MI"])
def test_a_level_with_two_laws_is_within_the_wider_one(ranked: str) -> None:
    """A customer of nine taxis moves a cumulative count by 9, and nine ranked sizes by 1: sigma is three times as wide.

    Whichever region comes first, the noise of every value stays within its level's quantile as often as was asked.
    """
    rows = {name: [0, 1, 0, 1] if name == ranked else [0, 40, 30, 30] for name in ("GA", "MI")}
    truth = CountOfCounts(Hierarchy.from_paths([("US", name) for name in rows]), list(rows.values()))
    views = (View.CUMULATIVE, *(View.RANKED if name == ranked else View.CUMULATIVE for name in rows))
    noise = Noise(views, Rho("1/5"), laws="gaussian", unit=Unit.entity_in_groups(9))
    noisy = noise.measure(truth, Seeded("two laws"))
    assert {noisy.view_of(region) for region in (1, 2)} == {View.RANKED, View.CUMULATIVE}
    quantiles, chance = band(noisy, "0.99").quantiles, mpmath.mpf(1)
    for region in range(3):
        law, quantile = noisy.law(region), quantiles[int(noisy.hierarchy.level_of[region])]
        assert law is not None
        assert quantile is not None
        known = noisy.view_of(region) is View.CUMULATIVE
        chance *= chance_within(law, quantile) ** (len(noisy.row(region)) - known)
    assert chance >= 0.99
