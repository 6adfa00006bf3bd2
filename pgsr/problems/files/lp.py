"""The LP format of CPLEX, which Gurobi, HiGHS and SCIP read, too.

Quadratic terms stand as [ 2 w x ^2 ] / 2. Readers disagree on constants in the objective, so the constant is an unknown
of its own that is fixed at 1, called `constant`. A row with two sides is two rows, the lower one called `name.low`.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pgsr.errors import ProblemError
from pgsr.problems.files.text import joined, lines, numbers, only, pieces, runs
from pgsr.problems.programs.formulation import NamedProgram
from pgsr.problems.programs.names import Names

CONSTANT = "constant"
"""The unknown that is fixed at 1; its coefficient is the objective's constant."""

LOW = b".low"
"""The end of the name of a row that states the lower side of another one."""


def write(program: NamedProgram) -> Iterator[bytes]:
    """Yield the text of an LP file, piece by piece."""
    for note in (program.label, *program.notes):
        yield f"\\ {' '.join(note.splitlines())}\n".encode("ascii", "backslashreplace")
    yield b"Minimize\n distance:\n"
    for run in runs(program.n):  # coefficients of 0, too, so that readers keep the order of the unknowns
        yield lines(b" ", *_signed(program.linear[run]), *program.variables.parts(run), b"\n")
    yield f" {'-' if program.constant < 0 else '+'} {abs(program.constant)} {CONSTANT}\n".encode()
    if program.is_quadratic:
        yield b" + [\n"
        squares = np.flatnonzero(program.quadratic)
        for run in runs(len(squares)):
            value = 2 * program.quadratic[squares[run]]
            yield lines(b" ", *_signed(value), *program.variables.parts(squares[run]), b" ^2\n")
        yield b" ] / 2\n"
    yield b"Subject To\n"
    yield from _rows(program)
    yield f"Bounds\n {CONSTANT} = 1\n".encode()
    yield from _bounds(program)
    integers = np.flatnonzero(program.integer)
    if len(integers):
        yield b"General\n"
        for run in runs(len(integers)):
            yield lines(b" ", *program.variables.parts(integers[run]), b"\n")
    yield b"End\n"


def _signed(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, bytes]:
    """Write coefficients: a sign, the magnitude unless it is 1, a blank."""
    sign = np.where(values < 0, b"-", b"+")
    size = np.abs(values)
    return sign, np.where(size == 1, b"", joined(b" ", numbers(size))), b" "


def _rows(program: NamedProgram) -> Iterator[bytes]:
    low, high = program.row_lower, program.row_upper
    sense = np.where(low == high, b" = ", np.where(np.isfinite(high), b" <= ", b" >= "))
    right = np.where(np.isfinite(high), high, low)
    yield from _side(program, np.arange(program.m), sense, right, b"")
    two_sided = np.flatnonzero((low < high) & np.isfinite(low) & np.isfinite(high))
    if len(two_sided):
        yield from _side(program, two_sided, np.full(len(two_sided), b" >= "), low[two_sided], LOW)


def _side(program: NamedProgram, rows: np.ndarray, sense: np.ndarray, right: np.ndarray, end: bytes) -> Iterator[bytes]:
    """One term per line; a row's name before its first term, its sense and right-hand side behind its last."""
    matrix = program.matrix if len(rows) == program.m else program.matrix[rows]
    for first, stop in pieces(matrix.indptr):
        part = slice(matrix.indptr[first], matrix.indptr[stop])
        starts = matrix.indptr[first : stop + 1] - matrix.indptr[first]
        if (np.diff(starts) == 0).any():
            raise ProblemError(
                "a row has no unknowns at all, which LP files cannot hold; write MPS, or drop the condition"
            )
        n = int(starts[-1])
        head = only(n, starts[:-1], joined(b" ", *program.rows.parts(rows[first:stop]), end, b":\n"))
        tail = only(n, starts[1:] - 1, joined(sense[first:stop], numbers(right[first:stop])))
        terms = program.variables.parts(matrix.indices[part])
        yield lines(head, b" ", *_signed(matrix.data[part]), *terms, tail, b"\n")


def _bounds(program: NamedProgram) -> Iterator[bytes]:
    low, high, names = program.lower, program.upper, program.variables
    fixed, free = low == high, np.isinf(low) & np.isinf(high)
    below = ~fixed & ~free & ((low != 0) | (high < 0))
    above = ~fixed & ~free & np.isfinite(high)
    yield from _each(names, np.flatnonzero(fixed), lambda items: (b" = ", numbers(low[items])))
    yield from _each(names, np.flatnonzero(free), lambda items: (b" free",))
    infinite, finite = np.flatnonzero(below & np.isinf(low)), np.flatnonzero(below & np.isfinite(low))
    yield from _each(names, infinite, lambda items: (b" >= -inf",))
    yield from _each(names, finite, lambda items: (b" >= ", numbers(low[items])))
    yield from _each(names, np.flatnonzero(above), lambda items: (b" <= ", numbers(high[items])))


def _each(
    names: Names, items: np.ndarray, behind: Callable[[np.ndarray], tuple[bytes | np.ndarray, ...]]
) -> Iterator[bytes]:
    for run in runs(len(items)):
        yield lines(b" ", *names.parts(items[run]), *behind(items[run]), b"\n")
