"""The relaxed M_c and two-stage with sizes per level, against the definition, a solver, and what equal sizes give."""

from fractions import Fraction
from itertools import pairwise

import naive
import numpy as np
import pytest
from level_points import SHAPES
from made_measurements import measurement_of
from test_m_c_integers import softly

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeProjection
from pgsr.algorithms.m_c.folded import together
from pgsr.algorithms.m_c.folded_dual import FoldedDual, Targets, _TreeDiagonal
from pgsr.algorithms.m_c.joint import laws_of, precisions
from pgsr.algorithms.tree_rounding.rounding import integers_near
from pgsr.data.sizes import Sizes
from pgsr.data.views import cumulative
from pgsr.errors import CountError, ProblemError
from pgsr.estimators import TwoStage
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise

EXACT = 1e-10
TREES = (((3, 3), (9, 6, 2)), ((2, 2, 3), (8, 8, 3, 1)), ((4, 3), (6, 6, 6)), ((2, 2), (5, 3, 0)))


def random_targets(seed: int, fan: tuple[int, ...], n_cells: tuple[int, ...], weights: str = "regions"):
    """Noise around monotone values; `weights` per cell, per size or per level."""
    generator = np.random.default_rng([45, seed])
    parents, level = [-1], [0]
    for children in fan:
        below = []
        for region in level:
            for _ in range(int(generator.integers(1, 2 * children))):
                below.append(len(parents))
                parents.append(region)
        level = below
    tree = Hierarchy.from_parents([f"r{i}" for i in range(len(parents))], parents)
    totals = [generator.integers(0, 20, len(level))]
    for above in range(tree.n_levels - 2, -1, -1):
        starts = tree.first_child[tree.level(above)] - tree.level(above).stop
        totals.insert(0, np.add.reduceat(totals[0], starts))
    y, w = [], []
    for groups, k in zip(totals, n_cells, strict=True):
        n = len(groups)
        y.append(np.sort(generator.random((n, k)), axis=1) * groups[:, None] + generator.normal(0, 4, (n, k)))
        shape = {"regions": (n, k), "sizes": (k,), "levels": ()}[weights]
        w.append(generator.random(shape) + 0.5)
    return Targets.of(tree, y, totals, w)


@pytest.mark.drawn(4)
@pytest.mark.parametrize("weights", ["regions", "sizes", "levels"])
@pytest.mark.parametrize(("fan", "n_cells"), TREES)
def test_equals_clarabel(fan, n_cells, weights):
    cp = pytest.importorskip("cvxpy")
    targets = random_targets(1, fan, n_cells, weights)
    result, tree = together(targets, EXACT), targets.hierarchy
    assert gap_of(result) < 1e-9
    x = [cp.Variable(y.shape) if y.shape[1] else None for y in targets.y]
    cost, conditions = 0.0, []
    for level, table in enumerate(x):
        if table is None:
            continue
        w, y = np.broadcast_to(targets.w[level], table.shape), targets.y[level]
        cost += cp.sum(cp.multiply(w, cp.square(table - y)))
        conditions += [table[:, 0] >= 0, table[:, -1] <= targets.totals[level]]
        conditions += [table[:, i] <= table[:, i + 1] for i in range(table.shape[1] - 1)]
        below = x[level + 1] if level + 1 < len(x) else None
        if below is not None:
            above = np.zeros((table.shape[0], below.shape[0]))
            children = np.arange(below.shape[0])
            above[tree.parent[tree.level(level + 1)] - tree.level(level).start, children] = 1
            conditions.append(table[:, : below.shape[1]] == above @ below)
    stated = cp.Problem(cp.Minimize(cost), conditions)
    stated.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert result.objective == pytest.approx(stated.value, rel=1e-7, abs=1e-6)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", SHAPES)
