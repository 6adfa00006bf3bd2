"""The commands of `pgsr`, a file each, which `pgsr.cli` registers; `options` is what several of them have in common.

They import the rooms that do the work when they are called: `pgsr --help` needs names, options and docstrings alone.
"""
