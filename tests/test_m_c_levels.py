"""M_c and two-stage with other sizes on every level, against the definition, a solver, and what equal sizes give."""

from fractions import Fraction
from itertools import pairwise

import naive
import numpy as np
import pytest
from level_points import SHAPES

from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
from pgsr.algorithms import CumulativeProjection, TwoStage
from pgsr.algorithms.m_c_levels import CumulativeLevelProblem, CumulativeLevelProjection, LevelTwoStage, counts_near
from pgsr.algorithms.m_c_levels.dual import LevelDual, _TreeDiagonal
from pgsr.algorithms.tree_rounding import integers_near
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.errors import MethodError, ProblemError
from pgsr.noise import measured_by_level
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.laws import DoubleGeometric

EXACT = CumulativeLevelProjection(1e-10)
TREES = (((3, 3), (9, 6, 2)), ((2, 2, 3), (8, 8, 3, 1)), ((4, 3), (6, 6, 6)), ((2, 2), (5, 3, 0)))


def random_problem(seed: int, fan: tuple[int, ...], n_cells: tuple[int, ...], weights: str = "regions"):
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
    return CumulativeLevelProblem(tree, tuple(y), tuple(totals), tuple(w))


@pytest.mark.parametrize("weights", ["regions", "sizes", "levels"])
@pytest.mark.parametrize(("fan", "n_cells"), TREES)
def test_equals_clarabel(fan, n_cells, weights):
    cp = pytest.importorskip("cvxpy")
    problem = random_problem(1, fan, n_cells, weights)
    result, tree = EXACT.solve(problem), problem.hierarchy
    assert result.gap < 1e-9
    x = [cp.Variable(y.shape) if y.shape[1] else None for y in problem.targets]
    cost, conditions = 0.0, []
    for level, table in enumerate(x):
        if table is None:
            continue
        w, y = np.broadcast_to(problem.w[level], table.shape), problem.targets[level]
        cost += cp.sum(cp.multiply(w, cp.square(table - y)))
        conditions += [table[:, 0] >= 0, table[:, -1] <= problem.totals[level]]
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
        result = EXACT.solve(CumulativeLevelProblem(tree, y, totals, (1.0,) * tree.n_levels))
        assert result.gap < 1e-9
        together = np.concatenate([table.ravel() for table in y])
        with_totals = running[(sums[:, tree.leaves] == held[tree.leaves]).all(axis=1)]
        best = ((with_totals - together) ** 2).sum(axis=1).min()
        assert result.objective <= best + 1e-9
        reached += abs(result.objective - best) < 1e-9
    assert reached > 5


def test_value_and_gradient_are_those_of_the_definition():
    """Region by region: the monotone minimiser by its min-max formula; regions without a tail are free."""
    for seed, (fan, n_cells) in enumerate(TREES):
        problem = random_problem(seed, fan, n_cells)
        dual, generator, tree = LevelDual(problem), np.random.default_rng(seed), problem.hierarchy
        prices = [generator.normal(0, 3, part.shape) for part in dual.start()]
        point, value, taken = dual.at(prices), 0.0, []
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
                w, y = problem.w[level][row], problem.targets[level][row]
                aim = y + paid / (2 * w)
                if k_below < n_cells[level] or level == tree.n_levels - 1:

                    def best(i, j, w=w, aim=aim):
                        return float(w[i : j + 1] @ aim[i : j + 1] / w[i : j + 1].sum())

                    aim = np.clip(naive.monotone_minimum(len(y), best), 0, problem.totals[level][row])
                rows.append(aim)
                value += float(w @ (aim - y) ** 2 - paid @ aim)
            taken.append(np.array(rows).reshape(len(rows), n_cells[level]))
        assert point.value == pytest.approx(value)
        for level, part in enumerate(point.gradient):
            k = n_cells[level + 1]
            assert np.allclose(part, taken[level][:, :k] - problem.sums(level, taken[level + 1]))


def test_the_bound_holds_at_counts_of_1e12():
    """Differences from the targets are small; a bound made of the counts themselves was above the objective."""
    generator, tree = np.random.default_rng(77), Hierarchy.from_parents(["US", *"abcd"], [-1, 0, 0, 0, 0])
    true = np.sort(generator.integers(0, 10**12, (4, 50)), axis=1)
    y = true.sum(axis=0)[None] + generator.integers(-3, 4, (1, 50)), true + generator.integers(-3, 4, (4, 50))
    totals = np.array([4 * 10**12]), np.full(4, 10**12)
    targets = y[0].astype(float), y[1].astype(float)
    result = CumulativeLevelProjection().solve(CumulativeLevelProblem(tree, targets, totals, (1.0, 1.0)))
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
        problem = random_problem(seed, fan, n_cells)
        dual, generator = LevelDual(problem), np.random.default_rng(seed)
        prices = [generator.normal(0, 3, part.shape) for part in dual.start()]
        step = [generator.normal(0, 1e-7, part.shape) for part in prices]
        before = dual.at(prices).gradient
        product = flat(dual.product(step)) - dual.ridge * flat(step)
        after = dual.at([p + s for p, s in zip(prices, step, strict=True)]).gradient
        assert np.allclose(flat(before) - flat(after), product, atol=1e-12, rtol=1e-3)


