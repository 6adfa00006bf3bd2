"""M_H in blocks of sizes: the same optimum as in memory, wherever the blocks run."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import naive
import numpy as np
import pytest
from instances import random_tree, scale

from pgsr import CountOfCounts, Estimate, Geometric, Hierarchy, Problem, Seeded, Status, View, certify
from pgsr.algorithms import DaskMap, Threads, TreeProjection
from pgsr.errors import ProblemError
from pgsr.machine.isolation import run_isolated
from pgsr.nation import CountFile, SizeBlocks, StreamedTreeProjection
from pgsr.problems.conditions import cells


def test_equals_tree_projection():
    rng = np.random.default_rng(1)
    for _ in range(scale(100, 2_000)):
        problem = random_problem(rng)
        assert_same(problem, int(rng.integers(1, problem.target.shape[1] + 3)))


def test_weights_equal_tree_projection():
    rng = np.random.default_rng(2)
    for _ in range(scale(100, 2_000)):
        problem = random_problem(rng)
        weights = rng.integers(0, 2 ** int(rng.integers(1, 21)), problem.hierarchy.n_regions)
        weights[problem.hierarchy.leaves] += 1
        assert_same(replace(problem, weights=weights), int(rng.integers(1, 9)))


def test_bounds_of_cells_equal_tree_projection():
    """Structural zeros, fixed counts, minima and maxima in any region; what contradicts is infeasible in both."""
    rng = np.random.default_rng(12)
    solved_ones, impossible = 0, 0
    while solved_ones < scale(60, 1_000) or impossible < 10:
        problem = random_problem(rng)
        tree, conditions = problem.hierarchy, []
        for _ in range(int(rng.integers(1, 6))):
            r, s = int(rng.integers(tree.n_regions)), int(rng.integers(problem.max_size + 1))
            cell, number = cells(tree.paths[r], size=s), int(abs(problem.target[r, s]))
            conditions.append([cell == 0, cell == number, cell <= number, cell >= number // 2][int(rng.integers(4))])
        problem, block = problem.where(*conditions), int(rng.integers(1, 9))
        if TreeProjection().solve(problem).status is Status.INFEASIBLE:
            result = StreamedTreeProjection(block).solve(SizeBlocks.of(problem))
            assert result.status is Status.INFEASIBLE
            assert "bounds" in result.reason
            impossible += 1
        else:
            assert_same(problem, block)
            solved_ones += 1


def test_bounds_of_another_shape_are_named():
    blocks = SizeBlocks.of(random_problem(np.random.default_rng(13)))
    nothing = replace(blocks, bounds=lambda start, stop: (np.zeros(3), np.zeros(3)))
    with pytest.raises(ProblemError, match="two arrays of int64"):
        StreamedTreeProjection().solve(nothing)


def test_ties_across_blocks():
    """All sizes are alike, so the groups that do not divide evenly tie between blocks."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = np.tile([[3], [1], [2]], 12)
    for total, block in itertools.product((1, 5, 36, 41, 100), (1, 2, 5, 12)):
        problem = naive.problem_of(tree, noisy, total)
        result = StreamedTreeProjection(block).solve(SizeBlocks.of(problem))
        assert result.optimal
        assert result.objective == TreeProjection().solve(problem).certificate.objective
        assert (np.diff(result.roots) <= 0).all(), "smaller sizes are served first"


def test_total_zero_negative_and_far_away():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
    noisy = np.array([[3, -1, 4], [2, 2, 0], [0, 5, 1]])
    empty = StreamedTreeProjection(block=2).solve(SizeBlocks.of(naive.problem_of(tree, noisy, 0)))
    assert empty.optimal
    assert empty.objective == (noisy**2).sum()
    negative = SizeBlocks(tree, 3, -1, lambda a, b: noisy[:, a:b])
    assert StreamedTreeProjection().solve(negative).status is Status.INFEASIBLE
    assert_same(naive.problem_of(tree, np.array([[-900, 5], [-800, -9], [-7, -999]]), 10**6), 1)


def test_lone_region():
    tree = Hierarchy.from_parents(["US"], [-1])
    assert_same(naive.problem_of(tree, np.array([[3, -2, 5, 0, 4]]), 7), 2)


def test_large_weights_at_scale():
    """Weights up to 2^20 on 400,000 unknowns: proved by the exchange test, in memory and in blocks."""
    rng = np.random.default_rng(3)
    tree = random_tree(rng, max_regions=2_000, n_levels=3)
    truth = CountOfCounts(tree, rng.poisson(0.7, (tree.n_regions - tree.n_inner, 200)))
    problem = Problem.m_h(Geometric(View.COUNTS, "0.3").measure(truth, Seeded("weights")))
    problem = replace(problem, weights=rng.integers(1, 2**20 + 1, tree.n_regions))
    in_memory = TreeProjection().solve(problem)
    assert in_memory.certificate.bound_by == "exchange test"
    assert in_memory.certificate.optimal
    assert_same(problem, 37)


def test_wider_windows_find_what_narrow_ones_miss(monkeypatch):
    """Windows around the wrong price cannot reach the total; they are widened until the proof succeeds."""
    monkeypatch.setattr("pgsr.nation.size_blocks.SLACK", 40.0)
    rng = np.random.default_rng(4)
    tree = random_tree(rng, max_regions=10, n_levels=2)
    problem = naive.problem_of(tree, rng.integers(-30, 31, (tree.n_regions, 9)), 500)
    assert_same(problem, 4)
    assert (
        StreamedTreeProjection(4).solve(SizeBlocks.of(problem)).passes == 4
    )  # price, windows of 1 fail, wider, answer


