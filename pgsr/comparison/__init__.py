"""Methods side by side on one problem, each in a process of its own: `compare`, its table, its rows and its figure."""

from pgsr.comparison.overlay import overlay
from pgsr.comparison.side_by_side import compare
from pgsr.comparison.table import Comparison

__all__ = ["Comparison", "compare", "overlay"]
