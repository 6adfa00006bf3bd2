"""The compiled loops of `pgsr.synthesis.queries.answers`: one pass over all groups per marginal.

Tables are attributes x rows, so that a column is contiguous. A marginal is a list of terms (attribute, stride): group
conditions, then the member's, then the relative's; a cell is the sum of stride times code.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def count(groups, persons, role_of, first, weights, level, related, bounds, attribute, stride, starts, part, out):
    """Add the weight of a group to every cell that the group, a member, or a member with a relative falls into.

    Marginal m has terms bounds[m, 0] : bounds[m, 1] on the group, up to bounds[m, 2] on the member, up to
    bounds[m, 3] on the relative, and cells starts[m] : starts[m + 1] of `out`. Its level is 0 for groups, 1 for
    members, 2 for members with a relative; related[m, a, b] says that a member of role a has relatives of role b.
    `part` are the marginals to count: threads share the work by taking different ones.
    """
    largest = 0
    for g in range(len(first) - 1):
        largest = max(largest, first[g + 1] - first[g])
    own = np.empty(largest, np.int64)
    theirs = np.empty(largest, np.int64)
    for m in part:
        cells = out[starts[m] : starts[m + 1]]
        for g in range(len(first) - 1):
            weight = weights[g]
            start, size = first[g], first[g + 1] - first[g]
            # The part of the cell's number that the group decides; members add theirs, and relatives theirs.
            base = _code(groups, g, attribute, stride, bounds[m, 0], bounds[m, 1])
            if level[m] == 0 and bounds[m, 1] == bounds[m, 2]:
                cells[base] += weight
                continue
            for i in range(size):
                own[i] = base + _code(persons, start + i, attribute, stride, bounds[m, 1], bounds[m, 2])
            if level[m] == 0:
                # A group counts once in every cell that some member of it falls into.
                for i in range(size):
                    if not _seen(own, i):
                        cells[own[i]] += weight
            elif level[m] == 1:
                for i in range(size):
                    cells[own[i]] += weight
            else:
                for i in range(size):
                    theirs[i] = _code(persons, start + i, attribute, stride, bounds[m, 2], bounds[m, 3])
                _count_related(own, theirs, role_of[start : start + size], related[m], weight, cells)


@inlined
def _code(table, row, attribute, stride, start, stop):
    code = 0
    for t in range(start, stop):
        code += stride[t] * table[attribute[t], row]
    return code


@inlined
def _seen(codes, i):
    for j in range(i):  # noqa: SIM110 - numba knows no generator expressions
        if codes[j] == codes[i]:
            return True
    return False


@compiled
def _count_related(own, theirs, roles, related, weight, cells):
    """Count every member once per cell if a relative fits."""
    size = len(roles)
    for i in range(size):
        for j in range(size):
            if not related[roles[i], roles[j]]:
                continue
            repeated = False
            for earlier in range(j):
                if related[roles[i], roles[earlier]] and theirs[earlier] == theirs[j]:
                    repeated = True
                    break
            if not repeated:
                cells[own[i] + theirs[j]] += weight
