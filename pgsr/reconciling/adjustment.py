"""The function that makes a noisy table add up."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pgsr.algorithms import ChoiceTree, CumulativeIntegers, CumulativeProjection, MeanConsistency, TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.checks import plain, shown, whole_number
from pgsr.data.columns import ColumnFrame, column_names
from pgsr.data.hierarchy import Path
from pgsr.data.region_ids import ABOVE_ALL
from pgsr.engines.losses import checked_norm
from pgsr.errors import ArgumentError, MethodError, NoEstimateError, ProblemError, TooLargeError
from pgsr.methods.method import Method, Result, Status
from pgsr.problems.conditions.choices import Either
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.problem import Problem
from pgsr.reconciling.draws import StatedNoise, require_drawable
from pgsr.reconciling.laws import NoiseLaw, law_named
from pgsr.reconciling.measurements import MeasuredCells, measured
from pgsr.reconciling.problem import Asked, Stated, require_more_than_nothing, stated
from pgsr.reconciling.regions import require_order
from pgsr.reconciling.result import Reconciled
from pgsr.reconciling.whole_numbers import MOST_EXACT

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
    by: Sequence[str] | str | None = None,
    weights: Any = None,
    variance: Any = None,
    fixed: str | None = None,
    totals: int | Mapping[Path, int] | None = None,
    integer: bool = True,
    nonnegative: bool = True,
    norm: int = 2,
    monotone: bool = False,
    where: Condition | Either | Sequence[Condition | Either] = (),
    method: Method | str | None = None,
    level: float = 0.9,
    time_limit: float | None = None,
    noise: Literal["geometric", "gaussian", "laplace"] | None = None,
    scale: Any = None,
    draws: int = 1_000,
    seed: int = 0,
    estimate: Literal["nearest", "median"] = "nearest",
    base: int | None = None,
    zero_restricted: bool = False,
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
        size: column of sizes, or of other kinds that all add up over regions by themselves, if there is one.
        by: columns that tell many tables apart, such as `["period"]`, each with all lowest regions. All are made to add
            up in one call, each by itself, and `diagnostics` and `cells` say by their index which is which.
        weights: column or array of weights, one per row, from 0 on; 1 if None. They keep their ratios, see
            docs/model/reconcile.md.
        variance: column or array of variances, in place of weights; the table then gets intervals.
        fixed: column that is true where a value is exact and must not change.
        totals: the number over all sizes of the root, or of regions by their paths, that are known.
        integer, nonnegative, norm: as in `pgsr.Problem`.
        monotone: whether numbers do not fall from a size to the next, by number, category or time: cumulative counts.
            For numbers that do not rise, such as those of people reached k times or more, give sizes as -1, -2, ...
        where: conditions of `pgsr.problems.conditions` on cells; sizes are those of the table, whole numbers up to
            100,000, or places among other sizes in their order.
        method: what solves the problem, by its name as in `pgsr.solve`, such as "highs", or as a value; our own exact
            methods if None.
        level: the chance that an interval holds the exact number, each by itself.
        time_limit: seconds.
        noise: the law of every row's noise, if it is known. Intervals are then those of the posterior of whole numbers
            from 0 on that add up, with a learned prior; without it they are linear, for Gaussian noise.
        scale: column or array of the law's scales, or one number, in place of variances: P(noise) falls by e per scale,
            or the standard deviation of Gaussian noise.
        draws, seed: of the tables that the result's `draws` has.
        estimate: "nearest", or "median": the nearest numbers that add up to the posterior medians of all cells, in
            units of their standard deviations. They are nearer to the truth, and the proof is about the medians.
        base: round to multiples of this number, such as 5.
        zero_restricted: whether every number is one of the two multiples next to its value, and multiples stay.

    Returns:
        The table with a column `result`, and the proof.

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
    and Van Hentenryck 2019. Shown equal to exhaustive search by `test_reconciling.py::test_equals_brute_force`.
    The laws that `noise` asks for are stated in `pgsr.reconciling.posterior`, and shown equal to enumeration by
    `test_reconciling_posterior.py::test_equals_enumeration`.
    """
    said = [where] if isinstance(where, Condition | Either) else list(where)
    level = plain(level)
    if not isinstance(level, float) or not 0 < level < 1:
        raise ArgumentError(f"level={level!r}; give the chance of an interval, between 0 and 1")
    if isinstance(hierarchy, Mapping) and len(hierarchy) != 1:
        raise ArgumentError("hierarchy has several entries; give {id column: parent column}, or the levels' columns")
    law = law_named(noise)
    frame = ColumnFrame.of(table)
    variances = _variances(frame, law, scale, weights, variance)
    tables = () if by is None else column_names("by", [by] if isinstance(by, str) else by)
    if twice := {*tables} & {*_columns(hierarchy), size, value}:
        raise ArgumentError(f"by= names {min(twice)!r}, which says something else of the rows; leave it out of one")
    if tables and (totals is not None or said or monotone):
        raise ArgumentError(
            "by= takes tables whose sizes do not meet; leave out totals=, where= and monotone=, or reconcile every "
            "table alone"
        )
    found = measured(frame, hierarchy, value, size, tables, weights, variances, fixed, nonnegative)
    if monotone and size is not None:
        require_order(frame, size)
    asked = Asked(integer, nonnegative, checked_norm(norm), monotone, _known(totals), said)
    stated_noise = None
    if law is not None:
        require_drawable(found, law, asked)
        number, key = whole_number("draws", draws, 1, ArgumentError), whole_number("seed", seed, 0, ArgumentError)
        stated_noise = StatedNoise(found, law, level, number, key)
    near_to = _near_to(found, stated_noise, estimate, base, zero_restricted).evened(integer)
    if base is not None and (totals is not None or said or not integer):
        raise ArgumentError("base= rounds whole numbers that add up; leave out totals, where= and integer=False")
    if base is None and law is None:
        require_more_than_nothing(found, asked)
    problem, result = _solved(near_to, asked, _chosen(method), time_limit)
    answer = problem.cells_of(result.estimate.values)
    problem.held.require_proved(near_to, answer, norm, nonnegative)
    names = _level_names(hierarchy, found.tree.n_levels, found.tree.paths[0] == (ABOVE_ALL,))
    chance = None if variances is None else level
    return Reconciled(result, answer * (base or 1), found, problem, frame, names, chance, nonnegative, stated_noise)


