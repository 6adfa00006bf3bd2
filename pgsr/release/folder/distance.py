"""The distance between released counts and noisy values, in exact integers."""

from collections.abc import Iterator

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.views import View, cumulative
from pgsr.machine.blocks import row_blocks
from pgsr.noise.measurement import Measurement
from pgsr.release.publishing.errors import ManifestError


def distance(measurement: Measurement, counts: Estimate, norm: int) -> int:
    """Sum |x - y|^norm over all measured cells, an exact integer.

    x are the released values in the measured view of each region, y the noisy ones.

    Raises:
        ManifestError: a region's counts do not have the number of groups that are ranked there.
    """
    total = 0
    for x, y in _compared(measurement, counts):
        difference = np.abs(x - y).ravel()
        total += exact_sum(difference) if norm == 1 else _exact_sum_of_squares(difference)
    return total


def exact_sum(values: np.ndarray) -> int:
    """Sum numbers of int64 without overflow."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _compared(measurement: Measurement, counts: Estimate) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pair released values in the measured view with noisy ones, by region or by block of regions."""
    tree, measured = measurement.hierarchy, measurement.measured
    if not measurement.has_ranks:
        for level, y in enumerate(measurement.tables):
            first = tree.level(level).start
            view = measurement.view_of(first)
            for block in row_blocks(slice(0, len(y)), y.shape[1]):
                kept = measured[first + block.start : first + block.stop]
                x = counts.rows(first + block.start, first + block.stop)[kept]
                yield x if view is View.COUNTS else cumulative(x), y[block][kept]
        return
    for region in np.flatnonzero(measured).tolist():
        x, y = counts.row(region), measurement.row(region)
        vector = measurement.view_of(region).vector(x, None) if (x >= 0).all() else None
        if vector is None or len(vector) != len(y):
            name = " / ".join(tree.paths[region])
            raise ManifestError(f"the counts of {name!r} do not have its public number of groups")
        yield vector, y


def _exact_sum_of_squares(values: np.ndarray) -> int:
    """Sum squares of non-negative numbers of int64 without overflow."""
    if int(values.max(initial=0)) < 2**31:
        return exact_sum(values * values)
    return sum(int(value) ** 2 for value in values)
