"""The joint posterior of a tree under a known prior: against enumeration, and its chain against a slow one."""

from fractions import Fraction
from itertools import product
from math import exp, lgamma, log

import naive
import numpy as np
import pytest
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, cumulative, ranked
from pgsr.errors import ArgumentError, ProblemError
from pgsr.experiments.ours.tree_posterior import (
    CountState,
    Moves,
    _model,
    _moves,
    log_masses,
    log_weights,
    tree_posterior,
)
from pgsr.experiments.ours.tree_posterior_kernel import run
from pgsr.noise import Geometric, Measurement, Noise
from pgsr.privacy import Rho, Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric

TREE = Hierarchy.from_paths([("all", "a", "1"), ("all", "a", "2"), ("all", "b", "3")])
COUNTS = np.array([[1, 0, 2], [2, 1, 0], [0, 1, 1]])
MEANS = np.array([[1.0, 0.5, 1.5], [2.0, 0.4, 0.1], [0.3, 0.7, 1.0]])
SHAPE = 3.0


def measured(view: AnyView, shares: tuple = (1, 1, 1), seed: int = 0) -> Measurement:
    parts = [Fraction(share, sum(shares)) for share in shares]
    return Geometric(view, "3/2", parts).measure(CountOfCounts(TREE, COUNTS, "tiny"), Seeded("tree", seed))


def vector(view: AnyView, counts: np.ndarray) -> np.ndarray:
    """What is measured of one region, without noise."""
    if isinstance(view, Split):
        return np.array(naive.split_view(ranked(counts).tolist(), view.threshold), np.int64)
    return cumulative(counts) if view is View.CUMULATIVE else ranked(counts)


def log_likelihood(measurement: Measurement, region: int, counts: np.ndarray) -> float:
    """By the law of the noise, value by value, up to a constant."""
    law = measurement.law(region)
    if law is None:
        return 0.0
    noise = np.asarray(measurement.row(region)) - vector(measurement.view_of(region), counts)
    if isinstance(law, DoubleGeometric):
        return -float(np.abs(noise).sum() / law.scale)
    assert isinstance(law, DiscreteGaussian)
    return -float((noise**2).sum() / (2 * law.sigma_squared))


def log_prior(counts: np.ndarray) -> float:
    """The logarithm of the product of negative binomial masses, written out."""
    return sum(
        lgamma(SHAPE + x) - lgamma(SHAPE) - lgamma(x + 1) + x * log(m / (SHAPE + m)) + SHAPE * log(SHAPE / (SHAPE + m))
        for x, m in zip(counts.ravel().tolist(), MEANS.ravel().tolist(), strict=True)
    )


def log_posterior(measurement: Measurement, counts: np.ndarray) -> float:
    regions = TREE.sum_up(counts)
    return log_prior(counts) + sum(log_likelihood(measurement, r, row) for r, row in enumerate(regions))


def enumerated(measurement: Measurement) -> tuple[np.ndarray, np.ndarray]:
    """All cumulative counts of all regions, (states, regions, K + 1), and their posterior masses."""
    of_leaf = [
        [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)] for total in COUNTS.sum(axis=1)
    ]
    leaves = [np.array(state) for state in product(*of_leaf)]
    masses = np.array([exp(log_posterior(measurement, state)) for state in leaves])
    return np.array([np.cumsum(TREE.sum_up(state), axis=1) for state in leaves]), masses / masses.sum()


@pytest.mark.parametrize(
    ("view", "shares"), [(View.CUMULATIVE, (1, 1, 1)), (View.RANKED, (0, 0, 1)), (Split(1), (1, 0, 19))], ids=str
)
def test_medians_and_expected_errors_are_those_of_enumeration(view: AnyView, shares: tuple) -> None:
    """No estimate is better than the medians, whose expected errors are right to 5 % at every region."""
    measurement = measured(view, shares)
    states, masses = enumerated(measurement)
    found = tree_posterior(measurement, MEANS, SHAPE, sweeps=20_000)
    of_cells = np.tensordot(masses, np.abs(states - found.median), 1)
    best = np.array([
        [min(masses @ np.abs(states[:, r, s] - c) for c in range(10)) for s in range(3)] for r in range(6)
    ])  # fmt: skip
    assert of_cells == pytest.approx(best, abs=0.01)
    assert found.expected_error == pytest.approx(of_cells.sum(axis=1), rel=0.05)
    assert max(found.disagreement) < 0.05
    assert (found.median[:, -1] == TREE.sum_up(COUNTS).sum(axis=1)).all()
    assert (np.diff(found.median, axis=1) >= 0).all()


