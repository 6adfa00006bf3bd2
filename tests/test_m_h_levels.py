"""M_H with other sizes on every level, against all feasible points, against solvers, and against M_H as it is."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from instances import scale
from level_points import SHAPES
from scipy import optimize, sparse

from pgsr import CountOfCounts, Hierarchy, Problem
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_h_levels import LevelProblem, LevelTreeProjection, certified
from pgsr.algorithms.m_h_levels.problem import UNKNOWN
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.errors import CountError, ProblemError, TooLargeError
from pgsr.models import Flow


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", SHAPES)
def test_equals_brute_force(name):
    shape, largest = SHAPES[name]
    points = shape.points(largest)
    tree, generator = shape.tree, np.random.default_rng([11, len(name)])
    region_of_cell = np.repeat(np.arange(tree.n_regions), [shape.max_sizes[i] + 1 for i in tree.level_of])
    sums = np.stack([points[:, region_of_cell == region].sum(axis=1) for region in range(tree.n_regions)], axis=1)
    root_sum = sums[:, 0]
    small = np.flatnonzero(root_sum <= 5)
    squares = (points**2).astype(float)
    checked = 0
    for trial in range(scale(120, 1_200)):
        y = generator.integers(-3, 4, shape.n_cells)
        w = generator.integers(1, 4, tree.n_regions) if trial % 2 else np.ones(tree.n_regions, np.int64)
        cell_w = w[region_of_cell]
        cost = squares @ cell_w - points @ (2.0 * cell_w * y) + cell_w @ y**2
        total = totals = None
        if trial % 4 == 1:
            total = int(generator.integers(0, 5))
            cost[root_sum != total] = np.inf
        elif trial % 4 == 3:  # of any regions, as one of the points has them
            held = sums[generator.choice(small)]
            totals = np.where(generator.random(tree.n_regions) < 0.4, held, UNKNOWN)
            stated = totals != UNKNOWN
            cost[(sums[:, stated] != totals[stated]).any(axis=1)] = np.inf
        elif trial % 4 == 2:
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
    assert checked > scale(113, 1_150)


def random_problem(seed: int, fan: tuple[int, ...], max_sizes: tuple[int, ...], kind: str, spread_of_y: int = 20):
    """Noise around small counts on a tree whose regions of one level have about equally many children."""
    generator = np.random.default_rng([12, seed])
    parents, level = [-1], [0]
    for children in fan:
        below = []
        for region in level:
            for _ in range(int(generator.integers(1, 2 * children))):
                below.append(len(parents))
                parents.append(region)
        level = below
    tree = Hierarchy.from_parents([f"r{i}" for i in range(len(parents))], parents)
    rows = np.diff(tree.level_start)
    tables = tuple(
        generator.integers(-spread_of_y, spread_of_y, (n, k + 1)) for n, k in zip(rows, max_sizes, strict=True)
    )
    total = 7 * int(rows[-1]) if kind == "root" else None
    totals = generator.integers(0, 15, rows[-1]) if kind in ("leaves", "some regions") else None
    if kind == "some regions":
        held = np.concatenate([np.zeros(tree.n_inner, np.int64), totals])
        for region in range(tree.n_inner - 1, -1, -1):
            held[region] = held[list(tree.children(region))].sum()
        totals = np.where(generator.random(tree.n_regions) < 0.3, held, UNKNOWN)
    weights = generator.integers(1, 5, tree.n_regions) if seed % 2 else None
    return LevelProblem(CountsByLevel(tree, tables), total, totals, weights)


KINDS = ("none", "root", "leaves", "some regions")
MEDIUM = (((3, 3), (9, 6, 2)), ((2, 2, 3), (8, 8, 3, 1)), ((4, 3), (12, 3, 3)), ((2, 2, 2), (9, 6, 4, 2)))


def rows_of(problem: LevelProblem) -> tuple[np.ndarray, np.ndarray]:
    """Every condition as a row over all cells, by the definition, and right-hand sides."""
    tree, sizes = problem.hierarchy, problem.noisy.max_sizes
    first = np.concatenate([[0], np.cumsum([sizes[level] + 1 for level in tree.level_of])])
    rows, right = [], []
    for region in range(tree.n_inner):
        k, below = sizes[tree.level_of[region]], sizes[tree.level_of[region] + 1]
        for s in range(below + 1):
            row = np.zeros(first[-1])
            row[first[region] + s : first[region] + (s + 1 if s < below else k + 1)] = 1
            row[[first[child] + s for child in tree.children(region)]] = -1
            rows.append(row)
            right.append(0)
    known = {0: problem.total} if problem.total is not None else {}
    if problem.totals is not None:
        first_known = tree.n_regions - len(problem.totals)
        known = {first_known + i: total for i, total in enumerate(problem.totals.tolist()) if total != UNKNOWN}
    for region, total in known.items():
        row = np.zeros(first[-1])
        row[first[region] : first[region + 1]] = 1
        rows.append(row)
        right.append(total)
    return np.array(rows).reshape(-1, first[-1]), np.array(right)


def cells_of(problem: LevelProblem) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts and weights of all cells."""
    y = np.concatenate([table.ravel() for table in problem.noisy.tables])
    sizes = [problem.noisy.max_sizes[level] + 1 for level in problem.hierarchy.level_of]
    return y, np.repeat(problem.w, sizes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fan", "max_sizes"), MEDIUM)
@pytest.mark.drawn(2)
def test_equals_two_general_solvers_and_min_cost_flows(fan, max_sizes, kind):
    """Integer programs and a flow with a variable or an arc per unit, up to 3 units beyond the answer.

    With that room an optimum of these is one of the problem, as costs are convex.
    """
    for seed in range(2):
        problem = random_problem(seed, fan, max_sizes, kind)
        result = LevelTreeProjection().solve(problem)
        assert result.optimal
        cells = np.concatenate([table.ravel() for table in result.counts.tables])
        units = UnitSteps.of(problem, int(cells.max()) + 3)
        assert result.certificate.objective == by_highs(units) == by_cp_sat(units)
        if kind != "some regions":  # whose rows are no network's as they stand
            assert result.certificate.objective == by_flow(units)


@dataclass(frozen=True, eq=False)
class UnitSteps:
    """A problem with a 0-1 variable per cell and unit; the j-th unit of a cell costs w (2 (j - y) + 1), j >= 0."""

    rows: np.ndarray
    right: np.ndarray
    cost: np.ndarray
    constant: int

    @classmethod
    def of(cls, problem: LevelProblem, most: int) -> "UnitSteps":
        (rows, right), (y, w) = rows_of(problem), cells_of(problem)
        cost = w[:, None] * (2 * (np.arange(most) - y[:, None]) + 1)
        return cls(np.repeat(rows, most, axis=1).astype(int), right, cost.ravel(), int(w @ y**2))


def by_highs(units: UnitSteps) -> int:
    rows = optimize.LinearConstraint(sparse.csr_array(units.rows), units.right, units.right)
    found = optimize.milp(
        units.cost, constraints=rows, integrality=np.ones(len(units.cost)), bounds=optimize.Bounds(0, 1)
    )
    assert found.status == 0
    return round(found.fun) + units.constant


def by_cp_sat(units: UnitSteps) -> int:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in units.cost]
    for row, value in zip(units.rows, units.right, strict=True):
        model.add(sum(int(row[j]) * x[j] for j in np.flatnonzero(row)) == int(value))
    model.minimize(sum(int(cost) * cell for cost, cell in zip(units.cost, x, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value) + units.constant


def by_flow(units: UnitSteps) -> int:
    """Solve a flow: with the root's total turned round every column has at most a 1 and a -1.

    It is an arc from the row of the one to that of the other, or to node 0 where there is none.
    """
    min_cost_flow = pytest.importorskip("ortools.graph.python.min_cost_flow")
    flow, rows, right = min_cost_flow.SimpleMinCostFlow(), units.rows.copy(), units.right.copy()
    if len(rows) and (rows == 1).sum(axis=0).max() == 2:
        rows[-1] *= -1
        right[-1] *= -1
    for column, cost in zip(rows.T, units.cost, strict=True):
        (start, end) = (np.flatnonzero(column == sign).tolist() for sign in (1, -1))
        assert len(start) <= 1
        assert len(end) <= 1
        flow.add_arc_with_capacity_and_unit_cost(*(1 + row[0] if row else 0 for row in (start, end)), 1, int(cost))
    for node, value in enumerate([-right.sum(), *right]):
        flow.set_node_supply(node, int(value))
    assert flow.solve() == flow.OPTIMAL
    return flow.optimal_cost() + units.constant


@pytest.mark.parametrize("kind", KINDS[:3])
def test_equals_m_h_where_all_levels_have_the_same_sizes(kind):
    for seed in range(20):
        problem = random_problem(seed, (3, 4), (6, 6, 6), kind)
        tree, groups = problem.hierarchy, problem.total
        if problem.totals is not None:
            groups = tree.sum_up(problem.totals)
        stated = Problem.of(np.concatenate(problem.noisy.tables), tree, groups=groups, weights=problem.w)
        method = TreeProjection() if kind != "leaves" else Flow()
        assert LevelTreeProjection().solve(problem).certificate.objective == method.solve(stated).certificate.objective


def test_the_certificate_refutes_what_is_not_optimal():
    """Unit exchanges, broken conditions and broken prices: of each the certificate says so."""
    generator, refuted = np.random.default_rng(14), 0
    for seed in range(60):
        problem = random_problem(seed, (2, 2), (4, 3, 1), KINDS[seed % 4], spread_of_y=4)
        result = LevelTreeProjection().solve(problem)
        assert certified(problem, result.counts, result.prices) == result.certificate
        rows, right = rows_of(problem)
        cells = np.concatenate([table.ravel() for table in result.counts.tables])
        assert (rows @ cells == right).all()
        moved = cells + generator.integers(-1, 2, len(cells)) * (generator.random(len(cells)) < 0.3)
        judged = certified(problem, as_tables(problem, moved), result.prices)
        broken = int(np.count_nonzero(rows @ moved - right))
        assert sum(judged.violations.values()) == broken + int((moved < 0).sum())
        y, w = cells_of(problem)
        assert judged.objective == int(w @ (moved - y) ** 2)
        assert judged.optimal == (not broken and moved.min() >= 0 and judged.objective == result.certificate.objective)
        inner = tuple(part + generator.integers(-9, 10, part.shape) for part in result.prices.inner)
        refuted += not certified(problem, result.counts, replace(result.prices, inner=inner)).optimal
    assert refuted > 50


def test_prices_of_totals_that_nobody_stated_prove_nothing():
    problem = random_problem(0, (2,), (2, 1), "none")
    result = LevelTreeProjection().solve(problem)
    assert result.optimal
    assert not certified(problem, result.counts, replace(result.prices, top=result.prices.top + 2)).optimal
    assert not certified(problem, result.counts, replace(result.prices, leaves=result.prices.leaves + 2)).optimal


def test_prices_of_one_total_are_one():
    """A leaf may not have a price of its own where the total of a region around it is public, and not its own."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = CountsByLevel(tree, (np.array([[3, 1]]), np.array([[4, -2], [0, 1]])))
    problem = LevelProblem(noisy, totals=np.array([9, UNKNOWN, UNKNOWN]))
    result = LevelTreeProjection().solve(problem)
    assert result.optimal
    assert result.prices.leaves[0] == result.prices.leaves[1] != 0
    leaves = result.prices.leaves + np.array([0, 1])
    assert not certified(problem, result.counts, replace(result.prices, leaves=leaves)).optimal


def as_tables(problem: LevelProblem, cells: np.ndarray) -> CountsByLevel:
    shapes = [table.shape for table in problem.noisy.tables]
    parts = np.split(cells, np.cumsum([n * k for n, k in shapes])[:-1])
    return CountsByLevel(problem.hierarchy, tuple(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)))


def test_counts_by_level_fold_and_add_up():
    tree = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])
    leaves = np.random.default_rng(16).integers(0, 9, (3, 8))
    truth = CountsByLevel.of(CountOfCounts(tree, leaves), (7, 4, 2))
    assert truth.max_sizes == (7, 4, 2)
    assert truth.n_cells == 8 + 2 * 5 + 3 * 3
    assert not any(part.any() for part in truth.missing())
    assert truth.tables[2].tolist() == [[*row[:2], sum(row[2:])] for row in leaves.tolist()]
    truth.tables[2][0, 2] += 5
    assert truth.missing()[1].tolist() == [[0, 0, 5], [0, 0, 0]]


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda t: CountsByLevel(t, ([[1, 1]],)), CountError, "1 tables for 2 levels"),
        (lambda t: CountsByLevel(t, ([[1, 1]], [[1], [1], [1]])), CountError, "row for each of its 2 regions"),
        (lambda t: CountsByLevel(t, ([[1, 1]], [[0.5], [1]])), CountError, "give integers"),
        (lambda t: CountsByLevel(t, ([[1]], [[1, 2], [1, 2]])), CountError, "may only be merged from the root down"),
        (lambda t: CountsByLevel.of(CountOfCounts(t, [[0, 1], [0, 2]]), (0,)), CountError, "give one per level"),
        (lambda t: CountsByLevel.of(CountOfCounts(t, [[0, 1], [0, 2]]), (3, 0)), CountError, "give at most that"),
        (lambda t: CountsByLevel.of(CountOfCounts(t, [[0, 1], [0, 2]]), (1, -1)), CountError, "give 0 or more"),
        (
            lambda t: CountsByLevel(t, (np.array([[2**63 + 1, 1]], np.uint64), [[1], [1]])),
            CountError,
            r"no count may exceed 2\^62",
        ),
        (lambda t: LevelProblem(small(t), total=-1), ProblemError, "0 or more"),
        (lambda t: LevelProblem(small(t), total=1, totals=np.array([1, 0])), ProblemError, "not both"),
        (lambda t: LevelProblem(small(t), totals=np.array([1, -1])), ProblemError, "totals of leaf 1 is -1"),
        (lambda t: LevelProblem(small(t), totals=np.array([1])), ProblemError, "one whole number per region"),
        (lambda t: LevelProblem(small(t), totals=np.array([-1, 1, -2])), ProblemError, "totals of region 2 is -2"),
        (lambda t: LevelProblem(small(t), totals=np.array([3, 4, -1])), ProblemError, "US.* has 3 groups .* have 4"),
        (lambda t: LevelProblem(small(t), totals=np.array([5, 2, 2])), ProblemError, "give totals that add up"),
        (lambda t: LevelProblem(small(t), 5, totals=np.array([5, 2, -1])), ProblemError, "not both"),
        (lambda t: LevelProblem(small(t), weights=np.array([1, 0, 1])), ProblemError, "weights of region 1 is 0"),
        (lambda t: LevelProblem(small(t), weights=np.array([1, 2**51, 1])), TooLargeError, "scale the weights down"),
        (lambda t: LevelProblem(small(t), 2**50), TooLargeError, r"levels exceed 2\^50; give smaller counts$"),
        (lambda t: LevelProblem(crowded()), TooLargeError, r"level 1 add up to more than 2\^62; give smaller counts"),
        (lambda t: LevelProblem(small(short_branch())), ProblemError, "stands above a copy of itself"),
    ],
)
def test_what_cannot_be_stated_is_told(build, error, says):
    with pytest.raises(error, match=says):
        build(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]))


def small(tree: Hierarchy) -> CountsByLevel:
    rows = np.diff(tree.level_start)
    return CountsByLevel(tree, tuple(np.ones((n, 2), int) for n in rows))


def crowded() -> CountsByLevel:
    """20,000 children with two counts of 2^48 each, which add up to 2^63.3."""
    tree = Hierarchy.from_parents(["US", *(f"c{i}" for i in range(20_000))], [-1] + [0] * 20_000)
    return CountsByLevel(tree, (np.ones((1, 2), int), np.full((20_000, 2), 2**48)))


def short_branch() -> Hierarchy:
    return Hierarchy.from_paths([("US", "GA"), ("US", "MI", "1"), ("US", "MI", "2")], pad_ragged=True)
