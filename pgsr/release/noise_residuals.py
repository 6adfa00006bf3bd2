"""Find the numbers of a measurement that are known twice, and what remains of them: noise alone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.measurement_by_level import MeasurementByLevel

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


def families(measurement: Measurement | MeasurementByLevel) -> Iterator[Family]:
    """The residuals: of public totals, and of every level against the measured regions below it."""
    if isinstance(measurement, MeasurementByLevel):
        yield from _families_by_level(measurement)
        return
    tree, values = measurement.hierarchy, measurement.values
    views = [measurement.view_of(region) for region in range(tree.n_regions)]
    assert not {View.COUNTS, View.CUMULATIVE} <= set(views), "counts and cumulative counts measure different things"
    measured = measurement.measured & np.array([view is not View.RANKED for view in views])
    yield Family("numbers of groups", _of_totals(measurement, measured))
    below = measured_below(tree, measured)
    for level in range(tree.n_levels - 1):
        grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
        for region in range(tree.level(level).start, tree.level(level).stop):
            if measured[region] and below[region]:
                parts = below[region]
                draws = np.bincount(tree.level_of[parts], minlength=tree.n_levels)
                draws[level] += 1
                grouped[Sum(tuple(map(int, draws)))].append(values[region] - sum(values[part] for part in parts))
        yield Family(f"level {level}", _fewest_draws(grouped))


def _families_by_level(measurement: MeasurementByLevel) -> Iterator[Family]:
    """The residuals with sizes per level: public totals, and the classes of a level against those of the level below.

    Counts of a region's tail are added up first; its cumulative counts at the end of a class are there as they are.
    """
    tree, sizes, none = measurement.hierarchy, measurement.max_sizes, (0,) * measurement.hierarchy.n_levels
    cumulates = measurement.view is View.CUMULATIVE
    yield Family("numbers of groups", _of_totals_by_level(measurement))
    for level, missing in enumerate(_cumulative_missing(measurement) if cumulates else measurement.values.missing()):
        grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
        here, k = tree.level(level), sizes[level + 1]
        n_children = np.diff(tree.first_child[here.start : here.stop + 1])
        of_tail = 1 if cumulates else sizes[level] - k + 1
        for children in np.unique(n_children).tolist():
            rows = missing[n_children == children]
            for own, part in ((1, rows[:, :k]), (of_tail, rows[:, k:])):
                draws = (*none[:level], own, children, *none[level + 2 :])
                grouped[Sum(draws)].append(part.ravel())
        yield Family(f"level {level}", _fewest_draws(grouped))


def _of_totals_by_level(measurement: MeasurementByLevel) -> dict[Sum, np.ndarray]:
    """The residuals of public totals: of the root, or of all regions level by level."""
    none, cumulates = (0,) * measurement.hierarchy.n_levels, measurement.view is View.CUMULATIVE
    known = (np.array([measurement.total]),) if measurement.totals is None else measurement.totals_by_level()
    found = {}
    for level, totals in enumerate(known):
        table = measurement.values.tables[level]
        noisy = table[:, -1] if cumulates else table.sum(axis=1, dtype=np.int64)
        draws = (*none[:level], 1 if cumulates else table.shape[1], *none[level + 1 :])
        found[Sum(draws)] = noisy - totals
    return found


def _cumulative_missing(measurement: MeasurementByLevel) -> Iterator[np.ndarray]:
    """Compute what cumulative counts lack to those of children, as `CountsByLevel.missing` does for counts."""
    tree, tables = measurement.hierarchy, measurement.values.tables
    for level in range(tree.n_levels - 1):
        here, below = tree.level(level), tables[level + 1]
        of_children = np.add.reduceat(below, tree.first_child[here] - here.stop, axis=0, dtype=np.int64)
        ends = [*range(below.shape[1] - 1), -1]  # the last class of the children ends where all sizes do
        yield of_children - tables[level][:, ends]


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
        row, cumulates = measurement.values[region], measurement.view_of(region) is View.CUMULATIVE
        if not cumulates and measurement.public is Totals.NOISY:
            continue  # the noise of the totals was changed when they were made to add up
        draws = [0] * tree.n_levels
        draws[int(tree.level_of[region])] = 1 if cumulates else len(row)
        known = int(row[-1]) if cumulates else int(row.sum())
        grouped[Sum(tuple(draws))].append(known - int(totals[region]))
    return {kind: np.array(values, np.int64) for kind, values in grouped.items()}
