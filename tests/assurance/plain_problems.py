"""Problems as dictionaries, which tests change and state anew, and their optima by enumeration."""

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from condition_checks import best_real
from instances import rng_of

from pgsr import Hierarchy, Problem, View
from pgsr.problems.conditions import cells, either

Path = tuple[str, ...]
Place = tuple[Path, int]
Row = tuple[dict[Place, int], str, int]
"""A condition: coefficients by cell, a relation, a number."""

LEAF_VALUES = 9
"""Enumerations let cells of lowest regions be 0 to 8, which is beyond all values of `cases`."""

ALONE_VALUES = 24
"""The same for a region alone, the root among them."""


@dataclass(frozen=True)
class Plain:
    """A problem with every part by its name, so that regions and sizes can be moved without indices.

    Attributes:
        leaves: paths of the lowest regions, in the order of the hierarchy to be made.
        values, weights: by region; all regions have them.
        totals: numbers of groups by region, the root's alone or every region's; empty where none is public.
        rows: conditions that all hold.
        choices: per choice its alternatives, each a list of conditions that hold together.
    """

    name: str
    leaves: tuple[Path, ...]
    values: dict[Path, list[int]]
    weights: dict[Path, int]
    totals: dict[Path, int] = field(default_factory=dict)
    view: View = View.COUNTS
    norm: int = 2
    integer: bool = True
    nonnegative: bool = True
    consistent: bool = True
    rows: tuple[Row, ...] = ()
    choices: tuple[tuple[list[Row], ...], ...] = ()

    @property
    def root(self) -> Path:
        return self.leaves[0][:1]

    @property
    def n_sizes(self) -> int:
        return len(self.values[self.root])

    @property
    def monotone(self) -> bool:
        return self.view is View.CUMULATIVE

    def tree(self) -> Hierarchy:
        return Hierarchy.from_paths(list(self.leaves))

    def parents(self) -> list[Path]:
        """Paths of the regions that have others below them."""
        return [path for path in self.values if path not in self.leaves]

    def children(self, path: Path) -> list[Path]:
        return [other for other in self.values if other[:-1] == path]

    def problem(self) -> Problem:
        tree = self.tree()
        known = [self.totals[path] for path in tree.paths] if len(self.totals) > 1 else list(self.totals.values())
        stated = Problem.of(
            [self.values[path] for path in tree.paths],
            tree,
            self.view,
            groups=np.array(known) if known else None,
            totals=None if not known else "regions" if len(known) > 1 else "root",
            weights=np.array([self.weights[path] for path in tree.paths]),
            label=self.name,
            norm=self.norm,
            consistent=self.consistent,
        )
        if not self.nonnegative:
            stated = replace(stated, nonnegative=False)
        conditions = [condition(row) for row in self.rows]
        conditions += [either(*([condition(row) for row in side] for side in choice)) for choice in self.choices]
        stated = stated.where(*conditions)
        return stated if self.integer else stated.relaxed()

    def relaxed(self) -> "Plain":
        return replace(self, integer=False)

    def alternatives(self) -> list["Plain"]:
        """The same problem without choices, once for every way to choose."""
        return [
            replace(self, choices=(), rows=(*self.rows, *(row for side in sides for row in side)))
            for sides in product(*self.choices)
        ]


def condition(row: Row):
    """Write a condition as a modeller does."""
    coefficients, relation, number = row
    (path, size), first = next(iter(coefficients.items()))
    left = first * cells(path, size=size) if first != 1 else cells(path, size=size)
    for (path, size), factor in list(coefficients.items())[1:]:
        left = left + factor * cells(path, size=size)
    return left == number if relation == "==" else left <= number if relation == "<=" else left >= number


def optimum(plain: Plain) -> int:
    """The smallest objective over all integer points: slow, obvious, for lowest regions of a few cells."""
    assert plain.integer
    assert plain.nonnegative
    if not plain.consistent:
        return sum(_least(_alone(plain, path)) for path in plain.values)
    return _least(plain)


def real_optimum(plain: Plain) -> float:
    """The smallest objective over all real points, by a plain model of another modelling language."""
    values = []
    for one in plain.relaxed().alternatives():
        bare = replace(one, rows=())
        tree, shape = bare.tree(), (len(bare.values), bare.n_sizes)
        dense = []
        for coefficients, relation, number in one.rows:
            row = np.zeros(shape, np.int64)
            for (path, size), factor in coefficients.items():
                row[tree.index(path), size] += factor
            dense.append((row, relation, number))
        value = best_real(bare.problem(), dense)
        if value is not None:
            values.append(value)
    return min(values)


def _alone(plain: Plain, path: Path) -> Plain:
    """One region of a problem that ties regions by nothing."""
    rows = tuple(row for row in plain.rows if next(iter(row[0]))[0] == path)
    own = {path[-1:]: plain.totals[path]} if path in plain.totals else {}
    moved = tuple(({(path[-1:], s): f for (_, s), f in row.items()}, relation, n) for row, relation, n in rows)
    values, weights = {path[-1:]: plain.values[path]}, {path[-1:]: plain.weights[path]}
    return replace(plain, leaves=(path[-1:],), values=values, weights=weights, totals=own, rows=moved, consistent=True)


