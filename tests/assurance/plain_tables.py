"""Tables of few regions as exact numbers, and the nearest numbers that add up, in exact fractions: a slow twin."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from instances import rng_of

Path = tuple[str, ...]
Measured = tuple[Path, Fraction, Fraction]
"""A region, its value and its weight."""


@dataclass(frozen=True)
class Table:
    """Rows of values and weights, of every region one at least, and what their answer has to be."""

    rows: tuple[Measured, ...]
    integer: bool = True
    nonnegative: bool = True

    @property
    def leaves(self) -> list[Path]:
        paths = {path for path, _, _ in self.rows}
        return sorted(path for path in paths if not any(other[:-1] == path for other in paths))

    @property
    def depth(self) -> int:
        return max(len(path) for path, _, _ in self.rows)

    def columns(self) -> dict[str, Any]:
        """The table as `pgsr.reconcile` takes it, in columns c0, c1, ... of names, n and w."""
        names = {f"c{k}": [path[k] if k < len(path) else None for path, _, _ in self.rows] for k in range(self.depth)}
        return names | {"n": [float(y) for _, y, _ in self.rows], "w": [float(w) for _, _, w in self.rows]}

    def hierarchy(self) -> list[str]:
        return [f"c{k}" for k in range(self.depth)]

    def distance(self, answer: Callable[[Path], Fraction]) -> Fraction:
        """The objective of numbers of lowest regions, whose sums are those above."""
        sums = {
            path: sum(answer(leaf) for leaf in self.leaves if leaf[: len(path)] == path) for path, _, _ in self.rows
        }
        return sum((w * (sums[path] - y) ** 2 for path, y, w in self.rows), Fraction(0))

    def optimum(self) -> Fraction:
        """The least distance, in exact fractions, over reals or integers."""
        return _least_whole(self) if self.integer else _least_real(self)

    def normal(self) -> tuple[list[list[Fraction]], list[Fraction], Fraction]:
        """The distance as x'Hx - 2 g'x + c over the lowest regions."""
        leaves = self.leaves
        h = [[Fraction(0)] * len(leaves) for _ in leaves]
        g, c = [Fraction(0)] * len(leaves), Fraction(0)
        for path, y, w in self.rows:
            below = [i for i, leaf in enumerate(leaves) if leaf[: len(path)] == path]
            for i in below:
                g[i] += w * y
                for j in below:
                    h[i][j] += w
            c += w * y * y
        return h, g, c


def _least_real(table: Table) -> Fraction:
    """Over all sets of lowest regions that are 0, the best of those whose others are not negative."""
    h, g, c = table.normal()
    n, best = len(g), None
    for free in (free for size in range(n, -1, -1) for free in combinations(range(n), size)):
        x = solved([[h[i][j] for j in free] for i in free], [g[i] for i in free])
        if not table.nonnegative or all(value >= 0 for value in x):
            value = c - sum((g[i] * v for i, v in zip(free, x, strict=True)), Fraction(0))
            best = value if best is None else min(best, value)
        if not table.nonnegative:
            break
    assert best is not None
    return best


def solved(h: list[list[Fraction]], g: list[Fraction]) -> list[Fraction]:
    """Solve positive definite equations by elimination."""
    n, rows = len(g), [[*row, right] for row, right in zip(h, g, strict=True)]
    for k in range(n):
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]


def _least_whole(table: Table) -> Fraction:
    """Fix one unknown after the other, nearest value first, as long as what is left can be better than the best.

    With the others free the distance is  rest + d (x - centre)^2  in one unknown, so values farther than the best
    leaves room for need not be tried. Unknowns are the lowest regions; where the root weighs most, its number takes the
    place of the first one, which is what the others leave of it.
    """
    h, g, c = table.normal()
    n = len(g)
    heaviest = max(table.rows, key=lambda row: row[2])[0]
    instead = len(heaviest) == 1
    if instead:
        u = [[1, *[-1] * (n - 1)], *([int(i == j) for j in range(n)] for i in range(1, n))]
        h = [[sum(u[k][i] * h[k][l] * u[l][j] for k in range(n) for l in range(n)) for j in range(n)] for i in range(n)]
        g = [sum((u[k][i] * g[k] for k in range(n)), Fraction(0)) for i in range(n)]
    best: list[Fraction | None] = [None]

    def fix(h: list[list[Fraction]], g: list[Fraction], c: Fraction, left: int | None) -> None:
        """`left` is what the root has for the unknowns that are not fixed, once it is fixed itself."""
        if not g:
            best[0] = c if best[0] is None else min(best[0], c)
            return
        x = solved(h, g)
        least = c - sum((a * b for a, b in zip(g, x, strict=True)), Fraction(0))
        inverse = solved(h, [Fraction(1)] + [Fraction(0)] * (len(g) - 1))[0]
        low = 0 if table.nonnegative else -(10**30)
        high = left if table.nonnegative and left is not None else 10**30
        start = min(max(low, round(x[0])), high)
        for step in (1, -1):
            at = start if step == 1 else start - 1
            while low <= at <= high and (best[0] is None or least + (at - x[0]) ** 2 / inverse < best[0]):
                rest = None if not instead else at if left is None else left - at
                further = [g[i] - h[i][0] * at for i in range(1, len(g))]
                fix([row[1:] for row in h[1:]], further, c + h[0][0] * at * at - 2 * g[0] * at, rest)
                at += step

    fix(h, g, c, None)
    assert best[0] is not None
    return best[0]


def tables(seed: int) -> dict[str, Table]:
    """Small tables of every kind, by name: whole and real answers, signs free or not, on two and three levels."""
    rng = rng_of(55, seed)
    whole = tuple(
        (path, Fraction(int(rng.integers(-2, 12)) + 8 * (len(path) == 1)), Fraction(int(rng.integers(1, 4))))
        for path in ((("US",), ("US", "A"), ("US", "B"), ("US", "C")), (("US",), ("US", "A"), ("US", "B"),
                     ("US", "A", "1"), ("US", "A", "2"), ("US", "B", "1")))[seed % 2]
    )  # fmt: skip
    halves = tuple((path, y + Fraction(int(rng.integers(4)), 4), w) for path, y, w in whole)
    return {
        "whole": Table(whole),
        "fractions, whole answers": Table(halves),
        "real answers": Table(halves, integer=False),
        "any signs": Table(halves, integer=False, nonnegative=False),
    }


@dataclass(frozen=True)
class Changed:
    """A changed table, what its least distance is multiplied by, and the size of its numbers' noise."""

    table: Table
    times: Fraction = Fraction(1)
    unit: Fraction = Fraction(1)


