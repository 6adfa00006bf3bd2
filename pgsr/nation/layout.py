"""A nation that is kept apart by state: its regions and parts, and what tables are called."""

from collections.abc import Sequence
from typing import Protocol

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View

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
