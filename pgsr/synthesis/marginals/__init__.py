"""Whole marginals: measured within a budget, fitted, and filled with households."""
