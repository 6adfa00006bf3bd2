"""The posterior law of whole, non-negative tables that add up, given noisy values: exact marginals and exact draws.

**Model.** Sizes are independent of each other. Nothing is assumed of the root's number: every whole number from 0 on is
as likely. A number T of a region is shared out to its n children by the Dirichlet-multinomial law,

    P(x | T) = prod over children c of g(x[c], r) / g(T, n r),        g(x, r) = Gamma(x + r) / (Gamma(r) x!),

whose r is one number per level and size: it is the law of n independent negative binomial numbers of the shape r and of
any mean, given their sum. So families of any scale have the same r, and no mean has to be known. Every value is the
number of its cell and independent noise of a known law.

**Learning.** The logarithm of r is normal around 0, widely. Its derivative of the evidence, which is the probability of
all values, is a mean over the posterior (Fisher's identity), so that the marginals lead to the likeliest r. Where the
table leaves r open, the posterior is the mean over several r, weighted by evidence: importance sampling around the
likeliest r at points that fill the space evenly.

**Exactness.** Given r, messages go up the tree and down again (`messages_kernel`), by sums of products of positive
numbers. Left out are numbers that would need noise beyond the reach of the law (`laws.REACH`), and tails of messages.
`lost` says how much of the posterior these tails are: beyond each end of each window, the law of the node given all
values is taken to fall on as it does at the end, which bounds every law whose logarithm is concave there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.special import ndtri

from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ProblemError, TooLargeError
from pgsr.machine.parallel import Threads
from pgsr.reconciling.holding import known_cells
from pgsr.reconciling.laws import NoiseLaw
from pgsr.reconciling.measured import MeasuredCells
from pgsr.reconciling.messages_kernel import NOTHING, TOO_LONG, Column, Messages, describe, downward, draw, mix, upward
from pgsr.reconciling.variances import estimates_and_variances

MOST_LOST = 1e-6
"""The part of a posterior that may be cut off."""

TAILS = (1e-10, 1e-14, 1e-20, 1e-40, 1e-80, 1e-160)
"""The tails of messages that are cut, the next where the one before loses more than that."""

TAIL_IN_LEARNING = 1e-7

SPREAD = 2.0
"""The standard deviation of log r before anything is seen."""

LEAST_FIRST, LARGEST_STEP, MOST_STEPS = 0.2, 2.0, 12
"""Steps of log r: the least first one, from which the second derivative is known, the largest, and how many."""

ROOM = 8.0
"""Standard deviations around linear estimates between which numbers are expected, so that messages are narrow."""

CLOSE = 0.1
"""Standard deviations of log r within which a step is the last."""

MOST_NUMBERS = 200_000_000
"""How many numbers all cells of a size may have together before the noise is called too large."""

SHOWN = 50_000
"""Cells from which on progress is shown."""


POINTS = 12
"""Different r of a size where the table leaves r open."""

CERTAIN = 0.3
"""A standard deviation of log r from which on there are several."""


@dataclass(frozen=True, eq=False)
class SizePosterior:
    """The posterior of one size.

    Attributes:
        columns: the tree, the values and r, with several r where the table leaves r open.
        weights: of these; their sum is 1.
        tails: of messages, which are cut.
        lost: what was cut off of the posterior.
        pool: laws of all regions, one behind the other.
        at: where each starts, and the last one ends; shape (regions + 1,).
        low: the first number of each; shape (regions,).
    """

    columns: tuple[Column, ...]
    weights: np.ndarray
    tails: float
    lost: float
    pool: np.ndarray
    at: np.ndarray
    low: np.ndarray

    def described(self, chance: float) -> tuple[np.ndarray, np.ndarray]:
        """Find ends of shortest intervals and medians, shape (3, regions), and means and variances, (2, regions)."""
        ends, seen = np.empty((3, len(self.low)), np.int64), np.empty((2, len(self.low)))
        describe(self.pool, self.at, self.low, chance, ends, seen)
        return ends, seen

    def drawn(self, number: int, rng: np.random.Generator, out: np.ndarray) -> None:
        """Draw numbers of all regions into `out`, shape (regions, number)."""
        order, start = rng.permutation(number), 0
        for column, count in zip(self.columns, rng.multinomial(number, self.weights).tolist(), strict=True):
            if count:
                part = np.empty((len(out), count), np.int64)
                draw(column, upward(column, self.tails), rng.random((len(column.left) + 1, count)), part)
                out[:, order[start : start + count]] = part
                start += count


@dataclass(frozen=True, eq=False)
class TablePosterior:
    """The posterior of all cells of a table.

    Attributes:
        sizes: the posterior of every size.
        low, high: ends of the shortest interval of each cell with at least the chance; shape (regions, sizes).
        median, mean, variance: of each cell, of the same shape.
        lost: what was cut off of the posterior of each size; shape (sizes,).
        beyond: the chance that the noise of some row is beyond what is looked at, at most.
    """

    sizes: tuple[SizePosterior, ...]
    low: np.ndarray
    high: np.ndarray
    median: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    lost: np.ndarray
    beyond: float

    def draws(self, number: int, seed: int) -> np.ndarray:
        """Draw tables; shape (number, regions, sizes), int32, or int64 where numbers need it."""
        kind = np.int32 if self.high.max() < 2**30 else np.int64
        out = np.empty((len(self.sizes), len(self.low), number), kind)

        def fill(size: int) -> None:
            self.sizes[size].drawn(number, np.random.default_rng([seed, size]), out[size])

        _for_each(fill, len(self.sizes), len(self.low), "drawing tables")
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
    for leaves; some five times for learning, and `POINTS` times where r is open.

    Shown equal to enumeration by `tests/test_reconciling_posterior.py::test_equals_enumeration`.
    """
    tree, sizes = found.tree, found.shape[1]
    low, high = _windows(found, law)
    estimate, variance = estimates_and_variances(tree, found.value, found.weight)
    start = _starts(tree, estimate, variance) if shape is None else np.array(shape, float)
    start[0] = 1.0
    columns = _columns(found, law, low, high, start)
    room = ROOM * np.sqrt(np.where(np.isinf(variance), 0.0, variance))
    least, most = np.maximum(estimate - room, low), np.minimum(np.maximum(estimate, 0.0) + room, high)
    expected = np.where(np.isinf(variance), np.stack([low, high]), np.stack([least, np.maximum(most, least)]))
    made: list[Any] = [None] * sizes

    def of(size: int) -> None:
        posterior = _of_size(found, size, columns[size], expected[:, :, size], shape is None)
        made[size] = posterior, *posterior.described(chance)

    _for_each(of, sizes, tree.n_regions, "looking for the posterior")
    parts, ends, seen = zip(*made, strict=True)
    rows = int(np.count_nonzero((found.row_cell >= 0) & (found.row_weight > 0)))
    return TablePosterior(
        tuple(parts),
        *np.stack(ends, axis=2),
        *np.stack(seen, axis=2),
        np.array([part.lost for part in parts]),
        rows * law.beyond,
    )


