"""The integer M_c with sizes per level: padding, the loop that settles, and answers against points and a solver."""

import itertools
from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import scale
from level_points import SHAPES, Shape

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View, certify
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_c import folded_integers_kernel as kernels
from pgsr.algorithms.m_c.cycles import Closing
from pgsr.algorithms.m_c.folded_dual import FoldedDual, ascend, flat
from pgsr.algorithms.m_c.folded_integers import FoldedRounded, _Families
from pgsr.algorithms.m_c.projection import targets_of
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data import Estimate
from pgsr.data.sizes import fold
from pgsr.methods.gate import NO_LIMIT
from pgsr.models import Scipy
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

TWO = Hierarchy.from_paths([("US", f"C{i}") for i in range(4)])
THREE = Hierarchy.from_paths([("US", f"S{i // 2}", f"C{i}") for i in range(5)])


def problem_of(tree, max_sizes, seed, epsilon="1", mean=3.0):
    """M_c of noisy counts that fall with the size, with weights of regions."""
    generator = np.random.default_rng([61, seed])
    counts = generator.poisson(mean / np.arange(1, max_sizes[0] + 2), (tree.n_regions - tree.n_inner, max_sizes[0] + 1))
    noise = Geometric(View.CUMULATIVE, epsilon, max_sizes=max_sizes)
    noisy = noise.measure(CountOfCounts(tree, counts), Seeded(f"{seed}"))
    return replace(Problem.m_c(noisy, totals="regions"), weights=generator.integers(1, 6, tree.n_regions))


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_per_level_are_equal_sizes_folded(name):
    """Points of equal sizes, folded, are all points: so cells of weight 0 up to the root's size change no optimum."""
    shape = SHAPES[name][0]
    tree, k = shape.tree, shape.max_sizes
    padded = Shape(shape.parents, k[:1] * tree.n_levels)
    folded = set()
    for point in padded.points(2):
        rows = point.reshape(tree.n_regions, k[0] + 1)
        if rows[0].sum() <= 2:
            folded.add(tuple(np.concatenate([fold(rows[r : r + 1], k[tree.level_of[r]])[0] for r in range(len(rows))])))
    points = shape.points(2)
    assert folded == set(map(tuple, points[points[:, : k[0] + 1].sum(axis=1) <= 2].tolist()))


def test_a_region_settles_where_all_vectors_say():
    """The leaf below a root with a tail: alone where it stays below the tail, else with the tail, as one chain."""
    generator, joined = np.random.default_rng(62), 0
    for _ in range(scale(300, 3000)):
        k, tail, groups = (int(generator.integers(*of)) for of in ((1, 4), (1, 4), (0, 5)))
        leaves = np.sort(generator.integers(0, groups + 1, (2, k)), axis=1)
        root = np.concatenate(
            [leaves.sum(axis=0), np.sort(generator.integers(leaves[:, -1].sum(), 2 * groups + 1, tail))]
        )
        y = [generator.integers(-3, 2 * groups + 3, len(row)) for row in (root, *leaves)]
        w = generator.integers(1, 5, 3).astype(float)
        x = np.concatenate([root, [2 * groups], leaves[0], [groups], leaves[1], [groups]])
        first, width = np.array([0, k + tail + 1, 2 * k + tail + 2]), np.array([k + tail, k, k])
        about = np.concatenate([np.append(row, 0) for row in y]), w, first, width, np.array([k, 0, 0])
        kernels.settle(1, 2, *about, np.array([-1, 0, 0]), False, x)

        def cost(leaf, of_tail, y=y, w=w, k=k, other=leaves[1]):
            squares = (leaf + other - y[0][:k]) ** 2, (leaf - y[1]) ** 2, (of_tail - y[0][k:]) ** 2
            return float(w[0] * squares[0].sum() + w[1] * squares[1].sum() + w[0] * squares[2].sum())

        all_leaves = naive.monotone_vectors(k, np.arange(groups + 1))
        alone = [(cost(v, root[k:]), v[-1]) for v in all_leaves]
        least = min(alone)[0]
        room = root[k] - leaves[1, -1]
        below = [last < room for value, last in alone if value == least]
        pairs = ((v, t) for v in all_leaves for t in naive.monotone_vectors(tail, np.arange(2 * groups + 1)))
        both = min(cost(v, t) for v, t in pairs if v[-1] + leaves[1, -1] <= t[0])
        found = x[first[1] : first[1] + k]
        assert cost(found, x[k : k + tail]) in ([least] if all(below) else [both] if not any(below) else [least, both])
        assert np.array_equal(x[:k], found + leaves[1])
        assert (np.diff(x[: first[1]]) >= 0).all()
        assert (np.diff(x[first[1] : first[2]], prepend=0) >= 0).all()
        joined += not any(below) and both < least
    assert joined


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", [name for name, (shape, _) in SHAPES.items() if len(set(shape.max_sizes)) > 1])
def test_small_answers_against_all_points(name):
    shape, largest = SHAPES[name]
    points, tree, generator = shape.points(largest), shape.tree, np.random.default_rng([63, len(name)])
    rows = [shape.split(point) for point in points]
    sums = np.array([np.concatenate([table.sum(axis=1) for table in row]) for row in rows])
    running = np.array([np.concatenate([np.cumsum(table, axis=1).ravel() for table in row]) for row in rows])
    small = np.flatnonzero(sums[:, 0] <= largest)
    for _ in range(scale(20, 200)):
        held = sums[generator.choice(small)]
        y = generator.integers(-3, 8, shape.n_cells)
        weights = generator.integers(1, 4, tree.n_regions)
        problem = Problem.of(shape.split(y), tree, View.CUMULATIVE, groups=held, totals="regions", weights=weights)
        possible = running[(sums[:, tree.leaves] == held[tree.leaves]).all(axis=1)]
        best = (problem.w[problem.sizes.region_of_cell] * (possible - y) ** 2).sum(axis=1).min()
        result = CumulativeIntegers().solve(problem)
        assert result.certificate.feasible
        assert result.certificate.bound <= best
        assert result.certificate.objective == best


