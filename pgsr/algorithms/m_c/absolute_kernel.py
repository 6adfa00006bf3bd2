"""The loops of absolute values with a proximal term, see `emd_dual`. Arrays as in `tree_kernel`."""

import numpy as np

from pgsr.machine.compilation import compiled, inlined

_TRIES = 3


@compiled
def chain_minimiser(y, centre, weight, rho, price, start, n, place, jump, bend, x, free):
    """The last minimisers x[i] of every prefix of

        minimise  sum_i  weight |x - y| + weight rho / 2 (x - centre)^2 - price x   over  x[0] <= ... <= x[n - 1],

    of the n cells from `start` on, and whether they are free to move (no kink holds them). The slope of the optimal
    cost of a prefix, as a function of a bound on its last value, is piecewise linear and rises. A max-heap holds the
    places where it jumps or bends; right of the last one it is 0. A cell adds a line and a jump of 2 weight at y; the
    root is searched from the right, what lies beyond it is cut off. Everything is measured from the nearest place, so
    that nothing cancels against counts of 1e8. O(n log n).
    """
    size = 0
    curve = rho * weight
    for i in range(n):
        size = sift_up(place, jump, bend, size, y[start + i], 2.0 * weight, 0.0)
        here = (
            centre[start + i] + (price[start + i] - weight) / curve
        )  # beyond all places the slope is curve * (v - here)
        slope = curve
        root = here
        value = 0.0
        stuck = False
        while size > 0:
            top = place[0]
            value -= slope * (here - top)
            here = top
            if value <= 0.0:
                root = top - value / slope
                break
            if value - jump[0] <= 0.0:
                stuck = True
                root = top
                break
            value -= jump[0]
            slope -= bend[0]
            size = sift_down(place, jump, bend, size)
            root = here - value / slope
        x[i] = root
        free[i] = not stuck
        if stuck:  # the part of the jump below 0 remains
            bend[0] -= slope
            jump[0] -= value
        else:
            size = sift_up(place, jump, bend, size, root, 0.0, -slope)


@inlined
def sift_up(place, jump, bend, size, key, leap, turn):
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if place[parent] >= key:
            break
        place[child], jump[child], bend[child] = place[parent], jump[parent], bend[parent]
        child = parent
    place[child], jump[child], bend[child] = key, leap, turn
    return size + 1