def _of_size(found: MeasuredCells, size: int, column: Column, expected: np.ndarray, learn: bool) -> SizePosterior:
    """Compute the posterior of one size."""
    open_levels = np.zeros(len(column.shape), bool)
    rho, spread = np.log(column.shape), np.zeros(len(column.shape))
    if learn:
        families = np.diff(column.first_child) > 1
        open_levels[column.level[families] + 1] = True
        rho, spread = _likeliest(found, size, column, expected, open_levels)
    points = rho[None]
    if spread.max() > CERTAIN:
        normal = ndtri((0.5 + np.arange(1, POINTS + 1)[:, None] * _steps(int(open_levels.sum()))) % 1.0)
        points = np.repeat(points, POINTS, axis=0)
        points[:, open_levels] += normal * spread[open_levels]
    for eps in TAILS:
        columns, laws, windows, evidence, lost = [], [], [], [], 0.0
        for point in points:
            columns.append(_gauged(column._replace(shape=np.exp(point)), expected))
            messages = upward(columns[-1], eps)
            if messages.stopped:
                break
            told = downward(columns[-1], messages)
            laws.append(told.mass)
            windows.append((messages.at, messages.low, messages.length))
            evidence.append(messages.evidence)
            lost = max(lost, told.lost)
        if messages.stopped == TOO_LONG or (not messages.stopped and lost <= MOST_LOST):
            break
    _require(found, size, messages, lost)
    logs = np.array(evidence)
    if len(points) > 1:
        off = points[:, open_levels]
        logs += 0.5 * (np.square((off - rho[open_levels]) / spread[open_levels]) - np.square(off / SPREAD)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    n = len(column.parent)
    low = np.min([first[:n] for _, first, _ in windows], axis=0)
    high = np.max([first[:n] + length[:n] for _, first, length in windows], axis=0)
    at = np.append(0, np.cumsum(high - low))
    pool = np.zeros(at[-1])
    for weight, mass, (places, first, length) in zip(weights, laws, windows, strict=True):
        mix(pool, at, low, weight, mass, places, first, length)
    return SizePosterior(tuple(columns), weights, eps, lost, pool, at, low)


def _likeliest(
    found: MeasuredCells, size: int, column: Column, expected: np.ndarray, open_levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the likeliest log r of every level, and its standard deviation, by secants; the first step is that of EM."""
    rho = np.where(open_levels, np.log(column.shape), 0.0)
    before = slope_before = None
    for _ in range(MOST_STEPS):
        column = _gauged(column._replace(shape=np.exp(rho)), expected)
        for eps in (TAIL_IN_LEARNING, *TAILS):
            messages = upward(column, eps)
            if messages.stopped != NOTHING:
                break
        _require(found, size, messages, 0.0)
        told = downward(column, messages)
        slope = told.slope - rho / SPREAD**2
        if before is None:
            step = -slope / np.minimum(told.bend - 1 / SPREAD**2, -1 / SPREAD**2)
            step = np.where(step < 0, -1, 1) * np.clip(np.abs(step), LEAST_FIRST, LARGEST_STEP)
        else:
            moved = rho - before
            secant = (slope - slope_before) / np.where(moved == 0, 1.0, moved)
            bend = np.where(np.abs(moved) > 1e-3, np.minimum(secant, -1 / SPREAD**2), bend)
            step = np.clip(-slope / bend, -LARGEST_STEP, LARGEST_STEP)
        step = np.where(open_levels, step, 0.0)
        if before is None:
            bend = np.full(len(rho), -1 / SPREAD**2)
        elif (np.abs(step) < CLOSE / np.sqrt(-bend)).all():
            break
        before, slope_before, rho = rho, slope, rho + step
    return rho, np.where(open_levels, 1 / np.sqrt(-bend), 0.0)


def _steps(dimensions: int) -> np.ndarray:
    """Give the steps of a sequence that fills the unit cube evenly: powers of 1 / x, where x^(d + 1) = x + 1."""
    x = 2.0
    for _ in range(60):
        x = (1.0 + x) ** (1.0 / (dimensions + 1))
    return x ** -np.arange(1.0, dimensions + 1)


def _gauged(column: Column, expected: np.ndarray) -> Column:
    """Choose theta of families: that of negative binomial children whose mean is the most that is expected.

    Lower tails are cut as the least that is expected says. `expected` has shape (2, regions).
    """
    n = np.maximum(1, np.diff(column.first_child))
    r = column.shape[np.minimum(column.level + 1, len(column.shape) - 1)]
    low, high = -np.log1p(r * n / np.maximum(expected, 1e-3))
    return column._replace(log_theta=high, log_fall=low - high)


def _require(found: MeasuredCells, size: int, messages: Messages, lost: float) -> None:
    """Raise for what stopped messages."""
    cell = messages.where * found.shape[1] + size
    if messages.stopped == TOO_LONG:
        raise TooLargeError(
            f"the posterior takes more than {messages.work:.0e} multiplications by {found.cell_name(cell)}, for its noise "
            "is large; leave noise= out for Gaussian intervals, or give values in larger units"
        )
    if messages.stopped == NOTHING or lost > MOST_LOST:
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
