"""Nearest."""
