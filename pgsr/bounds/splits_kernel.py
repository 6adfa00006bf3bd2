"""The compiled loop of `lower_bound`: the best split of every segment between its two corners, by dynamic programming."""

import numpy as np

from pgsr.machine.compilation import compiled

NEITHER, LATER, EARLIER, BOTH = 0, 1, 2, 3
"""What a corner has a coordinate along: its later segment, its earlier one."""


@compiled
def best_splits(starts, risk, risk_of_less, split, kind):
    """Maximise, region by region, the sum over corners of the best of three pairs of coordinates; fill split and kind.

    Region r has the segments starts[r]..starts[r + 1] - 1, and a corner between each of them and the next. A way to
    split a segment gives the corner before it one part, the corner behind it the rest. With p units of the earlier
    segment and q of the later, a corner is worth

        max(B(p), B(q), B(p - 1) + B(q - 1)),   0 if p = 0 or q = 0.

    Args:
        starts: first segment of every region, and the number of segments; shape (regions + 1,).
        risk: B of the part that the corner before (0) and behind (1) a segment gets; shape (segments, ways, 2).
        risk_of_less: B of these parts less one unit, and -1 where the part is empty; same shape.
        split: the way that is chosen, by segment.
        kind: what the corner before a segment has coordinates along, by segment; NEITHER at a region's first.
    """
    ways = risk.shape[1]
    came_from = np.zeros((len(risk), ways), np.int8)
    for region in range(len(starts) - 1):
        first, end = starts[region], starts[region + 1]
        best, following = np.zeros(ways), np.zeros(ways)
        for segment in range(first + 1, end):
            for way in range(ways):
                top = -1.0
                for before in range(ways):
                    worth = best[before] + _corner(risk, risk_of_less, segment, before, way)[0]
                    if worth > top:
                        top = worth
                        came_from[segment, way] = before
                following[way] = top
            best, following = following, best
        way = np.argmax(best)
        for segment in range(end - 1, first, -1):
            split[segment] = way
            before = came_from[segment, way]
            kind[segment] = _corner(risk, risk_of_less, segment, before, way)[1]
            way = before
        if end > first:
            split[first] = way
            kind[first] = NEITHER


@compiled
def _corner(risk, risk_of_less, segment, before, way):
    """Return what the corner before a segment is worth, and the kind that makes it so."""
    earlier, later = risk[segment - 1, before, 1], risk[segment, way, 0]
    less_of_earlier, less_of_later = risk_of_less[segment - 1, before, 1], risk_of_less[segment, way, 0]
    if less_of_earlier < 0 or less_of_later < 0:
        return 0.0, NEITHER
    both = less_of_earlier + less_of_later
    if both > max(earlier, later):
        return both, BOTH
    return (later, LATER) if later > earlier else (earlier, EARLIER)
