"""Methods side by side, by their names: on one problem, or on one measurement."""

from collections.abc import Iterable
from typing import Any

from pgsr.checks import require_kind
from pgsr.comparison import side_by_side
from pgsr.comparison.side_by_side import Arm
from pgsr.comparison.table import Comparison
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError
from pgsr.front.estimation import chosen_estimator
from pgsr.front.judgement import Outside, read_answer
from pgsr.front.solution import chosen_method
from pgsr.methods.method import Method, PostProcess
from pgsr.noise.measurement import Measurement
from pgsr.own_methods import OwnAlgorithm
from pgsr.privacy.budget import Number
from pgsr.problems.problem import Problem


def compare(
    problem: Problem | Measurement,
    methods: Iterable[str | Problem | Arm | tuple[str, Problem | Measurement, str]],
    time_limit: float | None = 60,
    truth: CountOfCounts | None = None,
    progress: bool = True,
    epsilon: Number | None = None,
    isolate: bool = True,
) -> Comparison:
    """Compare methods in another process, under one time limit; all answers are judged alike, by us.

    Args:
        problem: what is solved; or a measurement, from which estimators and the problems about it start.
        methods: of a problem, names of methods ("pgsr", "gurobi", "highs") or methods; `pgsr.solvers(problem)`, too;
            and answers that were made elsewhere, as `pgsr.certify` takes them. Of a measurement, names of estimators
            and problems ("matching", "m_c"), estimators, or problems stated of it.
        time_limit: seconds per method, after its imports and compilation; None for no limit.
        truth: for errors by level. They are private.
        progress: whether to show a progress bar.
        epsilon: what the measurement spent; with a truth, errors are also shown as so many times a lower bound.
        isolate: whether methods run in a worker, a process that stays for the next comparison. One that dies, is late
            or runs out of memory is replaced. If not, they run here, where a debugger sees them and nothing stops them.

    Raises:
        ArgumentError: nothing has a name, and the message lists the near ones; or another argument is wrong.
        ProblemError: a problem is of another view than was measured.

    Complexity: the sum of those of the methods.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> truth = pgsr.CountOfCounts(tree, [[0, 900, 400, 90], [0, 800, 300, 110]])
        >>> noisy = pgsr.measure(truth, "cumulative", epsilon=1, seed="demo")
        >>> table = compare(pgsr.Problem.m_c(noisy), ["pgsr", "highs"], truth=truth, progress=False)
        >>> [(row.method, row.status.name) for row in table.rows]
        [('pgsr', 'OPTIMAL'), ('highs', 'OPTIMAL')]
    """
    remedy = "state one, such as Problem.m_h(noisy), or give what pgsr.measure returns"
    require_kind(problem, (Problem, Measurement), "the problem", remedy)
    if isinstance(methods, str | Method | PostProcess | Problem) or not isinstance(methods, Iterable):
        raise ArgumentError(f'methods is {methods!r}; give a list, such as ["pgsr", "gurobi"]')
    arms = [_arm(problem, given) for given in methods]
    return side_by_side.compare(problem, arms, time_limit, truth, progress, epsilon, isolate)


def _arm(target: Problem | Measurement, given: Any) -> Arm:
    """Make the arm that a name or a value stands for; what is wrong with other values is said by who runs them."""
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], Problem | Measurement):
        label, about, meant = given
        if isinstance(meant, str):
            return (label, *_on(about, meant))
        return (label, about, _outside(about, meant, label)) if _is_outside(about, meant) else given  # pyright: ignore[reportReturnType]
    if isinstance(given, Problem):
        return (given.label, *_on(given, "pgsr"))
    if isinstance(given, str):
        return (given, *_on(target, given))
    if _is_outside(target, given) and not isinstance(given, tuple):
        label = f"your {type(given).__module__.partition('.')[0]} {type(given).__name__}"
        return (label, target, _outside(target, given, label))
    return given


def _is_outside(target: Problem | Measurement, given: Any) -> bool:
    """Say whether it is an answer, not what makes one; a frame has an `apply`, a CVXPY model a `solve` of its own."""
    solved = hasattr(given, "to_numpy") or type(given).__module__.partition(".")[0] in ("cvxpy", "gurobipy")
    makes = isinstance(given, Method | PostProcess | type) or callable(given) or hasattr(given, "solve")
    return isinstance(target, Problem) and (solved or not makes)


def _outside(target: Problem | Measurement, answer: Any, label: str) -> Outside:
    assert isinstance(target, Problem)
    return Outside(read_answer(target, answer), label)


def _on(target: Problem | Measurement, name: str) -> tuple[Problem | Measurement, Method | PostProcess]:
    """Find what a name stands for on a problem or a measurement: what is solved or estimated from, and by which."""
    if isinstance(target, Measurement):
        post, stated = chosen_estimator(name)
        return (target if stated is None else stated(target)), post
    method = chosen_method(name)
    own = method.of(target) if isinstance(method, OwnAlgorithm) else None  # a worker imports less for it
    return target, own or method
