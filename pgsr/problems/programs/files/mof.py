"""MathOptFormat, the JSON format of JuMP, version 1.2.

Its quadratic functions are 1/2 x' Q x + a' x + b, so that weights w of squares stand as 2 w.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from pgsr.problems.programs.files.reading import Built, FileError
from pgsr.problems.programs.files.text import joined, lines, numbers, only, pieces, runs
from pgsr.problems.programs.named import NamedProgram
from pgsr.problems.programs.names import Names

VERSION = {"major": 1, "minor": 2}


def write(program: NamedProgram) -> Iterator[bytes]:
    """Yield the text of a file of MathOptFormat, piece by piece; one name, term or constraint per line."""
    head = {"version": VERSION, "name": program.label, "description": "\n".join(program.notes)}
    yield json.dumps(head)[:-1].encode() + b',\n"variables": [\n'
    names = program.variables
    for run in runs(program.n):
        yield lines(_comma(run, program.n), b'{"name": "', *names.parts(run), b'"}\n')
    yield b'],\n"objective": {"sense": "min", "function": {"type": '
    if program.is_quadratic:
        yield b'"ScalarQuadraticFunction", "quadratic_terms": [\n'
        squares = np.flatnonzero(program.quadratic)
        for run in runs(len(squares)):
            name, two = names.parts(squares[run]), numbers(2 * program.quadratic[squares[run]])
            first = (_comma(run, len(squares)), b'{"coefficient": ', two, b', "variable_1": "')
            yield lines(*first, *name, b'", "variable_2": "', *name, b'"}\n')
        yield b'],\n"affine_terms": [\n'
    else:
        yield b'"ScalarAffineFunction", "terms": [\n'
    linear = np.flatnonzero(program.linear)
    for run in runs(len(linear)):
        terms = _terms(program.linear[linear[run]], names, linear[run])
        yield lines(_comma(run, len(linear)), *terms, b"\n")
    yield b'],\n"constant": ' + str(program.constant).encode() + b'}},\n"constraints": [\n'
    yield from _without_first_comma(_constraints(program))
    yield b"]}\n"


def _comma(run: slice, n: int) -> np.ndarray:
    """Commas before all items but the first of all."""
    return np.where(np.arange(n)[run] > 0, b",", b"")


def _terms(values: np.ndarray, names: Names, items: np.ndarray) -> tuple[bytes | np.ndarray, ...]:
    return b'{"coefficient": ', numbers(values), b', "variable": "', *names.parts(items), b'"}'


def _without_first_comma(texts: Iterator[bytes]) -> Iterator[bytes]:
    first = True
    for text in texts:
        yield text[1:] if first and text else text
        first = first and not text


def _constraints(program: NamedProgram) -> Iterator[bytes]:
    """Rows, then bounds, then integrality; every constraint begins with a comma."""
    matrix, sets = program.matrix, _sets(program.row_lower, program.row_upper)
    for first, stop in pieces(matrix.indptr):
        part = slice(matrix.indptr[first], matrix.indptr[stop])
        starts = matrix.indptr[first : stop + 1] - matrix.indptr[first]
        n, some = int(starts[-1]), np.diff(starts) > 0
        if not some.all():
            raise FileError("a row has no unknowns at all; drop the condition that it comes from")
        opening = joined(b',{"name": "', *program.rows.parts(slice(first, stop)),
                         b'", "function": {"type": "ScalarAffineFunction", "terms": [')  # fmt: skip
        closing = joined(b'], "constant": 0}, "set": ', sets[first:stop], b"}")
        head, tail = only(n, starts[:-1], opening), only(n, starts[1:] - 1, closing)
        comma = np.full(n, b",")
        comma[starts[:-1]] = b""
        yield lines(head, comma, *_terms(matrix.data[part], program.variables, matrix.indices[part]), tail, b"\n")
    limits = _sets(program.lower, program.upper)
    bounded = np.flatnonzero(np.isfinite(program.lower) | np.isfinite(program.upper))
    yield from _on_variables(program, bounded, limits[bounded])
    integers = np.flatnonzero(program.integer)
    yield from _on_variables(program, integers, np.full(len(integers), b'{"type": "Integer"}'))


def _on_variables(program: NamedProgram, items: np.ndarray, sets: np.ndarray) -> Iterator[bytes]:
    for run in runs(len(items)):
        name = program.variables.parts(items[run])
        yield lines(b',{"function": {"type": "Variable", "name": "', *name, b'"}, "set": ', sets[run], b"}\n")


def _sets(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Write the interval of every row or unknown; b"" where it has no end."""
    below, above = np.isfinite(low), np.isfinite(high)
    equal = below & (low == high)
    out = np.zeros(len(low), "S1")
    for where, text in (
        (equal, lambda at: joined(b'{"type": "EqualTo", "value": ', numbers(low[at]), b"}")),
        (below & ~above, lambda at: joined(b'{"type": "GreaterThan", "lower": ', numbers(low[at]), b"}")),
        (above & ~below, lambda at: joined(b'{"type": "LessThan", "upper": ', numbers(high[at]), b"}")),
        (
            below & above & ~equal,
            lambda at: joined(
                b'{"type": "Interval", "lower": ', numbers(low[at]), b', "upper": ', numbers(high[at]), b"}"
            ),
        ),
    ):
        if where.any():
            texts = text(np.flatnonzero(where))
            if texts.dtype.itemsize > out.dtype.itemsize:
                out = out.astype(texts.dtype)
            out[where] = texts
    return out


