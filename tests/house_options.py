"""The options that nobody sets: arguments with a default, of which no call outside the tests says anything.

An option is an argument with a default of a function, a method or a class, fields of a dataclass among them. It is set
where a call of that name, or of a class below it, gives it by keyword or by position, on a page or in a notebook, too;
where `replace` or `cls` names it; and where a call gives `**`, for then a file of the user's may. Fields that are
assigned later, or begin as an empty list, are state and no options. Names alone are compared: what is listed is set by
nobody, and more may be.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from parsed import ROOT, trees

CALL = re.compile(r"`([^`\n]+\([^`\n]*=[^`\n]*\))`")
"""A call that prose shows."""

INHERITED = ("find_spec",)
"""Methods whose arguments are those of Python's own protocols."""

Where = tuple[str, str]
"""A function, method or class by its name, and an argument."""


@dataclass(frozen=True)
class Option:
    """An argument with a default: the file, what has it, its name, and its place among positional arguments."""

    file: str
    owner: str
    name: str
    place: int | None

    @property
    def written(self) -> str:
        """The option as a call of it begins."""
        return f"{self.owner}({self.name}=)"


def unset_options() -> list[Option]:
    """List the options that nothing outside the tests sets, in the order of files."""
    said = _said()
    return [option for option in options() if not _is_set(option, said)]


@dataclass(frozen=True)
class _Said:
    keywords: frozenset[Where]
    """A name that is called, and a keyword."""
    places: dict[str, int]
    """A name that is called, and the most positional arguments that it gets."""
    passed_on: frozenset[str]
    """Names that are called with **."""
    anywhere: frozenset[str]
    """Keywords of `replace` and the like, whatever they are given to."""
    assigned: frozenset[str]
    """Attributes that are assigned."""
    below: dict[str, frozenset[str]]
    """The classes below a class, itself included."""


def _is_set(option: Option, said: _Said) -> bool:
    if option.name in said.anywhere or option.name in said.assigned:
        return True
    owners = said.below.get(option.owner, frozenset((option.owner,)))
    if owners & said.passed_on or any((owner, option.name) in said.keywords for owner in owners):
        return True
    return option.place is not None and any(said.places.get(owner, 0) > option.place for owner in owners)


@cache
def options() -> tuple[Option, ...]:
    return tuple(option for file, tree in trees().items() for option in _of_file(file, tree))


def _of_file(file: str, tree: ast.Module) -> Iterator[Option]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield from _of_function(file, node, node.name, 0)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _of_class(file, node)


def _of_class(file: str, node: ast.ClassDef) -> Iterator[Option]:
    own = [method for method in node.body if isinstance(method, ast.FunctionDef)]
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        place = 0
        keywords = any("kw_only=True" in ast.unparse(decorator) for decorator in node.decorator_list)
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                if "ClassVar" in ast.unparse(field.annotation) or "init=False" in ast.unparse(field):
                    continue
                if "default_factory" in ast.unparse(field):
                    place += 1
                    continue
                if field.value is not None and not field.target.id.startswith("_"):
                    yield Option(file, node.name, field.target.id, None if keywords else place)
                place += 1
    for method in own:
        owner = node.name if method.name in ("__init__", "__new__") else method.name
        if not method.name.startswith("__") or owner == node.name:
            static = any(ast.unparse(d) == "staticmethod" for d in method.decorator_list)
            yield from _of_function(file, method, owner, 0 if static else 1)


def _of_function(file: str, node: ast.FunctionDef, owner: str, bound: int) -> Iterator[Option]:
    if owner in INHERITED or owner.startswith("_") or not (node.args.defaults or node.args.kw_defaults):
        return
    if "typer." in ast.unparse(node.args) or any("app.command" in ast.unparse(d) for d in node.decorator_list):
        return  # a command line is set by whoever types it
    listed = [*node.args.posonlyargs, *node.args.args]
    first = len(listed) - len(node.args.defaults)
    for place, argument in enumerate(listed[first:], first):
        yield Option(file, owner, argument.arg, place - bound)
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            yield Option(file, owner, argument.arg, None)


@cache
def _said() -> _Said:
    found = _Calls()
    shown = [tree for text in _shown() if (tree := _parsed(text)) is not None]
    for tree in [*trees().values(), *shown]:
        found.read(tree)
    below = {name: frozenset(found.all_below(name)) for name in found.bases}
    sets = frozenset(found.keywords), found.places, frozenset(found.passed_on), frozenset(found.anywhere)
    return _Said(*sets, frozenset(found.assigned), below)


class _Calls:
    """What the calls of some trees say."""

    def __init__(self) -> None:
        self.keywords: set[Where] = set()
        self.places: dict[str, int] = {}
        self.passed_on: set[str] = set()
        self.anywhere: set[str] = set()
        self.assigned: set[str] = set()
        self.bases: dict[str, set[str]] = {}

    def read(self, tree: ast.Module) -> None:
        called_here: dict[str, set[str]] = {}
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.asname:
                        called_here.setdefault(alias.asname, set()).add(alias.name)
            if isinstance(node, ast.Assign) and (made := _partial_of(node.value)) is not None:
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        called_here.setdefault(target.id, set()).add(made)
        for node in nodes:
            for decorator in getattr(node, "decorator_list", []):
                if (name := _name(decorator)) is not None:
                    self.places[name] = max(self.places.get(name, 0), 1)
            if isinstance(node, ast.Call):
                self._call(node, called_here)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                    self.assigned.add(node.attr)
            elif isinstance(node, ast.ClassDef):
                for base in map(_name, node.bases):
                    self.bases.setdefault(base or "", set()).add(node.name)

    def all_below(self, name: str) -> set[str]:
        return {name}.union(*(self.all_below(child) for child in self.bases.get(name, set()) if child != name))

    def _call(self, node: ast.Call, called_here: dict[str, set[str]]) -> None:
        name = _name(node.func)
        for called in called_here.get(name or "", {name}):
            self._called(node, called)

    def _called(self, node: ast.Call, name: str | None) -> None:
        given = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
        if name in ("replace", "cls", "type", None) or name == "__init__":
            self.anywhere.update(given)
        if name is None:
            return
        n_given = len(node.args)
        if name == "partial" and node.args:
            name, n_given = _name(node.args[0]) or "", n_given - 1
        self.keywords.update((name, keyword) for keyword in given)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        self.places[name] = max(self.places.get(name, 0), 99 if starred else n_given)
        if any(keyword.arg is None for keyword in node.keywords):
            self.passed_on.add(name)


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return None


def _partial_of(node: ast.expr) -> str | None:
    """Find what a call of `partial` is given first."""
    if isinstance(node, ast.Call) and _name(node.func) == "partial" and node.args:
        return _name(node.args[0])
    return None


def _shown() -> Iterator[str]:
    """Yield the code of pages, of notebooks and of the examples in docstrings."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "notebooks" / "README.md"]
    for page in pages:
        yield from re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        yield from CALL.findall(page.read_text(encoding="utf-8"))
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        yield from ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        for cell in cells:
            yield from CALL.findall("".join(cell["source"]))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


if __name__ == "__main__":
    for option in unset_options():
        print(f"{option.file}: {option.written}")
