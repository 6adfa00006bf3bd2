"""Compare released counts with those of a replay where the method computes in floating point.

The kinds `posterior` and `two_stage` round the values of a joint projection, which another processor, version of NumPy
or number of threads may compute with other last digits. So a replay that is not equal, cell by cell, still confirms the
released counts if

1. every cumulative count differs from the replayed one by at most 1, and
2. no more than one in `ONE_IN` of them differs: none at all in a folder with fewer cells.

Everything that holds exactly is checked exactly all the same: integers, signs, sums over children, public totals, and
that the table is the one that a release writes of these counts. The other kinds compute in integers, and have to be
equal.

**What decides.** A projection has thousands of exact ties (a sum of fitted halves is k + 1/2, siblings are alike),
which the last digits would break one way or another. `pgsr.algorithms.tree_rounding` therefore rounds all values to
multiples of 1/1024 first. What is left are values that lie within an error of the middle between two multiples, and of
those the few at which somebody's rounding changes.

**What was measured.** Cumulative counts that change, at epsilon 1 with public totals of regions, of `census_like`
counties with 3,195 x 301 and, where a second number stands, 3,195 x 1,001 cells; none changes by more than 1. In
brackets what changed before values were rounded to multiples. The errors of another machine are those of the first
three rows; the rows below exaggerate. Rows with a star were measured with borders in the middle between multiples,
the others of `two_stage` with the borders of now.

| what is different                                       | posterior             | two_stage                      |
|---------------------------------------------------------|-----------------------|--------------------------------|
| one core and thread for two (values differ by 3e-8) *   | 0 (0)                 | 0 (3,268)                      |
| NumPy without AVX2 and AVX-512 (values are equal)       | 0 (0)                 | 0 (0)                          |
| loops compiled for a generic processor (equal)          | 0 (0)                 | 0 (0)                          |
| uniform errors up to 1e-8 in the projection             | 0, 0 *                | 0                              |
| gap 1e-10 or 1e-12 of the projection for 1e-9           | 0 (182), 0 (454) *    | 0 (9,126)                      |
| gap 1e-6                                                | 0 (175), 3 (496) *    | 102 (9,594)                    |
| relative errors of 1e-12 in the posterior means *       | 0 (154), 8 (370)      |                                |
| relative errors of 1e-12 in the projection *            | 0 (257), 3            | 12 (10,204), 16 (20,018)       |
| relative errors of 1e-9 in the posterior means *        | 382 (418), 1,336      |                                |

With borders in the middle the two other gaps changed up to 34 cells of `two_stage` (40 of 3,586,410 of `taxi_like`),
and errors of 1e-8 changed 34 at epsilon 1/10 with the root's total alone, where now 0 change. So nothing that a machine
should do changes more than one cumulative count in 28,000; the rule allows one in 10,000. On one machine a replay is
equal, every count (`test_release_near_replay.py`).

Of split views with the threshold 12 (3,195 x 301 cells, 105,480,101 groups, epsilon 1) one thread, NumPy without AVX2
and AVX-512 and loops compiled for a generic processor, all at once, changed 0 cumulative counts of `posterior` and 0 of
`two_stage`.

**What it lets through.** A forger, or a publisher, may move that many cumulative counts by 1, where sums, signs and
totals allow it: in a nation of 3,195 regions and 301 sizes 96 of 961,695. A changed published file is found by the
announced digest, or the publisher's key, as always.
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
