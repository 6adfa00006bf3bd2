"""The solution of M_H for hierarchies beyond memory, by blocks of sizes, on one machine or a cluster."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.algorithms.m_h.projection import TreeProjection
from pgsr.certificates import EXCHANGE_TEST, objective, violations
from pgsr.checks import checked_limit
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.engines.nearest_tree.bounded_trees import MixedTrees, bracketed_root_price
from pgsr.engines.nearest_tree.bounds import NO_BOUND, Intervals
from pgsr.engines.nearest_tree.exchange import AtBounds, exchange_prices
from pgsr.engines.nearest_tree.integers import SLACK, WIDEST
from pgsr.engines.nearest_tree.size_trees import RootDemand, SizeTrees, Windows, root_price
from pgsr.errors import ProblemError
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper, Threads, spans
from pgsr.methods.gate import Deadline, Stopped
from pgsr.methods.method import Status
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions import Conditions
from pgsr.problems.problem import Problem

Read = Callable[[int, int], np.ndarray]
"""read(start, stop): noisy counts of sizes start..stop-1 in all regions, int64, shape (regions, stop - start). It must
give the same counts whenever it is asked, and may be called from threads or, once unpickled, from other processes."""

Write = Callable[[int, int, np.ndarray], object]
"""write(start, stop, x): takes the answer of these sizes, in no order, where they were solved. Where wider windows were
needed it is called again; the last call counts."""

ReadBounds = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""bounds(start, stop): the least and the largest counts of these cells, as `Read`; beyond 2^50 where there is none."""

_BLOCK_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class SizeBlocks:
    """An M_H problem with the root's total, whose noisy counts are read block by block of sizes.

    Attributes:
        hierarchy: the regions.
        n_sizes: number of sizes, K + 1.
        total: public number of groups of the root.
        read: see `Read`; `CountFile(path).read`, or any function, which may draw the noise as it goes.
        weights: non-negative integers, shape (regions,), as in `Problem`; 1 where None.
        bounds: see `ReadBounds`; None where cells have none.
    """

    hierarchy: Hierarchy
    n_sizes: int
    total: int
    read: Read
    weights: np.ndarray | None = None
    bounds: ReadBounds | None = None

    @classmethod
    def of(cls, problem: Problem) -> "SizeBlocks":
        """Make the blocks of an M_H problem in memory."""
        reason = TreeProjection().supports(problem)
        if reason is None and not (problem.integer and problem.totals is Totals.ROOT):
            reason = f"{problem.label} is relaxed or has no total"
        if reason is not None:
            raise ProblemError(f"streams are of M_H in integers with the root's total, not of {problem!r}: {reason}")
        target, stated = problem.target, problem.conditions
        bounds = None if stated is None else partial(_bounds, stated.lower, stated.upper)
        return cls(problem.hierarchy, target.shape[1], problem.root_total, partial(_columns, target), problem.w, bounds)

    @property
    def n_unknowns(self) -> int:
        return self.hierarchy.n_regions * self.n_sizes


@dataclass(frozen=True)
class CountFile:
    """A .npy file of the counts of all regions and sizes, of which blocks of sizes are read and written.

    `create` lays the file out size by size, so that a block is one piece of the file. Files in the other order are read
    as well, in as many pieces as there are regions.

    Example:
        >>> import tempfile
        >>> file = CountFile.create(f"{tempfile.mkdtemp()}/x.npy", n_regions=3, n_sizes=4)
        >>> file.write(1, 3, np.arange(6).reshape(3, 2))
        >>> file.read(0, 3)
        array([[0, 0, 1],
               [0, 2, 3],
               [0, 4, 5]])
    """

    path: str

    @classmethod
    def create(cls, path: str | Path, n_regions: int, n_sizes: int) -> "CountFile":
        """Make a file of zeros; an older one is replaced."""
        np.lib.format.open_memmap(path, "w+", np.int64, (n_regions, n_sizes), fortran_order=True)
        return cls(str(path))

    # The file is mapped anew for every block, because pages of a mapping count as memory for as long as it lives.

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.array(np.load(self.path, mmap_mode="r")[:, start:stop], order="C")

    def write(self, start: int, stop: int, x: np.ndarray) -> None:
        np.load(self.path, mmap_mode="r+")[:, start:stop] = x


