"""The intervals of released counts, the columns `lower` and `upper`: post-processing of the noisy values alone.

They are those of `pgsr.intervals.intervals` of the statistic "count": each by itself aims to hold the true
count with the chance `Terms.intervals`. They follow from what is published, so they cost no privacy, and everybody
computes them again.

**Rounding.** Draws are computed in floating point. On another machine the last digits of one may differ, and then one
of the draws of a cell may be another whole number. Whatever it becomes, a quantile of the draws moves by no more than
one rank. So an end may be each number between the draws one rank further out and one further in.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.intervals.replicates import SEED, Drawing, Outermost, drawn_counts, draws_for
from pgsr.methods.mechanism import Mechanism
from pgsr.noise.measurement import Measurement
from pgsr.release.folder.released_tables import Ends, dense


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
    def of(
        cls, probability: Fraction, mechanism: Mechanism, measurement: Measurement, released: Estimate
    ) -> "CountIntervals":
        """Compute the intervals of released counts.

        Args:
            probability: of every interval, `Terms.intervals`.
            mechanism: of the release, a posterior.
            measurement: the noisy values.
            released: the released counts, which intervals are widened to hold.

        Raises:
            MemoryNeededError: the draws do not fit.
            Stopped: the post-processing gave no answer.

        Shown by `test_release_count_intervals.py`.
        """
        assert isinstance(mechanism.post, Drawing), "a posterior draws"
        counts, number = dense(released), draws_for(probability)
        outermost = Outermost(number, probability)
        for table in drawn_counts(mechanism.post, measurement, number, SEED):
            outermost.add(table)
        sides = ((np.minimum(low, counts), np.maximum(high, counts)) for low, high in map(outermost.ends, (0, -1, 1)))
        return cls(*(Ends(low.ravel(), high.ravel()) for low, high in sides))

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
