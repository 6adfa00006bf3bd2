"""The basis of choosing by noisy scores: an integer score of known sensitivity, and a stream of noise per candidate."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, Source, StreamId

_BLOCK_CELLS = 4_000_000
_LARGEST_ROW = 2.0**60


@dataclass(frozen=True)
class Branch:
    """The source of noise of candidate `number`: it asks `source` for "<view>, candidate <number>", not for "<view>".

    Different candidates thus ask for different streams, always, even where they measure the same view; and no view is
    named like that, so none is shared with a measurement outside. `Secure` stays secure, `Seeded` repeats.

    Example:
        >>> from pgsr.privacy import Seeded
        >>> identity = StreamId("taxi", "counts", 0, ("Manhattan",))
        >>> first, second = (Branch(Seeded("demo"), i).stream(identity).words(1)[0] for i in (0, 1))
        >>> first != second
        np.True_
    """

    source: Source
    number: int

    @property
    def secure(self) -> bool:
        return self.source.secure

    def stream(self, identity: StreamId) -> ByteStream:
        return self.source.stream(replace(identity, view=f"{identity.view}, candidate {self.number}"))


def score(truth: CountOfCounts, estimate: Estimate) -> int | None:
    """Compute the distance of the estimate, rounded to integers, to the truth. It has no noise and is never released.

        sum over all regions, s = 0..K, of |N(s) - N'(s)|,   N(s) = number of groups of size s or more.

    Counting from above keeps it the earth mover's distance where totals agree, and lets one empty group change it by
    one per level, not by K + 1. An exact integer, for sums in floating point have no proved sensitivity.

    Returns:
        The distance; None, whatever the truth, for values not finite, beyond 2^60, or of other regions or sizes.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> tree = Hierarchy.from_parents(["all"], [-1])
        >>> truth = CountOfCounts(tree, [[0, 100, 0, 0]])
        >>> score(truth, Estimate(tree, View.COUNTS, np.array([[0, 0, 0, 99]])))  # 99 groups grew by 2, one is lost
        200

    Source: Kuo et al. 2018, section 3.2. Sensitivity = number of levels:
    `test_kuo2018_choosing_score.py::test_sensitivity_of_scores`.
    """
    values = estimate.as_counts
    n_regions, n_sizes = truth.hierarchy.n_regions, truth.max_size + 1
    if values.shape != (n_regions, n_sizes) or estimate.hierarchy.paths != truth.hierarchy.paths:
        return None
    step = max(1, _BLOCK_CELLS // n_sizes)
    total = 0
    for start in range(0, n_regions, step):
        stop = min(start + step, n_regions)
        block = values[start:stop]
        ours = _integers(block.toarray() if sparse.issparse(block) else block)
        if ours is None:
            return None
        difference = ours - truth.rows(start, stop)
        total += _exact_sum(np.abs(np.cumsum(difference[:, ::-1], axis=1)))
    return total


def draw(law: DoubleGeometric, source: Source, identity: StreamId) -> int:
    """Draw one number from a stream of its own."""
    noise = np.zeros(1, np.int64)
    law.add_to(noise, source.stream(identity))
    return int(noise[0])


def _integers(block: np.ndarray) -> np.ndarray | None:
    """Round the block to int64; return None if a running sum of it could overflow."""
    if not np.isfinite(block).all() or (np.abs(block.astype(np.float64)).sum(axis=1) > _LARGEST_ROW).any():
        return None
    return block.astype(np.int64) if block.dtype.kind in "iu" else np.rint(block).astype(np.int64)


def _exact_sum(values: np.ndarray) -> int:
    """Add up non-negative int64 of up to 2^31 cells; high and low halves are added apart, so that neither overflows."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
