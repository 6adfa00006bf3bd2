"""The complexities that Fioretto and Van Hentenryck state of the dynamic program, by counted operations, not seconds.

Theorem 1: as many sub-problems as regions x sizes x values of a table, D. Theorem 3: one table in O(D log D).
What is counted is the program itself at work: a step that counts hands on to its own, and its heap and its sort compare
numbers that count comparisons. Whatever else a table takes is linear: every entry of a child is read.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from math import log2

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, Problem
from pgsr.algorithms import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.cost_tables import steps
from pgsr.algorithms.cost_tables.steps import Combined, CostTableList, Step
from pgsr.algorithms.cost_tables.windows import domains
from pgsr.methods.gate import Deadline

WINDOWS = (16, 32, 64, 128, 256, 512)
"""Half-widths delta; a table has D = 2 delta + 1 values."""


@dataclass(frozen=True)
class Watched:
    """Computes phi by another step, and notes how many values of phi were asked for, and how many entries were read."""

    step: Step = field(default_factory=SlopeMerge)
    solved: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)

    def unavailable(self) -> None:
        return None

    def combine(self, tables: CostTableList, low: int, high: int, deadline: Deadline) -> Combined:
        self.solved.append(high - low + 1)
        self.read.append(len(tables.costs))
        return self.step.combine(tables, low, high, deadline)


def subproblems(problem: Problem, window: int | None) -> tuple[int, int]:
    """Solve, and count the sub-problems (values of inner regions, and one of the root above all sizes) and entries."""
    watched = Watched()
    assert CostTables(window, watched).solve(problem).certificate.feasible
    return sum(watched.solved), sum(watched.read)


def uncut(tree: Hierarchy, n_sizes: int) -> Problem:
    """Make a problem in which no window is cut off by 0, by the total, or by what children reach."""
    noisy = tree.sum_up(np.full((tree.n_regions - tree.n_inner, n_sizes), 10_000))
    return naive.problem_of(tree, noisy, int(noisy[0].sum()))


def full_tree(states: int, counties: int) -> Hierarchy:
    return Hierarchy.from_paths([("US", f"s{i}", f"c{i}.{j}") for i in range(states) for j in range(counties)])


@pytest.mark.parametrize(("states", "counties"), [(2, 2), (4, 2), (8, 4)])
def test_as_many_subproblems_as_regions_times_sizes_times_values(states: int, counties: int):
    """Theorem 1 to the unit: every region has a table per size, of D entries, and the root above all has one value."""
    tree = full_tree(states, counties)
    for n_sizes in (2, 4, 8):  # of a single size, G would cut the window of the root
        for window in (1, 8, 64):
            values = 2 * window + 1
            solved, entries = subproblems(uncut(tree, n_sizes), window)
            assert entries == tree.n_regions * n_sizes * values
            assert solved == tree.n_inner * n_sizes * values + 1


def test_never_more_subproblems_than_regions_times_sizes_times_values():
    """Theorem 1 where windows are cut: D is the widest of them."""
    rng, cut = rng_of(1), 0
    for _ in range(scale(25, 1_000)):
        tree, n_sizes = random_tree(rng, max_regions=15), int(rng.integers(2, 6))
        problem = naive.problem_of(tree, rng.integers(-20, 60, (tree.n_regions, n_sizes)), int(rng.integers(0, 150)))
        for window in (0, 3, 30, None):
            widest = int(domains(problem, window).widths.max())
            solved, entries = subproblems(problem, window)
            assert solved + entries <= 2 * tree.n_regions * n_sizes * widest + 1
            cut += entries < tree.n_regions * n_sizes * widest
    assert cut > 4


class Count(int):
    """An integer that counts how often any of them is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Count.compared += 1
        return int(self) < int(other)


class Offer(tuple):
    """An offer on the heap that counts how often any of them is compared."""

    def __lt__(self, other: tuple) -> bool:
        Count.compared += 1
        return tuple(self) < tuple(other)


