"""The program of a problem with names, in its own unknowns x or in deviations, as files and native models hold it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.errors import ProblemError, TooLargeError
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.fields import ProblemFields
from pgsr.problems.programs.auxiliary import implied_rows, widened
from pgsr.problems.programs.names import LONGEST, Names, encoded
from pgsr.problems.programs.program import Program
from pgsr.problems.programs.rows import (
    ordered_cells,
    program_of,
    regions_with_total,
    stated_sides,
)

MANY = 200_000
"""From here on names have the number of a region in place of its path: a file is several times smaller then."""


@dataclass(frozen=True, eq=False)
class NamedProgram:
    """A program in the unknowns of its problem, with names, or in their deviations z = x - origin, called x here, too:

        minimise    sum_j quadratic[j] x[j]^2 + linear[j] x[j]  + constant
        subject to  row_lower <= matrix x <= row_upper,   lower <= x <= upper,   x[j] integer where integer[j].

    Its optimum is the problem's, constant included. The first unknowns are always the cells; others follow where
    conditions are joined by `either` (`pgsr.problems.programs.auxiliary`). Where distances are sums of magnitudes there
    are two more per cell, x = y + up - down, and the objective is sum w (up + down).

    Attributes:
        label: the problem's.
        quadratic, linear: shape (n,).
        constant: an integer, exact whatever its size.
        matrix: sparse of shape (m, n).
        row_lower, row_upper: shape (m,), -inf or inf where a row has one side only; equal for equalities.
        lower, upper: shape (n,).
        integer: shape (n,), bool.
        variables, rows: names; x[US/GA,3], consistency[US,3], total[US], order[US/GA,3] (between the cells 3
            and 4), stated conditions as they were written, and of magnitudes up[US/GA,3], down[US/GA,3],
            distance[US/GA,3]. Of choices choice[..,1] for the first alternative, either[..], and if[..,1,1] and so on
            for what it implies.
        notes: lines that explain it to a reader of a file.
        origin: shape (cells,), integers, of a program in deviations: the problem's x is z + origin. None otherwise.
    """

    label: str
    quadratic: np.ndarray
    linear: np.ndarray
    constant: int
    matrix: sparse.csr_array
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integer: np.ndarray
    variables: Names
    rows: Names
    notes: tuple[str, ...] = ()
    origin: np.ndarray | None = None

    @property
    def n(self) -> int:
        return len(self.linear)

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.row_lower)

    @property
    def is_quadratic(self) -> bool:
        return bool(self.quadratic.any())


def named(problem: ProblemFields, names: str = "auto", shifted: bool = False) -> NamedProgram:
    """State a problem as a program in its own unknowns, with names.

    Args:
        problem: any `pgsr.Problem`.
        names: "full" has paths of regions, x[US/GA,3]; "short" their indices, x[1,3]; "auto" is short from 200,000
            unknowns on, and where paths are too long for a solver's names.
        shifted: whether unknowns are deviations from the noisy values, z[US/GA,3] for z = x - y (in regions without
            weight from the sums of those below). Numbers are then of the size of the noise, and the objective has no
            constant: counts of 10^8 and a constant of 10^17 leave solvers in floating point no digits for a distance.

    Raises:
        ProblemError: `names` is something else.
        TooLargeError: numbers are too large for exact arithmetic.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
        >>> program = named(Problem.of([[0, 3], [1, 2]], tree, groups=5, label="M_H"))
        >>> program.variables.texts()
        ['x[US,0]', 'x[US,1]', 'x[US/GA,0]', 'x[US/GA,1]']
        >>> program.rows.texts()
        ['consistency[US,0]', 'consistency[US,1]', 'total[US]']
        >>> program.linear.tolist(), program.constant
        ([0, -6, -2, -4], 14)

        In deviations:

        >>> program = named(Problem.of([[0, 3], [1, 2]], tree, groups=5), shifted=True)
        >>> program.variables.texts()[0], program.lower.tolist(), program.row_upper.tolist(), program.constant
        ('z[US,0]', [0.0, -3.0, -1.0, -2.0], [1.0, -1.0, 2.0], 0)
    """
    if names not in ("auto", "full", "short"):
        raise ProblemError(f"names={names!r}; give 'full', 'short' or 'auto'")
    if problem.exceeds_arithmetic is not None:
        raise TooLargeError(problem.exceeds_arithmetic)
    regions = _region_names(problem, names)
    program = program_of(problem)
    moved = np.zeros_like(program.origin) if shifted else program.origin
    cells = _cells(problem, regions, "z" if shifted else "x")
    variables, added = _added_names(problem, cells, _alternatives(program))
    in_x = NamedProgram(
        problem.label,
        program.weight if program.norm == 2 else np.zeros(program.n, np.int64),
        -2 * program.weight * moved if program.norm == 2 else np.zeros(program.n, np.int64),
        _weighted_squares(program.weight, moved) if program.norm == 2 else 0,
        *_moved(problem, program, moved),
        _integer(problem, program),
        variables,
        _rows(problem, regions, added),
        _notes(problem, regions, shifted),
        program.origin[: program.n_cells] if shifted else None,
    )
    return in_x if program.norm == 2 else _magnitudes(in_x, program, variables, moved)


def row_names(problem: ProblemFields, names: str) -> Names:
    """Give the names of all rows of a problem's program, in their order, without the program.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
        >>> row_names(Problem.of([[0, 3], [1, 2]], tree, groups=5), "auto").texts()
        ['consistency[US,0]', 'consistency[US,1]', 'total[US]']
    """
    regions = _region_names(problem, names)
    choices = None if problem.conditions is None else problem.conditions.choices
    implied = () if choices is None else choices.alternative[implied_rows(choices, problem.intervals).row]
    cells, added = _added_names(problem, _cells(problem, regions, "x"), implied)
    rows = _rows(problem, regions, added)
    if problem.norm != 1:
        return rows
    return rows + _renamed(cells, "distance", np.flatnonzero(problem.cell_weights))


def names_of(problem: ProblemFields, program: Program) -> tuple[list[str], list[str], list[str]]:
    """List the names of a program's own unknowns as deviations, equalities and inequalities, in its own order.

    Stated rows with two sides are two inequalities, of which the lower one's name ends in (low).

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> from pgsr.problems.conditions import total
        >>> problem = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
        >>> problem = problem.where(total(("US", "GA")) >= 2)
        >>> names_of(problem, program_of(problem))[1:]
        (['consistency[US,0]', 'consistency[US,1]', 'total[US]'], ['total(US/GA) >= 2'])
    """
    regions = _region_names(problem, "auto")
    cells, added = _added_names(problem, _cells(problem, regions, "z"), _alternatives(program))
    rows, stated = _rows(problem, regions, added).texts(), problem.conditions
    if stated is None:
        return cells.texts(), rows[: len(program.right)], rows[len(program.right) :]
    is_equal, above, below = stated_sides(stated)
    own, names = rows[: len(rows) - len(is_equal)], np.array(rows[len(rows) - len(is_equal) :], object)
    n_equal = len(program.right) - int(is_equal.sum())
    lows = np.where(above, names + " (low)", names)[below]
    equalities = [*own[:n_equal], *names[is_equal].tolist()]
    return cells.texts(), equalities, [*own[n_equal:], *names[above].tolist(), *lows.tolist()]


def _alternatives(program: Program) -> np.ndarray:
    """The alternative of every row that one switches on; the last unknowns are the alternatives."""
    if program.switch is None:
        return np.zeros(0, np.int64)
    places = program.switch[program.switch >= 0]
    return places - program.n


def _added_names(problem: ProblemFields, cells: Names, implied: Sequence[int] | np.ndarray) -> tuple[Names, Names]:
    """The names of all unknowns, and of the inequalities that `auxiliary` puts behind those of cells.

    `implied` are the alternatives of implied rows, one each, counted from the first or from behind the last one.
    """
    choices = None if problem.conditions is None else problem.conditions.choices
    if choices is None:
        return cells, Names.of([])
    words = _told_apart(choices.names, "choice", LONGEST - len("choice(,999,999)"))
    first = np.searchsorted(choices.choice, choices.choice)
    sides = [f"{words[c]},{k}" for c, k in zip(choices.choice, np.arange(len(first)) - first + 1, strict=True)]
    cells += Names.of([f"choice({side})" for side in sides])
    rows, seen = [f"either({word})" for word in words], {}
    for k in np.asarray(implied, int).tolist():
        seen[k] = seen.get(k, 0) + 1
        rows.append(f"if({sides[k]},{seen[k]})")
    return cells, Names.of(rows)


def _integer(problem: ProblemFields, program: Program) -> np.ndarray:
    """Say which unknowns are integers: all or none, but for those that choose."""
    integer = np.full(program.n, program.integer)
    if problem.conditions is not None and problem.conditions.choices is not None:
        integer[program.n - len(problem.conditions.choices.choice) :] = True
    return integer


def _moved(
    problem: ProblemFields, program: Program, y: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and bounds in y + z, computed in integers: equalities, order, and then rows as they were stated."""
    conditions = problem.conditions
    n_equal, n_above = len(program.right), len(program.order_right)
    if conditions is not None:
        equal, above, below = (int(side.sum()) for side in stated_sides(conditions))
        n_equal, n_above = n_equal - equal, n_above - above - below
    blocks = [program.matrix[:n_equal], program.order[:n_above]]
    right = (program.right + program.matrix.astype(np.int64) @ y)[:n_equal]
    limit = (program.order_right + program.order.astype(np.int64) @ y)[:n_above]
    lower, upper = [right, np.full(n_above, -np.inf)], [right, limit]
    if conditions is not None:
        blocks.append(widened(sparse.csr_array(conditions.rows.astype(float)), program.n))
        have = conditions.rows @ (program.origin - y)[: program.n_cells]
        lower.append(np.where(conditions.row_lower > -UNBOUNDED, conditions.row_lower - have, -np.inf))
        upper.append(np.where(conditions.row_upper < UNBOUNDED, conditions.row_upper - have, np.inf))
    rows = (
        sparse.csr_array(sparse.vstack(blocks)),
        np.concatenate(lower).astype(float),
        np.concatenate(upper).astype(float),
    )
    return *rows, program.lower + y, program.upper + y


