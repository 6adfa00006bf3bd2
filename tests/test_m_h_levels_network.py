"""The network of M_H with sizes per level: which cells it takes, its prices, its factors, against slow twins."""

import numpy as np
from test_m_h_levels import KINDS, random_problem

from pgsr.algorithms.m_h_levels import LevelProblem, selection_kernel
from pgsr.algorithms.m_h_levels.joined import Joined
from pgsr.algorithms.m_h_levels.parts import Reply
from pgsr.algorithms.m_h_levels.selection import Selection, first_part
from pgsr.quadratic_flow import Network, cheapest_flow, relaxed_prices
from pgsr.quadratic_flow import newton_kernel as kernels


def network_of(problem: LevelProblem) -> Network:
    """The network of all cells."""
    selection = Selection.empty(problem)
    for kept in selection.kept:
        kept[:] = True
    piece = selection.piece()
    reply = Reply((), piece.arcs, piece.supply, root=piece.root)
    return Joined.of(None, [reply], problem.total).network


def test_rows_keep_what_is_above_their_threshold():
    """By a sort: with the n largest above it the threshold is their mean less total / n, for the one n that fits."""
    generator = np.random.default_rng(17)
    for _ in range(200):
        y, total = generator.integers(-9, 10, (1, 12)), generator.integers(-3, 30, 1)
        kept = np.zeros(y.shape, bool)
        selection_kernel.keep_large(0, 1, y, total, kept)
        largest = np.sort(y[0])[::-1]
        means = [(largest[:n].sum() - total[0]) / n for n in range(1, 13)]
        threshold = max(0, max(means) if total[0] > 0 else largest[0])
        others = kept[0].copy()
        others[y[0].argmax()] = False
        assert kept[0, y[0].argmax()]
        assert kept[0][y[0] > threshold].all()
        assert not others[y[0] <= max(0, threshold - 0.5)].any()


def test_cells_are_added_where_one_unit_pays():
    """Cell by cell: a sum that is left out has the lowest price that its cell permits; parts compare theirs with it."""
    generator = np.random.default_rng(18)
    problem = random_problem(3, (2, 2, 2), (9, 9, 4, 1), "none", spread_of_y=6)
    selection = Selection.empty(problem)
    for kept in selection.kept:
        kept[:] = generator.random(kept.shape) < 0.2
    piece = selection.piece()
    before = [kept.copy() for kept in selection.kept]
    price = generator.integers(-9, 10, piece.n_vertices)
    top = generator.integers(-9, 10, 10)
    prices, added = piece.offer(price, top)
    assert added == sum(int(now.sum() - then.sum()) for now, then in zip(selection.kept, before, strict=True)) > 0
    tree, sizes = problem.hierarchy, problem.noisy.max_sizes
    for region in range(tree.n_regions):
        level = int(tree.level_of[region])
        row, first = region - tree.level(level).start, first_part(problem, level)
        y, w = problem.noisy.tables[level][row], problem.w[region]
        above = prices.inner[level - 1][tree.parent[region] - tree.level(level - 1).start] if level else top
        for s in range(sizes[level] + 1):
            leaf = level == tree.n_levels - 1
            own = prices.leaves[row] if leaf else prices.inner[level][row][min(s, sizes[level + 1])]
            if s < first:
                number = piece.numbers[level][row][s]
                assert own == (price[number] if number >= 0 else above[s] - w * (1 - 2 * y[s]))
            elif not before[level][row, s - first]:
                assert selection.kept[level][row, s - first] == (above[s] - own > w * (1 - 2 * y[s]))


def test_of_many_cells_that_pay_a_part_is_added_spread_evenly():
    """As many as take what the others hold too much; not the same ones for rows whose y differ."""
    generator = np.random.default_rng(19)
    n = 400
    y = np.zeros((2, n), np.int64)
    y[:, :5] = generator.integers(0, 9, (2, 5))
    for paid, beyond in ((3, 5), (201, 500)):  # a cell that is there holds (paid - 1) / 2 more than at 1
        kept = np.arange(n) < np.full((2, 1), 5)
        added, fixed = np.zeros(2, np.int64), (np.ones((2, 1), bool), 0)
        above, own = np.full((1, n), paid), np.zeros((2, 1), np.int64)
        numbers = np.zeros(2, np.int64), above, y, np.ones(2, np.int64), own
        selection_kernel.offer(0, 2, *numbers, *fixed, kept, added)
        expected = min(n - 5, max(selection_kernel.FEW, 2 * beyond))
        assert added.tolist() == [expected] * 2 == (kept.sum(axis=1) - 5).tolist()
        places = np.flatnonzero(kept[0, 5:])
        assert np.ptp(np.diff(places)) <= 1
        assert (kept[0] == kept[1]).all() == (expected == n - 5)


