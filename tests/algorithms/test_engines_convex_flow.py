"""Cheapest flows of convex costs between bounds, and sums as the arcs of a network, beside exhaustive search."""

from itertools import product

import numpy as np
import pytest
from instances import rng_of, scale
from scipy import sparse

from pgsr.engines.convex_flow.network import FREE, ConvexFlow, ConvexNetwork, Cut, FarFlow
from pgsr.engines.convex_flow.sets import SetArcs, two_families
from pgsr.engines.losses import loss


def random_network(rng, norm):
    """A network of a few arcs between narrow bounds, of which some have none that fits."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    start = rng.integers(0, n, m)
    end = (start + rng.integers(1, n, m)) % n
    lower = rng.integers(-2, 2, m)
    network = ConvexNetwork(start, end, rng.integers(-4, 5, m), rng.integers(0, 4, m), norm, n)
    return network, lower, lower + rng.integers(0, 4, m)


def best_of_all(network, lower, upper):
    """The least cost by trying every flow; None if none balances."""
    best = None
    for x in product(*[range(a, b + 1) for a, b in zip(lower, upper, strict=True)]):
        into = np.bincount(network.end, x, network.n_vertices) - np.bincount(network.start, x, network.n_vertices)
        if not into.any():
            cost = int((network.w * loss(np.array(x) - network.y, network.norm)).sum())
            best = cost if best is None else min(best, cost)
    return best


@pytest.mark.parametrize("norm", [1, 2])
def test_equals_exhaustive_search_and_proves_itself(norm):
    rng, flows, cuts = rng_of(1), 0, 0
    for _ in range(scale(120, 2000)):
        network, lower, upper = random_network(rng, norm)
        best, found = best_of_all(network, lower, upper), network.cheapest(lower, upper)
        assert network.is_proved(lower, upper, found)
        if best is None:
            assert isinstance(found, Cut)
            cuts += 1
            continue
        assert isinstance(found, ConvexFlow)
        assert network.cost(found.x) == best
        tighter = np.maximum(lower, rng.integers(-2, 2, len(lower)))
        again = network.cheapest(tighter, upper, found)
        assert network.is_proved(tighter, upper, again)
        least = best_of_all(network, tighter, upper)
        assert isinstance(again, Cut) if least is None else network.cost(again.x) == least
        flows += 1
    assert min(flows, cuts) > 20


def test_wrong_flows_prices_and_cuts_are_not_proved():
    """Every arc has a strictly convex cost, so another flow is worse; a cut is one for some bounds alone."""
    rng, refuted = rng_of(2), 0
    for _ in range(scale(60, 600)):
        network, lower, upper = random_network(rng, 2)
        network = ConvexNetwork(network.start, network.end, network.y, network.w + 1, 2, network.n_vertices)
        found = network.cheapest(lower, upper)
        if isinstance(found, Cut):
            assert not network.is_proved(lower - 100, upper + 100, found)
            assert not network.is_proved(lower, upper, Cut(np.zeros(network.n_vertices, bool))) or (lower > upper).any()
            continue
        for change in np.eye(len(lower), dtype=np.int64):
            assert not network.is_proved(lower, upper, ConvexFlow(found.x + change, found.price))
        for x in product(*[range(a, b + 1) for a, b in zip(lower, upper, strict=True)]):
            if network.cost(np.array(x)) > network.cost(found.x):
                assert not network.is_proved(lower, upper, ConvexFlow(np.array(x), found.price))
                refuted += 1
    assert refuted > 100


def test_many_units_and_far_numbers():
    """Two ways of quadratic cost share 10^12 units evenly; slopes that may leave 64 bits are refused."""
    network = ConvexNetwork(*np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 0]]), 2, 2)
    n = 10**12
    found = network.cheapest(np.array([0, 0, n]), np.array([FREE, FREE, n]))
    assert found.x.tolist() == [n // 2, n // 2, n]
    assert network.cost(found.x) == n * n // 2
    heavy = ConvexNetwork(*np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [2**40, 1, 0]]), 2, 2)
    assert isinstance(heavy.cheapest(np.array([0, 0, n]), np.array([FREE, FREE, n])), FarFlow)


def overlap(a, b):
    return bool((a & b).any() and (a & ~b).any() and (b & ~a).any())


def test_two_families_are_found_where_there_are_two():
    rng, networks, none = rng_of(3), 0, 0
    for _ in range(scale(200, 3000)):
        sets = rng.random((int(rng.integers(1, 7)), int(rng.integers(1, 6)))) < 0.5
        sets[np.arange(len(sets)), rng.integers(0, sets.shape[1], len(sets))] = True
        pairs = [(i, j) for i in range(len(sets)) for j in range(i) if overlap(sets[i], sets[j])]
        possible = any(all(c[i] != c[j] for i, j in pairs) for c in product((0, 1), repeat=len(sets)))
        found = two_families(sparse.csr_array(sets.astype(np.int64)))
        assert isinstance(found, SetArcs) == possible
        if not isinstance(found, SetArcs):
            none += 1
            continue
        parts = rng.integers(-9, 10, sets.shape[1])
        x = np.full(len(found.start), 10**6)
        x[: len(parts)] = parts
        x[found.arc] = sets @ parts
        into = np.bincount(found.end, x, found.n_vertices) - np.bincount(found.start, x, found.n_vertices)
        assert not into.any(), "every arc carries the sum of its set"
        networks += 1
    assert min(networks, none) > 10
