"""The network of M_H with sizes per level: which cells it takes, its prices, its factors, against slow twins."""

from dataclasses import replace

import numpy as np
import pytest
from instances import rng_of
from test_m_h_flow import KINDS, Stated, random_problem

from pgsr.algorithms.m_h_flow import selection_kernel
from pgsr.algorithms.m_h_flow.questions import Reply
from pgsr.algorithms.m_h_flow.selection import Selection
from pgsr.algorithms.m_h_flow.whole_network import Joined
from pgsr.engines.quadratic_flow import integers, relaxation
from pgsr.engines.quadratic_flow import newton_kernel as kernels
from pgsr.engines.quadratic_flow.integers import cheapest_flow
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.engines.quadratic_flow.relaxation import MOST_TIE, relaxed_prices
from pgsr.machine.compilation import read_only


def network_of(stated: Stated) -> FlowNetwork:
    """The network of all cells."""
    selection = Selection.empty(stated.part)
    for kept in selection.kept:
        kept[:] = True
    piece = selection.piece()
    reply = Reply((), piece.arcs, piece.supply, piece.begins, root=piece.root)
    return Joined.of(None, [reply], stated.total).network


def test_rows_keep_what_is_above_their_threshold():
    """By a sort: with the n largest above it the threshold is their mean less total / n, for the one n that fits."""
    generator = rng_of(17)
    for _ in range(80):
        y, total = generator.integers(-9, 10, (1, 12)), generator.integers(-3, 30, 1)
        kept = np.zeros(y.shape, bool)
        selection_kernel.keep_large(0, 1, read_only(y), 0, total, kept)
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
    generator = rng_of(18)
    part = random_problem(3, (2, 2, 2), (9, 9, 4, 1), "none", spread_of_y=6).part
    selection = Selection.empty(part)
    for kept in selection.kept:
        kept[:] = generator.random(kept.shape) < 0.2
    piece = selection.piece()
    before = [kept.copy() for kept in selection.kept]
    price = generator.integers(-9, 10, piece.n_vertices)
    top = generator.integers(-9, 10, 10)
    prices, added = piece.offer(price, top)
    assert added == sum(int(now.sum() - then.sum()) for now, then in zip(selection.kept, before, strict=True)) > 0
    tree, sizes = part.hierarchy, part.max_sizes
    for region in range(tree.n_regions):
        level = int(tree.level_of[region])
        row, first = region - tree.level(level).start, part.first_tail(level)
        y, w = part.tables[level][row], part.w[region]
        above = prices.inner[level - 1][tree.parent[region] - tree.level(level - 1).start] if level else top
        for s in range(sizes[level] + 1):
            leaf = level == tree.n_levels - 1
            own = prices.leaves[row] if leaf else prices.inner[level][row][min(s, sizes[level + 1])]
            if s < first:
                number = piece.numbers[level][row][s]
                assert own == (price[number] if number >= 0 else above[s] - w * (1 - 2 * y[s]))
            elif not before[level][row, s - first]:
                assert selection.kept[level][row, s - first] == (above[s] - own > w * (1 - 2 * y[s]))


@pytest.mark.parametrize(("short", "few"), [(64, 64), (0, 1), (3, 4), (0, 2**62)])
def test_any_prices_and_flows_to_start_from_give_an_optimum(short, few, monkeypatch):
    """By short searches and phases as usual, by phases alone, by some of all, and by unlimited searches alone."""
    monkeypatch.setattr(integers, "_SHORT", short)
    monkeypatch.setattr(integers, "_FEW", few)
    for seed in range(4):
        network = network_of(random_problem(seed, (3, 3, 2), (9, 6, 6, 2), KINDS[seed % 4]))
        best = cheapest_flow(network, np.zeros(network.n_vertices))
        for scale in (0, 5, 200):
            generator = rng_of(13, seed)
            start = generator.normal(0, scale, network.n_vertices)
            for near in (None, generator.integers(-scale, scale + 1, len(network.y)), best.x):
                found = cheapest_flow(network, start, near)
                assert cost_of(network, found.x) == cost_of(network, best.x)
        again = cheapest_flow(network, best.price, best.x)
        assert again.visits == 0
        assert np.array_equal(again.x, best.x)


def cost_of(network, x: np.ndarray) -> int:
    return int(network.w @ (x - network.y) ** 2)


@pytest.mark.parametrize("balanced", [False, True])
def test_relaxed_prices_balance_every_vertex(balanced):
    """By the definition: at these prices arcs carry max(lower, y + d / 2w), and nothing is left over."""
    for seed in range(4):
        network = network_of(random_problem(seed, (3, 4, 2), (30, 9, 9, 2), KINDS[seed % 4]))
        excess = excess_at(network, relaxed_prices(network, None, 1e-8, balanced=balanced))
        assert np.abs(excess[1:]).max() < 1e-8


def excess_at(network, price: np.ndarray) -> np.ndarray:
    excess = network.supply.astype(float)
    for start, end, y, w, free in zip(network.start, network.end, network.y, network.w, network.free, strict=True):
        flow = y + (price[end] - price[start]) / (2 * w)
        flow = flow if free else max(0.0, flow)
        excess[start] -= flow
        excess[end] += flow
    return excess


