"""Random conditions, as a modeller writes them and as dense rows, and dense twins of problems with conditions."""

from collections.abc import Iterator
from itertools import pairwise, product

import cvxpy
import numpy as np
from instances import random_tree

from pgsr import Hierarchy, Problem, View
from pgsr.noise import Totals
from pgsr.problems.conditions import cells, either, entities, groups, total
from pgsr.problems.conditions.expressions import Condition

Dense = tuple[np.ndarray, str, int]
"""Coefficients of all cells, region by region or as a table, a relation, a number."""


def random_conditions(rng, problem: Problem, point: np.ndarray, n: int) -> tuple[list[Condition], list[Dense]]:
    """n conditions of all sorts, written twice; `point` satisfies most of them."""
    written, dense = [], []
    tree, sizes = problem.hierarchy, problem.sizes
    for _ in range(n):
        region, sort = int(rng.integers(tree.n_regions)), int(rng.integers(7))
        row = np.zeros(problem.n_unknowns, np.int64)
        own, path = sizes.rows(row), tree.paths[region]
        n_sizes = len(own[region])
        size = int(rng.integers(n_sizes))
        if sort == 0:
            own[region][size] = 1
            left = cells(path, size=size)
        elif sort == 1:
            other = int(rng.integers(tree.n_regions))
            other_size = int(rng.integers(len(own[other])))
            own[region][size] += 2
            own[other][other_size] -= 3
            left = 2 * cells(path, size=size) - cells(tree.paths[other], size=other_size) * 3
        elif sort == 2:
            own[region][-1 if problem.view is View.CUMULATIVE else slice(None)] = 1
            left = total(path)
        elif sort == 3:
            own[region][size] += 1
            if problem.view is View.CUMULATIVE and size:
                own[region][size - 1] -= 1
            left = groups(path, size=size)
        elif sort == 4:
            level = int(tree.level_of[region])
            sizes.tables(row)[level][:, size] = 1
            left = cells(level=level, size=slice(size, size + 1)).sum()
        elif sort == 5:
            own[region][:] = np.arange(n_sizes)
            if problem.view is View.CUMULATIVE:
                own[region][:-1] -= np.arange(1, n_sizes)  # c[s] counts in size s, and is taken away in size s + 1
            left = entities(path)
        else:
            own[region][size] = -1
            left = -cells(path, size=size)
        relation = ("==", "<=", ">=")[int(rng.integers(3))]
        number = int(row @ point.ravel()) + (int(rng.integers(-1, 2)) if rng.random() < 0.3 else 0)
        if relation != "<=" and (row >= 0).all():
            number = max(number, 0)  # a negative minimum is refused
        if relation != ">=" and (row <= 0).all():
            number = min(number, 0)
        if not row.any():
            continue
        written.append({"==": left == number, "<=": left <= number, ">=": left >= number}[relation])
        dense.append((row, relation, number))
    return written, dense


def satisfying(points: np.ndarray, dense: list[Dense]) -> np.ndarray:
    """The points that satisfy dense conditions; points have shape (points, regions, K + 1), or (points, cells)."""
    kept = np.ones(len(points), bool)
    for row, relation, number in dense:
        have = points.reshape(len(points), row.size) @ row.ravel()
        kept &= {"==": have == number, "<=": have <= number, ">=": have >= number}[relation]
    return points[kept]


def chosen(rng, problem, point):
    """A random choice of two or three alternatives, one of one or two conditions each, and its twin."""
    sides, twins = [], []
    for _ in range(int(rng.integers(2, 4))):
        written, dense = random_conditions(rng, problem, point, int(rng.integers(1, 3)))
        if written:
            sides.append(written)
            twins.append(dense)
    return (either(*sides), twins) if len(sides) > 1 else None


def within(points, twins):
    """The points of which one alternative holds."""
    kept = [satisfying(points, dense) for dense in twins]
    held = {point.tobytes() for part in kept for point in part}
    return np.array([point for point in points if point.tobytes() in held]).reshape(-1, *points.shape[1:])


def feasible_points(problem: Problem, most: int) -> np.ndarray:
    """Every integer point of a problem without conditions whose leaves have values up to `most`."""
    tree, n_sizes = problem.hierarchy, problem.target.shape[1]
    vectors = np.array(list(product(range(most + 1), repeat=n_sizes)))
    if problem.monotone:
        vectors = vectors[(np.diff(vectors, axis=1) >= 0).all(axis=1)]
    n_free = tree.n_regions - tree.n_inner if problem.consistent else tree.n_regions
    chosen = np.indices((len(vectors),) * n_free).reshape(n_free, -1).T
    points = np.moveaxis(vectors[chosen], 1, 0)
    points = np.stack(tree.sum_up(points) if problem.consistent else points, axis=1)
    totals = problem.stated_totals
    if totals is not None:
        have = points[:, :, -1] if problem.view is View.CUMULATIVE else points.sum(axis=2)
        points = points[(have[:, : len(totals)] == totals).all(axis=1)]
    return points


