"""A nation that is kept apart by state: its regions and parts, names of tables, and what a streamed solve says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.machine.partitions import Partitions

UPPER = "above"
"""The key of the tables of the levels above the parts."""

KINDS = {View.COUNTS: "noisy", View.CUMULATIVE: "cumulative"}
"""What the tables of noisy values are called."""


class NationTree(Protocol):
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


class Truth(NationTree, Protocol):
    """The exact counts of a hierarchy in parts; only the noise step sees them."""

    def part(self, key: str) -> CountOfCounts:
        """Give the counts of a part, from its root down."""
        ...

    def above(self) -> CountOfCounts:
        """Give the counts from the root to the roots of the parts."""
        ...


def read_tables(tree: NationTree, partitions: Partitions, kind: str, key: str) -> list[np.ndarray]:
    """Read the noisy tables of all levels of a part, from its root down.

    Raises:
        ProblemError: a table has other sizes than its level.
    """
    tables = []
    for level in range(tree.upper.n_levels - 1, len(tree.max_sizes)):
        tables.append(partitions.read(key, f"{kind}-{level}"))
        if tables[-1].shape[1] != tree.max_sizes[level] + 1:
            raise ProblemError(
                f"{kind}-{level} of {key} has {tables[-1].shape[1]} sizes, not {tree.max_sizes[level] + 1}; "
                "measure into an empty folder"
            )
    return tables


@dataclass(frozen=True, kw_only=True)
class StreamedResult:
    """The outcome of a streamed solve or release, without the counts, which were written.

    Attributes:
        violations: number of violated conditions by kind.
        n_cells: of all tables.
        seconds: wall time without compilation.
        peak_bytes: most memory this process ever held.
    """

    violations: dict[str, int]
    n_cells: int
    seconds: float
    peak_bytes: int
