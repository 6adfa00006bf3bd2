"""Compare released counts with those of a replay where the method computes in floating point.

The kinds `posterior` and `two_stage` round the values of a joint projection, which another processor, version of NumPy
or number of threads may compute with other last digits. A replay that is not equal still confirms the counts if

1. every cumulative count differs from the replayed one by at most 1, and
2. no more than one in `ONE_IN` of them differs: none at all in a folder with fewer cells.

Integers, signs, sums over children, public totals and the form of the table are checked exactly all the same. The other
kinds compute in integers, and have to be equal. `pgsr/release/THREATS.md` has what was measured, and what the rule lets
through: a forger may move 96 of the 961,695 counts of 3,195 regions and 301 sizes by 1.
"""

import numpy as np

from pgsr.data.views import cumulative

ONE_IN = 10_000
"""One in so many cumulative counts may differ from a replay in floating point, by 1."""


def roundings(released: np.ndarray, replayed: np.ndarray) -> tuple[bool, str]:
    """Tell whether floating point on another machine explains how counts differ from replayed ones, and how they do.

    Args:
        released, replayed: shape (regions, K + 1) each.

    Example:
        >>> roundings(np.array([[1, 0, 2], [1, 0, 2]]), np.array([[0, 1, 2], [1, 0, 2]]))[0]
        False
    """
    difference = np.abs(cumulative(released) - cumulative(replayed))
    number, largest, allowed = int(np.count_nonzero(difference)), int(difference.max()), difference.size // ONE_IN
    return largest <= 1 and number <= allowed, (
        f"{number:,} of {difference.size:,} cumulative counts differ, by up to {largest:,}; up to {allowed:,} may, by "
        "1, because it computes in floating point"
    )
