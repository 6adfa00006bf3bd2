"""A strict reader of LP files, written from the format alone, and the same dictionaries of what HiGHS and pgsr hold.

Strict means that no reader has to guess:

- Lines other than comments are ASCII, with at most 560 characters. Keywords stand alone on their lines, in the order
  Minimize, Subject To, Bounds, General, End; General is there if something is an integer, and nothing follows End.
- Names have at most 255 characters, letters, digits and _ . , ( ) { } ~ %. None begins with a digit, a point or a
  comma, or looks like an exponent (e3), or is a keyword. No two rows have one name.
- The objective is where an unknown is first named, with a number, 0 included. Rows and bounds name no other.
- Squares stand in one bracket of the objective, [ 2 w x ^2 ] / 2, each unknown once.
- A row has a name, at least one term, no unknown twice, one sense of <=, >=, = and one finite number behind it.
- Without a bound an unknown is at least 0. Free unknowns are `x free`; an upper bound below 0 follows a lower bound.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy import sparse

LONGEST_LINE = 560
SECTIONS = ("Minimize", "Subject To", "Bounds", "General", "End")
NAME = re.compile(r"(?![eE][0-9])[A-Za-z_(){}~%][A-Za-z0-9_.,(){}~%]{0,254}")
KEYWORDS = {"minimize", "maximize", "st", "bounds", "bound", "general", "binary", "free", "inf", "infinity", "end"}
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
TERM = re.compile(rf"([+-]) (?:({NUMBER}) )?(\S+?)( \^2)?(?: (<=|>=|=) (-?{NUMBER}))?")
BOUND = re.compile(rf"(\S+) (?:(<=|>=|=) (-?{NUMBER}|-inf)|(free))")


class NotStrictError(ValueError):
    """A line that another reader may refuse or take for something else."""


@dataclass
class Held:
    """A program by names; two-sided rows are two. Zeros are left out, so that programs are equal or not."""

    linear: dict = field(default_factory=dict)
    squares: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    integers: set = field(default_factory=set)
    from_below: set = field(default_factory=set, compare=False)  # unknowns whose lower bound a file stated


def by_strict_reader(text: str) -> Held:
    """Read the text of an LP file, and refuse whatever is not strict."""
    held, section, seen, row = Held(), "", [], None
    for line in text.splitlines():
        if line.startswith("\\"):
            continue
        _check(line.isascii() and len(line) <= LONGEST_LINE and section != "End", line)
        word = line.strip()
        if line in SECTIONS:
            _check(row is None or row[1] is not None, line)
            section, row = line, None
            seen.append(line)
        elif section == "Minimize":
            row = _objective(held, word, row)
        elif section == "Subject To":
            row = _row(held, word, row)
        elif section == "Bounds":
            _bound(held, word)
        else:
            _check(section == "General" and word in held.bounds and word not in held.integers, line)
            held.integers.add(word)
    _check(seen == [part for part in SECTIONS if part != "General" or held.integers], f"the sections are {seen}")
    held.linear = {name: value for name, value in held.linear.items() if value}
    return held


def of_program(program) -> Held:
    """State a named program, its constant as the unknown that LP files have for it."""
    names, rows = program.variables.words(), program.rows.words()
    held = Held({name: value for name, value in zip(names, program.linear.tolist(), strict=True) if value})
    if program.constant:
        held.linear["constant"] = float(program.constant)
    held.squares = {name: 2 * value for name, value in zip(names, program.quadratic.tolist(), strict=True) if value}
    held.bounds = dict(zip(names, zip(program.lower.tolist(), program.upper.tolist(), strict=True), strict=True))
    held.bounds["constant"] = (1, 1)
    held.integers = {names[j] for j in np.flatnonzero(program.integer)}
    terms = _terms(program.matrix, names)
    for name, of_row, low, high in zip(
        rows, terms, program.row_lower.tolist(), program.row_upper.tolist(), strict=True
    ):
        two = low < high and np.isfinite([low, high]).all()
        held.rows[name] = (of_row, -np.inf if two else low, high)
        if two:
            held.rows[f"{name}.low"] = (of_row, low, np.inf)
    return held


def of_highs(model) -> Held:
    """State what HiGHS holds after it read a file."""
    lp, hessian = model.lp_, model.hessian_
    names, shape = list(lp.col_names_), (lp.num_row_, lp.num_col_)
    assert lp.offset_ == 0
    held = Held({name: cost for name, cost in zip(names, list(lp.col_cost_), strict=True) if cost})
    if hessian.dim_:
        parts = (np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_))
        square = sparse.csc_array(parts, shape=(lp.num_col_, lp.num_col_))
        diagonal = square.diagonal()
        assert (square != sparse.diags_array(diagonal)).nnz == 0
        held.squares = {name: value for name, value in zip(names, diagonal.tolist(), strict=True) if value}
    kinds = [str(kind) for kind in lp.integrality_]
    held.integers = {name for name, kind in zip(names, kinds, strict=False) if kind.endswith("kInteger")}
    held.bounds = dict(zip(names, zip(list(lp.col_lower_), list(lp.col_upper_), strict=True), strict=True))
    matrix = lp.a_matrix_
    parts = (np.array(matrix.value_, float), np.array(matrix.index_, int), np.array(matrix.start_, int))
    kind = sparse.csc_array if str(matrix.format_).endswith("kColwise") else sparse.csr_array
    terms = _terms(sparse.csr_array(kind(parts, shape=shape)), names)
    held.rows = dict(zip(lp.row_names_, zip(terms, list(lp.row_lower_), list(lp.row_upper_), strict=True), strict=True))
    return held


def _terms(matrix, names):
    starts, columns, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    return [{names[columns[k]]: values[k] for k in range(first, last) if values[k]} for first, last in pairwise(starts)]


def _objective(held, word, stage):
    """Stages: None before the label, then (what, done), where the bracket is open or not."""
    if stage is None:
        _check(word == "distance:", word)
        return ("terms", True)
    if word == "+ [":
        _check(stage[0] == "terms", word)
        return ("bracket", None)
    if word == "] / 2":
        _check(stage[0] == "bracket" and held.squares, word)
        return ("closed", True)
    value, name, square, sense, _ = _term(word)
    _check(sense is None and square == (stage[0] == "bracket") and stage[0] != "closed", word)
    into = held.squares if square else held.linear
    _check(name not in into and (not square or name in held.bounds), word)
    into[name] = value
    held.bounds.setdefault(name, (0, np.inf))
    return stage


def _row(held, word, row):
    """A row is its terms and whether it has ended; its name comes first."""
    if word.endswith(":"):
        _check(row is None or row[1] is not None, word)
        _check_name(word[:-1])
        _check(word[:-1] not in held.rows, word)
        held.rows[word[:-1]] = ({}, None, None)
        return ({}, None, word[:-1])
    _check(row is not None and row[1] is None, word)
    terms, _, title = row
    value, name, square, sense, right = _term(word)
    _check(not square and name in held.bounds and name not in terms, word)
    terms[name] = value
    if sense is None:
        return row
    held.rows[title] = (terms, -np.inf if sense == "<=" else right, np.inf if sense == ">=" else right)
    return (terms, True, title)


def _bound(held, word):
    found = BOUND.fullmatch(word)
    _check(found is not None and found[1] in held.bounds, word)
    name, sense, number, free = found.groups()
    low, high = held.bounds[name]
    if free:
        held.bounds[name] = (-np.inf, np.inf)
    elif sense == "=":
        held.bounds[name] = (float(number), float(number))
    elif sense == ">=":
        held.bounds[name] = (float(number), high)
        held.from_below.add(name)
    else:
        _check(float(number) >= 0 or name in held.from_below, word)
        held.bounds[name] = (low, float(number))


def _term(word):
    found = TERM.fullmatch(word)
    _check(found is not None, word)
    sign, size, name, square, sense, right = found.groups()
    _check_name(name)
    return float(f"{sign}{size or 1}"), name, square is not None, sense, None if right is None else float(right)


def _check_name(name):
    _check(NAME.fullmatch(name) is not None and name.lower() not in KEYWORDS, name)


def _check(fine, line):
    if not fine:
        raise NotStrictError(line)
