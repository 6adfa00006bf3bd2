"""The slow, obvious twins of the fast routines, and problems built from bare numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np

from pgsr import Hierarchy, Problem, View
from pgsr.noise import Measurement, Totals
from pgsr.noise.measurement import joined
from pgsr.privacy.laws.per_level import GeometricNoise


def problem_of(tree: Hierarchy, noisy: np.ndarray, total: int, weights: np.ndarray | None = None) -> Problem:
    """M_H on these noisy counts."""
    return Problem.about(measurement_of(tree, noisy, total), "M_H", totals=Totals.ROOT, weights=weights)


def measurement_of(tree: Hierarchy, noisy: np.ndarray, total: int, view: View = View.COUNTS) -> Measurement:
    """A measurement with these values, whatever they are; only the root's total is public."""
    noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
    sizes, cells = joined(tree, np.asarray(noisy, np.int64))
    return Measurement(sizes, (view,), cells, noise, Totals.ROOT, np.array([total]), False)


def feasible_points(tree: Hierarchy, n_sizes: int, total: int) -> np.ndarray:
    """Every consistent non-negative integer table with this root total; shape (points, regions, sizes)."""
    n_leaves = tree.n_regions - tree.n_inner
    leaves = _compositions(total, n_leaves * n_sizes).reshape(-1, n_leaves, n_sizes)
    return np.stack([tree.sum_up(point) for point in leaves])


def objectives(problem: Problem, points: np.ndarray) -> np.ndarray:
    """Sum w (x - y)^2 of every point."""
    return ((points - problem.target) ** 2 * problem.w[:, None]).sum(axis=(1, 2))


def boxes(sizes: Sequence[int]) -> set[tuple[int, int]]:
    """The Young diagram of some groups: (i, s) wherever the i-th largest one, from 0, has more than s members."""
    return {(i, s) for i, size in enumerate(sorted(sizes, reverse=True)) for s in range(size)}


def split_view(sizes: Sequence[int], threshold: int, groups: int | None = None) -> list[int]:
    """Columns below the threshold and rows from it on, the smallest group first, box by box.

    Columns are counted from below; from above, as numbers of boxes, and with rows for `groups` groups, if given.
    """
    diagram, n = boxes(sizes), len(sizes)
    inside = [sum(s == column for _, s in diagram) for column in range(threshold)]
    beyond = [sum(i == row and s >= threshold for i, s in diagram) for row in range(n if groups is None else groups)]
    return [*(inside if groups is not None else [n - number for number in inside]), *reversed(beyond)]


