"""The data behind the instances: tables of groups, sized to a number of unknowns, and values hard on purpose."""

import numpy as np

from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.datasets import census_like, taxi_like
from pgsr.errors import ArgumentError
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.data.packages import flights

DEPTH = 12
"""Levels of the deep tree below its root."""


def truth_of(data: str, size: int, view: View) -> CountOfCounts:
    """Make the table of `data` with about 10^size unknowns.

    | data        | what                                                                     | regions        |
    |-------------|--------------------------------------------------------------------------|----------------|
    | census      | households generated from published figures of the census of 2000        | 61, from 1e5 on 3,195 |
    | taxi        | pairs of a taxi and a neighbourhood by pickups, Kuo et al. 2018           | 31             |
    | taxi-groups | one in so many of the same pairs, for ranked sizes: unknowns are groups   | 31             |
    | taxi-like   | the same generated, after Fioretto and Van Hentenryck 2019               | 270            |
    | flights     | aircraft at the airports of New York by departures in 2013               | 4              |

    Raises:
        DataError: the folder that PGSR_DATA names does not have them.
        ArgumentError: `data` is something else.
    """
    unknowns = 10**size
    if data == "census":
        regions, n = ("divisions", 61) if size < 5 else ("counties", 3_195)
        return census_like(regions=regions, max_size=round(unknowns / n) - 1, seed=1)
    if data == "taxi":
        return kuo_taxi(max_size=round(unknowns / 31) - 1)
    if data == "taxi-groups":
        return _thinned(kuo_taxi(), unknowns)
    if data == "taxi-like":
        return taxi_like(max_size=round(unknowns / 270) - 1, seed=1)
    if data == "flights":
        return flights(max_size=round(unknowns / 4) - 1)
    raise ArgumentError(f"data {data!r} are unknown; use census, taxi, taxi-groups, taxi-like or flights")


def values_of(data: str, family: str, size: int, seed: int) -> Problem:
    """Make a problem of values that nobody measured; `family` is mh, mc or hc-l2.

    ties: values are 0 or 1 in 6 regions on 2 levels, so that a great many optima tie, in every sum and every size; the
    total is far from what values add up to, so that all cells move.
    deep: a binary tree of 12 levels below the root, whose last level continues in 16 leaves each from 1e5 on; normal
    noise of the same spread everywhere, so that sums disagree on every level.
    """
    rng = np.random.default_rng([seed, size, *data.encode()])
    if data == "ties":
        tree = Hierarchy.from_paths([("top", f"{leaf}") for leaf in range(5)])
        values = rng.integers(0, 2, (6, 10**size // 6))
        total = 3 * values.shape[1]
    elif data == "deep":
        tree = _deep(10**size)
        values = np.rint(rng.normal(0, 30, (tree.n_regions, max(2, 10**size // tree.n_regions)))).astype(np.int64)
        total = 50 * values.shape[1]
    else:
        raise ArgumentError(f"values {data!r} are unknown; use ties or deep")
    if family == "mh":
        return Problem.of(values, tree, groups=total, label="M_H")
    steps = np.cumsum(values, axis=1)
    if family == "mc":
        return Problem.of(steps, tree, View.CUMULATIVE, groups=total, label="M_c")
    if family == "hc-l2":
        return Problem.of(steps, tree, View.CUMULATIVE, consistent=False, label="H_c L2")
    raise ArgumentError(f"there are no values for {family!r}; use mh, mc or hc-l2")


def _deep(unknowns: int) -> Hierarchy:
    """A binary tree cut at so many levels that a region has at least 4 cells."""
    levels = min(DEPTH, int(np.log2(unknowns / 8)))
    return Hierarchy.from_parents(
        [f"{region}" for region in range(2 ** (levels + 1) - 1)],
        [-1, *((region - 1) // 2 for region in range(1, 2 ** (levels + 1) - 1))],
    )


def _thinned(truth: CountOfCounts, unknowns: int) -> CountOfCounts:
    """Keep one in so many groups of every leaf and size, spread evenly, so that all levels have `unknowns` in sum."""
    tree = truth.hierarchy
    counts = np.asarray(truth.counts)[tree.leaves]
    share = unknowns / tree.n_levels / counts.sum()
    upto = np.floor(np.cumsum(counts.ravel()) * share).astype(np.int64)
    kept = np.diff(upto, prepend=0).reshape(counts.shape)
    leaves = [tree.paths[leaf] for leaf in range(*tree.leaves.indices(tree.n_regions))]
    return CountOfCounts(Hierarchy.from_paths(leaves), kept)
