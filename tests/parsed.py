"""The code of pgsr, models/ and experiments/, parsed once in a process for all tests of the house that read it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = ("pgsr", "models", "experiments")


@cache
def trees() -> dict[str, ast.Module]:
    """Read every file, by its path from the root of the repository.

    The links pgsr/models and pgsr/experiments are left out: what lies behind them is read under its own folder.
    """
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for folder in CODE
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(("pgsr/models/", "pgsr/experiments/"))
    }


def core() -> dict[str, ast.Module]:
    """Read the files of pgsr/ alone."""
    return {file: tree for file, tree in trees().items() if file.startswith("pgsr/")}
