"""The compiled loops of `selection`, on the rows start..stop-1 of one level."""

import numpy as np

from pgsr.machine.compilation import compiled

FEW = 32
"""Cells of a row that are added at a time however little the others have too much."""


@compiled
def keep_large(start, stop, table, first_part, total, kept):
    """Keep the positive cells above the threshold at which sum of max(0, y - threshold) is total[r]; one at least."""
    n = kept.shape[1]
    for r in range(start, stop):
        y = table[r, first_part:]
        # The sum falls with the threshold: at the largest y less 1 + total it is above the total, at the largest y it
        # is 0.
        largest = 0
        for s in range(n):
            if y[s] > y[largest]:
                largest = s
        most = y[largest]
        low, high = most - 1.0 - max(0.0, float(total[r])), float(most)
        while high - low > 0.5:
            middle = 0.5 * (low + high)
            above = 0.0
            for s in range(n):
                above += max(0.0, y[s] - middle)
            if above > total[r]:
                low = middle
            else:
                high = middle
        for s in range(n):
            kept[r, s] = y[s] > max(0.0, low) or s == largest


@compiled
def offer(start, stop, parent, above, y, w, own, known, first_part, kept, added):
    """Fill in the prices of vertices that are left out, and add cells that are left out and would be worth a unit.

    A cell at 0 leaves integer prices optimal while the price above, less its own, is at most w (1 - 2 y). For the cell
    of a sum that is left out the lowest price of its own that satisfies this is the best one for what is below.

    Where more than `FEW` cells of a row are worth a unit, as many are added as would take twice what the cells of the
    row now hold beyond what they would at the price w of a first unit. They are spread evenly over those that are worth
    it, and where they begin follows from y: regions with the same prices above them choose different ones, and the same
    ones whatever part of a hierarchy they are looked at in.

    above[parent[r], s]   the price at which cell (r, s) ends
    own[r, s]             the price at which it starts, s < first_part; cells from first_part on all start at the last
    known[r, s]           whether own[r, s] is known
    kept[r, s]            whether cell (r, first_part + s) is in the network; those that are added are marked
    added[r]              number of them
    """
    last = own.shape[1] - 1
    for r in range(start, stop):
        # The lowest price of its own at which a sum that is left out may stay at 0.
        row, price = above[parent[r]], own[r, last]
        for s in range(first_part):
            if not known[r, s]:
                own[r, s] = row[s] - w[r] * (1 - 2 * y[r, s])
        # At the price d = paid a cell in the network holds max(0, y + d / 2 w), which at d = w is max(0, y + 1/2).
        worth, beyond, mixed = 0, 0.0, 0
        for s in range(kept.shape[1]):
            cell = first_part + s
            paid = row[cell] - price
            mixed += s * y[r, cell]
            if kept[r, s]:
                least = y[r, cell] + 0.5 * min(paid, w[r]) / w[r]
                beyond += max(0.0, y[r, cell] + 0.5 * paid / w[r]) - max(0.0, least)
            elif paid > w[r] * (1 - 2 * y[r, cell]):
                worth += 1
        # Of the cells that are worth a unit, numbered from a place that y decides, those at which i added / worth
        # passes an integer.
        added[r] = min(worth, max(FEW, np.int64(np.ceil(2.0 * beyond))))
        if worth:
            i = mixed % worth
            for s in range(kept.shape[1]):
                cell = first_part + s
                if not kept[r, s] and row[cell] - price > w[r] * (1 - 2 * y[r, cell]):
                    kept[r, s] = i * added[r] % worth < added[r]
                    i += 1