def test_files_of_counts(tmp_path):
    problem = random_problem(np.random.default_rng(5))
    noisy = CountFile.create(tmp_path / "noisy.npy", *problem.target.shape)
    noisy.write(0, problem.target.shape[1], problem.target)
    np.save(tmp_path / "other_order.npy", problem.target)
    answer = CountFile.create(tmp_path / "answer.npy", *problem.target.shape)
    for file in (noisy, CountFile(str(tmp_path / "other_order.npy"))):
        blocks = replace(SizeBlocks.of(problem), read=file.read)
        assert StreamedTreeProjection(block=3).solve(blocks, answer.write).optimal
        x = answer.read(0, problem.target.shape[1])
        assert certify(problem, Estimate(problem.hierarchy, View.COUNTS, x)).optimal


def test_every_mapper_gives_the_same_integers():
    problem = random_problem(np.random.default_rng(6))
    expected = solved(problem, StreamedTreeProjection(block=2, map=map))
    with ThreadPoolExecutor(2) as pool:
        for mapper in (Threads(), Threads(3), pool.map):
            assert (solved(problem, StreamedTreeProjection(block=2, map=mapper)) == expected).all()


@pytest.mark.drawn(1, pool="memory of a nation")
def test_dask_gives_the_same_integers(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'cluster': pip install .[cluster]")
    problem = random_problem(np.random.default_rng(7))
    expected = solved(problem, StreamedTreeProjection(block=2))
    answer = CountFile.create(tmp_path / "answer.npy", *problem.target.shape)
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        result = StreamedTreeProjection(block=2, map=DaskMap(client)).solve(SizeBlocks.of(problem), answer.write)
    assert result.optimal
    assert (answer.read(0, problem.target.shape[1]) == expected).all()


@pytest.mark.drawn(1, pool="memory of a nation")
def test_memory_is_bounded():
    """6,000 leaves: counts and answer of 1,000 sizes would fill 97 MB, 78 MB more than of 200, working arrays apart."""
    assert run_isolated(solve_large).error == ""
    small, large = (run_isolated(partial(solve_large, n)) for n in (200, scale(1_000, 2_000)))
    assert large.error == ""
    assert large.value
    assert large.peak_bytes - small.peak_bytes < 60e6


def test_refuses_what_it_cannot_read():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
    for read in (lambda a, b: np.zeros((2, b - a), np.int64), lambda a, b: np.zeros((3, b - a))):
        with pytest.raises(ProblemError, match="give int64 of shape"):
            StreamedTreeProjection(block=2).solve(SizeBlocks(tree, 4, 3, read))
    with pytest.raises(ProblemError, match="blocks of 0 sizes"):
        StreamedTreeProjection(block=0).solve(SizeBlocks(tree, 4, 3, lambda a, b: np.zeros((3, b - a), np.int64)))
    huge = SizeBlocks(tree, 4, 3, lambda a, b: np.full((3, b - a), 2**51))
    assert StreamedTreeProjection().solve(huge).status is Status.TOO_LARGE
    slow = SizeBlocks(tree, 4, 3, lambda a, b: np.ones((3, b - a), np.int64))
    assert StreamedTreeProjection().solve(slow, time_limit=1e-9).status is Status.TIMED_OUT


def assert_same(problem: Problem, block: int) -> None:
    """The streamed answer is feasible, proved, and as good as the one in memory."""
    x, sink = collector(problem)
    result = StreamedTreeProjection(block).solve(SizeBlocks.of(problem), sink)
    certificate = certify(problem, Estimate(problem.hierarchy, View.COUNTS, x))
    assert result.optimal
    assert certificate.optimal
    assert result.bound == result.objective == certificate.objective
    assert result.objective == TreeProjection().solve(problem).certificate.objective
    assert (x[0] == result.roots).all()


def solved(problem: Problem, method: StreamedTreeProjection) -> np.ndarray:
    x, sink = collector(problem)
    assert method.solve(SizeBlocks.of(problem), sink).optimal
    return x


def collector(problem: Problem):
    """An array for the answer, and the sink that fills it."""
    x = np.full(problem.target.shape, -1)

    def sink(start, stop, values):
        x[:, start:stop] = values

    return x, sink


def random_problem(rng: np.random.Generator) -> Problem:
    tree = random_tree(rng, max_regions=25)
    noisy = rng.integers(-9, 30, (tree.n_regions, int(rng.integers(2, 14))))
    return naive.problem_of(tree, noisy, int(rng.integers(0, 300)))


def solve_large(n_sizes: int = 128) -> bool:
    tree = Hierarchy.from_paths([("US", f"state {i % 60}", f"county {i}") for i in range(6_000)])

    def read(start, stop):
        rows = [np.random.default_rng([size, 1]).integers(-6, 8, tree.n_regions) for size in range(start, stop)]
        return np.ascontiguousarray(np.stack(rows, axis=1))

    problem = SizeBlocks(tree, n_sizes, 1_000 * n_sizes, read)
    return StreamedTreeProjection(block=64).solve(problem, lambda start, stop, x: None).optimal
