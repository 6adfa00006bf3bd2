"""The numbers that say how a table was off, and how much making it consistent moved."""

from dataclasses import dataclass

import numpy as np

from pgsr.reconciling.measurements import MeasuredCells


@dataclass(frozen=True)
class LevelDiagnostics:
    """The state of one level of the hierarchy before and after.

    Attributes:
        level: 0 at the root.
        name: of the level.
        cells: its cells.
        measured: those with a value.
        sums_off: cells whose value differs from the sum of the values below it, where all of these are there.
        sums_off_after: the same of the answer.
        negative: values below 0.
        negative_after: the same of the answer.
        fractions: values that are not whole.
        moved: measured cells whose answer differs from their value.
        mean_change: the mean of |answer - value| over measured cells.
        largest_change: the largest |answer - value|.
        largest_at: the cell of the largest change, with its row.
    """

    level: int
    name: str
    cells: int
    measured: int
    sums_off: int
    sums_off_after: int
    negative: int
    negative_after: int
    fractions: int
    moved: int
    mean_change: float
    largest_change: float
    largest_at: str


def diagnostics(
    found: MeasuredCells, answer: np.ndarray, names: tuple[str, ...], near: float, sizes: slice
) -> list[LevelDiagnostics]:
    """Compare the values of a table with an answer, level by level.

    Args:
        found: the table.
        answer: shape (regions, sizes).
        names: of levels.
        near: numbers closer than this count as equal.
        sizes: those that are looked at, of a table or of all.
    """
    tree, made = found.tree, []
    lowest = lowest_copies(found)
    value, measured, answer = found.value[lowest, sizes], found.weight[lowest, sizes] > 0, answer[:, sizes]
    own = np.append(False, tree.padded)[tree.parent + 1] == 0
    for level, name in enumerate(names):
        rows = tree.level(level)
        listed = own[rows, None]
        there = listed & measured[rows]
        y, x = value[rows], answer[rows]
        inner = listed & ~tree.padded[rows, None] & (level < tree.n_levels - 1)
        off = after = np.zeros(y.shape, bool)
        if level < tree.n_levels - 1:
            off = there & inner & (np.abs(tree.sum_children(value, level) - y) > near)
            after = inner & (np.abs(tree.sum_children(answer, level) - x) > near)
        change = np.where(there, np.abs(x - np.where(there, y, 0.0)), 0.0)
        region, size = divmod(int(np.argmax(change)), x.shape[1])
        n = int(there.sum())
        made.append(
            LevelDiagnostics(
                level,
                name,
                int(listed.sum()) * x.shape[1],
                n,
                int(off.sum()),
                int(after.sum()),
                int((there & (y < 0)).sum()),
                int((listed & (x < -near)).sum()),
                int((there & (y != np.floor(y))).sum()),
                int((change > near).sum()),
                float(change.sum() / max(1, n)),
                float(change.max(initial=0.0)),
                found.first_row(int(lowest[rows][region]) * found.shape[1] + sizes.start + size)
                if change.any()
                else "",
            )
        )
    return made


def lowest_copies(found: MeasuredCells) -> np.ndarray:
    """Find the lowest copy of every region, the region itself where there are none; shape (regions,)."""
    tree = found.tree
    lowest = np.arange(tree.n_regions)
    for level in range(tree.n_levels - 2, -1, -1):
        rows = tree.level(level)
        copied = rows.start + np.flatnonzero(tree.padded[rows])
        lowest[copied] = lowest[tree.first_child[copied]]
    return lowest
