"""The converters: from a file as its agency publishes it to the file that a reader takes.

A module per product, a function per file: it takes the raw files (folders, zip archives or files) and the folder to
write to, and returns what it wrote. `pgsr.experiments.data.recipes` says which is for which file.
"""
