"""Cost tables."""

from pgsr.algorithms.cost_tables.method import CostTables
from pgsr.algorithms.cost_tables.steps import UNFINISHED, Combined, SlopeGreedy, SlopeMerge, Step, Tables
from pgsr.algorithms.cost_tables.windows import Domains, domains, half_widths

__all__ = [
    "UNFINISHED",
    "Combined",
    "CostTables",
    "Domains",
    "SlopeGreedy",
    "SlopeMerge",
    "Step",
    "Tables",
    "domains",
    "half_widths",
]