def _magnitudes(squares: NamedProgram, program: Program, cells: Names, moved: np.ndarray) -> NamedProgram:
    """Add x[j] - up[j] + down[j] = y[j] for every cell with weight, 0 for deviations; minimise sum w (up + down)."""
    measured = np.flatnonzero(program.weight)
    k, n = len(measured), program.n
    rows, one = np.tile(np.arange(k), 3), np.ones(k)
    columns = np.concatenate([measured, n + np.arange(k), n + k + np.arange(k)])
    link = sparse.csr_array((np.concatenate([one, -one, one]), (rows, columns)), shape=(k, n + 2 * k))
    y, weight = moved[measured].astype(float), program.weight[measured]
    kinds = [_renamed(cells, kind, measured) for kind in ("up", "down", "distance")]
    words = "x = y + up - down; the answer is x" if squares.origin is None else "z = up - down; the answer is z"
    return NamedProgram(
        squares.label,
        np.zeros(n + 2 * k, np.int64),
        np.concatenate([squares.linear, weight, weight]),
        0,
        sparse.csr_array(sparse.vstack([widened(squares.matrix, n + 2 * k), link])),
        np.concatenate([squares.row_lower, y]),
        np.concatenate([squares.row_upper, y]),
        np.concatenate([squares.lower, np.zeros(2 * k)]),
        np.concatenate([squares.upper, np.full(2 * k, np.inf)]),
        np.concatenate([squares.integer, np.zeros(2 * k, bool)]),
        cells + kinds[0] + kinds[1],
        squares.rows + kinds[2],
        (*squares.notes, f"distance is up + down, where {words} alone"),
        squares.origin,
    )


