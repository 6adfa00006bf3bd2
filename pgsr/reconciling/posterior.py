"""The posterior law of whole, non-negative tables that add up, given noisy values: exact marginals and exact draws.

**Model.** Sizes are independent of each other. Nothing is assumed of the root's number: every whole number from 0 on is
as likely. A number T of a region is shared out to its n children by the Dirichlet-multinomial law,

    P(x | T) = prod over children c of g(x[c], r) / g(T, n r),        g(x, r) = Gamma(x + r) / (Gamma(r) x!),

whose r is one number per level and size: it is the law of n independent negative binomial numbers of the shape r and of
any mean, given their sum. So families of any scale have the same r, and no mean has to be known. Every value is the
number of its cell and independent noise of a known law.

**Learning.** r maximises the evidence, the probability of all values, times a wide lognormal law of r itself. The
derivative by log r is a mean over the posterior (Fisher's identity), which the marginals give.

**Exactness.** Messages go up the tree and down again (`messages_kernel`). Numbers that would need noise beyond the reach
of the law are left out (`laws.REACH`), and tails of messages are cut. With M the message of a node and D(x) what all
other nodes say of x, a part of mass `cut` of M takes at most cut sum(M) max(D) / sum(M D) of the posterior. In a family
D is at most the largest F of its region times the largest D above it, so that logarithms of largest over mean F add up
from the root down. `lost` is the sum of that over all nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ProblemError, TooLargeError
from pgsr.machine.parallel import Threads
from pgsr.reconciling.holding import known_cells
from pgsr.reconciling.laws import NoiseLaw
from pgsr.reconciling.measured import MeasuredCells
from pgsr.reconciling.messages_kernel import NOTHING, TOO_LONG, Column, Messages, downward, draw, upward
from pgsr.reconciling.variances import estimates_and_variances

MOST_LOST = 1e-6
"""The part of a posterior that may be cut off."""

TAILS = (1e-13, 1e-26, 1e-52, 1e-104, 1e-208)
"""The tails of messages that are cut, the next where the one before loses more than that."""

TAIL_IN_LEARNING = 1e-7

SPREAD = 2.0
"""The standard deviation of log r before anything is seen."""

LARGEST_STEP, SMALL_STEP, MOST_STEPS = 2.0, 0.03, 12
"""Steps of log r: the largest, one that is the last, and how many there may be."""

MOST_NUMBERS = 200_000_000
"""How many numbers all cells of a size may have together before the noise is called too large."""

SHOWN = 50_000
"""Cells from which on progress is shown."""


@dataclass(frozen=True, eq=False)
class TablePosterior:
    """The posterior of all cells of a table.

    Attributes:
        columns: the tree and the values of every size, and the learned r.
        low, high: ends of the shortest interval of each cell with at least the chance; shape (regions, sizes).
        median, mean, variance: of each cell, of the same shape.
        lost: what was cut off of the posterior of each size, at most; shape (sizes,).
        beyond: the chance that the noise of some row is beyond what is looked at, at most.
        tails: the tails that were cut; shape (sizes,).
    """

    columns: tuple[Column, ...]
    low: np.ndarray
    high: np.ndarray
    median: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    lost: np.ndarray
    beyond: float
    tails: np.ndarray

    @property
    def shape(self) -> np.ndarray:
        """The learned r of every level and size, 1 at the root, of which nothing is assumed; shape (levels, sizes)."""
        return np.stack([column.shape for column in self.columns], axis=1)

    def draws(self, number: int, seed: int) -> np.ndarray:
        """Draw tables; shape (number, regions, sizes), int32, or int64 where numbers need it."""
        n_regions = len(self.columns[0].parent)
        kind = np.int32 if max(int(column.high.max()) for column in self.columns) < 2**31 else np.int64
        out = np.empty((len(self.columns), n_regions, number), kind)

        def fill(size: int) -> None:
            column = self.columns[size]
            uniforms = np.random.default_rng([seed, size]).random((len(column.left) + 1, number))
            draw(column, upward(column, self.tails[size]), uniforms, out[size])

        _for_each(fill, len(self.columns), n_regions, "drawing tables")
        return out.transpose(2, 1, 0)


def table_posterior(
    found: MeasuredCells, law: NoiseLaw, chance: float, shape: np.ndarray | None = None
) -> TablePosterior:
    """Compute the posterior of the cells of a table.

    Args:
        found: the table; weights are 1 / variance.
        law: of its noise.
        chance: of intervals.
        shape: r of every level and size where it is known, of the shape (levels, sizes).

    Raises:
        ProblemError: some cell is bounded by no value, or no whole numbers fit the values.
        TooLargeError: noise is so large that messages have too many numbers.

    Complexity: O(log n w^2) per child of families of n, with windows of w numbers, some 30 times the noise's deviation
    for leaves; some eight times, for learning.

    Shown equal to enumeration by `tests/test_reconciling_posterior.py::test_equals_enumeration`.
    """
    tree, sizes = found.tree, found.shape[1]
    low, high = _windows(found, law)
    estimate, variance = estimates_and_variances(tree, found.value, found.weight)
    learned = np.full((tree.n_levels, sizes), np.nan) if shape is None else shape
    start = _starts(tree, estimate, variance) if shape is None else shape
    start[0] = 1.0
    columns = _columns(found, law, low, high, start)
    room = np.maximum(estimate, 0.0) + 3.0 * np.sqrt(np.where(np.isinf(variance), 0.0, variance))
    expected = np.where(np.isinf(variance), high / 2.0, np.minimum(room, high))
    tails, lost, parts = np.zeros(sizes), np.zeros(sizes), [None] * sizes

    def of(size: int) -> None:
        column = columns[size]
        if np.isnan(learned[:, size]).any():
            column = _learn(found, size, column, expected[:, size])
        column = _gauged(column, expected[:, size])
        for eps in TAILS:
            messages = upward(column, eps)
            lost[size] = 1.0 if messages.stopped else _lost(tree, column, messages)
            if messages.stopped == TOO_LONG or lost[size] <= MOST_LOST:
                break
        _require(found, size, messages)
        if lost[size] > MOST_LOST:
            raise ProblemError(f"{found.first_row(size)} and what is below it fit the stated noise too badly; correct it")
        columns[size], tails[size] = column, eps
        parts[size] = downward(column, messages, chance)

    _for_each(of, sizes, tree.n_regions, "looking for the posterior")
    made = [np.stack([getattr(part, name) for part in parts], axis=1) for name in ("low", "high", "median", "mean", "variance")]
    rows = int(np.count_nonzero((found.row_cell >= 0) & (found.row_weight > 0)))
    return TablePosterior(tuple(columns), *made, lost, rows * law.beyond, tails)


def _learn(found: MeasuredCells, size: int, column: Column, expected: np.ndarray) -> Column:
    """Find the r of every level at which the evidence is largest, by secants; the first step is that of EM."""
    rho, before, slope_before = np.log(column.shape), None, None
    for _ in range(MOST_STEPS):
        column = _gauged(column._replace(shape=np.exp(rho)), expected)
        for eps in (TAIL_IN_LEARNING, *TAILS):
            messages = upward(column, eps)
            if messages.stopped != NOTHING:
                break
        _require(found, size, messages)
        told = downward(column, messages, 0.5)
        slope, bend = told.slope - rho / SPREAD**2, told.bend - 1 / SPREAD**2
        bend = np.minimum(bend, -1 / SPREAD**2)
        if before is not None:
            moved = rho - before
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = (slope - slope_before) / moved
            bend = np.where((np.abs(moved) > 1e-4) & (secant < 0), secant, bend)
        step = np.clip(-slope / bend, -LARGEST_STEP, LARGEST_STEP)
        step[0] = 0.0
        if np.abs(step).max() < SMALL_STEP:
            break
        before, slope_before, rho = rho, slope, rho + step
    return column


def _gauged(column: Column, expected: np.ndarray) -> Column:
    """Choose theta of families: that of negative binomial children whose mean is what the region may well have."""
    n = np.maximum(1, np.diff(column.first_child))
    r = column.shape[np.minimum(column.level + 1, len(column.shape) - 1)]
    mean = np.maximum(expected / n, 1e-3)
    return column._replace(log_theta=-np.log1p(r / mean))


def _lost(tree: Hierarchy, column: Column, messages: Messages) -> float:
    """Bound the part of the posterior that cutting tails of messages lost."""
    above, of_family = np.zeros(tree.n_regions), np.zeros(tree.n_regions)
    for level in range(tree.n_levels):
        rows = tree.level(level)
        above[rows] = of_family[tree.parent[rows]] if level else 0.0
        of_family[rows] = above[rows] + messages.peak[rows]
    of_pairs = np.repeat(of_family, np.diff(column.first_pair))
    with np.errstate(over="ignore"):
        return float((messages.cut * np.exp(np.concatenate([above, of_pairs]))).sum())


def _require(found: MeasuredCells, size: int, messages: Messages) -> None:
    """Raise for what stopped messages."""
    cell = messages.where * found.shape[1] + size
    if messages.stopped == TOO_LONG:
        raise TooLargeError(
            f"the posterior takes more than {messages.work:.0e} multiplications by {found.cell_name(cell)}, for its noise "
            "is large; leave noise= out for Gaussian intervals, or give values in larger units"
        )
    if messages.stopped == NOTHING:
        raise ProblemError(
            f"{found.first_row(cell)} does not fit what is below it under the stated noise; correct the scale or the row"
        )


def _windows(found: MeasuredCells, law: NoiseLaw) -> tuple[np.ndarray, np.ndarray]:
    """Find the numbers that every cell may have, within the reach of noise and of sums; shapes (regions, sizes)."""
    tree = found.tree
    low, high = np.zeros(found.value.size), np.full(found.value.size, np.inf)
    rows = np.flatnonzero((found.row_cell >= 0) & (found.row_weight > 0))
    cell, value = found.row_cell[rows], found.row_value[rows]
    reach = law.reach(law.scale(1.0 / found.row_weight[rows]))
    np.maximum.at(low, cell, np.ceil(value - reach))
    np.minimum.at(high, cell, np.floor(value + reach))
    low, high = low.reshape(found.shape), high.reshape(found.shape)
    if found.lower is not None and found.upper is not None:
        known = known_cells(found)
        low, high = np.where(known, found.lower, low), np.where(known, found.upper, high)
    for level in range(tree.n_levels - 2, -1, -1):
        here = tree.level(level)
        low[here] = np.maximum(low[here], tree.sum_children(low, level))
        high[here] = np.minimum(high[here], tree.sum_children(high, level))
    for level in range(tree.n_levels - 1):
        below = tree.level(level + 1)
        up, at = tree.parent[below], tree.parent[below] - tree.level(level).start
        least, most = tree.sum_children(low, level)[at], tree.sum_children(high, level)[at]
        high[below] = np.minimum(high[below], high[up] - (least - low[below]))
        others = np.where(np.isinf(most), np.inf, most) - np.where(np.isinf(most), 0.0, high[below])
        low[below] = np.maximum(low[below], low[up] - others)
    if (low > high).any():
        cell = int(np.argmax((low > high).ravel()))
        raise ProblemError(
            f"{found.first_row(cell)} would need noise beyond {REACHED}, however cells add up; correct the scale or the row"
        )
    if np.isinf(high).any():
        cell = int(np.argmax(np.isinf(high).ravel()))
        raise ProblemError(
            f"nothing bounds {found.cell_name(cell)}: neither it nor a region above it has a value; give one, or leave "
            "noise= out"
        )
    leaves = tree.leaves
    numbers = (high - low + 1).sum(axis=0) if tree.n_levels > 1 else (high - low + 1)[leaves].sum(axis=0)
    if numbers.max() > MOST_NUMBERS:
        wide = int(np.argmax((high - low).ravel()))
        raise TooLargeError(
            f"{found.cell_name(wide)} alone may be one of {(high - low).max():.0e} numbers, which is too many for exact "
            "laws; leave noise= out for Gaussian intervals, or give values in larger units"
        )
    return low.astype(np.int64), high.astype(np.int64)


REACHED = "35 scales (8 standard deviations of Gaussian noise)"


def _starts(tree: Hierarchy, estimate: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Guess r by moments: children are off their share of their family by m + m^2 / r, and by noise; m is that share."""
    found = np.ones((tree.n_levels, estimate.shape[1]))
    for level in range(1, tree.n_levels):
        rows = tree.level(level)
        up = tree.parent[rows]
        n = np.bincount(up, minlength=tree.n_regions)[up][:, None]
        share, v = np.maximum(estimate[up], 0.0) / n, variance[rows]
        there = (n > 1) & np.isfinite(v)
        over = np.where(there, np.square(estimate[rows] - share) - np.where(there, v, 0.0) - share, 0.0).sum(axis=0)
        squares = np.where(there, share * share, 0.0).sum(axis=0)
        found[level] = np.clip(squares / np.maximum(over, 1e-9), 0.05, 20.0)
    return found


