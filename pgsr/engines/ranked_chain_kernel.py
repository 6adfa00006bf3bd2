"""The compiled loops of chains with costs of ranks: the best values in order of one region, at given prices.

A region has the cells 0..n-1, of which those before `threshold` have squares and the others costs of ranks, and

    minimises  sum over i < threshold of  w (x[i] - y[i])^2
             + sum over i >= threshold of  E(x[i]) - w (2 (i - threshold) + 1) x[i] + tie (x[i] - centre[i])^2
             + sum over all i of  net[i] x[i]
    over       x[0] <= x[1] <= ...,   least[i] <= x[i] <= most[i].

E is the same in all cells, convex and piecewise linear: its slope is slope[j] on run j, from start[j] to start[j + 1],
and slopes rise. So the derivative of a block of cells with one value v is

    a v + b + k slope(v),    a = 2 w (squares) + 2 tie k,    k = cells with costs of ranks,

and a block is known by a, b and k, which are added up when two are pooled.
"""

import math

from pgsr.machine.compilation import compiled


@compiled
def least_point(a, b, k, start, slope, integer):
    """Find the least v from 0 on at which the derivative is no longer negative; the end of the last run if none is.

    In integers of the step from v to v + 1, which costs a (v + 1/2) + b + k slope. O(log runs).
    """
    low, high = 0, len(slope)
    while low < high:
        j = (low + high) // 2
        last = start[j + 1] - 0.5 if integer else start[j + 1]
        if a * last + b + k * slope[j] >= 0.0:
            high = j
        else:
            low = j + 1
    if low == len(slope):
        return float(start[len(slope)])
    if a == 0.0:
        return float(start[low])
    root = -(b + k * slope[low]) / a
    if integer:
        return min(max(math.ceil(root - 0.5), float(start[low])), float(start[low + 1] - 1))
    return min(max(root, float(start[low])), float(start[low + 1]))


@compiled
def fit_chain(y, w, net, threshold, start, slope, tie, centre, least, most, integer, a, b, k, begin, value, x):
    """Fill x by pool adjacent violators; O(cells log runs). The arrays from `a` to `value` hold blocks, (n,) each.

    Bounds decrease nowhere, so a block is within the lower bound of its last cell and the upper one of its first.
    """
    blocks = 0
    for i in range(len(x)):
        square = i < threshold
        a[blocks] = 2.0 * (w if square else tie)
        b[blocks] = net[i] - (2.0 * w * y[i] if square else w * (2.0 * (i - threshold) + 1.0) + 2.0 * tie * centre[i])
        k[blocks] = 0.0 if square else 1.0
        begin[blocks] = i
        blocks += 1
        while True:
            at = blocks - 1
            value[at] = least_point(a[at], b[at], k[at], start, slope, integer)
            value[at] = min(max(value[at], float(least[i])), float(most[begin[at]]))
            if at == 0 or value[at - 1] < value[at]:
                break
            a[at - 1] += a[at]
            b[at - 1] += b[at]
            k[at - 1] += k[at]
            blocks -= 1
    for at in range(blocks):
        for i in range(begin[at], begin[at + 1] if at + 1 < blocks else len(x)):
            x[i] = value[at]
    return blocks
