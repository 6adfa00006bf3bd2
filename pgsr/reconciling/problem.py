"""The problem that a table states: the nearest numbers that add up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.engines.nearest_tree.exchange import LARGEST_SLOPE
from pgsr.errors import ProblemError, TooLargeError
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions import cells, total
from pgsr.problems.conditions.choices import Either
from pgsr.problems.conditions.coefficients import ProblemCells
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions, state
from pgsr.problems.problem import Problem
from pgsr.reconciling.conditions import Held, known_cells, refuse
from pgsr.reconciling.layout import Layout
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.variances import estimates_and_variances
from pgsr.reconciling.whole_numbers import (
    LARGEST,
    MOST_EXACT,
    MOST_WEIGHT,
    WholeNumbers,
    real_numbers,
    whole_numbers,
)

FAINT = 1024
"""A leaf that nothing measured has this part of the smallest weight, so that the answer is one and not many."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of the cells besides that they add up; the attributes are the arguments of `reconcile`."""

    integer: bool
    nonnegative: bool
    norm: int
    monotone: bool
    totals: int | Mapping[tuple[str, ...], int] | None
    where: Sequence[Condition | Either]


@dataclass(frozen=True, eq=False)
class Stated:
    """The problem of a table.

    Attributes:
        problem: what methods solve.
        layout: where the table's cells are in it.
        numbers: its integers.
        held: the cells whose weights are not in it.
        found: the table, without sizes that no row measures where others are ordered around these.
        filled: the size whose number every size of the whole table has, or None where none was left out.
    """

    problem: Problem
    layout: Layout
    numbers: WholeNumbers
    held: Held
    found: MeasuredCells
    filled: np.ndarray | None

    def cells_of(self, values: np.ndarray) -> np.ndarray:
        """Give the table's cells of an estimate's values; shape (regions, sizes), int64 or float64."""
        found = values.ravel()[self.layout.place].reshape(self.layout.of.n_regions, self.layout.n_sizes)
        found = found if self.numbers.unit == 1 else found * self.numbers.unit
        return found if self.filled is None else found[:, self.filled]


def stated(found: MeasuredCells, asked: Asked, near: bool) -> Stated:
    """State the problem of a table.

    Args:
        found: the table.
        asked: what is asked of its cells.
        near: whether the method's arithmetic is in differences from values alone, as `TreeProjection`'s is on one tree,
            so that weights may be larger.

    Raises:
        ProblemError: conditions do not fit the table, or numbers are too large.
    """
    there = np.logical_or.reduce(found.weight > 0)
    said = asked.where or found.lower is not None or (asked.totals is not None and not there[-1])
    if asked.monotone and there.any() and not there.all() and not said:
        # Any number between those of its neighbours will do for a size that nothing measures.
        filled = np.maximum(np.cumsum(there) - 1, 0)
        return replace(stated(found.of_sizes(there), asked, near), filled=filled)
    tree, (value, weight) = found.tree, _with_faint_leaves(found, asked.integer)
    chained = asked.integer and _has_fractions(value, weight)
    _require_norm(found, asked)
    known = _known_totals(found, asked, every=False)
    conditions = _conditions(found, asked, known)
    if conditions is not None:
        _require_possible(found, conditions, 0 if asked.nonnegative else -UNBOUNDED)
    largest = max(_largest(conditions), 0 if known is None else int(np.abs(known).max()))
    levels = 1 + (1 + chained) * tree.n_levels
    most = _largest_weights(value, weight, levels, largest) if asked.integer else np.zeros(0)
    if near and asked.norm == 2 and not asked.monotone:
        most = _largest_near(tree, value, weight, levels)
    nowhere = np.zeros(found.shape, bool)
    held = Held(nowhere, nowhere, known_cells(found))
    eased = held.eased(weight) if asked.integer else weight
    if asked.monotone and (chained or not (eased == eased[:, :1]).all()):
        raise ProblemError(
            "values are fractions, and ordered whole numbers are found for whole values alone; round them, or ask for "
            "integer=False"
            if chained
            else "a region has other weights, or missing values, at some of its sizes, which ordered sizes do not "
            "take; give one weight per region, and a value at every size"
        )
    if asked.integer:
        held = Held.of(found, eased, most, asked.nonnegative)
        if held.any and asked.monotone:
            refuse(found, np.where(held.out, 0.0, found.weight).ravel(), int(np.argmax(held.cells)))
        weight = held.eased(weight)
    by_region = bool((weight == weight[:, :1]).all())
    columns = len(found.sizes) == 1 or (by_region and not chained)
    known = _known_totals(found, asked, every=columns and by_region and not chained)
    conditions = _conditions(held.on(found) if held.any else found, asked, known)
    if conditions is not None and held.any:
        try:
            _require_possible(found, conditions, 0 if asked.nonnegative else -UNBOUNDED)
        except ProblemError:
            refuse(found, np.where(held.out, 0.0, found.weight).ravel(), int(np.argmax(held.cells)))
    if asked.integer:
        numbers = whole_numbers(value, weight, most, (found.weight > 0) & ~held.out)
    else:
        numbers = real_numbers(value, weight, largest=largest, squares=asked.norm == 2)
    fractional = numbers.fractional
    chains = [1 + bool(fractional[tree.level(level)].any()) for level in range(tree.n_levels)]
    layout = Layout.made(tree, found.sizes, chains, branches=not columns)
    problem = _problem(layout, numbers, asked, known)
    if conditions is not None:
        problem = replace(problem, conditions=_placed(conditions, layout, numbers.unit))
    return Stated(problem, layout, numbers, held, found, None)


