"""The measurement of a hierarchy in parts as `measure` wrote it, the numbers of groups of all regions included."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.machine.partitions import Partitions
from pgsr.nation.layout import KINDS, UPPER, NationTree
from pgsr.nation.noise import require_measured
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.step import NoiseStep


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
        tree, tables = self.tree.tree(key), []
        for level in range(self.first, self.last + 1):
            table = self.partitions.read(key, f"{KINDS[self.view]}-{level}")
            if table.shape[1] != self.tree.max_sizes[level] + 1:
                raise ProblemError(
                    f"{KINDS[self.view]}-{level} of {key} has {table.shape[1]} sizes, not "
                    f"{self.tree.max_sizes[level] + 1}; measure into an empty folder"
                )
            tables.append(table)
        return self._measured(tree, tables, self.first, self.totals(key))

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
