"""The names of methods: those of the one catalogue, in any case and with "-" or "_" between words."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pgsr import own_methods
from pgsr.errors import ArgumentError
from pgsr.methods.catalogue import Entry
from pgsr.methods.method import Method, PostProcess
from pgsr.noise.measurement import Measurement
from pgsr.own_methods import OwnAlgorithm
from pgsr.problems.problem import Problem

if TYPE_CHECKING:
    from pgsr.models.availability import SolverInfo

OURS = Entry(OwnAlgorithm(), name="pgsr")
"""Our exact algorithm of a problem, whichever it is."""

PROBLEMS: dict[str, Callable[[Measurement], Problem]] = {
    "m_h": Problem.m_h,
    "m_c": Problem.m_c,
    "naive": Problem.naive,
    "isotonic": Problem.isotonic,
    "mean_consistency": Problem.mean_consistency,
}
"""The problems of a measurement that our exact algorithms solve."""


def method_named(name: str) -> Method:
    """Find the method of stated problems that has this name.

    Raises:
        ArgumentError: none has, and the message lists the near ones; or it names an estimator or a problem.

    Example:
        >>> method_named("CP_SAT")
        CpSat()
        >>> method_named("gurobbi")
        Traceback (most recent call last):
        pgsr.errors.ArgumentError: no method is called 'gurobbi'; did you mean 'gurobi'?
    """
    found = _entry(name)
    if found is not None and isinstance(found.method, Method):
        return found.method
    stated = _key(name, PROBLEMS)
    if stated is not None:
        raise ArgumentError(f"{name!r} is a problem; state it, Problem.{stated}(noisy), and solve that")
    if found is not None:
        raise ArgumentError(f"{name!r} estimates from a measurement; call pgsr.estimate(noisy, {name!r})")
    raise _unknown(name, "method", [each.name for each, _ in catalogue() if isinstance(each.method, Method)])


def estimator_named(name: str) -> PostProcess | Callable[[Measurement], Problem]:
    """Find the estimator, or else what states the problem, that has this name.

    Raises:
        ArgumentError: neither has, and the message lists the near ones; or it names a solver.

    Example:
        >>> estimator_named("Bottom-Up")
        BottomUp()
        >>> estimator_named("M_C").__name__
        'm_c'
    """
    stated = _key(name, PROBLEMS)
    if stated is not None:
        return PROBLEMS[stated]
    found = _entry(name)
    if found is not None and isinstance(found.method, PostProcess):
        return found.method
    if found is not None:
        raise ArgumentError(
            f"{name!r} solves a stated problem; state one, such as Problem.m_h(noisy), and call "
            f"pgsr.solve(problem, {name!r})"
        )
    estimators = [each.name for each, _ in catalogue() if isinstance(each.method, PostProcess)]
    raise _unknown(name, "estimator", [*PROBLEMS, *estimators])


def catalogue() -> list[tuple[Entry, "SolverInfo | None"]]:
    """List "pgsr", the catalogue and what other packages declare, each with what is known of a solver here."""
    from pgsr.models.availability import solvers
    from pgsr.models.catalogue import all_entries

    facts = {repr(info.method): info for info in solvers()}
    known = [(entry, facts.pop(repr(entry.method), None)) for entry in (OURS, *all_entries())]
    return [*known, *((Entry(info.method), info) for info in facts.values())]


def _entry(name: str) -> Entry | None:
    """Find an entry by its name; ours first, and what other packages declare last, whose metadata takes 50 ms."""
    from pgsr.models.catalogue import SOLVERS

    wanted = _plain(name)
    for among in (lambda: (OURS, *own_methods.METHODS, *SOLVERS), lambda: [entry for entry, _ in catalogue()]):
        for entry in among():
            if _plain(entry.name) == wanted:
                return entry
    return None


def _key(name: str, among: Iterable[str]) -> str | None:
    return next((key for key in among if _plain(key) == _plain(name)), None)


def _unknown(name: str, what: str, known: Iterable[str]) -> ArgumentError:
    names = {_plain(each): each for each in known}
    near = [repr(names[each]) for each in get_close_matches(_plain(name), names, n=3, cutoff=0.7)]
    either = " or ".join(filter(None, (", ".join(near[:-1]), *near[-1:])))
    shown, more = [*names.values()][:12], len(names) - 12
    others = f" and {more} more; `python -m pgsr.models` lists solvers" if more > 0 else ""
    hint = f"did you mean {either}?" if near else f"there are {', '.join(shown)}{others}"
    return ArgumentError(f"no {what} is called {name!r}; {hint}")


def _plain(name: str) -> str:
    """Write a name without what does not count in it: case, "-", "_" and blanks."""
    return "".join(sign for sign in name.casefold() if sign not in "-_ ")
