"""The function that makes a noisy table add up."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgsr.algorithms import ChoiceTree, CumulativeIntegers, CumulativeProjection, MeanConsistency, TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.checks import require_kind
from pgsr.data.hierarchy import Path
from pgsr.engines.losses import Norm
from pgsr.errors import ArgumentError, MethodError, NoEstimateError, ProblemError, TooLargeError
from pgsr.methods.method import Method, Result, Status
from pgsr.problems.conditions.choices import Either
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.problem import Problem
from pgsr.reconciling.frames import ColumnFrame
from pgsr.reconciling.further import Sums, joined_sums, other_table, totals_over_sizes
from pgsr.reconciling.measured import MeasuredCells, measured
from pgsr.reconciling.reconciled import Reconciled
from pgsr.reconciling.regions import ABOVE_ALL
from pgsr.reconciling.stating import Asked, Stated, stated

OWN: tuple[Method, ...] = (
    TreeProjection(),
    RegionTotalsProjection(),
    MeanConsistency(),
    CumulativeIntegers(),
    ChoiceTree(),
    CumulativeProjection(),  # which rounds where integers are asked for
)
"""The methods that are asked in this order, and the first that knows the problem solves it."""


def reconcile(
    table: Any,
    hierarchy: Sequence[str] | Mapping[str, str] | str,
    value: str,
    *,
    size: str | None = None,
    weights: Any = None,
    variance: Any = None,
    fixed: str | None = None,
    totals: int | Mapping[Path, int] | None = None,
    integer: bool = True,
    nonnegative: bool = True,
    norm: Norm = 2,
    monotone: bool = False,
    where: Condition | Either | Sequence[Condition | Either] = (),
    also: Sequence[tuple[Any, Sequence[str]]] = (),
    method: Method | None = None,
    level: float = 0.9,
    time_limit: float | None = None,
) -> Reconciled:
    """Make the numbers of a noisy table add up over its hierarchy, changing them as little as possible, with a proof.

        minimise    sum over rows i of  w[i] |x[cell of row i] - value[i]|^norm
        subject to  x[r, s] = sum over the regions c directly below r of x[c, s],   x >= 0 (integer),
                    and whatever else is asked.

    Values may come from any noise, or none: what is minimised is a distance. Weights in the ratio of 1 / variance make
    it the likeliest answer where noise is Gaussian. Rows of one cell are several measurements of it, and count with
    their weights. A cell without a row, or with an empty value, is an unknown; a lowest region that stands in no row
    is none. Nothing but the table is read, so this costs no privacy, and it makes no claim of any.

    Args:
        table: a pandas, Polars or Arrow table, a DuckDB relation, anything with an Arrow stream, or a dictionary of
            arrays; a row per measurement.
        hierarchy: columns of names, one per level from the root down, empty below the row's own region; or
            `{id: parent}`, the column of the region's id and that of its parent's.
        value: column of the noisy numbers.
        size: column of sizes, or of other kinds that all add up over regions by themselves, if there is one. A row
            without a size measures the sum over all of them.
        weights: column or array of weights, one per row, from 0 on; 1 if None. They keep their ratios, see
            docs/model/reconcile.md.
        variance: column or array of variances, in place of weights; the table then gets intervals.
        fixed: column that is true where a value is exact and must not change.
        totals: the number over all sizes of the root, or of regions by their paths, that are known.
        integer, nonnegative, norm: as in `pgsr.Problem`.
        monotone: whether numbers do not fall from a size to the next: cumulative counts. For numbers that do not rise,
            such as those of people reached k times or more, give sizes as -1, -2, ... or number them from above.
        where: conditions of `pgsr.problems.conditions` on cells; sizes are those of the table, or places among names.
        also: further tables over the same lowest regions with their own hierarchies, `[(table, columns)]`, such as
            counties by metropolitan areas; their other columns are called as in the first table. Lowest regions are the
            same where their last names are, and no two have the same.
        method: what solves the problem, such as a solver of `pgsr.models`; our own exact methods if None.
        level: the chance that an interval holds the exact number, each by itself, with Gaussian noise of the given
            variances.
        time_limit: seconds.

    Returns:
        The table with a column `reconciled`, and the proof.

    Raises:
        TableError: a row is malformed or contradicts another; the message names it.
        ProblemError: no numbers satisfy the conditions, or they do not fit the table; weights are too far apart.
        MethodError: no method of our own solves the problem, or `method` does not.
        NoEstimateError: the method found no answer.

    Complexity: O(rows) for the table; a few passes over all cells for the answer, at 2 to 10 microseconds a cell.

    Example:
        >>> noisy = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [9, 7, -1]}
        >>> done = reconcile(noisy, ["nation", "state"], "n")
        >>> done.table["reconciled"].tolist(), done.status.value
        ([8, 8, 0], 'proved optimal')

    Source: weighted least squares under consistency is Hay et al. 2010; with integers and signs it is M_H of Fioretto
    and Van Hentenryck 2019. Shown equal to exhaustive search by `tests/test_reconciling.py::test_equals_brute_force`.
    """
    said = [where] if isinstance(where, Condition | Either) else list(where)
    if not isinstance(level, float) or not 0 < level < 1:
        raise ArgumentError(f"level={level!r}; give the chance of an interval, between 0 and 1")
    if isinstance(hierarchy, Mapping) and len(hierarchy) != 1:
        raise ArgumentError("hierarchy has several entries; give {id column: parent column}, or the levels' columns")
    frame = ColumnFrame.of(table)
    found = measured(frame, hierarchy, value, size, weights, variance, fixed, nonnegative)
    asked = Asked(integer, nonnegative, norm, monotone, totals, said)
    others = tuple(other_table(found, *further, value, size, weights, variance) for further in also)
    sums = joined_sums(totals_over_sizes(found), others)
    problem, result = _solved(found, asked, sums, method, time_limit)
    answer = problem.cells_of(result.estimate.values)
    problem.held.require_proved(found, answer, sums, norm, nonnegative)
    names = _level_names(hierarchy, found.tree.n_levels, found.tree.paths[0] == (ABOVE_ALL,))
    chance = None if variance is None else level
    return Reconciled(result, answer, found, problem, frame, names, chance, nonnegative, sums, others)


def _solved(
    found: MeasuredCells, asked: Asked, sums: Sums | None, method: Method | None, time_limit: float | None
) -> tuple[Stated, Result]:
    """State the problem of a table and solve it, with large weights as long as the method's arithmetic takes them."""
    if method is not None:
        require_kind(method, Method, "the method", "give one such as pgsr.models.MathOpt('HIGHS')")
    if asked.integer and (method is None or isinstance(method, TreeProjection)):
        try:
            problem = stated(found, asked, sums, near=True)
            result = _result(problem.problem, method, time_limit)
            if result.answer is not None:
                return problem, result
        except TooLargeError:
            pass
    problem = stated(found, asked, sums)
    result = _result(problem.problem, method, time_limit)
    if result.status is Status.INFEASIBLE:
        raise ProblemError(result.reason)
    if result.answer is None:
        raise NoEstimateError(f"no answer, {result.status.value}: {result.reason}")
    return problem, result


def _result(problem: Problem, method: Method | None, time_limit: float | None) -> Result:
    """Solve a problem by this method, or by the first of our own that knows it."""
    reasons = []
    for own in OWN if method is None else (method,):
        reason = own.supports(problem)
        if reason is None:
            return own.solve(problem, time_limit)
        reasons.append(reason)
    if method is not None:
        raise MethodError(reasons[0])
    raise MethodError(
        f"none of our own methods solves this: {reasons[0]}; give method=, such as MathOpt('GSCIP') or "
        "Cvxpy('CLARABEL') of pgsr.models"
    )


def _level_names(hierarchy: Sequence[str] | Mapping[str, str] | str, n_levels: int, added: bool) -> tuple[str, ...]:
    if isinstance(hierarchy, Mapping):
        return tuple(f"level {level}" for level in range(n_levels))
    names = (hierarchy,) if isinstance(hierarchy, str) else tuple(hierarchy)
    return (ABOVE_ALL, *names) if added else names
