"""The search for contradictions among conditions: what bounds of cells imply for sums, and sums for cells."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.region_ids import region_id
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.problems.conditions.coefficients import ProblemCells
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions

ROUNDS = 10
"""Most passes over all conditions; each may tighten what the next one finds."""

LARGEST = 2.0**52
"""Largest sum of bounds that is looked into, in the unit of the search, so that all arithmetic here is exact."""

FINEST = 2.0**-20
"""The unit of a search in real numbers, of which all ends are multiples; a power of 2 up to 1 where sums are large."""


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


def is_decided_by_sums(conditions: Conditions, place: ProblemCells, around: Surroundings) -> bool:
    """Say whether `contradicting_conditions` finds every contradiction.

    Without rows and order, cells of one size form a tree, in which every value between the sums of bounds is reached
    by sharing; the root's total couples the trees once more. Regions alone are decided one by one. Otherwise
    contradictions may be hidden deeper.
    """
    if not conditions.bounds_alone:
        return False
    coupled = around.monotone or (place.view is View.COUNTS and len(around.totals) > 1)
    return not around.consistent or not coupled


def contradicting_conditions(conditions: Conditions, place: ProblemCells, around: Surroundings) -> str | None:
    """Say why no point satisfies the conditions, or return None where none is found.

    Every cell has an interval, which starts from stated bounds, signs and public totals. Order, sums over children,
    totals and stated rows narrow them: a term of a sum is at least the sum's least value less the others' largest
    ones. In counts the total of every region has an interval too, so that rows about totals meet each other and the
    public totals. An empty interval is a contradiction. What is found is one, since all steps are exact: quotients are
    rounded to what integers can reach, and in real numbers outwards to multiples of a power of 2; ends that grow too
    large are dropped.

    Complexity: O(cells + coefficients of rows) per round; at most `ROUNDS` of them, and one sweep where
    `is_decided_by_sums`.

    Example:
        >>> from pgsr.problems.conditions import cells
        >>> from pgsr.problems.conditions.matrices import state
        >>> from pgsr.data.hierarchy import Hierarchy
        >>> place = ProblemCells(Sizes(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), (1, 1)), View.COUNTS)
        >>> around = Surroundings(True, True, False, True, np.array([5]))
        >>> stated = state([cells(level=1, size=1) >= 2, cells(level=0, size=1) <= 3], place)
        >>> contradicting_conditions(stated, place, around)
        'cells(US, 1) would have to be at least 4 and at most 3, by cells(level 1, 1) >= 2; cells(level 0, 1) <= 3'
    """
    search = _begun(conditions, place, around)
    if search is None:
        return None
    return search.one_sweep() if is_decided_by_sums(conditions, place, around) else search.rounds()


def intervals(conditions: Conditions, place: ProblemCells, around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers that each cell of every point is between, -inf or inf where none is found.

    Choices are not looked into. Shape (cells,) each.
    """
    search = _begun(conditions, place, around, every_size=True)
    if search is None:
        low, high = _ends(conditions.lower, conditions.upper)
        return np.maximum(low, 0.0) if around.nonnegative else low, high
    search.rounds()
    low, high = (part.reshape(place.hierarchy.n_regions, -1) for part in (search.low, search.high))
    n_sizes = place.sizes.max_sizes[0] + 1
    return low[:, :n_sizes].ravel(), high[:, :n_sizes].ravel()


