"""Releases from values of regions alone for a nation that is kept apart by state: two-stage and posterior by parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.algorithms.m_c.folded import together
from pgsr.algorithms.m_c.folded_dual import Targets
from pgsr.algorithms.m_c.joint import precisions
from pgsr.algorithms.m_h.flow.part import FlowPart
from pgsr.algorithms.tree_rounding.rounding import integers_near
from pgsr.checks import require_kind
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.methods.gate import Deadline
from pgsr.nation.judging import violations
from pgsr.nation.layout import UPPER, NationTree
from pgsr.nation.measured_parts import MeasuredParts
from pgsr.noise.measurement import Measurement
from pgsr.noise.step import NoiseStep

PARTS = 64
"""Values of regions alone are kept in multiples of 1 / PARTS."""

ROUNDED = 1.0
"""Groups by which sums may be off at the end of a projection, which is enough for integers."""


@runtime_checkable
class Alone(Protocol):
    """A release that begins with every region alone: `TwoStage` or `Posterior`."""

    def alone(self, measurement: Measurement) -> list[np.ndarray]:
        """Compute the cumulative counts of every region alone; shape (regions of the level, K) per level."""
        ...


@dataclass(frozen=True)
class StreamedReleaseResult:
    """The outcome of a streamed release, without the counts, which were written.

    Attributes:
        violations: number of violated conditions by kind, recomputed from the counts; all are 0.
        missing: the largest number of groups by which the last projection of a part was off a sum, before integers; 0
            where nothing is projected.
        n_cells: of all tables.
        seconds: wall time without compilation.
        peak_bytes: most memory this process ever held.
    """

    violations: dict[str, int]
    missing: float
    n_cells: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class StreamedLevelRelease:
    """Makes a release of a hierarchy in parts, one part in memory at a time: two-stage or posterior by level.

    1. Every part: its regions alone, as `method` says; from the leaves up, each region's values and the sum of those
       below it are joined by precision, so that the part's root has the values that all of the part says, cell by cell.
    2. The levels above the parts are projected together with these values of the roots, weighed by their precision, and
       become integers.
    3. Every part: its regions are projected together with a root whose own value is such that the answer's is the one
       that was found above, and become integers that add up to the latter.

    Without order and signs this is the projection of the whole at once; with them the roots are found without the order
    of what is below them, which makes a small difference. Every part is read twice. Counts are written as counts-l.

    Args:
        method: `TwoStage()` or `Posterior()`, whose first step is done; the projection is that of this class.
        engine: where parts are worked on.

    Memory: about 60 bytes per cell of the parts in work.

    Extends: `TwoStage` and `Posterior`, to one part in memory at a time. Shown by
    `tests/test_nation_joint.py::test_equals_the_whole_where_order_does_not_matter`.
    """

    method: Alone
    engine: Mapper = field(default_factory=Engine)

    def __post_init__(self) -> None:
        require_kind(self.method, Alone, "method", "give TwoStage() or Posterior()")

    def release(self, tree: NationTree, partitions: Partitions, noise: NoiseStep) -> StreamedReleaseResult:
        """Make a release of the stored measurement with this noise and the totals of the last level, and write it.

        Raises:
            ProblemError: the totals of the last level were not written, or the tables are not those of this data set
                and noise.
        """
        deadline, stored = Deadline(), _Stored(MeasuredParts.of(tree, partitions, noise), self.method)
        roots = list(self.engine(partial(_root_of, stored), tree.keys))
        above = stored.above(roots)
        counts = [np.diff(table, prepend=0, axis=1) for table in above]
        for level, table in enumerate(counts[:-1]):
            partitions.write(UPPER, f"counts-{level}", table)
        pairs = list(zip(tree.keys, above[-1], strict=True))
        done = list(self.engine(partial(_release_part, stored), pairs))
        upper = violations(FlowPart.of(tree.upper, tuple(counts)), counts, sum(root.total for root in roots))
        for key, outcome, root in zip(tree.keys, done, counts[-1], strict=True):
            assert np.array_equal(outcome.root, root), f"{key} keeps the root that it was given"
        found = [upper, *(outcome.violations for outcome in done)]
        return StreamedReleaseResult(
            violations={kind: sum(part[kind] for part in found) for kind in upper},
            missing=max(outcome.missing for outcome in done),
            n_cells=sum(table.size for table in counts[:-1]) + sum(outcome.n_cells for outcome in done),
            seconds=deadline.spent,
            peak_bytes=peak_memory(),
        )


@dataclass(frozen=True, eq=False)
class _Root:
    """What a part says of its root: values and weights, shape (K,), its noisy values, and its number of groups."""

    values: np.ndarray
    weights: np.ndarray
    noisy: np.ndarray
    total: int


@dataclass(frozen=True, eq=False)
class _Outcome:
    violations: dict[str, int]
    missing: float
    n_cells: int
    root: np.ndarray


@dataclass(frozen=True)
class _Stored:
    """What was measured, and what is done with it."""

    parts: MeasuredParts
    method: Alone

    def above(self, roots: Sequence[_Root]) -> tuple[np.ndarray, ...]:
        """Find the cumulative counts of the upper levels and of the parts' roots, from what the parts say (step 2)."""
        measurement = self.parts.above([root.noisy for root in roots], [root.total for root in roots])
        alone = (*self.method.alone(measurement)[:-1], np.array([root.values for root in roots]))
        w = (*precisions(self.parts.laws)[: self.parts.first], np.array([root.weights for root in roots]))
        totals = _totals(measurement)
        joint = together(Targets.of(measurement.hierarchy, alone, totals, w), ROUNDED)
        about = measurement.root_total, measurement.region_totals
        return integers_near(measurement.hierarchy, joint.values, *about)


