"""The compiled loops of `network`: a flow between bounds is balanced along shortest paths, many units at a time first.

    arcs[a]     the flow x[a], y[a], w[a], the largest slope of its loss, lower[a] and upper[a]; int64
    price[v]    int64
    excess[v]   inflow - outflow

    around      the arrays (start, end, first, arc): arcs |arc[first[v]]| - 1 .. |arc[first[v + 1] - 1]| - 1 start at
                vertex v where the number is positive, and end there where it is negative

In steps of `step` units, a power of two, the unit price of the next step on an arc is the slope of its loss in the
step's middle. It grows from step to step since the loss is convex, and for single units it is exactly what one more
costs. An arc is *the cheapest* at prices where no step up or down that its bounds allow costs less than it is paid,
price[end] - price[start]; so all lengths of steps are 0 or more, and stay so, where prices change by what vertices
nearer than D lack to D.
"""

import numpy as np

from pgsr.engines.quadratic_flow.exchange_kernel import pop, push
from pgsr.machine.compilation import compiled, inlined

NEVER = 2**62
"""The distance of what has not been seen."""


@compiled
def balance(around, arcs, price, excess, reached):
    """Balance all vertices at least cost; returns whether that is possible.

    Args:
        arcs: flows within their bounds, each the cheapest at these prices.
        reached: is set to 1 for the vertices from which, at last, units could go on; without a way they are a cut.
    """
    start, end, _, _ = around
    _count(start, end, arcs, excess)
    most = np.int64(0)
    for v in range(len(excess)):
        most = max(most, abs(excess[v]))
    step = np.int64(1)
    while 2 * step <= most:
        step *= 2
    while True:
        for a in range(len(start)):
            _settle(arcs, a, price[end[a]] - price[start[a]], step)
        _count(start, end, arcs, excess)
        while _augment(around, arcs, price, excess, reached, step):
            pass
        if step == 1:
            break
        step //= 2
    for v in range(len(excess)):
        if excess[v] != 0:
            return False
    return True


@compiled
def _count(start, end, arcs, excess):
    excess[:] = 0
    for a in range(len(start)):
        excess[end[a]] += arcs[a, 0]
        excess[start[a]] -= arcs[a, 0]


@inlined
def slope(arcs, a, x, step):
    """Give the unit price of the step from x to x + step."""
    y, w, bend = arcs[a, 1], arcs[a, 2], arcs[a, 3]
    return w * min(max(2 * (x - y) + step, -bend), bend)


@compiled
def _settle(arcs, a, paid, step):
    """Move an arc by steps until it is the cheapest at what it is paid; after steps twice as long by one at most."""
    while arcs[a, 0] + step <= arcs[a, 5] and slope(arcs, a, arcs[a, 0], step) < paid:
        arcs[a, 0] += step
    while arcs[a, 0] - step >= arcs[a, 4] and slope(arcs, a, arcs[a, 0] - step, step) > paid:
        arcs[a, 0] -= step


@compiled
def _augment(around, arcs, price, excess, reached, step):
    """Send a step from a vertex with so much left over to the nearest that lacks so much; returns whether it was."""
    start, end, first, arc = around
    n = len(price)
    distance, via = np.full(n, NEVER, np.int64), np.zeros(n, np.int64)
    reached[:] = 0
    key, rank = np.empty(256, np.int64), np.empty(256, np.int64)
    n_heap = 0
    for v in range(n):
        if excess[v] >= step:
            distance[v] = 0
            key, rank = push(key, rank, n_heap, np.int64(0), np.int64(v))
            n_heap += 1
    found = np.int64(-1)
    while n_heap > 0:
        here, v = key[0], rank[0]
        n_heap = pop(key, rank, n_heap)
        if reached[v]:
            continue
        reached[v] = 1
        if excess[v] <= -step:
            found = v
            break
        for i in range(first[v], first[v + 1]):
            if arc[i] > 0:
                a = arc[i] - 1
                if arcs[a, 0] + step > arcs[a, 5]:
                    continue
                to = np.int64(end[a])
                length = slope(arcs, a, arcs[a, 0], step) - (price[to] - price[v])
            else:
                a = -arc[i] - 1
                if arcs[a, 0] - step < arcs[a, 4]:
                    continue
                to = np.int64(start[a])
                length = -slope(arcs, a, arcs[a, 0] - step, step) - (price[to] - price[v])
            if reached[to] == 0 and here + length < distance[to]:
                distance[to], via[to] = here + length, arc[i]
                key, rank = push(key, rank, n_heap, here + length, to)
                n_heap += 1
    if found < 0:
        return False
    far = distance[found]
    for v in range(n):
        if reached[v]:
            price[v] -= far - distance[v]
    v = found
    excess[v] += step
    while via[v] != 0:
        a = abs(via[v]) - 1
        if via[v] > 0:
            arcs[a, 0] += step
            v = np.int64(start[a])
        else:
            arcs[a, 0] -= step
            v = np.int64(end[a])
    excess[v] -= step
    return True
