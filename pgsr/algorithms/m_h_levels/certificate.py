"""The certificate of M_H with other sizes on every level, from problem, answer and prices alone."""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_levels.problem import UNKNOWN, LevelProblem
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.machine.blocks import row_blocks


@dataclass(frozen=True, eq=False)
class LevelPrices:
    """Integer prices of the conditions of a `LevelProblem`, which prove an answer optimal.

    Attributes:
        top: where the root's cells end: of the root's total, the same for all sizes, and 0 where none is public; shape
            (K of the root + 1,).
        inner: by level with children, of what region r holds less than its children; shape (regions of the level, K of
            the level below + 1) each.
        leaves: where the cells of leaves start: of the total of the smallest region around a leaf whose total is
            public, the same for all leaves for which this is the same region, and 0 where there is none; shape
            (leaves,).
    """

    top: np.ndarray
    inner: tuple[np.ndarray, ...]
    leaves: np.ndarray


@dataclass(frozen=True)
class LevelCertificate:
    """The facts of an answer, recomputed in exact integers.

    Attributes:
        objective: sum of w (x - y)^2.
        violations: number of violated conditions by kind: "sign", "consistency", "totals".
        optimal: whether there are none, and the prices prove that no feasible point has a smaller objective.
    """

    objective: int
    violations: dict[str, int]
    optimal: bool


def certified(problem: LevelProblem, x: CountsByLevel, prices: LevelPrices) -> LevelCertificate:
    """Judge an answer.

    Cell (r, s) adds to two conditions: that of r's own vertex and that of the vertex above. With d the price above less
    the price of its own, x is optimal if it is feasible and every cell satisfies

        w (2 (x - y) - 1)  <=  d  <=  w (2 (x - y) + 1),     the left one only where x > 0:

    summed with prices over all cells, conditions cancel, and every cell alone could not do better.
    """
    objective, holds = judged(problem, x, prices)
    alike = bool((prices.top == prices.top[0]).all()) and (problem.total is not None or prices.top[0] == 0)
    stated = prices_of_sources(problem, prices)
    violated = violations(problem, x)
    return LevelCertificate(objective, violated, holds and alike and stated and not any(violated.values()))


def prices_of_sources(problem: LevelProblem, prices: LevelPrices) -> bool:
    """Say whether leaves have the price of their public total: one per total, and 0 where none is public."""
    source = problem.sources.of_leaf
    stated = source != UNKNOWN
    price = np.zeros(problem.hierarchy.n_regions, prices.leaves.dtype)
    price[source[stated]] = prices.leaves[stated]
    return bool((prices.leaves == np.where(stated, price[source], 0)).all())


def judged(
    problem: LevelProblem, x: CountsByLevel, prices: LevelPrices, n_levels: int | None = None
) -> tuple[int, bool]:
    """Compute the objective, and whether prices prove every cell best; of the first `n_levels` levels, or of all."""
    objective, proved = 0, True
    for level, table in enumerate(x.tables[:n_levels]):
        for rows in row_blocks(slice(0, len(table)), table.shape[1]):
            value, holds = _judge_rows(problem, table[rows], prices, level, rows)
            objective += value
            proved = proved and holds
    return objective, proved


def _judge_rows(problem: LevelProblem, x: np.ndarray, prices: LevelPrices, level: int, rows: slice) -> tuple[int, bool]:
    """Compute the part of the objective of some regions of a level, and whether prices prove their cells best."""
    tree = problem.hierarchy
    here = slice(tree.level(level).start + rows.start, tree.level(level).start + rows.stop)
    w, off = problem.w[here, None], x.astype(np.int64) - problem.noisy.tables[level][rows]
    above = prices.top if level == 0 else prices.inner[level - 1][tree.parent[here] - tree.level(level - 1).start]
    if level < tree.n_levels - 1:
        own = prices.inner[level][rows][:, np.minimum(np.arange(x.shape[1]), problem.noisy.max_sizes[level + 1])]
    else:
        own = prices.leaves[rows, None]
    excess = above - own - 2 * w * off
    best = not ((excess > w) | ((excess < -w) & (x > 0))).any()
    return sum(int(weight) * _squares(part) for weight, part in _by_weight(w[:, 0], off)), best


def violations(problem: LevelProblem, x: CountsByLevel) -> dict[str, int]:
    """Count violated conditions by kind."""
    totals = 0
    if problem.total is not None:
        totals += int(int(x.tables[0].sum()) != problem.total)
    if problem.totals is not None:
        for level, table in enumerate(x.tables):
            known = problem.known[problem.hierarchy.level(level)]
            stated = known != UNKNOWN
            if stated.any():
                totals += int((table.sum(axis=1, dtype=np.int64)[stated] != known[stated]).sum())
    return {
        "sign": sum(int((table < 0).sum()) for table in x.tables),
        "consistency": sum(int(np.count_nonzero(part)) for part in x.missing()),
        "totals": totals,
    }


def _by_weight(w: np.ndarray, off: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Put the rows of every weight together."""
    return [(int(weight), off[w == weight]) for weight in np.unique(w)]


def _squares(off: np.ndarray) -> int:
    """Add up squares exactly."""
    largest = int(np.abs(off).max(initial=0))
    if largest * largest * max(1, off.size) < 2**62:
        return int(np.vdot(off, off))
    return sum(value * value for value in off.ravel().tolist())
