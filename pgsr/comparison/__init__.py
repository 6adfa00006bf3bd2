"""Methods side by side: the runs behind `pgsr.compare`, with their table, rows and figure."""

from pgsr.comparison.overlay import overlay
from pgsr.comparison.table import Comparison

__all__ = ["Comparison", "overlay"]
