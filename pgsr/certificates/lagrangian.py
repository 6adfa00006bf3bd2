"""The lower bounds of all problems of counts or cumulative counts, from any multipliers."""

import math
from dataclasses import dataclass

import numpy as np

from pgsr.certificates.condition_prices import StatedPrices
from pgsr.certificates.multipliers import Multipliers, of_levels
from pgsr.certificates.regions_alone import sum_below
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.machine.blocks import row_blocks
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.problem import Problem

_LARGEST_PRICE = 2.0**400

_SLIGHTLY = 1e-8


def lagrangian_bound(problem: Problem, multipliers: Multipliers) -> float:
    """Compute a number that no feasible objective is below, for any multipliers; -infinity if they prove nothing.

    With the multipliers fixed, regions are on their own: with x = y + d, region r contributes the minimum of
    sum_s w |d|^norm + net d over the remaining conditions,

        net[r, s] = consistency[r, s] - consistency[parent, s] - totals[r] - stated[r, s],

    0 where there is no such row; `stated` is what `Problem.where` adds up to (`StatedPrices`). Without order every cell
    has a closed form; with order a region is a chain (`priced_chain_kernel`). docs/derivations/m_c.md derives it.
    Prices are first rounded to a grid on which net prices are exact; what other roundings may have added is subtracted.
    With norm 1 all multipliers are also tried a little smaller, since a price that exceeds a weight by 1e-9 would ruin
    the bound; the best one counts. There is no bound (-infinity) where order meets weights of cells.

    Complexity: O(cells); with order and norm 1 O(cells log sizes).

    Shown for all kinds of problems by `test_certificates_lagrangian.py::test_wild_multipliers_give_a_bound`, to
    be tight at good multipliers by `test_good_multipliers_reach_the_relaxed_optimum` in the same file.
    """
    prices = _Prices.of(problem, multipliers)
    if prices is None or problem.contradiction is not None:
        return -math.inf
    if problem.monotone and problem.weights_of(slice(0, 1)).size > 1:
        return -math.inf  # chains with weights of cells are not fitted here
    bound = _value(problem, prices)
    if problem.norm == 1:
        for factor in {1.0 - _SLIGHTLY, min(1.0 - _SLIGHTLY, _safe_factor(problem, prices))}:
            smaller = _Prices.of(problem, multipliers, factor)
            if smaller is not None:
                bound = max(bound, _value(problem, smaller))
    return bound


def unpriced_bound(problem: Problem) -> float:
    """Compute `lagrangian_bound` at multipliers 0, the sum of the minima of all regions alone, totals not priced."""
    tree, sizes = problem.hierarchy, problem.sizes
    n_totals = {None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals]
    nothing = [np.zeros(shape) for shape in _sums(problem)]
    return lagrangian_bound(problem, Multipliers(of_levels(nothing, sizes), np.zeros(n_totals)))


def _sums(problem: Problem) -> list[tuple[int, int]]:
    """The numbers of regions and of sums of each, for every level with children."""
    widths = np.array(problem.sizes.max_sizes[1:]) + 1
    return list(zip(np.diff(problem.hierarchy.level_start)[:-1].tolist(), widths.tolist(), strict=True))


def prices_of(problem: Problem, multipliers: Multipliers) -> tuple[list[np.ndarray], np.ndarray]:
    """Copy the multipliers of consistency, a table per level with children, and of every region's total, (regions,).

    They are 0 where the problem has no such condition or the price says nothing.

    Raises:
        ProblemError: there are more or fewer of them than the problem has conditions.
    """
    tree, shapes = problem.hierarchy, _sums(problem)
    consistency, totals = [np.zeros(shape) for shape in shapes], np.zeros(tree.n_regions)
    if problem.consistent:
        prices = multipliers.consistency
        parts = prices if isinstance(prices, tuple) else (prices,)
        flat = np.concatenate([np.zeros(0), *map(np.ravel, parts)])
        if flat.size != sum(table.size for table in consistency):
            wanted = " and ".join(map(str, shapes))
            raise ProblemError(f"there are {flat.size:,} prices of consistency; {problem!r} needs those of {wanted}")
        ends = np.cumsum([table.size for table in consistency])
        split = np.split(flat, ends[:-1]) if len(ends) else []
        consistency = [part.reshape(shape).copy() for part, shape in zip(split, shapes, strict=True)]
        if _last_is_public(problem, 1):  # then so it is everywhere, and its price adds the same to every point
            for table in consistency:
                table[:, -1] = 0.0
    if problem.view is View.COUNTS and problem.totals is not None:
        prices = np.asarray(multipliers.totals, float).ravel()
        wanted = tree.n_regions if problem.totals is Totals.REGIONS else 1
        if len(prices) != wanted:
            raise ProblemError(f"there are {len(prices)} prices of totals; {problem!r} needs {wanted}")
        totals[:wanted] = prices
    return consistency, totals


