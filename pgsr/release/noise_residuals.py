"""Find the numbers of a measurement that are known twice, and what remains of them: noise alone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.noise.measurement import Measurement, Totals

MOST_LAWS = 32
"""The most laws that are computed per level, those of the fewest draws; other regions are left out."""


@dataclass(frozen=True)
class Sum:
    """The kind of a residual: of how many independent draws of each level's noise it is the sum.

    Attributes:
        draws: number of draws per level, root first.
    """

    draws: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """A set of residuals that are independent of each other under the stated law.

    Attributes:
        what: where they come from, in words.
        residuals: per kind of sum, the residuals; shape (n,) each.
    """

    what: str
    residuals: dict[Sum, np.ndarray]

    @property
    def size(self) -> int:
        return sum(len(values) for values in self.residuals.values())


def families(measurement: Measurement) -> Iterator[Family]:
    """The residuals: of public totals, and of every level against the measured regions below it.

    With sizes per level, counts of a region's tail are added up first; its cumulative counts at the end of a class are
    there as they are.
    """
    tree, sizes = measurement.hierarchy, measurement.sizes
    views = [measurement.view_of(region) for region in range(tree.n_regions)]
    assert not {View.COUNTS, View.CUMULATIVE} <= set(views), "counts and cumulative counts measure different things"
    measured = measurement.measured & np.array([view is not View.RANKED for view in views])
    yield Family("numbers of groups", _of_totals(measurement, measured))
    below = measured_below(tree, measured)
    for level in range(tree.n_levels - 1):
        grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
        for region in range(tree.level(level).start, tree.level(level).stop):
            if measured[region] and below[region]:
                parts, row, view = below[region], measurement.row(region), views[region]
                assert isinstance(view, View), "releases have no split views"
                folded = row if sizes.equal else sizes.folded(row[None], level, view)[0]
                found = folded - sum(measurement.row(part) for part in parts)
                in_tail = 1 if view is View.CUMULATIVE else len(row) - len(found) + 1
                for own, residuals in ((1, found[:-1]), (in_tail, found[-1:])):
                    draws = np.bincount(tree.level_of[parts], minlength=tree.n_levels)
                    draws[level] += own
                    grouped[Sum(tuple(map(int, draws)))].append(residuals)
        yield Family(f"level {level}", _fewest_draws(grouped))


def _fewest_draws(grouped: Mapping[Sum, list[np.ndarray]]) -> dict[Sum, np.ndarray]:
    """Keep the residuals of the fewest draws: each of their kinds has a law of its own to be computed."""
    kept = sorted(grouped, key=lambda kind: sum(kind.draws))[:MOST_LAWS]
    return {kind: np.concatenate(grouped[kind]) for kind in kept}


def measured_below(tree: Hierarchy, measured: np.ndarray) -> list[list[int]]:
    """Find for every region the nearest measured regions below that together make it up; empty if there are none."""
    below: list[list[int]] = [[] for _ in range(tree.n_regions)]
    for region in range(tree.n_inner - 1, -1, -1):
        parts = [[child] if measured[child] else below[child] for child in tree.children(region)]
        if all(parts):
            below[region] = [part for some in parts for part in some]
    return below


def _of_totals(measurement: Measurement, measured: np.ndarray) -> dict[Sum, np.ndarray]:
    tree, totals = measurement.hierarchy, measurement.totals
    grouped: defaultdict[Sum, list[int]] = defaultdict(list)
    for region in np.flatnonzero(measured[: len(totals)]).tolist():
        row, cumulates = measurement.row(region), measurement.view_of(region) is View.CUMULATIVE
        if not cumulates and measurement.public is Totals.NOISY:
            continue  # the noise of the totals was changed when they were made to add up
        draws = [0] * tree.n_levels
        draws[int(tree.level_of[region])] = 1 if cumulates else len(row)
        known = int(row[-1]) if cumulates else int(row.sum())
        grouped[Sum(tuple(draws))].append(known - int(totals[region]))
    return {kind: np.array(values, np.int64) for kind, values in grouped.items()}
