"""The numbers that say how a table was off, whether its stated noise explains that, and how much was moved."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from pgsr.reconciling.conditions import known_cells
from pgsr.reconciling.laws import NoiseLaw
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.variances import estimates_and_variances

EXACT = 1e8
"""How much more than the heaviest row a fixed cell weighs."""


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


class Plausibility(NamedTuple):
    """How far rows are from the linear estimate of numbers that add up, in units of what noise explains.

    Attributes:
        chi_square: the sum over rows of (value - estimate)^2 / variance.
        degrees: its mean if noise is what was stated: rows less unknowns.
        p_value: the chance of a sum so large or larger, nearly; NaN where no row can be off. A value near 0 says that
            there is more noise than was stated, or that some row means something else.
        largest_z: the largest |value - estimate| in its standard deviations.
        largest_at: the row of it.
    """

    chi_square: float
    degrees: float
    p_value: float
    largest_z: float
    largest_at: str


def plausibility(found: MeasuredCells, law: NoiseLaw | None) -> Plausibility:
    """Compare values with the best linear unbiased estimate under their variances, whatever signs it has.

    With e the difference of a row of the variance v from an estimate of the variance V, e has the variance v h for
    h = 1 - V / v, and the sum of e^2 / v the mean d = sum of h. Its variance is 2 d and the sum of h^2 times what the
    law's fourth moment is above that of the Gaussian law, and the p-value is that of a multiple of chi-square with this
    mean and variance. It is exact for Gaussian noise.

    Args:
        found: the table; weights are 1 / variance.
        law: of its noise, Gaussian if None.

    Complexity: O(cells).

    Source: Satterthwaite 1946 for the two moments.
    """
    known = known_cells(found)
    value, weight = found.value, found.weight
    if known.any():
        assert found.lower is not None
        value = np.where(known, found.lower, value)
        weight = np.where(known, EXACT * weight.max(initial=1e-300), weight)
    estimate, variance = estimates_and_variances(found.tree, value, weight)
    rows = np.flatnonzero(found.row_weight > 0)
    rows = rows[~known.ravel()[found.row_cell[rows]]]
    cell, w = found.row_cell[rows], found.row_weight[rows]
    off = (found.row_value[rows] - estimate.ravel()[cell]) * np.sqrt(w)
    free = np.clip(1.0 - w * variance.ravel()[cell], 0.0, 1.0)
    free[free < 1e-6] = 0.0
    degrees, square = float(free.sum()), float(np.square(off[free > 0]).sum())
    if not degrees:
        return Plausibility(0.0, 0.0, float("nan"), 0.0, "")
    fourth = np.zeros(len(w)) if law is None else law.kurtosis(1.0 / w)
    spread = 2.0 * degrees + float((fourth * free * free).sum())
    times = spread / (2.0 * degrees)
    z = np.where(free > 0, np.abs(off) / np.sqrt(np.where(free > 0, free, 1.0)), 0.0)
    at = int(np.argmax(z))
    name = f"row {rows[at]} ({found.cell_name(int(cell[at]))})"
    return Plausibility(square, degrees, float(chdtrc(degrees / times, square / times)), float(z[at]), name)
