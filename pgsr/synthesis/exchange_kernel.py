"""The compiled loop of `pgsr.synthesis.exchange`: one sweep of moves over members and their attributes."""

import numpy as np

from pgsr.machine.compilation import compiled, inlined
from pgsr.synthesis.balanced_kernel import inverted


@compiled
def sweep(
    first,
    codes,
    persons,
    group_of,
    slot_of,
    component,
    order,
    own,
    block_starts,
    block_strides,
    tables,
    set_starts,
    sets,
    weight,
    uniforms,
    off_persons,
    off_groups,
):
    """Propose another value for every attribute of the members in `order`; keep it where the tables come nearer.

    A cell is off by what was drawn minus what is expected. A move is kept if it makes the sum of all fourth powers, of
    persons and `weight` times of groups, smaller.

    Args:
        first: (groups + 1,) rows of members.
        codes: (groups, contexts) codes of groups; persons: (members, attributes), changed in place.
        group_of, slot_of: per member; component: per group.
        own: (attributes,) numbers of values.
        block_starts: the first row of the block of every attribute in `tables`; block_strides: (attributes, attributes)
            how many rows a step in one attribute is in the block of another, 0 outside the block.
        tables: (cells of blocks, M, K), chances of the combinations of a block's values.
        set_starts: (attributes + 1,) rows of `sets`, those of an attribute together.
        sets: (rows, 6) its tables of three attributes: two other columns, of contexts and then of attributes, each with
            its stride, the stride of the attribute itself, and the first cell.
        uniforms: (members in order, attributes) in [0, 1).
        off_persons, off_groups: (cells,), kept up to date.
    """
    n_contexts, n_own = codes.shape[1], persons.shape[1]
    n_most = 0
    for j in range(n_own):
        n_most = max(n_most, set_starts[j + 1] - set_starts[j])
    chance = np.empty(own.max())
    cells = np.empty(n_most, np.int64)
    loses, gains = np.empty(n_most, np.bool_), np.empty(n_most, np.bool_)
    same = np.ones(n_contexts + n_own, np.bool_)
    for turn in range(len(order)):
        member = order[turn]
        g = group_of[member]
        for j in range(n_own):
            old, step = persons[member, j], block_strides[j, j]
            row = block_starts[j] - step * old
            for i in range(n_own):
                row += block_strides[j, i] * persons[member, i]
            for value in range(own[j]):
                chance[value] = tables[row + step * value, slot_of[member], component[g]]
            new = inverted(chance[: own[j]], uniforms[turn, j])
            if new == old:
                continue
            n_sets = set_starts[j + 1] - set_starts[j]
            for s in range(n_sets):
                at = sets[set_starts[j] + s]
                cell = at[5]
                for c in range(2):
                    column, stride = at[2 * c], at[2 * c + 1]
                    if column < n_contexts:
                        cell += stride * codes[g, column]
                    else:
                        cell += stride * persons[member, column - n_contexts]
                cells[s] = cell
                loses[s] = gains[s] = True
            for other in range(first[g], first[g + 1]):
                value = persons[other, j]
                if other == member or value not in (old, new):
                    continue
                for i in range(n_own):
                    same[n_contexts + i] = persons[other, i] == persons[member, i]
                for s in range(n_sets):
                    at = sets[set_starts[j] + s]
                    if same[at[0]] and same[at[2]]:
                        if value == old:
                            loses[s] = False
                        else:
                            gains[s] = False
            change = 0.0
            for s in range(n_sets):
                stride = sets[set_starts[j] + s, 4]
                before, after = cells[s] + stride * old, cells[s] + stride * new
                change += _step(-off_persons[before]) + _step(off_persons[after])
                if loses[s]:
                    change += weight * _step(-off_groups[before])
                if gains[s]:
                    change += weight * _step(off_groups[after])
            if change >= 0.0:
                continue
            persons[member, j] = new
            for s in range(n_sets):
                stride = sets[set_starts[j] + s, 4]
                before, after = cells[s] + stride * old, cells[s] + stride * new
                off_persons[before] -= 1.0
                off_persons[after] += 1.0
                if loses[s]:
                    off_groups[before] -= 1.0
                if gains[s]:
                    off_groups[after] += 1.0


@inlined
def _step(off):
    """Compute how much (off + 1)^4 is above off^4."""
    return 1.0 + off * (4.0 + off * (6.0 + off * 4.0))