def _least(plain: Plain) -> int:
    most = LEAF_VALUES if len(plain.leaves) > 1 else ALONE_VALUES
    vectors = np.array(list(product(range(most), repeat=plain.n_sizes)))
    if plain.monotone:
        vectors = vectors[(np.diff(vectors, axis=1) >= 0).all(axis=1)]
    chosen = np.indices((len(vectors),) * len(plain.leaves)).reshape(len(plain.leaves), -1)
    x: dict[Path, np.ndarray] = {leaf: vectors[index] for leaf, index in zip(plain.leaves, chosen, strict=True)}
    for path in sorted(plain.parents(), key=len, reverse=True):
        x[path] = sum(x[child] for child in plain.children(path))  # pyright: ignore[reportArgumentType]
    kept = np.ones(chosen.shape[1], bool)
    for path, number in plain.totals.items():
        kept &= (x[path][:, -1] if plain.monotone else x[path].sum(axis=1)) == number
    for row in plain.rows:
        kept &= _holds(row, x)
    for choice in plain.choices:
        kept &= np.any([np.all([_holds(row, x) for row in side], axis=0) for side in choice], axis=0)
    assert kept.any(), f"{plain.name} has no point"
    terms = [
        plain.weights[path] * np.abs(x[path][kept] - np.array(y)) ** plain.norm for path, y in plain.values.items()
    ]
    return int(sum(term.sum(axis=1) for term in terms).min())  # pyright: ignore[reportAttributeAccessIssue]


def _holds(row: Row, x: dict[Path, np.ndarray]) -> np.ndarray:
    coefficients, relation, number = row
    have = sum(factor * x[path][:, size] for (path, size), factor in coefficients.items())
    return have == number if relation == "==" else have <= number if relation == "<=" else have >= number


US = ("US",)
A, B = ("US", "A"), ("US", "B")
A1, A2, B1 = ("US", "A", "1"), ("US", "A", "2"), ("US", "B", "1")
SHAPES = (((A, B), 3), ((A1, A2, B1), 2))
"""Lowest regions and numbers of sizes of the cases: two levels, and three with a single child."""


def cases(seed: int) -> dict[str, Plain]:
    """Small problems of every kind that a method takes, all with integer unknowns, by name; values are random.

    Totals and conditions hold for a table that the values are noisy versions of, so every case has a point.
    """
    rng = rng_of(54, seed)
    leaves, n_sizes = SHAPES[seed % len(SHAPES)]
    truth: dict[Path, np.ndarray] = {leaf: rng.integers(0, 3, n_sizes) for leaf in leaves}
    inner = {leaf[:n] for leaf in leaves for n in range(1, len(leaf))}
    for path in sorted(inner, key=len, reverse=True):
        truth[path] = np.sum([truth[leaf] for leaf in leaves if leaf[: len(path)] == path], axis=0)
    steps = {path: row.cumsum() for path, row in truth.items()}
    noise = {path: rng.integers(-2, 3, n_sizes) for path in truth}
    counts = Plain(
        "M_H",
        leaves,
        {path: (truth[path] + noise[path]).tolist() for path in truth},
        {path: int(rng.integers(1, 4)) for path in truth},
        {US: int(truth[US].sum())},
    )
    all_totals = {path: int(truth[path].sum()) for path in truth}
    cumulative = replace(
        counts,
        name="M_c",
        view=View.CUMULATIVE,
        values={path: (steps[path] + noise[path]).tolist() for path in truth},
    )
    first, last = leaves[0], leaves[-1]
    bounds = ({(first, 0): 1}, "==", int(truth[first][0])), ({(last, 1): 1}, "<=", int(truth[last][1]))
    less = truth[first][1] + truth[last][0]
    row = (
        ({(first, 1): 1, (last, 0): 1}, ">=", int(less)),
        ({(first, 0): 2, (last, 1): -1}, "<=", int(2 * truth[first][0])),
    )
    choices = (
        ([({(first, 0): 1}, "<=", 0)], [({(last, 1): 1}, ">=", 3)]),
        *(([({(last, s): 1}, "==", 0)], [({(last, s): 1}, ">=", 2)]) for s in range(n_sizes)),
    )
    kinds = (
        counts,
        replace(counts, name="M_H, regions", totals=all_totals),
        replace(counts, name="M_H L1", norm=1),
        replace(counts, name="naive", totals=all_totals, consistent=False),
        cumulative,
        replace(cumulative, name="M_c, regions", totals=all_totals),
        replace(cumulative, name="M_c L1", norm=1),
        replace(cumulative, name="H_c L2", totals={}, consistent=False),
        replace(cumulative, name="H_c L1", totals={}, consistent=False, norm=1),
        replace(counts, name="M_H, bounds", rows=bounds),
        replace(counts, name="M_H, rows", rows=row),
        replace(counts, name="M_H L1, rows", rows=row, norm=1),
        replace(counts, name="M_H, choices", totals={US: max(4, int(truth[US].sum()))}, choices=choices,
                rows=tuple(({(leaf, s): 1}, "<=", LEAF_VALUES - 1) for leaf in leaves for s in range(n_sizes))),
    )  # fmt: skip
    return {kind.name: kind for kind in kinds}


def signed(seed: int) -> Plain:
    """Least squares under consistency alone, any signs, in reals."""
    made = cases(seed)["M_H"]
    return replace(made, name="mean consistency", totals={}, nonnegative=False, integer=False)


def nearly(value: float) -> float:
    """How far an objective in reals may be from its optimum."""
    return 2e-6 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
