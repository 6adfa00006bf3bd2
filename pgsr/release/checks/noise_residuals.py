"""Find the numbers of a measurement that are known twice, and what remains of them: noise alone."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.shares_by_root import candidates
from pgsr.release.checks.residuals import ResidualFamily, Sum, fewest_draws
from pgsr.release.checks.split_residuals import split_families


def families(measurement: Measurement, by_root: bool = False) -> Iterator[ResidualFamily]:
    """The residuals: of public totals, of every level against the measured regions below it, and of split views.

    With sizes per level, counts of a region's tail are added up first; its cumulative counts at the end of a class are
    there as they are.

    Where thresholds follow from the noisy root (`by_root`), they choose how many sizes of the root are compared, and
    with which regions: those with G[r] p[0] above the factor have columns, so the share p[0] alone decides which. Where
    shares do, too, its noise has chosen its own scale, among those of all candidates.
    """
    tree = measurement.hierarchy
    views = [measurement.view_of(region) for region in range(tree.n_regions)]
    assert not {View.COUNTS, View.CUMULATIVE} <= set(views), "counts and cumulative counts measure different things"
    measured = measurement.measured & np.array([view is not View.RANKED for view in views])
    split = np.array([view.mixed for view in views])
    scales = 1 if measurement.first_root is None else len(candidates(tree.n_levels))
    yield ResidualFamily("numbers of groups", _of_totals(measurement, measured & ~split), scales)
    below = measured_below(tree, measured, without_groups(measurement))
    for level in range(tree.n_levels - 1):
        grouped: defaultdict[Sum, list[np.ndarray]] = defaultdict(list)
        for region in range(tree.level(level).start, tree.level(level).stop):
            parts = below[region]
            if not measured[region] or not parts:
                continue
            draws = np.bincount(tree.level_of[parts], minlength=tree.n_levels)
            for own, residuals in _against(measurement, region, parts):
                draws[level] += own
                grouped[tuple(map(int, draws))].append(residuals)
                draws[level] -= own
        choices = scales * (measurement.max_size + 2) * (tree.n_regions + 1) if by_root and not level else 1
        yield ResidualFamily(f"level {level}", fewest_draws(grouped), choices)
    if split.any():
        yield from split_families(measurement, below, by_root)


def _against(measurement: Measurement, region: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield values of a region less those of its parts, each after how many draws of the region's noise it holds."""
    row, sizes, level = measurement.row(region), measurement.sizes, int(measurement.hierarchy.level_of[region])
    views = [measurement.view_of(one) for one in (region, *parts)]
    if any(view.mixed for view in views):
        common = min(view.ranked_from(measurement.max_size) for view in views)
        yield 1, row[:common] - sum(measurement.row(part)[:common] for part in parts)
        return
    [view] = {view for view in View if view in views}
    folded = sizes.folded(row[None], level, view)[0]
    found = folded - sum(measurement.row(part) for part in parts)
    yield 1, found[:-1]
    yield 1 if view is View.CUMULATIVE else len(row) - len(found) + 1, found[-1:]


def measured_below(tree: Hierarchy, measured: np.ndarray, empty: np.ndarray | None = None) -> list[list[int]]:
    """Find for every region the nearest measured regions below that together make it up; empty if there are none.

    Args:
        tree: the regions.
        measured: which of them are; shape (regions,), bool.
        empty: which of them are known to have no groups, so that nothing is missing where these are not measured.
    """
    below: list[list[int]] = [[] for _ in range(tree.n_regions)]
    for region in range(tree.n_inner - 1, -1, -1):
        children = [child for child in tree.children(region) if measured[child] or empty is None or not empty[child]]
        parts = [[child] if measured[child] else below[child] for child in children]
        if all(parts):
            below[region] = [part for some in parts for part in some]
    return below


def without_groups(measurement: Measurement) -> np.ndarray | None:
    """Tell which regions have no groups, where numbers of groups are public; shape (regions,), bool."""
    return measurement.totals == 0 if measurement.public is Totals.REGIONS else None


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
        grouped[tuple(draws)].append(known - int(totals[region]))
    return {kind: np.array(values, np.int64) for kind, values in grouped.items()}
