"""The solve of a problem by a method that is named or given."""

from pgsr.checks import require_kind
from pgsr.front.names import method_named
from pgsr.front.own import OwnAlgorithm
from pgsr.methods.method import Method, Result
from pgsr.problems.problem import Problem


def solve(problem: Problem, method: str | Method | None = None, time_limit: float | None = None) -> Result:
    """Solve a problem by our exact algorithm, or by any method; what cannot be solved is a status with a reason.

    Args:
        problem: what is asked, such as `Problem.m_c(noisy)`.
        method: its name, such as "gurobi", "highs" or "clarabel" (`pgsr.solvers(problem)` lists them), or a value with
            options of its own, such as `pgsr.models.Gurobi(options={"Threads": 2})`. If None, our exact algorithm.
        time_limit: seconds, or None.

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
    """
    require_kind(problem, Problem, "the problem", "state one, such as Problem.m_h(noisy)")
    return chosen_method(method).solve(problem, time_limit)


def chosen_method(method: object) -> Method:
    """Find the method that is meant: by its name, itself, or our exact algorithm for None.

    Raises:
        ArgumentError: there is none.
    """
    if method is None:
        return OwnAlgorithm()
    if isinstance(method, str):
        return method_named(method)
    require_kind(method, Method, "the method", 'give a name, such as "gurobi", or a method, such as Gurobi()')
    assert isinstance(method, Method)
    return method
