"""The answers of a mixture of products to a few queries, one by one, with gradients if its tables have them."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

import numpy as np

from pgsr.synthesis.queries.tables import Array, ComponentTables, Members, expected_size, persons_factor, starts
from pgsr.synthesis.queries.workload import Level, Relative, Workload


@dataclass(frozen=True, eq=False)
class Batch:
    """The queries of one kind, given as row numbers of the tables.

    Attributes:
        place: positions in the list that the queries came in.
        group: (n, at most k) rows of `ComponentTables.group`; the row of ones fills up.
        own: the same for `ComponentTables.slots`, None where nothing is asked of members.
        relative: the same for relatives, None without relation.
        size: (n, sizes) one at the size asked for; None without a condition on COUNT.
    """

    level: Level
    relation: Relative | None
    place: np.ndarray
    group: Array
    own: Array | None
    relative: Array | None
    size: Array | None

    def take(self, chosen: np.ndarray) -> "Batch | None":
        """Select the queries whose entry in `chosen`, one per position in the list, is true; None if there are none."""
        rows = np.flatnonzero(chosen[self.place])
        if len(rows) == len(self.place):
            return self

        def part(x: Array | None) -> Array | None:
            return None if x is None else x[rows]

        if not len(rows):
            return None
        own, relative, size = part(self.own), part(self.relative), part(self.size)
        return replace(self, place=self.place[rows], group=part(self.group), own=own, relative=relative, size=size)


def batches(workload: Workload, queries: Sequence[int], convert: Callable[[np.ndarray], Array]) -> list[Batch]:
    """Sort queries by kind; `convert` makes index and indicator arrays fit the tables, e.g. `torch.as_tensor`."""
    domain = workload.domain
    group_rows = starts(len(attribute) for attribute in domain.group)
    slot_rows = starts(len(attribute) for attribute in domain.individual)
    kinds: dict[tuple, list[tuple]] = defaultdict(list)
    for place, query in enumerate(queries):
        number, codes = workload.locate(query)
        m, values = workload.marginals[number], iter(codes)
        given = {g: next(values) for g in m.group}
        size = given.pop(domain.count, None)
        group = [group_rows[g] + code for g, code in given.items()]
        own = [slot_rows[i] + next(values) for i in m.individual]
        relative = [slot_rows[i] + next(values) for i in m.relative]
        kinds[(m.level, m.relation, size is not None, bool(own))].append((place, group, own, relative, size))
    found = []
    for (level, relation, by_size, asked), listed in kinds.items():
        place, group, own, relative, size = zip(*listed, strict=True)
        found.append(
            Batch(
                level,
                relation,
                np.array(place),
                convert(_padded(group, group_rows[-1])),
                convert(_padded(own, slot_rows[-1])) if asked else None,
                convert(_padded(relative, slot_rows[-1])) if relation else None,
                convert(np.eye(len(domain.sizes), dtype=np.float32)[list(size)]) if by_size else None,
            )
        )
    return found


def answers_of(tables: ComponentTables, batch: Batch) -> Array:
    """Compute the answers of the queries of one batch, shape (n,), in O(n K M) time."""
    by_size = batch.size is not None
    group_level = batch.level is Level.GROUP
    p = None if batch.own is None else _product(tables.slots, batch.own)
    own = Members.of(tables, p, by_size=by_size, own=not group_level, none=group_level)
    relative = None
    if batch.relation is not None:
        relative = Members.of(tables, _product(tables.slots, batch.relative), by_size=by_size, own=False)
    factors = persons_factor(tables.domain, batch.level, batch.relation, own, relative)
    curve = [x for x in factors if x is not None]
    factor = curve[0]
    if batch.size is not None:
        factor = 0
        for column, x in zip(batch.size.T, curve, strict=True):
            factor = factor + column[:, None] * x
    total = (_product(tables.group, batch.group) * factor).sum(-1)
    return total / (tables.n_components if group_level else expected_size(tables))


def _padded(rows: Sequence[Sequence[int]], ones: int) -> np.ndarray:
    width = max(1, *map(len, rows))
    return np.array([[*row, *[ones] * (width - len(row))] for row in rows], np.int64)


def _product(rows: Array, numbers: Array) -> Array:
    """Multiply the numbered rows, all taken by one indexing, so that gradients need one array only."""
    return reduce(mul, rows[numbers.T])
