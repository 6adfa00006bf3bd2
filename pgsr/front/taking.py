"""The methods that take a problem on this machine, and the reasons of those that do not."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pgsr import own_methods
from pgsr.checks import require_kind
from pgsr.front.names import catalogue
from pgsr.front.own import OwnAlgorithm
from pgsr.methods.method import Method
from pgsr.problems.problem import Problem

HOW = {"exact": "as it stands", "window": "by linear pieces", "rounded": "relaxed, rounded", "": ""}
"""The ways of `pgsr.models.availability.way_of` in words."""


@dataclass(frozen=True)
class SolverRow:
    """A method, and whether it takes a problem here and now.

    Attributes:
        name: what `pgsr.solve` and `pgsr.compare` call it.
        method: the value.
        how: in which way it solves the problem; "" if it does not take it.
        limit: its largest problem on this machine, of general solvers; "" if nothing is known.
        reason: why it does not take the problem, or what is missing on this machine; "" if it is ready.
        ours: whether it is an algorithm of ours, which proves its answers alone.
    """

    name: str
    method: Method
    how: str
    limit: str
    reason: str
    ours: bool

    @property
    def ready(self) -> bool:
        """Whether it takes the problem here and now."""
        return not self.reason


@dataclass(frozen=True, eq=False)
class SolverTable(Sequence[str]):
    """The methods that take a problem here and now, by name, as a sequence; printed with the reasons of all others.

    Attributes:
        problem: the problem's label.
        rows: all methods of the catalogue that solve stated problems, those that are ready first.
    """

    problem: str
    rows: tuple[SolverRow, ...]

    @property
    def ready(self) -> tuple[SolverRow, ...]:
        """The rows of the methods that are ready."""
        return tuple(row for row in self.rows if row.ready)

    def __getitem__(self, index: int | slice) -> Any:
        return [row.name for row in self.ready][index]

    def __len__(self) -> int:
        return len(self.ready)

    def __repr__(self) -> str:
        name, how = (max((len(getattr(row, of)) for row in self.rows), default=0) for of in ("name", "how"))
        lines = [f"{len(self)} of {len(self.rows)} methods take {self.problem} here:"]
        for row in self.ready:
            limit = f", up to {row.limit}" if row.limit and row.limit != "memory" else ""
            lines.append(f"  {row.name:{name}}  {row.how:{how}}  {row.method!r}{limit}")
        lines += ["others do not:"] if len(self) < len(self.rows) else []
        for row in self.rows:
            if not row.ready:
                said = f"  {row.name:{name}}  {row.reason}"
                lines.append(textwrap.fill(said, 120, subsequent_indent=" " * (name + 4), break_on_hyphens=False))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        cells = ("name", "how", "method", "largest problem", "why not")
        lines = ((row.name, row.how, repr(row.method), row.limit, row.reason) for row in self.rows)
        body = "".join(f"<tr><td>{'</td><td>'.join(map(escape, line))}</td></tr>" for line in lines)
        head = "".join(f"<th>{cell}</th>" for cell in cells)
        return f"<p>Methods for {escape(self.problem)}</p><table><tr>{head}</tr>{body}</table>"


def solvers(problem: Problem) -> SolverTable:
    """List who takes a problem here and now, and why others do not: a package, a licence, or the problem itself.

    The order is that of `pgsr.solve(problem)`: algorithms of ours, solvers of the problem in its integers, and then
    those who round a relaxation.

    A table that is iterated over gives the names of those who take it, so it may stand for the list of `pgsr.compare`.
    Solvers are not started: one whose licence or memory the problem exceeds says so when it is asked to solve it.

    Args:
        problem: what is asked.

    Raises:
        ArgumentError: it is no problem.

    Complexity: O(methods), after interfaces of solvers are imported (seconds, once).

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = pgsr.Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> table = solvers(problem)
        >>> table[:3]
        ['pgsr', 'tree_projection', 'flow']
        >>> next(row.reason for row in table.rows if row.name == "isotonic")
        'Isotonic fits every region alone; problem is another kind of problem'
    """
    require_kind(problem, Problem, "the problem", "state one, such as Problem.m_h(noisy)")
    return SolverTable(problem.label, in_order(problem, _reason))


def in_order(problem: Problem, reason_of: Callable[[Method, Problem], str]) -> tuple[SolverRow, ...]:
    """List all methods in the order of `solvers`, with what `reason_of` says against each."""
    from pgsr.models.availability import way_of

    rows, own = [], {repr(entry.method) for entry in own_methods.METHODS}
    for entry, info in catalogue():
        method = entry.method
        if isinstance(method, OwnAlgorithm):
            method = method.of(problem) or method
        if isinstance(method, Method):
            reason = reason_of(method, problem)
            if info is not None and not reason and info.limit.startswith("nothing"):
                reason = info.remedy
            limit = info.limit if info is not None else ""
            ours = entry.name == "pgsr" or repr(method) in own
            rows.append(SolverRow(entry.name, method, HOW[way_of(method, problem)], limit, reason, ours))
    return tuple(sorted(rows, key=lambda row: (not row.ready, not row.ours, row.how == HOW["rounded"])))


def _reason(method: Method, problem: Problem) -> str:
    """Say why a method does not take a problem here and now; "" if it does."""
    reason = method.supports(problem)
    missing = None if reason else getattr(method, "unavailable", lambda: None)()
    return reason or ("" if missing is None else missing.reason)
