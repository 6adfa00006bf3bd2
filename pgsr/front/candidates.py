"""The methods that take a problem on this machine, and the reasons of those that do not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import shorten
from typing import Any

from pgsr import own_methods
from pgsr.checks import require_kind
from pgsr.figures.numbers_table import NumbersTable
from pgsr.front.names import catalogue
from pgsr.machine.extras import installed_version
from pgsr.methods.catalogue import Proof
from pgsr.methods.method import Method
from pgsr.own_methods import OwnAlgorithm
from pgsr.problems.problem import Problem

HOW = {"exact": "as it stands", "window": "by linear pieces", "rounded": "relaxed, rounded", "": ""}
"""The ways of `pgsr.models.availability.way` in words."""


@dataclass(frozen=True)
class SolverRow:
    """A method, and whether it takes a problem here and now.

    Attributes:
        name: what `pgsr.solve` and `pgsr.compare` call it.
        method: the value.
        how: in which way it solves the problem; "" if it does not take it.
        proves: what is proved of its answers, by us.
        licence, version: of the package that solves.
        reason: why it does not take the problem, or what is missing on this machine; "" if it is ready.
        ours: whether it is an algorithm of ours, which proves its answers alone.
    """

    name: str
    method: Method
    how: str
    proves: str
    licence: str
    version: str
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
        others = [row for row in self.rows if not row.ready]
        reasons = ("  " + shorten(f"{row.name}: {row.reason}", 110, placeholder=" ...") for row in others)
        return "\n".join([str(self._ready_table), *([f"{len(others)} others do not:"] if others else []), *reasons])

    def _repr_html_(self) -> str:
        others = [f"<li>{escape(row.name)}: {escape(row.reason)}</li>" for row in self.rows if not row.ready]
        folded = f"<details><summary>{len(others)} others do not</summary><ul>{''.join(others)}</ul></details>"
        return self._ready_table.html + folded * bool(others)

    @property
    def _ready_table(self) -> NumbersTable:
        rows = [(row.name, [row.how, row.proves, row.licence, row.version]) for row in self.ready]
        return NumbersTable(f"{len(self)} take {self.problem} here", ("how", "proves", "licence", "version"), rows, {})


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
    from pgsr.models.availability import way

    own = {repr(entry.method): entry.answer for entry in own_methods.METHODS}
    mine, rows = ("Apache 2.0", installed_version()), []
    for entry, info in catalogue():
        method = entry.method.of(problem) or entry.method if isinstance(entry.method, OwnAlgorithm) else entry.method
        if isinstance(method, Method):
            reason, how = reason_of(method, problem), HOW[way(method, problem)]
            if info is not None and not reason and info.limit.startswith("nothing"):
                reason = info.remedy
            about = (info.licence, info.version) if info is not None else mine
            ours = entry.name == "pgsr" or repr(method) in own
            proves = _proves(own.get(repr(method), entry.answer), how)
            rows.append(SolverRow(entry.name, method, how, proves, *about, reason, ours))
    return tuple(sorted(rows, key=lambda row: (not row.ready, not row.ours, row.how == HOW["rounded"])))


def _proves(answer: Proof, how: str) -> str:
    """Say what is proved of a method's answers, where it takes the problem."""
    return "" if not how else "a bound" if how == HOW["rounded"] else answer.value


def _reason(method: Method, problem: Problem) -> str:
    """Say why a method does not take a problem here and now; "" if it does."""
    reason = method.supports(problem)
    missing = None if reason else getattr(method, "unavailable", lambda: None)()
    return reason or ("" if missing is None else missing.reason)
