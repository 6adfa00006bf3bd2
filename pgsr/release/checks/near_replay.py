"""Compare released counts with those of a replay where the method computes in floating point.

The kinds `posterior` and `two_stage` round the values of a joint projection, which another processor, version of NumPy
or number of threads may compute with other last digits. A replay that is not equal still confirms the counts if

1. every cumulative count differs from the replayed one by at most 1, and
2. no more than one in `ONE_IN` of them differs: none at all in a folder with fewer cells.

Integers, signs, sums over children, public totals and the form of the table are checked exactly all the same. The other
kinds compute in integers, and have to be equal. `pgsr/release/THREATS.md` has what was measured, and what the rule lets
through: a forger may move 96 of the 961,695 counts of 3,195 regions and 301 sizes by 1.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.data.views import cumulative

ONE_IN = 10_000
"""One in so many cumulative counts may differ from a replay in floating point, by 1."""


@dataclass(frozen=True)
class Differences:
    """The differences between the cumulative counts of a release and those of a replay.

    Attributes:
        number: of the cumulative counts that differ.
        largest: difference.
        cells: of the whole release, regions x sizes.

    Example:
        >>> released = np.array([[1, 0, 2], [1, 0, 2]])
        >>> found = Differences.between(released, np.array([[0, 1, 2], [1, 0, 2]]))
        >>> found, found.allowed, found.tolerable
        (Differences(number=1, largest=1, cells=6), 0, False)
    """

    number: int
    largest: int
    cells: int

    @classmethod
    def between(cls, released: np.ndarray, replayed: np.ndarray) -> "Differences":
        """Compare counts; shape (regions, K + 1) each."""
        difference = np.abs(cumulative(released) - cumulative(replayed))
        return cls(int(np.count_nonzero(difference)), int(difference.max()), difference.size)

    @property
    def allowed(self) -> int:
        """The number of cumulative counts that may differ by 1."""
        return self.cells // ONE_IN

    @property
    def tolerable(self) -> bool:
        """Tell whether floating point on another machine explains them."""
        return self.largest <= 1 and self.number <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.number:,} of {self.cells:,} cumulative counts differ, by up to {self.largest:,}; up to "
            f"{self.allowed:,} may, by 1, because it computes in floating point"
        )