def test_no_integers_are_nearer(name):
    """The relaxed optimum is not above the best of all integer points with the same totals; its gap is closed."""
    shape, largest = SHAPES[name]
    points, tree, generator = shape.points(largest), shape.tree, np.random.default_rng([46, len(name)])
    first = np.concatenate([[0], np.cumsum([shape.max_sizes[i] + 1 for i in tree.level_of])])
    sums = np.add.reduceat(points, first[:-1], axis=1)
    running = np.concatenate([np.cumsum(points[:, a:b], axis=1)[:, :-1] for a, b in pairwise(first)], axis=1)
    small = np.flatnonzero(sums[:, 0] <= largest)
    reached = 0
    for _ in range(120):
        held = sums[generator.choice(small)]
        totals = tuple(held[tree.level(level)] for level in range(tree.n_levels))
        y = tuple(generator.integers(-2, 6, (len(g), k)) / 2 for g, k in zip(totals, shape.max_sizes, strict=True))
        result = together(Targets.of(tree, y, totals, (1.0,) * tree.n_levels), EXACT)
        assert gap_of(result) < 1e-9
        all_targets = np.concatenate([table.ravel() for table in y])
        with_totals = running[(sums[:, tree.leaves] == held[tree.leaves]).all(axis=1)]
        best = ((with_totals - all_targets) ** 2).sum(axis=1).min()
        assert result.objective <= best + 1e-9
        reached += abs(result.objective - best) < 1e-9
    assert reached > 5


@pytest.mark.parametrize("softness", [1.0, 0.3])
def test_value_and_gradient_are_those_of_the_definition(softness):
    """Region by region: the monotone minimiser by its min-max formula, softly rounded; without a tail it is free."""
    for seed, (fan, n_cells) in enumerate(TREES):
        targets = random_targets(seed, fan, n_cells)
        dual, generator, tree = FoldedDual(targets), np.random.default_rng(seed), targets.hierarchy
        prices = [generator.normal(0, 3, part.shape) for part in dual.start()]
        point, value, taken = dual.at(prices, softness), 0.0, []
        for level in range(tree.n_levels):
            here = tree.level(level)
            k_below = n_cells[level + 1] if level + 1 < tree.n_levels else 0
            rows = []
            for row in range(here.stop - here.start):
                paid = np.zeros(n_cells[level])
                if level:
                    paid += prices[level - 1][tree.parent[here.start + row] - tree.level(level - 1).start]
                if k_below:
                    paid[:k_below] -= prices[level][row]
                w, y = targets.w[level][row], targets.y[level][row]
                aim = y + paid / (2 * w)
                if k_below < n_cells[level] or level == tree.n_levels - 1:

                    def best(i, j, w=w, aim=aim):
                        return float(w[i : j + 1] @ aim[i : j + 1] / w[i : j + 1].sum())

                    aim = np.clip(naive.monotone_minimum(len(y), best), 0, targets.totals[level][row])
                rows.append(np.vectorize(softly, otypes=[float])(aim, softness))
                value += float(w @ (aim - y) ** 2 - paid @ aim)
            taken.append(np.array(rows).reshape(len(rows), n_cells[level]))
        assert softness < 1 or point.value == pytest.approx(value)
        for level, part in enumerate(point.gradient):
            k = n_cells[level + 1]
            assert np.allclose(part, taken[level][:, :k] - targets.sums(level, taken[level + 1]))


def test_the_bound_holds_at_counts_of_1e12():
    """Differences from the targets are small; a bound made of the counts themselves was above the objective."""
    generator, tree = np.random.default_rng(77), Hierarchy.from_parents(["US", *"abcd"], [-1, 0, 0, 0, 0])
    true = np.sort(generator.integers(0, 10**12, (4, 50)), axis=1)
    y = true.sum(axis=0)[None] + generator.integers(-3, 4, (1, 50)), true + generator.integers(-3, 4, (4, 50))
    totals = np.array([4 * 10**12]), np.full(4, 10**12)
    result = together(Targets.of(tree, (y[0].astype(float), y[1].astype(float)), totals, (1.0, 1.0)))
    # Order binds nowhere, so what is missing is spread evenly over the root and four leaves of weight 1.
    optimum = ((y[0][0] - y[1].sum(axis=0)) ** 2 / 5).sum()
    assert result.bound == pytest.approx(optimum, rel=1e-8)


def flat(prices):
    return np.concatenate([part.ravel() for part in prices])


def split(vector, like):
    parts = np.split(vector, np.cumsum([part.size for part in like])[:-1])
    return [np.ascontiguousarray(p.reshape(q.shape)) for p, q in zip(parts, like, strict=True)]