def rows_permuted(table: Table, _: Fraction) -> Changed:
    """Put the rows in the opposite order."""
    return Changed(replace(table, rows=table.rows[::-1]))


def regions_renamed(table: Table, _: Fraction) -> Changed:
    """Give regions names in the opposite order."""
    name = lambda path: (path[0], *(chr(155 - ord(part)) if part.isalpha() else part for part in path[1:]))  # noqa: E731
    return Changed(replace(table, rows=tuple((name(path), y, w) for path, y, w in table.rows)))


def weights_scaled(table: Table, k: Fraction) -> Changed:
    """Multiply all weights: so is the least distance."""
    return Changed(replace(table, rows=tuple((path, y, w * k) for path, y, w in table.rows)), k)


def units_changed(table: Table, k: Fraction) -> Changed | None:
    """Multiply all values; the least distance of reals by the square."""
    if table.integer:
        return None
    return Changed(replace(table, rows=tuple((path, y * k, w) for path, y, w in table.rows)), k * k, k)


def values_shifted(table: Table, k: Fraction) -> Changed | None:
    """Add k to every lowest region, and sums of it above, where signs are free: the least distance stays."""
    if table.nonnegative:
        return None
    leaves = table.leaves
    parts = {path: sum(leaf[: len(path)] == path for leaf in leaves) for path, _, _ in table.rows}
    return Changed(replace(table, rows=tuple((path, y + k * parts[path], w) for path, y, w in table.rows)))


def measured_twice(table: Table, _: Fraction) -> Changed:
    """Give every row twice at half its weight."""
    return Changed(replace(table, rows=tuple((path, y, w / 2) for path, y, w in table.rows for _ in range(2))))


def parent_of_one_child(table: Table, _: Fraction) -> Changed:
    """Let a region above the root measure it, too, each with half its weight."""
    root = next(path for path, _, _ in table.rows if len(path) == 1)
    rows = [(("top", *path), y, w / 2 if path == root else w) for path, y, w in table.rows]
    return Changed(replace(table, rows=(*rows, *((("top",), y, w / 2) for path, y, w in table.rows if path == root))))


def equal_parts(table: Table, _: Fraction) -> Changed | None:
    """Put two regions of half its value and twice its weight in the place of the last lowest one."""
    if table.integer:
        return None
    last = table.leaves[-1]
    rows = [row for row in table.rows if row[0] != last]
    parts = [
        ((*last[:-1], last[-1] + part), y / 2, 2 * w) for path, y, w in table.rows if path == last for part in "xy"
    ]
    return Changed(replace(table, rows=(*rows, *parts)))


def weights_far_apart(table: Table, k: Fraction) -> Changed:
    """Multiply the root's weight alone; where the least distance is then, enumeration says."""
    rows = tuple((path, y, w * k if len(path) == 1 else w) for path, y, w in table.rows)
    return Changed(replace(table, rows=rows), Fraction(0))


ONCE = (rows_permuted, regions_renamed, measured_twice, parent_of_one_child, equal_parts)
BY_SCALE = (weights_scaled, units_changed, values_shifted, weights_far_apart)
SCALES = tuple(Fraction(10) ** power for power in (-9, -6, -3, 0, 3, 6, 9))


def named() -> dict[str, tuple[Callable[[Table, Fraction], Changed | None], Fraction]]:
    """All changes with their names, those by scale once per scale."""
    by_scale = {f"{change.__name__} {float(k):.0e}": (change, k) for change in BY_SCALE for k in SCALES}
    return {change.__name__: (change, Fraction(1)) for change in ONCE} | by_scale