@dataclass(frozen=True, eq=False)
class _Prices:
    """The multipliers on a grid of `unit`, a power of two, small enough for their sums to be exact in float64.

    With norm 1, whole multiples of the unit also stay within 64 bits when summed over a region.

    Attributes:
        consistency: a table per level with children, of shape (regions of the level, K of the level below + 1).
        totals: price of a cell of every region, shape (regions,); 0 where no total is priced.
        stated: prices of conditions that were stated besides, or None.
        unit: the grid.
        largest: a bound on every net price.
    """

    consistency: list[np.ndarray]
    totals: np.ndarray
    stated: StatedPrices | None
    unit: float
    largest: float

    @classmethod
    def of(cls, problem: Problem, multipliers: Multipliers, factor: float = 1.0) -> "_Prices | None":
        """Round multipliers to such a grid; None if they are not finite or too large to be computed with."""
        tree, n_sizes = problem.hierarchy, problem.max_size + 1
        consistency, totals = prices_of(problem, multipliers)
        largest = max(float(np.abs(prices).max(initial=0.0)) for prices in (*consistency, totals))
        condition_prices = StatedPrices.of(problem, multipliers)
        largest += 0.0 if condition_prices is None else condition_prices.largest
        if not largest <= _LARGEST_PRICE:
            return None
        consistency, totals = [prices * factor for prices in consistency], totals * factor
        weights = problem.weights_of(slice(None))
        bound = 3.0 * (tree.n_levels + 1) * max(largest, 2.0**-100)  # replaced prices add up along a branch
        exponent = math.frexp(bound)[1] - 52
        if problem.norm == 1:
            exponent = max(exponent, math.frexp(n_sizes * (bound + 4.0 * float(weights.max())))[1] - 61)
            if exponent > 0:  # weights would be no multiples of the unit
                return None
        unit = 2.0**exponent
        consistency = [np.rint(prices / unit) * unit for prices in consistency]
        totals = np.rint(totals / unit) * unit
        condition_prices = None if condition_prices is None else condition_prices.on_grid(factor, unit)
        unmeasured = ~problem.measured
        if not problem.consistent:
            totals[unmeasured] = 0.0
            condition_prices = (
                None if condition_prices is None else condition_prices.without(unmeasured[problem.sizes.region_of_cell])
            )
        else:
            for region in np.flatnonzero(unmeasured):  # parents first; all levels have the same sizes then
                level = int(tree.level_of[region])
                free, row = slice(n_sizes - _last_is_public(problem, level)), region - tree.level(level).start
                of_parent = tree.parent[region] - tree.level(max(level - 1, 0)).start
                above = consistency[level - 1][of_parent, free] if region else 0.0
                if region < tree.n_inner:
                    costless = above + totals[region]
                    if condition_prices is not None:
                        costless += problem.sizes.table(condition_prices.cells, slice(region, region + 1))[0, free]
                    own = consistency[level][row, free]
                    held = _held_by_bounds(problem, int(region), own - costless)
                    consistency[level][row, free] = np.where(held, own, costless)
        return cls(consistency, totals, condition_prices, unit, bound)

    def net(self, problem: Problem, level: int, block: slice) -> np.ndarray:
        """Compute the net prices of some regions of one level, exactly."""
        tree, sizes = problem.hierarchy, problem.sizes
        above = self.totals[block, None]
        if self.stated is not None:
            above = above + sizes.table(self.stated.cells, block)
        if level:
            above = above + self.consistency[level - 1][tree.parent[block] - tree.level(level - 1).start]
        if level < tree.n_levels - 1:
            start = tree.level(level).start
            own = self.consistency[level][block.start - start : block.stop - start]
            return sizes.spread(own, level) - above
        return np.broadcast_to(-above, (block.stop - block.start, sizes.max_sizes[level] + 1))


