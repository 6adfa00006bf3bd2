"""The loop that makes real cumulative counts below a region integers, by cancelling cycles; see `absolute_integers`."""

import math

import numpy as np

from pgsr.machine.compilation import compiled, inlined

NEAR = 1e-7
"""Parts this close to 0, to 1 or to each other are equal."""

EXACT = 1e-9
"""The same of parts after a move, which differ by rounding alone."""

OF_PARENT = -1
"""The row of an edge that is a cell of the parent's own values."""

HELD_COST = 1e12
"""The cost of a unit of the root's last cell, where that is public."""


@compiled
def cancel_cycles(x, y, weight, above, above_y, above_weight, held, allowed, finish):
    """Move the rows of x, children of one region, towards integers; they stay monotone, and within floor and ceiling.

    x: real, (m, n), changed in place; y: integers, (m, n); weight: (m,). above: the region's own values, sums of x, and
    those of the regions above it up to the root, (depth, n), changed in place; above_y, above_weight: likewise. `held`:
    the root's last cell has to stay. A move that costs more than `allowed` is left out; with `finish` what is left in
    the end is rounded, otherwise it stays real. Returns the number of moves.

    Edges are runs [first, last) of equal parts of a row, and single cells of the region: base + part is the value.
    """
    m, n = x.shape
    most = n
    for l in range(m):
        for i in range(n):
            most += x[l, i] != math.floor(x[l, i])
    size = 2 * most + 1  # an event removes an edge, or replaces two by one
    row, first, last = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    base, part, slope = np.empty(size), np.empty(size), np.empty(size)
    state, sign = np.zeros(size, np.int8), np.zeros(size, np.int64)  # state: 0 gone, 1 waiting, 2 in the forest
    edge_of = np.full((m, n), -1, np.int64)
    count = find_edges(x, y, weight, above, above_y, above_weight, held, row, first, last, base, part, slope, edge_of)
    state[:count] = 1
    waiting = np.empty(size, np.int64)
    n_waiting = count
    for e in range(count):
        waiting[e] = e
    head, following, before = np.full(n + 1, -1, np.int64), np.empty(2 * size, np.int64), np.empty(2 * size, np.int64)
    via, seen, stack = np.empty(n + 1, np.int64), np.full(n + 1, -1, np.int64), np.empty(n + 1, np.int64)
    cycle = np.empty(n + 2, np.int64)
    moves, tick = 0, 0
    while n_waiting > 0:
        n_waiting -= 1
        e = waiting[n_waiting]
        if state[e] != 1:
            continue
        tick += 1
        if not find_path(first[e], last[e], first, last, head, following, via, seen, stack, tick):
            link(e, first[e], last[e], head, following, before)
            state[e] = 2
            continue
        length = close_cycle(e, first, last, via, sign, cycle)
        up, up_cost = step(1, cycle, length, sign, row, first, last, base, part, slope, edge_of,
                           above, above_y, above_weight, held)  # fmt: skip
        down, down_cost = step(-1, cycle, length, sign, row, first, last, base, part, slope, edge_of,
                               above, above_y, above_weight, held)  # fmt: skip
        if min(up_cost, down_cost) > allowed:
            sign[cycle[:length]] = 0
            continue  # e stays as it is, and out of the forest
        moves += 1
        moved = up if up_cost <= down_cost else -down
        for k in range(length):
            f = cycle[k]
            if row[f] == OF_PARENT:
                part[f] -= sign[f] * moved
                for a in range(len(above)):
                    above[a, first[f]] -= sign[f] * moved
            else:
                part[f] += sign[f] * moved
            sign[f] = 0
        for k in range(length):
            f = cycle[k]
            if EXACT < part[f] < 1.0 - EXACT:
                continue
            if state[f] == 2:
                unlink(f, first[f], last[f], head, following, before)
            state[f] = 0
            if row[f] != OF_PARENT:
                for i in range(first[f], last[f]):
                    x[row[f], i] = base[f] + round(part[f])
                    edge_of[row[f], i] = -1
        for k in range(length):
            f = cycle[k]
            while state[f] > 0 and row[f] != OF_PARENT:
                g = equal_neighbour(f, row, first, last, base, part, edge_of)
                if g < 0:
                    break
                for h in (f, g):
                    if state[h] == 2:
                        unlink(h, first[h], last[h], head, following, before)
                    state[h] = 0
                row[count], base[count], part[count] = row[f], base[f], part[f]
                first[count], last[count] = min(first[f], first[g]), max(last[f], last[g])
                slope[count], state[count] = slope[f] + slope[g], 1
                edge_of[row[f], first[count] : last[count]] = count
                f = count
                count += 1
            if state[f] == 1:
                waiting[n_waiting] = f
                n_waiting += 1
    for e in range(count):
        if state[e] > 0 and row[e] != OF_PARENT:
            for i in range(first[e], last[e]):
                x[row[e], i] = base[e] + (np.rint(part[e]) if finish else part[e])
    return moves


