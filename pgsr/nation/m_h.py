"""M_H with sizes per level for a nation that is kept apart by state: solution and answer part by part."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from pgsr.algorithms.m_h_flow.part import UNKNOWN, FlowPart, PartPrices
from pgsr.algorithms.m_h_flow.questions import Reply, begin
from pgsr.algorithms.m_h_flow.solution import Solved, solve_parts
from pgsr.algorithms.m_h_flow.whole_network import Upper
from pgsr.data.views import View
from pgsr.errors import MethodError, ProblemError
from pgsr.estimators.isotonic_tree_projection import repaired_table
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.methods.gate import Deadline
from pgsr.nation.judge import PartOutcome, judged, price_of_the_total
from pgsr.nation.layout import KINDS, UPPER, NationTree, StreamedResult, read_tables


@dataclass(frozen=True, kw_only=True)
class StreamedLevelResult(StreamedResult):
    """The outcome of a streamed solve.

    Attributes:
        optimal: whether every part and the upper levels are feasible, and prices prove every cell best.
        objective: exact.
        passes: how often every part was read.
        n_arcs: cells that were in the network at the end.
    """

    optimal: bool
    objective: int
    passes: int
    n_arcs: int


@dataclass(frozen=True)
class StreamedLevelTreeProjection:
    """The `TreeProjection` of a hierarchy in parts: the same proved integers, one part in memory at a time.

    What lies below a region of some level, say a state, is a part: its choice of cells, its prices, its answer and its
    judgement. Between parts travel the cells that are worth looking at, and prices. Their network is arc by arc that of
    the whole, so the integers are the same as in memory, one by one, wherever parts run. Answers are written as
    counts-l for level l.

    With View.CUMULATIVE it is an `IsotonicTreeProjection` (M_c^dp): every region's cumulative counts are repaired
    whenever its part is read, and the rest is the same.

    Args:
        engine: where parts are asked.
        view: of what `measure` wrote.

    Memory: about 150 bytes per cell that is worth looking at, 30 per cell of the parts in work.

    Extends: `TreeProjection`, to one part in memory at a time. Shown equal to it by
    `test_nation_m_h.py::test_equals_the_whole`.
    """

    engine: Mapper = field(default_factory=Engine)
    view: View = View.COUNTS

    def __post_init__(self) -> None:
        if self.view not in KINDS:
            raise MethodError(f"view={self.view!r}; give View.COUNTS for M_H or View.CUMULATIVE for M_c^dp")

    def solve(self, tree: NationTree, partitions: Partitions) -> StreamedLevelResult:
        """Solve M_H on the stored measurement, and write the answer.

        Raises:
            ProblemError: tables do not fit the tree; or cumulative counts have public numbers of groups that are not
                those of the last level.
        """
        deadline, keys = Deadline(), list(tree.keys)
        stored = _Stored(tree, partitions, self.view, int(partitions.read(UPPER, "total")[0, 0]))
        total = None if stored.levels_known() else stored.total
        replies = list(self.engine(partial(begin, stored), keys))
        upper = Upper.of(stored.above(replies), replies)
        solved = solve_parts(stored, keys, replies, upper, total, self.engine)
        counts, above = _judge_upper(upper.part, solved, total)
        for level, table in enumerate(counts):
            partitions.write(UPPER, f"counts-{level}", table)
        outcomes = [above, *solved.outcomes]
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
    """Parts whose tables are in partitions, of this view; `total` is the public number of groups of the root."""

    tree: NationTree
    partitions: Partitions
    view: View
    total: int

    def read(self, key: str) -> FlowPart:
        tree, totals, first = self.tree.tree(key), None, self.tree.upper.n_levels - 1
        for level in self.levels_known():
            totals = np.full(tree.n_regions, UNKNOWN, np.int64) if totals is None else totals
            totals[tree.level(level - first)] = self.partitions.read(key, f"totals-{level}")[:, 0]
        tables = read_tables(self.tree, self.partitions, KINDS[self.view], key)
        if self.view is View.CUMULATIVE:
            known = None if totals is None else tree.sum_up(totals[tree.leaves])
            tables = [self._counts(table, known, tree.level(level)) for level, table in enumerate(tables)]
        return FlowPart.of(tree, tuple(tables), known=totals)

    def above(self, replies: Sequence[Reply]) -> FlowPart:
        """Make the part of the upper levels, whose last one are the roots of the parts."""
        upper, first = self.tree.upper, self.tree.upper.n_levels - 1
        roots = np.array([reply.noisy for reply in replies])
        # Repaired counts add up to a region's number of groups.
        known = upper.sum_up(roots.sum(axis=1)) if self.levels_known() else None
        tables = [self.partitions.read(UPPER, f"{KINDS[self.view]}-{level}") for level in range(first)]
        return FlowPart.of(upper, (*(self._counts(t, known, upper.level(n)) for n, t in enumerate(tables)), roots))

    def _counts(self, table: np.ndarray, known: np.ndarray | None, regions: slice) -> np.ndarray:
        """Make counts of the table of a level: repair it if it is of cumulative ones, below what is known of groups."""
        if self.view is View.COUNTS:
            return table
        return repaired_table(table, self.total if known is None else known[regions])

    def levels_known(self) -> list[int]:
        """List the levels whose regions' numbers of groups were written."""
        levels = range(self.tree.upper.n_levels - 1, len(self.tree.max_sizes))
        known = [level for level in levels if self.partitions.has(self.tree.keys[-1], f"totals-{level}")]
        if self.view is View.CUMULATIVE and known and levels[-1] not in known:
            raise ProblemError(
                "M_c^dp needs every region's number of groups or the root's alone; measure with "
                f"totals_of={levels[-1]}, the last level, or without totals_of"
            )
        return known

    def keep(self, key: str, part: FlowPart, counts: tuple[np.ndarray, ...], prices: PartPrices) -> PartOutcome:
        """Judge the answer of a part, and write it."""
        for level, table in enumerate(counts, self.tree.upper.n_levels - 1):
            self.partitions.write(key, f"counts-{level}", table)
        return judged(part, counts, prices)


def _judge_upper(part: FlowPart, solved: Solved, total: int | None) -> tuple[list[np.ndarray], PartOutcome]:
    """Find the counts of the levels above the parts, and judge them with the parts' roots below."""
    assert solved.above is not None
    partly, prices = solved.above
    counts = [*partly[:-1], np.array([outcome.root for outcome in solved.outcomes])]
    found = judged(part, counts, prices, total, n_levels=len(counts) - 1)
    return counts[:-1], replace(found, proved=found.proved and price_of_the_total(prices, total))