def _root_of(stored: _Stored, key: str) -> _Root:
    """Work on the regions of a part alone, keep their values, and tell what they say of the root (step 1)."""
    parts, measurement = stored.parts, stored.parts.measurement(key)
    alone = stored.method.alone(measurement)
    kind = np.int32 if PARTS * measurement.root_total < 2**31 else np.int64
    for level, table in enumerate(alone, parts.first):
        parts.partitions.write(key, f"alone-{level}", _with_column(nearest(PARTS * table).astype(kind)))
    values, weights = condensed(measurement.hierarchy, alone, precisions(parts.laws)[parts.first :])
    return _Root(values, weights, measurement.tables[0][0], measurement.root_total)


def _release_part(stored: _Stored, pair: tuple[str, np.ndarray]) -> _Outcome:
    """Project the regions of a part together below the root's cumulative counts, and write integers (step 3)."""
    (key, root), parts = pair, stored.parts
    measurement = parts.measurement(key)
    tree, totals = measurement.hierarchy, _totals(measurement)
    read = (parts.partitions.read(key, f"alone-{level}") for level in range(parts.first, parts.last + 1))
    alone = tuple(table[:, :-1] / PARTS for table in read)
    w = precisions(parts.laws)[parts.first :]
    values, weights = condensed(tree, alone, w)
    # Of all values that the root could have had, these are the ones with which the part would have found this root.
    towards = alone[0] + weights / w[0] * (root[:-1] - values)
    joint = together(Targets.of(tree, (towards, *alone[1:]), totals, w), ROUNDED)
    kind = np.int32 if measurement.root_total < 2**31 else np.int64
    found = integers_near(tree, joint.values, measurement.root_total, measurement.region_totals, root)
    counts = tuple(np.diff(table, prepend=0, axis=1).astype(kind) for table in found)
    for level, table in enumerate(counts, parts.first):
        parts.partitions.write(key, f"counts-{level}", table)
    n_cells = sum(table.size for table in counts)
    part = FlowPart.of(tree, counts, known=measurement.region_totals)
    return _Outcome(violations(part, counts), joint.missing, n_cells, counts[0][0])


def _totals(measurement: Measurement) -> list[np.ndarray]:
    """List the numbers of groups of the regions of every level."""
    tree = measurement.hierarchy
    return [measurement.region_totals[tree.level(level)] for level in range(tree.n_levels)]


def condensed(tree: Hierarchy, alone: Sequence[np.ndarray], weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Join the values of all regions of a part into values and weights of its root, shape (K,) each.

    A region's values and the sum of those below it are joined by precision: with w the weight of its level, and
    z, W of its children, u = 1 / (sum over children of 1 / W) and

        z = (w a + u sum over children of z) / (w + u),    W = w + u;    in a tail z = a, W = w.

    For squares without order and signs, the least cost of everything below given the root's values x is
    sum over s of W (x - z)^2 but for a constant.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values, weights = condensed(tree, [np.array([[9.0, 7.0]]), np.array([[1.0], [2.0]])], [1.0, 1.0])
        >>> values.round(3), weights
        (array([7., 7.]), array([1.5, 1. ]))
    """
    z, w = alone[-1], np.full(alone[-1].shape, weights[-1])
    for level in range(tree.n_levels - 2, -1, -1):
        starts = tree.first_child[tree.level(level)] - tree.level(level).stop
        sums, below = np.add.reduceat(z, starts, axis=0), 1.0 / np.add.reduceat(1.0 / w, starts, axis=0)
        own, k = weights[level], z.shape[1]
        z, w = alone[level].copy(), np.full(alone[level].shape, own)
        w[:, :k] += below
        z[:, :k] += (sums - z[:, :k]) * (below / w[:, :k])
    return z[0], w[0]


def _with_column(table: np.ndarray) -> np.ndarray:
    """Add a column of zeros, so that a level with one size has one too."""
    return np.append(table, np.zeros((len(table), 1), table.dtype), axis=1)