def monotone_minimum(n: int, best: Callable[[int, int], Any]) -> list[Any]:
    """The non-decreasing minimiser of a sum of n strictly convex costs by its min-max formula.

    best(i, j) is the minimiser of the costs of cells i..j, all at one value.
    """
    best = lru_cache(None)(best)
    return [max(min(best(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


def isotonic_l2(y: np.ndarray) -> list[Fraction]:
    """The isotonic regression, in fractions: a block's best value is its mean."""
    return monotone_minimum(len(y), lambda i, j: Fraction(int(y[i : j + 1].sum()), j - i + 1))


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
    """Minimise sum w |x - y|^norm + net (x - y) over all non-decreasing x with these (increasing) values."""
    d = monotone_vectors(len(y), values) - y
    return float((w * np.abs(d) ** norm + net * d).sum(axis=1).min())


def priced_chain_minimum_l2(y: np.ndarray, net: np.ndarray, w: int, lower: float, upper: float) -> float:
    """The same for norm 2 in reals between two bounds: the clipped min-max formula, in fractions."""
    z = [int(a) - Fraction(float(b)) / (2 * w) for a, b in zip(y, net, strict=True)]
    x = monotone_minimum(len(y), lambda i, j: sum(z[i : j + 1], Fraction(0)) / (j - i + 1))
    d = [min(max(a, lower), upper) - int(b) for a, b in zip(x, y, strict=True)]
    return float(sum(w * a * a + Fraction(float(b)) * a for a, b in zip(d, net, strict=True)))


def bounded_chain_minimum_l2(y: np.ndarray, net: np.ndarray, w: int, lower: np.ndarray, upper: np.ndarray) -> Fraction:
    """The same with bounds of every cell: the best way to cut the chain into runs of one value, in fractions."""
    z, n = [int(a) - Fraction(float(b)) / (2 * w) for a, b in zip(y, net, strict=True)], len(y)
    found = []
    for cuts in product((False, True), repeat=n - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), n]
        x: list[Fraction] = []
        for i, j in pairwise(edges):
            best = sum(z[i:j], Fraction(0)) / (j - i)
            x += [min(max(best, Fraction(int(lower[i:j].max()))), Fraction(int(upper[i:j].min())))] * (j - i)
        inside = all(lo <= a <= hi for lo, a, hi in zip(lower.tolist(), x, upper.tolist(), strict=True))
        if inside and all(a <= b for a, b in pairwise(x)):
            d = [a - int(b) for a, b in zip(x, y, strict=True)]
            found.append(sum((w * a * a + Fraction(float(b)) * a for a, b in zip(d, net, strict=True)), Fraction(0)))
    return min(found)


def consistent_points(tree: Hierarchy, vectors: np.ndarray) -> np.ndarray:
    """Every consistent table whose leaves have these vectors; shape (points, regions, cells)."""
    n_leaves = tree.n_regions - tree.n_inner
    chosen = np.indices((len(vectors),) * n_leaves).reshape(n_leaves, -1).T
    return np.stack(tree.sum_up(np.moveaxis(vectors[chosen], 1, 0)), axis=1)


def has_negative_cycle(problem: Problem, x: np.ndarray) -> bool:
    """Say whether the residual flow of M_H with fixed totals has a negative cycle, by Bellman and Ford's method."""
    tree, y, arcs = problem.hierarchy, problem.target, []
    fixed = [] if problem.stated_totals is None else list(range(len(problem.stated_totals)))
    if problem.conditions is not None:
        fixed += [int(cells[0]) // x.shape[1] for cells in problem.conditions.rows.tolil().rows]

    def end(region: int) -> tuple[str, int] | str:
        """Find where a leaf ends: in the lowest region above it with a fixed total."""
        while region >= 0 and region not in fixed:
            region = int(tree.parent[region])
        return ("end", region) if region >= 0 else "top"

    for r, s in np.ndindex(*x.shape):
        own = end(r) if r >= tree.n_inner else (r, s)
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


@dataclass(frozen=True)
class CellCosts:
    """The cost of every region and cell, w (x - y)^2."""

    w: np.ndarray
    y: np.ndarray

    def at(self, region: int, cell: int, x: float) -> float:
        w, d = float(self.w[region, cell]), x - float(self.y[region, cell])
        return w * d * d

    def best(self, region: int, first: int, last: int, price: np.ndarray) -> float:
        """The x that minimises the costs of cells first..last minus price x, all at this x."""
        w, y = self.w[region, first : last + 1].astype(float), self.y[region, first : last + 1].astype(float)
        return float((w * y + price[first : last + 1] / 2).sum() / w.sum())


def cumulative_dual(
    tree: Hierarchy, costs: CellCosts, prices: np.ndarray, upper: np.ndarray, fixed: float | None
) -> tuple[float, np.ndarray]:
    """The dual of a problem on cumulative counts at these prices, shape (inner regions, cells), and its minimisers.

    Leaves minimise cost minus price x over 0 <= x[0] <= ... <= upper, inner regions cost plus (own price - price above)
    x, cell by cell; those of weight 0 have the price above. The root's last cell is `fixed`, if it is not None.
    """
    n, value = prices.shape[1], 0.0
    x = np.zeros((tree.n_regions, n))
    for r in range(tree.n_regions):
        above = prices[tree.parent[r]] if r else np.zeros(n)
        if r < tree.n_inner:
            net = above - prices[r]
            for i in range(n):
                if r == 0 and i == n - 1 and fixed is not None:
                    x[r, i] = fixed
                elif costs.w[r, i] == 0:
                    assert net[i] == 0
                else:
                    x[r, i] = costs.best(r, i, i, net)
        else:
            net = above
            alone = monotone_minimum(n, lambda i, j, r=r, net=net: costs.best(r, i, j, net))
            x[r] = np.clip(alone, 0, upper[r - tree.n_inner])
        value += sum(costs.at(r, i, x[r, i]) - net[i] * x[r, i] for i in range(n))
    return value, x


def curvature(dual: Any, ridge: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Minus the Hessian of a `SquaresDual` at its blocks, entry by entry: leaves' part, all; see `m_c.tree_kernel`."""
    m, n = dual.shape
    leaves = np.zeros((m * n, m * n))
    for leaf, node in enumerate(dual.leaf_node):
        for b in range(dual.blocks.inside[leaf, 0], dual.blocks.inside[leaf, 1]):
            block = slice(node * n + dual.blocks.edges[leaf, b], node * n + dual.blocks.edges[leaf, b + 1])
            leaves[block, block] += dual.blocks.gain[leaf, b]
    whole = leaves.copy()
    for r, i in np.ndindex(m, n):
        rate, here = dual.rate[r, i], r * n + i
        if r == 0 and dual.held and i == n - 1:
            rate = ridge
        whole[here, here] += rate
        if r > 0:
            above = dual.parent[r] * n + i
            whole[above, above] += rate
            whole[here, above] -= rate
            whole[above, here] -= rate
    for matrix in (leaves, whole):
        matrix[: dual.first_free] = 0.0
    return leaves, whole


def taken_at(
    w: Sequence[int], parent: Sequence[int], y: Sequence[int], prices: Sequence[float], paid: Sequence[float]
) -> list[float]:
    """Find what regions take at a size: leaves max(0, y + (price above + paid besides) / 2w), others the sum below."""
    n_inner = len(prices)
    x = [0.0] * len(y)
    for r in range(len(y) - 1, -1, -1):
        if r >= n_inner:
            x[r] = max(0.0, y[r] + (prices[parent[r]] + paid[r - n_inner]) / (2 * w[r]))
        if r:
            x[parent[r]] += x[r]
    return x


def matched_runs(
    top_count: Sequence[int], bottom_size: Sequence[int], bottom_count: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Matches (top run, bottom run, number), the groups of one bottom size sharing a top run in proportion.

    Shares are rounded down, and the largest fractions lost get one more, the first of equal ones.
    """
    room, matches, top = list(top_count), [], 0
    for size in sorted(set(bottom_size)):
        left = {k: int(count) for k, count in enumerate(bottom_count) if bottom_size[k] == size}
        while sum(left.values()) > 0:
            while room[top] == 0:
                top += 1
            number = min(room[top], sum(left.values()))
            exact = {k: Fraction(number * count, sum(left.values())) for k, count in left.items()}
            share = {k: int(part) for k, part in exact.items()}
            for k in sorted(exact, key=lambda k: share[k] - exact[k])[: number - sum(share.values())]:
                share[k] += 1
            matches += [(top, k, taken) for k, taken in share.items() if taken]
            left = {k: left[k] - share[k] for k in left}
            room[top] -= number
    return matches


def group_sizes(counts: np.ndarray) -> list[int]:
    """The size of every group, in increasing order."""
    return [size for size, count in enumerate(counts.tolist()) for _ in range(count)]


def tail_error(true: np.ndarray, estimated: np.ndarray, size: int) -> float:
    """The relative error of the number of groups larger than a size, group by group."""
    larger, found = (sum(each > size for each in group_sizes(counts)) for counts in (true, estimated))
    return abs(found - larger) / max(1, larger)


def mean_size_error(true: np.ndarray, estimated: np.ndarray) -> float:
    """The relative error of the mean size; a region counts at least one entity."""
    sizes, others = group_sizes(true), group_sizes(estimated)
    mean, other = (Fraction(sum(each), len(each)) if each else Fraction(0) for each in (sizes, others))
    return float(abs(other - mean) / max(mean, Fraction(1, max(1, len(sizes)))))


def quantile_error(true: np.ndarray, estimated: np.ndarray, part: Fraction) -> int:
    """The absolute error of a quantile: the size of the group at rank ceil(part times groups), from 1."""
    one, other = (
        sizes[math.ceil(part * len(sizes)) - 1] if sizes else 0 for sizes in map(group_sizes, (true, estimated))
    )
    return abs(one - other)


def bayes_risk_of_a_range(m: int, epsilon: float) -> float:
    """The mean absolute error of the best estimate of k, uniform on 0..m, from the truncated geometric mechanism."""
    a = math.exp(-epsilon)
    risk = 0.0
    for y in range(m + 1):
        at_end = y in (0, m)
        likely = [a ** abs(y - k) * (1 if at_end else 1 - a) / (1 + a) for k in range(m + 1)]
        risk += min(sum(p * abs(k - r) for k, p in enumerate(likely)) for r in range(m + 1))
    return risk / (m + 1) if m else 0.0


def least_risk(
    loss: np.ndarray, distance: np.ndarray, prior: np.ndarray | None, epsilon: float, delta: float = 0
) -> float:
    """The least mean loss of any (epsilon, delta)-DP mechanism, or with `prior` None the least largest one.

    A linear program. loss[input, answer]; the sum over answers of
    max(0, P(answer | one input) - exp(epsilon * distance) P(answer | another)) is at most delta. With `prior` None the
    largest loss is over all inputs; inputs to be left out of a mean have prior 0.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    inputs, answers = loss.shape
    pairs = [pair for pair in product(range(inputs), repeat=2) if pair[0] != pair[1] and distance[pair] < math.inf]
    row, column, entry, n = [], [], [], 0
    width = inputs * answers + 1 + (len(pairs) * answers if delta else 0)
    for number, (one, other) in enumerate(pairs):
        for answer in range(answers):
            scale = math.exp(-epsilon * distance[one, other])
            row += [n, n]
            column += [one * answers + answer, other * answers + answer]
            entry += [scale, -1.0]
            if delta:
                row += [n, len(pairs) * answers + number]
                column += [inputs * answers + 1 + n] * 2
                entry += [-scale, 1.0]
            n += 1
    upper = np.concatenate([np.zeros(n), np.full(len(pairs) if delta else 0, float(delta))])
    cost = np.zeros(width)
    if prior is None:
        cost[inputs * answers] = 1
        for one in range(inputs):
            row += [len(upper) + one] * (answers + 1)
            column += [*range(one * answers, (one + 1) * answers), inputs * answers]
            entry += [*loss[one].tolist(), -1.0]
        upper = np.concatenate([upper, np.zeros(inputs)])
    else:
        cost[: inputs * answers] = (prior[:, None] * loss).ravel()
    sums = coo_array(
        (np.ones(inputs * answers), (np.repeat(np.arange(inputs), answers), np.arange(inputs * answers))),
        shape=(inputs, width),
    )
    private = coo_array((entry, (row, column)), shape=(len(upper), width))
    found = linprog(cost, private, upper, sums, np.ones(inputs), bounds=(0, None), method="highs")
    assert found.status == 0, found.message
    return float(found.fun)


def least_mistake_of_a_pair(distance: int, epsilon: float, delta: float) -> float:
    """How often 0 and `distance` are mistaken for each other at the least, by a linear program over one yes or no."""
    from scipy.optimize import linprog

    # x[k] = P(yes | k); yes and no are both (epsilon, delta)-indistinguishable between neighbours, both ways.
    grown = math.exp(epsilon)
    rows, upper = [], []
    for k, other in [(k, k + 1) for k in range(distance)] + [(k + 1, k) for k in range(distance)]:
        row = np.zeros(distance + 1)
        row[[k, other]] = 1, -grown
        rows += [row, -row]  # x[k] <= grown x[other] + delta, and 1 - x[k] <= grown (1 - x[other]) + delta
        upper += [delta, grown - 1 + delta]
    cost = np.zeros(distance + 1)
    cost[0], cost[-1] = -0.5, 0.5
    found = linprog(cost, np.array(rows), upper, bounds=(0, 1), method="highs")
    assert found.status == 0, found.message
    return float(found.fun) + 0.5


def best_chain_of_boxes(row: np.ndarray, epsilon: float, risk: Callable[[int, float], Any], most: int) -> float:
    """The largest sum of risks over every chain of boxes between corners and middles of the graph of c[s]."""
    sizes = [s for s, groups in enumerate(row) if groups]
    if not sizes:
        return 0.0
    corners, groups = [(max(sizes[0] - 1, 0), 0), (sizes[0], 0)], 0
    for s, after in zip(sizes, [*sizes[1:], min(sizes[-1] + 1, len(row) - 1)], strict=True):
        groups += int(row[s])
        corners += [(s, groups), (after, groups)]
    points = [corners[0]]
    for (x, y), (after_x, after_y) in pairwise(corners):
        points += [((x + after_x) // 2, (y + after_y) // 2), (after_x, after_y)]
    turns = corners[1:-1]

    def worth(i: int, j: int) -> float:
        p, q = points[j][1] - points[i][1], points[j][0] - points[i][0]
        inside = [turn for turn in range(len(turns)) if i < 2 * turn + 2 < j]
        if not p or not q:
            return 0.0
        if len(inside) > 1:
            return float(risk(p * q, epsilon)) if p * q <= most else 0.0
        p, q = min(p, most + 1), min(q, most + 1)
        one = min(p, most) * min(q, most // min(p, most))
        return max(float(risk(one, epsilon)), float(risk(p - 1, epsilon)) + float(risk(q - 1, epsilon)))

    best = [0.0] * len(points)
    for j in range(1, len(points)):
        best[j] = max([best[j - 1]] + [best[i] + worth(i, j) for i in range(j)])
    return best[-1]


def falling(values):
    """The nearest non-increasing vector in squares: p[s] = max over b >= s of min over a <= s of the mean of a..b."""
    n = len(values)
    mean = {(a, b): sum(values[a : b + 1]) / (b + 1 - a) for a in range(n) for b in range(a, n)}
    return np.array([max(min(mean[a, b] for a in range(s + 1)) for b in range(s, n)) for s in range(n)])


def metropolis(
    counts: np.ndarray, log_posterior: Callable[[np.ndarray], float], moves: Sequence[tuple[int, int, int, int, float]]
) -> list[np.ndarray]:
    """The counts of the leaves after each move (leaf, from, to, groups, cost), which is made unless it costs more."""
    states, here = [], np.array(counts)
    for leaf, source, target, groups, cost in moves:
        there = here.copy()
        there[leaf, source] -= groups
        there[leaf, target] += groups
        if there.min() >= 0 and log_posterior(there) - log_posterior(here) >= -cost:
            here = there
        states.append(here)
    return states


def covariances_of_counts(variance: np.ndarray, step_variance: np.ndarray) -> np.ndarray:
    """Cov(x[s], x[t]) of the steps of a Gaussian Markov chain with these variances of states and of steps."""
    n = len(variance)
    of_states = np.zeros((n, n))
    for s in range(n):
        of_states[s, s] = variance[s]
        for t in range(s + 1, n):
            together = (variance[t] + variance[t - 1] - step_variance[t]) / 2
            factor = together / variance[t - 1] if variance[t - 1] > 0 else 0.0
            of_states[s, t] = of_states[t, s] = of_states[s, t - 1] * factor
    steps = np.eye(n) - np.eye(n, k=-1)
    return steps @ of_states @ steps.T


def hat_functions(knots: np.ndarray, n: int) -> np.ndarray:
    """b[j](s): 1 at knot j, 0 at the others, linear between; shape (n, knots)."""
    return np.stack([np.interp(np.arange(n), knots, unit) for unit in np.eye(len(knots))], axis=1)
