"""The integer statistics of the truth, each with a stated sensitivity."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.errors import MethodError


@dataclass(frozen=True)
class IntegerStatistic:
    """An integer computed from the truth; an entity that joins or leaves a group changes it by `sensitivity` at most.

    With `totals="noisy"` candidates this must hold for one empty group more or less as well.

    Raises:
        MethodError: the sensitivity is not a positive integer.
    """

    name: str
    of: Callable[[CountOfCounts], int]
    sensitivity: int

    def __post_init__(self) -> None:
        if isinstance(self.sensitivity, bool) or not isinstance(self.sensitivity, int) or self.sensitivity < 1:
            raise MethodError(f"sensitivity={self.sensitivity!r} of {self.name!r}; state and prove a positive integer")


def distinct_sizes(truth: CountOfCounts) -> int:
    """Count the sizes that occur in the root; the sensitivity is 1.

    An entity moves one group from s to s + 1. Size s may vanish (-1) and size s + 1 may appear (+1); no other cell
    changes, so the sum of both is -1, 0 or 1. At K nothing changes, and an empty group adds size 0 at most.
    Shown by `test_kuo2018_choosing_score.py::test_sensitivity_of_distinct_sizes`.
    """
    return int(np.count_nonzero(truth.rows(0, 1)))


DISTINCT_SIZES = IntegerStatistic("distinct sizes", distinct_sizes, 1)
