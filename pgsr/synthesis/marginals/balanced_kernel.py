"""The compiled loops of `balanced_draws`: draws of values that keep the tables of all pairs on course.

A course is kept by differences: per cell of a table, how often it was drawn so far minus how often it was to be
expected, given what came before. Of several candidates, each drawn from the model, the one is taken whose cells have
fallen behind most.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def draw_values(contexts, lengths, pairs, chances, row_of, order, uniforms, out):
    """Draw a value for every entry in `order`, with the chances in its row, and keep tables of pairs on course.

    Args:
        contexts: (entries, contexts) codes of what an entry is; lengths: the number of codes of each.
        pairs: (pairs, 2) numbers of contexts; a pair of one and the same is a table of that context alone.
        chances: (rows, values); row_of: per entry its row.
        uniforms: (len(order), candidates) in [0, 1).
        out: receives the value of every entry in `order`.
    """
    n_values = chances.shape[1]
    # One table per pair, its cells numbered by both codes; behind = drawn so far - expected so far.
    starts = np.zeros(len(pairs) + 1, np.int64)
    for p in range(len(pairs)):
        starts[p + 1] = starts[p] + lengths[pairs[p, 0]] * lengths[pairs[p, 1]]
    behind = np.zeros((starts[-1], n_values))
    cells = np.empty(len(pairs), np.int64)
    for turn in range(len(order)):
        entry = order[turn]
        chance = chances[row_of[entry]]
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            cells[p] = starts[p] + contexts[entry, a] * lengths[b] + contexts[entry, b]
        # Of the candidates the value whose cells are furthest behind, over all tables together.
        best, lowest = -1, np.inf
        for c in range(uniforms.shape[1]):
            value = inverted(chance, uniforms[turn, c])
            if value == best:
                continue
            total = 0.0
            for p in range(len(pairs)):
                total += behind[cells[p], value]
            if total < lowest:
                best, lowest = value, total
        # Every value was expected with its chance, and one of them was drawn.
        for p in range(len(pairs)):
            for value in range(n_values):
                behind[cells[p], value] -= chance[value]
            behind[cells[p], best] += 1.0
        out[entry] = best


@compiled
def draw_members(
    first,
    contexts,
    lengths,
    component,
    slot_of,
    order,
    own,
    prefixes,
    table_starts,
    tables,
    uniforms,
    behind_starts,
    of_persons,
    of_groups,
    out,
):
    """Draw the attributes of all members of the groups in `order`, one after the other.

    The contexts of attribute number j are those of its group, the slot and the attributes before it of the same member;
    tables are of all pairs of them with the attribute. Persons are counted in `of_persons`; groups with some such
    member in `of_groups`, where a member is expected to add to a cell only as far as none before it has.

    Args:
        first: (groups + 1,) rows of members.
        contexts: (groups, contexts) codes of groups; lengths: of all contexts, the slot and the attributes (in the
            order in which they are drawn) at the end.
        component, slot_of: per group, per member.
        own: (attributes,) numbers of values.
        prefixes: (attributes,) how many attributes before it are in the same block.
        tables: (cells of the prefix x values, M, K), the chances of the prefix with the value; those of an attribute
            start in row `table_starts[attribute]`.
        uniforms: (members in order, attributes, candidates) in [0, 1).
        of_persons, of_groups: (pairs of contexts, values) differences, kept between calls; those of an attribute start
            in row `behind_starts[attribute]`.
        out: (members, attributes).
    """
    n_given, turn = contexts.shape[1] + 1, 0
    codes = np.empty(n_given + len(own), np.int64)
    most = (n_given + len(own)) * (n_given + len(own) - 1) // 2
    cells = np.empty(most, np.int64)
    fresh = np.empty((most, own.max()), np.bool_)
    chance = np.empty(own.max())
    for g in order:
        for c in range(n_given - 1):
            codes[c] = contexts[g, c]
        for member in range(first[g], first[g + 1]):
            # Attribute by attribute: its chances given what is drawn of its block, the cells of its contexts' pairs,
            # and in which of them the group has nobody yet.
            codes[n_given - 1] = slot_of[member]
            for j in range(len(own)):
                n_before = n_given + j
                table = tables[table_starts[j] :]
                _conditional(table, prefixes[j], out[member], own, j, slot_of[member], component[g], chance)
                n_cells = _cells(codes, lengths, n_before, behind_starts[j], cells)
                _fresh(out, first[g], member, j, n_given, n_before, fresh[:n_cells])
                best = _best(chance[: own[j]], cells[:n_cells], fresh, of_persons, of_groups, uniforms[turn, j])
                out[member, j] = best
                codes[n_before] = best
            turn += 1


@compiled
def _best(chance, cells, fresh, of_persons, of_groups, uniforms):
    """Take the candidate whose cells have fallen behind most, and bring all differences up to date."""
    # As in `draw_values`, over tables of persons and, where the group has no such member yet, of groups.
    best, lowest = -1, np.inf
    for u in uniforms:
        value = inverted(chance, u)
        if value == best:
            continue
        total = 0.0
        for p in range(len(cells)):
            total += of_persons[cells[p], value]
            if fresh[p, value]:
                total += of_groups[cells[p], value]
        if total < lowest:
            best, lowest = value, total
    for p in range(len(cells)):
        cell = cells[p]
        for value in range(len(chance)):
            of_persons[cell, value] -= chance[value]
            if fresh[p, value]:
                of_groups[cell, value] -= chance[value]
        of_persons[cell, best] += 1.0
        if fresh[p, best]:
            of_groups[cell, best] += 1.0
    return best


@inlined
def inverted(chance, u):
    """Find the value at which the chances added up exceed u times their sum; never one of chance 0."""
    total = 0.0
    for value in range(len(chance)):
        total += chance[value]
    left, last = u * total, -1
    for value in range(len(chance)):
        if chance[value] > 0.0:
            last = value
            left -= chance[value]
            if left < 0.0:
                break
    return last


@compiled
def _conditional(table, n_prefix, drawn, own, j, slot, component, chance):
    """Compute the chances of the values of attribute j given the attributes of its block before it."""
    prefix = 0
    for before in range(j - n_prefix, j):
        prefix = prefix * own[before] + drawn[before]
    # P(value | prefix) = P(prefix, value) / sum over values of it, in this slot and component.
    total = 0.0
    for value in range(own[j]):
        chance[value] = table[prefix * own[j] + value, slot, component]
        total += chance[value]
    for value in range(own[j]):
        chance[value] /= total


@compiled
def _cells(codes, lengths, n, start, cells):
    """Find the rows of the tables of all pairs of the first n contexts, and return how many pairs there are."""
    at = 0
    for a in range(n):
        for b in range(a + 1, n):
            cells[at] = start + codes[a] * lengths[b] + codes[b]
            start += lengths[a] * lengths[b]
            at += 1
    return at


@compiled
def _fresh(out, start, member, j, n_given, n_before, fresh):
    """Say, per table and value, whether no earlier member of the group has this value and the table's contexts.

    Context n_given - 1 is the slot, which no two members share.
    """
    fresh[:] = True
    for earlier in range(start, member):
        value = out[earlier, j]
        at = 0
        for a in range(n_before):
            same_a = a < n_given - 1 or (a >= n_given and out[earlier, a - n_given] == out[member, a - n_given])
            for b in range(a + 1, n_before):
                same_b = b < n_given - 1 or (b >= n_given and out[earlier, b - n_given] == out[member, b - n_given])
                if same_a and same_b:
                    fresh[at, value] = False
                at += 1