_SIDES = {"EqualTo": ("value", "value"), "GreaterThan": ("lower", ""), "LessThan": ("", "upper"),
          "Interval": ("lower", "upper")}  # fmt: skip


def read(text: Iterator[str]) -> NamedProgram:
    """Read a program from the lines of a file of MathOptFormat that `write` wrote.

    Raises:
        FileError: it is no JSON, or holds functions or sets that `write` does not.
    """
    try:
        return _program(json.loads("".join(text)))
    except FileError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"the file is damaged, or not one that pgsr writes: {error!r}; write it again") from error


def _program(file: dict[str, Any]) -> NamedProgram:
    built = Built()
    built.label = file["name"]
    for variable in file["variables"]:
        built.bound("FR", built.variable(variable["name"]), 0.0)
    if file["objective"]["sense"] != "min":
        raise FileError(f"its objective has the sense {file['objective']['sense']!r}; a distance is minimised, 'min'")
    function = file["objective"]["function"]
    built.constant = function["constant"]
    for term in function["affine_terms" if "affine_terms" in function else "terms"]:
        built.linear[built.variable_index[term["variable"]]] += term["coefficient"]
    for term in function.get("quadratic_terms", []):
        if term["variable_1"] != term["variable_2"]:
            raise FileError("a product of two unknowns; distances have squares alone")
        built.quadratic[built.variable_index[term["variable_1"]]] += term["coefficient"] / 2
    for constraint in file["constraints"]:
        function, held = constraint["function"], constraint["set"]
        if held["type"] == "Integer":
            built.integer[built.variable_index[function["name"]]] = True
            continue
        low, high = _SIDES[held["type"]]
        below, above = float(held[low]) if low else -np.inf, float(held[high]) if high else np.inf
        if function["type"] == "Variable":
            column = built.variable_index[function["name"]]
            built.lower[column] = max(built.lower[column], below)  # another bound may stand before this one
            built.upper[column] = min(built.upper[column], above)
            continue
        if function["constant"] != 0:
            raise FileError(f"the row {constraint['name']} has a constant; move it into the set")
        row = built.row(constraint["name"], below, above)
        for term in function["terms"]:
            built.entry(row, built.variable_index[term["variable"]], term["coefficient"])
    return built.program()
