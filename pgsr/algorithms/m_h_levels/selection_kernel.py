"""The compiled loops of `selection`, on the rows start..stop-1 of one level."""

from pgsr.compilation import compiled


@compiled
def keep_large(start, stop, y, total, kept):
    """Keep what is above the threshold at which sum of max(0, y - threshold) is total[r], and the largest of a row."""
    n = y.shape[1]
    for r in range(start, stop):
        most = y[r, 0]
        for s in range(n):
            most = max(most, y[r, s])
        low, high = most - 1.0 - max(0.0, float(total[r])), float(most)
        while high - low > 0.5:
            middle = 0.5 * (low + high)
            above = 0.0
            for s in range(n):
                above += max(0.0, y[r, s] - middle)
            if above > total[r]:
                low = middle
            else:
                high = middle
        for s in range(n):
            kept[r, s] = y[r, s] > low or y[r, s] == most


@compiled
def offer(start, stop, parent, above, y, w, slack, own, known, first_part, kept, added):
    """Fill in the prices of vertices that are left out, and add cells that are left out and would be worth a unit.

    A cell at 0 leaves its prices optimal while the price above, less its own, is at most w (slack - 2 y). For the cell
    of a sum that is left out the lowest price of its own that satisfies this is the best one for what is below.

    above[parent[r], s]   the price at which cell (r, s) ends
    own[r, s]             the price at which it starts, s < first_part; cells from first_part on all start at the last
    known[r, s]           whether own[r, s] is known
    kept[r, s]            whether cell (r, first_part + s) is in the network; those that are added are marked
    added[r]              number of them
    """
    last = own.shape[1] - 1
    for r in range(start, stop):
        number = 0
        row = above[parent[r]]
        for s in range(first_part):
            if not known[r, s]:
                own[r, s] = row[s] - w[r] * (slack - 2 * y[r, s])
        for s in range(kept.shape[1]):
            cell = first_part + s
            if not kept[r, s] and row[cell] - own[r, last] > w[r] * (slack - 2 * y[r, cell]):
                kept[r, s] = True
                number += 1
        added[r] = number
