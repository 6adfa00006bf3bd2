"""Other authors' mechanisms: privacy on all small worlds, and what their papers say of them."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest
from instances import rng_of

from pgsr import Status
from pgsr.experiments.engine.experiment import Cell, Trial
from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals import (
    cyclic_laplace,
    dyadic_ranges,
    james_stein,
    labelled_groups,
    partitions,
    priv_hist,
    privelet,
)
from pgsr.experiments.others.rivals.leaves import Additive, whole
from pgsr.experiments.ours.benchmark.arms import ARMS
from pgsr.experiments.ours.benchmark_data.census import SMALL
from pgsr.privacy.laws.double_geometric import DoubleGeometric
from pgsr.privacy.random import Seeded, StreamId

ADDITIVE = [module.MECHANISM for module in (cyclic_laplace, dyadic_ranges, james_stein, labelled_groups, privelet)]
EVERY = [*ADDITIVE, partitions.MECHANISM, priv_hist.MECHANISM]


def worlds(groups: int, max_size: int) -> Iterator[np.ndarray]:
    """All counts of sizes 0..K with this number of groups."""
    for counts in product(range(groups + 1), repeat=max_size + 1):
        if sum(counts) == groups:
            yield np.array(counts)


def neighbours(counts: np.ndarray) -> Iterator[np.ndarray]:
    """All counts with one entity more."""
    for s in np.flatnonzero(counts[:-1]):
        more = counts.copy()
        more[s] -= 1
        more[s + 1] += 1
        yield more


def partitions_law(counts: np.ndarray, epsilon: float) -> dict[tuple[int, ...], float]:
    """The exponential mechanism on all counts with the same number of groups, by its definition."""
    truth = np.cumsum(counts)
    weights = {
        tuple(other.tolist()): exp(-epsilon / 2 * int(np.abs(np.cumsum(other) - truth).sum()))
        for other in worlds(int(counts.sum()), len(counts) - 1)
    }
    total = sum(weights.values())
    return {other: weight / total for other, weight in weights.items()}


def streams(n: int, name: str, replicate: int = 0):
    return [Seeded("rivals", replicate).stream(StreamId(name, "test", 1, (str(i),))) for i in range(n)]


@pytest.mark.parametrize("mechanism", ADDITIVE, ids=lambda m: m.name)
@pytest.mark.parametrize("max_size", [1, 2, 3, 4, 6])
def test_sensitivities_by_enumeration(mechanism: Additive, max_size: int) -> None:
    """In L1, over all neighbours: exactly what the noise is made for; for labels, over all labellings, one size."""
    apart = [
        int(np.abs(mechanism.query(counts) - mechanism.query(more)).sum())
        for counts in worlds(3, max_size)
        for more in neighbours(counts)
    ]
    assert max(apart) == mechanism.sensitivity(max_size)
    assert mechanism.law(Fraction(1, 3), max_size).scale == 3 * mechanism.sensitivity(max_size)


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: m.name)
def test_a_release_has_the_public_numbers_of_groups(mechanism) -> None:
    counts = np.array([[0, 50, 20, 9, 4, 1, 0, 0, 1], [0] * 9, [0, 0, 0, 0, 0, 0, 0, 0, 3], [7] + [0] * 8])
    for epsilon in (Fraction(1, 10), Fraction(2)):
        released = mechanism.release(counts, epsilon, streams(4, mechanism.name))
        assert released.dtype.kind == "i"
        assert (released >= 0).all()
        assert released.sum(axis=1).tolist() == counts.sum(axis=1).tolist()
    near = mechanism.release(counts[:1], Fraction(10_000), streams(1, mechanism.name))
    assert near.tolist() == counts[:1].tolist()


def cyclic_law(counts: np.ndarray, outputs: np.ndarray, epsilon: float) -> np.ndarray:
    """P(h' = outputs): L is known from h' up to a number t that all have in common, so sum over t."""
    shift = np.concatenate([[0], np.cumsum(outputs - counts)[:-1]])  # L[i] = L[0] - shift[i]
    t = np.arange(-100, 101)[:, None]
    return np.exp(DoubleGeometric(1 / Fraction(epsilon)).log_pmf(t - shift).sum(axis=1)).sum()


def test_law_of_cyclic_noise() -> None:
    """The law over whole histograms of either sign is a law, epsilon-DP, and no less private than that."""
    epsilon, counts, largest = 0.5, np.array([2, 1, 0]), 0.0
    seen = [np.array([a, b, 3 - a - b]) for a in range(-40, 41) for b in range(-40, 41)]
    assert sum(cyclic_law(counts, h, epsilon) for h in seen) == pytest.approx(1, abs=1e-6)
    for h in seen[::47]:
        here = cyclic_law(counts, h, epsilon)
        for more in neighbours(counts):
            largest = max(largest, abs(np.log(here / cyclic_law(more, h, epsilon))))
    assert 0.95 * epsilon < largest <= epsilon * (1 + 1e-9)


def test_cyclic_noise_is_hc_and_one_number_more() -> None:
    """Its sums are noisy cumulative counts with L[0] - L[s + 1] for noise; cut-off and scaling are those of `whole`."""
    counts = np.array([3, 9, 4, 1, 0, 2])
    noise = np.zeros(6, np.int64)
    DoubleGeometric(Fraction(2)).add_to(noise, streams(1, "cyclic")[0])
    raw = cyclic_laplace.differenced(cyclic_laplace.query(counts) + noise, counts.sum())
    assert np.cumsum(raw).tolist() == [*(np.cumsum(counts)[:-1] + noise[1:] - noise[0]), counts.sum()]
    expected = whole(raw[None].astype(float), counts.sum(keepdims=True))
    released = cyclic_laplace.MECHANISM.release(counts[None], Fraction(1, 2), streams(1, "cyclic"))
    assert released.tolist() == expected.tolist()


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.cumsum(one - other)).sum())


def mean_distance(mechanism: Additive, counts: np.ndarray, epsilon: Fraction, replicates: int = 40) -> float:
    """The mean earth mover's distance of estimates that are cut off and scaled, as the paper compares them."""
    many = np.tile(counts, (replicates, 1))
    released = mechanism.release(many, epsilon, streams(replicates, mechanism.name))
    return float(np.mean([distance(row, counts) for row in released]))


def test_cyclic_noise_beats_histogram_noise_and_privelet() -> None:
    """Figure 3 of Kohli and Laskowski 2026: errors by the earth mover's distance, least for the cyclic noise.

    As there, negative counts are cut off after all three, and the rest is scaled.
    """

    def clipped(noisy, groups, max_size, law):
        return np.array([privelet.inverse(y, int(n), max_size) for y, n in zip(noisy, groups, strict=True)])

    plain = Additive("plain", np.array, lambda max_size: 2, lambda noisy, groups, max_size, law: np.array(noisy, float))
    haar = replace(privelet.MECHANISM, estimate=clipped)
    for max_size in (20, 50, 100):
        sizes = np.arange(max_size + 1)
        counts = np.rint(100_000 * np.exp(-((sizes - max_size / 3) ** 2) / (max_size / 4) ** 2) / max_size).astype(int)
        cyclic, histogram, wavelets = (
            mean_distance(each, counts, Fraction(1)) for each in (cyclic_laplace.MECHANISM, plain, haar)
        )
        assert cyclic < histogram, max_size
        assert cyclic < wavelets, max_size


def test_privelet_keeps_the_variance_of_its_lemma() -> None:
    """The exact variance of every range of sizes is at most (2 + h) lambda^2, and the inverse is one."""
    for h in (1, 2, 4, 6):
        m = 2**h
        counts = np.arange(m) % 5
        assert privelet.inverse(privelet.query(counts), counts.sum(), m - 1).tolist() == counts.tolist()
        reaction = np.array([privelet.inverse(unit, 0, m - 1) for unit in np.eye(m - 1)])
        prefix = np.concatenate([np.zeros((m - 1, 1)), np.cumsum(reaction, axis=1)], axis=1)
        ranges = prefix[:, None, :] - prefix[:, :, None]
        assert 2 * (ranges**2).sum(axis=0).max() <= 2 + h  # Laplace noise of scale 1 has the variance 2


def test_halves_are_nearest() -> None:
    for total, left, right in product(range(5), range(-3, 7), range(-3, 7)):
        x = int(dyadic_ranges.halves(np.array([total]), np.array([left]), np.array([right]))[0])
        away = [max(abs(z - left), abs(total - z - right)) for z in range(total + 1)]
        assert away[x] == min(away)


def test_shrinkage_gains_by_squares() -> None:
    """Normal noise of variance 4, a fixed target at any distance: squares are less, as James and Stein say."""
    generator = rng_of(1)
    for away in (0.0, 1.0, 3.0, 20.0):
        truth = np.full((4_000, james_stein.BLOCK), away)
        noisy = truth + generator.normal(0, 2, truth.shape)
        better = james_stein.shrunk(noisy, np.zeros_like(truth), 4.0)
        gain = ((noisy - truth) ** 2 - (better - truth) ** 2).sum(axis=1)
        assert gain.mean() > 3 * gain.std() / len(gain) ** 0.5 > 0, away


def test_the_filter_inverts_the_noise() -> None:
    """Expected cumulative counts, computed from the law of the noise exactly, are the true ones."""
    law, a, counts = DoubleGeometric(Fraction(3, 2)), exp(-2 / 3), np.array([2, 0, 3, 1, 0, 4])
    reach = np.arange(-150, 151)
    masses = np.exp(law.log_pmf(reach))
    expected = np.zeros(5)
    for size, n in enumerate(counts):
        for k, mass in zip(reach, masses, strict=True):
            expected += n * mass * labelled_groups.unbiased(np.array([size + k]), 5, a)
    assert expected == pytest.approx(np.cumsum(counts)[:-1], abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.4, 1.5])
