"""Experiments: each one file, a frozen description and what it prints, writes and draws."""
