"""The unknowns that programs have besides the cells, where conditions are joined by `either`.

Every alternative has an unknown b, 0 or 1. Rows say that the b of a choice add up to 1 or more, and what b = 1 implies:
a row a x <= u of an alternative is a x + (m - u) b <= m, where m is the largest value of a x in the box of the cells.
`Program.switch` says which rows these are, for solvers that take "b = 1 implies a x <= u" as it stands.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.programs.program import Program


def widened(matrix: sparse.csr_array, n: int) -> sparse.csr_array:
    """Give a matrix n columns, those behind its own empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(len(matrix.indptr) - 1, n))


@dataclass(frozen=True, eq=False)
class ImpliedRows:
    """The rows of alternatives that a box does not keep already, as sign row x + width b <= most.

    Attributes:
        row: of the choices, shape (n,).
        sign: 1 of an upper bound, -1 of a lower one.
        most: the largest value of sign row x in the box, shape (n,).
        width: most less the bound, at least 1, shape (n,).
    """

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
        np.concatenate([above, below]),
        np.repeat([1, -1], [len(above), len(below)]),
        np.concatenate([most[above], -least[below]]),
        np.concatenate([most[above] - choices.upper[above], choices.lower[below] - least[below]]),
    )


def with_choices(program: Program, choices: Choices, box: tuple[np.ndarray, np.ndarray]) -> Program:
    """Put b of every alternative behind the unknowns of a program in cells, and their rows behind its inequalities."""
    implied = implied_rows(choices, box)
    n, k, n_rows = program.n, len(choices.choice), len(implied.row)
    one, none = np.ones(k), np.zeros(k, np.int64)
    cover = sparse.csr_array((-one, (choices.choice, n + np.arange(k))), shape=(len(choices), n + k))
    places = choices.alternative[implied.row]
    own = sparse.diags_array(implied.sign.astype(float)) @ widened(choices.rows[implied.row].astype(float), n)
    switched = sparse.csr_array((implied.width.astype(float), (np.arange(n_rows), places)), shape=(n_rows, k))
    order = sparse.csr_array(sparse.vstack([widened(program.order, n + k), cover, sparse.hstack([own, switched])]))
    order.sort_indices()  # as some solvers want it
    have = choices.rows[implied.row] @ program.origin
    lower, upper = np.append(program.lower, 0.0 * one), np.append(program.upper, one)
    return replace(
        program,
        weight=np.append(program.weight, none),
        matrix=widened(program.matrix, n + k),
        order=order,
        order_right=np.concatenate(
            [program.order_right, np.full(len(choices), -1), implied.most - implied.sign * have]
        ),
        lower=lower,
        upper=upper,
        origin=np.append(program.origin, none),
        reach=(lower, upper),
        switch=np.concatenate([np.full(len(program.order_right) + len(choices), -1), n + places]),
    )
