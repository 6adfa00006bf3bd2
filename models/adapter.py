"""The part that all solver models share, so that an adapter only translates a program and a solver's words."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from pgsr.checks import plain, require_kind
from pgsr.data.views import View
from pgsr.errors import MethodError, ProblemError
from pgsr.methods.gate import Deadline, GatedMethod, Stopped, Taken
from pgsr.methods.method import Result, Seconds, Status
from pgsr.models.choices import INTEGRALITY, beyond_tolerance, with_indicators
from pgsr.models.formulate import formulate
from pgsr.models.grids import on_grids
from pgsr.models.judge import SolverAnswer, SolverClaim, judged
from pgsr.models.native.model import NativeModel
from pgsr.models.native.program import program_to_state, stated_program
from pgsr.models.parts import ProgramPart, joined, parts
from pgsr.models.program import Program, ProgramKind, SolverProgram, Units, quadratic, scaled
from pgsr.models.relaxation import duals_to_start, relaxed_optimum, values_to_start
from pgsr.models.solver_object import Built
from pgsr.models.watch import Clock, Run, within
from pgsr.models.window import Pieces, magnitudes, window
from pgsr.problems.problem import Problem

BYTES_PER_UNKNOWN = 400
"""The memory of a formulated program, without what a solver adds."""

BYTES_PER_WINDOWED_UNKNOWN = 2_000
"""The memory of a program of windows, six or seven pieces per unknown."""

MOST_PROGRAMS = 60
"""The programs that a solve gives to its solver at most; windows settle after one to six as a rule."""

WHOLE = 1e-6
"""How far a vertex may be from integers, by a solver's tolerance."""

STARTING: dict[ProgramKind, str] = {
    ProgramKind.LP: 'MathOpt("PDLP")',
    ProgramKind.QP: 'MathOpt("PDLP")',
    ProgramKind.MILP: 'Gurobi(), MathOpt("GSCIP"), CpSat() or Scip()',
    ProgramKind.MIQP: 'Gurobi(), MathOpt("GSCIP") or Scip()',
}
"""Some solvers that take a start of this kind of program."""


class Squares(Enum):
    """The form in which a solver gets squares of integers; the value says it in words."""

    QUADRATIC = "squares as they stand"
    WINDOW = "squares as steps of a window"

    def __repr__(self) -> str:
        """The name as it is written in Python, for the labels of methods."""
        return f"{type(self).__name__}.{self.name}"


class Route(Enum):
    """The way in which a solver solves a problem; the value says it in words."""

    DIRECT = "as it stands"
    WINDOW = "linear pieces that are exact at integers, a sequence of linear programs"
    RELAXED = "relaxation, then every cell rounded to the nearest integer"