@inlined
def sift_down(place, jump, bend, size):
    size -= 1
    key = place[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and place[child + 1] > place[child]:
            child += 1
        if place[child] <= key:
            break
        place[hole], jump[hole], bend[hole] = place[child], jump[child], bend[child]
        hole = child
    place[hole], jump[hole], bend[hole] = key, jump[size], bend[size]
    return size


@compiled
def block_root(y, centre, price, weight, curve, start, stop, v):
    """(value, 1 if free or 0 if a kink holds it) of cells start:stop as one block, near v; -1 instead if v was too far.

    Newton's method on a piecewise linear slope; the pieces are those between the cells' y.
    """
    for _ in range(_TRIES):
        side, held, line = 0, 0, 0.0
        for i in range(start, stop):
            side += (y[i] < v) - (y[i] > v)
            held += y[i] == v
            line += curve * (v - centre[i]) - price[i]
        low, high = line + weight * (side - held), line + weight * (side + held)
        if held > 0 and low <= 0.0 <= high:
            return v, 0
        slope, beside = low, side - held
        if high < 0.0:
            slope, beside = high, side + held
        v -= slope / (curve * (stop - start))
        side, held = 0, 0
        for i in range(start, stop):
            side += (y[i] < v) - (y[i] > v)
            held += y[i] == v
        if held == 0 and side == beside:
            return v, 1
    return v, -1


@compiled
def stays_whole(y, centre, price, weight, curve, start, stop, v, free):
    """Whether cells start:stop are best as one block at v: their subgradients close a chain of multipliers <= 0."""
    low, high = 0.0, 0.0
    for i in range(start, stop):
        line = curve * (v - centre[i]) - price[i]
        high += line + (-weight if y[i] > v else weight)
        if i == stop - 1:
            break
        low += line + (weight if y[i] < v else -weight)
        high = min(high, 0.0)
        if low > high:
            return False
    return free or high >= 0.0


@compiled
def solve_section(y, centre, price, weight, rho, start, stop, place, jump, bend, x, free, begin, value, can_move):
    """The blocks of cells start:stop alone, last first; how many."""
    n = stop - start
    chain_minimiser(y, centre, weight, rho, price, start, n, place, jump, bend, x, free)
    blocks = 0
    for i in range(n - 1, -1, -1):
        if i == n - 1 or x[i] < x[i + 1]:
            value[blocks], can_move[blocks] = x[i], free[i]
            begin[blocks] = start + i
            blocks += 1
        else:
            x[i] = x[i + 1]
            begin[blocks - 1] = start + i
    return blocks


@compiled
def fit_chain(
    y, centre, price, weight, rho, n, edges, level, known, work, marks, flags, begin, value, free,
):  # fmt: skip
    """Blocks of one chain: block b starts at begin[b] and has value[b], not clipped; how many.

    Starts from `known` blocks. One that still is the optimum of its own cells is kept, which takes a few additions per
    cell; others are solved again. Neighbours out of order are solved together, until all are in order: then the
    sections' multipliers are the whole's. If that takes long, the whole chain is solved at once.
    """
    place, jump, bend, x, values = work[0], work[1], work[2], work[3], work[4]
    whole, budget = known == n, n // 2
    blocks, k = 0, 0
    while whole or k < known:
        start, stop, v, found = np.int64(0), np.int64(n), 0.0, -1
        if whole:
            blocks = 0
        else:
            start, stop = np.int64(edges[k]), np.int64(edges[k + 1])
            v, found = block_root(y, centre, price, weight, rho * weight, start, stop, level[k])
            k += 1
            kept = found >= 0 and (blocks == 0 or value[blocks - 1] <= v)
            if kept and stays_whole(y, centre, price, weight, rho * weight, start, stop, v, found == 1):
                begin[blocks], value[blocks], free[blocks] = start, v, found == 1
                blocks += 1
                continue
        while True:
            if blocks > 0 and found >= 0 and value[blocks - 1] > v:
                blocks -= 1
                start = begin[blocks]
            budget -= stop - start
            if budget < 0 and not whole:
                break
            parts = solve_section(
                y, centre, price, weight, rho, start, stop, place, jump, bend, x, flags[0], marks, values, flags[1]
            )  # fmt: skip
            v, found = values[parts - 1], 1
            if blocks == 0 or value[blocks - 1] <= v:
                break
        if budget < 0 and not whole:
            whole = True
            continue
        for part in range(parts - 1, -1, -1):
            begin[blocks], value[blocks], free[blocks] = marks[part], values[part], flags[1, part]
            blocks += 1
        if whole:
            break
    begin[blocks] = n
    return blocks


@compiled
def fit_leaves(
    start, stop, y, upper, weight, rho, centre, prices, chunk_node, chunk_start, chunk_stop, n,
    edges, inside, gain, level, change, cost,
):  # fmt: skip
    """All chains at these prices. cost[k] = (sum of w |x - y|, sum of w rho / 2 (x - centre)^2) over chunk k.

    `level` is the value of a block before it is clipped to 0..upper.
    """
    work, flags = np.empty((5, 2 * n + 2)), np.empty((2, n + 1), np.bool_)
    marks, begin = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    value, free = np.empty(n), np.empty(n, np.bool_)
    for k in range(start, stop):
        moved = change[k]
        for i in range(n):
            moved[i] = 0.0
        price = prices[chunk_node[k]]
        absolute, squares = 0.0, 0.0
        for l in range(chunk_start[k], chunk_stop[k]):
            row, middle, w = y[l], centre[l], weight[l]
            blocks = fit_chain(
                row, middle, price, w, rho, n, edges[l], level[l], inside[l, 2], work, marks, flags, begin, value, free
            )  # fmt: skip
            below, above = 0, blocks
            for b in range(blocks):
                first, last, v = begin[b], begin[b + 1], value[b]
                edges[l, b], level[l, b] = first, v
                if v <= 0.0:
                    v = 0.0
                    below = b + 1
                elif v >= upper[l]:
                    v = upper[l]
                    above = min(above, b)
                gain[l, b] = 1.0 / (rho * w * (last - first)) if free[b] else 0.0
                for i in range(first, last):
                    d, step = v - row[i], v - middle[i]
                    moved[i] += d
                    absolute += w * abs(d)
                    squares += w * step * step
            edges[l, blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = below, max(below, above), blocks
        cost[k, 0], cost[k, 1] = absolute, 0.5 * rho * squares


@compiled
def fit_nodes(start, stop, weight, rho, centre, parent, held, prices, own, rate, cost):
    """own[r] minimises w |d| + w rho / 2 (d - centre[r])^2 + (price of r - price above) d; its slope goes to `rate`.

    cost[r] is the two terms without prices. A region of weight 0 and the held cell stay at 0.
    """
    n = prices.shape[1]
    for r in range(start, stop):
        total = 0.0
        w = weight[r]
        for i in range(n):
            own[r, i] = 0.0
            rate[r, i] = 0.0
            if w == 0.0 or (r == 0 and held and i == n - 1):
                continue
            above = prices[parent[r], i] if r > 0 else 0.0
            free = centre[r, i] + (above - prices[r, i]) / (rho * w)
            d = 0.0
            if abs(free) > 1.0 / rho:
                d = free - 1.0 / rho if free > 0.0 else free + 1.0 / rho
                rate[r, i] = 1.0 / (rho * w)
            own[r, i] = d
            total += w * abs(d) + 0.5 * rho * w * (d - centre[r, i]) ** 2
        cost[r] = total


@compiled
def node_costs(start, stop, weight, rho, centre, held, own, beyond, cost):
    """cost[r] = (sum of w |d|, sum of w rho / 2 (d - centre)^2) at d = own + beyond, without the root's held cell."""
    n = own.shape[1]
    for r in range(start, stop):
        absolute, squares = 0.0, 0.0
        for i in range(n - (r == 0 and held)):
            d = own[r, i] + beyond[r, i]
            absolute += abs(d)
            squares += (d - centre[r, i]) ** 2
        cost[r, 0], cost[r, 1] = weight[r] * absolute, 0.5 * rho * weight[r] * squares