def test_partitions_by_enumeration(epsilon: float) -> None:
    """The chain's law equals the definition on every world, is epsilon-DP, and has all partitions in the box."""
    for counts in worlds(3, 3):
        law = partitions_law(counts, epsilon)
        assert len(law) == comb(6, 3)
        starts, sums = partitions.forward(counts, epsilon)
        for released, mass in law.items():
            assert chain_mass(starts, sums, np.cumsum(released)) == pytest.approx(mass, rel=1e-9)
        losses = [
            abs(np.log(mass / partitions_law(more, epsilon)[released]))
            for more in neighbours(counts)
            for released, mass in law.items()
        ]
        assert max(losses, default=0) <= epsilon * (1 + 1e-9)


def chain_mass(starts: np.ndarray, sums: list[np.ndarray], cumulative: np.ndarray) -> float:
    """The probability of a release by the backward draws."""
    mass = 1.0
    for s in range(len(sums)):
        here, below = int(cumulative[s] - starts[s]), min(int(cumulative[s + 1] - starts[s]), len(sums[s]) - 1)
        mass *= (sums[s][here] - (sums[s][here - 1] if here else 0.0)) / sums[s][below]
    return mass


def test_draws_of_partitions_have_their_law() -> None:
    counts, generator, draws = np.array([1, 1, 0, 1]), rng_of(3), 4_000
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        found = tuple(partitions.draw(counts, 0.8, generator).tolist())
        seen[found] = seen.get(found, 0) + 1
    law = partitions_law(counts, 0.8)
    chi = sum((seen.get(each, 0) - draws * mass) ** 2 / (draws * mass) for each, mass in law.items())
    assert chi < 45  # 19 degrees of freedom: beyond with probability 0.0007


