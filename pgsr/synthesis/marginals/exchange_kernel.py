"""The compiled loop of `balanced_draws.exchange`: one sweep of moves over members and their attributes."""

from typing import NamedTuple

import numpy as np

from pgsr.machine.compilation import compiled, inlined
from pgsr.synthesis.marginals.balanced_kernel import inverted


class Drawn(NamedTuple):
    """The groups and members that were drawn.

    Attributes:
        first: group g has the members first[g] .. first[g + 1] - 1; int64, shape (groups + 1,).
        codes: of groups, the size last; int64, (groups, contexts).
        persons: the values of members; int64, (members, attributes).
        group_of: the group of a member; int64, (members,).
        slot_of: its slot m, the place among those of its role in its group; int64, (members,).
        component: the component k of the model from which a group was drawn; int64, (groups,).
    """

    first: np.ndarray
    codes: np.ndarray
    persons: np.ndarray
    group_of: np.ndarray
    slot_of: np.ndarray
    component: np.ndarray


class Proposing(NamedTuple):
    """The model's chances of values, given the other values in the same block of attributes.

    Attributes:
        own: numbers of values of attributes; int64, (attributes,).
        starts: the first row in `chances` of the block of an attribute; int64, (attributes,).
        strides: strides[j, i] is how many rows a step in attribute i is in the block of j, 0 outside it; int64,
            (attributes, attributes).
        chances: of the combinations of a block's values, in slot m and component k; (rows of all blocks, M, K).
    """

    own: np.ndarray
    starts: np.ndarray
    strides: np.ndarray
    chances: np.ndarray


class TripleTables(NamedTuple):
    """The tables of three attributes, and by how much their cells are off: numbers drawn minus numbers expected.

    Attributes:
        set_starts: the tables of attribute j are sets[set_starts[j] : set_starts[j + 1]]; int64, (attributes + 1,).
        sets: two other columns, of contexts and then of attributes, each with its stride, the stride of the attribute
            itself, and the first cell; int64, (rows, 6).
        weight: of a cell of groups, relative to one of persons.
        off_persons, off_groups: off, of cells that count persons, and groups with such a person; (cells,).
    """

    set_starts: np.ndarray
    sets: np.ndarray
    weight: float
    off_persons: np.ndarray
    off_groups: np.ndarray


@compiled
def sweep(order, uniforms, drawn, model, tables):
    """Propose another value for every attribute of the members in `order`; keep it where the tables come nearer.

    A move is kept if it makes the sum over all cells of off^4, of persons and `weight` times of groups, smaller.

    Args:
        order: members, int64.
        uniforms: (members in order, attributes) in [0, 1).
        drawn: groups and members, whose values change.
        model: which proposes values.
        tables: whose cells are kept up to date.
    """
    first, codes, persons = drawn.first, drawn.codes, drawn.persons
    group_of, slot_of, component = drawn.group_of, drawn.slot_of, drawn.component
    own, starts, strides, chances = model.own, model.starts, model.strides, model.chances
    set_starts, sets, weight = tables.set_starts, tables.sets, tables.weight
    off_persons, off_groups = tables.off_persons, tables.off_groups
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
            # The model's proposal: P(value of j | the member's other values in its block) ~ the block's chances.
            old, step = persons[member, j], strides[j, j]
            row = starts[j] - step * old
            for i in range(n_own):
                row += strides[j, i] * persons[member, i]
            for value in range(own[j]):
                chance[value] = chances[row + step * value, slot_of[member], component[g]]
            new = inverted(chance[: own[j]], uniforms[turn, j])
            if new == old:
                continue
            # In each table of j the member leaves one cell and comes to another: `cells` is both but for j's own value.
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
            # Of groups, a cell loses one only if no other member of the group is in it, and likewise gains one.
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
            # (off - 1)^4 - off^4 where a cell loses one, (off + 1)^4 - off^4 where it gains one.
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
