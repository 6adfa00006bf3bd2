"""The pages of the reference: what a package says of itself, then all that it exports; and the rooms' derivations.

Docstrings state formulas as indented text, which Markdown shows as it stands, line by line.
"""

import ast
import re
from functools import cache
from pathlib import Path
from textwrap import dedent

from examples import no_links

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (
    "pgsr",
    "pgsr.algorithms",
    "pgsr.estimators",
    "pgsr.models",
    "pgsr.intervals",
    "pgsr.release",
    "pgsr.datasets",
    "pgsr.front",
    "pgsr.data",
    "pgsr.privacy",
    "pgsr.noise",
    "pgsr.problems",
    "pgsr.methods",
    "pgsr.comparison",
    "pgsr.reconciling",
    "pgsr.certificates",
    "pgsr.bounds",
)


EXAMPLE = re.compile(r"(?m)((?:^ {4}>>>.*\n(?:^ {4}.*\n|^\n(?= {4}))*)+)")


def reference_page(package: str) -> str:
    """Write the page of a package, in the syntax of mkdocstrings. What two packages export is on the first's page."""
    explained = {_source(first, name): first for first in reversed(PACKAGES) for name in exported(first)}
    parts, elsewhere = [f"# {package} {{ #{package} }}", _own_words(_parsed(package))], []
    for name in exported(package):
        first = explained[_source(package, name)]
        if first == package:
            parts.append(_entry(package, name))
        else:
            elsewhere.append(f"[`{name}`][{first}.{name}]")
    if elsewhere:
        parts.insert(2, f"Exported from here, too, and explained elsewhere: {', '.join(elsewhere)}.")
    return "\n\n".join(parts) + "\n"


def rooms_page() -> str:
    """Write the page of what the rooms of the algorithms and estimators derive at their top."""
    parts = [
        "# Derivations beside the code",
        "Every room of the algorithms and estimators states its problem and derives what it computes.",
    ]
    for wing in ("algorithms", "estimators"):
        for path in sorted((ROOT / "pgsr" / wing).glob("*/__init__.py")):
            room = f"pgsr.{wing}.{path.parent.name}"
            parts += [f"## {path.parent.name} {{ #{room} }}", _own_words(_parsed(room))]
    return "\n\n".join(parts) + "\n"


@cache
def _parsed(package: str) -> ast.Module:
    return ast.parse((_folder(package) / "__init__.py").read_text("utf-8"))


def _folder(package: str) -> Path:
    return ROOT / package.replace(".", "/")


def _own_words(tree: ast.Module) -> str:
    """The docstring, with its examples as blocks of a session."""
    return EXAMPLE.sub(
        lambda found: f"```pycon\n{dedent(found[1])}```\n", no_links(ast.get_docstring(tree) or "") + "\n"
    )


@cache
def exported(package: str) -> tuple[str, ...]:
    """The names of `__all__`."""
    for statement in _parsed(package).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "__all__":
            return tuple(name for name in ast.literal_eval(statement.value) if not name.startswith("__"))
    raise ValueError(f"{package} of the reference needs __all__; add it")


def _source(package: str, name: str) -> str:
    """The path of an exported thing in the file that defines it."""
    for statement in ast.walk(_parsed(package)):
        if isinstance(statement, ast.ImportFrom) and name in {alias.name for alias in statement.names}:
            module = str(statement.module)
            is_package = module != package and (_folder(module) / "__init__.py").exists()
            return _source(module, name) if is_package else f"{module}.{name}"
    return f"{package}.{name}"


def _entry(package: str, name: str) -> str:
    """Ask for an entry. A function that is called like its file is asked for in that file."""
    path = f"{package}.{name}"
    if (_folder(package) / f"{name}.py").exists() and _source(package, name) == f"{path}.{name}":
        path += f".{name}"
    return f"::: {path}"
