"""The help of the whole command line, read from the sources of commands: importing all experiments takes seconds."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

FILES = ("commands/comparison.py", "commands/results.py", "commands/benchmarks.py", "commands/experiments.py")
"""The files of commands, in the order of the help."""

GROUPS = ("data", "lib")
"""The folders that have commands of their own, each in its file command.py."""


def list_commands(app: typer.Typer) -> None:
    """Add every command by its name and docstring alone, as `--help` shows them; none of them can be run."""
    folder = Path(__file__).parent.parent
    for file in FILES:
        for name, words in _commands(ast.parse((folder / file).read_text("utf-8"))):
            _add(app, name, words)
    for group in GROUPS:
        _add(app, group, _help_of_app(ast.parse((folder / group / "command.py").read_text("utf-8"))))


def _add(app: typer.Typer, name: str, words: str) -> None:
    def listed() -> None: ...

    app.command(name=name, help=words)(listed)


def _commands(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Find the functions that `@app.command(...)` makes commands: name and docstring."""
    for function in module.body:
        if isinstance(function, ast.FunctionDef):
            for call in function.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "app.command":
                    said = _keywords(call).get("name", function.name.replace("_", "-"))
                    yield said, ast.get_docstring(function) or ""


def _help_of_app(module: ast.Module) -> str:
    """Find the help of the group of commands that a module makes by `typer.Typer(help=...)`."""
    calls = [each for each in ast.walk(module) if isinstance(each, ast.Call)]
    return next(_keywords(call)["help"] for call in calls if ast.unparse(call.func) == "typer.Typer")


def _keywords(call: ast.Call) -> dict[str, Any]:
    return {each.arg: each.value.value for each in call.keywords if each.arg and isinstance(each.value, ast.Constant)}
