"""Prices for integers: sets of vertices that are moved to where they are balanced, against the definition."""

import math

import numpy as np
import pytest
from instances import rng_of
from test_m_h_flow import KINDS, random_problem
from test_m_h_flow_network import network_of

from pgsr.engines.quadratic_flow import balance_kernel
from pgsr.engines.quadratic_flow.balance import Balance, nearly_whole
from pgsr.engines.quadratic_flow.integers import cheapest_flow
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.engines.quadratic_flow.relaxation import relaxed_prices

SHARES = pytest.mark.parametrize("share", [1.0, 0.5, 0.2])


@pytest.mark.few(1)
@SHARES
def test_every_set_is_moved_to_where_it_is_balanced(share):
    """Set by set; one that cannot be balanced, or not in a few tries, moves so that the dual falls."""
    unbalanced = n_sets = 0
    for seed in range(8):
        network = some_network(seed)
        price = some_prices(network, seed)
        balance = Balance(network, share)
        for group, members, firsts in balance.sets:
            for i in range(len(firsts) - 1):
                own, before = members[firsts[i] : firsts[i + 1]], price.copy()
                balance_kernel.balance(*balance.terms, group, members, firsts[i : i + 2], price)
                moves = (price - before)[own]
                assert np.ptp(moves) < 1e-9
                assert (np.delete(price, own) == np.delete(before, own)).all()
                assert dual(network, price, share) <= dual(network, before, share) + 1e-6
                n_sets += 1
                if abs(excess_at(network, price, share)[own].sum()) > 1.1e-3:
                    unbalanced += 1
                    assert abs(excess_at(network, before, share)[own].sum()) > 1e-3
                    assert not np.isclose(moves[0], 0) or cannot_be_balanced(network, price, share, own)
    assert n_sets > 250
    assert unbalanced < 0.05 * n_sets


def test_prices_for_integers_are_nearer_to_the_best_ones():
    """In the dual of the integer problem, which is that of a share near 0, and least at the prices that prove."""
    for seed in range(6):
        network = network_of(random_problem(seed, (3, 3, 3), (20, 20, 20, 3), "leaves", spread_of_y=1))
        real = relaxed_prices(network, None, 1e-6)
        best = dual(network, cheapest_flow(network, np.zeros(network.n_vertices)).price.astype(float), 1e-9)
        tried = real, nearly_whole(network, real)
        above = [dual(network, np.rint(price), 1e-9) - best for price in tried]
        assert 0.8 * above[0] > above[1] > -1e-6, above


def some_network(seed: int) -> FlowNetwork:
    return network_of(random_problem(seed, (2, 3, 2), (7, 4, 4, 2), KINDS[seed % 4]))


def some_prices(network: FlowNetwork, seed: int) -> np.ndarray:
    return np.append(0.0, rng_of(seed).uniform(-30, 30, network.n_vertices - 1))


def cannot_be_balanced(network, price, share, own) -> bool:
    """Tell whether the set has something left over, or lacks something, however far it is moved."""
    off = []
    for move in (-1e6, 1e6):
        moved = price.copy()
        moved[own] += move
        off.append(excess_at(network, moved, share)[own].sum())
    return bool(off[0] * off[1] > 0)


def excess_at(network, price: np.ndarray, share: float) -> np.ndarray:
    excess = network.supply.astype(float)
    for start, end, y, w, free in zip(network.start, network.end, network.y, network.w, network.free, strict=True):
        flow = y + (price[end] - price[start]) / (2 * w)
        whole = math.floor(flow)
        flow = whole + min(1.0, max(0.0, 0.5 + (flow - whole - 0.5) / share))
        flow = flow if free else max(0.0, flow)
        excess[start] -= flow
        excess[end] += flow
    return excess


def dual(network, price: np.ndarray, share: float) -> float:
    """Add up what all arcs carry, from payment 0 to their own: k^2 / 2 up to k, and then the ramp to k + 1."""
    value = float(price @ network.supply)
    for start, end, y, w, free in zip(network.start, network.end, network.y, network.w, network.free, strict=True):
        flow = y + (price[end] - price[start]) / (2 * w)
        flow = flow if free else max(0.0, flow)
        whole = math.floor(flow)
        part, low, high = flow - whole, 0.5 - share / 2, 0.5 + share / 2
        ramp = (min(max(part, low), high) - low) ** 2 / (2 * share) + max(0.0, part - high)
        value += 2 * w * (whole**2 / 2 + whole * part + ramp)
    return value
