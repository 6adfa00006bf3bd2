"""Releases from values of regions alone for a nation that is kept apart by state: two-stage and posterior by parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from pgsr.algorithms.m_c_levels.integers import counts_near
from pgsr.algorithms.m_c_levels.measured_parts import MeasuredParts
from pgsr.algorithms.m_c_levels.problem import CumulativeLevelProblem
from pgsr.algorithms.m_c_levels.projection import CumulativeLevelProjection
from pgsr.algorithms.m_c_levels.release import precisions
from pgsr.algorithms.m_h_levels.certificate import violations
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.streaming import UPPER, Tree
from pgsr.checks import require_kind
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.machine.isolation import peak_memory
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.methods.gate import Deadline
from pgsr.noise import NoiseStep
from pgsr.noise.measurement_by_level import MeasurementByLevel

PARTS = 64
"""Values of regions alone are kept in multiples of 1 / PARTS."""


class Alone(Protocol):
    """A release that begins with every region alone: `LevelTwoStage` or `LevelPosterior`."""

    @property
    def projection(self) -> CumulativeLevelProjection:
        """The method that projects them together."""
        ...

    def alone(self, measurement: MeasurementByLevel) -> list[np.ndarray]:
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
        method: `LevelTwoStage()` or `LevelPosterior()`. A projection to a tolerance of 1 is enough for integers.
        engine: where parts are worked on.

    Memory: about 60 bytes per cell of the parts in work.

    Extends: `LevelTwoStage` and `LevelPosterior`, to one part in memory at a time. Shown by
    `tests/test_m_c_levels_streaming.py::test_equals_the_whole_where_order_does_not_matter`.
    """

    method: Alone
    engine: Mapper = field(default_factory=Engine)

    def release(self, tree: Tree, partitions: Partitions, noise: NoiseStep) -> StreamedReleaseResult:
        """Make a release of the stored measurement with this noise and the totals of the last level, and write it.

        Raises:
            ProblemError: the totals of the last level were not written, or the tables are not those of this data set
                and noise.
        """
        require_kind(self.method.projection, CumulativeLevelProjection, "projection", "give LevelTwoStage()")
        deadline, stored = Deadline(), _Stored(MeasuredParts.of(tree, partitions, noise), self.method)
        roots = list(self.engine(partial(_root_of, stored), tree.keys))
        above = stored.above(roots)
        for level, table in enumerate(above.tables[:-1]):
            partitions.write(UPPER, f"counts-{level}", table)
        pairs = list(zip(tree.keys, np.cumsum(above.tables[-1], axis=1), strict=True))
        done = list(self.engine(partial(_release_part, stored), pairs))
        upper = violations(LevelProblem(above, int(above.tables[0].sum())), above)
        for key, outcome, root in zip(tree.keys, done, above.tables[-1], strict=True):
            assert np.array_equal(outcome.root, root), f"{key} keeps the root that it was given"
        found = [upper, *(outcome.violations for outcome in done)]
        return StreamedReleaseResult(
            violations={kind: sum(part[kind] for part in found) for kind in upper},
            missing=max(outcome.missing for outcome in done),
            n_cells=sum(table.size for table in above.tables[:-1]) + sum(outcome.n_cells for outcome in done),
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

    def above(self, roots: Sequence[_Root]) -> CountsByLevel:
        """Find the counts of the upper levels and of the parts' roots, from what the parts say of these (step 2)."""
        measurement = self.parts.above([root.noisy for root in roots], [root.total for root in roots])
        together = (*self.method.alone(measurement)[:-1], np.array([root.values for root in roots]))
        w = (*precisions(self.parts.laws)[: self.parts.first], np.array([root.weights for root in roots]))
        problem = CumulativeLevelProblem(measurement.hierarchy, together, measurement.totals_by_level(), w)
        joint = self.method.projection.solve(problem)
        return counts_near(measurement.hierarchy, joint.tables, problem.totals)


def _root_of(stored: _Stored, key: str) -> _Root:
    """Work on the regions of a part alone, keep their values, and tell what they say of the root (step 1)."""
    parts, measurement = stored.parts, stored.parts.measurement(key)
    alone = stored.method.alone(measurement)
    kind = np.int32 if PARTS * measurement.total < 2**31 else np.int64
    for level, table in enumerate(alone, parts.first):
        parts.partitions.write(key, f"alone-{level}", _with_column(nearest(PARTS * table).astype(kind)))
    values, weights = condensed(measurement.hierarchy, alone, precisions(parts.laws)[parts.first :])
    return _Root(values, weights, measurement.values.tables[0][0], measurement.total)


def _release_part(stored: _Stored, pair: tuple[str, np.ndarray]) -> _Outcome:
    """Project the regions of a part together below the root's cumulative counts, and write integers (step 3)."""
    (key, root), parts = pair, stored.parts
    measurement = parts.measurement(key)
    tree, totals = measurement.hierarchy, measurement.totals_by_level()
    read = (parts.partitions.read(key, f"alone-{level}") for level in range(parts.first, parts.last + 1))
    alone = tuple(table[:, :-1] / PARTS for table in read)
    w = precisions(parts.laws)[parts.first :]
    values, together = condensed(tree, alone, w)
    # Of all values that the root could have had, these are the ones with which the part would have found this root.
    towards = alone[0] + together / w[0] * (root[:-1] - values)
    joint = stored.method.projection.solve(CumulativeLevelProblem(tree, (towards, *alone[1:]), totals, w))
    counts = counts_near(tree, joint.tables, totals, root[:-1])
    for level, table in enumerate(counts.tables, parts.first):
        parts.partitions.write(key, f"counts-{level}", table.astype(measurement.values.tables[0].dtype))
    judged: Any = LevelProblem(measurement.values, totals=measurement.totals)
    return _Outcome(violations(judged, counts), joint.missing, counts.n_cells, counts.tables[0][0])


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
