"""What a program states, by names: as pgsr holds it, and as HiGHS does that read its file."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy import sparse


@dataclass
class Held:
    """A program by names; two-sided rows are two. Zeros are left out, so that programs are equal or not."""

    linear: dict = field(default_factory=dict)
    squares: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    integers: set = field(default_factory=set)


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