@compiled
def find_edges(x, y, weight, above, above_y, above_weight, held, row, first, last, base, part, slope, edge_of):
    """Fill in the edges; returns how many. slope[e] = what a unit more of the edge costs its row, or the region."""
    m, n = x.shape
    count = 0
    for l in range(m):
        i = 0
        while i < n:
            value, start = x[l, i], i
            fractional = value != math.floor(value)
            cost = 0.0
            while i < n and x[l, i] == value:
                cost += weight[l] if value > y[l, i] else -weight[l]
                if fractional:
                    edge_of[l, i] = count
                i += 1
            if fractional:
                row[count], first[count], last[count], slope[count] = l, start, i, cost
                base[count], part[count] = math.floor(value), value - math.floor(value)
                count += 1
    for i in range(n):
        value = above[0, i]
        if abs(value - np.rint(value)) <= NEAR or (held and len(above) == 1 and i == n - 1):
            continue
        row[count], first[count], last[count] = OF_PARENT, i, i + 1
        slope[count] = above_weight[0] if value > above_y[0, i] else -above_weight[0]
        base[count], part[count] = math.floor(value), value - math.floor(value)
        count += 1
    return count


@inlined
def find_path(a, b, first, last, head, following, via, seen, stack, tick):
    """Search the forest from b for a; via[node] becomes the half-edge that reached it."""
    stack[0], seen[b], via[b] = b, tick, -1
    height, found = 1, False
    while height > 0 and not found:
        height -= 1
        h = head[stack[height]]
        while h >= 0:
            node = last[h >> 1] if h & 1 == 0 else first[h >> 1]
            if seen[node] != tick:
                seen[node], via[node] = tick, h
                stack[height] = node
                height += 1
                found = found or node == a
            h = following[h]
    return found


@inlined
def close_cycle(e, first, last, via, sign, cycle):
    """Collect e, from its first node to its last one, and the path back; sign says which way each is used."""
    cycle[0], sign[e] = e, 1
    length, node = 1, first[e]
    while node != last[e]:
        h = via[node]
        f = h >> 1
        cycle[length] = f
        length += 1
        if h & 1 == 0:
            sign[f], node = 1, first[f]
        else:
            sign[f], node = -1, last[f]
    return length


@compiled
def step(
    direction, cycle, length, sign, row, first, last, base, part, slope, edge_of, above, above_y, above_weight, held
):
    """The longest step around the cycle in one direction that keeps order, floors and ceilings, and what it costs."""
    longest, rate, n = 2.0, 0.0, edge_of.shape[1]
    for k in range(length):
        f = cycle[k]
        speed = direction * (-sign[f] if row[f] == OF_PARENT else sign[f])
        rate += slope[f] * speed
        longest = min(longest, 1.0 - part[f] if speed > 0 else part[f])
        if row[f] == OF_PARENT:
            continue
        g = edge_of[row[f], first[f] - 1] if first[f] > 0 else -1
        if g >= 0 and base[g] == base[f] and direction * sign[g] > speed:
            longest = min(longest, (part[f] - part[g]) / (direction * sign[g] - speed))
        g = edge_of[row[f], last[f]] if last[f] < n else -1
        if g >= 0 and base[g] == base[f] and speed > direction * sign[g]:
            longest = min(longest, (part[g] - part[f]) / (speed - direction * sign[g]))
    cost = rate * longest
    for k in range(length):
        f = cycle[k]
        if row[f] == OF_PARENT:
            i, moved = first[f], -direction * sign[f] * longest
            for a in range(1, len(above)):
                w = HELD_COST if held and a == len(above) - 1 and i == n - 1 else above_weight[a]
                off = above[a, i] - above_y[a, i]
                cost += w * (abs(off + moved) - abs(off))
    return longest, cost


@inlined
def equal_neighbour(f, row, first, last, base, part, edge_of):
    """The edge of the same row beside f that has the same value by now, or -1."""
    g = edge_of[row[f], first[f] - 1] if first[f] > 0 else -1
    if g >= 0 and base[g] == base[f] and abs(part[g] - part[f]) <= EXACT:
        return g
    g = edge_of[row[f], last[f]] if last[f] < edge_of.shape[1] else -1
    if g >= 0 and base[g] == base[f] and abs(part[g] - part[f]) <= EXACT:
        return g
    return -1


@compiled
def link(e, a, b, head, following, before):
    """Add an edge to the forest: half-edge 2 e to the list of node a, 2 e + 1 to that of b."""
    for h, node in ((2 * e, a), (2 * e + 1, b)):
        following[h], before[h] = head[node], -1
        if head[node] >= 0:
            before[head[node]] = h
        head[node] = h


@compiled
def unlink(e, a, b, head, following, before):
    """Take an edge out of the forest."""
    for h, node in ((2 * e, a), (2 * e + 1, b)):
        if before[h] >= 0:
            following[before[h]] = following[h]
        else:
            head[node] = following[h]
        if following[h] >= 0:
            before[following[h]] = before[h]
