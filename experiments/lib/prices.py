"""The prices of a problem's rows that prove its optimum, or a bound: integers over a common unit.

A price lambda per row, in the order of the rows of a file: consistency, totals, order, stated conditions, distance.
What `verify` makes of them stands there; any prices prove something. Here they are chosen so that the bound is the
objective, or nearly so:

- the pull of a cell, the sum of its rows' prices times its coefficients, has to lie between the slopes of the objective
  on both sides of the optimum, `_Slopes`; below the lower one is allowed at a lower bound, above the upper one at an
  upper one;
- where regions are alone or tied in a tree without order, the prices that do so are intervals, which one pass up the
  tree narrows and one pass down chooses from; along a chain of ordered cells likewise, from its first cell to its last;
- everything else starts from the prices of an algorithm's dual, and the leaves' chains follow.

For integers, slopes are those of one step up and one step down. The matrices of chains, trees and networks are totally
unimodular, so integer prices close the gap. M_c in integers on three levels is none of these: it gets a bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr import Problem, View
from pgsr.certificates import Multipliers
from pgsr.certificates.lagrangian import prices_of
from pgsr.certificates.multipliers import of_levels
from pgsr.certificates.potentials import Potentials
from pgsr.noise.measurement import Totals

UNIT = 2**20
"""Prices of real problems are multiples of 1 / UNIT."""

UNIT_OF_MAGNITUDES = 2**30
"""The same where distances are magnitudes: a bound loses the first order of the rounding there."""


NEAR = 1e-3
"""A real cell this close to 0 says nothing about prices from below: methods leave cells there that belong at 0."""


@dataclass(frozen=True, eq=False)
class RowPrices:
    """Prices of rows by kind, as floats; None of a kind that the problem does not have."""

    consistency: np.ndarray | None = None
    totals: np.ndarray | None = None
    order: np.ndarray | None = None
    stated: np.ndarray | None = None

    def stacked(self) -> np.ndarray:
        """All prices in the order of a file's rows, without the prices of distance rows."""
        parts = [self.consistency, self.totals, self.order, self.stated]
        return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts if part is not None)])


def closing_prices(problem: Problem, x: np.ndarray, multipliers: Multipliers | None = None) -> RowPrices:
    """Choose the prices that the optimum x is at.

    Args:
        problem: any but one with ranked values or magnitudes over a hierarchy.
        x: the optimum, shape (regions, K + 1); real problems as floats.
        multipliers: of the problem's relaxation, for problems with ordered cells, conditions or every region's total
            in reals; in the convention of `pgsr.certificates.Multipliers`.
    """
    if problem.consistent and problem.view is View.COUNTS:
        if problem.totals is not Totals.REGIONS:
            return _tree_prices(problem, _Slopes.of(problem, x))
        if problem.integer and problem.conditions is None:
            return _potential_prices(problem, x)
        return _given_prices(problem, multipliers)
    if problem.consistent and problem.monotone:
        return _cumulative_prices(problem, x, multipliers)
    if problem.consistent:
        return _tree_prices(problem, _Slopes.of(problem, x))
    if problem.monotone:
        return _chains_alone(problem, x)
    slopes = _Slopes.of(problem, x)
    return RowPrices(totals=slopes.above.min(axis=1))


