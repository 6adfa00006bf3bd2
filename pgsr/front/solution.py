"""The solve of a problem by a method that is named or given, or by whoever takes it."""

from dataclasses import replace

from pgsr.checks import checked_limit, require_kind
from pgsr.front.candidates import in_order, solvers
from pgsr.front.names import method_named
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Method, Result, Status
from pgsr.own_methods import OwnAlgorithm
from pgsr.problems.problem import Problem

REFUSED = (Status.UNSUPPORTED, Status.UNLICENSED, Status.TOO_LARGE, Status.NOT_INSTALLED)
"""The statuses of a method that did not begin, whose reason ends with who else takes the problem."""


def solve(problem: Problem, method: str | Method | None = None, time_limit: float | None = None) -> Result:
    """Solve a problem; what cannot be solved is a status with a reason.

    Without a method our exact algorithm solves it. Where none takes the problem, installed solvers are asked in the
    order of `pgsr.solvers(problem)`, until one gives an answer that keeps all conditions or says that there is none.
    The result names its `method`, and its reason says why no algorithm of ours solved the problem.

    Args:
        problem: what is asked, such as `Problem.m_c(noisy)`.
        method: its name, such as "gurobi", "highs" or "clarabel" (`pgsr.solvers(problem)` lists them), or a value with
            options of its own, such as `pgsr.models.Gurobi(options={"Threads": 2})`. "pgsr" is our algorithm alone.
        time_limit: seconds for all who are asked together, or None.

    Raises:
        ArgumentError: no method has this name, and the message lists the near ones; or another argument is wrong.

    Complexity: that of the method.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = pgsr.Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> solve(problem).estimate.values.tolist()
        [[1, 9], [1, 5], [0, 4]]
        >>> solve(problem, "glop").certificate
        Certificate(problem: objective 2, bound 2 by exchange test, no violations)
        >>> from pgsr.problems.conditions import total
        >>> found = solve(problem.where(total(("US", "MI")) >= 6))
        >>> found.status.name, found.method, found.estimate.values.tolist()
        ('OPTIMAL', 'highs', [[1, 9], [0, 4], [1, 5]])
    """
    require_kind(problem, Problem, "the problem", "state one, such as Problem.m_h(noisy)")
    if method is not None:
        chosen = chosen_method(method)
        result = chosen.solve(problem, time_limit)
        require_kind(result, Result, f"what {chosen!r} gave", "let solve return a Result; pgsr.certify judges tables")
        reason = f"{result.reason}; {_others(problem, chosen)}" if result.status in REFUSED else result.reason
        return replace(result, reason=reason, method=method if isinstance(method, str) else repr(method))
    ours = OwnAlgorithm().of(problem)
    if ours is not None:
        return replace(ours.solve(problem, time_limit), method="pgsr")
    return _first_answer(problem, Deadline(checked_limit(time_limit)))


def _others(problem: Problem, refusing: Method) -> str:
    """Say who else takes a problem."""
    names = [row.name for row in solvers(problem).ready if row.method != refusing]
    listed = ", ".join([*names[:3], *(["..."] if names[3:] else [])]) or "nobody else"
    return f"pgsr.solvers(problem) lists who takes it here: {listed}"


def _first_answer(problem: Problem, deadline: Deadline) -> Result:
    """Ask installed solvers in their order for an answer that keeps all conditions; else keep the first one at all."""
    if problem.contradiction is not None:
        return Result(Status.INFEASIBLE, problem.contradiction)
    kept, failed = None, []
    for row in in_order(problem, lambda method, asked: method.supports(asked) or ""):  # packages are imported if asked
        if row.ours or not row.ready:
            continue
        result = replace(row.method.solve(problem, deadline.left), method=row.name)
        if result.status is Status.NOT_INSTALLED:
            continue
        if result.status in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE):
            return _explained(result, problem)
        failed.append(f"{row.name}: {result.reason or result.status.value}")
        kept = result if kept is None and result.answer is not None else kept
        if deadline.passed:
            break
    if kept is not None:
        return _explained(kept, problem)
    reason = f"no exact algorithm of pgsr takes {problem.label} as stated, and no installed solver answered"
    late = Status.TIMED_OUT if deadline.passed else Status.UNSUPPORTED
    return Result(late, "; ".join([reason, *failed]))


def _explained(result: Result, problem: Problem) -> Result:
    """Say in the reason that no algorithm of ours takes the problem."""
    said = f"no exact algorithm of pgsr takes {problem.label} as stated, {result.method} answered"
    return replace(result, reason=f"{result.reason}; {said}" if result.reason else said)


def chosen_method(method: object) -> Method:
    """Find the method that is meant: by its name, or itself.

    Raises:
        ArgumentError: there is none.
    """
    if isinstance(method, str):
        return method_named(method)
    remedy = 'give a name, such as "gurobi", or a method, such as Gurobi(); your own has supports(problem) and solve'
    require_kind(method, Method, "the method", f"{remedy}(problem, time_limit)")
    assert isinstance(method, Method)
    return method
