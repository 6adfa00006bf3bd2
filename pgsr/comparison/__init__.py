"""Methods side by side on one problem, each in a process of its own: `compare`, its table, its rows and its figure."""

from pgsr.comparison.compare import compare

__all__ = ["compare"]
