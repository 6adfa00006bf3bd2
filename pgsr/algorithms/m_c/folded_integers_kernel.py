"""The loop of integers where levels have sizes of their own: regions that settle; see `folded_integers`."""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def settle(start, stop, y, weight, first, width, shared, parent, backwards, x):
    """Find the best integers of those cells of each region that the region's children do not tell apart; others stay.

    Row r of x and y begins at first[r], with width[r] cells and the total; its children have the first shared[r] of
    them. A change d of a cell costs the region and all those above it w ((x + d - y)^2 - (x - y)^2). With mass = the
    sum of w, and pull = that of w (y - x), this is mass d^2 - 2 pull d, so the best values are an isotonic regression
    of x + pull / mass by mass, rounded.

    Where the last cell reaches the next one of a region above, order ties them. Then the cells from that one on join:
    they go on from the last cell by the steps that they rise by. Returns how many regions moved.
    """
    n, count = width[0], 0
    value, owner, pull, mass = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n)
    stack = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    best, begin = stack[3], stack[4]
    for at in range(start, stop):
        r = start + stop - 1 - at if backwards else at
        if shared[r] == width[r]:
            continue
        a, s, size, blocks = r, shared[r], 0, 0
        low = x[first[r] + s - 1] if s > 0 else 0
        here = x[first[r] + s]
        while True:
            top = here + x[first[a] + width[a]] - x[first[a] + s]
            while s < width[a]:
                if size > 0:
                    here = value[size - 1] + x[first[a] + s] - x[first[a] + s - 1]
                value[size], owner[size] = here, a
                pull[size], mass[size] = pulled(a, s, y, weight, first, parent, x)
                blocks = push(size, mass[size] * here + pull[size], mass[size], low, top, blocks, stack)
                s, size = s + 1, size + 1
            while a >= 0 and width[a] == s:
                a = parent[a]
            if a < 0:
                break
            here = value[size - 1] + x[first[a] + s] - x[first[a] + s - 1]
            if np.rint(best[blocks - 1]) < here:
                break
        begin[blocks] = size
        gain = 0.0
        for b in range(blocks):
            best[b] = np.rint(best[b])
            for i in range(begin[b], begin[b + 1]):
                d = best[b] - value[i]
                gain += d * (2.0 * pull[i] - mass[i] * d)
        if gain < 1e-6:  # ties of integers do not go to and fro
            continue
        count += 1
        for b in range(blocks):
            for i in range(begin[b], begin[b + 1]):
                a, d = owner[i], np.int64(best[b]) - value[i]
                while a >= 0:
                    x[first[a] + shared[r] + i] += d
                    a = parent[a]
    return count


@inlined
def pulled(a, s, y, weight, first, parent, x):
    """Add up w (y - x) and w over region a and those above it, at cell s."""
    pull, mass = 0.0, 0.0
    while a >= 0:
        pull += weight[a] * (y[first[a] + s] - x[first[a] + s])
        mass += weight[a]
        a = parent[a]
    return pull, mass


@inlined
def push(i, s, w, low, top, blocks, stack):
    """Put cell i with weighted sum s, weight w and bounds on the stack, pooled with those that are not below."""
    # Of all numbers within the bounds of a block's cells the best is its mean, clipped; upper bounds decrease nowhere,
    # so the smallest is that of the first cell.
    total, heavy, most, best, begin = stack
    total[blocks], heavy[blocks], most[blocks], begin[blocks] = s, w, top, i
    while True:
        best[blocks] = min(max(total[blocks] / heavy[blocks], low), most[blocks])
        if blocks == 0 or best[blocks - 1] < best[blocks]:
            break
        blocks -= 1
        total[blocks] += total[blocks + 1]
        heavy[blocks] += heavy[blocks + 1]
    return blocks + 1