@dataclass(frozen=True, repr=False)
class SolverModel(GatedMethod):
    """A method that formulates the problem, lets a solver solve the program, and judges the answer.

    A new solver is one subclass, a frozen dataclass with `takes`, `unavailable` and `run`; everything that can be said
    about problems, limits and answers is said here, in `pgsr.models.judge` and, before a solve, in `pgsr.methods.gate`.
    `run` gets a `SolverProgram` and returns a `Run` with a `SolverAnswer` (its docstring has the sign of duals);
    solvers of LP and QP cannot pass without duals, which prove them. Exceptions in `run` become FAILED, `Stopped`
    becomes its own status. A solver with an interface of its own has `build` in place of `run`, by which users get
    native models, too.

    Args:
        squares: how squares of integers are handed over: Squares.WINDOW, or Squares.QUADRATIC to a solver that takes
            them as they stand; None for what is faster, which is the window.
        options: passed on to the solver under its own names, `{"Method": 2}`; they replace what is set here one by one.
        tolerance: how far the solver may leave off, relatively: of continuous programs in conditions and optimality, of
            integer programs the gap between its answer and its bound. None stands for what is set here, which our
            checks accept as a rule: 1e-9 or the solver's own, and a gap of 0.
    """

    squares: "Squares | None" = field(default=None, kw_only=True, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False, kw_only=True, repr=False)
    tolerance: float | None = field(default=None, kw_only=True, repr=False)

    conditions_taken = Taken.ALL
    cell_weights = True
    sizes_per_level = True

    needs_bounds: ClassVar[bool] = False
    """Whether all unknowns of a native model need finite bounds."""

    prefers_parts: ClassVar[bool] = False
    """Whether a program that falls apart is given part by part even where it is not too large."""

    def __post_init__(self) -> None:
        if self.squares is not None and not isinstance(self.squares, Squares):
            raise MethodError(f"squares={self.squares!r}; give Squares.WINDOW or Squares.QUADRATIC of pgsr.models")
        if self.squares is Squares.QUADRATIC and ProgramKind.MIQP not in self.takes:
            raise MethodError(f"{type(self).__name__} takes no squares of integers as they stand; leave squares= out")
        given = self.options
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise MethodError(f"options={given!r}; give a mapping from the solver's names, such as {{'eps_abs': 1e-9}}")
        near = plain(self.tolerance)
        if near is not None and (isinstance(near, bool) or not isinstance(near, float | int) or not 0 < near < 1):
            raise MethodError(f"tolerance={near!r}; give a number above 0 and below 1, such as 1e-6")

    def __repr__(self) -> str:
        """The label in tables, as it is written in Python."""
        said = [repr(getattr(self, one.name)) for one in fields(self) if one.name == "solver"]
        for one in sorted(fields(self), key=lambda one: one.kw_only is True):
            value = getattr(self, one.name)
            nothing = {} if one.name == "options" else one.default
            said += [f"{one.name}={value!r}"] if one.name != "solver" and value != nothing else []
        return f"{type(self).__name__}({', '.join(said)})"

    @property
    @abstractmethod
    def takes(self) -> frozenset[ProgramKind]:
        """The kinds of programs that the solver solves with the proof we need: an integer optimum, or duals."""

    @abstractmethod
    def unavailable(self) -> Result | None:
        """Give a result that says what to install, or None. It must not start the solver."""

    def build(self, program: SolverProgram) -> Built:
        """Make a program in the solver's own interface. It may raise `Stopped`."""
        del program
        raise MethodError(f"{self!r} has no native models; Cvxpy, Gurobi, MathOpt, CpSat and Scip have")

    def run(self, program: SolverProgram, time_limit: float | None) -> "Run":
        """Build, solve within the limit, and read the answer. It may raise `Stopped`."""
        start = time.perf_counter()
        with closing(self.build(program)) as built:
            built.compile(time_limit)
            formulated = time.perf_counter()
            left = None if time_limit is None else max(0.01, time_limit - (formulated - start))
            solved = built.optimize(left)
            spent = time.perf_counter() - formulated
            return Run(built.read(solved), formulated - start, spent)

    def model(self, problem: Problem) -> NativeModel:
        """State the problem as an object of the solver's own interface, to be read, changed and solved there.

        Raises:
            ArgumentError: `problem` is none.
            MethodError: the solver's package is missing, or it has no native model here.
            ProblemError: the solver does not take this problem, or sizes are ranked.
        """
        require_kind(problem, Problem, "the problem", "give Problem.m_h(measurement) or another constructor's")
        missing = self.unavailable()
        if missing is not None:
            raise MethodError(missing.reason)
        reason = self.supports(problem)
        if reason is not None:
            raise ProblemError(reason)
        if problem.view is View.RANKED:
            raise ProblemError(
                f"{problem.label} is about ranked sizes, whose regions have vectors of different lengths; native "
                "models are of counts or cumulative counts, and problem.write(...) states this one as a file"
            )
        kind, takes = _kind(problem), self.takes_natively
        if kind in takes:
            stated = problem
        elif (
            ProgramKind.LP if kind is ProgramKind.MILP else ProgramKind.QP
        ) in takes and ProgramKind.MILP not in takes:
            stated = problem.relaxed()
        else:
            raise ProblemError(
                f"{self!r} takes no squares of integers as they stand; take Cvxpy('CLARABEL').model(problem), which "
                "relaxes them, or Gurobi(), MathOpt('GSCIP'), CpSat() or Scip()"
            )
        try:
            return NativeModel(problem, stated, self)
        except Stopped as refused:
            raise MethodError(refused.reason) from None

    @property
    def takes_natively(self) -> frozenset[ProgramKind]:
        """The kinds of programs that `build` makes, whether the solver is good at them or not."""
        return self.takes

    @property
    def takes_indicators(self) -> bool:
        """Whether `build` makes implications, `SolverProgram.indicators`."""
        return False

    @property
    def integrality(self) -> float:
        """The distance from an integer at which the solver takes a number for one."""
        return INTEGRALITY

    def handed_natively(self, stated: Problem) -> SolverProgram:
        """Write the problem of a native model as the program that `build` gets. It may raise `Stopped`."""
        program = program_to_state(stated, self.needs_bounds)
        self._check_choices(stated, program)
        handed = stated_program(stated, program)
        return with_indicators(handed) if self.takes_indicators else handed

    def _check_choices(self, problem: Problem, program: Program) -> None:
        """Refuse choices by coefficients that the solver's tolerance of integers could cheat."""
        if not self.takes_indicators:
            reason = beyond_tolerance(repr(self), problem, program, self.integrality)
            if reason is not None:
                raise Stopped(Status.TOO_LARGE, reason)

    @property
    def name(self) -> str:
        """The solver's name in sentences."""
        return repr(self).removesuffix("()")

    def too_large(self, program: SolverProgram) -> str | None:
        """Say why this program exceeds the solver's licence or our way to build it, or None; asked before a solve."""
        del program
        return None

    def supports(self, problem: Problem) -> str | None:
        """Give the reason why this solver does not solve this problem, or None."""
        if problem.view is View.RANKED and not problem.integer:
            return "estimates of ranked sizes are counts of groups, so integers; state the problem without .relaxed()"
        chosen = None if problem.conditions is None else problem.conditions.choices
        if chosen is not None and not (problem.integer and self._takes_choices(problem)):
            return (
                f"{chosen.names[0]} is a choice between conditions, which is stated in integers alone and for solvers "
                "that take them, such as Gurobi(), MathOpt('GSCIP'), CpSat(), Scip() or Scipy()"
            )
        if self.route(problem) is None:
            kind = _kind(problem)
            can = ", ".join(k.name for k in ProgramKind if k in self.takes)
            return f"{problem.label} is {kind.with_article} ({kind.name}); {self!r} takes {can}"
        return None

    def _takes_choices(self, problem: Problem) -> bool:
        """Whether integers stay integers on the way on which this solver solves the problem."""
        return self.route(problem) is Route.DIRECT or ProgramKind.MILP in self.takes

    def route(self, problem: Problem) -> Route | None:
        """Choose how this solver solves the problem; None if it cannot."""
        kind = _kind(problem)
        if kind is ProgramKind.MIQP and ProgramKind.MILP in self.takes and self.squares is not Squares.QUADRATIC:
            return Route.WINDOW
        if kind in self.takes:
            return Route.DIRECT
        if kind is ProgramKind.MILP and ProgramKind.LP in self.takes and self.finds_vertices:
            return Route.WINDOW
        if kind.integer and (ProgramKind.LP if kind is ProgramKind.MILP else ProgramKind.QP) in self.takes:
            return Route.RELAXED
        if kind is ProgramKind.MIQP and ProgramKind.LP in self.takes:
            return Route.WINDOW
        return None

    def bytes_needed(self, problem: Problem) -> int:
        size = BYTES_PER_WINDOWED_UNKNOWN if self.route(problem) is Route.WINDOW else BYTES_PER_UNKNOWN
        return size * problem.n_unknowns

    @property
    def starts(self) -> frozenset[ProgramKind]:
        """The kinds of programs that the solver solves from values that it is given, `SolverProgram.start`."""
        return frozenset()

    def no_start(self, problem: Problem) -> str | None:
        """Give the reason why this solver cannot start from the result of another solve, or None if it can."""
        kind = self._kind_handed_over(problem)
        if kind is None or kind in self.starts:
            return None
        return (
            f"{self!r} takes no start of {kind.with_article} ({kind.name}); leave warm_start= out, or take "
            f"{STARTING[kind]}"
        )

    def _kind_handed_over(self, problem: Problem) -> ProgramKind | None:
        """The kind of program that the solver gets in the end, after relaxing or steps."""
        route, kind = self.route(problem), _kind(problem)
        if route is Route.WINDOW:
            return ProgramKind.MILP if ProgramKind.MILP in self.takes else ProgramKind.LP
        if route is Route.RELAXED:
            return ProgramKind.LP if kind is ProgramKind.MILP else ProgramKind.QP
        return None if route is None else kind

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        return self._answered(problem, deadline, None)

    def answer_from(self, problem: Problem, deadline: Deadline, start: Result) -> Result:
        return self._answered(problem, deadline, start)

    def _answered(self, problem: Problem, deadline: Deadline, start: Result | None) -> Result:
        route = self.route(problem)
        assert route is not None
        before = deadline.spent
        program = formulate(problem if route is not Route.RELAXED else problem.relaxed())
        self._check_choices(problem, program)
        values = None if start is None else values_to_start(problem, program, start)
        clock = Clock(deadline, Seconds(formulate=deadline.spent - before))
        try:
            if route is Route.WINDOW or program.norm == 1:
                answer = self._in_pieces(problem, program, values, clock, start)
            elif self._on_grids_alone(program):
                answer = on_grids(program, lambda pieces: self._settled(pieces, False, None, None, clock))
            else:
                duals = None if start is None or program.integer else duals_to_start(program, problem, start)
                clock.handed("quadratic program", program.n, False)
                answer = self._once(replace(quadratic(program, values), start_duals=duals), clock)
        except Stopped as refused:
            return Result(refused.status, refused.reason, seconds=clock.seconds, form=clock.form)
        before = deadline.spent
        if program.integer and self.tolerance is not None and answer.claim is SolverClaim.OPTIMAL:
            answer = replace(answer, claim=SolverClaim.NEAR)
        result = judged(self.name, problem, program, answer, deadline.limit, deadline.left)
        return replace(result, seconds=replace(clock.seconds, round=deadline.spent - before), form=clock.form)

    def _once(self, program: SolverProgram, clock: "Clock", exact: bool = False) -> SolverAnswer:
        """Solve a program, part by part where that helps; it is not scaled where vertices shall be `exact` integers."""
        apart = self.prefers_parts and len(program.order_right) > 0  # without order, a call costs more than the part
        apart = apart or self.too_large(program) is not None
        found: list[tuple[ProgramPart, SolverAnswer]] = []
        for part in parts(program, apart):
            if clock.expired:
                return SolverAnswer(SolverClaim.STOPPED, "no time was left for its next program")
            answer = self._called(part.program, clock, exact)
            found.append((part, answer))
            if answer.values is None:
                return replace(answer, duals=None, order_duals=None, bound=None)
        return joined(program, found)

    def _called(self, program: SolverProgram, clock: "Clock", exact: bool) -> SolverAnswer:
        """Call the solver once."""
        program = with_indicators(program) if self.takes_indicators else program
        reason = self.too_large(program)
        if reason is not None:
            raise Stopped(Status.TOO_LARGE, reason)
        handed, units = (program, Units()) if program.is_integer or exact else scaled(program)
        try:
            left, before = clock.left, clock.deadline.spent
            run = within(left, lambda: self.run(handed, left))
        except Stopped:
            raise
        except Exception as error:  # whatever a solver's interface throws; its name tells which
            lines = str(error).splitlines() or [""]
            what = f"{self.name} stopped with an error: {type(error).__name__}: {lines[0]}"
            raise Stopped(Status.FAILED, what) from error
        if run is None and left is not None and clock.deadline.spent - before >= left:
            clock.add(Run(SolverAnswer(SolverClaim.STOPPED), 0.0, clock.deadline.spent - before))
            return SolverAnswer(SolverClaim.STOPPED, "it does not stop, and is still running in this process")
        if not isinstance(run, Run) or not isinstance(run.answer, SolverAnswer):
            raise Stopped(Status.FAILED, f"{self.name}: {_not_a_run(run)}")
        clock.add(run)
        return _checked(self.name, run.answer, program, units)

    def _in_pieces(
        self, problem: Problem, program: Program, values: np.ndarray | None, clock: "Clock", start: Result | None
    ) -> SolverAnswer:
        """Solve the program in linear pieces.

        Windows move until the solution lies within them, and integers are declared where vertices are not whole.

        Returns:
            The last answer of the sequence, in cells. No piece costs more than its square, so bounds hold for squares.
        """
        before = clock.deadline.spent
        if program.norm == 1:
            pieces = magnitudes(program)
        else:
            deadline = clock.deadline
            around = values if values is not None else within(None, lambda: relaxed_optimum(problem, program, deadline))
            pieces = window(program, around)
        duals = None if start is None or program.integer else duals_to_start(program, problem, start)
        clock.add(Run(SolverAnswer(SolverClaim.STOPPED), clock.deadline.spent - before, 0.0))
        integers = program.integer and not self._linear_first(problem, values is not None)
        return self._settled(pieces, integers, values, duals, clock)

    def _on_grids_alone(self, program: Program) -> bool:
        """Whether squares in real numbers are more than a licence takes, which linear programs need not be."""
        squares = program.norm == 2 and not program.integer and program.weight.any()
        return bool(squares and self.finds_vertices and self.too_large(quadratic(program)) is not None)

    def _settled(
        self,
        pieces: Pieces,
        integers: bool,
        values: np.ndarray | None,
        duals: tuple[np.ndarray, np.ndarray] | None,
        clock: "Clock",
    ) -> SolverAnswer:
        """Solve pieces, and move the windows until the solution lies within them."""
        program = pieces.program
        last: SolverAnswer | None = None
        while True:
            before = clock.deadline.spent
            handed = _with_duals(self.in_pieces(pieces, integers, values), program, duals)
            clock.add(Run(SolverAnswer(SolverClaim.STOPPED), clock.deadline.spent - before, 0.0))
            clock.handed("magnitudes" if program.norm == 1 else "window", handed.n, integers)
            found = self._once(handed, clock, exact=program.integer)
            outside, answer = _of_cells(pieces, handed, found)
            if last is not None:
                answer = _after(answer, last, program.integer)
            if found.claim is not SolverClaim.OPTIMAL or answer.values is None or found.values is None:
                return answer
            last = answer
            whole = not program.integer or _are_whole(answer.values)
            if outside and clock.programs >= MOST_PROGRAMS:
                return replace(answer, claim=SolverClaim.STOPPED, note="windows still move")
            if outside:
                pieces = pieces.moved(answer.values)
            elif integers or whole or ProgramKind.MILP not in self.takes:
                return answer
            else:
                integers = True
            if clock.expired:
                return replace(answer, claim=SolverClaim.STOPPED, values=answer.values if whole else None)
            values = answer.values if whole else values

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        """Choose how linear pieces are handed over: as columns, or as bends of an unknown's cost."""
        return pieces.columns(integers, start)

    def _linear_first(self, problem: Problem, started: bool) -> bool:
        """Whether a linear program is tried before integers are declared.

        Choices are no choices without integers, and a start is one of the search for integers.
        """
        choosing = problem.conditions is not None and problem.conditions.choices is not None
        return self.finds_whole(problem) and not choosing and not (started and ProgramKind.MILP in self.starts)

    @property
    def finds_vertices(self) -> bool:
        """Whether solutions of linear programs are vertices, which are whole where the matrix is a network."""
        return ProgramKind.LP in self.takes

    def finds_whole(self, problem: Problem) -> bool:
        """Say whether solutions are likely to be whole without declared integers."""
        del problem
        return self.finds_vertices


