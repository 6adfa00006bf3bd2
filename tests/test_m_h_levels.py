"""M_H with other sizes on every level, against all feasible points, against solvers, and against M_H as it is."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, Problem
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_h_levels import LevelPrices, LevelProblem, LevelTreeProjection, certified
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import CountError, ProblemError, TooLargeError
from pgsr.measurement import Measurement
from pgsr.views import View

LARGEST = 4
"""Cells of the exhaustive search run up to here."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A small tree and the largest sizes of its levels; points below have one column per cell, level by level."""

    parents: tuple[int, ...]
    max_sizes: tuple[int, ...]

    @property
    def tree(self) -> Hierarchy:
        return Hierarchy.from_parents([f"r{i}" for i in range(len(self.parents))], list(self.parents))

    def split(self, cells: np.ndarray) -> CountsByLevel:
        sizes, tree = [k + 1 for k in self.max_sizes], self.tree
        rows = [tree.level(level).stop - tree.level(level).start for level in range(tree.n_levels)]
        parts = np.split(cells, np.cumsum([n * k for n, k in zip(rows, sizes, strict=True)])[:-1])
        return CountsByLevel(tree, tuple(p.reshape(n, k) for p, n, k in zip(parts, rows, sizes, strict=True)))

    @property
    def n_cells(self) -> int:
        tree = self.tree
        return sum((tree.level(i).stop - tree.level(i).start) * (k + 1) for i, k in enumerate(self.max_sizes))

    def points(self) -> np.ndarray:
        """All consistent points: what every region may hold, from the leaves up, by the definition."""
        tree = self.tree
        above: dict[int, list[dict]] = {}
        for region in reversed(range(tree.n_regions)):
            k = self.max_sizes[tree.level_of[region]]
            if region >= tree.n_inner:
                above[region] = [{region: row} for row in itertools.product(range(LARGEST + 1), repeat=k + 1)]
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


@pytest.mark.parametrize("name", SHAPES)
def test_equals_brute_force(name, monkeypatch):
    shape, largest = SHAPES[name]
    monkeypatch.setattr("test_m_h_levels.LARGEST", largest)
    points = shape.points()
    tree, generator = shape.tree, np.random.default_rng([11, len(name)])
    region_of_cell = np.repeat(np.arange(tree.n_regions), [shape.max_sizes[i] + 1 for i in tree.level_of])
    root_sum = points[:, region_of_cell == 0].sum(axis=1)
    squares = (points**2).astype(float)
    checked = 0
    for trial in range(2400):
        y = generator.integers(-3, 4, shape.n_cells)
        w = generator.integers(1, 4, tree.n_regions) if trial % 2 else np.ones(tree.n_regions, np.int64)
        cell_w = w[region_of_cell]
        cost = squares @ cell_w - points @ (2.0 * cell_w * y) + cell_w @ y**2
        total = totals = None
        if trial % 3 == 1:
            total = int(generator.integers(0, 5))
            cost[root_sum != total] = np.inf
        elif trial % 3 == 2:
            totals = generator.integers(0, 3, tree.n_regions - tree.n_inner)
            for leaf in range(tree.n_inner, tree.n_regions):
                cost[points[:, region_of_cell == leaf].sum(axis=1) != totals[leaf - tree.n_inner]] = np.inf
        problem = LevelProblem(shape.split(y), total, totals, w)
        result = LevelTreeProjection().solve(problem)
        assert result.optimal, result.certificate
        # An optimum with room above each leaf's cell: as costs are convex, no better point lies beyond the search.
        inside = result.counts.tables[-1].max() < largest
        checked += inside
        assert result.certificate.objective == cost.min() or (not inside and result.certificate.objective < cost.min())
    assert checked > 2300
