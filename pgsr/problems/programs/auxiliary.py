"""The unknowns that programs have besides the cells, with the rows that say what they are.

| where                       | unknowns                                | rows                                  |
|-----------------------------|-----------------------------------------|---------------------------------------|
| conditions joined by either | b, 0 or 1, of every alternative         | sum of b >= 1;  b = 1 implies its rows |

A row a x <= u of an alternative is a x + (m - u) b <= m, where m is the largest value of a x in the box of the cells.
`Program.switch` says which rows these are, for solvers that take "b = 1 implies a x <= u" as it stands.
So all objectives are sums of squares or of magnitudes of single unknowns. Where cells are integers all of these can be,
too.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.programs.program import Program
from pgsr.problems.programs.statement import Statement


def with_added(program: Program, problem: Statement, box: tuple[np.ndarray, np.ndarray] | None) -> Program:
    """Add what a problem asks for behind the unknowns and rows of a program in its cells."""
    stated = problem.conditions
    if stated is not None and stated.choices is not None:
        program = _with_choices(program, implied_rows(stated.choices, problem.intervals if box is None else box))
    return program


def widened(matrix: sparse.csr_array, n: int) -> sparse.csr_array:
    """Give a matrix n columns, those behind its own empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(len(matrix.indptr) - 1, n))


@dataclass(frozen=True, eq=False)
class ImpliedRows:
    """The rows of alternatives that a box does not keep already, as sign row x + width b <= most.

    Attributes:
        choices: which they come from.
        row: of `choices`, shape (n,).
        sign: 1 of an upper bound, -1 of a lower one.
        most: the largest value of sign row x in the box, shape (n,).
        width: most less the bound, at least 1, shape (n,).
    """

    choices: Choices
    row: np.ndarray
    sign: np.ndarray
    most: np.ndarray
    width: np.ndarray


def implied_rows(choices: Choices, box: tuple[np.ndarray, np.ndarray]) -> ImpliedRows:
    """List the rows of alternatives, upper bounds first, which are not kept everywhere in a box of the cells."""
    least, most = (np.rint(part).astype(np.int64) for part in choices.reached(np.floor(box[0]), np.ceil(box[1])))
    above = np.flatnonzero((choices.upper < UNBOUNDED) & (most > choices.upper))
    below = np.flatnonzero((choices.lower > -UNBOUNDED) & (least < choices.lower))
    return ImpliedRows(
        choices,
        np.concatenate([above, below]),
        np.repeat([1, -1], [len(above), len(below)]),
        np.concatenate([most[above], -least[below]]),
        np.concatenate([most[above] - choices.upper[above], choices.lower[below] - least[below]]),
    )


def _with_choices(program: Program, implied: ImpliedRows) -> Program:
    """Add b for every alternative, one of which at least is 1, and what it implies."""
    choices, n, k = implied.choices, len(implied.row), len(implied.choices.choice)
    one = np.ones(k)
    cover = sparse.csr_array((-one, (choices.choice, program.n + np.arange(k))), shape=(len(choices), program.n + k))
    places = choices.alternative[implied.row]
    own = widened(choices.rows[implied.row].astype(float), program.n)
    signs = sparse.diags_array(implied.sign.astype(float))
    switch = sparse.csr_array((implied.width.astype(float), (np.arange(n), places)), shape=(n, k))
    rows = sparse.vstack([cover, sparse.hstack([signs @ own, switch])])
    have = choices.rows[implied.row] @ program.origin[: program.n_cells]
    right = np.concatenate([np.full(len(choices), -1), implied.most - implied.sign * have])
    none = np.zeros(k, np.int64)
    switch = np.concatenate([np.full(len(program.order_right) + len(choices), -1), program.n + places])
    program = _joined(program, none, (0.0 * one, one), none, order=(rows, right))
    return replace(program, switch=switch)


def _joined(
    program: Program,
    weight: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    origin: np.ndarray,
    equal: tuple[Any, np.ndarray] | None = None,
    order: tuple[Any, np.ndarray] | None = None,
) -> Program:
    """Put unknowns behind those of a program, and rows over all of them behind its own."""
    n, parts = program.n + len(weight), {}
    for name, right, added in (("matrix", "right", equal), ("order", "order_right", order)):
        matrix, numbers = widened(getattr(program, name), n), getattr(program, right)
        if added is not None:
            matrix = sparse.csr_array(sparse.vstack([matrix, added[0]]))
            numbers = np.concatenate([numbers, added[1]])
            matrix.sort_indices()  # as some solvers want it
        parts[name], parts[right] = matrix, numbers
    lower, upper = (np.concatenate(pair) for pair in zip((program.lower, program.upper), bounds, strict=True))
    return replace(
        program,
        weight=np.concatenate([program.weight, weight]),
        lower=lower,
        upper=upper,
        origin=np.concatenate([program.origin, origin]),
        reach=(lower, upper),
        **parts,
    )