def test_any_prices_and_flows_to_start_from_give_an_optimum():
    for seed in range(12):
        network = network_of(random_problem(seed, (3, 3, 2), (9, 6, 6, 2), KINDS[seed % 4]))
        best = cheapest_flow(network)
        for scale in (0, 5, 200):
            generator = np.random.default_rng([13, seed])
            start = generator.normal(0, scale, network.n_vertices)
            for near in (None, generator.integers(-scale, scale + 1, len(network.y)), best.x):
                found = cheapest_flow(network, start, near)
                assert cost_of(network, found.x) == cost_of(network, best.x)
        again = cheapest_flow(network, best.price, best.x)
        assert again.visits == 0
        assert np.array_equal(again.x, best.x)


def cost_of(network, x: np.ndarray) -> int:
    return int(network.w @ (x - network.y) ** 2)


def test_relaxed_prices_balance_every_vertex():
    """By the definition: at these prices arcs carry max(lower, y + d / 2w), and nothing is left over."""
    for seed in range(12):
        network = network_of(random_problem(seed, (3, 4, 2), (30, 9, 9, 2), KINDS[seed % 4]))
        excess = excess_at(network, relaxed_prices(network, tolerance=1e-8))
        assert np.abs(excess[1:]).max() < 1e-8


def excess_at(network, price: np.ndarray) -> np.ndarray:
    excess = network.supply.astype(float)
    for start, end, y, w, free in zip(network.start, network.end, network.y, network.w, network.free, strict=True):
        flow = y + (price[end] - price[start]) / (2 * w)
        flow = flow if free else max(0.0, flow)
        excess[start] -= flow
        excess[end] += flow
    return excess


def test_factors_are_exact_on_a_tree_and_keep_the_sums_of_rows():
    generator = np.random.default_rng(15)
    for ups in (1, 3):
        arcs = [(v, u) for v in range(2, 12) for u in {int(generator.integers(1, v)) for _ in range(ups)}]
        start, end = np.array(arcs).T
        start, end = np.append(0, start), np.append(1, end)
        network = Network.of(start, end, 0 * start, 1 + 0 * start, 0 * start > 0, n_vertices=12)
        c, tie, n = generator.random(len(start)), 1e-3 * generator.random(12), 12
        laplacian = np.diag(tie)
        for u, v, conductance in zip(start, end, c, strict=True):
            laplacian[[u, v], [u, v]] += conductance
            laplacian[[u, v], [v, u]] -= conductance
        pivot, out = np.empty((2, n))
        z = generator.random(n)
        z[0] = 0.0
        kernels.multiply(network.first, network.end, c, tie, z, out)
        assert np.allclose(out[1:], (laplacian @ z)[1:])
        kernels.factorise(network.first, network.end, c, tie, pivot)
        unit = np.array([solved(network, c, pivot, row) for row in np.eye(n)])[1:, 1:]
        sums = np.linalg.inv(unit).sum(axis=1)
        assert np.allclose(sums, laplacian[1:, 1:].sum(axis=1))
        if ups == 1:
            assert np.allclose(unit, np.linalg.inv(laplacian[1:, 1:]))
        steps = kernels.conjugate_gradients(network.first, network.end, c, tie, pivot, out, 1e-10, 50, z)
        assert (steps == 1) is (ups == 1)
        assert np.allclose(laplacian[1:, 1:] @ z[1:], out[1:])


def solved(network, c: np.ndarray, pivot: np.ndarray, right: np.ndarray) -> np.ndarray:
    z = np.empty_like(right)
    kernels.precondition(network.first, network.end, c, pivot, right, z)
    return z