def test_products_are_differences_of_gradients():
    """The dual is piecewise quadratic: within a piece a small step changes the gradient by the product."""
    for seed, (fan, n_cells) in enumerate(TREES):
        dual, generator = FoldedDual(random_targets(seed, fan, n_cells)), np.random.default_rng(seed)
        prices = [generator.normal(0, 3, part.shape) for part in dual.start()]
        step = [generator.normal(0, 1e-7, part.shape) for part in prices]
        before = dual.at(prices).gradient
        product = flat(dual.product(step)) - dual.ridge * flat(step)
        after = dual.at([p + s for p, s in zip(prices, step, strict=True)]).gradient
        assert np.allclose(flat(before) - flat(after), product, atol=1e-12, rtol=1e-3)


def test_the_tree_diagonal_is_the_inverse_of_its_matrix():
    """Written out: on every edge of the tree of a size the diagonal of the block that the cell is in."""
    for seed, (fan, n_cells) in enumerate(TREES):
        targets = random_targets(seed, fan, n_cells)
        dual, generator, tree = FoldedDual(targets), np.random.default_rng(seed), targets.hierarchy
        like = dual.start()
        dual.at([generator.normal(0, 3, part.shape) for part in like])
        n = sum(part.size for part in like)
        number = split(np.arange(n), like)
        matrix = dual.ridge * np.eye(n)
        for level in range(tree.n_levels):
            here = tree.level(level)
            for row in range(here.stop - here.start):
                for s in range(n_cells[level]):
                    rate = 0.5 / targets.w[level][row, s]
                    if not dual.free[level]:
                        start = max(i for i in range(s + 1) if i == 0 or is_start(dual, level, row, i))
                        end = int(dual.stop_of[level][row, start])
                        rate = 0.0 if end < 0 else 0.5 / targets.w[level][row, start:end].sum()
                    ends = [number[level][row, s]] if level < len(like) and s < like[level].shape[1] else []
                    if level:
                        ends.append(number[level - 1][tree.parent[here.start + row] - tree.level(level - 1).start, s])
                    for a in ends:
                        matrix[a, a] += rate
                    if len(ends) == 2:
                        matrix[ends[0], ends[1]] -= rate
                        matrix[ends[1], ends[0]] -= rate
        vector = generator.normal(0, 1, n)
        found = split(vector.copy(), like)
        _TreeDiagonal(dual).solve(found)
        assert np.allclose(matrix @ flat(found), vector)


def is_start(dual, level, row, cell):
    s = 0
    while s < cell:
        s = abs(int(dual.stop_of[level][row, s]))
    return s == cell


def test_equals_m_c_and_two_stage_where_all_levels_have_the_same_sizes():
    tree = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])
    truth = CountOfCounts(tree, np.random.default_rng(47).integers(0, 30, (3, 9)))
    noise = Geometric(View.CUMULATIVE, 3, shares=("1/6", "1/3", "1/2"))
    rows = noise.measure(truth, Seeded("s"))
    totals = [rows.region_totals[tree.level(level)] for level in range(3)]
    weights_of = precisions(laws_of(rows))
    found = together(Targets.of(tree, TwoStage().alone(rows), tuple(totals), weights_of), EXACT)
    released = integers_near(tree, found.values, rows.root_total, rows.region_totals)
    assert np.array_equal(np.concatenate(released), cumulative(TwoStage().apply(rows).estimate.counts().counts))
    weights = np.array([1, 4, 9])
    problem = Problem.of(
        rows.matrix, tree, View.CUMULATIVE, groups=rows.region_totals, totals="regions",
        weights=weights[tree.level_of], label="M_c", integer=False,
    )  # fmt: skip
    y = tuple(table[:, :-1].astype(float) for table in rows.tables)
    found = together(Targets.of(tree, y, totals, tuple(weights.astype(float))), EXACT)
    last = weights[tree.level_of] @ (rows.region_totals - rows.matrix[:, -1]) ** 2
    assert found.objective + last == pytest.approx(CumulativeProjection().solve(problem).certificate.objective)