def best_integer(problem: Problem, points: np.ndarray) -> int | None:
    """The smallest objective over points, None if there are none."""
    if not len(points):
        return None
    losses = np.abs(points.reshape(len(points), -1) - problem.cells) ** problem.norm * problem.cell_weights
    return int(losses.sum(axis=1).min())


def best_real(problem: Problem, dense: list[Dense]) -> float | None:
    """The optimum of the relaxation, stated in plain CVXPY; None if no point satisfies it."""
    tree, y, first = problem.hierarchy, problem.cells, problem.sizes.first_cell
    x = cvxpy.Variable(len(y))
    own, rows = [x[a:b] for a, b in pairwise(first.tolist())], []
    for region in range(tree.n_inner if problem.consistent else 0):
        below = sum(own[child] for child in tree.children(region))
        last = below.size - 1  # the class that all larger sizes are folded into
        rows += [own[region][i] == below[i] for i in range(last)]
        cumulative = problem.view is View.CUMULATIVE
        rows.append((own[region][-1] if cumulative else cvxpy.sum(own[region][last:])) == below[last])
    if problem.monotone:
        rows += [part[i] <= part[i + 1] for part in own for i in range(part.size - 1)]
    if problem.nonnegative:
        rows.append(x >= 0)
    totals = problem.stated_totals
    for region, number in enumerate(() if totals is None else totals):
        rows.append((own[region][-1] if problem.view is View.CUMULATIVE else cvxpy.sum(own[region])) == number)
    for row, relation, number in dense:
        have = row.ravel() @ x
        rows.append({"==": have == number, "<=": have <= number, ">=": have >= number}[relation])
    distance = cvxpy.square(x - y) if problem.norm == 2 else cvxpy.abs(x - y)
    objective = problem.cell_weights @ distance
    model = cvxpy.Problem(cvxpy.Minimize(objective), rows)
    try:
        model.solve(solver="CLARABEL")
    except cvxpy.SolverError:  # it gives up on some programs whose rows say the same
        model.solve(solver="HIGHS")
    return None if "infeasible" in model.status else float(model.value)


KINDS = [
    (view, norm, totals, consistent)
    for view in (View.COUNTS, View.CUMULATIVE)
    for norm in (2, 1)
    for totals in (None, Totals.ROOT, Totals.REGIONS)
    for consistent in (True, False)
    if consistent or totals is not Totals.ROOT
]


def random_problems(rng, kind, n: int, most: int = 2) -> Iterator[tuple[Problem, np.ndarray]]:
    """Small problems of a kind, integer and non-negative, and a point that satisfies each."""
    view, norm, totals, consistent = kind
    for _ in range(n):
        tree = _small_tree(rng, 5 if consistent else 3)
        n_sizes = int(rng.integers(2, 4)) if tree.n_regions - tree.n_inner < 3 and consistent else 2
        leaves = rng.integers(0, most + 1, (tree.n_regions - tree.n_inner, n_sizes))
        leaves = np.sort(leaves, axis=1) if view is View.CUMULATIVE else leaves
        point = tree.sum_up(leaves)
        if not consistent:
            point = np.minimum(point, most)
        groups_of = point[:, -1] if view is View.CUMULATIVE else point.sum(axis=1)
        known = {None: None, Totals.ROOT: groups_of[:1], Totals.REGIONS: groups_of}[totals]
        weights = rng.integers(0, 3, tree.n_regions)
        weights[tree.leaves] += 1
        noisy = point + rng.integers(-3, 4, point.shape)
        yield (
            Problem.of(
                noisy,
                tree,
                view,
                groups=known,
                totals=totals,
                weights=weights,
                norm=norm,
                consistent=consistent,
                label="test",
            ),
            point,
        )


def _small_tree(rng, most_regions: int) -> Hierarchy:
    """A tree with three leaves at most, since exhaustive search has a vector for each, or for every region alone."""
    while True:
        tree = random_tree(rng, max_regions=5)
        if tree.n_regions <= most_regions and tree.n_regions - tree.n_inner <= 3:
            return tree
