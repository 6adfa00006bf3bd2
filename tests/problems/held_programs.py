"""What a program states, by names: as pgsr holds it, and as NumPy and HiGHS do that read its file."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse


@dataclass
class Held:
    """A program by names; two-sided rows are two. Zeros are left out, so that programs are equal or not."""

    constant: float
    linear: dict = field(default_factory=dict)
    squares: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    integers: set = field(default_factory=set)


def of_program(program) -> Held:
    """State a named program."""
    names, costs, squares = program.variables.words(), program.linear.tolist(), (2 * program.quadratic).tolist()
    held = _held(names, costs, squares, program.lower.tolist(), program.upper.tolist(), float(program.constant))
    held.integers = {names[j] for j in np.flatnonzero(program.integer)}
    held.rows = _rows(program.rows.words(), program.matrix, names, program.row_lower, program.row_upper)
    return held


def of_file(path) -> Held:
    """State what a file holds: the arrays of an .npz file by NumPy, any other file as HiGHS reads it."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return _of_arrays(archive)
    highspy = pytest.importorskip("highspy")
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) != highspy.HighsStatus.kError  # it may warn of bounds that cross
    return _of_highs(solver.getModel())


def _of_arrays(arrays) -> Held:
    """State the arrays of a file, by the names that pgsr/problems/files/npz.py documents."""
    (names, rows), parts = (_words(arrays, key) for key in ("x", "row")), ("A_data", "A_indices", "A_indptr")
    costs, squares, sides = arrays["q"].tolist(), arrays["P"].tolist(), (arrays["l"], arrays["u"])
    bounds = (arrays["lower"].tolist(), arrays["upper"].tolist())
    held = _held(names, costs, squares, *bounds, float(str(arrays["constant"])))
    held.integers = {names[j] for j in np.flatnonzero(arrays["integer"])}
    matrix = sparse.csr_array(tuple(arrays[part] for part in parts), shape=tuple(arrays["A_shape"].tolist()))
    held.rows = _rows(rows, matrix, names, *sides)
    return held


def _words(arrays, key):
    stems, ends = (arrays[f"{key}_{part}s"][arrays[f"{key}_{part}"]].astype("U").tolist() for part in ("stem", "end"))
    return [stem + end for stem, end in zip(stems, ends, strict=True)]


def _of_highs(model) -> Held:
    """State what HiGHS holds; the constant of an LP file is an unknown that is fixed at 1."""
    lp, hessian = model.lp_, model.hessian_
    names, shape, squares = list(lp.col_names_), (lp.num_row_, lp.num_col_), [0] * lp.num_col_
    if hessian.dim_:
        parts = (np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_))
        square = sparse.csc_array(parts, shape=(lp.num_col_, lp.num_col_))
        squares = square.diagonal().tolist()
        assert (square != sparse.diags_array(square.diagonal())).nnz == 0
    held = _held(names, list(lp.col_cost_), squares, list(lp.col_lower_), list(lp.col_upper_), lp.offset_)
    assert held.bounds.pop("constant", (1, 1)) == (1, 1)
    held.constant += held.linear.pop("constant", 0)
    kinds = [str(kind) for kind in lp.integrality_]
    held.integers = {name for name, kind in zip(names, kinds, strict=False) if kind.endswith("kInteger")}
    matrix = lp.a_matrix_
    parts = (np.array(matrix.value_, float), np.array(matrix.index_, int), np.array(matrix.start_, int))
    kind = sparse.csc_array if str(matrix.format_).endswith("kColwise") else sparse.csr_array
    sides = np.array(lp.row_lower_), np.array(lp.row_upper_)
    held.rows = _rows(list(lp.row_names_), sparse.csr_array(kind(parts, shape=shape)), names, *sides)
    return held


def _held(names, costs, squares, lower, upper, constant) -> Held:
    linear, square = ({name: x for name, x in zip(names, of, strict=True) if x} for of in (costs, squares))
    return Held(constant, linear, square, bounds=dict(zip(names, zip(lower, upper, strict=True), strict=True)))


def _rows(rows, matrix, names, lower, upper):
    held, terms = {}, _terms(matrix, names)
    for name, of_row, low, high in zip(rows, terms, lower.tolist(), upper.tolist(), strict=True):
        two = low < high and np.isfinite([low, high]).all()
        held[name] = (of_row, -np.inf if two else low, high)
        if two:
            held[f"{name}.low"] = (of_row, low, np.inf)
    return held


def _terms(matrix, names):
    starts, columns, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    return [{names[columns[k]]: values[k] for k in range(first, last) if values[k]} for first, last in pairwise(starts)]
