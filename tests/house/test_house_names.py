"""Tests are named after what they test, and every test that a text names exists."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

from parsed import ROOT

TESTS = ROOT / "tests"

NESTED = {file.parent.name for file in (ROOT / "pgsr").glob("*/*/__init__.py")}
PACKAGES = {folder.parent.name for folder in (ROOT / "pgsr").glob("*/__init__.py")}
ROOMS = NESTED | PACKAGES | {"core", "models", "experiments", "house", "assurance", "journeys"}
"""Packages of pgsr, rooms within them by their own names, `core` for single files at the top of pgsr; `house` for
what holds of the whole repository, `assurance` for privacy and reliability of it, `journeys` for users of it."""

REFERENCE = re.compile(r"\b(test_\w+)(\.py|\b(?=::))(?:::(test_\w+))?")
"""`tests/test_x.py`, `test_x.py::test_y` or `test_x::test_y`."""


@cache
def functions(file: str) -> frozenset[str] | None:
    """The test functions of a file of tests; None where there is no such file."""
    path = next(TESTS.glob(f"*/{file}.py"), None)
    if path is None:
        return None
    return frozenset(n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef))


def missing(text: str) -> list[str]:
    """List what a text names of files of tests, and of functions in them, that does not exist."""
    found = []
    for match in REFERENCE.finditer(text):
        file, _, function = match.groups()
        if (known := functions(file)) is None or (function and function not in known):
            found.append(match[0])
    return found


def texts() -> list[Path]:
    """Every text of the repository, as git lists it; as it lies in the folder where there is no git."""
    kinds = ("*.py", "*.md", "*.toml", "*.ipynb", "Makefile")
    told = subprocess.run(["git", "ls-files", *kinds], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode == 0:
        return [path for path in (ROOT / line for line in told.stdout.splitlines()) if path.is_file()]
    tops = [ROOT / name for name in ("pgsr", "models", "experiments", "tests", "notebooks")]
    return [ROOT / "README.md", *(path for top in tops for kind in kinds for path in top.rglob(kind))]


def test_a_file_of_tests_begins_with_its_room():
    """The file `test_<room>.py` is about a whole room, `test_<room>_<module>.py` about a part of it."""
    files = [path.stem for path in TESTS.glob("*/test_*.py")]
    assert len(files) > 100
    begins = tuple(f"test_{room}_" for room in ROOMS)
    assert not [file for file in files if not f"{file}_".startswith(begins)], f"begin with one of {sorted(ROOMS)}"


def test_every_test_that_a_text_names_exists():
    found = {str(path.relative_to(ROOT)): missing(path.read_text(encoding="utf-8")) for path in texts()}
    found.pop("tests/house/test_house_names.py", None)  # names files that do not exist, to be found below
    assert len(found) > 100
    assert not {path: names for path, names in found.items() if names}


def test_what_does_not_exist_is_found():
    assert missing("see `tests/test_no_such_file.py`") == ["test_no_such_file.py"]
    assert missing("tests/tables/test_data_views.py::test_of_no_name") == ["test_data_views.py::test_of_no_name"]
    assert missing("test_data_views::test_of_no_name[case]") == ["test_data_views::test_of_no_name"]
    assert missing("tests/tables/test_data_views.py::test_round_trips, test_data_views.py") == []
