"""The compiled loops of `relaxation`: Newton's method for the prices of a flow of quadratic costs.

Arguments that occur everywhere (the docstring of `pgsr.engines.quadratic_flow` explains them):

    start[a], end[a]   the vertices of arc a, int32; arcs are sorted by start, and start > end but for arcs from 0
    first[v]           arcs first[v] .. first[v + 1] - 1 start at vertex v
    y[a], w[a]         the arc carries y + (price[end] - price[start]) / 2w
    free[a]            whether that may be less than 0
    price[v]           of a vertex; that of vertex 0, the ground, is 0 and stays so
    c[a]               the conductance: 1 / 2w where the arc is free or carries something, else 0

    tie[v]             a tiny conductance from vertex v to the ground, so that no part of the network floats

The system of a Newton step is that of an electric network, L z = r with z = 0 at the ground. It is solved by conjugate
gradients (`pgsr.engines.newton`), preconditioned on two levels: the network with incomplete factors, and the coarse
network of its aggregates (`Network.aggregate`), whose arrays have the same names with `coarse_` before them.
"""

import numpy as np

from pgsr.machine.compilation import compiled


@compiled
def demand(start, end, y, w, free, price, supply, c, excess):
    """Compute conductances and excesses, inflow - outflow + supply of every vertex, at these prices."""
    # What enters from outside, then arc by arc what flows from its start to its end.
    for v in range(len(excess)):
        excess[v] = supply[v]
    for a in range(len(start)):
        u, v = start[a], end[a]
        c[a] = 0.5 / w[a]
        flow = y[a] + c[a] * (price[v] - price[u])
        # At its lower bound an arc carries and conducts nothing.
        if flow <= 0.0 and not free[a]:
            flow = 0.0
            c[a] = 0.0
        excess[v] += flow
        excess[u] -= flow
    excess[0] = 0.0


@compiled
def factorise(first, end, c, tie, keep, pivot):
    """Eliminate vertices from the last to the first without fill-in; `pivot` is the diagonal of the factors.

    Eliminating a vertex connects all those at which its arcs end. These entries off the diagonal are dropped. On a tree
    there are none, and the factors are exact. If `keep`, they are added to the diagonal, which keeps the sums of rows:
    then the factors know how the network as a whole is tied to the ground.
    """
    n = len(pivot)
    # The diagonal of L: the tie and the conductances of all arcs at a vertex.
    for v in range(n):
        pivot[v] = tie[v]
    for u in range(n):
        for a in range(first[u], first[u + 1]):
            pivot[end[a]] += c[a]
            pivot[u] += c[a]
    # Eliminate u: where an arc of it ends, the diagonal falls by c^2 / pivot, or by c times all that u conducts.
    for u in range(n - 1, 0, -1):
        pivot[u] = max(pivot[u], tie[u])  # which it is but for rounding
        upward = 0.0
        for a in range(first[u], first[u + 1]):
            upward += c[a]
        for a in range(first[u], first[u + 1]):
            pivot[end[a]] -= c[a] * (upward if keep else c[a]) / pivot[u]


@compiled
def solve(first, end, c, pivot, r, z):
    """Solve with the factors: z = (their product)^-1 r."""
    n = len(pivot)
    for v in range(n):  # assigning an array to a slice takes four seconds to compile
        z[v] = r[v]
    # Backwards through the vertices: what comes in at u passes on to where its arcs end.
    for u in range(n - 1, 0, -1):
        share = z[u] / pivot[u]
        for a in range(first[u], first[u + 1]):
            z[end[a]] += c[a] * share
    z[0] = 0.0
    # Forwards: the price of u from those at which its arcs end.
    for u in range(1, n):
        total = z[u]
        for a in range(first[u], first[u + 1]):
            total += c[a] * z[end[a]]
        z[u] = total / pivot[u]


@compiled
def precondition(first, end, c, pivot, aggregate, coarse_first, coarse_end, coarse_c, coarse_pivot, r, z):
    """Add up what the factors say of single vertices, and what those of the coarse network say of whole aggregates."""
    # F^-1 r of the vertices, and P C^-1 P' r of the aggregates.
    solve(first, end, c, pivot, r, z)
    total, move = np.zeros(len(coarse_pivot)), np.empty(len(coarse_pivot))
    for v in range(len(r)):
        total[aggregate[v]] += r[v]
    solve(coarse_first, coarse_end, coarse_c, coarse_pivot, total, move)
    for v in range(len(r)):
        z[v] += move[aggregate[v]]


@compiled
def multiply(first, end, c, tie, z, out):
    """Compute out = L z; return z . out."""
    n = len(z)
    for v in range(n):
        out[v] = tie[v] * z[v]
    for u in range(n):
        for a in range(first[u], first[u + 1]):
            flow = c[a] * (z[u] - z[end[a]])
            out[u] += flow
            out[end[a]] -= flow
    out[0] = 0.0
    return inner(z, out)


@compiled
def advance(first, end, c, pivot, aggregate, coarse_first, coarse_end, coarse_c, coarse_pivot, step, p, product, z, r):
    """Do z += step p and r -= step `product`, precondition r into `product`; return their inner product."""
    for v in range(len(z)):
        z[v] += step * p[v]
        r[v] -= step * product[v]
    precondition(first, end, c, pivot, aggregate, coarse_first, coarse_end, coarse_c, coarse_pivot, r, product)
    return inner(r, product)


@compiled
def inner(a, b):
    """Compute the inner product; unlike `np.dot` it starts no threads."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