def _require_norm(found: MeasuredCells, asked: Asked) -> None:
    """Refuse distances that are not that to the mean of several values."""
    if asked.norm != 2 and len(found.row_cell) > np.count_nonzero(found.weight):
        kept = found.row_cell[found.row_weight > 0]
        again = kept[np.flatnonzero(np.bincount(kept)[kept] > 1)]
        if len(again):
            raise ProblemError(
                f"{found.first_row(int(again[0]))} has several values, which are taken together for norm=2 alone; give "
                "one"
            )


def _has_fractions(value: np.ndarray, weight: np.ndarray) -> bool:
    there = weight > 0
    return bool((value[there] != np.floor(value[there])).any())


def _problem(layout: Layout, numbers: WholeNumbers, asked: Asked, known: np.ndarray | None) -> Problem:
    """State the problem of these numbers, without conditions."""
    values, weights = zip(*numbers.links, strict=True)
    groups = None if known is None else np.rint(known / numbers.unit).astype(np.int64)
    every = groups is not None and len(groups) > 1
    return Problem(
        "a table",
        Sizes.alike(layout.tree, layout.n_columns - 1),
        View.CUMULATIVE if asked.monotone else View.COUNTS,
        layout.table(values).ravel(),
        groups,
        norm=asked.norm,
        integer=asked.integer,
        nonnegative=asked.nonnegative,
        monotone=asked.monotone,
        totals=None if groups is None else Totals.REGIONS if every else Totals.ROOT,
        weights=layout.table(weights)[:, 0],
    )


def _largest_weights(values: np.ndarray, weights: np.ndarray, levels: int, largest: float) -> np.ndarray:
    """Find the largest weight that sums of weights times numbers leave room for, one for all; shape of the values."""
    most = max(float(np.abs(np.where(weights > 0, values, 0.0)).max(initial=0.0)), largest, 1.0)
    room = min(MOST_WEIGHT, int(LARGEST / ((most + 1) * levels)))
    if room < 1:
        raise TooLargeError(f"numbers reach {most:,.15g}, which leaves no room for weights; give smaller ones")
    return np.full(values.shape, room)


def _largest_near(tree: Hierarchy, value: np.ndarray, weight: np.ndarray, levels: int) -> np.ndarray:
    """Find the largest weight of every cell where weights meet differences from values alone; shape (regions, sizes).

    An answer is about where the unbiased one is. `TreeProjection` says so if it is not, and then these are too large.
    """
    estimate, _ = estimates_and_variances(tree, value, weight)
    off = np.where(weight > 0, np.abs(np.maximum(estimate, 0.0) - value), 0.0)
    return np.minimum(MOST_EXACT / levels, LARGEST_SLOPE / (32.0 * levels * (off + 1.0)))