def _not_a_run(given: object) -> str:
    """Make the answer to an adapter that returned something else than a `Run`, for the author of a new solver."""
    what = given.answer if isinstance(given, Run) else given
    where = "Run.answer" if isinstance(given, Run) else "run"
    return (
        f"{where} is of type {type(what).__name__}; let run return Run(SolverAnswer(SolverClaim.OPTIMAL, values=v), "
        "seconds to formulate, seconds to solve), of pgsr.models.adapter and pgsr.models.judge"
    )


def _checked(name: str, answer: SolverAnswer, program: SolverProgram, units: Units) -> SolverAnswer:
    """The answer in the program's own units, if its arrays have the right shapes."""
    shapes = (
        (answer.values, program.n),
        (answer.duals, len(program.right)),
        (answer.order_duals, len(program.order_right)),
    )
    for array, n in shapes:
        if array is not None and np.shape(array) != (n,):
            raise Stopped(Status.FAILED, f"{name} returned {np.shape(array)} numbers instead of ({n},)")
    times = lambda array, factor: None if array is None else np.asarray(array, float) * factor  # noqa: E731
    return replace(
        answer,
        values=times(answer.values, units.values),
        duals=times(answer.duals, units.duals),
        order_duals=times(answer.order_duals, units.duals),
        bound=None if answer.bound is None else answer.bound * units.objective + program.constant,
    )


