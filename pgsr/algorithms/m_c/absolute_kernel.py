"""The loops of absolute values with a proximal term, see `emd_dual`. Tuples and ranges as in `squares_kernel`.

The chain of a leaf that is paid the prices p has the cost

    sum over its cells i of  w |x[i] - y[i]| + w rho / 2 (x[i] - x'[i])^2 - p[i] x[i]    over  x[0] <= ... <= x[n - 1].

The slope of a cell's term at v is w sign(v - y) + curve (v - x') - p with curve = w rho: a line with a jump of 2 w at
y. On a block of equal x slopes add up, so its x is where their sum is 0, within a jump if need be.
"""

from typing import NamedTuple

import numpy as np

from pgsr.machine.compilation import compiled, inlined

_TRIES = 3


class Chain(NamedTuple):
    """The cost of one leaf, as at the top of this file; arrays have a number per cell.

    Attributes:
        y, centre, price: y, x' and p.
        weight, curve: w and w rho.
    """

    y: np.ndarray
    centre: np.ndarray
    price: np.ndarray
    weight: float
    curve: float


class Heap(NamedTuple):
    """The places where a piecewise linear slope jumps or bends, the largest on top; room for 2 n + 2 each.

    Attributes:
        place: where.
        jump: by how much the slope is larger right of it than left of it.
        bend: by how much it is steeper there.
    """

    place: np.ndarray
    jump: np.ndarray
    bend: np.ndarray


class Found(NamedTuple):
    """A stack of blocks.

    Attributes:
        begin: the first cell of every block; int64, shape (n + 1,).
        value: x on it, not clipped; (n,).
        free: whether it moves with the price: no kink holds it; bool, (n,).
    """

    begin: np.ndarray
    value: np.ndarray
    free: np.ndarray


class Room(NamedTuple):
    """Memory for `solve_section`.

    Attributes:
        heap: of the places.
        x: last minimisers of prefixes; (n,).
        free: whether they may move; bool, (n,).
        part: the blocks of a section.
    """

    heap: Heap
    x: np.ndarray
    free: np.ndarray
    part: Found


@compiled
def chain_minimiser(chain, start, n, heap, x, free):
    """The last minimisers x[i] of every prefix of the n cells from `start` on, and whether they are free to move.

    With f[i](v) the optimal cost of cells 0 .. i whose last x is at most v, and g[i] cell i's own term,

        f[i](v) = min over u <= v of (f[i - 1](u) + g[i](u)),

    so the slope of f[i] is that of f[i - 1] + g[i] left of its root x[i], and 0 right of it. It is piecewise linear and
    rises. The heap holds the places where it jumps or bends; a cell adds a line and a jump of 2 weight at y. The root
    is searched from the right, and what lies beyond it is cut off. Everything is measured from the nearest place, so
    that nothing cancels against counts of 1e8. O(n log n).
    """
    y, centre, price, weight, curve = chain.y, chain.centre, chain.price, chain.weight, chain.curve
    place, jump, bend = heap.place, heap.jump, heap.bend
    size = 0
    for i in range(n):
        size = sift_up(place, jump, bend, size, y[start + i], 2.0 * weight, 0.0)
        # Right of all places the slope of f[i - 1] is 0 and that of |v - y| is 1, so the sum is curve (v - here).
        here = centre[start + i] + (price[start + i] - weight) / curve
        slope = curve
        root = here
        value = 0.0
        stuck = False
        # From place to place to the left, with the slope's value at `here` and its steepness, until it is not above 0.
        while size > 0:
            top = place[0]
            value -= slope * (here - top)
            here = top
            if value <= 0.0:
                root = top - value / slope
                break
            if value - jump[0] <= 0.0:  # the root lies within a jump: a kink holds x[i] there
                stuck = True
                root = top
                break
            value -= jump[0]
            slope -= bend[0]
            size = sift_down(place, jump, bend, size)
            root = here - value / slope
        x[i] = root
        free[i] = not stuck
        # Beyond the root the slope of f[i] is 0: it jumps or bends to 0 there.
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
def block_root(chain, start, stop, v):
    """(value, 1 if free or 0 if a kink holds it) of cells start:stop as one block, near v; -1 instead if v was too far.

    Newton's method on the sum of the cells' slopes, which is piecewise linear; the pieces are those between their y.
    """
    y, centre, price, weight, curve = chain.y, chain.centre, chain.price, chain.weight, chain.curve
    for _ in range(_TRIES):
        side, held, line = 0, 0, 0.0
        for i in range(start, stop):
            side += (y[i] < v) - (y[i] > v)
            held += y[i] == v
            line += curve * (v - centre[i]) - price[i]
        # Left and right of v: cells whose y is v count with the one sign and the other.
        low, high = line + weight * (side - held), line + weight * (side + held)
        if held > 0 and low <= 0.0 <= high:
            return v, 0
        slope, beside = low, side - held
        if high < 0.0:
            slope, beside = high, side + held
        v -= slope / (curve * (stop - start))
        # The step ends at the root if no y was passed, for then the slope was linear on the way.
        side, held = 0, 0
        for i in range(start, stop):
            side += (y[i] < v) - (y[i] > v)
            held += y[i] == v
        if held == 0 and side == beside:
            return v, 1
    return v, -1


