"""The measurement of a hierarchy in parts as `measure` wrote it, the numbers of groups of all regions included."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_levels.streaming import KINDS, UPPER, Tree, require_measured
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.machine.partitions import Partitions
from pgsr.noise import NoiseStep, require_by_level, require_view
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.laws import Law


@dataclass(frozen=True)
class MeasuredParts:
    """The parts of a hierarchy whose noisy values and last level's totals are in partitions.

    Attributes:
        view: of the noisy values.
        laws: of the noise of all levels, root first.
    """

    tree: Tree
    partitions: Partitions
    view: View
    laws: tuple[Law, ...]

    @classmethod
    def of(cls, tree: Tree, partitions: Partitions, noise: NoiseStep) -> "MeasuredParts":
        """Find the stored measurement of a hierarchy in parts.

        Raises:
            ProblemError: the totals of the last level were not written, or the tables are not those of this data set
                and noise.
        """
        parts = cls(tree, partitions, require_view(noise), tuple(require_by_level(noise, tree.max_sizes)))
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

    def measurement(self, key: str) -> MeasurementByLevel:
        """Read the measurement of a part."""
        tree, tables = self.tree.tree(key), []
        for level in range(self.first, self.last + 1):
            table = self.partitions.read(key, f"{KINDS[self.view]}-{level}")
            if table.shape[1] != self.tree.max_sizes[level] + 1:
                raise ProblemError(
                    f"{KINDS[self.view]}-{level} of {key} has {table.shape[1]} sizes, not "
                    f"{self.tree.max_sizes[level] + 1}; measure into an empty folder"
                )
            tables.append(table)
        totals = self.totals(key)
        laws, values = self.laws[self.first :], CountsByLevel(tree, tuple(tables))
        return MeasurementByLevel(values, self.view, laws, int(totals.sum()), totals)

    def totals(self, key: str) -> np.ndarray:
        """Read the numbers of groups of the leaves of a part, shape (leaves,)."""
        return self.partitions.read(key, f"totals-{self.last}")[:, 0]

    def above(self, roots: Sequence[np.ndarray], totals: Sequence[int]) -> MeasurementByLevel:
        """Read the measurement above the parts, and put the noisy values and totals of their roots below it."""
        noisy = [self.partitions.read(UPPER, f"{KINDS[self.view]}-{level}") for level in range(self.first)]
        values, groups = CountsByLevel(self.tree.upper, (*noisy, np.array(roots))), np.array(totals)
        return MeasurementByLevel(values, self.view, self.laws[: self.first + 1], int(groups.sum()), groups)
