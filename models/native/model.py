"""The one native model: a problem in a solver's own interface, by level and by name, and what comes back judged."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NoReturn, Protocol

import numpy as np
from scipy import sparse

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
from pgsr.models.judge import LARGEST_NUMBER, SolverAnswer, SolverClaim, judged
from pgsr.models.native.program import model_html, model_text
from pgsr.models.program import Labels, SolverProgram
from pgsr.models.solver_object import Built, NotSolved
from pgsr.models.watch import within
from pgsr.noise.measurement import Measurement
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import with_sums

CHANGED = (
    "the model was changed after it was made, so its solver's word is about another problem; state conditions that the "
    "judge shall know by Problem.where"
)


class Maker(Protocol):
    """The side of a solver model that native models need."""

    def handed_natively(self, stated: Problem) -> SolverProgram:
        """Write the problem of a model as the program that `build` gets."""
        ...

    def build(self, program: SolverProgram) -> Built:
        """Make the program in the solver's own interface."""
        ...


class NativeModel:
    """A problem as an object of a solver's own interface, which a modeller reads, changes and solves.

    It is a method, too, for its own problem: `compare(problem, [TreeProjection(), model])` works. What a modeller
    changes in `native` by hand is solved, but the judge asks for an optimum of the stated problem: it notes by
    `fingerprint` that the model was changed and takes the values alone, neither the solver's word nor its bound.
    Conditions that it should know are stated by `Problem.where` before.

    Attributes:
        problem: what was asked.
        stated: what the model says: `problem`, or its relaxation where the solver takes no integers.
        solver: the label of the method that made it.
        origin: the noisy values by level (in regions without weight the sums of those below), integers. Unknowns that
            are deviations have the size of the noise, and the objective has no constant: beside counts of 10^8, and a
            constant of 10^17, a solver in floating point has no digits left for a distance.
    """

    problem: Problem
    stated: Problem
    solver: str
    origin: list[np.ndarray]
    made: str
    """The fingerprint of the model as it was made."""

    def __init__(self, problem: Problem, stated: Problem, maker: Maker) -> None:
        self.problem, self.stated, self.solver, self._maker = problem, stated, repr(maker), maker
        self._built = maker.build(maker.handed_natively(stated))
        self.origin = _origin(stated)
        self.made = self.fingerprint()

    @property
    def native(self) -> Any:
        """The solver's own object; another one may be put in its place."""
        return self._built.native

    @native.setter
    def native(self, other: Any) -> None:
        self._built.native = other

    @property
    def variables(self) -> list[Any]:
        """Deviations z = x - origin by level, root first, in the solver's own type; shape (regions, K + 1) each."""
        return [self._built.block(block) for block in self._labels.unknown_blocks[: len(self.origin)]]

    @property
    def x(self) -> list[Any]:
        """The counts (or cumulative counts) by level, root first, as expressions of `native`: origin + z.

        Shape (regions of the level, K + 1). Conditions that a modeller adds by hand are stated in them.
        """
        return [y + z for y, z in zip(self.origin, self.variables, strict=True)]

    @property
    def constraints(self) -> dict[str, Any]:
        """The rows in the solver's own type, by name and level, such as "consistency[0]", to be read."""
        return ReadRows(self._built.rows_by_name())

    def fingerprint(self) -> str:
        """Give a text that tells `native` from a model with another objective, condition, bound or kind of unknown.

        To solve the model does not change it, nor do hints and starts that a modeller gives to the solver.
        """
        return self._built.fingerprint()

    @property
    def changed(self) -> bool:
        """Whether `native` states something else than when it was made."""
        return self.fingerprint() != self.made

    def optimize(self, time_limit: float | None) -> Any:
        """Solve the model with the solver that it was made for; return its result, for `read`."""
        return within(None, lambda: self._built.optimize(time_limit))

    def read(self, solved: Any) -> SolverAnswer:
        """Read the answer of the solver: deviations z of all cells, duals and bound, with its own word on it."""
        return self._read(solved, self.changed)

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
        program = self._maker.handed_natively(stated)
        if not _same_coefficients(program, self._built.program):
            raise MethodError(f"{self!r} has rows that depend on noisy values, those of choices; make a model of these")
        try:
            self._built.restate(program)
        except MethodError as error:
            raise MethodError(f"{self.solver}: {error}") from None
        self.problem, self.stated, self.origin = problem, stated, _origin(stated)
        self.made = self.fingerprint()

    def judge(self, solution: Any = None, time_limit: float | None = None) -> Result:
        """Judge a solution by pgsr's own residuals and certificate.

        Where `native` was changed after it was made, its answer is judged like any values: OPTIMAL by an exact test
        alone, else FEASIBLE or RELAXED; that the changed model has no solution is FAILED, since it says nothing of the
        problem.

        Args:
            solution: None for what `native` holds after it was solved; what the solver returned, for interfaces that
                keep nothing (MathOpt's result, CP-SAT's solver); a solved `cvxpy.Problem` that was made from `native`;
                or any values x, shape (regions, K + 1) or by level.
            time_limit: for the reason, where it was reached.

        Raises:
            MethodError: nothing was solved yet; or values have another shape, are not finite, or 2^53 or more.
        """
        if isinstance(solution, np.ndarray | Sequence | Mapping):
            return self._judged_values(solution)
        other = self._built.takes_solved(solution)
        changed = (self._built.fingerprint(solution) if other else self.fingerprint()) != self.made
        answer = self._read(solution, changed)
        if self.problem.contradiction is not None:
            return Result(Status.INFEASIBLE, self.problem.contradiction)
        if changed and answer.claim is SolverClaim.INFEASIBLE:
            return Result(Status.FAILED, f"{self.solver} says that no point satisfies the conditions, but {CHANGED}")
        if changed and answer.values is not None and np.isfinite(answer.values).all():
            z = answer.values[: self.problem.n_unknowns]
            z = _without_tolerance(z) if self.problem.integer else z
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
        """Name conditions that contradict each other and do not without any one of them (an IIS), rows and bounds.

        Raises:
            MethodError: this interface finds none, or the model has a solution.
        """
        found = self._built.contradicting()
        if found is None:
            raise MethodError(f"{self.solver} names no contradicting conditions; Gurobi() does")
        origin = np.concatenate([y.ravel() for y in self.origin])
        bounds = []
        for place, name, relation, bound in found.bounds:
            is_cell = place < len(origin)
            bounds.append(f"{f'x{name[1:]}' if is_cell else name} {relation} "
                          f"{(origin[place] if is_cell else 0) + bound + 0.0:g}")  # fmt: skip
        return found.rows + bounds

    @property
    def _labels(self) -> Labels:
        labels = self._built.program.labels
        assert labels is not None, "native models are made with names"
        return labels

    def _read(self, solved: Any, changed: bool) -> SolverAnswer:
        """Read an answer, with the problem's own unknowns and rows alone; a changed model has no duals of these."""
        try:
            answer = self._built.read(solved)
        except NotSolved:
            reason = "the model was not solved yet; solve it first, or give judge(solution)"
            raise MethodError(f"{self.solver}: {reason}") from None
        program, links = self._built.program, self._labels.n_links
        values, duals = answer.values, answer.duals
        return replace(
            answer,
            values=None if values is None else np.asarray(values, float)[: program.n - 2 * links],
            duals=None if duals is None or changed else duals[: len(program.right) - links],
            order_duals=None if changed else answer.order_duals,
        )

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
        bad = np.flatnonzero(~(np.abs(numbers) < LARGEST_NUMBER))  # NaN is below nothing
        if len(bad):
            first, sizes = int(bad[0]), self.problem.sizes
            region, size = int(sizes.region_of_cell[first]), int(sizes.size_of_cell[first])
            cell = f"{region_id(self.problem.hierarchy.paths[region])}, size {size}"
            raise MethodError(f"the solution's cell {cell} is {numbers[first]:g}; give finite numbers below 2^53")
        return numbers

    def __repr__(self) -> str:
        return f"{self.solver}.model({self.problem.label})"

    def __str__(self) -> str:
        return model_text(repr(self), self.stated, self.changed)

    def _repr_html_(self) -> str:
        return model_html(repr(self), self.stated, self.changed)


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
        other = replace(problem, cells=noisy.cells, groups=groups)
    for field in fields(Problem):
        if field.name not in ("label", "cells", "groups", "noise") and not _same(
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
        sides = ("lower", "upper", "row_lower", "row_upper", "rows", "choices")
        return all(_same(getattr(a, side), getattr(b, side)) for side in sides)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if sparse.issparse(a) and sparse.issparse(b):
        return a.shape == b.shape and abs(a - b).nnz == 0  # pyright: ignore
    if is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)


def _same_coefficients(one: SolverProgram, other: SolverProgram) -> bool:
    """Say whether two programs differ in right-hand sides and bounds alone."""
    if one.indicators is not None or other.indicators is not None or (one.n, one.m) != (other.n, other.m):
        return False
    same = ("quadratic", "linear", "integer")
    return abs(one.rows.matrix - other.rows.matrix).nnz == 0 and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in same
    )


def _origin(stated: Problem) -> list[np.ndarray]:
    """The values by level around which unknowns are deviations."""
    return list(stated.sizes.tables(with_sums(stated).cells))


class ReadRows(dict[str, Any]):
    """Rows by name, to be read: a condition that somebody put here would be solved by nobody."""

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise MethodError(
            "`constraints` is for reading; add a condition to `native` in its own interface, or state it by "
            "Problem.where, which the judge knows, too"
        )

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refused  # pyright: ignore