def test_factors_are_exact_on_a_tree_and_keep_the_sums_of_rows_or_the_diagonal():
    for seed, ups in ((15, 1), (16, 3)):
        network, c, tie = random_network(seed, ups)
        exact, n = laplacian(network, c, tie), network.n_vertices
        z, out = rng_of(seed).random(n), np.empty(n)
        z[0] = 0.0
        kernels.multiply(network.first, network.end, c, tie, z, out)
        assert np.allclose(out[1:], (exact @ z)[1:])
        sums, diagonal = (factored(network.first, network.end, c, tie, keep)[0] for keep in (True, False))
        assert np.allclose(sums.sum(axis=1), exact[1:, 1:].sum(axis=1))
        assert np.allclose(np.diag(diagonal), np.diag(exact)[1:])
        for product in (sums, diagonal):
            assert np.allclose(product, exact[1:, 1:]) is (ups == 1)


def test_the_preconditioner_adds_up_vertices_and_whole_aggregates():
    """By dense matrices: B = F^-1 + P C^-1 P', F and C the products of factors, P the vertices of aggregates."""
    for seed, ups in ((21, 1), (22, 3)):
        network, c, tie = random_network(seed, ups)
        coarse, exact = network.coarse, laplacian(network, c, tie)
        vertices = np.eye(8)[network.aggregate]
        together, conductances, ties = vertices.T @ exact @ vertices, coarse.conductances(c), coarse.ties(tie)
        product, pivot = factored(network.first, network.end, c, tie, False)
        of_coarse, coarse_pivot = factored(coarse.first, coarse.end, conductances, ties, True)
        assert np.allclose(of_coarse.sum(axis=1), together[1:, 1:].sum(axis=1))
        inner = vertices[1:, 1:]
        expected = np.linalg.inv(product) + inner @ np.linalg.inv(of_coarse) @ inner.T
        on_coarse = coarse.aggregate, coarse.first, coarse.end, conductances, coarse_pivot
        found = np.zeros(exact.shape)
        for right, z in zip(np.eye(len(exact))[1:], found[1:], strict=True):
            kernels.precondition(network.first, network.end, c, pivot, *on_coarse, right, z)
        assert np.allclose(found[1:, 1:], expected)
        p, product, z, right = rng_of(seed).normal(size=(4, 12))
        right[0] = product[0] = 0.0
        assert np.isclose(kernels.multiply(network.first, network.end, c, tie, z, p), z[1:] @ exact[1:] @ z)
        assert np.allclose(p[1:], exact[1:] @ z)
        before, rest = z.copy(), right.copy()
        factors = network.first, network.end, c, pivot, *on_coarse
        norm = kernels.advance(*factors, 0.5, p, left := product.copy(), z, rest)
        assert np.allclose(z, before + 0.5 * p)
        assert np.allclose(rest, right - 0.5 * product)
        assert np.allclose(left[1:], expected @ rest[1:])
        assert np.isclose(norm, rest @ left)


def test_steps_do_not_grow_with_the_network(monkeypatch):
    """With public totals of all leaves, where nothing but the root's cells is tied to the ground."""
    steps = []

    def begun(*arguments):
        steps.append(0)
        return solve(*arguments)

    def counted(*arguments):
        steps[-1] += 1
        return multiply(*arguments)

    solve, multiply = relaxation.conjugate_gradients, kernels.multiply
    monkeypatch.setattr(relaxation, "conjugate_gradients", begun)
    monkeypatch.setattr(kernels, "multiply", counted)
    for children in ((2, 2, 3), (4, 4, 4), (6, 6, 6)):
        network = network_of(random_problem(5, children, (40, 40, 40, 5), "leaves", spread_of_y=9))
        steps.clear()
        relaxed_prices(network, None, 1e-6)
        assert len(steps) >= 3
        assert max(steps) <= 5
    alone = replace(network, aggregate=np.arange(network.n_vertices, dtype=np.int32))
    steps.clear()
    relaxed_prices(alone, None, 1e-6)
    assert max(steps) > 10


def test_prices_of_tied_vertices_do_not_run_away():
    """Two units have to leave vertex 2, which no arc leaves, so that no prices balance it."""
    network = FlowNetwork.of([1, 0, 0], [0, 1, 2], [4, 9, 3], [1, 1, 1], [False] * 3, 3, [0, 0, 2])
    exact, tied = (
        relaxed_prices(network, None, 1e-6),
        relaxed_prices(network, None, 1e-6, patience=3, ties=(MOST_TIE, MOST_TIE)),
    )
    assert np.abs(exact).max() > 1e6
    assert np.abs(tied).max() < 1e4


def factored(first, end, c, tie, keep: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give the product of the factors, and their diagonal."""
    n = len(first) - 1
    pivot, inverse = np.empty(n), np.zeros((n, n))
    kernels.factorise(first, end, c, tie, keep, pivot)
    for right, z in zip(np.eye(n), inverse, strict=True):
        kernels.solve(first, end, c, pivot, right, z)
    return np.linalg.inv(inverse[1:, 1:]), pivot


def laplacian(network: FlowNetwork, c: np.ndarray, tie: np.ndarray) -> np.ndarray:
    matrix = np.diag(tie)
    for u, v, conductance in zip(network.start, network.end, c, strict=True):
        matrix[[u, v], [u, v]] += conductance
        matrix[[u, v], [v, u]] -= conductance
    return matrix


def random_network(seed: int, ups: int) -> tuple[FlowNetwork, np.ndarray, np.ndarray]:
    """Make a network of 12 vertices in aggregates of up to three, with random conductances and ties."""
    generator = rng_of(seed)
    arcs = [(v, u) for v in range(2, 12) for u in sorted({int(generator.integers(1, v)) for _ in range(ups)})]
    start, end = np.array([(0, 1), *arcs]).T
    aggregate = [0, 1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 7]
    network = FlowNetwork.of(start, end, 0 * start, 1 + 0 * start, start < 0, 12, aggregate=aggregate)
    return network, generator.random(len(start)), 1e-3 * generator.random(12)
