"""The three equivalent views of a region's groups, and conversions between them.

With H[s] groups of size s = 0..K and G = sum H:

- counts      H[s];
- cumulative  Hc[s] = sum over t <= s of H[t], non-decreasing, Hc[K] = G;
- ranked      Hg[i] = size of the i-th smallest group, i = 0..G-1, non-decreasing.

Source: Kuo et al. 2018, section 3; Fioretto and Van Hentenryck 2019 call the cumulative view c.
"""

from enum import Enum

import numpy as np


class View(Enum):
    """The kind of vector that is measured of a region. Every view holds the same information.

    COUNTS: H[s], how many groups have size s; shape (K + 1,).
    CUMULATIVE: Hc[s], how many groups have size at most s; shape (K + 1,).
    RANKED: Hg[i], the size of the i-th smallest group; one number per group.

    Example:
        >>> counts = np.array([0, 2, 1])
        >>> cumulative(counts).tolist(), ranked(counts).tolist()
        ([0, 2, 3], [1, 1, 2])
    """

    COUNTS = "counts"
    CUMULATIVE = "cumulative"
    RANKED = "ranked"

    @property
    def sensitivity(self) -> int:
        """The largest L1 change of one region's vector when one entity joins or leaves a group.

        A group moves from size s to s + 1: two cells of the counts change by one, one cell of the other views. This
        needs a cell for size 0 (else a group would vanish and every cumulative cell change).
        Shown by `tests/test_data_views.py::test_sensitivity_by_enumeration`.
        """
        return 2 if self is View.COUNTS else 1

    def __repr__(self) -> str:
        return f"View.{self.name}"


def cumulative(counts: np.ndarray) -> np.ndarray:
    """Add up over sizes (last axis), size by size; shape kept.

    Example:
        >>> cumulative(np.array([0, 2, 1, 2]))
        array([0, 2, 3, 5])
    """
    return np.cumsum(counts, axis=-1)


def counts_of_cumulative(values: np.ndarray) -> np.ndarray:
    """Take first differences over sizes (last axis); the inverse of `cumulative`.

    Example:
        >>> counts_of_cumulative(np.array([0, 2, 3, 5]))
        array([0, 2, 1, 2])
    """
    return np.diff(values, axis=-1, prepend=values.dtype.type(0))


def ranked(counts: np.ndarray) -> np.ndarray:
    """List the sizes of all groups of one region in increasing order; shape (G,).

    Example:
        >>> ranked(np.array([0, 2, 1, 2]))
        array([1, 1, 2, 3, 3])
    """
    return np.repeat(np.arange(len(counts)), counts)


def counts_of_ranked(sizes: np.ndarray, max_size: int) -> np.ndarray:
    """Count the groups of every size 0..max_size; larger sizes count as max_size. The inverse of `ranked`.

    Example:
        >>> counts_of_ranked(np.array([1, 1, 2, 3, 3]), 3)
        array([0, 2, 1, 2])
    """
    return np.bincount(np.minimum(sizes, max_size), minlength=max_size + 1)