def _ends(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give bounds as floats, -inf and inf where nothing is stated."""
    low, high = lower.astype(float), upper.astype(float)
    low[low <= -UNBOUNDED], high[high >= UNBOUNDED] = -np.inf, np.inf
    return low, high


def _begun(
    conditions: Conditions, place: ProblemCells, around: Surroundings, every_size: bool = False
) -> "_Search | None":
    """Begin the search with what is stated of single cells; None where numbers are too large for it."""
    decided = is_decided_by_sums(conditions, place, around) and not every_size
    sizes, names = place.sizes, np.arange(place.sizes.max_sizes[0] + 1)
    low, high, counts = conditions.lower, conditions.upper, place.view is View.COUNTS
    if decided and counts and not around.monotone:  # of sizes without bounds one stands for all
        shape = sizes.hierarchy.n_regions, len(names)
        low, high = low.reshape(shape), high.reshape(shape)
        bounded = (low.max(axis=0) > -UNBOUNDED) | (high.min(axis=0) < UNBOUNDED)
        names = np.concatenate([np.flatnonzero(bounded), np.flatnonzero(~bounded)[:1]])
        low, high = (part[:, names].ravel() for part in (low, high))
        sizes = Sizes.alike(sizes.hierarchy, len(names) - 1)
    low, high = _ends(low, high)
    if around.nonnegative:
        low = np.maximum(low, 0.0)
    totals = around.totals.astype(float)
    n, layout = len(totals), sizes
    if counts:
        layout = Sizes.alike(sizes.hierarchy, len(names))
        rest = np.full(sizes.hierarchy.n_regions - n, np.inf)
        least, most = (np.append(totals, end) for end in (np.zeros_like(rest) if around.nonnegative else -rest, rest))
        low, high = (np.insert(part, sizes.first_cell[1:], ends) for part, ends in ((low, least), (high, most)))
    else:
        last = sizes.last_cell[:n]
        low[last], high[last] = np.maximum(low[last], totals), np.minimum(high[last], totals)
    largest = max(float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (low, high, totals))
    sides = np.concatenate([conditions.row_lower, conditions.row_upper]).astype(float)
    sides = float(np.abs(sides[np.abs(sides) < UNBOUNDED]).max(initial=0.0))
    in_rows = float(abs(conditions.rows).sum(axis=1).max()) if len(conditions.row_lower) else 0.0
    terms = max(float(low.size), in_rows)  # no sum of ends up to `farthest` leaves the numbers that are exact
    if sides + largest * terms > LARGEST:
        return None
    unit = 1.0
    while not around.integer and unit > FINEST and 2 * (sides + largest * terms) <= LARGEST * unit:
        unit /= 2
    farthest = np.floor((LARGEST * unit - sides) / terms / unit) * unit
    return _Search(conditions, place, around, names, layout, low, high, unit, farthest)


@dataclass(eq=False)
class _Search:
    """The intervals [low, high] of all cells; floats, because they know infinity, and multiples of `unit` are exact.

    `layout` places them region by region: columns are of the sizes `names`; in counts one more, the last one, is
    of the totals of regions.
    """

    stated: Conditions
    place: ProblemCells
    around: Surroundings
    names: np.ndarray
    layout: Sizes
    low: np.ndarray
    high: np.ndarray
    unit: float
    farthest: float

    def one_sweep(self) -> str | None:
        return self._sweep(self._order, self._up, self._totals)

    def rounds(self) -> str | None:
        for _ in range(ROUNDS):
            before = self.low.copy(), self.high.copy()
            reason = self._sweep(self._order, self._up, self._totals, self._rows, self._down)
            if reason is not None:
                return reason
            if (before[0] == self.low).all() and (before[1] == self.high).all():
                return None
        return None

    def _sweep(self, *steps: Callable[[], str | None]) -> str | None:
        """Take each step once, up to the first contradiction, and give its reason."""
        for step in steps:
            reason = step() or self._empty()
            if reason is not None:
                return reason
            self._drop_far_ends()
        return None

    def _drop_far_ends(self) -> None:
        """Move ends beyond `farthest` outwards, since sums of them would not be exact."""
        self.low[self.low < -self.farthest], self.high[self.high > self.farthest] = -np.inf, np.inf
        np.minimum(self.low, self.farthest, out=self.low)
        np.maximum(self.high, -self.farthest, out=self.high)

    @property
    def _tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The intervals level by level, in place."""
        return list(zip(self.layout.tables(self.low), self.layout.tables(self.high), strict=True))

    @property
    def _n_totals(self) -> int:
        """The number of columns of totals."""
        return int(self.place.view is View.COUNTS)

    def _order(self) -> None:
        for low, high in self._tables if self.around.monotone else ():
            cells = slice(0, low.shape[1] - self._n_totals)
            low[:, cells] = np.maximum.accumulate(low[:, cells], axis=1)
            high[:, cells] = np.minimum.accumulate(high[:, cells][:, ::-1], axis=1)[:, ::-1]

    def _up(self) -> None:
        tables = self._tables
        for level in range(len(tables) - 2, -1, -1) if self.around.consistent else ():
            low, high = tables[level]
            least, most = (self.place.hierarchy.sum_below(part, level) for part in tables[level + 1])
            np.maximum(low, least, out=low)
            np.minimum(high, most, out=high)

    def _down(self) -> None:
        tree, tables = self.place.hierarchy, self._tables
        for level in range(len(tables) - 1) if self.around.consistent else ():
            parent = tree.parent[tree.level(level + 1)] - tree.level(level).start
            least, most = (part[parent] for part in tables[level])
            siblings = lambda terms, level=level, parent=parent: tree.sum_below(terms, level)[parent]  # noqa: E731
            _narrow(*tables[level + 1], least, most, siblings)

    def _totals(self) -> str | None:
        if self.place.view is not View.COUNTS:
            return None
        public, first = self.around.totals.astype(float), 0
        for low, high in self._tables:
            sums = low[:, :-1].sum(axis=1), high[:, :-1].sum(axis=1)
            known = public[first : first + len(low)]
            wrong = np.flatnonzero((sums[0][: len(known)] > known) | (sums[1][: len(known)] < known))
            if len(wrong):
                r = int(wrong[0])
                side = f"at least {sums[0][r]:,.0f}" if sums[0][r] > known[r] else f"at most {sums[1][r]:,.0f}"
                name = region_id(self.place.hierarchy.paths[first + r])
                return f"the cells of {name} would add up to {side}, not to its {known[r]:,.0f} groups, by {self._by()}"
            low[:, -1], high[:, -1] = np.maximum(low[:, -1], sums[0]), np.minimum(high[:, -1], sums[1])
            _narrow(low[:, :-1], high[:, :-1], low[:, -1:], high[:, -1:], _sums_of_rows)
            first += len(low)
        return None

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The stated rows as row, place in `low` and coefficient of each term.

        All cells of a region with one coefficient are the region's total with it.
        """
        rows, sizes = self.stated.rows, self.place.sizes
        m = len(self.stated.row_lower)
        row, cell, a = np.repeat(np.arange(m), np.diff(rows.indptr)), rows.indices, rows.data.astype(float)
        region = np.searchsorted(sizes.first_cell, cell, "right") - 1
        places = cell + region * self._n_totals
        if not self._n_totals or not len(row):
            return row, places, a
        n = self.place.hierarchy.n_regions
        _, first, part = np.unique(row * np.int64(n) + region, return_index=True, return_inverse=True)
        whole = np.bincount(part, a == a[first][part]) == np.diff(sizes.first_cell)[region[first]]
        kept, totals = ~whole[part], first[whole]
        return (
            np.concatenate([row[kept], row[totals]]),
            np.concatenate([places[kept], self.layout.last_cell[region[totals]]]),
            np.concatenate([a[kept], a[totals]]),
        )

    def _rows(self) -> str | None:
        m = len(self.stated.row_lower)
        if not m:
            return None
        row, cell, a = self._terms
        low, high = self.low, self.high
        least = np.where(a > 0, a * low[cell], a * high[cell])
        most = np.where(a > 0, a * high[cell], a * low[cell])
        under = np.where(self.stated.row_lower > -UNBOUNDED, self.stated.row_lower.astype(float), -np.inf)
        over = np.where(self.stated.row_upper < UNBOUNDED, self.stated.row_upper.astype(float), np.inf)
        sums = np.bincount(row, least, m), np.bincount(row, most, m)
        wrong = np.flatnonzero((sums[0] > over) | (sums[1] < under))
        if len(wrong):
            k = int(wrong[0])
            above = sums[0][k] > over[k]
            apart = _number_text(sums[0][k] - over[k] if above else under[k] - sums[1][k])
            side = f"at least {apart} too large" if above else f"{apart} short"
            return f"{self.stated.names[k]} cannot hold: its left side is {side} at best, by {self._by(but=k)}"
        of_rows = lambda part: np.bincount(row, part, m)[row]  # noqa: E731
        at_most, at_least = over[row] - _others(least, of_rows), under[row] - _others(most, of_rows)
        # A quotient of less than 2^53 units by an integer is rounded to a whole unit only if it is one.
        of_high, of_low = (np.floor, np.ceil) if self.around.integer else (np.ceil, np.floor)
        np.minimum.at(high, cell, of_high(np.where(a > 0, at_most, at_least) / a / self.unit) * self.unit)
        np.maximum.at(low, cell, of_low(np.where(a > 0, at_least, at_most) / a / self.unit) * self.unit)
        return None

    def _empty(self) -> str | None:
        """Describe the first interval that is empty, or return None where none is."""
        wrong = self.low > self.high
        if not wrong.any():
            return None
        place = int(np.argmax(wrong))
        r = int(np.searchsorted(self.layout.first_cell, place, "right")) - 1
        is_total = self._n_totals and place == self.layout.last_cell[r]
        size = None if is_total else int(self.names[place - self.layout.first_cell[r]])
        region = region_id(self.place.hierarchy.paths[r])
        name = f"total({region})" if size is None else f"cells({region}, {size})"
        low, high = _number_text(self.low[place]), _number_text(self.high[place])
        return f"{name} would have to be at least {low} and at most {high}, by {self._by(size)}"

    def _by(self, size: int | None = None, but: int | None = None) -> str:
        """Name the conditions on cells of one size, which other sizes hardly touch without order, or all of them.

        Of all of them those on totals of regions come first, and a public total where there is one; `but` is the row
        that the sentence is about.
        """
        named = list(self.stated.stated or self.stated.names or ("bounds of cells",))
        sizes = self.place.sizes
        if size is not None and not self.around.monotone and self.stated.sources is not None:
            bounds = np.unique(self.stated.sources[:, sizes.size_of_cell == size])
            row, cell = self.stated.rows.nonzero()
            rows = np.unique(row[sizes.size_of_cell[cell] == size])
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
        n = len(self.around.totals)
        if not n or not self._n_totals or not np.isin(self._terms[1], self.layout.last_cell).any():
            return None
        root = region_id(self.place.hierarchy.paths[0])
        return (
            f"the public {int(self.around.totals[0]):,} groups of {root}" if n == 1 else "the public totals of regions"
        )


def _number_text(number: float) -> str:
    """Write a number in full, an integer without decimals, any other with six digits where it is small."""
    if number.is_integer():
        return f"{number:,.0f}"
    return f"{number:,.6f}".rstrip("0").rstrip(".") if abs(number) > 1e-3 else f"{number:.6g}"


def _sums_of_rows(terms: np.ndarray) -> np.ndarray:
    return np.broadcast_to(terms.sum(axis=1, keepdims=True), terms.shape)


def _narrow(
    low: np.ndarray, high: np.ndarray, least: np.ndarray, most: np.ndarray, sums: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Narrow terms, in place, to what a sum between `least` and `most` leaves beside the other terms."""
    others = _others(low, sums), _others(high, sums)
    np.maximum(low, least - others[1], out=low)
    np.minimum(high, most - others[0], out=high)


def _others(values: np.ndarray, sums: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Compute for each term of a sum the sum of all others, where terms may be infinite, all of one sign."""
    infinite = np.isinf(values)
    finite = np.where(infinite, 0.0, values)
    if not infinite.any():
        return sums(finite) - finite
    sign = float(np.sign(values[infinite][0]))
    n_others = sums(infinite.astype(float)) - infinite
    return np.where(n_others > 0, sign * np.inf, sums(finite) - finite)
