"""Cost tables."""

from pgsr.algorithms.cost_tables.method import CostTables
from pgsr.algorithms.cost_tables.steps import Combined, Deadline, SlopeGreedy, SlopeMerge, Step, Stopped, Tables
from pgsr.algorithms.cost_tables.windows import Domains, domains, half_widths

__all__ = [
    "Combined",
    "CostTables",
    "Deadline",
    "Domains",
    "SlopeGreedy",
    "SlopeMerge",
    "Step",
    "Stopped",
    "Tables",
    "domains",
    "half_widths",
]
