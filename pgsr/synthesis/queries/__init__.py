"""Queries on a population, their private answers, and the fits of Liu and Wu (2022): HPD-Fixed, HPD-Gen, MWEM."""
