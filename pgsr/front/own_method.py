"""Our exact algorithm of a problem, as one method: the one that is called "pgsr"."""

from dataclasses import dataclass

from pgsr import own_methods
from pgsr.methods.method import Method, Result, Status
from pgsr.problems.problem import Problem


@dataclass(frozen=True)
class OwnAlgorithm:
    """Solves a problem by the first exact algorithm of our catalogue that takes it as it is stated.

    Status: as of the algorithm; UNSUPPORTED where there is none.

    Example:
        >>> from pgsr.data.hierarchy import Hierarchy
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> OwnAlgorithm().of(problem)
        TreeProjection()
        >>> OwnAlgorithm().solve(problem).status.name
        'OPTIMAL'
    """

    def of(self, problem: Problem) -> Method | None:
        """Find the algorithm; None if there is none."""
        return own_methods.exact_method(problem)

    def supports(self, problem: Problem) -> str | None:
        """Give the reason why none of our algorithms solves this problem, or None."""
        return None if self.of(problem) else f"none of our exact algorithms takes {problem.label} as stated"

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        """Solve within `time_limit` seconds; without an algorithm the status is UNSUPPORTED."""
        method = self.of(problem)
        if method is None:
            return Result(Status.UNSUPPORTED, self.supports(problem) or "")
        return method.solve(problem, time_limit)
