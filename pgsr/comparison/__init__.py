"""Methods side by side on one problem, each in a process of its own: `compare`, its table, its rows and its figure."""

from pgsr.comparison.comparing import compare

__all__ = ["compare"]
