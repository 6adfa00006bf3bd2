"""The commands of `pgsr` that have a file of their own; `pgsr.cli` has the others, and adds these.

They import the rooms that do the work when they are called: `pgsr --help` needs names, options and docstrings alone.
"""