def _kind(problem: Problem) -> ProgramKind:
    if problem.norm == 1:
        return ProgramKind.MILP if problem.integer else ProgramKind.LP
    return ProgramKind.MIQP if problem.integer else ProgramKind.QP


def _are_whole(z: np.ndarray) -> bool:
    """Say whether all numbers are integers up to a solver's tolerance."""
    return bool((np.abs(z - np.rint(z)) <= WHOLE).all())


def _with_duals(handed: SolverProgram, program: Program, duals: tuple[np.ndarray, np.ndarray] | None) -> SolverProgram:
    """Add duals to start from; those of rows that link cells to pieces leave no slope in a cell."""
    if duals is None:
        return handed
    slope = program.matrix.T @ duals[0] + program.order.T @ duals[1]
    n_links = len(handed.right) - len(program.right)
    return replace(handed, start_duals=(np.append(duals[0], -slope[program.weight > 0][:n_links]), duals[1]))


def _of_cells(pieces: Pieces, handed: SolverProgram, answer: SolverAnswer) -> tuple[bool, SolverAnswer]:
    """Say whether a solution lies outside the windows, and write it in cells, with duals of the program's own rows."""
    cut = lambda duals, right: None if duals is None else duals[: len(right)]  # noqa: E731
    program, v = pieces.program, answer.values
    duals = cut(answer.duals, program.right), cut(answer.order_duals, program.order_right)
    answer = replace(answer, duals=duals[0], order_duals=duals[1])
    if v is None or not np.isfinite(v).all():
        return False, answer
    z = v[: program.n] if handed.cells_first else pieces.cells(v)
    outside = pieces.are_left(z) if handed.cells_first else pieces.outside(v)
    return outside, replace(answer, values=z)


def _after(answer: SolverAnswer, last: SolverAnswer, integer: bool) -> SolverAnswer:
    """Keep what an earlier program of the sequence showed: duals where this one has none, values where it has none."""
    if answer.duals is None and last.duals is not None:
        answer = replace(answer, duals=last.duals, order_duals=last.order_duals)
    left_off = answer.values is None and answer.claim is SolverClaim.STOPPED and last.values is not None
    if left_off and (not integer or _are_whole(np.asarray(last.values))):
        return replace(last, claim=SolverClaim.STOPPED)
    return answer
