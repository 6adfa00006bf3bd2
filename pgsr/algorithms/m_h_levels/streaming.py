"""M_H with sizes per level for a nation that is kept apart by state: noise, solution and answer part by part."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Protocol

import numpy as np

from pgsr.algorithms.m_h_levels.certificate import LevelPrices, judged, violations
from pgsr.algorithms.m_h_levels.isotonic_tree_projection import repaired_table
from pgsr.algorithms.m_h_levels.joined import Upper
from pgsr.algorithms.m_h_levels.parts import Outcome, Reply, begin
from pgsr.algorithms.m_h_levels.problem import UNKNOWN, LevelProblem
from pgsr.algorithms.m_h_levels.solving_parts import Solved, solve_parts
from pgsr.checks import require_kind, require_source
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import MethodError, ProblemError
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.methods.gate import Deadline
from pgsr.noise import NoiseStep, measure_by_level, require_by_level, require_view
from pgsr.noise.measurement import Totals
from pgsr.noise.measurement_by_level import summed_by_level
from pgsr.privacy.accounting.spending import Ledger
from pgsr.privacy.random import Seeded, Source

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
        """The names of the parts, in the order of the last level of `upper`."""
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

    The ledger is charged once, before anything is drawn. Parts that have been written are left alone, so that an
    interrupted run goes on; under seeded noise a part that is tried again gets the same noise. To go on with an
    interrupted run, leave the ledger out: the first call has charged it. A run goes on with the data set, the noise,
    the source and `totals_of` that it began with, of which a table keeps digests; with others it is refused.

    Tables are called noisy-l for counts of level l, cumulative-l for cumulative counts, and totals-l where the
    numbers of groups of its regions are public; noisy-terms or cumulative-terms has the digests.

    Args:
        totals_of: the level whose regions' numbers of groups are to be used as public ones, such as that of the states;
            of the last level they say those of all. If None the root's alone is used.

    Raises:
        BudgetError: the shares do not fit the levels, a level would get nothing, or the ledger lacks epsilon.
        ProblemError: the noise is of another view, or it is to pay for totals; `totals_of` is a level above the
            parts, or the noise says that the root's total alone is public; or there are tables that were measured
            otherwise. Nothing is charged then.
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
    kind, last = KINDS[require_view(noise)], len(truth.max_sizes) - 1
    terms = np.stack([_digest_of_noise(truth, noise), _digest_of_source(source, totals_of)])
    begun = _has_begun(truth, partitions, kind, terms)
    if ledger is not None:
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
        ledger.charge(noise.cost, "measuring counts by level", noise.unit, noise.relation)
    if not begun:
        partitions.write(UPPER, f"{kind}-terms", terms)
    names = [f"{kind}-{level}" for level in range(truth.upper.n_levels - 1)]
    if not all(partitions.has(UPPER, name) for name in ("total", *names)):
        above = truth.above()
        shared = replace(
            above, hierarchy=above.hierarchy.down_to(above.hierarchy.n_levels - 2), tables=above.tables[:-1]
        )
        noisy = measure_by_level(noise, shared, source, truth.name, 0, truth.max_sizes)
        _write_new(partitions, UPPER, kind, noisy, 0)
        partitions.write(UPPER, "total", above.tables[0].sum(keepdims=True, dtype=np.int64))
    left = [key for key in truth.keys if not partitions.has(key, f"{kind}-{last}")]
    for _ in (engine or Engine())(partial(_measure_part, truth, partitions, noise, source, totals_of), left):
        pass


def require_measured(tree: Tree, partitions: Partitions, noise: NoiseStep) -> None:
    """Raise `ProblemError` unless the stored measurement is of this data set and of this noise."""
    kind = KINDS[require_view(noise)]
    terms = _stored_terms(partitions, kind)
    if terms is None:
        raise ProblemError(
            f"there is no table {kind}-terms, which says how the tables {kind}-l were measured; measure into an empty "
            "folder"
        )
    if not np.array_equal(terms[0], _digest_of_noise(tree, noise)):
        raise ProblemError(
            f"the tables {kind}-l were measured of another data set or with other noise; give what they were measured "
            "with, or measure into an empty folder"
        )


def _has_begun(truth: Truth, partitions: Partitions, kind: str, terms: np.ndarray) -> bool:
    """Tell whether a run with these terms has begun; raise `ProblemError` if one with others has, or may have."""
    stored = _stored_terms(partitions, kind)
    if stored is not None:
        same = (stored == terms).all(axis=1)
        if same.all():
            return True
        other = "of another source or with other public totals" if same[0] else "of another data set or other noise"
        raise ProblemError(f"there are tables {kind}-l {other}; measure into an empty folder, or go on as it was begun")
    first = truth.upper.n_levels - 1
    if partitions.has(UPPER, f"{kind}-0") or any(partitions.has(key, f"{kind}-{first}") for key in truth.keys):
        raise ProblemError(
            f"there are tables {kind}-l, and none that says how they were measured; measure into an empty folder"
        )
    return False


def _stored_terms(partitions: Partitions, kind: str) -> np.ndarray | None:
    """Read the digests of a run, of its noise and of its source; None if there are none."""
    return partitions.read(UPPER, f"{kind}-terms") if partitions.has(UPPER, f"{kind}-terms") else None


def _digest_of_noise(tree: Tree, noise: NoiseStep) -> np.ndarray:
    """Compute a digest of the data set, its parts and sizes, and of the noise of every level; shape (32,)."""
    laws = require_by_level(noise, tree.max_sizes)
    sizes = [*map(int, tree.max_sizes)]
    return _digest([tree.name, [*tree.keys], sizes, laws, str(noise.unit), str(noise.relation), noise.max_quantity])


def _digest_of_source(source: Source, totals_of: int | None) -> np.ndarray:
    """Compute a digest of the source of noise and of the level of public totals; shape (32,).

    A seeded source counts with its seed; all secure ones are alike.
    """
    level = None if totals_of is None else int(totals_of)
    return _digest([source if isinstance(source, Seeded) else source.secure, level])


def _digest(parts: list[object]) -> np.ndarray:
    """Compute SHA-256 of how Python writes these parts, a table's row of 32 bytes."""
    return np.frombuffer(sha256(repr(parts).encode()).digest(), np.uint8).astype(np.int64)


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
    """A `LevelTreeProjection` for a hierarchy in parts: the same proved integers, one part in memory at a time.

    What lies below a region of some level, say a state, is a part: its choice of cells, its prices, its answer and its
    judgement. Between parts travel the cells that are worth looking at, and prices. Their network is arc by arc that of
    the whole, so the integers are the same as in memory, one by one, wherever parts run. Answers are written as
    counts-l for level l.

    With View.CUMULATIVE it is a `LevelIsotonicTreeProjection` (M_c^dp): every region's cumulative counts are repaired
    whenever its part is read, and the rest is the same.

    Args:
        engine: where parts are asked.
        view: of what `measure` wrote.

    Memory: about 150 bytes per cell that is worth looking at, 30 per cell of the parts in work.

    Extends: `LevelTreeProjection`, to one part in memory at a time. Shown equal to it by
    `tests/test_m_h_levels_streaming.py::test_equals_the_whole`.
    """

    engine: Mapper = field(default_factory=Engine)
    view: View = View.COUNTS

    def __post_init__(self) -> None:
        if self.view not in KINDS:
            raise MethodError(f"view={self.view!r}; give View.COUNTS for M_H or View.CUMULATIVE for M_c^dp")

    def solve(self, tree: Tree, partitions: Partitions) -> StreamedLevelResult:
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
        summary = _judge_upper(upper.problem, solved)
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
    """Parts whose tables are in partitions, of this view; `total` is the public number of groups of the root."""

    tree: Tree
    partitions: Partitions
    view: View
    total: int

    def read(self, key: str) -> LevelProblem:
        tree, first = self.tree.tree(key), self.tree.upper.n_levels - 1
        totals = None
        for level in self.levels_known():
            totals = np.full(tree.n_regions, UNKNOWN, np.int64) if totals is None else totals
            totals[tree.level(level - first)] = self.partitions.read(key, f"totals-{level}")[:, 0]
        tables, known = [], None
        if totals is not None and self.view is View.CUMULATIVE:
            known = summed_by_level(tree, totals[tree.leaves])
        for level in range(first, len(self.tree.max_sizes)):
            name = f"{KINDS[self.view]}-{level}"
            table = self.partitions.read(key, name)
            if table.shape[1] != self.tree.max_sizes[level] + 1:
                raise ProblemError(
                    f"{name} of {key} has {table.shape[1]} sizes, not {self.tree.max_sizes[level] + 1}; "
                    "measure into an empty folder"
                )
            tables.append(self._counts(table, None if known is None else known[level - first]))
        return LevelProblem(CountsByLevel(tree, tuple(tables)), totals=totals)

    def above(self, replies: Sequence[Reply]) -> LevelProblem:
        """Make the problem of the upper levels, whose last one are the roots of the parts."""
        upper, first = self.tree.upper, self.tree.upper.n_levels - 1
        roots, known = np.array([reply.noisy for reply in replies]), None
        stated = bool(self.levels_known())
        if stated and self.view is View.CUMULATIVE:
            known = summed_by_level(upper, roots.sum(axis=1))  # repaired counts add up to a region's number of groups
        tables = []
        for level in range(first):
            table = self.partitions.read(UPPER, f"{KINDS[self.view]}-{level}")
            tables.append(self._counts(table, None if known is None else known[level]))
        return LevelProblem(CountsByLevel(upper, (*tables, roots)), total=None if stated else self.total)

    def _counts(self, table: np.ndarray, known: np.ndarray | None) -> np.ndarray:
        """Make counts of the table of a level: repair it if it is of cumulative ones, below what is known of groups."""
        if self.view is View.COUNTS:
            return table
        return repaired_table(table, self.total if known is None else known)

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

    def write(self, key: str, counts: CountsByLevel, prices: LevelPrices) -> None:
        del prices
        for level, table in enumerate(counts.tables, self.tree.upper.n_levels - 1):
            self.partitions.write(key, f"counts-{level}", table)


@dataclass(frozen=True, eq=False)
class _JudgedUpper:
    counts: CountsByLevel
    outcome: Outcome


def _judge_upper(problem: LevelProblem, solved: Solved) -> _JudgedUpper:
    """Judge the levels above the parts from their own counts and the parts' roots."""
    assert solved.above is not None
    partly, prices = solved.above
    roots = np.array([outcome.root for outcome in solved.outcomes])
    counts = CountsByLevel(partly.hierarchy, (*partly.tables[:-1], roots))
    objective, proved = judged(problem, counts, prices, n_levels=counts.hierarchy.n_levels - 1)
    n_cells = sum(table.size for table in counts.tables[:-1])
    outcome = Outcome(objective, proved, violations(problem, counts), counts.tables[0][0], n_cells)
    return _JudgedUpper(counts, outcome)
