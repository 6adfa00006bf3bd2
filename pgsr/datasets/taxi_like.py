"""The generator in the style of the yellow taxis of New York in 2014, because the paper's data is not published."""

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.rounding import largest_remainder
from pgsr.datasets.table import count_of_counts, whole_number
from pgsr.errors import DataError

GROUPS = 13_282
"""Groups of the data set, and its largest size: both are printed as 13,282."""

PICKUPS = 24_489_743
"""Individuals of the data set."""

ZONES = {"Bronx": 43, "Brooklyn": 61, "EWR": 1, "Manhattan": 69, "Queens": 69, "Staten Island": 20}
"""Taxi zones by borough, 263 in all; EWR is the airport of Newark."""

SHARES = {"Bronx": 0.006, "Brooklyn": 0.035, "EWR": 0.003, "Manhattan": 0.9, "Queens": 0.055, "Staten Island": 0.001}
"""Parts of the groups: assumed. Nine of ten lie in Manhattan, most others in Queens, which has two airports."""

SPREAD = 1.5
"""Standard deviation of the logarithm of a group's size: assumed."""


def taxi_like(max_size: int = GROUPS, groups: int = GROUPS, pickups: int | None = None, seed: int = 0) -> CountOfCounts:
    """Generate pairs of a taxi and a zone, counted by number of pickups: New York / 6 boroughs / 263 zones.

    The paper's figures are kept: 13,282 groups, 24,489,743 pickups, sizes 1 to 13,282. All else is assumed: groups fall
    on boroughs by `SHARES`, on the zones of a borough with probability ~ 1 / (rank + 1), and sizes are log-normal,
    scaled to the number of pickups and cut at 13,282.

    Args:
        max_size: K, larger sizes count as K. The paper's N.
        groups: number of groups.
        pickups: number of individuals before sizes are cut at K; in proportion to `groups` if None.
        seed: of the draws.

    Returns:
        270 regions x (K + 1) sizes, named "taxi-like/K=13282/seed=0/13282/24489743". Size 0 has no groups.

    Raises:
        DataError: a number is not whole or too small, or `pickups` is not between 1 and 13,282 per group.

    Example:
        >>> truth = taxi_like()
        >>> int(truth.counts[0] @ np.arange(13_283))
        24489743

    Extends: the table of data sets of Fioretto and Van Hentenryck 2019, by generated pickups and places.

    Source of the zones by borough: the taxi zone lookup table of the New York City Taxi and Limousine Commission.
    """
    max_size = whole_number("max_size", max_size, least=1)
    groups = whole_number("groups", groups, least=1)
    pickups = PICKUPS * groups // GROUPS if pickups is None else whole_number("pickups", pickups, least=1)
    seed = whole_number("seed", seed, least=0)
    if not groups <= pickups <= GROUPS * groups:
        raise DataError(f"pickups={pickups} for {groups:,} groups; give 1 to {GROUPS:,} per group")
    generator = np.random.default_rng(seed)
    zone = generator.choice(sum(ZONES.values()), groups, p=_zone_shares())
    size = _sizes(generator.lognormal(0, SPREAD, groups), pickups)
    leaves = [("New York", borough, f"{borough} zone {j}") for borough, n in ZONES.items() for j in range(1, n + 1)]
    name = f"taxi-like/K={max_size}/seed={seed}/{groups}/{pickups}"
    return count_of_counts(leaves, zone, size, np.ones(groups, np.int64), max_size, name)


def _zone_shares() -> np.ndarray:
    """Compute the probability of every zone, borough after borough; shape (263,)."""
    within = [1 / (np.arange(1, n + 1) + 1) for n in ZONES.values()]
    shares = np.concatenate([SHARES[b] * w / w.sum() for b, w in zip(ZONES, within, strict=True)])
    return shares / shares.sum()


def _sizes(drawn: np.ndarray, total: int) -> np.ndarray:
    """Round `drawn` to sizes from 1 to 13,282 with the given sum, in proportion as far as these ends allow."""
    low, high = 0.0, GROUPS / float(drawn.min())
    for _ in range(200):  # bisection; the sum grows with the factor from its least to its greatest value
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(middle * drawn, 1, GROUPS).sum() <= total else (low, middle)
    return largest_remainder(np.clip(low * drawn, 1, GROUPS), total)
