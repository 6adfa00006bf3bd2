"""The digest of the code behind a result. It changes when numbers may change, and not with comments or docstrings.

It covers of the experiment's own file what its `Experiment(...)` reaches, words, printed numbers, `plot` and `verdicts`
apart, and every file of pgsr, models and experiments included, that this imports, at any depth: with the packages that
lie on the way, and imports inside functions, but not what only draws. Comments, docstrings, layout and imports for type
checkers do not count. Editing a figure therefore leaves results fresh, as does a package that the experiment does not
use; editing an arm does not. Not covered: versions of libraries, which every result lists, and the data files.
"""

import ast
import hashlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING

import pgsr

if TYPE_CHECKING:
    from pgsr.experiments.engine.experiment import Experiment

ROOT = Path(pgsr.__file__).resolve().parents[1]
LOOKS = ("title", "question", "paper", "part", "printed", "plot", "verdicts")
"""Arguments of `Experiment` that cannot change a record."""
DRAWING = (
    *(f"figures.{file}" for file in ("drawing", "html", "notebook_figure", "region_figure")),
    *(f"comparison.{file}" for file in ("figure", "findings", "items", "overlay", "page", "profile", "runs", "solvers",
                                        "strips", "tables", "wording")),
)  # fmt: skip
"""Modules of pgsr that only show what others computed."""

_PARSING = threading.Lock()  # Python 3.11 counts the parser's depth once for all threads (SystemError)


def code_digest(experiment: "Experiment") -> str:
    """Compute the digest of an experiment's code, 16 hexadecimal digits."""
    owner = experiment.owner
    return _digest(owner.plot.__module__, owner.id)


@lru_cache
def _digest(module: str, identity: str) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(covered(module, identity).items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def covered(module: str, identity: str) -> dict[str, str]:
    """Collect the modules behind the experiment of this id, each with what counts of its text."""
    path = _file(module)
    if path is None:
        return {}
    body = _reached(_parsed(path).body, identity)
    texts = {module: ast.unparse(ast.Module(body, []))}
    waiting = sorted(_imported(module, path, body))
    seen = {f"pgsr.{drawing}" for drawing in DRAWING} | {module}
    while waiting:
        name = waiting.pop()
        found = None if name in seen else _source(name)
        seen.add(name)
        if found is not None:
            texts[name], imported = _whole(name, found)
            waiting += imported
    return texts


@lru_cache(None)
def _whole(module: str, path: Path) -> tuple[str, set[str]]:
    """Collect the text of a file that counts, and the modules that it may import."""
    body = _parsed(path).body
    return ast.unparse(ast.Module(body, [])), _imported(module, path, body)


def _imported(module: str, path: Path, body: list[ast.stmt]) -> set[str]:
    """Collect the names that statements of a module import, and the packages that contain them."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    names: list[str] = []
    lazy = [each for each in body if "__getattr__" in _defined(each)]
    if module == "pgsr" and (path.parent / "front").is_dir():  # called lazily; experiments import rooms themselves
        body, lazy = [each for each in body if each not in lazy], []
    if path.name == "__init__.py" and any(not _says_what_it_imports(each) for each in lazy):
        # Names come from anywhere in the package, so all of it counts.
        below = [each.relative_to(path.parent).with_suffix("").parts for each in path.parent.rglob("*.py")]
        names += [".".join((*package, *parts)).removesuffix(".__init__") for parts in below]
    for node in _statements(body):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package that the module lies in, or is; two are the one above.
            above = package[: len(package) + 1 - node.level] if node.level else []
            names += [".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names]
    return {part for name in names for part in accumulate(name.split("."), "{}.{}".format)}


def _says_what_it_imports(lazy: ast.stmt) -> bool:
    """Say whether a `__getattr__` of a module names what it imports, in statements of its own."""
    return isinstance(lazy, ast.FunctionDef) and any(isinstance(node, ast.ImportFrom) for node in ast.walk(lazy))


def _reached(body: list[ast.stmt], identity: str) -> list[ast.stmt]:
    """Collect the top-level statements that the experiment of this id needs; all, if it is not written out here."""
    calls = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Call) and _is_id(node, identity)]
    if len(calls) != 1:
        return body
    calls[0].keywords = [keyword for keyword in calls[0].keywords if keyword.arg not in LOOKS]
    wanted = [statement for statement in body if not _defined(statement) or calls[0] in ast.walk(statement)]
    known = {id(statement) for statement in wanted}
    for statement in wanted:  # the list grows during the loop
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        for other in body:
            if id(other) not in known and names & _defined(other):
                known.add(id(other))
                wanted.append(other)
    return [statement for statement in body if id(statement) in known]


def _is_id(call: ast.Call, identity: str) -> bool:
    return (
        isinstance(call.func, ast.Name)
        and call.func.id == "Experiment"
        and any(
            k.arg == "id" and isinstance(k.value, ast.Constant) and k.value.value == identity for k in call.keywords
        )
    )


def _defined(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    return set()


def _source(module: str) -> Path | None:
    """Find the source of a module of ours, by its place; None for names inside a module, and for other packages."""
    if module.partition(".")[0] != "pgsr":
        return None
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _file(module: str) -> Path | None:
    """Find the source of an experiment's module, which need not be ours; None for notebooks."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return Path(origin) if (origin := getattr(loaded, "__file__", None)) else None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _parsed(path: Path) -> ast.Module:
    """Parse a file without its comments, docstrings and imports for type checkers."""
    with _PARSING:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in chain([tree], _statements(tree.body)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            # A string that stands alone does nothing: a docstring, or the note below a constant.
            node.body = [s for s in node.body if not _is_text(s) and not _is_typing(s)] or [ast.Pass()]
    return tree


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """List statements and those inside them, without the expressions, of which there are far more."""
    for statement in body:
        yield statement
        for inside in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(inside.body)
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []))


def _is_typing(statement: ast.stmt) -> bool:
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