def ranked_prices(problem: Problem, x: Sequence[np.ndarray]) -> RowPrices:
    """The same for ranked values, every region a chain of its own length with 0 <= x <= K."""
    out = []
    for w, y, own in zip(problem.w.tolist(), problem.rows, x, strict=True):
        if len(own) > 1:
            slopes = _Slopes.at(
                own[None], y[None], np.array([[w]]), problem, own[None] == 0, own[None] == problem.max_size
            )
            out.append(-_chain_prices(slopes, np.zeros((1, len(own))), np.diff(own[None]) > 0, None)[0])
    return RowPrices(order=np.concatenate([np.zeros(0), *out]))


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The slopes of the objective below and above x, shape (regions, cells); infinite at bounds."""

    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, problem: Problem, x: np.ndarray) -> "_Slopes":
        at_zero = np.zeros(x.shape, bool)
        near = 0.0 if problem.integer else NEAR
        if problem.nonnegative and problem.monotone:
            at_zero[:, 0] = x[:, 0] <= near
        elif problem.nonnegative:
            at_zero = x <= near
        return cls.at(x, problem.target, problem.w[:, None], problem, at_zero, np.zeros(x.shape, bool))

    @classmethod
    def at(
        cls, x: np.ndarray, y: np.ndarray, w: np.ndarray, problem: Problem, at_lower: np.ndarray, at_upper: np.ndarray
    ) -> "_Slopes":
        z = (x - y).astype(float)
        if problem.norm == 1:
            near = 0.0 if problem.integer else 1e-6
            below, above = np.where(z > near, w, -w), np.where(z < -near, -w, w)
        else:
            step = w if problem.integer else 0 * w
            below, above = 2 * w * z - step, 2 * w * z + step
        return cls(np.where(at_lower, -np.inf, below), np.where(at_upper, np.inf, above))


def _tree_prices(problem: Problem, slopes: _Slopes) -> RowPrices:
    """Prices of a tree, size by size: a region's price minus its parent's lies between its slopes.

    Up the tree: the interval in which a parent's price may lie is what all its children allow. Down the tree: each
    price is chosen from its interval, within its own cell's slopes of its parent's price.
    """
    tree, n_sizes = problem.hierarchy, slopes.below.shape[1]
    low, high = np.full((tree.n_regions, n_sizes), -np.inf), np.full((tree.n_regions, n_sizes), np.inf)
    low[tree.leaves] = high[tree.leaves] = 0.0
    for level in range(tree.n_levels - 1, 0, -1):
        here = tree.level(level)
        np.maximum.at(low, tree.parent[here], low[here] - slopes.above[here])
        np.minimum.at(high, tree.parent[here], high[here] - slopes.below[here])
    total = 0.0
    if problem.totals is not None:  # one price for all sizes of the root
        total = _between((slopes.below[0] - high[0]).max(), (slopes.above[0] - low[0]).min())
    price = np.zeros((tree.n_inner, n_sizes))
    for level in range(tree.n_levels - 1):
        here = tree.level(level)
        above = -total if level == 0 else price[tree.parent[here]]
        first, last = above + slopes.below[here], above + slopes.above[here]
        price[here] = np.clip(_between(low[here], high[here], first, last), first, last)
    totals = None if problem.totals is None else np.array([total])
    return RowPrices(price, totals)


def _between(low: np.ndarray, high: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """Choose a finite number between `low` and `high` (and two more), or in the middle where rounding left no room."""
    if more:
        low, high = np.maximum(low, more[0]), np.minimum(high, more[1])
    low, high = np.asarray(low, float), np.asarray(high, float)
    inner = np.where(low <= high, np.clip(0.0, low, np.maximum(low, high)), 0.0)
    with np.errstate(invalid="ignore"):
        return np.where(low <= high, inner, (low + high) / 2)


def _potential_prices(problem: Problem, x: np.ndarray) -> RowPrices:
    """Prices from the node potentials that prove M_H with every region's total; see `pgsr.certificates.potentials`.

    A leaf's total gets the highest price at which none of its cells wants more; potentials of leaves without groups are
    not numbers.
    """
    potentials = Potentials.start(problem, problem.sizes.tables(x))
    settled, _ = potentials.settle()
    if not settled:
        raise ValueError("the answer is not optimal: a cycle of exchanges pays")
    price = (potentials.top - np.concatenate(potentials.inner)).astype(float)
    leaves = slice(problem.hierarchy.leaves.start, problem.hierarchy.n_regions)
    above = _Slopes.of(problem, x).above[leaves] + price[problem.hierarchy.parent[leaves]]
    return RowPrices(price, above.min(axis=1))


def _given_prices(problem: Problem, multipliers: Multipliers | None) -> RowPrices:
    """Prices from a method's multipliers; those of inner regions' totals move to the leaves."""
    if multipliers is None:
        raise ValueError("this problem needs multipliers")
    tree = problem.hierarchy
    consistency, totals = prices_of(problem, multipliers)
    for region in range(1, tree.n_regions):
        totals[region] += totals[tree.parent[region]]
    price = totals[: tree.n_inner, None] - np.asarray(of_levels(consistency, problem.sizes))
    _follow_parents(problem, price, 0.0)
    return RowPrices(price, totals[tree.leaves], stated=multipliers.conditions)


def _follow_parents(problem: Problem, price: np.ndarray, above_root: np.ndarray | float) -> None:
    """Give inner regions without weight their parent's price: they cost nothing, so nothing may pull them."""
    tree = problem.hierarchy
    for region in np.flatnonzero(problem.w[: tree.n_inner] == 0):  # parents first
        price[region] = price[tree.parent[region]] if region else above_root


