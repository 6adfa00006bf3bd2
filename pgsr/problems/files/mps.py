"""The MPS format, free form, with the section QUADOBJ of quadratic programs (then also called QPS).

Its objective is 1/2 x' Q x + c' x minus the number that the section RHS gives to the objective's row, so that weights
w of squares stand as 2 w in QUADOBJ, and the constant of a distance with a minus sign in RHS.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from pgsr.problems.files.text import lines, numbers, pieces, runs
from pgsr.problems.programs.formulation import NamedProgram
from pgsr.problems.programs.names import Names, encoded

OBJECTIVE = "distance"
"""The name of the objective's row."""


def write(program: NamedProgram) -> Iterator[bytes]:
    """Yield the text of an MPS file, piece by piece."""
    for note in program.notes:
        yield f"* {' '.join(note.splitlines())}\n".encode("ascii", "backslashreplace")
    yield f"NAME {encoded(program.label)}\nROWS\n N {OBJECTIVE}\n".encode()
    yield from _row_kinds(program)
    yield b"COLUMNS\n"
    yield from _columns(program)
    yield b"RHS\n"
    if program.constant:
        yield f" RHS {OBJECTIVE} {-program.constant}\n".encode()
    right = np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    yield from _values(b" RHS ", program.rows, np.flatnonzero(right), right)
    two_sided = np.isfinite(program.row_lower) & np.isfinite(program.row_upper)
    ranges = np.flatnonzero(two_sided & (program.row_lower < program.row_upper))
    if len(ranges):
        yield b"RANGES\n"
        yield from _values(b" RANGE ", program.rows, ranges, program.row_upper - program.row_lower)
    yield b"BOUNDS\n"
    yield from _bounds(program)
    if program.is_quadratic:
        yield b"QUADOBJ\n"
        squares = np.flatnonzero(program.quadratic)
        for run in runs(len(squares)):
            name = program.variables.parts(squares[run])
            yield lines(b" ", *name, b" ", *name, b" ", numbers(2 * program.quadratic[squares[run]]), b"\n")
    yield b"ENDATA\n"


def _row_kinds(program: NamedProgram) -> Iterator[bytes]:
    low, high = program.row_lower, program.row_upper
    kind = np.where(low == high, b"E", np.where(np.isfinite(high), b"L", b"G"))
    for run in runs(program.m):
        yield lines(b" ", kind[run], b" ", *program.rows.parts(run), b"\n")


def _columns(program: NamedProgram) -> Iterator[bytes]:
    """Every column's coefficient in the objective, be it 0, and then its entries; integers between markers."""
    columns = sparse.csc_array(program.matrix)
    rows = program.rows + Names.of([OBJECTIVE])
    starts = np.flatnonzero(np.diff(program.integer, prepend=False))
    for first, end in pieces(columns.indptr):
        cuts = [first, *(int(cut) for cut in starts if first < cut < end), end]
        for a, b in pairwise(cuts):
            if a in starts:
                mark = "INTORG" if program.integer[a] else "INTEND"
                yield f" MARKER 'MARKER' '{mark}'\n".encode()
            yield _piece(program, columns, rows, a, b)
    if program.n and program.integer[-1]:
        yield b" MARKER 'MARKER' 'INTEND'\n"


def _piece(program: NamedProgram, columns: sparse.csc_array, rows: Names, first: int, end: int) -> bytes:
    part = slice(columns.indptr[first], columns.indptr[end])
    heads = columns.indptr[first:end] - columns.indptr[first]
    row = np.insert(columns.indices[part], heads, program.m)
    column = np.repeat(np.arange(first, end), np.diff(columns.indptr[first : end + 1]) + 1)
    value = np.insert(columns.data[part], heads, program.linear[first:end])
    return lines(b" ", *program.variables.parts(column), b" ", *rows.parts(row), b" ", numbers(value), b"\n")


def _bounds(program: NamedProgram) -> Iterator[bytes]:
    """What differs from 0 <= x; of integers always both sides, since without any some readers take 0 <= x <= 1.

    A negative upper bound alone makes some readers take -inf <= x, so the lower bound stands beside it.
    """
    low, high = program.lower, program.upper
    fixed, free = low == high, np.isinf(low) & np.isinf(high)
    rest = ~fixed & ~free
    names = program.variables
    yield from _values(b" FX BOUND ", names, np.flatnonzero(fixed), low)
    for key, where in ((b" FR BOUND ", free), (b" MI BOUND ", rest & np.isinf(low))):
        yield from _values(key, names, np.flatnonzero(where))
    yield from _values(b" LO BOUND ", names, np.flatnonzero(rest & np.isfinite(low) & ((low != 0) | (high < 0))), low)
    yield from _values(b" UP BOUND ", names, np.flatnonzero(rest & np.isfinite(high)), high)
    yield from _values(b" PL BOUND ", names, np.flatnonzero(rest & np.isinf(high) & program.integer))


def _values(key: bytes, names: Names, items: np.ndarray, values: np.ndarray | None = None) -> Iterator[bytes]:
    for run in runs(len(items)):
        number = () if values is None else (b" ", numbers(values[items[run]]))
        yield lines(key, *names.parts(items[run]), *number, b"\n")
