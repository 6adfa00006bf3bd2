"""M_H with sizes per level for a nation that is kept apart by state: noise, solution and answer part by part."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from pgsr.accounting.spending import Ledger
from pgsr.algorithms.m_h_levels.certificate import LevelPrices, judged, violations
from pgsr.algorithms.m_h_levels.joined import Upper
from pgsr.algorithms.m_h_levels.parts import Outcome
from pgsr.algorithms.m_h_levels.problem import UNKNOWN, LevelProblem
from pgsr.algorithms.m_h_levels.solving_parts import Solved, solve_parts
from pgsr.checks import require_kind, require_source
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import ProblemError
from pgsr.hierarchy import Hierarchy
from pgsr.isolation import peak_memory
from pgsr.measurement import Totals
from pgsr.noise import NoiseStep, measure_by_level, require_by_level, require_view
from pgsr.parallel import Mapper
from pgsr.partitions import Engine, Partitions
from pgsr.random import Source
from pgsr.solving import Deadline
from pgsr.views import View

UPPER = "above"
"""The key of the tables of the levels above the parts."""

KINDS = {View.COUNTS: "noisy", View.CUMULATIVE: "cumulative"}
"""What the tables of noisy values are called."""


class Tree(Protocol):
    """The public side of a hierarchy in parts. It must be possible to pickle it where parts run elsewhere."""

    @property
    def name(self) -> str:
        """The name of the data set, by which noise is keyed."""
        ...

    @property
    def keys(self) -> Sequence[str]:
        """What parts are called, in the order of the last level of `upper`."""
        ...

    @property
    def upper(self) -> Hierarchy:
        """The regions from the root to the roots of the parts, which are its last level."""
        ...

    @property
    def max_sizes(self) -> tuple[int, ...]:
        """The largest sizes of all levels, root first."""
        ...

    def tree(self, key: str) -> Hierarchy:
        """Give the regions of a part, from its root down."""
        ...


class Truth(Tree, Protocol):
    """The exact counts of a hierarchy in parts; only the noise step sees them."""

    def part(self, key: str) -> CountsByLevel:
        """Give the counts of a part, from its root down."""
        ...

    def above(self) -> CountsByLevel:
        """Give the counts from the root to the roots of the parts."""
        ...


def measure(
    truth: Truth,
    partitions: Partitions,
    noise: NoiseStep,
    source: Source,
    engine: Mapper | None = None,
    ledger: Ledger | None = None,
    totals_of: int | None = None,
) -> None:
    """Measure all levels with noise, part by part, and write the noisy counts and the public totals.

    The ledger is charged once, before anything else. Parts that have been written are left alone, so that an
    interrupted run goes on; under seeded noise a part that is tried again gets the same noise. To go on with an
    interrupted run, leave the ledger out: the first call has charged it.

    Tables are called noisy-l for counts of level l, cumulative-l for cumulative counts, and totals-l where the
    numbers of groups of its regions are public.

    Args:
        totals_of: the level whose regions' numbers of groups are to be used as public ones, such as that of the states;
            of the last level they say those of all. If None the root's alone is used.

    Raises:
        BudgetError: the shares do not fit the levels, a level would get nothing, or the ledger lacks epsilon.
        ProblemError: the noise is of another view, or it is to pay for totals; `totals_of` is a level above the
            parts, or the noise says that the root's total alone is public.
    """
    require_source(source)
    require_by_level(noise, truth.max_sizes)
    if totals_of is not None and noise.totals is Totals.ROOT:
        raise ProblemError("the noise says that the root's total alone is public; give it totals='regions'")
    if totals_of is not None and not truth.upper.n_levels - 1 <= totals_of < len(truth.max_sizes):
        raise ProblemError(
            f"totals_of={totals_of}; give a level from {truth.upper.n_levels - 1}, that of the parts, to "
            f"{len(truth.max_sizes) - 1}, the last"
        )
    if ledger is not None:
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
        ledger.charge(noise.cost, "measuring counts by level")
    kind, last = KINDS[require_view(noise)], len(truth.max_sizes) - 1
    names = [f"{kind}-{level}" for level in range(truth.upper.n_levels - 1)]
    if not all(partitions.has(UPPER, name) for name in ("total", *names)):
        above = truth.above()
        shared = CountsByLevel(above.hierarchy.down_to(above.hierarchy.n_levels - 2), above.tables[:-1])
        noisy = measure_by_level(noise, shared, source, truth.name, 0, truth.max_sizes)
        _write_new(partitions, UPPER, kind, noisy, 0)
        partitions.write(UPPER, "total", above.tables[0].sum(keepdims=True, dtype=np.int64))
    left = [key for key in truth.keys if not partitions.has(key, f"{kind}-{last}")]
    for _ in (engine or Engine())(partial(_measure_part, truth, partitions, noise, source, totals_of), left):
        pass


def _measure_part(
    truth: Truth, partitions: Partitions, noise: NoiseStep, source: Source, totals_of: int | None, key: str
) -> None:
    first, exact = truth.upper.n_levels - 1, truth.part(key)
    if totals_of is not None:
        of_regions = exact.tables[totals_of - first].sum(axis=1, keepdims=True, dtype=np.int64)
        partitions.write(key, f"totals-{totals_of}", of_regions)
    noisy = measure_by_level(noise, exact, source, truth.name, first, truth.max_sizes)
    _write_new(partitions, key, KINDS[require_view(noise)], noisy, first)


def _write_new(partitions: Partitions, key: str, kind: str, noisy: CountsByLevel, first_level: int) -> None:
    """Write the tables that are not there: what a broken attempt wrote may have been seen, and secure noise differs."""
    for level, table in enumerate(noisy.tables, first_level):
        if not partitions.has(key, f"{kind}-{level}"):
            partitions.write(key, f"{kind}-{level}", table)


@dataclass(frozen=True)
class StreamedLevelResult:
    """The outcome of a streamed solve, without the answer, which was written.

    Attributes:
        optimal: whether every part and the upper levels are feasible, and prices prove every cell best.
        objective: exact.
        violations: number of violated conditions by kind.
        passes: how often every part was read.
        n_cells: of all tables.
        n_arcs: cells that were in the network at the end.
        seconds: wall time without compilation.
        peak_bytes: most memory this process ever held.
    """

    optimal: bool
    objective: int
    violations: dict[str, int]
    passes: int
    n_cells: int
    n_arcs: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class StreamedLevelTreeProjection:
    """A `LevelTreeProjection` for a hierarchy in parts: the same proved integer optimum, one part in memory at a time.

    What lies below a region of some level, say a state, is a part: its choice of cells, its prices, its answer and its
    judgement. Between parts travel the cells that are worth looking at, and prices. The root's total is public.
    Answers are written as counts-l for level l.

    Attributes:
        engine: where parts are asked.

    Memory: about 100 bytes per cell that is worth looking at, 30 per cell of the parts in work.

    Shown equal to `LevelTreeProjection` by `tests/test_m_h_levels_streaming.py::test_equals_the_whole`.
    """

    engine: Mapper = field(default_factory=Engine)

    def solve(self, tree: Tree, partitions: Partitions) -> StreamedLevelResult:
        """Solve what `measure` wrote, and write the answer."""
        deadline, upper, stored = Deadline(), tree.upper, _Stored(tree, partitions)
        total = None if stored.levels_known() else int(partitions.read(UPPER, "total")[0, 0])
        first = upper.n_levels - 1
        noisy = [partitions.read(UPPER, f"noisy-{level}") for level in range(first)]
        roots = np.zeros((len(tree.keys), tree.max_sizes[first] + 1), np.int64)
        problem = LevelProblem(CountsByLevel(upper, (*noisy, roots)), total=total)
        above = Upper.of(problem)
        solved = solve_parts(stored, list(tree.keys), above, total, noisy[0].shape[1], self.engine)
        summary = _judge_upper(above, solved)
        for level, table in enumerate(summary.counts.tables[:-1]):
            partitions.write(UPPER, f"counts-{level}", table)
        outcomes = [summary.outcome, *solved.outcomes]
        violated = {kind: sum(part.violations[kind] for part in outcomes) for kind in outcomes[0].violations}
        return StreamedLevelResult(
            optimal=all(part.proved for part in outcomes) and not any(violated.values()),
            objective=sum(part.objective for part in outcomes),
            violations=violated,
            passes=solved.passes,
            n_cells=sum(part.n_cells for part in outcomes),
            n_arcs=solved.n_arcs,
            seconds=deadline.spent,
            peak_bytes=peak_memory(),
        )


@dataclass(frozen=True)
class _Stored:
    """Parts whose tables are in partitions."""

    tree: Tree
    partitions: Partitions

    def read(self, key: str) -> LevelProblem:
        tree, first = self.tree.tree(key), self.tree.upper.n_levels - 1
        tables = []
        for level in range(first, len(self.tree.max_sizes)):
            table = self.partitions.read(key, f"noisy-{level}")
            if table.shape[1] != self.tree.max_sizes[level] + 1:
                raise ProblemError(
                    f"noisy-{level} of {key} has {table.shape[1]} sizes, not {self.tree.max_sizes[level] + 1}; "
                    "measure into an empty folder"
                )
            tables.append(table)
        totals = None
        for level in self.levels_known():
            totals = np.full(tree.n_regions, UNKNOWN, np.int64) if totals is None else totals
            totals[tree.level(level - first)] = self.partitions.read(key, f"totals-{level}")[:, 0]
        return LevelProblem(CountsByLevel(tree, tuple(tables)), totals=totals)

    def levels_known(self) -> list[int]:
        """List the levels whose regions' numbers of groups were written."""
        levels = range(self.tree.upper.n_levels - 1, len(self.tree.max_sizes))
        return [level for level in levels if self.partitions.has(self.tree.keys[-1], f"totals-{level}")]

    def write(self, key: str, counts: CountsByLevel, prices: LevelPrices) -> None:
        del prices
        for level, table in enumerate(counts.tables, self.tree.upper.n_levels - 1):
            self.partitions.write(key, f"counts-{level}", table)


@dataclass(frozen=True, eq=False)
class _JudgedUpper:
    counts: CountsByLevel
    outcome: Outcome


def _judge_upper(upper: Upper, solved: Solved) -> _JudgedUpper:
    """Judge the levels above the parts from their own counts and the parts' roots."""
    roots = np.array([outcome.root for outcome in solved.outcomes])
    partly = upper.piece.counts(solved.flows)
    counts = CountsByLevel(partly.hierarchy, (*partly.tables[:-1], roots))
    n_sizes = counts.tables[0].shape[1]
    inner = tuple(solved.price[number] for number in upper.piece.numbers)
    prices = LevelPrices(np.full(n_sizes, solved.top), inner, np.zeros(len(roots), np.int64))
    objective, proved = judged(upper.problem, counts, prices, n_levels=counts.hierarchy.n_levels - 1)
    n_cells = sum(table.size for table in counts.tables[:-1])
    outcome = Outcome(objective, proved, violations(upper.problem, counts), counts.tables[0][0], n_cells)
    return _JudgedUpper(counts, outcome)
