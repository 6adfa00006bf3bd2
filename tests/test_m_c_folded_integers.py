"""The integer M_c with sizes per level: padding, the loop that settles, and answers against points and a solver."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import scale
from level_points import SHAPES, Shape

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View, certify
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_c import folded_integers_kernel as kernels
from pgsr.algorithms.m_c.folded_dual import FoldedDual, ascend, flat
from pgsr.algorithms.m_c.folded_integers import FoldedRounded
from pgsr.algorithms.m_c.projection import targets_of
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data.sizes import fold
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
    return FoldedRounded(problem, dual), flat(point.prices)


def test_an_exchange_gains_what_it_says_and_leaves_sums_alone():
    for seed in range(scale(10, 100)):
        problem = problem_of(THREE, (9, 6, 3), seed)
        rounded, prices = rounded_dual(problem)
        tables = rounded.integers(prices, 1.0)
        for level in (2, 1):
            own, w = tables[level], problem.w[THREE.level(level), None]
            rng, k, largest = np.random.default_rng(seed), (0, 3, 0)[level], own.shape[1] - 1
            own[:, k:-1] = np.sort(
                rng.integers(own[:, k - 1 : k] if k else 0, own[:, -1:] + 1, (len(own), largest - k))
            )
            before, cost = own.copy(), (w * (own - problem.tables[level]) ** 2).sum()
            gained = rounded._exchange(level, own)
            assert gained == cost - (w * (own - problem.tables[level]) ** 2).sum()
            assert gained > 0 or (own == before).all()
            assert (np.diff(own, prepend=0, axis=1) >= 0).all()
            starts = THREE.first_child[THREE.level(level - 1)] - THREE.level(level).start
            assert (np.add.reduceat(own - before, starts) == 0).all()


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
    """A tenth of the gap that relaxed prices prove, with 120, 40 and 12 sizes on 316 regions; not all are closed."""
    tree = Hierarchy.from_paths([("US", f"S{i // 20}", f"C{i}") for i in range(300)])
    problem = replace(problem_of(tree, (120, 40, 12), 0, mean=100.0), weights=None)
    result = CumulativeIntegers(gap=1e-4).solve(problem)
    assert result.certificate.gap <= 1e-4, result
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
