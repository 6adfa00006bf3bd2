"""The search for contradictions among conditions: what bounds of cells imply for sums, and sums for cells."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.problems.conditions.resolved import ProblemCells
from pgsr.problems.conditions.stated import UNBOUNDED, Conditions

ROUNDS = 10
"""Most passes over all conditions; each may tighten what the next one finds."""

LARGEST = 2.0**52
"""Largest sum of bounds that is looked into, so that all arithmetic here is exact."""


@dataclass(frozen=True)
class Surroundings:
    """The conditions of a problem besides the stated ones, as far as propagation knows them.

    Attributes:
        integer, nonnegative, monotone, consistent: as in a problem.
        totals: public numbers of groups that hold, of the first regions: shape (regions,), (1,) or (0,).
    """

    integer: bool
    nonnegative: bool
    monotone: bool
    consistent: bool
    totals: np.ndarray


def is_decided_by_sums(stated: Conditions, place: ProblemCells, around: Surroundings) -> bool:
    """Say whether `contradicting_conditions` finds every contradiction.

    Without rows and order, cells of one size form a tree, in which every value between the sums of bounds is reached
    by sharing; the root's total couples the trees once more. Regions alone are decided one by one. Otherwise
    contradictions may be hidden deeper.
    """
    if not stated.bounds_alone:
        return False
    coupled = around.monotone or (place.view is View.COUNTS and len(around.totals) > 1)
    return not around.consistent or not coupled


def contradicting_conditions(stated: Conditions, place: ProblemCells, around: Surroundings) -> str | None:
    """Say why no point satisfies the conditions, or return None where none is found.

    Every cell has an interval, which starts from stated bounds, signs and public totals. Order, sums over children,
    totals and stated rows narrow them: a term of a sum is at least the sum's least value less the others' largest
    ones. In counts the total of every region has an interval too, so that rows about totals meet each other and the
    public totals. An empty interval is a contradiction. What is found is one, since all steps are exact.

    Complexity: O(cells + coefficients of rows) per round; at most `ROUNDS` of them, and one sweep where
    `is_decided_by_sums`.

    Example:
        >>> from pgsr.problems.conditions import cells
        >>> from pgsr.problems.conditions.stated import state
        >>> from pgsr.data.hierarchy import Hierarchy
        >>> place = ProblemCells(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), View.COUNTS, 1)
        >>> around = Surroundings(True, True, False, True, np.array([5]))
        >>> stated = state([cells(level=1, size=1) >= 2, cells(level=0, size=1) <= 3], place)
        >>> contradicting_conditions(stated, place, around)
        'cells(US, 1) would have to be at least 4 and at most 3, by cells(level 1, 1) >= 2; cells(level 0, 1) <= 3'
    """
    search = _begun(stated, place, around)
    if search is None:
        return None
    return search.one_sweep() if is_decided_by_sums(stated, place, around) else search.rounds()


def intervals(stated: Conditions, place: ProblemCells, around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers that each cell of every point is between, -inf or inf where none is found.

    Choices are not looked into. Shape (regions, K + 1) each.
    """
    search = _begun(stated, place, around, every_size=True)
    n_sizes = stated.lower.shape[1]
    if search is None:
        low = np.where(stated.lower > -UNBOUNDED, stated.lower.astype(float), -np.inf)
        high = np.where(stated.upper < UNBOUNDED, stated.upper.astype(float), np.inf)
        return np.maximum(low, 0.0) if around.nonnegative else low, high
    search.rounds()
    return search.low[:, :n_sizes], search.high[:, :n_sizes]


def _begun(stated: Conditions, place: ProblemCells, around: Surroundings, every_size: bool = False) -> "_Search | None":
    """Begin the search with what is stated of single cells; None where numbers are too large for it."""
    decided = is_decided_by_sums(stated, place, around) and not every_size
    sizes = np.arange(stated.lower.shape[1])
    if decided and place.view is View.COUNTS and not around.monotone:  # of sizes without bounds one stands for all
        bounded = (stated.lower.max(axis=0) > -UNBOUNDED) | (stated.upper.min(axis=0) < UNBOUNDED)
        sizes = np.concatenate([np.flatnonzero(bounded), np.flatnonzero(~bounded)[:1]])
    low, high = (np.take(part, sizes, axis=1).astype(float) for part in (stated.lower, stated.upper))
    low[low <= -UNBOUNDED], high[high >= UNBOUNDED] = -np.inf, np.inf
    if around.nonnegative:
        low = np.maximum(low, 0.0)
    totals = around.totals.astype(float)
    n = len(totals)
    if place.view is View.COUNTS:
        column = np.full((2, len(low), 1), np.inf)
        column[0] = 0.0 if around.nonnegative else -np.inf
        column[:, :n, 0] = totals
        low, high = (np.concatenate(pair, axis=1) for pair in zip((low, high), column, strict=True))
    if place.view is View.CUMULATIVE:
        low[:n, -1], high[:n, -1] = np.maximum(low[:n, -1], totals), np.minimum(high[:n, -1], totals)
    if _magnitude(stated, low, high, totals) > LARGEST:
        return None
    return _Search(stated, place, around, sizes, low, high)


