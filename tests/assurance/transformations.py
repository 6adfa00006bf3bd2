"""Changes of a problem after which its optimum is known: what the adversary does to every method."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from plain_problems import Path, Plain, Row

from pgsr import View


@dataclass(frozen=True)
class Moved:
    """A changed problem, and where its optimum is.

    Attributes:
        plain: the changed problem.
        times: what the optimum in reals is multiplied by; that in integers, too, where `exact`.
        exact: whether the integers' optimum moves like that of reals. If not it is at least the multiple of the reals'
            optimum, and at most that of the integers'.
    """

    plain: Plain
    times: int = 1
    exact: bool = True


def regions_permuted(plain: Plain, _: int) -> Moved:
    """Put the regions in the opposite order: the optimum stays."""
    return Moved(replace(plain, leaves=plain.leaves[::-1]))


def sizes_permuted(plain: Plain, _: int) -> Moved | None:
    """Put the sizes in the opposite order, which no problem of counts knows: the optimum stays."""
    if plain.view is View.CUMULATIVE:
        return None
    last = plain.n_sizes - 1
    values = {path: row[::-1] for path, row in plain.values.items()}
    return Moved(_with_cells(replace(plain, values=values), lambda path, size: {(path, last - size): 1}))


def counts_shifted(plain: Plain, k: int) -> Moved | None:
    """Add k to every cell of every lowest region, and say that no cell of these is below k: the optimum stays."""
    parts = {path: sum(leaf[: len(path)] == path for leaf in plain.leaves) for path in plain.values}
    if not plain.consistent:
        parts = dict.fromkeys(parts, 1)
    in_total = 1 if plain.view is View.CUMULATIVE else plain.n_sizes
    shift = lambda row: (row[0], row[1], row[2] + k * sum(f * parts[path] for (path, _), f in row[0].items()))  # noqa: E731
    moved = replace(
        plain,
        values={path: [y + k * parts[path] for y in row] for path, row in plain.values.items()},
        totals={path: number + k * in_total * parts[path] for path, number in plain.totals.items()},
        rows=tuple(shift(row) for row in plain.rows),
        choices=tuple(tuple([shift(row) for row in side] for side in choice) for choice in plain.choices),
    )
    if not plain.nonnegative:
        return Moved(moved)
    lowest = plain.leaves if plain.consistent else tuple(plain.values)
    sizes = range(1 if plain.view is View.CUMULATIVE else plain.n_sizes)
    return Moved(replace(moved, rows=(*moved.rows, *(({(path, s): 1}, ">=", k) for path in lowest for s in sizes))))


def units_changed(plain: Plain, k: int) -> Moved:
    """Multiply all counts, totals and numbers of conditions by k: the optimum is k or k^2 times that before."""
    longer = lambda row: (row[0], row[1], row[2] * k)  # noqa: E731
    moved = replace(
        plain,
        values={path: [y * k for y in row] for path, row in plain.values.items()},
        totals={path: number * k for path, number in plain.totals.items()},
        rows=tuple(longer(row) for row in plain.rows),
        choices=tuple(tuple([longer(row) for row in side] for side in choice) for choice in plain.choices),
    )
    return Moved(moved, k**plain.norm, exact=not plain.integer or k == 1)


def weights_scaled(plain: Plain, k: int) -> Moved:
    """Multiply all weights by k: the optimum is k times that before."""
    return Moved(replace(plain, weights={path: w * k for path, w in plain.weights.items()}), k)


def parent_of_one_child(plain: Plain, _: int) -> Moved:
    """Put a region that nobody measured above the root: the optimum stays."""
    top = ("top",)
    moved = _renamed(plain, lambda path: top + path)
    values, weights = moved.values | {top: plain.values[plain.root]}, moved.weights | {top: 0}
    totals = moved.totals | {top: plain.totals[plain.root]} if plain.totals else {}
    if len(plain.totals) == 1:
        totals = {top: plain.totals[plain.root]}
    return Moved(replace(moved, values=values, weights=weights, totals=totals))


def measured_by_a_parent(plain: Plain, k: int) -> Moved | None:
    """Double all weights, and let a region above the root measure the root in half of its weight: twice the optimum."""
    if not plain.consistent:
        return None
    moved = parent_of_one_child(weights_scaled(plain, 2).plain, k).plain
    half = plain.weights[plain.root]
    return Moved(replace(moved, weights=moved.weights | {("top",): half, ("top", *plain.root): half}), 2)


def measured_by_an_only_child(plain: Plain, _: int) -> Moved | None:
    """Let a single region below every lowest one measure what that measured: the optimum stays."""
    if not plain.consistent:
        return None
    below = {leaf: (*leaf, "all") for leaf in plain.leaves}
    moved = {child: plain.values[leaf] for leaf, child in below.items()}
    weights = {child: plain.weights[leaf] for leaf, child in below.items()} | dict.fromkeys(below, 0)
    totals = plain.totals | {child: plain.totals[leaf] for leaf, child in below.items() if leaf in plain.totals}
    return Moved(
        replace(
            plain,
            leaves=tuple(below.values()),
            values=plain.values | moved,
            weights=plain.weights | weights,
            totals=totals,
        )
    )


def equal_parts(plain: Plain, _: int) -> Moved | None:
    """Double all counts, then put two regions of half the first lowest one's values in its place.

    Such parts have twice the weight in squares, and the same in magnitudes. The optimum in reals has equal parts, since
    it is the middle of any optimum and the one with both parts exchanged.
    """
    if not plain.consistent:
        return None
    moved, whole = units_changed(plain, 2), plain.leaves[0]
    parts = [(*whole[:-1], whole[-1] + part) for part in ("x", "y")]
    twice = moved.plain

    def shared(of: dict, factor: int, half: Callable) -> dict:
        if whole not in of:
            return of
        return {path: it for path, it in of.items() if path != whole} | {
            part: half(of[whole], factor) for part in parts
        }

    cut = replace(
        twice,
        leaves=(*parts, *plain.leaves[1:]),
        values=shared(twice.values, 1, lambda row, _: [y // 2 for y in row]),
        weights=shared(twice.weights, plain.norm, lambda w, factor: w * factor),
        totals=shared(twice.totals, 1, lambda number, _: number // 2),
    )
    together = lambda path, size: {(one, size): 1 for one in (parts if path == whole else [path])}  # noqa: E731
    return Moved(_with_cells(cut, together), moved.times, exact=not plain.integer)


def conditions_restated(plain: Plain, _: int) -> Moved | None:
    """State equations as two inequalities, minima as maxima and choices backwards: the optimum stays."""
    if not plain.rows and not plain.choices:
        return None
    rows = tuple(again for row in plain.rows for again in _restated(row))
    choices = tuple(tuple([again for row in side for again in _restated(row)] for side in choice[::-1])
                    for choice in plain.choices[::-1])  # fmt: skip
    return Moved(replace(plain, rows=rows, choices=choices))


def conditions_multiplied(plain: Plain, k: int) -> Moved | None:
    """Multiply both sides of every condition by k: the optimum stays."""
    if not plain.rows and not plain.choices:
        return None
    longer = lambda row: ({place: f * k for place, f in row[0].items()}, row[1], row[2] * k)  # noqa: E731
    choices = tuple(tuple([longer(row) for row in side] for side in choice) for choice in plain.choices)
    return Moved(replace(plain, rows=tuple(longer(row) for row in plain.rows), choices=choices))


def rows_that_hold(plain: Plain, k: int) -> Moved | None:
    """State what holds already: a sum of children, and that two cells together stay below 100 k: the optimum stays."""
    rows: list[Row] = [({(leaf, 0): 1, (leaf, 1): 1}, "<=", 100 * k) for leaf in plain.leaves]
    if not plain.nonnegative:
        return None
    if plain.consistent:
        for path in plain.parents():
            rows.append(({(path, 0): 1} | {(child, 0): -1 for child in plain.children(path)}, "==", 0))
    return Moved(replace(plain, rows=(*plain.rows, *rows)))


def maxima_that_hold(plain: Plain, k: int) -> Moved | None:
    """State that no cell of a lowest region is above 100 k, which none is: the optimum stays."""
    if not plain.nonnegative:
        return None
    rows = tuple(({(leaf, s): 1}, "<=", 100 * k) for leaf in plain.leaves for s in range(plain.n_sizes))
    return Moved(replace(plain, rows=(*plain.rows, *rows)))


Transformation = Callable[[Plain, int], Moved | None]

ONCE: tuple[Transformation, ...] = (
    regions_permuted,
    sizes_permuted,
    parent_of_one_child,
    measured_by_a_parent,
    measured_by_an_only_child,
    equal_parts,
    conditions_restated,
)
BY_SCALE: tuple[Transformation, ...] = (
    counts_shifted,
    units_changed,
    weights_scaled,
    conditions_multiplied,
    rows_that_hold,
    maxima_that_hold,
)
SCALES = (1, 10**3, 10**6, 10**9)


def named(scales: tuple[int, ...] = SCALES) -> Iterator[tuple[str, Transformation, int]]:
    """All transformations with their names, those by scale once per scale."""
    for change in ONCE:
        yield change.__name__, change, 1
    for change in BY_SCALE:
        for k in scales:
            yield f"{change.__name__} {k:.0e}".replace("e+0", "e"), change, k


def _restated(row: Row) -> list[Row]:
    coefficients, relation, number = row
    if relation == "==":
        return [(coefficients, "<=", number), (coefficients, ">=", number)]
    opposite = {place: -factor for place, factor in coefficients.items()}
    return [(opposite, ">=" if relation == "<=" else "<=", -number)]


def _with_cells(plain: Plain, moved: Callable[[Path, int], dict]) -> Plain:
    """Write every condition in the cells that take the place of its own."""

    def of(row: Row) -> Row:
        coefficients: dict = {}
        for (path, size), factor in row[0].items():
            for place, times in moved(path, size).items():
                coefficients[place] = coefficients.get(place, 0) + factor * times
        return coefficients, row[1], row[2]

    choices = tuple(tuple([of(row) for row in side] for side in choice) for choice in plain.choices)
    return replace(plain, rows=tuple(of(row) for row in plain.rows), choices=choices)


def _renamed(plain: Plain, name: Callable[[Path], Path]) -> Plain:
    moved = replace(
        plain,
        leaves=tuple(map(name, plain.leaves)),
        values={name(path): row for path, row in plain.values.items()},
        weights={name(path): w for path, w in plain.weights.items()},
        totals={name(path): number for path, number in plain.totals.items()},
    )
    return _with_cells(moved, lambda path, size: {(name(path), size): 1})
