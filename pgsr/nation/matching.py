"""Matching with sizes per level for a nation that is kept apart by state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pgsr.algorithms.isotonic import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum
from pgsr.algorithms.m_h_flow.part import FlowPart
from pgsr.checks import require_kind
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.estimators.matching import Matching
from pgsr.estimators.matching.runs import Runs
from pgsr.estimators.matching.top_down import all_levels, counted
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.methods.gate import Deadline
from pgsr.nation.judge import violations
from pgsr.nation.layout import KINDS, UPPER, NationTree, StreamedResult, read_tables
from pgsr.nation.noise import require_measured
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.step import NoiseStep


def _midpoints() -> Matching:
    return Matching(IsotonicFit(optimum=Optimum.MIDPOINT))


@dataclass(frozen=True)
class StreamedLevelMatching:
    """Makes the release of `Matching` for a hierarchy in parts: the same integers, one part in memory at a time.

    1. The noisy values of the parts' roots are read. The levels above the parts are matched down to these roots.
    2. Every part: its regions are fitted alone and matched down from its root's merged groups; its tables are written,
       and its root's groups, as the leaves have them now, are kept.
    3. The levels above are added up from these.

    Every part is read once, and its root's row before. Counts are written as counts-l for level l.

    Args:
        engine: where parts are worked on.
        method: the matching.

    Memory: about 60 bytes per cell of the parts in work.

    Shown by `test_nation_matching.py::test_a_nation_in_parts_equals_the_whole`.
    """

    engine: Mapper = field(default_factory=Engine)
    method: Matching = field(default_factory=_midpoints)

    def __post_init__(self) -> None:
        require_kind(self.method, Matching, "method", "give Matching()")

    def release(self, tree: NationTree, partitions: Partitions, noise: NoiseStep) -> StreamedResult:
        """Make a release of the stored measurement with this noise and the totals of the last level, and write it.

        Violations are recomputed from the counts; all are 0.

        Raises:
            ProblemError: the noise is of plain counts, the totals of the last level were not written, or the tables are
                not those of this data set and noise.
        """
        deadline, parts = Deadline(), MeasuredParts.of(tree, partitions, noise)
        rows, totals = zip(*self.engine(partial(_root_of, parts), tree.keys), strict=True)
        alone, upper = _alone(self.method, parts.above(rows, totals)), tree.upper
        roots = self.method.leaves_below(upper, alone[0], alone[1:], tree.max_sizes)
        tasks = [(key, roots.region(number)) for number, key in enumerate(tree.keys)]
        done = list(self.engine(partial(_release_part, parts, self.method), tasks))
        levels = all_levels(upper, Runs.joined([outcome.root for outcome in done]))
        counts = counted(levels, tree.max_sizes[: upper.n_levels])
        for level, table in enumerate(counts[:-1]):
            partitions.write(UPPER, f"counts-{level}", table)
        found = [violations(FlowPart.of(upper, counts), counts, sum(totals)), *(part.violations for part in done)]
        return StreamedResult(
            violations={kind: sum(part[kind] for part in found) for kind in found[0]},
            n_cells=sum(table.size for table in counts[:-1]) + sum(outcome.n_cells for outcome in done),
            seconds=deadline.spent,
            peak_bytes=peak_memory(),
        )


@dataclass(frozen=True)
class MeasuredParts:
    """The parts of a hierarchy whose noisy values and last level's totals are in partitions.

    Attributes:
        view: of the noisy values.
        noise: the noise step that the values were measured with.
    """

    tree: NationTree
    partitions: Partitions
    view: View
    noise: NoiseStep

    @classmethod
    def of(cls, tree: NationTree, partitions: Partitions, noise: NoiseStep) -> "MeasuredParts":
        """Find the stored measurement of a hierarchy in parts.

        Raises:
            ProblemError: the totals of the last level were not written, or the tables are not those of this data set
                and noise.
        """
        parts = cls(tree, partitions, noise.one_view(tree.max_sizes), noise)
        if not partitions.has(tree.keys[-1], f"totals-{parts.last}"):
            raise ProblemError(
                "every region's number of groups is needed; measure with totals='regions' and "
                f"totals_of={parts.last}, the last level"
            )
        require_measured(tree, partitions, noise)
        return parts

    @property
    def first(self) -> int:
        """The level of the parts' roots."""
        return self.tree.upper.n_levels - 1

    @property
    def last(self) -> int:
        return len(self.tree.max_sizes) - 1

    def measurement(self, key: str) -> Measurement:
        """Read the measurement of a part."""
        tables = read_tables(self.tree, self.partitions, KINDS[self.view], key)
        return self._measured(self.tree.tree(key), tables, self.first, self.totals(key))

    def totals(self, key: str) -> np.ndarray:
        """Read the numbers of groups of the leaves of a part, shape (leaves,)."""
        return self.partitions.read(key, f"totals-{self.last}")[:, 0]

    def above(self, roots: Sequence[np.ndarray], totals: Sequence[int]) -> Measurement:
        """Read the measurement above the parts, and put the noisy values and totals of their roots below it."""
        noisy = [self.partitions.read(UPPER, f"{KINDS[self.view]}-{level}") for level in range(self.first)]
        return self._measured(self.tree.upper, [*noisy, np.array(roots)], 0, np.array(totals))

    def _measured(
        self, tree: Hierarchy, tables: Sequence[np.ndarray], first: int, of_leaves: np.ndarray
    ) -> Measurement:
        """Make the measurement of a part from its tables; `first` is the level of its root."""
        noise, max_sizes = self.noise, self.tree.max_sizes
        return Measurement(
            sizes=Sizes(tree, max_sizes[first : first + tree.n_levels]),
            views=(self.view,),
            cells=np.concatenate([table.ravel() for table in tables], dtype=np.int64),
            noise=noise.levels(len(max_sizes), max_sizes)[first : first + tree.n_levels],
            public=Totals.REGIONS,
            totals=tree.sum_up(of_leaves.astype(np.int64)),
            secure=False,
            data_set=self.tree.name,
            max_quantity=noise.max_quantity,
            unit=noise.unit,
            relation=noise.relation,
        )


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What is kept of a part once its counts were written; `root` has the groups of its root."""

    violations: dict[str, int]
    n_cells: int
    root: Runs


def _root_of(parts: MeasuredParts, key: str) -> tuple[np.ndarray, int]:
    """Read the noisy values of a part's root, and its number of groups."""
    return parts.partitions.read(key, f"{KINDS[parts.view]}-{parts.first}")[0], int(parts.totals(key).sum())


def _alone(method: Matching, measurement: Measurement) -> list[Runs]:
    reason = method.supports(measurement)
    if reason is not None:
        raise ProblemError(reason)
    return method.alone(measurement)


def _release_part(parts: MeasuredParts, method: Matching, task: tuple[str, Runs]) -> _Outcome:
    """Match a part down from the groups of its root, and write the counts of its regions (step 2)."""
    key, root = task
    measurement = parts.measurement(key)
    tree, max_sizes = measurement.hierarchy, measurement.sizes.max_sizes
    levels = all_levels(tree, method.leaves_below(tree, root, _alone(method, measurement)[1:], max_sizes))
    kind = np.int32 if measurement.root_total < 2**31 else np.int64
    counts = tuple(table.astype(kind) for table in counted(levels, max_sizes))
    for level, table in enumerate(counts, parts.first):
        parts.partitions.write(key, f"counts-{level}", table)
    found = violations(FlowPart.of(tree, counts, known=measurement.region_totals), counts)
    return _Outcome(found, sum(table.size for table in counts), levels[0])
