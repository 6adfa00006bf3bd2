"""The four conditions of a release, checked on any estimate of counts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pgsr.checks import is_sparse
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, counts_of_cumulative
from pgsr.machine.blocks import row_blocks
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.tolerances import CONDITION


def broken_conditions(measurement: Measurement, estimate: Estimate) -> dict[str, int]:
    """Count how often each of the four conditions of a release fails: cells, cells, (region, size) pairs, regions.

    Integrality and non-negativity, consistency with the children, and the public numbers of groups.

    Source: Kuo et al. 2018, section 3.
    """
    if not estimate.sizes.equal:
        return _broken_by_level(measurement, estimate)
    tree, values = estimate.hierarchy, estimate.values
    broken = {"integrality": 0, "sign": 0, "consistency": 0}
    have = np.empty(tree.n_regions, values.dtype)
    for rows in _blocks(values, slice(0, tree.n_regions)):
        counts = _counts(estimate, rows)
        have[rows] = np.asarray(counts.sum(axis=1)).ravel()
        cells = counts.data if is_sparse(counts) else counts
        if values.dtype.kind == "f":
            broken["integrality"] += int((np.abs(cells - np.rint(cells)) > CONDITION).sum())
        broken["sign"] += int((cells < -CONDITION).sum())
    for region in range(tree.n_inner):
        children = tree.children(region)
        rest = estimate.row(region)
        for rows in _blocks(values, slice(children.start, children.stop)):
            rest = rest - np.asarray(_counts(estimate, rows).sum(axis=0)).ravel()
        broken["consistency"] += int((np.abs(rest) > CONDITION).sum())
    wanted = measurement.totals
    checked = 1 if measurement.public is Totals.ROOT else tree.n_regions
    broken["totals"] = int((np.abs(have[:checked] - wanted[:checked]) > CONDITION).sum())
    return broken


def _broken_by_level(measurement: Measurement, estimate: Estimate) -> dict[str, int]:
    """Do the same where levels have sizes of their own; consistency counts pairs of a region and a size below it."""
    sizes, tables = estimate.sizes, estimate.as_counts
    folded = (sizes.folded(tables[level], level, View.COUNTS) for level in range(len(tables) - 1))
    missing = [here - sizes.children_sums(tables, level) for level, here in enumerate(folded)]
    have = np.concatenate([table.sum(axis=1) for table in tables])
    n, real = len(measurement.totals), tables if estimate.kind == "f" else ()
    return {
        "integrality": sum(int((np.abs(table - np.rint(table)) > CONDITION).sum()) for table in real),
        "sign": sum(int((table < -CONDITION).sum()) for table in tables),
        "consistency": sum(int((np.abs(part) > CONDITION).sum()) for part in missing),
        "totals": int((np.abs(have[:n] - measurement.totals) > CONDITION).sum()),
    }


def _blocks(values: Any, rows: slice) -> Iterable[slice]:
    """Divide rows into blocks whose counts fit into memory once more; sparse ones do at once."""
    return [rows] if is_sparse(values) else row_blocks(rows, values.shape[1])


def _counts(estimate: Estimate, rows: slice) -> Any:
    values = estimate.values[rows]
    return values if estimate.view is View.COUNTS else counts_of_cumulative(values)