def test_partitions_grow_as_conjectured() -> None:
    """Blocki 2019 conjectures an L1 error of sqrt(N / epsilon); one group has each size 1..n: N = n (n + 1) / 2."""
    generator = rng_of(4)
    for n, epsilon in product((50, 200), (2.0, 0.5, 0.1)):
        counts = np.array([0] + [1] * n + [0] * (n // 2))
        errors = [distance(partitions.draw(counts, epsilon, generator), counts) for _ in range(8)]
        assert 0.7 < np.mean(errors) / (n * (n + 1) / 2 / epsilon) ** 0.5 < 1.7, (n, epsilon)


def test_one_entity_changes_one_value_of_priv_hist_by_one() -> None:
    """Whatever the noisy number of entities says of ranges, and of where ranks begin and how many there are."""
    for counts in worlds(3, 6):
        for more in neighbours(counts):
            for members, epsilon in ((1, 0.5), (4, 0.1), (9, 0.02)):
                ends = priv_hist.edges(6, members, epsilon)
                apart = np.abs(priv_hist.sums(more, ends) - priv_hist.sums(counts, ends))
                assert (apart.sum(), ends[-1]) == (1, 6)
            parts = [np.abs(priv_hist.cut(more, *at) - priv_hist.cut(counts, *at)).sum() for at in ((2, 1), (2, 3))]
            assert parts[0] <= parts[1] == 1


def test_errors_of_priv_hist_grow_as_proved() -> None:
    """Like (N log(1 / epsilon) / epsilon)^(1/2), where all sizes occur; below 1 with sizes at ends of ranges."""
    for n, epsilon in product((50, 200), (Fraction(1, 10), Fraction(1, 40))):
        counts = np.array([0] + [1] * n + [0] * (n // 2))
        released = priv_hist.MECHANISM.release(np.tile(counts, (8, 1)), epsilon, streams(8, "growth"))
        bound = (n * (n + 1) / 2 * np.log(float(1 / epsilon)) / epsilon) ** 0.5
        assert 0.4 < np.mean([distance(row, counts) for row in released]) / bound < 1.6, (n, epsilon)
        assert ((released > 0).sum(axis=1) < n / 2).all()


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.label)
def test_arms_release_a_hierarchy(arm: Competitor) -> None:
    """The release is consistent, has all public totals, and repeats exactly."""
    trial = Trial(Cell("B1", SMALL.name, Fraction(1), 0, arm.label), arm, SMALL, SMALL.toy(), "test", 60)
    result = arm.release(trial)
    assert result.status is Status.FEASIBLE, result.reason
    again = arm.release(trial).answer
    assert result.answer is not None
    assert again is not None
    assert (result.answer.values == again.values).all()
