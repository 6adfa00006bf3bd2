"""The intervals of released counts, the columns `lower` and `upper`: post-processing of the noisy values alone.

They are those of `Result.intervals` of a posterior: each by itself aims to hold the true count with the chance
`Terms.intervals`. They follow from what is published, so they cost no privacy, and everybody computes them again.

**Rounding.** The real answer of a posterior and
its standard deviations are computed in floating point, and ends rounded to integers: centre -+ z sd. On another machine
the last digits of sd may differ, and the centre, a difference of two multiples of 1/1024, by a few of these where a
value lies next to the border between two. Where an end lies between that of the posterior and that of the noise alone,
the part that each has in it may differ, too. So an end may be each integer that is explained by a relative and absolute
error of `SD_ERROR` in sd, of 2/1024 in the centre, and of `ERROR_OF_PART` in such a part. That is one integer unless
the end lies within 2/1024 of the middle between two, so it lets through a change by 1 of about one end in 250.
On the census of `near_replay` (3,195
counties, states and nation, sizes 0..300, epsilon 1) no digit of any standard deviation differed between two cores and
one, between loops compiled for this processor and for a generic one, and between NumPy with and without AVX2 and
AVX-512.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from pgsr.algorithms.tree_rounding.rounding import GRID
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.estimators.posterior.uncertainty import Uncertainty
from pgsr.methods.method import Result
from pgsr.release.folder.released_tables import Ends, dense

SD_ERROR = 1e-6
"""The relative and absolute error of a standard deviation in floating point that a replay allows."""

ERROR_OF_PART = 10 * SD_ERROR
"""The error of the part that the noise alone has in an end (`Reach.moved`): five times that of a ratio of two sd."""


@dataclass(frozen=True, eq=False)
class CountIntervals:
    """The ends of the intervals of all released counts, and the range in which a replay may find each.

    Attributes:
        ends: what a release publishes.
        widest, narrowest: ends that floating point on another machine may give.
    """

    ends: Ends
    widest: Ends
    narrowest: Ends

    @classmethod
    def of(cls, probability: Fraction, result: Result, released: Estimate) -> "CountIntervals":
        """Compute the intervals of released counts.

        Args:
            probability: of every interval, `Terms.intervals`.
            result: of the replayed post-processing, which holds the uncertainty of a posterior.
            released: the released counts, which may differ from the result by a few roundings.

        Raises:
            NoEstimateError: the post-processing was not finished, and why.
            MemoryNeededError: the intervals do not fit.

        Shown by `test_release_count_intervals.py`.
        """
        _ = result.estimate  # raises where the post-processing was not finished
        about, level = result.uncertainty, float(probability)
        assert isinstance(about, Uncertainty), "a posterior release knows its uncertainty"
        exact = about.counts.sd.astype(float)
        part = ERROR_OF_PART * about.counts.moved / _quantile(level)
        error = SD_ERROR * (1 + exact) + 2 / GRID / _quantile(level) + part  # the second of the centre
        wide, narrow = exact + error, exact - error
        table, possible = (
            Estimate(released.hierarchy, View.COUNTS, dense(released)),
            (exact, wide, np.maximum(narrow, 0)),
        )
        others = (replace(about, counts=replace(about.counts, sd=sd)) for sd in possible)
        found = [other.intervals(table, level, View.COUNTS) for other in others]
        return cls(*(Ends(each.lower.ravel(), each.upper.ravel()) for each in found))

    def refuted(self, published: Ends, cells: np.ndarray) -> np.ndarray:
        """Tell of which of these cells no replay gives the published ends; shape of `cells`, bool."""
        (lower, upper), (far_low, far_high), (near_low, near_high) = (
            (ends.lower[cells], ends.upper[cells]) for ends in (published, self.widest, self.narrowest)
        )
        return (lower < far_low) | (lower > near_low) | (upper < near_high) | (upper > far_high)

    def differ(self, published: Ends, cells: np.ndarray) -> int:
        """Count the ends of these cells that differ from the replayed ones."""
        pairs = ((published.lower, self.ends.lower), (published.upper, self.ends.upper))
        return sum(int(np.count_nonzero(ours[cells] != theirs[cells])) for ours, theirs in pairs)


def _quantile(probability: float) -> float:
    """The number of standard deviations on each side of an interval."""
    return float(ndtri((1 + probability) / 2))
