"""Cheapest flows of quadratic costs on a network, in real numbers and in integers: arrays in, arrays out.

    minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
    subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,   x[a] >= 0 unless free[a].

M_H with other sizes on every level is such a flow (docs/derivations/m_h_levels.md); so is M_H with the totals of
regions, in integers and in real numbers.

**In real numbers** prices are found by Newton's method, whose steps are solved like electric networks: an arc that
carries something conducts 1 / 2w. Factors without fill-in, exact on trees, make few conjugate gradients enough. In
large networks, where some arc soon ends every step, sets of vertices are balanced in between, one after another.

**In integers** the rounded prices are a start, best those of `nearly_whole`, at which flows prefer integers. Flows are
the cheapest ones at these prices, and every vertex is then off by a few units. They go along shortest paths to where
they are wanted, one by one (successive shortest paths) or all that have paths of the same length at once (a primal-dual
method), which keeps flows the cheapest at prices that change along. At the end flow and prices prove each other.

Files: `network` is the input, `relaxation`, `balance` and `integers` what others call; `newton_kernel`,
`balance_kernel`, `exchange_kernel` (one unit at a time) and `phase_kernel` (many) are their compiled loops.
"""