def test_the_tree_diagonal_is_the_inverse_of_its_matrix():
    """Written out: on every edge of the tree of a size the diagonal of the block that the cell is in."""
    for seed, (fan, n_cells) in enumerate(TREES):
        problem = random_problem(seed, fan, n_cells)
        dual, generator, tree = LevelDual(problem), np.random.default_rng(seed), problem.hierarchy
        like = dual.start()
        dual.at([generator.normal(0, 3, part.shape) for part in like])
        n = sum(part.size for part in like)
        number = split(np.arange(n), like)
        matrix = dual.ridge * np.eye(n)
        for level in range(tree.n_levels):
            here = tree.level(level)
            for row in range(here.stop - here.start):
                for s in range(n_cells[level]):
                    rate = 0.5 / problem.w[level][row, s]
                    if not dual.free[level]:
                        start = max(i for i in range(s + 1) if i == 0 or is_start(dual, level, row, i))
                        end = int(dual.stop_of[level][row, start])
                        rate = 0.0 if end < 0 else 0.5 / problem.w[level][row, start:end].sum()
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
    tables = tuple(rows.matrix[tree.level(level)] for level in range(3))
    laws = tuple(rows.law(start) for start in tree.level_start[:-1].tolist())
    same = MeasurementByLevel(
        CountsByLevel(tree, tables), View.CUMULATIVE, laws, rows.root_total, rows.region_totals[tree.leaves]
    )
    released = LevelTwoStage(EXACT).apply(same)
    assert np.array_equal(np.concatenate(released.counts.tables), TwoStage().apply(rows).estimate.counts().counts)
    weights = np.array([1, 4, 9])
    problem = Problem.of(
        rows.matrix, tree, View.CUMULATIVE, groups=rows.region_totals, totals="regions",
        weights=weights[tree.level_of], label="M_c", integer=False,
    )  # fmt: skip
    totals = tuple(rows.region_totals[tree.level(level)] for level in range(3))
    targets = tuple(table[:, :-1].astype(float) for table in tables)
    found = EXACT.solve(CumulativeLevelProblem(tree, targets, totals, tuple(weights.astype(float))))
    last = weights[tree.level_of] @ (rows.region_totals - rows.matrix[:, -1]) ** 2
    assert found.objective + last == pytest.approx(CumulativeProjection().solve(problem).certificate.objective)


def test_integers_are_those_of_equal_sizes_and_add_up_elsewhere():
    generator = np.random.default_rng(48)
    for seed in range(40):
        fan, n_cells = TREES[seed % len(TREES)]
        problem = random_problem(seed, fan, n_cells, "levels")
        tree, values = problem.hierarchy, EXACT.solve(problem).tables
        counts = counts_near(tree, values, problem.totals)
        assert not any(part.any() for part in counts.missing())
        for table, groups, real in zip(counts.tables, problem.totals, values, strict=True):
            assert table.min() >= 0
            assert np.array_equal(table.sum(axis=1), groups)
            assert np.abs(np.cumsum(table, axis=1)[:, :-1] - real).max(initial=0) < 3
        if len(set(n_cells)) == 1:
            columns = np.column_stack([np.concatenate(values), np.concatenate(problem.totals)])
            expected = integers_near(tree, columns, int(problem.totals[0][0]), np.concatenate(problem.totals))
            assert np.array_equal(np.cumsum(np.concatenate(counts.tables), axis=1), expected)
        root = np.sort(generator.integers(0, problem.totals[0][0] + 1, n_cells[0]))
        kept = counts_near(tree, values, problem.totals, root)
        assert np.array_equal(np.cumsum(kept.tables[0][0])[:-1], root)
        assert not any(part.any() for part in kept.missing())


def test_two_stage_adds_up_on_small_trees():
    for name, (shape, _) in SHAPES.items():
        tree, generator = shape.tree, np.random.default_rng([49, len(name)])
        for _ in range(40):
            leaves = generator.integers(0, 5, tree.n_regions - tree.n_inner)
            laws = (DoubleGeometric(Fraction(1)),) * tree.n_levels
            values = shape.split(generator.integers(-3, 9, shape.n_cells))
            released = LevelTwoStage().apply(
                MeasurementByLevel(values, View.CUMULATIVE, laws, int(leaves.sum()), leaves)
            )
            assert not any(released.violations.values())
            assert np.array_equal(released.counts.tables[-1].sum(axis=1), leaves)


def test_what_cannot_be_done_is_told():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
    with pytest.raises(ProblemError, match=r"two-stage needs View.CUMULATIVE"):
        LevelTwoStage().apply(measured_by_level(Geometric(View.COUNTS, 2), truth, Seeded("k"), "data"))
    noise = Geometric(View.CUMULATIVE, 2, totals="root")
    with pytest.raises(ProblemError, match="only the root's total is public here"):
        LevelTwoStage().apply(measured_by_level(noise, truth, Seeded("k"), "data"))
    y, totals, w = (np.zeros((1, 3)), np.zeros((2, 2))), (np.array([6]), np.array([3, 3])), (1.0, 1.0)
    for changed, says in (
        ((tree, y[:1], totals, w), "each of 2 levels"),
        ((tree, (y[0], np.zeros((3, 2))), totals, w), "level 1 has 2 regions"),
        ((tree, (y[0], np.zeros((2, 4))), totals, w), "sizes may only be merged"),
        ((tree, y, totals, (1.0, 0.0)), "a weight of level 1 is not positive"),
        ((tree, y, (totals[0], np.array([3, 4])), w), "do not add up"),
    ):
        with pytest.raises(ProblemError, match=says):
            CumulativeLevelProblem(*changed)
    with pytest.raises(MethodError, match="positive number of groups"):
        CumulativeLevelProjection(0)