@dataclass(frozen=True)
class StreamedResult:
    """The outcome of a streamed solve, without the answer, which went to the sink.

    Attributes:
        status: OPTIMAL if every block is feasible, adds up to the total and no exchange within or across blocks pays;
            INFEASIBLE where bounds contradict each other or the total.
        objective: exact; None without an answer.
        bound: no feasible point has a smaller objective; the objective itself where it is proved optimal.
        bound_by: the argument that shows the bound, or "".
        roots: the root's count per size, shape (sizes,); None without an answer.
        violations: number of violated conditions by kind.
        passes: how often all blocks were read.
        seconds: wall time.
        peak_bytes: most memory this process ever held; workers of a cluster hold theirs besides.
    """

    status: Status
    reason: str = ""
    objective: int | None = None
    bound: int | None = None
    bound_by: str = ""
    roots: np.ndarray | None = None
    violations: dict[str, int] | None = None
    passes: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0

    @property
    def optimal(self) -> bool:
        return self.status is Status.OPTIMAL


@dataclass(frozen=True)
class StreamedTreeProjection:
    """A `TreeProjection` for data in blocks of sizes: the same proved integer optimum in bounded memory.

    Bounds of cells are read in blocks, too, and as exact as there: structural zeros, fixed counts, minima, maxima.

    Sizes meet only in the root's total. One price of the root couples them, and Newton's method finds it: each pass
    reads every block once, solves its trees at the price of that pass, and returns what the roots take, how it changes
    with the price, and the windows of `Windows` with what the root charges for each group in them: a few numbers per
    size. Once the price is near enough the cheapest groups over all sizes are chosen from the windows of the last
    pass, and a final pass solves every block with these root counts and hands it to the sink.

    The proof is the exchange test (`pgsr.certificates.exchange`), in exact integers. Each block is tested on its own,
    and gives the largest saving L of one group less at the root and the smallest cost R of one more; across all blocks
    max L <= min R completes it. Where it fails windows are widened.

    Args:
        block: sizes at a time; about a million cells if None, 128 sizes at least. Any number gives an optimum, though
            ties may then be broken otherwise.
        map: where blocks run: `Threads()`, the builtin `map`, an `Executor.map`, `DaskMap(client)`. Elsewhere than in
            this process `read` and the sink are pickled.

    Complexity: O(regions x sizes) per pass, 4 to 7 of them. Memory: about 50 bytes per cell of the blocks in work, one
    per thread, and O(sizes) besides.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> noisy = np.array([[4, 1, 3, -1, 1], [3, 1, 0, -1, 0], [0, 1, 2, 0, -1]])
        >>> problem = SizeBlocks(tree, 5, 6, lambda start, stop: noisy[:, start:stop])
        >>> result = StreamedTreeProjection(block=2).solve(problem)
        >>> result.optimal, result.objective, result.roots
        (True, 7, array([3, 1, 2, 0, 0]))

    Shown equal to `TreeProjection` by `tests/test_nation_size_blocks.py::test_equals_tree_projection`.
    """

    block: int | None = None
    map: Mapper = field(default_factory=Threads)

    def solve(self, problem: SizeBlocks, sink: Write | None = None, time_limit: float | None = None) -> StreamedResult:
        """Solve, and hand every block of the answer to `sink`.

        Raises:
            ProblemError: a block has another shape than it should, or weights do not fit.
        """
        deadline = Deadline(checked_limit(time_limit))
        blocks = spans(problem.n_sizes, self._block(problem))
        stream = _Stream(_Part.of(problem), problem.hierarchy, problem.total, self.map, blocks)
        try:
            result = stream.solve(sink, deadline)
        except Stopped as stopped:
            result = StreamedResult(stopped.status, stopped.reason)
        return replace(result, passes=stream.passes, seconds=deadline.spent, peak_bytes=peak_memory())

    def _block(self, problem: SizeBlocks) -> int:
        from pgsr.engines.nearest_tree.kernel import CHUNK

        if self.block is not None and self.block < 1:
            raise ProblemError(f"blocks of {self.block} sizes; give 1 or more, or None")
        return self.block or CHUNK * max(1, _BLOCK_CELLS // (CHUNK * problem.hierarchy.n_regions))


_NO_DEMAND = RootDemand(np.empty(0), np.empty(0), 0)


@dataclass(frozen=True, eq=False)
class _Priced:
    """The results of one block at one price of the root; windows are missing at an infinite price."""

    demand: RootDemand
    windows: Windows | None
    too_large: str | None = None
    conflict: tuple[int, int] | None = None
    """The first size and region whose bounds nothing satisfies."""
    reach: tuple[int, int] = (0, NO_BOUND)
    """The least and the largest number of groups that bounds allow in these sizes."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """The objective of one block of the answer, and the ends of its exchange test; None if an exchange in it pays."""

    objective: int
    violations: dict[str, int]
    ends: tuple[int, int] | None


@dataclass(eq=False)
class _Stream:
    """The state of one solve: what is known of all blocks together."""

    part: "_Part"
    tree: Hierarchy
    total: int
    map: Mapper
    spans: list[tuple[int, int]]
    passes: int = 0
    windows: Windows | None = None

    def solve(self, sink: Write | None, deadline: Deadline) -> StreamedResult:
        if self.total < 0:
            return StreamedResult(Status.INFEASIBLE, "no non-negative counts add up to a negative public total")
        root, width = None, 1
        if self.part.bounds is not None:
            root = bracketed_root_price(partial(self._ask, 1, deadline), self.total, SLACK)
        elif self.total > 0:  # otherwise there is one feasible point, and no price finds it
            root = root_price(partial(self._ask, 1, deadline), self.total, SLACK)
        while True:
            roots = self._roots()
            if roots is not None:
                judged = self._map(partial(self.part.finish, root, width, sink), self._with(roots))
                result = _summary(judged, roots, self.total)
                if result.optimal or root is None:
                    return result
            if width > WIDEST:
                return StreamedResult(Status.FAILED, f"no certified optimum in windows of {width:,} counts")
            width = 2 * width + 1
            assert root is not None
            self._ask(width, deadline, root)

    def _ask(self, width: int, deadline: Deadline, root: float) -> RootDemand:
        deadline.check("no certified optimum")
        parts = self._map(partial(self.part.price, root, width), self.spans)
        reason = next((part.too_large for part in parts if part.too_large), None)
        if reason is not None:
            raise Stopped(Status.TOO_LARGE, reason)
        self._require_possible(parts)
        self.windows = None
        if np.isfinite(root):
            self.windows = Windows.joined(part.windows for part in parts if part.windows is not None)
        return RootDemand.joined(part.demand for part in parts)

    def _require_possible(self, parts: list["_Priced"]) -> None:
        conflict = next((part.conflict for part in parts if part.conflict is not None), None)
        if conflict is not None:
            size, region = conflict
            where = f"region {region_id(self.tree.paths[region])}, size {size:,}"
            raise Stopped(Status.INFEASIBLE, f"{where}: no count satisfies its bounds and those of regions below")
        least, most = (sum(part.reach[side] for part in parts) for side in (0, 1))
        if not least <= self.total <= most:
            root = region_id(self.tree.paths[0])
            side = f"at least {least:,}" if self.total < least else f"at most {most:,}"
            reason = f"the bounds allow {side} groups in {root}, whose public total is {self.total:,}"
            raise Stopped(Status.INFEASIBLE, reason)

    def _roots(self) -> np.ndarray | None:
        if self.total == 0 and self.part.bounds is None:
            return np.zeros(self.spans[-1][1], np.int64)
        assert self.windows is not None
        return self.windows.cheapest(self.total)

    def _with(self, roots: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
        return [(start, stop, roots[start:stop]) for start, stop in self.spans]

    def _map(self, function: Callable[[Any], Any], items: list) -> list[Any]:
        self.passes += 1
        return list(self.map(function, items))


@dataclass(frozen=True, eq=False)
class _Part:
    """The part of a problem that a block needs, small enough to be sent with every task: the tree has no names."""

    tree: Hierarchy
    weights: np.ndarray
    read: Read
    bounds: ReadBounds | None

    @classmethod
    def of(cls, problem: SizeBlocks) -> "_Part":
        tree = problem.hierarchy
        nameless = replace(tree, paths=((),) * tree.n_regions)
        weights = np.ones(tree.n_regions, np.int64) if problem.weights is None else problem.weights
        # Problem checks the weights, and takes out copies of regions on levels above their own.
        w = _problem(nameless, np.zeros((tree.n_regions, 1), np.int64), weights).w
        return cls(nameless, w, problem.read, problem.bounds)

    def price(self, root: float, width: int, span: tuple[int, int]) -> _Priced:
        y = self._counts(*span)
        reason = _problem(self.tree, y, self.weights).exceeds_arithmetic
        if reason is not None:
            return _Priced(_NO_DEMAND, None, reason)
        limits = self._limits(*span)
        intervals = None if limits is None else Intervals.of(self.tree, *limits)
        if intervals is not None and intervals.conflict is not None:
            position, region = intervals.conflict
            return _Priced(_NO_DEMAND, None, conflict=(span[0] + int(intervals.sizes[position]), region))
        trees = self._trees(y, intervals)
        demand, below = trees.prices_at(root)
        windows = trees.merge(below, width).root if np.isfinite(root) else None
        reach = (0, NO_BOUND) if intervals is None else intervals.reachable_totals(y.shape[1])
        return _Priced(demand, windows, reach=reach)

    def finish(self, root: float | None, width: int, sink: Write | None, item: tuple[int, int, np.ndarray]) -> _Judged:
        start, stop, roots = item
        y, limits = self._counts(start, stop), self._limits(start, stop)
        x = np.zeros_like(y)
        if root is not None:
            trees = self._trees(y, None if limits is None else Intervals.of(self.tree, *limits))
            x = trees.merge(trees.prices_at(root)[1], width).distribute(roots)
        judged = _judged(_problem(self.tree, y, self.weights, limits), x)
        if sink is not None:
            sink(start, stop, x)
        return judged

    def _trees(self, y: np.ndarray, intervals: Intervals | None) -> Any:
        """Make the trees of a block, some with bounds or none; they run in one thread, because blocks are shared."""
        if intervals is None or not len(intervals.sizes):
            return SizeTrees.of(self.tree, y, self.weights, map)
        return MixedTrees.of(self.tree, y, self.weights, intervals, map)

    def _limits(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray] | None:
        if self.bounds is None:
            return None
        limits = tuple(np.asarray(part) for part in self.bounds(start, stop))
        wanted = self.tree.n_regions, stop - start
        if len(limits) != 2 or any(part.shape != wanted or part.dtype != np.int64 for part in limits):
            raise ProblemError(f"bounds({start}, {stop}) gave no two arrays of int64 of shape {wanted}; give these")
        return limits[0], limits[1]

    def _counts(self, start: int, stop: int) -> np.ndarray:
        y = np.asarray(self.read(start, stop))
        if y.shape != (self.tree.n_regions, stop - start) or y.dtype != np.int64:
            raise ProblemError(
                f"read({start}, {stop}) gave {y.dtype} of shape {y.shape}; give int64 of shape "
                f"({self.tree.n_regions}, {stop - start})"
            )
        return y


def _judged(problem: Problem, x: np.ndarray) -> _Judged:
    """Compute the certificate from data and answer alone, as `certify` does."""
    estimate, stated = Estimate(problem.hierarchy, View.COUNTS, x), problem.conditions
    bounds = (None, None) if stated is None else (stated.lower, stated.upper)
    at_bounds = AtBounds.find(x, *bounds).of(slice(0, x.shape[1]))
    ends = exchange_prices(problem.hierarchy, problem.w, x, problem.target, at_bounds)
    return _Judged(int(objective(problem, estimate)), violations(problem, estimate), ends)


def _summary(blocks: list[_Judged], roots: np.ndarray, total: int) -> StreamedResult:
    value = sum(block.objective for block in blocks)
    violated = {kind: sum(block.violations[kind] for block in blocks) for kind in blocks[0].violations}
    violated["totals"] = int(int(roots.sum()) != total)
    ends = [block.ends for block in blocks]
    proved = (
        not any(violated.values())
        and all(end is not None for end in ends)
        and max(end[0] for end in ends if end) <= min(end[1] for end in ends if end)
    )
    if not proved:
        return StreamedResult(Status.FAILED, "the exchange test refutes the answer", value, None, "", roots, violated)
    return StreamedResult(Status.OPTIMAL, "", value, value, EXCHANGE_TEST, roots, violated)


def _problem(
    tree: Hierarchy, y: np.ndarray, weights: np.ndarray, limits: tuple[np.ndarray, np.ndarray] | None = None
) -> Problem:
    """Make one block a problem without a total of its own."""
    problem = Problem.of(y, tree, weights=weights, label="M_H")
    if limits is None:
        return problem
    stated = replace(Conditions.none(*y.shape), lower=limits[0], upper=limits[1], sources=None)
    return replace(problem, conditions=stated)


def _bounds(lower: np.ndarray, upper: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    return _columns(lower, start, stop), _columns(upper, start, stop)


def _columns(target: np.ndarray, start: int, stop: int) -> np.ndarray:
    return np.ascontiguousarray(target[:, start:stop])