def _variances(frame: ColumnFrame, law: NoiseLaw | None, scale: Any, weights: Any, variance: Any) -> Any:
    """Find the variance of every row, of scales where these are given."""
    if law is None:
        if scale is not None:
            raise ArgumentError(
                "scale= belongs to a law; give noise='geometric', 'gaussian' or 'laplace', or variance="
            )
        return variance
    if weights is not None or (scale is None) == (variance is None):
        raise ArgumentError(
            "noise= goes with scale= or variance=, one of them and no weights; the weight is 1 / variance"
        )
    if scale is None:
        return variance
    numbers = frame.row_numbers(scale, "scale")
    if (numbers <= 0).any():
        raise ArgumentError(
            f"scale= has {numbers[numbers <= 0].flat[0]:g}; give scales above 0, and exact numbers by fixed="
        )
    return law.variance(numbers)


def _known(totals: Any) -> Any:
    """Check totals, which are whole numbers, one or one by path."""
    if totals is None or isinstance(totals, Mapping):
        return totals and {path: _known(number) for path, number in totals.items()}
    number = plain(totals)
    whole = isinstance(number, int | float) and not isinstance(number, bool) and number % 1 == 0
    if not whole or abs(number) > MOST_EXACT:
        raise ArgumentError(f"totals= has {shown(totals)}; give whole numbers up to 2^50")
    return int(number)


def _near_to(
    found: MeasuredCells, noise: StatedNoise | None, estimate: str, base: int | None, zero_restricted: bool
) -> MeasuredCells:
    """Find what the answer is to be near to: the values, the medians of cells, or either in units of a base."""
    if estimate not in ("nearest", "median") or (estimate == "median" and noise is None):
        raise ArgumentError(f"estimate={estimate!r}; give 'nearest', or 'median' together with noise= and its scale=")
    if zero_restricted and base is None:
        raise ArgumentError("zero_restricted=True belongs to base=; give a base, such as 5")
    near_to = found if noise is None or estimate == "nearest" else noise.medians
    return near_to if base is None else near_to.in_multiples(base, zero_restricted)


def _chosen(method: Method | str | None) -> Method | None:
    """Find the method that is meant, None for our own; names are those of `pgsr.solve`."""
    if method is None or method == "pgsr":
        return None
    from pgsr.front.solution import chosen_method  # which brings all solvers' names

    return chosen_method(method)


def _solved(
    found: MeasuredCells, asked: Asked, method: Method | None, time_limit: float | None
) -> tuple[Stated, Result]:
    """State the problem of a table and solve it, with large weights as long as the method's arithmetic takes them."""
    if asked.integer and (method is None or isinstance(method, TreeProjection)):
        try:
            problem = stated(found, asked, near=True)
            result = _result(problem.problem, method, time_limit)
            if result.answer is not None:
                return problem, result
        except TooLargeError:
            pass
    problem = stated(found, asked, near=False)
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
    raise MethodError(f"none of our own methods solves this: {reasons[0]}; give method=, such as 'gscip' or 'clarabel'")


def _level_names(hierarchy: Sequence[str] | Mapping[str, str] | str, n_levels: int, added: bool) -> tuple[str, ...]:
    if isinstance(hierarchy, Mapping):
        return tuple(f"level {level}" for level in range(n_levels))
    names = tuple(_columns(hierarchy))
    return (ABOVE_ALL, *names) if added else names


def _columns(hierarchy: Sequence[str] | Mapping[str, str] | str) -> list[str]:
    """List the columns that say which regions rows are of."""
    if isinstance(hierarchy, Mapping):
        return [*hierarchy, *hierarchy.values()]
    return [hierarchy] if isinstance(hierarchy, str) else list(hierarchy)