def require_more_than_nothing(found: MeasuredCells, asked: Asked) -> None:
    """Refuse to make whole numbers of rates and shares so small that nothing is left of any."""
    if not asked.integer or asked.totals is not None or asked.where:
        return
    least, most = (
        of.reduceat(of.reduce(np.where(found.weight > 0, found.value, np.nan), axis=0), found.starts)
        for of in (np.fmin, np.fmax)
    )
    nothing = (least >= 0) & (most > 0) & (most <= 0.5)
    if nothing.any():
        of_table = "" if found.tables is None else f" of {found.tables.name(int(np.argmax(nothing)))}"
        raise ProblemError(
            f"the largest value{of_table} is {most[nothing][0]:g}, so the whole numbers nearest to all are 0; if they "
            "are rates or shares, ask for integer=False"
        )


def _with_faint_leaves(found: MeasuredCells, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give leaves that nothing measured an even share of what their parent's others leave, with a small weight.

    Nothing tells how several of them share what is left. Without a weight there would be many answers.
    """
    tree, weight = found.tree, found.weight
    unknown = weight[tree.leaves] == 0
    if not unknown.any():
        return found.value, weight
    value, weight = found.value.copy(), weight.copy()
    least = weight[weight > 0].min(initial=np.inf)
    if not np.isfinite(least):
        raise ProblemError("no row has a value, so there is nothing to be near to; give values")
    if tree.n_levels == 1:
        return np.where(unknown, 0.0, value), np.where(unknown, least / FAINT, weight)
    level = tree.n_levels - 2
    here = tree.level(level)
    padded = np.zeros(weight.shape)
    padded[tree.leaves] = unknown
    left = np.nan_to_num(value[here]) - tree.sum_children(np.nan_to_num(value), level)
    share = np.maximum(0.0, left / np.maximum(1, tree.sum_children(padded, level)))
    share = np.floor(share) if whole else share
    rows, sizes = np.nonzero(unknown)
    value[tree.leaves.start + rows, sizes] = share[tree.parent[tree.leaves][rows] - here.start, sizes]
    weight[tree.leaves.start + rows, sizes] = least / FAINT
    return value, weight


def _known_totals(found: MeasuredCells, asked: Asked, every: bool) -> np.ndarray | None:
    """Find the totals that a problem has by itself: the root's, shape (1,), or those of all regions, shape (regions,).

    The latter with `every` alone, where the problem's regions are the table's and have one weight each; otherwise, and
    where some regions have none, they are conditions.
    """
    if isinstance(asked.totals, Mapping):
        known = [asked.totals.get(path) for path in found.tree.paths] if every else [None]
        return None if None in known else np.array(known)
    return None if asked.totals is None else np.array([asked.totals])


def _conditions(found: MeasuredCells, asked: Asked, known: np.ndarray | None) -> Conditions | None:
    """Find what was stated of the cells, regions by the sizes of the table."""
    said = list(asked.where)
    if isinstance(asked.totals, Mapping) and known is None:
        last = _label_of(found, len(found.sizes) - 1)
        said += [
            (cells(path, size=last) if asked.monotone else total(path)) == number
            for path, number in asked.totals.items()
        ]
    stated = None
    if said:
        labels = np.array([_label_of(found, i) for i in range(len(found.sizes))])
        place = ProblemCells(Sizes.alike(found.tree, int(labels.max())), View.COUNTS)
        stated = _of_labels(state(said, place), place.sizes, labels)
    if found.lower is None or found.upper is None:
        return stated
    low = np.where(np.isfinite(found.lower), found.lower, -UNBOUNDED).astype(np.int64).ravel()
    high = np.where(np.isfinite(found.upper), found.upper, UNBOUNDED).astype(np.int64).ravel()
    held = replace(Conditions.none(low.size), lower=low, upper=high, sources=None, stated=("fixed cells",))
    return held if stated is None else held.and_also(stated)


def _require_possible(found: MeasuredCells, stated: Conditions, least: int) -> None:
    """Raise unless some numbers from `least` on add up and are within the bounds of cells, from the leaves upwards.

    Raises:
        ProblemError: there are none; the message names the cell, and its row.
    """
    tree, (low, high) = found.tree, (side.astype(float).reshape(found.shape) for side in (stated.lower, stated.upper))
    low, high = np.where(low <= -UNBOUNDED, -np.inf, low), np.where(high >= UNBOUNDED, np.inf, high)
    from_below, up_to = np.maximum(low, least if least > -UNBOUNDED else -np.inf), high.copy()
    for level in range(tree.n_levels - 2, -1, -1):
        here = tree.level(level)
        least_sum, most_sum = tree.sum_children(from_below, level), tree.sum_children(up_to, level)
        wrong = (least_sum > high[here]) | (most_sum < low[here])
        if wrong.any():
            region, size = np.argwhere(wrong)[0]
            too_many = least_sum[region, size] > high[here][region, size]
            bound, sums = (high[here], least_sum) if too_many else (low[here], most_sum)
            words = ("at most", "at least") if too_many else ("at least", "at most")
            raise ProblemError(
                f"{found.first_row((here.start + int(region)) * found.shape[1] + int(size))} has to be {words[0]} "
                f"{bound[region, size]:,.0f}, and the cells below it add up to {words[1]} {sums[region, size]:,.0f}; "
                "correct a fixed cell or a condition"
            )
        from_below[here], up_to[here] = np.maximum(from_below[here], least_sum), np.minimum(up_to[here], most_sum)


def _label_of(found: MeasuredCells, column: int) -> int:
    """Give the number by which conditions name a size: itself, or its place among the names."""
    label = found.sizes[column]
    return label if isinstance(label, int) else column


def _of_labels(stated: Conditions, sizes: Sizes, labels: np.ndarray) -> Conditions:
    """Keep the sizes that the table has; there are no groups of the others."""
    n_regions, n_sizes = sizes.hierarchy.n_regions, sizes.max_sizes[0] + 1
    lower, upper = (side.reshape(n_regions, n_sizes) for side in (stated.lower, stated.upper))
    absent = np.ones(n_sizes, bool)
    absent[labels] = False
    needed = absent & ((lower > 0) | (upper < 0)).any(axis=0)
    if needed.any():
        size = int(np.argmax(needed))
        raise ProblemError(
            f"a condition needs cells of size {size}, which no row of the table has; add rows, or correct it"
        )
    column = np.full(n_sizes, -1)
    column[labels] = np.arange(len(labels))

    def of_labels(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        rows = matrix.tocoo()
        region, size = np.divmod(rows.col, n_sizes)
        kept = column[size] >= 0
        at = rows.row[kept], region[kept] * len(labels) + column[size[kept]]
        return scipy.sparse.csr_array((rows.data[kept], at), shape=(rows.shape[0], n_regions * len(labels)))

    choices = stated.choices
    return replace(
        stated,
        lower=lower[:, labels].ravel(),
        upper=upper[:, labels].ravel(),
        rows=of_labels(stated.rows),
        sources=None,
        choices=None if choices is None else replace(choices, rows=of_labels(choices.rows)),
    )


def _placed(stated: Conditions, layout: Layout, unit: float) -> Conditions:
    """State the same of the problem's cells, in its unit."""
    none = Conditions.none(layout.tree.n_regions * layout.n_columns)
    lower, upper = none.lower, none.upper
    times, place = 1 / unit, layout.place
    lower[place], upper[place] = _times(stated.lower, times), _times(stated.upper, times)

    def placed(rows: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        shape = len(rows.indptr) - 1, lower.size
        return scipy.sparse.csr_array((rows.data, place[rows.indices], rows.indptr), shape=shape)

    choices = stated.choices
    if choices is not None:
        low, high = (_times(side, times) for side in (choices.lower, choices.upper))
        choices = replace(choices, rows=placed(choices.rows), lower=low, upper=high)
    return replace(
        stated,
        lower=lower,
        upper=upper,
        rows=placed(stated.rows),
        row_lower=_times(stated.row_lower, times),
        row_upper=_times(stated.row_upper, times),
        sources=None,
        choices=choices,
    )


def _times(bound: np.ndarray, times: float) -> np.ndarray:
    """Multiply bounds, but for 0 and those that stand for none; others meet whole factors alone."""
    kept = (np.abs(bound) >= UNBOUNDED) | (bound == 0)
    return np.where(kept, bound, bound * (1 if kept.all() else round(times)))


def _largest(stated: Conditions | None) -> int:
    """The largest number of some conditions."""
    if stated is None:
        return 0
    every = [stated.lower, stated.upper, stated.row_lower, stated.row_upper]
    every += [] if stated.choices is None else [stated.choices.lower, stated.choices.upper]
    return max(int(np.abs(part[np.abs(part) < UNBOUNDED]).max(initial=0)) for part in every)
