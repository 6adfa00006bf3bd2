"""Experiments that belong to no paper: what the exact optima of this toolkit are worth."""
