"""Small trees whose levels have sizes of their own, and all points that add up there, by the definition."""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from instances import rng_of

from pgsr import Hierarchy, Problem, View
from pgsr.data.sizes import Sizes


@dataclass(frozen=True, eq=False)
class Shape:
    """A small tree and the largest sizes of its levels; points below have one column per cell, level by level."""

    parents: tuple[int, ...]
    max_sizes: tuple[int, ...]

    @property
    def tree(self) -> Hierarchy:
        return Hierarchy.from_parents([f"r{i}" for i in range(len(self.parents))], list(self.parents))

    def split(self, cells: np.ndarray) -> tuple[np.ndarray, ...]:
        return Sizes(self.tree, self.max_sizes).tables(cells)

    @property
    def n_cells(self) -> int:
        tree = self.tree
        return sum((tree.level(i).stop - tree.level(i).start) * (k + 1) for i, k in enumerate(self.max_sizes))

    def points(self, largest: int) -> np.ndarray:
        """All consistent points whose leaves hold up to `largest` in a cell: from the leaves up, by the definition."""
        tree = self.tree
        above: dict[int, list[dict]] = {}
        for region in reversed(range(tree.n_regions)):
            k = self.max_sizes[tree.level_of[region]]
            if region >= tree.n_inner:
                above[region] = [{region: row} for row in itertools.product(range(largest + 1), repeat=k + 1)]
                continue
            below = self.max_sizes[tree.level_of[region] + 1]
            above[region] = []
            for parts in itertools.product(*(above[c] for c in tree.children(region))):
                rows = [part[c] for part, c in zip(parts, tree.children(region), strict=True)]
                sums = [sum(column) for column in zip(*rows, strict=True)]
                for tail in spread(sums[below], k - below + 1):
                    row = (*sums[:below], *tail)
                    above[region].append({key: v for part in parts for key, v in part.items()} | {region: row})
        return np.array([[v for r in range(tree.n_regions) for v in point[r]] for point in above[0]])


def spread(total: int, n: int):
    """All ways to write a total as a sum of n numbers of 0 or more."""
    if n == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in spread(total - first, n - 1):
            yield (first, *rest)


SHAPES = {
    "root alone": (Shape((-1,), (3,)), 4),
    "one level of two": (Shape((-1, 0, 0), (2, 1)), 5),
    "sizes 0 and more": (Shape((-1, 0, 0), (2, 0)), 7),
    "three classes at the top": (Shape((-1, 0, 0), (3, 1)), 4),
    "as many sizes everywhere": (Shape((-1, 0, 0), (1, 1)), 5),
    "three levels, three kinds": (Shape((-1, 0, 1, 1), (2, 1, 0)), 6),
    "rows and columns": (Shape((-1, 0, 0, 1, 2), (2, 2, 0)), 6),
    "rows, columns and more rows": (Shape((-1, 0, 0, 1, 2), (2, 1, 0)), 6),
    "a leaf level merged once more": (Shape((-1, 0, 0, 1, 2, 2), (1, 1, 0)), 6),
}


@lru_cache
def points_of(name: str) -> np.ndarray:
    """All points of a tree, as cells of counts."""
    shape, largest = SHAPES[name]
    return shape.points(largest)


def problem_of(name: str, view: View, totals, seed: int, norm: int = 2) -> Problem:
    """A problem whose noise lies around one of the points, so that the search holds the optimum.

    Cumulative counts are of regions alone.
    """
    shape, points, rng = SHAPES[name][0], points_of(name), rng_of(seed, len(name))
    sizes = Sizes(shape.tree, shape.max_sizes)
    sums = np.add.reduceat(points, sizes.first_cell[:-1], axis=1)
    small = np.flatnonzero(sums[:, 0] <= 4)
    near = int(rng.choice(small))
    rows = sizes.rows(points[near].copy())
    exact = np.concatenate(rows if view is View.COUNTS else [np.cumsum(row) for row in rows])
    y = exact + rng.integers(-1, 2, sizes.n_cells)
    groups = {None: None, "root": int(sums[near, 0]), "regions": sums[near]}[totals]
    about = {"groups": groups, "totals": totals, "weights": rng.integers(1, 4, shape.tree.n_regions), "label": "P"}
    return Problem.of(sizes.tables(y), shape.tree, view, **about, norm=norm, consistent=view is View.COUNTS)


def allowed(problem: Problem, points: np.ndarray) -> np.ndarray:
    """The points with the public totals."""
    if problem.totals is None:
        return points
    stated, sums = problem.stated_totals, np.add.reduceat(points, problem.sizes.first_cell[:-1], axis=1)
    return points[(sums[:, : len(stated)] == stated).all(axis=1)]