def rounded_dual(problem):
    """The dual over integers, and prices near the relaxed optimum."""
    dual = FoldedDual(targets_of(problem))
    point, _ = ascend(dual, 1e-2)
    return FoldedRounded(problem, dual, NO_LIMIT), flat(point.prices)


@pytest.mark.parametrize("level", [0, 1])
def test_families_are_best_where_all_else_stays(level):
    """Two states below the root, in their tails, or two counties below a state: all values of their own cells."""
    tree = Hierarchy.from_parents(["US", "N", "S", "Na", "Nb", "Sa"], [-1, 0, 0, 1, 1, 2])
    siblings, above, cells = [((1, 2), (0,), slice(2, 4)), ((3, 4), (1, 0), slice(0, 2))][level]
    generator, moved = np.random.default_rng(64), 0
    for seed in range(scale(40, 400)):
        truth = CountOfCounts(tree, generator.integers(0, 2, (3, 6)))
        noisy = Geometric(View.CUMULATIVE, "1", max_sizes=(5, 4, 2)).measure(truth, Seeded(f"{seed}"))
        problem = replace(Problem.m_c(noisy, totals="regions"), weights=np.array([1, 3, 1, 2, 1, 1]))
        rows = np.cumsum(truth.counts, axis=1)
        x = np.concatenate([np.append(row[:k], row[-1]) for row, k in zip(rows, (5, 4, 4, 2, 2, 2), strict=True)])
        y, sizes, before = np.concatenate([table.ravel() for table in problem.tables]), problem.sizes, x.copy()
        w = problem.w[sizes.region_of_cell]
        _Families(problem, x, y)._close(level, level, cells, slice(0, 2), np.zeros(2), Closing(NO_LIMIT))
        assert certify(problem, Estimate(tree, View.CUMULATIVE, sizes.tables(x))).feasible
        costs, choices = [], []
        for row in of(sizes, before, siblings):
            low = row[cells.start - 1] if cells.start else 0
            choices.append(naive.monotone_vectors(2, np.arange(low, row[-1] + 1)))
        for new in itertools.product(*choices):
            tried = before.copy()
            for region, values in zip(siblings, new, strict=True):
                change = values - of(sizes, before, [region])[0][cells]
                for row in of(sizes, tried, (region, *above)):
                    row[cells] += change
            if all((np.diff(row) >= 0).all() for row in of(sizes, tried, above)):
                costs.append((w * (tried - y) ** 2).sum())
        assert (w * (x - y) ** 2).sum() == min(costs)
        moved += (x != before).any()
    assert moved


def of(sizes, cells, regions):
    """The rows of some regions."""
    rows = sizes.rows(cells)
    return [rows[region] for region in regions]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("epsilon", ["1", "1/10"])
@pytest.mark.parametrize("max_sizes", [(12, 5), (12, 7, 3), (8, 8, 2), (8, 3, 3)])
def test_answers_against_branch_and_bound(max_sizes, epsilon):
    tree = TWO if len(max_sizes) == 2 else THREE
    for seed in range(scale(5, 50)):
        problem = problem_of(tree, max_sizes, seed, epsilon)
        result, best = CumulativeIntegers().solve(problem), Scipy().solve(problem)
        assert best.status is Status.OPTIMAL, best
        assert result.certificate.bound <= best.certificate.objective
        assert result.certificate.objective == best.certificate.objective
        assert result.status is Status.OPTIMAL
        assert certify(problem, result.estimate, result.multipliers).optimal


def test_the_gap_asked_for_is_proved_on_hundreds_of_leaves():
    """A tenth of what relaxed prices leave, and less, with 120, 40 and 12 sizes on 316 regions."""
    tree = Hierarchy.from_paths([("US", f"S{i // 20}", f"C{i}") for i in range(300)])
    problem = replace(problem_of(tree, (120, 40, 12), 0, mean=100.0), weights=None)
    result = CumulativeIntegers(gap=1e-4).solve(problem)
    assert result.certificate.gap <= 1e-4, result
    assert CumulativeIntegers().solve(problem).certificate.gap <= 1e-5
    rounded, prices = rounded_dual(problem)
    assert result.certificate.objective - lagrangian_bound(problem, rounded.multipliers(prices)) > 10 * (
        result.certificate.objective - result.certificate.bound
    )
    relaxed = CumulativeProjection().solve(problem.relaxed())
    assert relaxed.certificate.objective < result.certificate.bound


def test_a_spent_time_limit_still_gives_feasible_integers():
    result = CumulativeIntegers().solve(problem_of(THREE, (9, 6, 3), 1), time_limit=1e-9)
    assert result.status is Status.FEASIBLE
    assert result.certificate.feasible


def test_the_root_total_alone_is_not_enough():
    problem = replace(problem_of(TWO, (5, 2), 1), totals="root")
    refused = CumulativeIntegers().solve(problem)
    assert refused.status is Status.UNSUPPORTED
    assert "state the problem with totals='regions'" in refused.reason
