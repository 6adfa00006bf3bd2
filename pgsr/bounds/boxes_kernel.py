"""The compiled loop of `lower_bound`: the best chain of boxes along the graph of cumulative counts."""

import numpy as np

from pgsr.machine.compilation import compiled

NO_BOX = -1


@compiled
def best_boxes(starts, size, groups, risk, origin, in_two):
    """Maximise, region by region, the risks of a chain of boxes between points of the graph; fill origin and in_two.

    Region r has the points starts[r]..starts[r + 1] - 1, of which every second is a corner, the first one and the last
    among them; the others are the middles between. A box from point i to point j has p = groups[j] - groups[i] groups
    and q = size[j] - size[i] sizes. It is worth risk[p q], and is allowed up to M = len(risk) - 1 entities. A box with
    a single corner inside is shortened to M entities, or made two along the corner's sides: risk[p - 1] + risk[q - 1].

    Args:
        starts: first point of every region, and the number of points; shape (regions + 1,).
        size, groups: where the points are; neither falls within a region.
        risk: the least mean error of a number in 0..m, by m.
        origin: filled with the first point of the box that ends at a point, or NO_BOX.
        in_two: filled with whether this box is two.
    """
    most = len(risk) - 1
    for region in range(len(starts) - 1):
        first, end = starts[region], starts[region + 1]
        best = np.zeros(end - first)
        origin[first] = NO_BOX
        for j in range(first + 1, end):
            top, start, two = best[j - 1 - first], NO_BOX, False
            for i in range(j - 1, first - 1, -1):
                p, q = min(groups[j] - groups[i], most + 1), min(size[j] - size[i], most + 1)
                if p == 0 or q == 0:
                    continue
                corner = first + (i - first) // 2 * 2 + 2
                single = corner < j <= corner + 2
                if p * q > most and not single:
                    break
                one = risk[min(p, most) * min(q, most // min(p, most))]
                pair = risk[p - 1] + risk[q - 1] if single else 0.0
                if best[i - first] + max(one, pair) > top:
                    top, start, two = best[i - first] + max(one, pair), i, pair > one
            best[j - first], origin[j], in_two[j] = top, start, two
        j = end - 1
        while j > first:  # keep the boxes of the best chain alone
            i = origin[j] if origin[j] != NO_BOX else j - 1
            for between in range(i + 1, j):
                origin[between] = NO_BOX
            j = i