def _columns(
    found: MeasuredCells, law: NoiseLaw, low: np.ndarray, high: np.ndarray, shape: np.ndarray
) -> list[Column]:
    """Put down the tree and the values of every size for the compiled loops."""
    tree, sizes = found.tree, found.shape[1]
    first_child = np.append(tree.first_child, tree.n_regions)[: tree.n_regions + 1].astype(np.int64)
    first_pair, left, right, top = _pairs(tree.n_regions, first_child)
    rows = np.flatnonzero((found.row_cell >= 0) & (found.row_weight > 0))
    rows = rows[~known_cells(found).ravel()[found.row_cell[rows]]]
    region, size = np.divmod(found.row_cell[rows], sizes)
    order = np.lexsort((region, size))
    rows, region, size = rows[order], region[order], size[order]
    value, scale = found.row_value[rows], law.scale(1.0 / found.row_weight[rows])
    starts = np.searchsorted(size, np.arange(sizes + 1))
    made = []
    for s in range(sizes):
        part = slice(starts[s], starts[s + 1])
        made.append(
            Column(
                tree.parent.astype(np.int64),
                first_child,
                first_pair,
                left,
                right,
                top,
                tree.level_of.astype(np.int64),
                np.ascontiguousarray(low[:, s]),
                np.ascontiguousarray(high[:, s]),
                np.searchsorted(region[part], np.arange(tree.n_regions + 1)),
                value[part].copy(),
                scale[part].copy(),
                int(law.squares),
                shape[:, s].copy(),
                np.zeros(tree.n_regions),
            )
        )
    return made


def _pairs(n_regions: int, first_child: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Add the children of every region up two by two: first pairs, left and right nodes, and the tops of families."""
    first, left, right, top = [0], [], [], np.full(n_regions, -1)
    for v in range(n_regions):
        nodes = list(range(first_child[v], first_child[v + 1]))
        while len(nodes) > 1:
            left += nodes[:-1:2]
            right += nodes[1::2]
            made = range(n_regions + len(left) - len(nodes) // 2, n_regions + len(left))
            nodes = [*made, *nodes[len(nodes) - len(nodes) % 2 :]]
        if nodes:
            top[v] = nodes[0]
        first.append(len(left))
    return np.array(first), np.array(left, np.int64), np.array(right, np.int64), top


def _for_each(task: Callable[[int], None], n: int, cells: int, doing: str) -> None:
    """Do a task for every size on all threads, with a bar where there are many cells."""
    if n * cells < SHOWN or find_spec("rich") is None:
        Threads()(task, range(n))
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        line: Any = bar.add_task(doing, total=n)

        def watched(item: int) -> None:
            task(item)
            bar.advance(line)

        Threads()(watched, range(n))