def _renamed(cells: Names, kind: str, items: np.ndarray) -> Names:
    stems = np.array([kind.encode() + stem[1:] for stem in cells.stems.tolist()])
    return Names(stems, cells.stem[items], cells.ends, cells.end[items])


def _region_names(problem: ProblemFields, names: str) -> list[str]:
    paths = [region_id(path) for path in problem.hierarchy.paths]
    longest = max(len(Names.cells("consistency", [path], np.zeros(1, int)).stems[0]) for path in paths)
    too_long = longest + len(f",{problem.max_size})") > LONGEST
    if names == "short" or (names == "auto" and (problem.n_unknowns >= MANY or too_long)):
        return [str(region) for region in range(len(paths))]
    return paths


def _ranked(kind: str, regions: Sequence[str], lengths: np.ndarray) -> Names:
    """The names of so many unknowns or rows of every region, numbered from 0 on."""
    cell = np.concatenate([np.arange(length) for length in lengths])
    return Names.cells(kind, regions, np.repeat(np.arange(len(lengths)), lengths), cell)


def _cells(problem: ProblemFields, regions: Sequence[str], kind: str) -> Names:
    if problem.view is View.RANKED:
        return _ranked(kind, regions, np.diff(problem.first_cell))
    return Names.cells(kind, regions, problem.sizes.region_of_cell, problem.sizes.size_of_cell)


