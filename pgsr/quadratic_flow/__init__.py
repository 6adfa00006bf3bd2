"""Cheapest flows of quadratic costs on a network, in real numbers and in integers: arrays in, arrays out.

    minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
    subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,   x[a] >= 0 unless free[a].

M_H with other sizes on every level is such a flow (docs/sizes_per_level.md), and so is M_H with every region's total.

**In real numbers** prices are found by Newton's method, whose steps are solved like electric networks: an arc that
carries something conducts 1 / 2w. Factors without fill-in, exact on trees, make few conjugate gradients enough.

**In integers** the rounded prices are a start. Flows are the cheapest ones at these prices, and every vertex is then
off by a few units; each of them goes along a shortest path to where it is wanted (successive shortest paths), which
keeps flows the cheapest at prices that change along. At the end flow and prices prove each other.

Files: `network` is the input, `relaxed` and `integers` what others call, `newton_kernel` and `exchange_kernel` their
compiled loops.
"""

from pgsr.quadratic_flow.integers import Flow, cheapest_flow
from pgsr.quadratic_flow.network import Network
from pgsr.quadratic_flow.relaxed import LEAST_TIE, MOST_TIE, relaxed_prices

__all__ = ["LEAST_TIE", "MOST_TIE", "Flow", "Network", "cheapest_flow", "relaxed_prices"]