def _value(problem: Problem, prices: _Prices) -> float:
    """Compute the Lagrangian's minimum, rounded down."""
    tree, totals = problem.hierarchy, problem.stated_totals
    terms = []
    for level, y in enumerate(problem.tables):
        here = tree.level(level)
        for block in row_blocks(here, y.shape[1]):
            noisy, w = y[block.start - here.start : block.stop - here.start], problem.weights_of(block)
            net = prices.net(problem, level, block)
            if _last_is_public(problem, level):
                assert totals is not None, "a last cell is public where totals are stated"
                step = (totals[block] - noisy[:, -1]).astype(float)[:, None]
                terms.append(_summed(step, w[:, -1:], net[:, -1:], problem.norm))
                net, noisy = net[:, :-1], noisy[:, :-1]
            if problem.monotone:
                terms.append(_chains(problem, prices, level, block, noisy, net))
            else:
                terms.append(_cells(problem, level, block, noisy, net))
    terms += _constants(problem, prices)
    if not all(map(math.isfinite, terms)):
        return -math.inf
    return math.fsum(terms) - math.fsum(map(abs, terms)) * 2.0**-50


def _constants(problem: Problem, prices: _Prices) -> list[float]:
    """Add up multipliers times residuals of y."""
    tree, sizes, y = problem.hierarchy, problem.sizes, problem.tables
    terms = []
    if problem.consistent:
        for level in range(tree.n_levels - 1):
            off = sizes.folded(y[level], level, problem.view) - sizes.children_sums(y, level)
            values = prices.consistency[level] * off
            terms.append(sum_below(values, np.abs(values)))
    totals = problem.stated_totals
    if problem.view is View.COUNTS and totals is not None:
        n = len(totals)
        have = np.concatenate([table.sum(axis=1) for table in y]) if n > 1 else y[0].sum(axis=1)
        values = prices.totals[:n] * (totals - have)
        terms.append(sum_below(values, np.abs(values)))
    return terms if prices.stated is None else terms + prices.stated.constants(problem)


def _cells(problem: Problem, level: int, block: slice, y: np.ndarray, net: np.ndarray) -> float:
    """Add up the minima of w |d|^norm + net d over all cells, where y + d >= 0 if signs are restricted."""
    w = problem.weights_of(block)
    if problem.norm == 2:
        d = net / (-2.0 * np.maximum(w, 1))  # where w = 0 and no bound is stated, net is 0, and so is d
        if problem.integer:
            d = np.rint(d)
        if problem.conditions is not None:
            lowest, highest = _room(problem, block, y)
            d = np.where(w > 0, d, np.where(net > 0, lowest, np.where(net < 0, highest, 0.0)))
            d = np.clip(d, lowest, highest)
        elif problem.nonnegative:
            d = np.maximum(d, -y)
        return _summed(d, w, net, 2, problem.integer)
    lowest, highest = _room(problem, block, y)
    upper = _upper(problem, level, block)[:, None]
    highest = np.minimum(highest, np.where(upper < np.inf, upper - y, np.inf))
    d = np.where(net < -w, highest, np.where(net > w, lowest, np.clip(0.0, lowest, highest)))
    return _summed(d, w, net, 1) if np.isfinite(d).all() else -math.inf


def _room(problem: Problem, block: slice, y: np.ndarray) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Compute the least and the largest x - y that signs and stated bounds of cells allow."""
    lowest = -y.astype(float) if problem.nonnegative else -math.inf
    if problem.conditions is None:
        return lowest, math.inf
    lower, upper = _stated_bounds(problem, block, y.shape[1])
    lowest = np.maximum(lowest, np.where(lower > -UNBOUNDED, (lower - y).astype(float), -math.inf))
    return lowest, np.where(upper < UNBOUNDED, (upper - y).astype(float), math.inf)


def _held_by_bounds(problem: Problem, region: int, net: np.ndarray) -> np.ndarray:
    """Say which cells of an unmeasured region have a stated bound on the side to which their net price drives them."""
    if problem.conditions is None or problem.monotone:  # with order cells are no longer alone
        return np.zeros(net.shape, bool)
    lower, upper = (bounds[0] for bounds in _stated_bounds(problem, slice(region, region + 1), len(net)))
    return ((net > 0) & (lower > -UNBOUNDED)) | ((net < 0) & (upper < UNBOUNDED))


def _stated_bounds(problem: Problem, block: slice, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The stated bounds of the first n cells of some regions of one level; shape (regions, n) each."""
    stated = problem.conditions
    assert stated is not None, "only asked where conditions are stated"
    lower, upper = (problem.sizes.table(bounds, block)[:, :n] for bounds in (stated.lower, stated.upper))
    return lower, upper