def _magnitude(stated: Conditions, low: np.ndarray, high: np.ndarray, totals: np.ndarray) -> float:
    """Bound every sum that occurs."""
    largest = max(float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (low, high, totals))
    sides = np.concatenate([stated.row_lower, stated.row_upper]).astype(float)
    sides = float(np.abs(sides[np.abs(sides) < UNBOUNDED]).max(initial=0.0))
    in_rows = float(abs(stated.rows).sum(axis=1).max()) if len(stated.row_lower) else 0.0
    return sides + largest * max(float(low.size), in_rows)


@dataclass(eq=False)
class _Search:
    """The intervals [low, high] of all cells; floats, because they know infinity, and integers in them are exact.

    `sizes` are those that columns are of; in counts one more column is of the totals of regions.
    """

    stated: Conditions
    place: ProblemCells
    around: Surroundings
    sizes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def one_sweep(self) -> str | None:
        return self._order() or self._up() or self._totals()

    def rounds(self) -> str | None:
        for _ in range(ROUNDS):
            before = self.low.copy(), self.high.copy()
            reason = self._order() or self._up() or self._totals() or self._rows() or self._down()
            if reason is not None:
                return reason
            if (before[0] == self.low).all() and (before[1] == self.high).all():
                return None
        return None

    def _order(self) -> str | None:
        if self.around.monotone:
            low, high = self.low[:, : len(self.sizes)], self.high[:, : len(self.sizes)]
            low[:] = np.maximum.accumulate(low, axis=1)
            high[:] = np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1]
        return self._empty()

    def _up(self) -> str | None:
        tree = self.place.hierarchy
        if self.around.consistent:
            for level in range(tree.n_levels - 2, -1, -1):
                here = tree.level(level)
                self.low[here] = np.maximum(self.low[here], tree.sum_children(self.low, level))
                self.high[here] = np.minimum(self.high[here], tree.sum_children(self.high, level))
        return self._empty()

    def _down(self) -> str | None:
        tree = self.place.hierarchy
        if self.around.consistent:
            for level in range(tree.n_levels - 1):
                below = tree.level(level + 1)
                parent = tree.parent[below]
                least = _others(self.low[below], lambda part, level=level: self._of_parents(part, level))
                most = _others(self.high[below], lambda part, level=level: self._of_parents(part, level))
                self.low[below] = np.maximum(self.low[below], self.low[parent] - most)
                self.high[below] = np.minimum(self.high[below], self.high[parent] - least)
        return self._empty()

    def _of_parents(self, part: np.ndarray, level: int) -> np.ndarray:
        """Add up over siblings, for each of them."""
        tree, below = self.place.hierarchy, self.place.hierarchy.level(level + 1)
        starts = tree.first_child[tree.level(level)] - below.start
        return np.add.reduceat(part, starts, axis=0)[tree.parent[below] - tree.level(level).start]

    def _totals(self) -> str | None:
        if self.place.view is not View.COUNTS:
            return None
        low, high = self.low[:, :-1], self.high[:, :-1]
        least, most = low.sum(axis=1), high.sum(axis=1)
        public = self.around.totals.astype(float)
        n = len(public)
        wrong = np.flatnonzero((least[:n] > public) | (most[:n] < public))
        if len(wrong):
            r = int(wrong[0])
            side = f"at least {least[r]:,.0f}" if least[r] > public[r] else f"at most {most[r]:,.0f}"
            name = region_id(self.place.hierarchy.paths[r])
            return f"the cells of {name} would add up to {side}, not to its {public[r]:,.0f} groups, by {self._by()}"
        self.low[:, -1], self.high[:, -1] = np.maximum(self.low[:, -1], least), np.minimum(self.high[:, -1], most)
        sums = lambda part: np.broadcast_to(part.sum(axis=1, keepdims=True), part.shape)  # noqa: E731
        least_others, most_others = _others(low, sums), _others(high, sums)
        low[:] = np.maximum(low, self.low[:, -1:] - most_others)
        high[:] = np.minimum(high, self.high[:, -1:] - least_others)
        return self._empty()

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The stated rows as row, place in `low` and coefficient of each term.

        All cells of a region with one coefficient are the region's total with it.
        """
        rows, n_sizes, width = self.stated.rows, self.place.max_size + 1, self.low.shape[1]
        m = len(self.stated.row_lower)
        row, cell, a = np.repeat(np.arange(m), np.diff(rows.indptr)), rows.indices, rows.data.astype(float)
        region, size = cell // n_sizes, cell % n_sizes
        places = region * width + size
        if self.place.view is not View.COUNTS or not len(row):
            return row, places, a
        _, first, part = np.unique(row * np.int64(len(self.low)) + region, return_index=True, return_inverse=True)
        whole = np.bincount(part, a == a[first][part]) == n_sizes
        kept, totals = ~whole[part], first[whole]
        return (
            np.concatenate([row[kept], row[totals]]),
            np.concatenate([places[kept], region[totals] * width + width - 1]),
            np.concatenate([a[kept], a[totals]]),
        )

    def _rows(self) -> str | None:
        m = len(self.stated.row_lower)
        if not m:
            return None
        row, cell, a = self._terms
        low, high = self.low.ravel(), self.high.ravel()
        least = np.where(a > 0, a * low[cell], a * high[cell])
        most = np.where(a > 0, a * high[cell], a * low[cell])
        under = np.where(self.stated.row_lower > -UNBOUNDED, self.stated.row_lower.astype(float), -np.inf)
        over = np.where(self.stated.row_upper < UNBOUNDED, self.stated.row_upper.astype(float), np.inf)
        sums = np.bincount(row, least, m), np.bincount(row, most, m)
        wrong = np.flatnonzero((sums[0] > over) | (sums[1] < under))
        if len(wrong):
            k = int(wrong[0])
            above = sums[0][k] > over[k]
            side = f"at least {sums[0][k] - over[k]:,.0f} too large" if above else f"{under[k] - sums[1][k]:,.0f} short"
            return f"{self.stated.names[k]} cannot hold: its left side is {side} at best, by {self._by(but=k)}"
        of_rows = lambda part: np.bincount(row, part, m)[row]  # noqa: E731
        at_most, at_least = over[row] - _others(least, of_rows), under[row] - _others(most, of_rows)
        np.minimum.at(high, cell, self._rounded(np.where(a > 0, at_most, at_least) / a, np.floor, np.inf))
        np.maximum.at(low, cell, self._rounded(np.where(a > 0, at_least, at_most) / a, np.ceil, -np.inf))
        self.low, self.high = low.reshape(self.low.shape), high.reshape(self.high.shape)
        return self._empty()

    def _rounded(self, quotient: np.ndarray, to_integer: np.ufunc, outwards: float) -> np.ndarray:
        """Round a quotient of integers below 2^53 to what integers can reach, or past its own rounding in reals."""
        return (
            to_integer(quotient)
            if self.around.integer
            else np.where(quotient == np.rint(quotient), quotient, np.nextafter(quotient, outwards))
        )

    def _empty(self) -> str | None:
        wrong = self.low > self.high
        if not wrong.any():
            return None
        r, s = (int(i) for i in np.argwhere(wrong)[0])
        size = int(self.sizes[s]) if s < len(self.sizes) else None
        region = region_id(self.place.hierarchy.paths[r])
        name = f"total({region})" if size is None else f"cells({region}, {size})"
        low, high = _number_text(self.low[r, s]), _number_text(self.high[r, s])
        return f"{name} would have to be at least {low} and at most {high}, by {self._by(size)}"

    def _by(self, size: int | None = None, but: int | None = None) -> str:
        """Name the conditions on cells of one size, which other sizes hardly touch without order, or all of them.

        Of all of them those on totals of regions come first, and a public total where there is one; `but` is the row
        that the sentence is about.
        """
        named = list(self.stated.stated or self.stated.names or ("bounds of cells",))
        if size is not None and not self.around.monotone and self.stated.sources is not None:
            bounds = np.unique(self.stated.sources[:, :, size])
            row, cell = self.stated.rows.nonzero()
            rows = np.unique(row[cell % (self.place.max_size + 1) == size])
            near = [self.stated.stated[i] for i in bounds if i >= 0] + [self.stated.names[i] for i in rows]
            named = near or named
        if size is None and self._on_totals is not None:
            named = [name for name in named if but is None or name != self.stated.names[but]]
            named.sort(key=lambda name: not name.startswith("total("))
            named = [*named[:3], self._on_totals, *named[3:]]
        more = f"; and {len(named) - 4:,} more" if len(named) > 4 else ""
        return "; ".join(named[:4]) + more

    @property
    def _on_totals(self) -> str | None:
        """The public numbers of groups as a phrase, where they are and stated rows are about totals."""
        n, width = len(self.around.totals), self.low.shape[1]
        if not n or self.place.view is not View.COUNTS or not (self._terms[1] % width == width - 1).any():
            return None
        root = region_id(self.place.hierarchy.paths[0])
        return (
            f"the public {int(self.around.totals[0]):,} groups of {root}" if n == 1 else "the public totals of regions"
        )


def _number_text(number: float) -> str:
    """Write a number in full, an integer without decimals, any other with six at most."""
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6f}".rstrip("0").rstrip(".")


def _others(values: np.ndarray, sums: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Compute for each term of a sum the sum of all others, where terms may be infinite, all of one sign."""
    infinite = np.isinf(values)
    finite = np.where(infinite, 0.0, values)
    if not infinite.any():
        return sums(finite) - finite
    sign = float(np.sign(values[infinite][0]))
    n_others = sums(infinite.astype(float)) - infinite
    return np.where(n_others > 0, sign * np.inf, sums(finite) - finite)
