"""The four conditions of a release, checked on any estimate of counts."""

import numpy as np
from scipy import sparse

from pgsr.estimate import Estimate
from pgsr.measurement import Measurement, Totals
from pgsr.tolerances import CONDITION


def broken_conditions(measurement: Measurement, estimate: Estimate) -> dict[str, int]:
    """Count how often each of the four conditions of a release fails: cells, cells, (region, size) pairs, regions.

    Integrality and non-negativity, consistency with the children, and the public numbers of groups.

    Source: Kuo et al. 2018, section 3.
    """
    tree, table = estimate.hierarchy, estimate.as_counts
    values = table.data if sparse.issparse(table) else table
    rounded = np.rint(values)
    broken = {
        "integrality": int((np.abs(values - rounded) > CONDITION).sum()),
        "sign": int((values < -CONDITION).sum()),
        "consistency": 0,
    }
    for region in range(tree.n_inner):
        children = tree.children(region)
        difference = table[children.start : children.stop].sum(axis=0) - _row(table, region)
        broken["consistency"] += int((np.abs(difference) > CONDITION).sum())
    wanted = measurement.totals
    have = np.asarray(table.sum(axis=1)).ravel()
    checked = 1 if measurement.public is Totals.ROOT else tree.n_regions
    broken["totals"] = int((np.abs(have[:checked] - wanted[:checked]) > CONDITION).sum())
    return broken


def _row(table: np.ndarray | sparse.csr_array, region: int) -> np.ndarray:
    return table[region] if isinstance(table, np.ndarray) else table[[region]].toarray().ravel()
