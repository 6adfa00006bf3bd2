"""The passes over large tables in blocks of rows that stay in the processor's cache."""

from collections.abc import Iterator

BLOCK_CELLS = 131_072
"""Cells worked on at a time (1 MB of numbers): several temporary arrays of that size stay in the cache, and together
below what the allocator keeps, which otherwise returns and claims their pages again at every block: thrice as slow."""


def row_blocks(rows: slice, n_columns: int) -> Iterator[slice]:
    """Divide the rows, or the columns of so many rows, into blocks of at most `BLOCK_CELLS` cells (one at least)."""
    step = max(1, BLOCK_CELLS // n_columns)
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))
