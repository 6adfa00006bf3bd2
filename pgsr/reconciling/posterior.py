"""The posterior law of whole, non-negative tables that add up, given noisy values: exact marginals and exact draws.

**Model.** Sizes are independent of each other. Nothing is assumed of the root's number: every whole number from 0 on is
as likely. A number T of a region is shared out to its n children by the Dirichlet-multinomial law,

    P(x | T) = prod over children c of g(x[c], r) / g(T, n r),        g(x, r) = Gamma(x + r) / (Gamma(r) x!),

whose r is one number per level and size: it is the law of n independent negative binomial numbers of the shape r and of
any mean, given their sum. So families of any scale have the same r, and no mean has to be known. Every value is the
number of its cell and independent noise of a known law.

**Factors.** With the likelihood L of what was measured, r of the region's level, and n children whose level has r',

    leaf      F[v](x) = g(x, r) theta[p]^x L[v](x)
    region    F[v](x) = g(x, r) theta[p]^x L[v](x) / (g(x, n r') theta[v]^x)

for the parent p. The root has r = 1 and theta[p] = 1, since g(x, 1) = 1. Every theta[v] comes in once per child and
goes out at v: it changes no probability, and makes messages narrow.

**Learning.** The logarithm of r is normal around 0, widely. Its derivative of the evidence, which is the probability of
all values, is a mean over the posterior (Fisher's identity), which leads to the likeliest r. Where the table leaves r
open, the posterior is the mean over several r around it, weighted by evidence: importance sampling.

**Exactness.** Given r, messages go up the tree and down again (`messages_kernel`), by sums of products of positive
numbers. Left out are numbers beyond the reach of the noise (`laws.REACH`), and tails of messages. `lost` says how much
of the posterior these are, if laws fall on beyond an end as they do at it, which bounds every log-concave law.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtri, polygamma, psi

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import ProblemError, TooLargeError
from pgsr.machine.parallel import Threads
from pgsr.machine.progress import steps
from pgsr.reconciling.conditions import known_cells
from pgsr.reconciling.laws import NoiseLaw
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.messages_kernel import NOTHING, TOO_LONG, describe, downward, draw, upward
from pgsr.reconciling.variances import estimates_and_variances

MOST_LOST = 1e-6
"""The part of a posterior that may be cut off."""

TAILS = (1e-12, 1e-20, 1e-40, 1e-80, 1e-160)
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

MOST_NUMBERS = 50_000_000
"""How many numbers all cells of a size may have together before the noise is called too large."""

MOST_TABLED = 1_000_000
"""The largest number up to which log g of leaves is tabled."""

POINTS = 8
"""Different r of a size where the table leaves r open."""

CERTAIN = 0.3
"""A standard deviation of log r from which on there are several."""


class PairTree(NamedTuple):
    """The tree as the compiled loops read it, which say what its arrays are."""

    parent: np.ndarray
    first_pair: np.ndarray
    top: np.ndarray
    left: np.ndarray
    right: np.ndarray


@dataclass(frozen=True, eq=False)
@read_only_arrays
class SizeValues:
    """The tree, and what is known of one size.

    Attributes:
        tree: the regions.
        sums: the same, with pairs.
        low: the first number of every region that is looked at; shape (regions,).
        at: where the numbers of every region start among those of all, and end; shape (regions + 1,).
        region, value, scale: of every row; shape (rows,).
        squares: whether the law is Gaussian.
        expected: the least and the most that is expected of every region; shape (2, regions).
    """

    tree: Hierarchy
    sums: PairTree
    low: np.ndarray
    at: np.ndarray
    region: np.ndarray
    value: np.ndarray
    scale: np.ndarray
    squares: bool
    expected: np.ndarray

    @cached_property
    def children(self) -> np.ndarray:
        """The number of children of every region, 1 of leaves."""
        n = np.bincount(self.tree.parent[1:], minlength=self.tree.n_regions)
        return np.maximum(n, 1)

    def spread(self, of_regions: np.ndarray) -> np.ndarray:
        """Repeat what regions have for each of their numbers."""
        return np.repeat(of_regions, np.diff(self.at))

    def numbers(self) -> np.ndarray:
        """List the numbers of all regions, one behind the other."""
        return np.arange(self.at[-1]) + self.spread(self.low - self.at[:-1])

    def log_likelihood(self) -> np.ndarray:
        """Compute the logarithm of the likelihood of all numbers."""
        width = np.diff(self.at)[self.region]
        start = np.append(0, np.cumsum(width))
        step = np.arange(start[-1])  # arrays of all numbers are changed in place: they are most of the memory
        step -= np.repeat(start[:-1], width)
        told = np.repeat(self.low[self.region] - self.value, width)
        told += step
        told /= np.repeat(self.scale, width)
        told = np.multiply(told, -0.5 * told, out=told) if self.squares else -np.abs(told, out=told)
        step += np.repeat(self.at[self.region], width)
        return np.bincount(step, told, self.at[-1])

    def factors(self, x: np.ndarray, likelihood: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute log F of all numbers, and log_fall of all regions, for the r of every level.

        Theta of a family is that of negative binomial children whose mean is the most that is expected, and its lower
        tails are cut as the least that is expected says.
        """
        level, leaves = self.tree.level_of, self.at[self.tree.leaves.start]
        below = shape[np.minimum(level + 1, len(shape) - 1)]
        low, high = -np.log1p(below * self.children / np.maximum(self.expected, 1e-3))
        parent = self.sums.parent
        theta = np.where(parent < 0, 0.0, high[parent]) - np.where(
            np.arange(len(parent)) < self.tree.n_inner, high, 0.0
        )
        logs = likelihood + x * self.spread(theta)
        logs[leaves:] += _log_g(x[leaves:], shape[-1])
        if leaves:
            z, r = (self.spread(of)[:leaves] for of in (below * self.children, shape[level]))
            logs[:leaves] += gammaln(x[:leaves] + r) - gammaln(r) - gammaln(x[:leaves] + z) + gammaln(z)
        return logs, low - high

    def slopes(self, shape: np.ndarray, x: np.ndarray, law: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Compute first and second derivatives by log r of every level, means over laws; shape (2, levels).

        Args:
            shape: r of every level.
            x, law: numbers of all regions and their probabilities, one region behind the other.
            lengths: how many numbers each has.
        """
        found = np.zeros((2, len(shape)))
        ends = np.append(0, np.cumsum(lengths))
        families = self.children > 1
        for level in range(1, self.tree.n_levels):
            above, here = self.tree.level(level - 1), self.tree.level(level)
            for rows, z, sign in (
                (here, np.full(here.stop - here.start, shape[level]), 1.0),
                (above, self.children[above] * shape[level], -1.0),
            ):
                of = families[self.tree.parent[rows]] if sign > 0 else families[rows]
                part = slice(ends[rows.start], ends[rows.stop])
                weight = np.repeat(of, lengths[rows]) * law[part]
                found[:, level] += sign * _log_g_slopes(x[part], np.repeat(z, lengths[rows]), weight)
        return found


def _log_g(x: np.ndarray, r: float) -> np.ndarray:
    """Compute log Gamma(x + r) / (Gamma(r) x!)."""
    most = int(x.max())
    if most > MOST_TABLED:
        return gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)
    k = np.arange(most)
    return np.append(0.0, np.cumsum(np.log((k + r) / (k + 1.0))))[x]


def _log_g_slopes(x: np.ndarray, z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Add up weights times the first and second derivatives of log g(x, z) by log z."""
    if (z == z[0]).all() and x.max() <= MOST_TABLED:
        mass = np.bincount(x, weight)
        x, z, weight = np.flatnonzero(mass), z[:1], mass[mass != 0]
    first = z * (psi(x + z) - psi(z))
    second = first + z * z * (polygamma(1, x + z) - polygamma(1, z))
    return np.array([(weight * first).sum(), (weight * second).sum()])


@dataclass(frozen=True, eq=False)
@read_only_arrays
class SizePosterior:
    """The posterior of one size.

    Attributes:
        values: the tree and what is known.
        shapes: r of every level, several where the table leaves r open; shape (points, levels).
        weights: of these; their sum is 1; shape (points,).
        tails: of messages, which are cut.
        lost: what was cut off of the posterior.
        ends: ends of shortest intervals and medians; shape (3, regions).
        seen: means and variances; shape (2, regions).
    """

    values: SizeValues
    shapes: np.ndarray
    weights: np.ndarray
    tails: float
    lost: float
    ends: np.ndarray
    seen: np.ndarray

    def drawn(self, number: int, rng: np.random.Generator, out: np.ndarray) -> None:
        """Draw numbers of all regions into `out`, shape (regions, number)."""
        order, start = rng.permutation(number), 0
        x, likelihood = self.values.numbers(), self.values.log_likelihood()
        for shape, count in zip(self.shapes, rng.multinomial(number, self.weights).tolist(), strict=True):
            if count:
                told = *self.values.sums, self.values.low, self.values.at, *self.values.factors(x, likelihood, shape)
                mass, windows, *_ = upward(*told, self.tails)
                del told
                uniforms = rng.random((len(self.values.sums.left) + 1, count))
                out[:, order[start : start + count]] = draw(*self.values.sums, mass, windows, uniforms)[: len(out)]
                start += count


@dataclass(frozen=True, eq=False)
@read_only_arrays
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

        _for_each(fill, len(self.sizes), "drawing tables")
        return out.transpose(2, 1, 0)


def table_posterior(found: MeasuredCells, law: NoiseLaw, chance: float, shape: np.ndarray | None) -> TablePosterior:
    """Compute the posterior of the cells of a table.

    Args:
        found: the table; weights are 1 / variance.
        law: of its noise.
        chance: of intervals.
        shape: r of every level and size if they are known, of the shape (levels, sizes); None to learn them.

    Raises:
        ProblemError: some cell is bounded by no value, or no whole numbers fit the values.
        TooLargeError: noise is so large that messages have too many numbers.

    Complexity: O(log n w^2) per child of families of n, with windows of w numbers, some 30 times the noise's deviation
    for leaves; some five times for learning, and `POINTS` times where r is open.

    Shown equal to enumeration by `test_reconciling_posterior.py::test_equals_enumeration`.
    """
    tree, sizes = found.tree, found.shape[1]
    low, high = _windows(found, law)
    estimate, variance = estimates_and_variances(tree, found.value, found.weight)
    start = _starts(tree, estimate, variance) if shape is None else np.array(shape, float)
    start[0] = 1.0
    room = ROOM * np.sqrt(np.where(np.isinf(variance), 0.0, variance))
    least, most = np.maximum(estimate - room, low), np.minimum(np.maximum(estimate, 0.0) + room, high)
    expected = np.where(np.isinf(variance), np.stack([low, high]), np.stack([least, np.maximum(most, least)]))
    values = _values(found, law, low, high, expected)
    made: list[Any] = [None] * sizes

    def of(size: int) -> None:
        made[size] = _of_size(found, size, values[size], start[:, size], shape is None, chance)

    _for_each(of, sizes, "looking for the posterior")
    rows = int(np.count_nonzero(found.row_weight > 0))
    low, high, median = np.stack([part.ends for part in made], axis=2)
    mean, variance = np.stack([part.seen for part in made], axis=2)
    lost = np.array([part.lost for part in made])
    return TablePosterior(tuple(made), low, high, median, mean, variance, lost, rows * law.beyond)


def _of_size(
    found: MeasuredCells, size: int, values: SizeValues, shape: np.ndarray, learn: bool, chance: float
) -> SizePosterior:
    """Compute the posterior of one size."""
    x, likelihood = values.numbers(), values.log_likelihood()
    above = values.tree.level_of[:-1][(values.children > 1)[:-1]]  # a leaf has no family
    is_open = np.isin(np.arange(len(shape)), above + 1) & learn
    rho, spread = np.log(shape), np.zeros(len(shape))
    if learn:
        rho, spread = _likeliest(found, size, values, shape, is_open, (x, likelihood))
    points = rho[None]
    if spread.max() > CERTAIN:
        normal = ndtri((0.5 + np.arange(1, POINTS + 1)[:, None] * _steps(int(is_open.sum()))) % 1.0)
        points = np.repeat(points, POINTS, axis=0)
        points[:, is_open] += normal * spread[is_open]
    prior = 0.5 * (np.square((points - rho) / np.where(is_open, spread, 1.0)) - np.square(points / SPREAD))
    made, weights, lost, eps, stopped = [], np.ones(1), np.inf, TAILS[0], (0.0, NOTHING, 0)
    for eps in TAILS:
        made, stopped = _passed(values, points, (x, likelihood), eps)
        if stopped[1] == TOO_LONG:
            break
        if not stopped[1]:
            weights = np.array([evidence for evidence, *_ in made]) + (prior[:, is_open].sum(axis=1) if learn else 0.0)
            weights = np.exp(weights - weights.max())
            weights /= weights.sum()
            lost = float(sum(weight * part for weight, (*_, part) in zip(weights, made, strict=True)))
            if lost <= MOST_LOST:
                break
    _require(found, size, *(stopped if stopped[1] or lost <= MOST_LOST else (0.0, NOTHING, 0)))
    n = values.tree.n_regions
    low = np.min([windows[1, :n] for _, windows, *_ in made], axis=0)
    high = np.max([windows[1, :n] + windows[2, :n] for _, windows, *_ in made], axis=0)
    at = np.append(0, np.cumsum(high - low))
    law = np.zeros(at[-1])
    for weight, (_, windows, marginal, _) in zip(weights, made, strict=True):
        here, numbers = _of_regions(windows, n)
        law[numbers + np.repeat(at[:-1] - low, windows[2, :n])] += weight * marginal[here]
    ends, seen = np.empty((3, n), np.int64), np.empty((2, n))
    describe(law, at, low, chance, ends, seen)
    return SizePosterior(values, np.exp(points), weights, eps, lost, ends, seen)


Numbers = tuple[np.ndarray, np.ndarray]
"""All numbers that are looked at, and logarithms of their likelihoods."""


def _passed(
    values: SizeValues, points: np.ndarray, numbers: Numbers, eps: float
) -> tuple[list[tuple[float, np.ndarray, np.ndarray, float]], tuple[float, int, int]]:
    """Pass messages for every log r: evidence, windows, laws and what was lost; and what stopped them."""
    made = []
    for point in points:
        logs, fall = values.factors(*numbers, np.exp(point))
        mass, windows, evidence, *stopped = upward(*values.sums, values.low, values.at, logs, fall, eps)
        if stopped[1]:
            return made, tuple(stopped)
        made.append((evidence, windows, *downward(*values.sums, values.low, values.at, logs, mass, windows)))
    return made, (0.0, 0, 0)


def _rough_messages(values: SizeValues, logs: np.ndarray, fall: np.ndarray) -> tuple:
    """Compute messages with the largest tails that leave something."""
    for eps in (TAIL_IN_LEARNING, *TAILS[:-1]):
        found = upward(*values.sums, values.low, values.at, logs, fall, eps)
        if found[4] != NOTHING:
            return found
    return upward(*values.sums, values.low, values.at, logs, fall, TAILS[-1])


def _of_regions(windows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the places of the laws of n regions among those of all nodes, region by region, and their numbers."""
    start, first, length = windows[:, :n]
    step = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(start, length) + step, np.repeat(first, length) + step


def _likeliest(
    found: MeasuredCells,
    size: int,
    values: SizeValues,
    shape: np.ndarray,
    is_open: np.ndarray,
    numbers: Numbers,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the likeliest log r of every level, and its standard deviation, by secants; the first step is that of EM."""
    rho, bend, n = np.where(is_open, np.log(shape), 0.0), np.full(len(shape), -1 / SPREAD**2), values.tree.n_regions
    before = slope_before = None
    for _ in range(MOST_STEPS):
        logs, fall = values.factors(*numbers, np.exp(rho))
        mass, windows, _, *stopped = _rough_messages(values, logs, fall)
        _require(found, size, *stopped)
        law, _ = downward(*values.sums, values.low, values.at, logs, mass, windows)
        here, x = _of_regions(windows, n)
        slope, second = values.slopes(np.exp(rho), x, law[here], windows[2, :n])
        slope = slope - rho / SPREAD**2
        if before is None:
            step = -slope / np.minimum(second - 1 / SPREAD**2, -1 / SPREAD**2)
            step = np.where(step < 0, -1, 1) * np.clip(np.abs(step), LEAST_FIRST, LARGEST_STEP)
        else:
            moved = rho - before
            secant = (slope - slope_before) / np.where(moved == 0, 1.0, moved)
            bend = np.where(np.abs(moved) > 1e-3, np.minimum(secant, -1 / SPREAD**2), bend)
            step = np.clip(-slope / bend, -LARGEST_STEP, LARGEST_STEP)
            if (np.abs(step) < CLOSE / np.sqrt(-bend))[is_open].all():
                break
        before, slope_before, rho = rho, slope, rho + np.where(is_open, step, 0.0)
    return rho, np.where(is_open, 1 / np.sqrt(-bend), 0.0)


def _steps(dimensions: int) -> np.ndarray:
    """Give the steps of a sequence that fills the unit cube evenly: powers of 1 / x, where x^(d + 1) = x + 1."""
    x = 2.0
    for _ in range(60):
        x = (1.0 + x) ** (1.0 / (dimensions + 1))
    return x ** -np.arange(1.0, dimensions + 1)


def _require(found: MeasuredCells, size: int, work: float, stopped: int, where: int) -> None:
    """Raise for what stopped messages."""
    cell = where * found.shape[1] + size
    if stopped == TOO_LONG:
        raise TooLargeError(
            f"the posterior takes more than {work:.0e} multiplications by {found.cell_name(cell)}, for its noise is "
            "large; leave noise= out for Gaussian intervals, or give values in larger units"
        )
    if stopped == NOTHING:
        raise ProblemError(
            f"{found.first_row(cell)} and what is below it do not fit the stated noise; correct the scale or the row"
        )


def _windows(found: MeasuredCells, law: NoiseLaw) -> tuple[np.ndarray, np.ndarray]:
    """Find the numbers that every cell may have, within the reach of noise and of sums; shapes (regions, sizes)."""
    tree = found.tree
    low, high = np.zeros(found.value.size), np.full(found.value.size, np.inf)
    rows = np.flatnonzero(found.row_weight > 0)
    cell, value = found.row_cell[rows], found.row_value[rows]
    reach = law.reach(law.scale(1.0 / found.row_weight[rows]))
    np.maximum.at(low, cell, np.ceil(value - reach))
    np.minimum.at(high, cell, np.floor(value + reach))
    low, high = low.reshape(found.shape), high.reshape(found.shape)
    if found.lower is not None and found.upper is not None:
        known = known_cells(found)
        low, high = np.where(known, found.lower, low), np.where(known, found.upper, high)
    _require_some(found, low, high)
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
    _require_some(found, low, high)
    if np.isinf(high).any():
        cell = int(np.argmax(np.isinf(high).ravel()))
        raise ProblemError(
            f"nothing bounds {found.cell_name(cell)}: neither it nor a region above it has a value; give one, or leave "
            "noise= out"
        )
    if (high - low + 1).sum(axis=0).max() > MOST_NUMBERS:
        wide = int(np.argmax((high - low).ravel()))
        raise TooLargeError(
            f"{found.cell_name(wide)} alone may be one of {(high - low).max():.0e} numbers, too many for exact laws; "
            "leave noise= out for Gaussian intervals, or give values in larger units"
        )
    return low.astype(np.int64), high.astype(np.int64)


def _require_some(found: MeasuredCells, low: np.ndarray, high: np.ndarray) -> None:
    """Raise unless every cell has a number."""
    if (low > high).any():
        cell = int(np.argmax((low > high).ravel()))
        raise ProblemError(
            f"{found.first_row(cell)} needs noise beyond {REACHED} wherever cells add up; correct the scale or the row"
        )


REACHED = "35 scales (8 standard deviations of Gaussian noise)"


def _starts(tree: Hierarchy, estimate: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Guess r by moments: children are off the share m that each has of its family by m + m^2 / r, and by noise."""
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


def _values(
    found: MeasuredCells, law: NoiseLaw, low: np.ndarray, high: np.ndarray, expected: np.ndarray
) -> list[SizeValues]:
    """Put down the tree and what is known of every size for the compiled loops."""
    tree, sizes = found.tree, found.shape[1]
    sums = _pairs(tree)
    rows = np.flatnonzero(found.row_weight > 0)
    rows = rows[~known_cells(found).ravel()[found.row_cell[rows]]]
    region, size = np.divmod(found.row_cell[rows], sizes)
    scale = law.scale(1.0 / found.row_weight[rows])
    made = []
    for s in range(sizes):
        of = size == s
        at = np.append(0, np.cumsum(high[:, s] - low[:, s] + 1))
        told = region[of], found.row_value[rows][of], scale[of]
        made.append(SizeValues(tree, sums, low[:, s].copy(), at, *told, law.squares, expected[:, :, s]))
    return made


def _pairs(tree: Hierarchy) -> PairTree:
    """Add the children of every region up two by two."""
    first, left, right, top = [0], [], [], np.full(tree.n_regions, -1)
    for v in range(tree.n_regions):
        nodes = list(tree.children(v)) if v < tree.n_inner else []
        while len(nodes) > 1:
            left += nodes[:-1:2]
            right += nodes[1::2]
            made = range(tree.n_regions + len(left) - len(nodes) // 2, tree.n_regions + len(left))
            nodes = [*made, *nodes[len(nodes) - len(nodes) % 2 :]]
        if nodes:
            top[v] = nodes[0]
        first.append(len(left))
    arrays = (np.array(of, np.int64) for of in (tree.parent, first, top, left, right))
    return PairTree(*arrays)


def _for_each(task: Callable[[int], None], n: int, doing: str) -> None:
    """Do a task for every size, on all threads: a cell takes so long that few are enough for two threads."""
    with steps(doing, n) as step:

        def watched(item: int) -> None:
            task(item)
            step()

        Threads()(watched, range(n))
