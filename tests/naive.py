"""The slow, obvious twins of the fast routines, and problems built from bare numbers."""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np

from pgsr import Hierarchy, Measurement, Problem, Totals, View


def problem_of(tree: Hierarchy, noisy: np.ndarray, total: int, weights: np.ndarray | None = None) -> Problem:
    """M_H on these noisy counts."""
    return Problem.about(measurement_of(tree, noisy, total), "M_H", totals=Totals.ROOT, weights=weights)


def measurement_of(tree: Hierarchy, noisy: np.ndarray, total: int, view: View = View.COUNTS) -> Measurement:
    """A measurement with these values, whatever they are; only the root's total is public."""
    epsilon = (Fraction(1),) * tree.n_levels
    return Measurement(
        tree, view, np.asarray(noisy, np.int64), noisy.shape[1] - 1, epsilon, Totals.ROOT, np.array([total]), False
    )


def feasible_points(tree: Hierarchy, n_sizes: int, total: int) -> np.ndarray:
    """Every consistent non-negative integer table with this root total; shape (points, regions, sizes)."""
    n_leaves = tree.n_regions - tree.n_inner
    leaves = _compositions(total, n_leaves * n_sizes).reshape(-1, n_leaves, n_sizes)
    return np.stack([tree.sum_up(point) for point in leaves])


def objectives(problem: Problem, points: np.ndarray) -> np.ndarray:
    """sum w (x - y)^2 of every point."""
    return ((points - problem.target) ** 2 * problem.w[:, None]).sum(axis=(1, 2))


def isotonic_l2(y: np.ndarray) -> list[Fraction]:
    """The isotonic regression by its min-max formula, in fractions."""
    n = len(y)
    mean = lambda i, j: Fraction(int(y[i : j + 1].sum()), j - i + 1)  # noqa: E731
    return [max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


def simplex_projection(y: np.ndarray, total: int) -> list[Fraction]:
    """The projection onto {x >= 0, sum x = total}: of all numbers of positive cells the one that fits, in fractions."""
    for n_positive in range(1, len(y) + 1):
        theta = Fraction(sum(sorted(y.tolist())[-n_positive:]) - total, n_positive)
        x = [max(Fraction(0), value - theta) for value in y.tolist()]
        if sum(x) == total:
            return x
    raise AssertionError("the projection always exists")


def mean_consistency(tree: Hierarchy, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weighted least squares in the leaves' values, by a dense solver; shape of y."""
    below = tree.sum_up(np.eye(tree.n_regions - tree.n_inner))
    root = np.sqrt(w)[:, None]
    return below @ np.linalg.lstsq(root * below, root * y, rcond=None)[0]


def monotone_vectors(n: int, values: np.ndarray) -> np.ndarray:
    """Every non-decreasing vector of length n with these (increasing) values; shape (vectors, n)."""
    return np.array(list(combinations_with_replacement(values.tolist(), n))).reshape(-1, n)


@lru_cache
def _compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write total as an ordered sum of non-negative integers."""
    if parts == 1:
        return np.array([[total]])
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), int).reshape(-1, parts - 1)
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def priced_chain_minimum(y: np.ndarray, net: np.ndarray, w: int, norm: int, values: np.ndarray) -> float:
    """min of sum w |x - y|^norm + net (x - y) over all non-decreasing x with these (increasing) values."""
    d = monotone_vectors(len(y), values) - y
    return float((w * np.abs(d) ** norm + net * d).sum(axis=1).min())


def priced_chain_minimum_l2(y: np.ndarray, net: np.ndarray, w: int, lower: float, upper: float) -> float:
    """The same for norm 2 in reals between two bounds: the clipped min-max formula, in fractions."""
    n, z = len(y), [int(a) - Fraction(float(b)) / (2 * w) for a, b in zip(y, net, strict=True)]
    mean = lambda i, j: sum(z[i : j + 1], Fraction(0)) / (j - i + 1)  # noqa: E731
    x = [max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]
    d = [min(max(a, lower), upper) - int(b) for a, b in zip(x, y, strict=True)]
    return float(sum(w * a * a + Fraction(float(b)) * a for a, b in zip(d, net, strict=True)))


def consistent_points(tree: Hierarchy, vectors: np.ndarray) -> np.ndarray:
    """Every consistent table whose leaves have these vectors; shape (points, regions, cells)."""
    n_leaves = tree.n_regions - tree.n_inner
    chosen = np.indices((len(vectors),) * n_leaves).reshape(n_leaves, -1).T
    return np.stack(tree.sum_up(np.moveaxis(vectors[chosen], 1, 0)), axis=1)


def has_negative_cycle(problem: Problem, x: np.ndarray) -> bool:
    """Whether the residual flow of M_H with every region's total has a negative cycle, by Bellman and Ford's method."""
    tree, y, arcs = problem.hierarchy, problem.target, []
    for r, s in np.ndindex(*x.shape):
        own = ("leaf", r) if r >= tree.n_inner else (r, s)
        above = (int(tree.parent[r]), s) if r else "top"
        w, d = int(problem.w[r]), int(x[r, s] - y[r, s])
        arcs.append((own, above, w * (2 * d + 1)))
        if x[r, s] > 0:
            arcs.append((above, own, -w * (2 * d - 1)))
    label = dict.fromkeys([arc[0] for arc in arcs] + [arc[1] for arc in arcs], 0)
    for _ in label:
        for start, end, cost in arcs:
            label[end] = min(label[end], label[start] + cost)
    return any(label[start] + cost < label[end] for start, end, cost in arcs)