@pytest.mark.parametrize("view", [View.CUMULATIVE, View.RANKED, Split(1), Split(2)], ids=str)
@pytest.mark.parametrize("gaussian", [False, True])
def test_weights_are_the_likelihood(view: AnyView, gaussian: bool) -> None:
    """Summed up over sizes they differ from the law's likelihood by the same constant for all counts."""
    tree, counts = Hierarchy.from_paths([("all",)]), np.array([[1, 2, 0, 2]])
    noise = Noise(view, Rho("1/5")) if gaussian else Geometric(view, "1/2")
    measurement = noise.measure(CountOfCounts(tree, counts, "one"), Seeded("weights"))
    weights, differences = log_weights(measurement, 0), []
    assert weights.shape == (3, 6)
    for a, b, c in product(range(6), repeat=3):
        if a + b + c <= 5:
            row = np.array([a, b, c, 5 - a - b - c])
            of_sizes = weights[np.arange(3), np.cumsum(row)[:-1]].sum()
            differences.append(of_sizes - log_likelihood(measurement, 0, row))
    assert len(differences) > 40
    assert differences == pytest.approx([differences[0]] * len(differences), abs=1e-9)


def test_masses_are_negative_binomial() -> None:
    found = log_masses(MEANS[0], np.full(3, SHAPE), 6)
    for mean, row in zip(MEANS[0], found, strict=True):
        p = mean / (SHAPE + mean)
        of = [lgamma(SHAPE + x) - lgamma(SHAPE) - lgamma(x + 1) + x * log(p) for x in range(7)]
        assert row == pytest.approx(of)


def test_moves_are_made_where_a_slow_chain_makes_them() -> None:
    """Every state of two sweeps of proposals, and how often every cumulative count was seen after a sweep."""
    measurement = measured(View.CUMULATIVE)
    tree = _model(measurement, MEANS, np.full(MEANS.shape, SHAPE))
    moves = _moves(np.ones(MEANS.shape, np.int64), 40, rng_of(5))
    one_by_one = list(zip(*(part.ravel().tolist() for part in moves), strict=True))
    states = naive.metropolis(COUNTS, lambda counts: log_posterior(measurement, counts), one_by_one)
    assert len({state.tobytes() for state in states}) > 20
    state, seen = (
        CountState(COUNTS.copy(), np.cumsum(TREE.sum_up(COUNTS), axis=1)),
        np.zeros(len(tree.weights), np.int64),
    )
    expected = np.zeros(len(seen), np.int64)
    for row in range(len(moves.leaf)):
        run(tree, state, Moves(*(part[row : row + 1] for part in moves)), seen)
        leaves = states[(row + 1) * moves.leaf.shape[1] - 1]
        assert (state.counts == leaves).all()
        everywhere = np.cumsum(TREE.sum_up(leaves), axis=1)
        assert (state.cumulative == everywhere).all()
        for region, (start, groups) in enumerate(zip(tree.start, tree.groups, strict=True)):
            for s in range(2):
                expected[start + s * (groups + 1) + everywhere[region, s]] += 1
    assert (seen == expected).all()


def test_proposals_go_both_ways_equally_often() -> None:
    """Over 200,000 proposals every move within a leaf comes as often as its way back, up to five deviations."""
    moves = _moves(np.array([[3, 0, 1, 2], [1, 1, 0, 0]]), 25_000, rng_of(1))
    found: dict[tuple[int, ...], int] = {}
    for key in zip(*(part.ravel().tolist() for part in moves[:4]), strict=True):
        found[key] = found.get(key, 0) + 1
    assert {leaf for leaf, *_ in found} == {0, 1}
    assert {(a, b) for _, a, b, _ in found} == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert max(k for *_, k in found) == 4, "2 to the power of the fewer digits"
    for (leaf, a, b, k), times in found.items():
        assert abs(times - found.get((leaf, b, a, k), 0)) <= 5 * (2 * times) ** 0.5 + 5


def test_what_cannot_be_used_is_refused() -> None:
    truth = CountOfCounts(TREE, COUNTS, "tiny")
    for noise, words in (
        (Geometric(View.COUNTS, 1), "counts do not weigh cumulative counts alone; measure View.CUMULATIVE"),
        (Geometric(View.CUMULATIVE, 1, totals="root"), "measure with totals='regions'"),
        (Geometric(View.CUMULATIVE, 1, max_sizes=(2, 1, 1)), "measure with one max_size"),
    ):
        with pytest.raises(ProblemError, match=words):
            tree_posterior(noise.measure(truth, Seeded("refused")), MEANS, SHAPE)
    measurement = measured(View.CUMULATIVE)
    for means, shape in ((MEANS[:2], SHAPE), (MEANS * 0, SHAPE), (MEANS, 0), (MEANS, np.ones(7)), (MEANS * np.inf, 1)):
        with pytest.raises(ArgumentError, match="positive numbers, 3 leaves x 3 sizes"):
            tree_posterior(measurement, means, shape)
    with pytest.raises(ArgumentError, match="sweeps=3; give a whole number from 4 up"):
        tree_posterior(measurement, MEANS, SHAPE, sweeps=3)
    large = Geometric(View.CUMULATIVE, 1).measure(CountOfCounts(TREE, COUNTS * 20_000_000, "large"), Seeded("large"))
    with pytest.raises(ArgumentError, match="are more than 50,000,000; give a smaller tree"):
        tree_posterior(large, MEANS, SHAPE)