@compiled
def stays_whole(chain, start, stop, v, free):
    """Whether cells start:stop are best as one block at v: their subgradients close a chain of multipliers <= 0.

    With lambda[i] >= 0 for x[i] <= x[i + 1], optimality asks for a subgradient s[i] of every cell at v such that
    s[start] + .. + s[i] = -lambda[i] <= 0 for every i but the last, and = 0 for the last. A subgradient may be
    anything from the slope on the left of v to that on the right, so sums can be anything from `low` to `high`.
    """
    y, centre, price, weight, curve = chain.y, chain.centre, chain.price, chain.weight, chain.curve
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
    return free or high >= 0.0  # the root of a free block makes the last sum 0


@compiled
def solve_section(chain, start, stop, room):
    """The blocks of cells start:stop alone, last first, as `room.part`; how many."""
    x, free, part = room.x, room.free, room.part
    n = stop - start
    chain_minimiser(chain, start, n, room.heap, x, free)
    # The last cell takes the minimiser of the whole, and each before it its prefix's, bounded by what follows.
    blocks = 0
    for i in range(n - 1, -1, -1):
        if i == n - 1 or x[i] < x[i + 1]:
            part.value[blocks], part.free[blocks] = x[i], free[i]
            part.begin[blocks] = start + i
            blocks += 1
        else:
            x[i] = x[i + 1]
            part.begin[blocks - 1] = start + i
    return blocks


@compiled
def fit_chain(chain, n, edges, level, known, room, found):
    """Blocks of one chain, as `found`; how many.

    Starts from `known` blocks. One that still is the optimum of its own cells is kept, which takes a few additions per
    cell; others are solved again. Neighbours out of order are solved together, until all are in order: then the
    sections' multipliers are the whole's. If that takes long, the whole chain is solved at once.
    """
    begin, value, free, part = found.begin, found.value, found.free, room.part
    whole, budget = known == n, n // 2
    blocks, k = 0, 0
    while whole or k < known:
        start, stop, v, state = np.int64(0), np.int64(n), 0.0, -1
        if whole:
            blocks = 0
        else:
            # The block of the last prices, if it still is one and in order with what was found before it.
            start, stop = np.int64(edges[k]), np.int64(edges[k + 1])
            v, state = block_root(chain, start, stop, level[k])
            k += 1
            kept = state >= 0 and (blocks == 0 or value[blocks - 1] <= v)
            if kept and stays_whole(chain, start, stop, v, state == 1):
                begin[blocks], value[blocks], free[blocks] = start, v, state == 1
                blocks += 1
                continue
        # Otherwise solve its cells, with as many blocks before them as are out of order: where neighbouring sections
        # have x in order, a multiplier of 0 between them makes both their optima that of the whole.
        while True:
            if blocks > 0 and state >= 0 and value[blocks - 1] > v:
                blocks -= 1
                start = begin[blocks]
            budget -= stop - start
            if budget < 0 and not whole:
                break
            parts = solve_section(chain, start, stop, room)
            v, state = part.value[parts - 1], 1
            if blocks == 0 or value[blocks - 1] <= v:
                break
        if budget < 0 and not whole:
            whole = True
            continue
        for b in range(parts - 1, -1, -1):
            begin[blocks], value[blocks], free[blocks] = part.begin[b], part.value[b], part.free[b]
            blocks += 1
        if whole:
            break
    begin[blocks] = n
    return blocks


@compiled
def fit_leaves(start, stop, leaves, tree, prices, blocks, change, cost):
    """All chains at these prices. cost[k] = (sum of w |x - y|, sum of w rho / 2 (x - centre)^2) over chunk k.

    `blocks.level` is the value of a block before it is clipped to 0..upper.
    """
    y, upper, weight, centre, rho = leaves.y, leaves.upper, leaves.weight, leaves.centre, leaves.rho
    n = prices.shape[1]
    chunk_node, chunk_start, chunk_stop = tree.chunk_node, tree.chunk_start, tree.chunk_stop
    edges, inside, gain, level = blocks.edges, blocks.inside, blocks.gain, blocks.level
    work, flags = np.empty((5, 2 * n + 2)), np.empty((2, n + 1), np.bool_)
    marks, begin = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    value, free = np.empty(n), np.empty(n, np.bool_)
    heap, part = Heap(work[0], work[1], work[2]), Found(marks, work[4], flags[1])
    room, found = Room(heap, work[3], flags[0], part), Found(begin, value, free)
    for k in range(start, stop):
        moved = change[k]
        for i in range(n):
            moved[i] = 0.0
        price = prices[chunk_node[k]]
        absolute, squares = 0.0, 0.0
        for l in range(chunk_start[k], chunk_stop[k]):
            row, middle, w = y[l], centre[l], weight[l]
            chain = Chain(row, middle, price, w, rho * w)
            n_blocks = fit_chain(chain, n, edges[l], level[l], inside[l, 2], room, found)
            # Bounds 0 and upper cut off the values of the blocks, which rise: those below are the first, those above
            # the last ones, and neither moves with the price.
            below, above = 0, n_blocks
            for b in range(n_blocks):
                first, last, v = begin[b], begin[b + 1], value[b]
                edges[l, b], level[l, b] = first, v
                if v <= 0.0:
                    v = 0.0
                    below = b + 1
                elif v >= upper[l]:
                    v = upper[l]
                    above = min(above, b)
                # The slope of a free block rises by curve |b| per unit of x, and by 1 per unit of price on a cell.
                gain[l, b] = 1.0 / (rho * w * (last - first)) if free[b] else 0.0
                for i in range(first, last):
                    d, step = v - row[i], v - middle[i]
                    moved[i] += d
                    absolute += w * abs(d)
                    squares += w * step * step
            edges[l, n_blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = below, max(below, above), n_blocks
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
            # Without |d| the minimum is at `free`; |d| moves it towards 0 by 1 / rho, and no further: a soft threshold.
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
