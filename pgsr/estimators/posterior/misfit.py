"""Where smooth prior means and a region's own counts contradict each other: single cells, and whole stretches."""

from functools import lru_cache

import numpy as np

from pgsr.estimators.posterior.windows import averages, sums_between

FAR = 5.0
"""The number of standard deviations from its surroundings at which a cell stands out.

Noise alone takes the difference of two values with double geometric noise that far once in some 3,000 cells; what is
compared are posterior means, in which there is less of it.
"""

WIDE_SHAPE = 1.0
"""The shape of the prior at `misfits`, the least there is: a count then deviates by its mean, or more."""

TURNS = 3
"""How often cells are compared with the average of those that did not stand out before.

On generated regions with spikes at round sizes, groups of spikes, and ends and stretches that are abrupt (epsilon 1,
all budget at the leaves, or a third), errors are between 4 % smaller and 17 % larger after 1 turn, 1 to 91 % larger
after 2, and between 3 % smaller and 0.5 % larger after 5. On taxis, flights and households nothing changes from 1 to 5.
"""

STRETCH = 0.15
"""The length of the stretches of `misfits`, relative to the size they begin at.

It matters little: between 0.03 and 0.6 errors of the same regions change by 2 % at most, and those of taxis, flights
and households by 0.3 %.
"""

FAR_SUM = 10.0
"""The number of standard deviations at which the sum over a stretch is a misfit.

Many stretches of a region are tried, and real regions differ from their neighbours by more than the prior says: at 5
the errors of taxi releases grew by up to 6 %, at 8 by up to 0.4 %, and at 10 nothing changed.
"""


def standing_out(counts: np.ndarray, width: float, variance: np.ndarray | float, shape: float) -> np.ndarray | None:
    """Find the cells that are far from the average of the cells around them; of the shape of `counts`, None for none.

    With m the average of the cells around a count x that do not stand out themselves, x stands out if

        |x - m| > FAR sqrt(variance + m + m^2 / shape),

    which is far beyond both noise of this `variance` and the negative binomial law of mean m. Whether a cell stands out
    depends on which others do. So this is repeated `TURNS` times, from the average of all cells on: the highest spikes
    are found first, and next to them nothing stands out any more once they are left out of the average.

    Args:
        counts: x, shape (..., K + 1).
        width: of the window around a cell, relative to its size, as in `averages`.
        variance: of the noise in the counts; infinite where none may stand out.
        shape: of the negative binomial law.
    """
    apart = None
    for _ in range(TURNS):
        found = far_from(counts, averages(counts, width, apart), variance, shape)
        if apart is None and not found.any():
            return None
        apart = found
    return apart


def far_from(counts: np.ndarray, means: np.ndarray, variance: np.ndarray | float, shape: float) -> np.ndarray:
    """Tell which counts are further than `FAR` standard deviations from these means; see `standing_out`."""
    return np.abs(counts - means) > FAR * np.sqrt(variance + means + means * means / shape)


def misfits(cumulative: np.ndarray, mu: np.ndarray, variance: float, shapes: np.ndarray) -> np.ndarray:
    """Find the stretches of sizes whose sum of counts is far from the sum of their prior means; bool, as `mu`.

    Where counts end abruptly, or begin, a smooth prior expects groups beyond the end. No cell of it is far off, but
    their sum is. With own counts x[t], a stretch s..e, e = s + floor(STRETCH s), is a misfit if

        |sum over s <= t <= e of (x[t] - mu[t])| > FAR_SUM sqrt(2 variance + sum of (mu[t] + mu[t]^2 / shape[t])),

    and all its cells are. The last cell, "K or more", belongs to no stretch.

    Args:
        cumulative: what is known of the region's own cumulative counts, shape (..., K + 1).
        mu: prior means of the counts, same shape.
        variance: of the noise in a cumulative count.
        shapes: of the prior by size, shape (K + 1,).

    Complexity: O(K) per region.
    """
    first, stop = _stretches(mu.shape[-1] - 1)
    spread = sums_between((mu + mu * mu / shapes)[..., :-1], first, stop)
    own = cumulative[..., :-1] - mu[..., :-1]
    own[..., 1:] = cumulative[..., 1:-1] - cumulative[..., :-2] - mu[..., 1:-1]
    difference = sums_between(own, first, stop)
    *rows, begin = np.nonzero(np.abs(difference) > FAR_SUM * np.sqrt(2 * variance + spread))
    changes = np.zeros(mu.shape, np.int64)  # of the number of misfits that a cell lies in, from that of the cell before
    np.add.at(changes, (*rows, begin), 1)
    np.add.at(changes, (*rows, stop[begin]), -1)
    return np.cumsum(changes, axis=-1) > 0


@lru_cache(maxsize=4)
def _stretches(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the first cell of the stretch that begins at every size below n, and the first one after it."""
    first = np.arange(n)
    return first, np.minimum(first + np.floor(STRETCH * first).astype(np.int64) + 1, n)
