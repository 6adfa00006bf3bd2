"""The files of real data that the papers use: their readers, and the recipes by which they are made.

`python -m pgsr.experiments data` tells, makes and checks them. A reader looks for its file in the folder that the
environment variable PGSR_DATA names. `packages` has tables that come in packages of PyPI.
"""
