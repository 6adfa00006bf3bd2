"""The tables of docs/model/methods.md: what the catalogue of methods says, and what each method says of itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from pgsr import Problem, View
from pgsr.methods import toys
from pgsr.methods.catalogue import Entry, Use
from pgsr.methods.gate import Taken
from pgsr.methods.method import Method
from pgsr.models.adapter import SolverModel
from pgsr.models.availability import SolverInfo, name_of, solvers, way
from pgsr.models.catalogue import all_entries
from pgsr.problems.conditions import cells, either


def method_tables() -> Iterator[tuple[str, str]]:
    """Write the tables, each with the name by which the page quotes it."""
    entries = [entry for entry in all_entries() if Use.PAGE in entry.uses]
    general = [entry for entry in entries if isinstance(entry.method, SolverModel)]
    exact = [entry for entry in entries if isinstance(entry.method, Method) and entry not in general]
    releases = [entry for entry in entries if entry not in general and entry not in exact]
    known = {repr(info.method): info for info in solvers()}
    columns = ("name", "what it does", "solves", "answer", "needs")
    yield "methods.exact", _written(columns, (_exact(entry, known) for entry in exact))
    columns = ("name", "what it does", "mechanism of a release", "needs")
    yield "methods.releases", _written(columns, (_release(entry, known) for entry in releases))
    columns = ("names", "solve as stated", "solve by rounding")
    yield "methods.solvers", _written(columns, _solvers(general))
    columns = ("solver", "proves optima of", "rounds those of", "licence")
    yield "methods.first", _written(columns, (_own(exact), *_first(general, known)))


def _exact(entry: Entry, known: Mapping[str, SolverInfo]) -> Sequence[str]:
    """Make the row of a method that solves stated problems without a general solver."""
    taken = getattr(entry.method, "conditions_taken", Taken.NONE)
    stated, rounded = _problems(entry.method, CHOSEN if taken is Taken.CHOICES else ASKED)
    solves = f"{stated}; with {taken.value}" if taken is not Taken.NONE else stated
    answer = f"{entry.answer.value}; {rounded}: rounded" if rounded else entry.answer.value
    words = entry.words.partition(": ")[0]
    return _name(entry), *map(_escaped, (words, solves, answer, _needs(entry, known)))


def _release(entry: Entry, known: Mapping[str, SolverInfo]) -> Sequence[str]:
    named = f"`{entry.release}`" if entry.release else ""
    return _name(entry), _escaped(entry.words.partition(": ")[0]), named, _escaped(_needs(entry, known))


def _solvers(entries: Iterable[Entry]) -> Iterator[Sequence[str]]:
    """Make a row for the models that solve the same problems in the same way."""
    rows = [(_problems(entry.method), entry) for entry in entries]
    rows.sort(key=lambda row: row[0])
    for (stated, rounded), alike in groupby(rows, key=lambda row: row[0]):
        yield ", ".join(f"`{entry.name}`" for _, entry in alike), _escaped(stated), _escaped(rounded)


def _own(exact: Iterable[Entry]) -> Sequence[str]:
    """Make the row of what some algorithm of pgsr itself solves, without a solver package."""
    own = [entry.method for entry in exact if not entry.needs and isinstance(entry.method, Method)]
    solved = [name_of(problem) for problem in ASKED if any(way(method, problem) == "exact" for method in own)]
    return "`pgsr`, its own", _escaped(_in_words(solved)), "", OWN


OWN = "Apache 2.0"
"""The licence of pgsr."""


def _first(general: Iterable[Entry], known: Mapping[str, SolverInfo]) -> Iterator[Sequence[str]]:
    """Make the rows of README's table: the solvers that come with pgsr, alike in what they prove and in licence."""
    of = {entry.name: entry for entry in general}
    rows = [(name, _problems(of[name].method), known[repr(of[name].method)]) for name in FIRST]
    for (stated, rounded, licence), alike in groupby(rows, lambda row: (*row[1], row[2].licence.partition(",")[0])):
        yield ", ".join(f"`{name}`" for name, *_ in alike), _escaped(stated), _escaped(rounded), licence


FIRST = ("gurobi", "highs", "cp-sat", "scip", "glop", "clarabel", "osqp", "pdlp", "piqp")
"""The solvers of README's table, those alike side by side."""


def _problems(method: object, asked: Sequence[Problem] | None = None) -> tuple[str, str]:
    """Say which of some problems a method solves as stated, and which by rounding the optimum of the relaxation."""
    assert isinstance(method, Method)
    how = {name_of(problem): way(method, problem) for problem in (ASKED if asked is None else asked)}
    stated, rounded = ([name for name, of in how.items() if of in ways] for ways in (("exact", "window"), ("rounded",)))
    return _in_words(stated), _in_words(rounded)


def _in_words(names: Sequence[str]) -> str:
    """List problems, with a word for a whole kind of them, and once what differs in public totals alone."""
    said, left = [], list(names)
    for words, kind in KINDS.items():
        if set(kind) <= set(left):
            said.append(words)
            left = [name for name in left if name not in kind]
    totals: dict[str, list[str]] = {}
    for label, _, whose in (name.partition(", ") for name in left):
        totals.setdefault(label, []).append(whose)
    said += [f"{label}, {' or '.join(whose)}" if any(whose) else label for label, whose in totals.items()]
    return "; ".join(said)


def _name(entry: Entry) -> str:
    return f"[{_escaped(entry.name)}](../{entry.page})" if entry.page else f"`{entry.name}`"


def _needs(entry: Entry, known: Mapping[str, SolverInfo]) -> str:
    """Name the packages that a method needs besides those of pgsr."""
    info = known.get(repr(entry.method))
    return entry.needs if info is None else ", ".join(dict.fromkeys(filter(None, (info.through, info.package))))


def _escaped(words: str) -> str:
    """Keep what stands between backticks, and have Markdown read the rest as plain text."""
    return "`".join(part if i % 2 else part.translate(_SPECIAL) for i, part in enumerate(words.split("`")))


_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\*_[]|#<>"})


def _written(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *rows))


# Ranked sizes in reals are left out: their estimates are counts, so nobody takes them.
ASKED = [p for p in toys.problems() if p.conditions is None and (p.integer or p.view is not View.RANKED)]


def _with_a_choice(problem: Problem) -> Problem:
    """State a choice of the lowest regions besides, under the same label."""
    lowest = problem.hierarchy.n_levels - 1
    choice = either(cells(level=lowest, size=1) == 0, cells(level=lowest, size=1) >= 2)
    return replace(problem.where(cells(level=lowest) <= 9, choice), label=problem.label)


CHOSEN = [_with_a_choice(p) for p in ASKED if p.view is not View.RANKED and p.nonnegative]

KINDS = {
    "every problem in integers": [name_of(p) for p in ASKED if p.integer],
    "every relaxation": [name_of(p) for p in ASKED if not p.integer],
    "every relaxation of squares": [name_of(p) for p in ASKED if not p.integer and p.norm == 2],
    "every relaxation of absolute values": [name_of(p) for p in ASKED if not p.integer and p.norm == 1],
    "every problem of squares in integers": [name_of(p) for p in ASKED if p.integer and p.norm == 2],
    "every problem of absolute values in integers": [name_of(p) for p in ASKED if p.integer and p.norm == 1],
}
"""The names of the problems of a kind, by the words for it, the largest kinds first."""