def _cumulative_prices(problem: Problem, x: np.ndarray, multipliers: Multipliers | None) -> RowPrices:
    """Prices of M_c: consistency as the multipliers say, the leaves' chains fitted to it."""
    if multipliers is None:
        raise ValueError("this problem needs multipliers")
    tree, y, w = problem.hierarchy, problem.target, problem.w[:, None].astype(float)
    price = -np.asarray(multipliers.consistency, float).reshape(tree.n_inner, -1).copy()
    if problem.totals is Totals.REGIONS:  # last cells are public everywhere, and what pulls them is known
        pull = 2 * w[:, 0] * (x[:, -1] - y[:, -1])
        price[0, -1] = pull[0]
        for region in range(1, tree.n_inner):
            price[region, -1] = price[tree.parent[region], -1] + pull[region]
    root_pull = 2 * float(w[0, 0]) * float(x[0, -1] - y[0, -1])
    _follow_parents(problem, price[:, :-1], 0.0)
    if problem.w[0] == 0 and problem.totals is Totals.ROOT:
        _follow_parents(problem, price[:, -1:], price[0, -1])
    else:
        _follow_parents(problem, price[:, -1:], 0.0)
    leaves = slice(tree.leaves.start, tree.n_regions)
    push = -price[tree.parent[leaves]]
    public = x[leaves, -1] if problem.totals is Totals.REGIONS else None
    order = _fitted_chains(problem, leaves, push, public)
    if public is None:
        return RowPrices(price, np.array([root_pull - price[0, -1]]), order=-order)
    totals = 2 * w[leaves, 0] * (public - y[leaves, -1]) - push[:, -1] - order[:, -1]
    return RowPrices(price, totals, order=-order)


def _fitted_chains(problem: Problem, leaves: slice, push: np.ndarray, public: np.ndarray | None) -> np.ndarray:
    """The order's prices of leaves that `push` pushes, at the nearest ordered cells to what they are pushed to."""
    from scipy.optimize import isotonic_regression

    y, w = problem.target[leaves].astype(float), problem.w[leaves, None].astype(float)
    n_free = y.shape[1] - (public is not None)
    fit = np.empty((len(y), n_free))
    for row, target in enumerate((y + push / (2 * w))[:, :n_free]):
        fit[row] = np.maximum(isotonic_regression(target).x, 0.0)
    upper = np.inf if public is None else public[:, None]
    fit = np.minimum(fit, upper)
    if problem.integer:
        fit = np.rint(fit)
    at_zero = np.zeros(fit.shape, bool)
    at_zero[:, 0] = fit[:, 0] <= 0
    slopes = _Slopes.at(fit, y[:, :n_free], w, problem, at_zero, np.zeros(fit.shape, bool))
    after = fit if public is None else np.concatenate([fit, public[:, None]], axis=1)
    grows = np.diff(after, axis=1) > 1e-7 * (1 + np.abs(after[:, :-1]))
    return _chain_prices(slopes, push[:, :n_free], grows, public)


def _chains_alone(problem: Problem, x: np.ndarray) -> RowPrices:
    """Prices of regions that are ordered and alone; where their totals are public the last cell is."""
    slopes = _Slopes.of(problem, x)
    grows = np.diff(x, axis=1) > (0 if problem.integer else 1e-9)
    if problem.totals is None:
        return RowPrices(order=-_chain_prices(slopes, np.zeros(x.shape), grows, None))
    free = _Slopes(slopes.below[:, :-1], slopes.above[:, :-1])
    order = _chain_prices(free, np.zeros(free.below.shape), grows, x[:, -1])
    pulls = np.clip(0.0, slopes.below[:, -1], slopes.above[:, -1])
    return RowPrices(totals=pulls - order[:, -1], order=-order)


def _chain_prices(slopes: _Slopes, push: np.ndarray, grows: np.ndarray, public: np.ndarray | None) -> np.ndarray:
    """Choose mu[i] >= 0 of x[i] <= x[i + 1]: the pull of cell i, mu[i - 1] - mu[i] + push[i], lies in its slopes.

    mu is 0 where x grows, before the first cell, and after the last one unless that is followed by a public one; the
    shape is (chains, conditions). A pass forwards narrows the interval of every mu, one backwards chooses.
    """
    n_chains, n = push.shape
    n_rows = n if public is not None else n - 1
    low, high = np.zeros((n + 1, n_chains)), np.zeros((n + 1, n_chains))
    for i in range(n):
        low[i + 1] = np.maximum(0.0, low[i] + push[:, i] - slopes.above[:, i])
        high[i + 1] = np.maximum(low[i + 1], high[i] + push[:, i] - slopes.below[:, i])
        if i < n_rows:
            low[i + 1][grows[:, i]] = high[i + 1][grows[:, i]] = 0.0
    mu = np.zeros((n + 1, n_chains))
    if public is not None:
        mu[n] = low[n]
    for i in range(n - 1, 0, -1):
        least, most = mu[i + 1] - push[:, i] + slopes.below[:, i], mu[i + 1] - push[:, i] + slopes.above[:, i]
        mu[i] = np.clip(np.clip(low[i], least, np.maximum(least, most)), low[i], high[i])
    return mu[1 : n_rows + 1].T