def _chains(problem: Problem, prices: _Prices, level: int, block: slice, y: np.ndarray, net: np.ndarray) -> float:
    """Add up the minima of all chains, of the cells whose value is not public."""
    from pgsr.certificates import priced_chain_kernel as kernels

    # Copies, because compiled loops tell read-only or strided arrays from others and would be compiled twice.
    y, net, w = np.array(y, np.int64), np.array(net), problem.weights_of(block)[:, 0].copy()
    upper = _upper(problem, level, block)
    upper = np.where(upper < np.inf, upper, kernels.NONE).astype(np.int64)
    lower = np.full(len(y), 0 if problem.nonnegative else -kernels.NONE)
    if problem.norm == 2:
        values, magnitudes = np.empty(y.shape), np.empty(y.shape)
        cells = _chain_bounds(problem, block, y.shape[1], lower, upper)
        if (cells[0] > cells[1]).any():
            return -math.inf
        kernels.bound_l2_rows(y, w, net, lower, upper, *cells, problem.integer, values, magnitudes)
        return sum_below(values, magnitudes)
    measured = w > 0  # the others cost nothing
    y, net, w = y[measured], net[measured], w[measured]
    x = np.empty(y.shape, np.int64)
    slopes = (w / prices.unit).astype(np.int64), (net / prices.unit).astype(np.int64)
    if not kernels.fit_l1_rows(y, *slopes, lower[measured], upper[measured], x):
        return -math.inf
    return _summed((x - y).astype(float), w[:, None], net, 1)


def _chain_bounds(
    problem: Problem, block: slice, n: int, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute what order makes of the stated bounds of these regions' first n cells; without any no cells at all."""
    stated = problem.conditions
    if stated is None or not (stated.n_bounds and n):
        return np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64)
    least, most = _stated_bounds(problem, block, n)
    low, high = np.maximum(least, lower[:, None]), np.minimum(most, upper[:, None])
    return np.maximum.accumulate(low, axis=1), np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1].copy()


def _summed(d: np.ndarray, w: np.ndarray, net: np.ndarray, norm: int, nearest: bool = False) -> float:
    """Compute sum of w |d|^norm + net d, rounded down; `nearest` if d was rounded and a tie may have gone wrong."""
    size = np.abs(d)
    if norm == 1:
        return sum_below(w * size + net * d, (w + np.abs(net)) * size)
    step = size + 1.0 if nearest else size
    return sum_below((w * d + net) * d, (w * size + np.abs(net)) * step)


def _last_is_public(problem: Problem, level: int) -> bool:
    """Say whether the last cumulative cell of the regions of a level is their public total."""
    return problem.view is View.CUMULATIVE and (
        problem.totals is Totals.REGIONS or (problem.totals is Totals.ROOT and level == 0)
    )


def _upper(problem: Problem, level: int, block: slice) -> np.ndarray:
    """Compute what no free cell of these regions exceeds, by stated or implied conditions; shape (regions,)."""
    totals, none = problem.stated_totals, np.full(block.stop - block.start, np.inf)
    if totals is None:
        return none
    if problem.view is View.CUMULATIVE and not problem.monotone:
        return none
    if problem.view is View.COUNTS and not problem.nonnegative:
        return none
    if problem.totals is Totals.REGIONS:
        return totals[block].astype(float)
    if level == 0 or (problem.consistent and problem.nonnegative):
        return np.full(len(none), float(totals[0]))
    return none


def _safe_factor(problem: Problem, prices: _Prices) -> float:
    """Find the largest factor up to 1 by which multipliers leave every inner minimum at an explicit bound.

    With norm 1 a cell whose net price exceeds its weight has its minimum at a bound, or none at all if there is no
    bound; with order the same holds of every end of a chain. Where the bound is implied only, it is far away.
    """
    tree, n_sizes, weights = problem.hierarchy, problem.max_size + 1, problem.weights_of(slice(None))
    measured = problem.measured
    factor = 1.0
    for level in range(tree.n_levels):
        for block in row_blocks(tree.level(level), n_sizes):
            net = prices.net(problem, level, block)[measured[block]]
            room = weights[block][measured[block]].astype(float)
            public = _last_is_public(problem, level)
            if public:
                net = net[:, :-1]
            up, room = -net, room[:, : net.shape[1]]
            if problem.monotone:  # what counts is a whole end of the chain
                room = room * np.arange(1, net.shape[1] + 1)
                up = -np.cumsum(net[:, ::-1], axis=1)
            if not (public and problem.monotone):
                factor = min(factor, _largest_factor(up, room))
            if not problem.nonnegative:
                factor = min(factor, _largest_factor(np.cumsum(net, axis=1) if problem.monotone else net, room))
    if factor == 1.0:
        return 1.0
    margin = 1e-12 + 1e-15 * n_sizes * prices.largest / float(weights[measured].min())
    return max(0.0, factor * (1.0 - margin))


def _largest_factor(falls: np.ndarray, room: np.ndarray) -> float:
    room = np.broadcast_to(room, falls.shape)
    over = falls > room
    return float((room[over] / falls[over]).min(initial=1.0))
