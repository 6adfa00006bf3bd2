"""Methods side by side: what `pgsr.compare` runs, its table, its rows and its figure."""

from pgsr.comparison.overlay import overlay
from pgsr.comparison.table import Comparison

__all__ = ["Comparison", "overlay"]
