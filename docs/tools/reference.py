"""The pages of the reference: what a package says of itself, then all that it exports; and the rooms' derivations.

Docstrings state formulas as indented text, which Markdown shows as it stands, line by line.
"""

import ast
import re
from pathlib import Path
from textwrap import dedent

from examples import no_links

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (
    "pgsr",
    "pgsr.algorithms",
    "pgsr.models",
    "pgsr.intervals",
    "pgsr.release",
    "pgsr.datasets",
    "pgsr.certificates",
)


LONG = ("pgsr.release.EXAMPLE",)
"""Values that are too long to be shown."""

EXAMPLE = re.compile(r"(?m)((?:^ {4}>>>.*\n(?:^ {4}.*\n|^\n(?= {4}))*)+)")


def reference_page(package: str) -> str:
    """Write the page of a package, in the syntax of mkdocstrings."""
    folder = ROOT / package.replace(".", "/")
    tree = _parsed(folder)
    entries = (_entry(path) for path in exported(tree, package, folder))
    return "\n\n".join([f"# {package} {{ #{package} }}", _own_words(tree), *entries]) + "\n"


def rooms_page() -> str:
    """Write the page of what the rooms of the algorithms derive at their top."""
    parts = [
        "# Derivations beside the code",
        "Every room of the algorithms states its problem and derives what it computes.",
    ]
    for path in sorted((ROOT / "pgsr" / "algorithms").glob("*/__init__.py")):
        parts += [f"## {path.parent.name} {{ #pgsr.algorithms.{path.parent.name} }}", _own_words(_parsed(path.parent))]
    return "\n\n".join(parts) + "\n"


def _parsed(folder: Path) -> ast.Module:
    return ast.parse((folder / "__init__.py").read_text("utf-8"))


def _own_words(tree: ast.Module) -> str:
    """The docstring, with its examples as blocks of a session."""
    return EXAMPLE.sub(
        lambda found: f"```pycon\n{dedent(found[1])}```\n", no_links(ast.get_docstring(tree) or "") + "\n"
    )


def exported(tree: ast.Module, package: str, folder: Path) -> list[str]:
    """The paths of what `__all__` names. A function that is called like its file is found in that file."""
    sources, names = {}, None
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            sources |= {alias.name: statement.module for alias in statement.names}
        elif isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(statement.value)
    if names is None:
        raise ValueError(f"{package} of the reference needs __all__; add it")
    hidden = {name for name in names if (folder / f"{name}.py").exists() and sources.get(name) != package}
    return [f"{sources[name] if name in hidden else package}.{name}" for name in names if not name.startswith("__")]


def _entry(path: str) -> str:
    return f"::: {path}" + ("\n    options:\n      show_attribute_values: false" if path in LONG else "")
