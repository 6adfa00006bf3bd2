"""The loop of leaves that settle at the true costs of M_c with ranks, in integers; tuples as in `ranked_kernel`."""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def settle(leaves, nodes, parent, leaf_node, order, x, sums):
    """Leaf by leaf the best integers in order while all others stay; returns by how much costs fell.

    x[l] are the values of the leaves, sums[r] those of the nodes above them, which follow. A cell of a leaf costs what
    it costs the leaf and every node on its way up; all that is convex, so blocks are pooled as ever, and the least
    value of a block from which a step up costs nothing less is searched from where the block is, in steps that double.
    """
    n = x.shape[1]
    begin, value = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    saved = np.int64(0)
    for l in order:
        groups = leaves.groups[l]
        blocks = 0
        for i in range(n):
            begin[blocks], value[blocks] = i, x[l, i]
            blocks += 1
            begin[blocks] = i + 1
            while True:
                at = blocks - 1
                low, high = begin[at], begin[blocks]
                v, far = value[at], np.int64(1)
                # Bracket: a step up from `least` - 1 pays, if that is above 0, and one from `most` does not.
                least, most = np.int64(0), groups
                if v < groups and step(leaves, nodes, parent, leaf_node, l, low, high, v, x, sums) < 0:
                    least = v + 1
                    while least + far < groups:
                        if step(leaves, nodes, parent, leaf_node, l, low, high, least + far, x, sums) >= 0:
                            most = least + far
                            break
                        least += far + 1
                        far *= 2
                else:
                    most = v
                    while most - far >= 0:
                        if step(leaves, nodes, parent, leaf_node, l, low, high, most - far, x, sums) < 0:
                            least = most - far + 1
                            break
                        most -= far
                        far *= 2
                while least < most:
                    middle = (least + most) // 2
                    if step(leaves, nodes, parent, leaf_node, l, low, high, middle, x, sums) >= 0:
                        most = middle
                    else:
                        least = middle + 1
                value[at] = least
                if at == 0 or value[at - 1] <= value[at]:  # equal ones stay apart, as sums over long blocks take long
                    break
                blocks -= 1
                begin[blocks] = high
        change = np.int64(0)
        for at in range(blocks):
            for i in range(begin[at], begin[at + 1]):
                old, r = x[l, i], leaf_node[l]
                change += cost(leaves, l, i, value[at]) - cost(leaves, l, i, old)
                while r >= 0:
                    change += cost(nodes, r, i, sums[r, i] + value[at] - old) - cost(nodes, r, i, sums[r, i])
                    r = parent[r]
        if change >= 0:
            continue
        saved -= change
        for at in range(blocks):
            for i in range(begin[at], begin[at + 1]):
                moved, r = value[at] - x[l, i], leaf_node[l]
                x[l, i] = value[at]
                while r >= 0:
                    sums[r, i] += moved
                    r = parent[r]
    return saved


@inlined
def step(leaves, nodes, parent, leaf_node, l, low, high, v, x, sums):
    """The cost for a leaf and all nodes above it of a step from v to v + 1 in the cells low .. high - 1."""
    total = np.int64(0)
    for i in range(low, high):
        total += rise(leaves, l, i, v)
        r = leaf_node[l]
        while r >= 0:
            total += rise(nodes, r, i, sums[r, i] + v - x[l, i])
            r = parent[r]
    return total


@inlined
def rise(rows, r, i, v):
    """The cost for one region of a step from v to v + 1 in cell i."""
    w, t = np.int64(rows.weight[r]), rows.threshold[r]
    found = np.int64(0)
    if i < t:
        found = w * (2 * (v - rows.y[r, i]) + 1)
    elif rows.first[r + 1] > rows.first[r]:
        first, last = rows.first[r], rows.first[r + 1]
        at = np.searchsorted(rows.starts[first + r : last + r + 1], v, side="right") - 1
        found = rows.slopes[first + min(max(at, 0), last - first - 1)] - w * (2 * (i - t) + 1)
    return found


@inlined
def cost(rows, r, i, v):
    """The cost of v in cell i of one region, but for a constant."""
    w, t = np.int64(rows.weight[r]), rows.threshold[r]
    found = np.int64(0)
    if i < t:
        found = w * (v - rows.y[r, i]) * (v - rows.y[r, i])
    elif rows.first[r + 1] > rows.first[r]:
        first, last = rows.first[r], rows.first[r + 1]
        starts = rows.starts[first + r : last + r + 1]
        at = min(max(np.searchsorted(starts, v, side="right") - 1, 0), last - first - 1)
        found = rows.sums[first + at] + (v - starts[at]) * rows.slopes[first + at] - w * (2 * (i - t) + 1) * v
    return found
