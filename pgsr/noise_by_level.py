"""The noise step for counts with sizes per level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.accounting.spending import Ledger
from pgsr.budget import Budget, Number, exact
from pgsr.checks import require_kind
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import BudgetError, ProblemError
from pgsr.laws import DoubleGeometric, GeometricNoise
from pgsr.neighbours import Unit
from pgsr.random import Source, StreamId
from pgsr.sensitivity import sensitivity_of
from pgsr.views import View

_BLOCK = 1 << 22


@dataclass(frozen=True)
class LevelGeometric:
    """Double geometric noise of scale 2 max_quantity / epsilon[l] on the counts of level l.

    An entity that joins or leaves a group takes it from one size to another: two cells change by one in the group's
    region on every level, or none where both sizes are in the last class. So sensitivities are those of counts with all
    sizes: tests/test_noise_by_level.py::test_sensitivity_by_enumeration. Regions of a level share its epsilon, levels
    add up.

    Attributes:
        epsilon: of all levels together.
        shares: the parts of the levels, root first; equal ones if None.
        max_quantity: public bound on what one entity adds to its group's size.

    Example:
        >>> from pgsr import Hierarchy, Seeded
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> [t.tolist() for t in LevelGeometric(2).measure(truth, Seeded("demo"), "demo").tables]
        [[[2, 7, 0, 0]], [[-9, 7, -2], [0, 2, 2]]]
    """

    epsilon: Number
    shares: Sequence[Number] | None = None
    max_quantity: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.max_quantity, bool) or not isinstance(self.max_quantity, int) or self.max_quantity < 1:
            raise ProblemError(f"max_quantity={self.max_quantity!r}; give a public whole number from 1 up")

    def charge(self, ledger: Ledger) -> None:
        """Charge a measurement of all levels to a ledger, once, before any of its parts is measured."""
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon)")
        ledger.charge(exact(self.epsilon), "measuring counts by level")

    def measure(
        self, truth: CountsByLevel, source: Source, name: str, first_level: int = 0, n_levels: int | None = None
    ) -> CountsByLevel:
        """Add noise to counts, or to the part of them below one region.

        Noise is keyed by data set, view, level and the path of the root of what is measured: a part that is measured
        again under the same seed gets the same noise.

        Args:
            name: of the data set.
            first_level: the level in the whole hierarchy of the root of `truth`.
            n_levels: of the whole hierarchy; that of `truth` if None.

        Raises:
            BudgetError: the shares do not fit the levels, or a level would get nothing.
        """
        laws = self._laws(n_levels or truth.hierarchy.n_levels)
        tables = []
        for level, table in enumerate(truth.tables, first_level):
            stream = source.stream(StreamId(name, View.COUNTS.value, level, truth.hierarchy.paths[0]))
            noisy = np.empty_like(table).reshape(-1)
            for start in range(0, table.size, _BLOCK):
                block = table.reshape(-1)[start : start + _BLOCK].astype(np.int64)
                laws[level].add_to(block, stream)
                noisy[start : start + _BLOCK] = _narrow(block, table.dtype)
            tables.append(noisy.reshape(table.shape))
        return CountsByLevel(truth.hierarchy, tuple(tables))

    def _laws(self, n_levels: int) -> list[DoubleGeometric]:
        levels = Budget.split(exact(self.epsilon), n_levels, self.shares).levels
        if not all(levels):
            raise BudgetError("a level has a share of 0; give every level a part, as all are to be measured")
        size = sensitivity_of(View.COUNTS, Unit.ENTITY, max_quantity=self.max_quantity, max_size=1)
        return [GeometricNoise(part).law(size) for part in levels]


def _narrow(block: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Convert to the kind of the table, at its limits where noise goes beyond: a function of the noisy counts alone."""
    limits = np.iinfo(kind)
    return np.clip(block, limits.min, limits.max).astype(kind)