Counter = Callable[[Callable[[], object], pytest.MonkeyPatch], int]


def compared_by_the_heap(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often the heap of `SlopeGreedy` compares two offers in a run."""
    push, pop = heapq.heappush, heapq.heappop
    with monkeypatch.context() as patch:
        patch.setattr(steps.heapq, "heappush", lambda heap, offer: push(heap, Offer(offer)))
        patch.setattr(steps.heapq, "heappop", lambda heap: tuple(pop(heap)))
        return _counted(run)


def compared_by_the_sort(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often the stable sort of `SlopeMerge` compares two slopes in a run; here they are Python objects."""
    sort = np.argsort

    def counting(slopes: np.ndarray, kind: str) -> np.ndarray:
        return sort(np.array([Count(slope) for slope in slopes], object), kind=kind)

    with monkeypatch.context() as patch:
        patch.setattr(steps.np, "argsort", counting)
        return _counted(run)


def _counted(run: Callable[[], object]) -> int:
    Count.compared = 0
    run()
    return Count.compared


def children(n: int, window: int) -> tuple[CostTableList, int, int, Deadline]:
    """Make n leaves' tables with windows around random counts, and the window of their parent."""
    y = rng_of(n).integers(1_000, 2_000, n)
    tables = CostTableList.quadratic(y, np.ones(n, np.int64), y - window, y + window)
    return tables, int(y.sum()) - window, int(y.sum()) + window, Deadline()


def try_all(tables: CostTableList, low: int, high: int, deadline: Deadline) -> list[int]:
    """Compute phi child by child, where every value tries all values of the next child."""
    del deadline
    costs = [0]
    for table in tables:
        best: list[int | None] = [None] * (len(costs) + len(table) - 1)
        for i, j in product(range(len(costs)), range(len(table))):
            paid = Count(costs[i] + table[j])
            if best[i + j] is None or paid < best[i + j]:
                best[i + j] = paid
        costs = best
    return costs[low - int(tables.low.sum()) :][: high - low + 1]


def of_order_d_log_d(counts: Sequence[int], values: Sequence[int]) -> bool:
    """Tell whether counts grow like D log D or less: their ratio does not rise while D doubles time and again."""
    ratios = [n / (d * log2(d)) for n, d in zip(counts, values, strict=True)]
    return all(later <= earlier for earlier, later in pairwise(ratios))


@pytest.mark.parametrize("n", [2, 3, 15])
@pytest.mark.parametrize(
    ("step", "counter"), [(SlopeGreedy(), compared_by_the_heap), (SlopeMerge(), compared_by_the_sort)]
)
def test_a_table_takes_d_log_d_comparisons(step: Step, counter: Counter, n: int, monkeypatch: pytest.MonkeyPatch):
    """Theorem 3: as printed, by a heap of the children, and by the sort of all their slopes that takes its place here.

    The logarithm is that of the number of children, which the docstrings of both steps say; D is larger.
    """
    values = [2 * window + 1 for window in WINDOWS]
    counts = [counter(partial(step.combine, *children(n, window)), monkeypatch) for window in WINDOWS]
    assert of_order_d_log_d(counts, values)
    read = 1 if counter is compared_by_the_heap else n  # the sort looks at all entries of all children
    for d, count in zip(values, counts, strict=True):
        assert read * d / 2 <= count <= 2.5 * read * d * log2(n)
        assert log2(n) < log2(d)


def test_a_step_that_tries_all_values_is_found_out(monkeypatch: pytest.MonkeyPatch):
    """The same measure tells a table in D^2 from one in D log D."""
    windows = WINDOWS[:3]
    tables = children(3, windows[0])
    assert try_all(*tables) == SlopeGreedy().combine(*tables).costs.tolist()
    counts = [_counted(partial(try_all, *children(3, window))) for window in windows]
    assert not of_order_d_log_d(counts, [2 * window + 1 for window in windows])
