"""The part that all native models share: bringing a solution back, and judging it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pgsr.certificates import certify
from pgsr.checks import checked_limit, require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.data.rounding import nearest
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, Stopped
from pgsr.methods.method import Result, Seconds, Status
from pgsr.models.formulate import formulate
from pgsr.models.judge import Answer, Claim, judged
from pgsr.models.native import shown
from pgsr.models.native.levels import Levels
from pgsr.noise.measurement import Measurement
from pgsr.problems.conditions import Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.programs import Program, program_of

EQUALITIES = ("consistency", "total", "stated equal")
"""The kinds of equalities, in the order in which programs have them."""

INEQUALITIES = ("order", "stated above", "stated below")
"""The same of inequalities."""


TOO_LARGE = 2.0**53
"""From here on floats do not tell neighbouring integers apart."""

CHANGED = (
    "the model was changed after it was made, so its solver's word is about another problem; state conditions that the "
    "judge shall know by Problem.where"
)


class NativeModel(ABC):
    """A problem as an object of a solver's own interface, which a modeller reads, changes and solves.

    It is a method, too, for its own problem: `compare(problem, [TreeProjection(), model])` works. What a modeller
    changes in `native` by hand is solved, but the judge asks for an optimum of the stated problem: it notes by
    `fingerprint` that the model was changed and takes the values alone, neither the solver's word nor its bound.
    Conditions that it should know are stated by `Problem.where` before.

    Attributes:
        problem: what was asked.
        stated: what the model says: `problem`, or its relaxation where the solver takes no integers.
        solver: the label of the method that made it.
        native: the solver's own object.
        variables: z by level, root first, in the solver's own type: deviations z = x - origin.
        origin: the noisy values by level (in regions without weight the sums of those below), integers. Unknowns that
            are deviations have the size of the noise, and the objective has no constant: beside counts of 10^8, and a
            constant of 10^17, a solver in floating point has no digits left for a distance.
        constraints: the rows in the solver's own type, by name and level, such as "consistency[0]".
    """

    problem: Problem
    stated: Problem
    solver: str
    native: Any
    variables: list[Any]
    origin: list[np.ndarray]
    constraints: dict[str, Any]
    rows: dict[str, list[Any]]
    """The rows by kind, for their duals; every entry stands for rows in the order of programs."""
    made: str
    """The fingerprint of the model as it was made."""

    def __init__(self, problem: Problem, stated: Problem, solver: str) -> None:
        self.problem, self.stated, self.solver = problem, stated, solver
        self.variables, self.constraints = [], {}
        self.rows = {kind: [] for kind in (*EQUALITIES, *INEQUALITIES)}
        levels = Levels(stated)
        self.origin = levels.y
        self.build(levels)
        self.made = self.fingerprint()

    @property
    def x(self) -> list[Any]:
        """The counts (or cumulative counts) by level, root first, as expressions of `native`: origin + z.

        Shape (regions of the level, K + 1). Conditions that a modeller adds by hand are stated in them.
        """
        return [y + z for y, z in zip(self.origin, self.variables, strict=True)]

    @abstractmethod
    def build(self, levels: Levels) -> None:
        """State the model; it fills `native`, `variables`, `constraints` and `rows`."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Give a text that tells `native` from a model with another objective, condition, bound or kind of unknown.

        To solve the model does not change it, nor do hints and starts that a modeller gives to the solver.
        """

    @property
    def changed(self) -> bool:
        """Whether `native` states something else than when it was made."""
        return self.fingerprint() != self.made

    @abstractmethod
    def optimize(self, time_limit: float | None) -> Any:
        """Solve the model with the solver that it was made for; return its result, for `read`."""

    @abstractmethod
    def read(self, solved: Any) -> Answer:
        """Read the answer of the solver: deviations z of all cells, duals and bound, with its own word on it."""

    def state(self, kind: str, name: str, row: Any) -> None:
        """Note a constraint under its name, and its duals under its kind."""
        self.constraints[name] = row
        self.rows[kind].append(row)

    def duals(self, dual: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Join the duals of all rows, which `dual` reads from one entry of `rows`; a changed model has none of them."""
        if self.changed:
            return None, None
        parts = []
        for kinds in (EQUALITIES, INEQUALITIES):
            found = [np.ravel(np.asarray(dual(row), float)) for kind in kinds for row in self.rows[kind]]
            parts.append(np.concatenate([np.zeros(0), *found]))
        return parts[0], parts[1]

    def prices(self, slope: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Join the duals of solvers that give slopes of the objective in right-hand sides: negative for rows <=."""
        below = {id(row) for row in self.rows["stated below"]}
        return self.duals(lambda row: np.asarray(slope(row), float) * (1.0 if id(row) in below else -1.0))

    def update(self, noisy: Measurement | Problem) -> None:
        """State the same problem of other noisy values, such as another draw of the noise, in the same model.

        The model is made, and by CVXPY compiled, once: with deviations as unknowns only right-hand sides and bounds
        depend on noisy values.

        Args:
            noisy: a measurement of the same noise, or a problem that differs in values and numbers of groups alone.

        Raises:
            MethodError: it differs in more than that, the model was changed by hand, or its interface (CP-SAT, SCIP)
                states other values anew.

        Example:
            >>> from pgsr import Hierarchy
            >>> from pgsr.models import Cvxpy
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> first, second = (Problem.of([[0, 3], y, [1, 1]], tree, groups=4) for y in ([0, 2], [1, 3]))
            >>> model = Cvxpy("CLARABEL").model(first)
            >>> model.update(second)
            >>> model.solve(second).certificate.objective
            3
        """
        problem = restated(self.problem, noisy)
        if self.changed:
            raise MethodError(f"{CHANGED}; make a model of the other values and change that")
        stated = problem if self.stated.integer else problem.relaxed()
        program = program_of(stated)
        self.restate(stated, program)
        self.problem, self.stated, self.origin = problem, stated, list(problem.sizes.tables(program.origin))
        self.made = self.fingerprint()

    def restate(self, stated: Problem, program: Program) -> None:
        """Give `native` the right-hand sides and bounds of other values."""
        del stated, program
        raise MethodError(f"{self.solver} states other values anew; make a model of them, .model(problem)")

    def right_sides(self, program: Program) -> Iterator[tuple[str, Any, np.ndarray]]:
        """Yield the kind, the rows and the right-hand sides of every entry of `rows`, those of lower sides negated."""
        for kinds, right in ((EQUALITIES, program.right), (INEQUALITIES, program.order_right)):
            start = 0
            for kind in kinds:
                for row in self.rows[kind]:
                    n = int(np.size(row))
                    yield kind, row, right[start : start + n]
                    start += n

    def judge(self, solution: Any = None, time_limit: float | None = None) -> Result:
        """Judge a solution by pgsr's own residuals and certificate.

        Where `native` was changed after it was made, its answer is judged like any values: OPTIMAL by an exact test
        alone, else FEASIBLE or RELAXED; that the changed model has no solution is FAILED, since it says nothing of the
        problem.

        Args:
            solution: None for what `native` holds after it was solved; what the solver returned, for interfaces that
                keep nothing (MathOpt's result, CP-SAT's solver); or any values x, shape (regions, K + 1) or by level.
            time_limit: for the reason, where it was reached.

        Raises:
            MethodError: nothing was solved yet; or values have another shape, are not finite, or 2^53 or more.
        """
        if isinstance(solution, np.ndarray | Sequence | Mapping):
            return self._judged_values(solution)
        changed = self.changed
        answer = self.read(solution)
        if self.problem.contradiction is not None:
            return Result(Status.INFEASIBLE, self.problem.contradiction)
        if changed and answer.claim is Claim.INFEASIBLE:
            return Result(Status.FAILED, f"{self.solver} says that no point satisfies the conditions, but {CHANGED}")
        if changed and answer.values is not None and np.isfinite(answer.values).all():
            z = _without_tolerance(answer.values) if self.problem.integer else answer.values
            result = self._judged_values(np.concatenate([y.ravel() for y in self.origin]) + z)
            return result if result.status is Status.OPTIMAL else replace(result, reason=f"{result.reason}; {CHANGED}")
        try:
            program = formulate(self.stated)
        except Stopped as stopped:
            return Result(stopped.status, stopped.reason)
        return judged(self.solver, self.problem, program, answer, time_limit)

    def supports(self, problem: Problem) -> str | None:
        """Give the reason why this model does not solve this problem, or None: it solves its own alone."""
        if same_problem(problem, self.problem):
            return None
        return f"this model states {self.problem!r}; make one of {problem!r} by .model(problem)"

    def solve(self, problem: Problem, time_limit: float | None = None, *, warm_start: Result | None = None) -> Result:
        """Solve and judge, as methods do; for the model's own problem. Starts are set in `native` alone."""
        require_kind(problem, Problem, "the problem", "give the one that this model was made of")
        deadline = Deadline(checked_limit(time_limit))
        reason = self.supports(problem)
        if reason is None and warm_start is not None:
            reason = (
                f"{self!r} takes no start; give it to `native` in {self.solver}'s interface, or to {self.solver}.solve"
            )
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        try:
            solved = self.optimize(deadline.left)
            spent = deadline.spent
            result = self.judge(solved, deadline.limit)
        except Stopped as stopped:
            return Result(stopped.status, stopped.reason, seconds=Seconds(solve=deadline.spent))
        except Exception as error:  # whatever a solver's interface throws; its name tells which
            what = (str(error).splitlines() or [""])[0]
            return Result(Status.FAILED, f"{self.solver} stopped with an error: {type(error).__name__}: {what}")
        return replace(result, seconds=Seconds(solve=spent, round=deadline.spent - spent))

    def infeasible_subset(self) -> list[str]:
        """Name conditions that contradict each other and do not without any one of them (an IIS).

        Raises:
            MethodError: this interface finds none, or the model has a solution.
        """
        raise MethodError(f"{self.solver} names no contradicting conditions; Gurobi() does")

    def _judged_values(self, values: Any) -> Result:
        """Judge values that came from anywhere: nothing but a certificate speaks for them."""
        problem = self.problem
        given = list(values.values()) if isinstance(values, Mapping) else values
        wanted = _shapes(problem)
        try:
            parts = [given] if isinstance(given, np.ndarray) else [np.atleast_2d(part) for part in given]
            table = np.concatenate([part.ravel() for part in parts] if not problem.sizes.equal else parts)
        except ValueError:
            raise MethodError(f"the rows of the solution are of different lengths or kinds; give x {wanted}") from None
        if table.size != problem.n_unknowns:
            raise MethodError(
                f"a solution of {table.size:,} numbers for {problem.n_unknowns:,} unknowns; give x {wanted}"
            )
        if not _are_in_order(parts, table, problem):
            shapes = ", ".join(str(part.shape) for part in parts)
            order = ", the root's first" if problem.sizes.equal else ""
            raise MethodError(f"a solution of shape {shapes} does not say which cell is which; give x {wanted}{order}")
        cells = self._numbers(table.ravel())
        whole = nearest(cells)
        cells = whole if np.array_equal(whole, cells) else cells
        estimate = Estimate(problem.hierarchy, problem.view, problem.sizes.shaped(cells))
        certificate = certify(problem, estimate)
        if certificate.optimal:
            return Result(Status.OPTIMAL, "", estimate, certificate)
        if certificate.feasible:
            return Result(Status.FEASIBLE, "values without duals; no bound proves them", estimate, certificate)
        broken = ", ".join(f"{n:,} {kind}" for kind, n in certificate.violations.items() if n)
        return Result(Status.RELAXED, f"the values violate {broken}", estimate, certificate)

    def _numbers(self, cells: np.ndarray) -> np.ndarray:
        """Take values of all cells as floats, all finite and so small that these are exact for integers.

        Raises:
            MethodError: names the first such cell.
        """
        try:
            numbers = cells.astype(float)
        except (TypeError, ValueError):
            raise MethodError(
                f"a solution of type {cells.dtype} is not one of numbers; give integers or floats"
            ) from None
        bad = np.flatnonzero(~(np.abs(numbers) < TOO_LARGE))  # NaN is below nothing
        if len(bad):
            first, sizes = int(bad[0]), self.problem.sizes
            region, size = int(sizes.region_of_cell[first]), int(sizes.size_of_cell[first])
            cell = f"{region_id(self.problem.hierarchy.paths[region])}, size {size}"
            raise MethodError(f"the solution's cell {cell} is {numbers[first]:g}; give finite numbers below 2^53")
        return numbers

    def __repr__(self) -> str:
        return f"{self.solver}.model({self.problem.label})"

    def __str__(self) -> str:
        return shown.text(repr(self), self.stated, self.changed)

    def _repr_html_(self) -> str:
        return shown.html(repr(self), self.stated, self.changed)


def _are_in_order(parts: list[np.ndarray], table: np.ndarray, problem: Problem) -> bool:
    """Say whether the parts of a table are its levels, root first, or its rows, or all of it, flat or as a table."""
    if not problem.sizes.equal:
        return [part.shape for part in parts] in ([table.shape for table in problem.tables], [(problem.n_unknowns,)])
    rows = [len(part) for part in parts]
    by_level = len(parts) == 1 or set(rows) == {1} or rows == np.diff(problem.hierarchy.level_start).tolist()
    return max(table.shape) == table.size or (table.shape == problem.target.shape and by_level)


def _shapes(problem: Problem) -> str:
    """Say in which shapes a solution is read."""
    if problem.sizes.equal:
        return f"of shape {problem.target.shape}, or one such array per level"
    return "as one array per level, the root's first, of the shapes " + ", ".join(
        str(table.shape) for table in problem.tables
    )


def _without_tolerance(values: np.ndarray) -> np.ndarray:
    """Take the integers that a solver's answer means, if all of its numbers are integers up to its tolerance."""
    whole = np.rint(values)
    return whole if (np.abs(values - whole) <= 1e-4).all() else values


def same_problem(one: Problem, other: Problem) -> bool:
    """Say whether two problems are the same to the last field, copies included."""
    return one is other or all(_same(getattr(one, field.name), getattr(other, field.name)) for field in fields(Problem))


def restated(problem: Problem, noisy: Measurement | Problem) -> Problem:
    """State a problem of other noisy values: those of a measurement, or of a problem that says the same but for them.

    Raises:
        MethodError: more is different.
    """
    if isinstance(noisy, Problem):
        other = noisy
    else:
        require_kind(noisy, Measurement, "noisy values", "give a measurement, or a problem")
        if problem.noise is not None and noisy.noise != problem.noise:
            raise MethodError("the noise was drawn from another law, on which weights may depend; give a problem")
        if noisy.view is not problem.view or not _same(noisy.hierarchy, problem.hierarchy):
            raise MethodError("the measurement is of another view or hierarchy; make a model of its problem")
        groups = problem.groups
        if groups is not None:
            groups = noisy.totals[:1] if len(groups) == 1 else noisy.region_totals
        other = replace(problem, values=noisy.values, groups=groups)
    for field in fields(Problem):
        if field.name not in ("label", "values", "groups", "noise") and not _same(
            getattr(problem, field.name), getattr(other, field.name)
        ):
            raise MethodError(f"{other!r} differs from {problem!r} in its {field.name}; make a model of it")
    if other.sizes.max_sizes != problem.sizes.max_sizes:
        raise MethodError("the noisy values have other sizes; make a model of their problem")
    return other


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Hierarchy) and isinstance(b, Hierarchy):
        return a.paths == b.paths
    if isinstance(a, Conditions) and isinstance(b, Conditions):
        sides = all(np.array_equal(getattr(a, s), getattr(b, s)) for s in ("lower", "upper", "row_lower", "row_upper"))
        same = sides and a.rows.shape == b.rows.shape and abs(a.rows - b.rows).nnz == 0
        return same and a.choices is b.choices  # native models know neither choices nor measured sums
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a == b)


def not_solved(solver: str) -> MethodError:
    """Make the error of a judge that was called too early."""
    return MethodError(f"{solver}: the model was not solved yet; solve it first, or give judge(solution)")