def test_integers_are_near_and_add_up():
    generator = np.random.default_rng(48)
    for seed in range(40):
        fan, n_cells = TREES[seed % len(TREES)]
        targets = random_targets(seed, fan, n_cells, "levels")
        tree, values, totals = targets.hierarchy, together(targets, EXACT).values, targets.totals
        known = int(totals[0][0]), np.concatenate(totals)
        found = integers_near(tree, values, *known)
        assert adds_up(tree, found)
        for table, groups, real in zip(found, totals, values, strict=True):
            assert np.diff(table, prepend=0, axis=1).min() >= 0
            assert np.array_equal(table[:, -1], groups)
            assert np.abs(table - real).max(initial=0) < 3
        root = np.append(np.sort(generator.integers(0, totals[0][0] + 1, n_cells[0])), totals[0][0])
        kept = integers_near(tree, values, *known, root)
        assert np.array_equal(kept[0][0], root)
        assert adds_up(tree, kept)


def test_two_stage_adds_up_on_small_trees():
    for name, (shape, _) in SHAPES.items():
        tree, generator = shape.tree, np.random.default_rng([49, len(name)])
        for _ in range(40):
            groups = tree.sum_up(generator.integers(0, 5, tree.n_regions - tree.n_inner))
            values = shape.split(generator.integers(-3, 9, shape.n_cells))
            noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
            noisy = measurement_of(tree, View.CUMULATIVE, values, 0, noise, Totals.REGIONS, groups, False)
            found = TwoStage().apply(noisy)
            assert found.status is Status.FEASIBLE
            assert not any(found.certificate.violations.values())
            sums = np.concatenate([table[:, -1] for table in found.estimate.tables])
            assert np.array_equal(sums, groups)
            real = TwoStage(integer=False).apply(noisy).estimate
            exact = [np.asarray(table) for table in real.tables]
            nearest = [np.asarray(table) for table in TwoStage().apply(noisy).estimate.tables]
            assert max(np.abs(a - b).max() for a, b in zip(exact, nearest, strict=True)) < 3


def test_a_release_with_sizes_per_level_looks_at_its_time_limit():
    truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 9, 4], [0, 5, 3]], "d")
    noisy = Geometric(View.CUMULATIVE, 2, max_sizes=(2, 1)).measure(truth, Seeded("a"))
    assert TwoStage().apply(noisy, 1e-9).status is Status.TIMED_OUT


def test_what_cannot_be_done_is_told():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]], "data")
    with pytest.raises(ProblemError, match=r"TwoStage needs View.CUMULATIVE"):
        TwoStage().apply(Geometric(View.COUNTS, 2, max_sizes=(3, 2)).measure(truth, Seeded("k")))
    noisy = Geometric(View.CUMULATIVE, 2, totals="root", max_sizes=(3, 2)).measure(truth, Seeded("k"))
    with pytest.raises(ProblemError, match="only the root's total is public here"):
        TwoStage().apply(noisy)
    y, groups = (np.zeros((1, 4), int), np.zeros((2, 3), int)), np.array([6, 3, 3])
    for changed, error, says in (
        ({"values": y[:1]}, ProblemError, "1 tables for 2 levels"),
        ({"values": (y[0], np.zeros((3, 3), int))}, ProblemError, "a row for each of its 2 regions"),
        ({"values": (y[0], np.zeros((2, 5), int))}, CountError, "may only be merged from the root down"),
        ({"weights": np.array([1, 0, 0])}, ProblemError, "a leaf has weight 0"),
    ):
        about = {"values": y, "hierarchy": tree, "view": View.CUMULATIVE, "groups": groups, "integer": False} | changed
        with pytest.raises(error, match=says):
            Problem.of(**about)
    wrong = Problem.of(y, tree, View.CUMULATIVE, groups=np.array([6, 3, 4]), integer=False)
    result = CumulativeProjection().solve(wrong)
    assert result.status is Status.INFEASIBLE
    assert "add up to" in result.reason


def gap_of(found) -> float:
    return (found.objective - found.bound) / max(1.0, found.bound)


def adds_up(tree: Hierarchy, tables) -> bool:
    """Tell whether cumulative counts of children add up to those of their parents, sizes folded."""
    sizes = Sizes(tree, tuple(table.shape[1] - 1 for table in tables))
    levels = range(tree.n_levels - 1)
    return all(
        np.array_equal(sizes.folded(tables[level], level, View.CUMULATIVE), sizes.children_sums(tables, level))
        for level in levels
    )
