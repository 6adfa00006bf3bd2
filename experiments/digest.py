"""Which code a result came from: a digest that changes when numbers may, and not when only looks do.

It covers all of pgsr, all of models if the experiment imports from it, and of the experiment's own file what its
`Experiment(...)` reaches, `plot` and `verdicts` apart, together with the files of experiments/ that this reaches.
Comments, docstrings and layout do not count. Editing a figure therefore leaves results fresh; editing an arm does not.
Not covered: versions of libraries, which every result lists, and the data files.
"""

import ast
import hashlib
import importlib.util
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.experiment import Experiment

ROOT = Path(__file__).resolve().parent.parent
LOOKS = ("plot", "verdicts")
"""Arguments of `Experiment` that cannot change a record."""


def code_digest(experiment: "Experiment") -> str:
    """16 hexadecimal digits."""
    return _digest(experiment.plot.__module__, experiment.id)


@lru_cache
def _digest(module: str, identity: str) -> str:
    files: dict[str, str] = {}
    used = _follow(module, identity, files)
    for package in ("pgsr", *(["models"] if "models" in used else [])):
        for path in sorted((ROOT / package).rglob("*.py")):
            files[path.relative_to(ROOT).as_posix()] = _plain(path)
    digest = hashlib.sha256()
    for name, text in sorted(files.items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _follow(module: str, identity: str | None, files: dict[str, str]) -> set[str]:
    """Add the file of `module` and those of experiments/ that it reaches; returns the packages it imports from."""
    path = _file(module)
    if path is None or module in files:
        return set()
    body = _parsed(path).body
    if identity is not None:
        body = _reached(body, identity)
    files[module] = ast.unparse(ast.Module(body, []))
    used: set[str] = set()
    for node in ast.walk(ast.Module(body, [])):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        for name in names:
            used.add(name.partition(".")[0])
            if name.startswith("experiments.") and _file(name) is not None:
                used |= _follow(name, None, files)
    return used


def _reached(body: list[ast.stmt], identity: str) -> list[ast.stmt]:
    """The top-level statements that the experiment of this id needs; all of them if it is not written out here."""
    calls = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Call) and _is_id(node, identity)]
    if len(calls) != 1:
        return body
    calls[0].keywords = [keyword for keyword in calls[0].keywords if keyword.arg not in LOOKS]
    wanted = [statement for statement in body if not _defined(statement) or calls[0] in ast.walk(statement)]
    known = {id(statement) for statement in wanted}
    for statement in wanted:  # grows while it is walked
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


def _file(module: str) -> Path | None:
    """The source of a module, without running it; None for names inside a module, and for notebooks."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return Path(origin) if (origin := getattr(loaded, "__file__", None)) else None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


@lru_cache(None)
def _plain(path: Path) -> str:
    return ast.unparse(_parsed(path))


def _parsed(path: Path) -> ast.Module:
    """The file without its comments, docstrings and imports for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            # A string that stands alone does nothing: a docstring, or the note below a constant.
            node.body = [s for s in node.body if not _is_text(s) and not _is_typing(s)] or [ast.Pass()]
    return tree


def _is_typing(statement: ast.stmt) -> bool:
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