def _rows(problem: ProblemFields, regions: Sequence[str], added: Names) -> Names:
    """The names of all rows, `added` ones of choices among them, in the order in which `formulate` stacks them."""
    if problem.view is View.RANKED:
        return _ranked("order", regions, np.maximum(0, np.diff(problem.first_cell) - 1))
    tree, sizes, out = problem.hierarchy, problem.sizes, Names.of([])
    if problem.consistent:
        widths = (np.array([*sizes.max_sizes[1:], -1]) + 1)[tree.level_of]  # a sum per size of the level below
        region = np.repeat(np.arange(tree.n_regions), widths)
        size = np.arange(len(region)) - np.repeat(np.cumsum(widths) - widths, widths)
        out += Names.cells("consistency", regions, region, size)
    if problem.totals is not None:
        out += Names.cells("total", regions, regions_with_total(problem))
    if problem.monotone:
        first = ordered_cells(problem)
        out += Names.cells("order", regions, sizes.region_of_cell[first], sizes.size_of_cell[first])
    conditions = problem.conditions
    return out + added + Names.of(() if conditions is None else _told_apart(conditions.names, "condition", LONGEST))


def _told_apart(names: Sequence[str], kind: str, longest: int) -> list[str]:
    """Encode names, told apart where two are the same, and numbered where they are too long."""
    words, seen = [], {}
    for number, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        word = encoded(name if seen[name] == 1 else f"{name} [{seen[name]}]")
        words.append(word if len(word) <= longest else encoded(f"{kind}[{number}]"))
    return words


def _notes(problem: ProblemFields, regions: Sequence[str], shifted: bool) -> tuple[str, ...]:
    square, magnitude = ("z^2", "|z|") if shifted else ("(x - y)^2", "|x - y|")
    distance = f"sum w {magnitude if problem.norm == 1 else square}"
    told = "the constant is part of the objective"
    if shifted:
        told = "z = x - y, deviations from the noisy values y, in regions without weight from the sums of those below"
    lines = [
        f"{problem.label}: minimise {distance} over {problem.view.value} x; {told}",
        "names: ( ) { } ~ _ stand for [ ] ( ) / and a blank, %3D and its like for other characters",
    ]
    if problem.conditions is not None:
        lines += [f"stated: {condition}" for condition in problem.conditions.stated]
        names = enumerate(problem.conditions.names)
        lines += [f"condition({i}) is {name}" for i, name in names if len(encoded(name)) > LONGEST]
    if regions[0] == "0":
        lines += [
            f"region {name} is {region_id(path)}" for name, path in zip(regions, problem.hierarchy.paths, strict=True)
        ]
    return tuple(lines)


def _weighted_squares(w: np.ndarray, y: np.ndarray) -> int:
    """Compute sum w y^2 exactly: w |y| and |y| are below 2^50, so that products of their halves fit into 64 bits."""
    a, b = w * np.abs(y), np.abs(y)
    half, few = 25, 2**12  # so many products of two halves stay below 2^63
    mask = (1 << half) - 1
    parts = (
        (a >> half, b >> half, 2 * half),
        (a >> half, b & mask, half),
        (a & mask, b >> half, half),
        (a & mask, b & mask, 0),
    )
    starts = np.arange(0, len(y), few)
    return sum(sum(np.add.reduceat(p * q, starts).tolist()) << shift for p, q, shift in parts) if len(y) else 0
