"""The plan of terms on a hierarchy, or on so many levels of one region where a test asks for no more."""

from pgsr import Hierarchy
from pgsr.noise import Measurement
from pgsr.release import Terms
from pgsr.release.terms.plan import Plan


def planned(terms: Terms, where: Hierarchy | Measurement | int) -> Plan:
    """Plan a release on the regions of a hierarchy or measurement, or on this many levels."""
    tree = where.hierarchy if isinstance(where, Measurement) else where
    return Plan.of(terms, [1] * tree if isinstance(tree, int) else tree.regions_per_level)
