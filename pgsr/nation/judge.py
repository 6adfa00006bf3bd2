"""The judge of M_H in parts, from part, answer and prices alone: what `certify` is where all is in memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_flow.part import UNKNOWN, FlowPart, PartPrices
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.machine.blocks import row_blocks

Tables = Sequence[np.ndarray]
"""One per level, root first; shape (regions of the level, K + 1)."""


@dataclass(frozen=True, eq=False)
class PartOutcome:
    """The judgement of the answer of a part, recomputed in exact integers.

    Attributes:
        objective: sum of w (x - y)^2.
        violations: number of violated conditions by kind: "sign", "consistency", "totals".
        proved: whether the prices prove every cell best.
        root: the counts of its root, shape (K of the root + 1,).
        n_cells: number of cells that were judged.
    """

    objective: int
    violations: dict[str, int]
    proved: bool
    root: np.ndarray
    n_cells: int

    @property
    def optimal(self) -> bool:
        """Whether no condition is violated, and the prices prove that no feasible point has a smaller objective."""
        return self.proved and not any(self.violations.values())


def judged(
    part: FlowPart, x: Tables, prices: PartPrices, total: int | None = None, n_levels: int | None = None
) -> PartOutcome:
    """Judge an answer from part, answer and prices alone.

    Cell (r, s) adds to two conditions: that of r's own vertex and that of the vertex above. With d the price above less
    the price of its own, x is optimal if it is feasible and every cell satisfies

        w (2 (x - y) - 1)  <=  d  <=  w (2 (x - y) + 1),     the left one only where x > 0:

    summed with prices over all cells, conditions cancel, and every cell alone could not do better.

    Args:
        x: counts, one table per level.
        total: public number of groups of the root; None where it is not, or where the part is one of several.
        n_levels: judge the cells of the first levels alone, whose leaves are the roots of other parts; all if None.
    """
    objective, proved = 0, n_levels is not None or prices_of_sources(part, prices)
    for level, table in enumerate(x[:n_levels]):
        for rows in row_blocks(slice(0, len(table)), table.shape[1]):
            value, holds = _judge_rows(part, table[rows], prices, level, rows)
            objective += value
            proved = proved and holds
    n_cells = sum(table.size for table in x[:n_levels])
    return PartOutcome(objective, violations(part, x, total), proved, x[0][0], n_cells)


def price_of_the_total(prices: PartPrices, total: int | None) -> bool:
    """Say whether the root's cells have one price where its total is public, and 0 where it is not."""
    return bool((prices.top == prices.top[0]).all()) and (total is not None or prices.top[0] == 0)


def prices_of_sources(part: FlowPart, prices: PartPrices) -> bool:
    """Say whether leaves have the price of their public total: one per total, and 0 where none is public."""
    fixed = part.fixed
    price = np.zeros(len(fixed.regions) + 1, prices.leaves.dtype)  # the last one is of leaves of no set
    price[fixed.set_of] = prices.leaves
    return bool((prices.leaves == fixed.at_leaves(price[:-1])).all())


def _judge_rows(part: FlowPart, x: np.ndarray, prices: PartPrices, level: int, rows: slice) -> tuple[int, bool]:
    """Compute the part of the objective of some regions of a level, and whether prices prove their cells best."""
    tree = part.hierarchy
    here = slice(tree.level(level).start + rows.start, tree.level(level).start + rows.stop)
    w, off = part.w[here, None], x.astype(np.int64) - part.tables[level][rows]
    above = prices.top if level == 0 else prices.inner[level - 1][tree.parent[here] - tree.level(level - 1).start]
    if level < tree.n_levels - 1:
        own = prices.inner[level][rows][:, np.minimum(np.arange(x.shape[1]), part.max_sizes[level + 1])]
    else:
        own = prices.leaves[rows, None]
    excess = above - own - 2 * w * off
    best = not ((excess > w) | ((excess < -w) & (x > 0))).any()
    return sum(int(weight) * _squares(part) for weight, part in _by_weight(w[:, 0], off)), best


def violations(part: FlowPart, x: Tables, total: int | None = None) -> dict[str, int]:
    """Count violated conditions by kind; of totals, those that the part says are known, and that of the root."""
    tree, sizes = part.hierarchy, Sizes.of(part.hierarchy, x)
    off = int(total is not None and int(x[0].sum(dtype=np.int64)) != total)
    consistency = 0
    for level, table in enumerate(x):
        known = part.known[tree.level(level)]
        stated = known != UNKNOWN
        if stated.any():
            off += int((table.sum(axis=1, dtype=np.int64)[stated] != known[stated]).sum())
        if level < tree.n_levels - 1:
            own = sizes.folded(table.astype(np.int64), level, View.COUNTS)
            consistency += int(np.count_nonzero(sizes.children_sums(x, level) - own))
    return {"sign": sum(int((table < 0).sum()) for table in x), "consistency": consistency, "totals": off}


def _by_weight(w: np.ndarray, off: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Put the rows of every weight together."""
    return [(int(weight), off[w == weight]) for weight in np.unique(w)]


def _squares(off: np.ndarray) -> int:
    """Add up squares exactly."""
    largest = int(np.abs(off).max(initial=0))
    if largest * largest * max(1, off.size) < 2**62:
        return int(np.vdot(off, off))
    return sum(value * value for value in off.ravel().tolist())
