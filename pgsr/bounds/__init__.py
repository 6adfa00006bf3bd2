"""Bounds: below which error no differentially private release of counts of groups by size can be expected.

`lower_bound` is for the regions of a `CountOfCounts`, by the earth mover's distance; docs/derivations/bounds.md.

Files: `range_risk` the least error of one whole number in a range; `boxes` what varies near given counts, and
`boxes_kernel` its best choice; `lower_bound` the sum.

    >>> from pgsr import CountOfCounts, Hierarchy
    >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40, 2], [0, 80, 30, 1]])
    >>> lower_bound(truth, "1/2").emd.round(2)
    array([5.55, 5.39, 5.31])
"""

from pgsr.bounds.lower_bound import lower_bound
from pgsr.bounds.range_risk import range_risk

__all__ = ["lower_bound", "range_risk"]
