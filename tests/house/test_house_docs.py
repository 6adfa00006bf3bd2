"""Pages of docs/ run and print what they show; all that they, README.md and notebooks name exists."""

import ast
import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest
from parsed import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
LINKED = [*PAGES, ROOT / "README.md", ROOT / "notebooks" / "README.md"]

FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+/[\w.-]+\.(?:py|md|toml|json|ipynb)(?:::\w+)?")
DOTTED = re.compile(r"pgsr(?:\.\w+)+")
RUNNABLE = ("python", "sh", "toml")
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)\s]+)\)")
FIGURES = ROOT / "docs" / "figures"
TABLES = (
    "README",
    "glossary",
    "compare",
    "choose_a_mechanism",
    "benchmarks",
    "field",
    "house",
    "reproduce",
    "our_experiments",
)
"""Pages of words and tables, which need no Python."""


@dataclass(frozen=True)
class Block:
    """A fenced block that is run, or written to `file` where its first line names one.

    `shown` is the block of text that follows it at once: what it prints.
    """

    language: str
    file: str | None
    source: str
    shown: str | None
    line: int


def blocks(page: str) -> list[Block]:
    """The blocks of Python, shell and configuration of a page, in order."""
    found = list(FENCE.finditer(page))
    out = []
    for fence, after in zip_longest(found, found[1:]):
        language, file, source = fence.groups()
        if language not in RUNNABLE:
            continue
        is_output = after is not None and after[1] == "text" and not page[fence.end() : after.start()].strip()
        line = page.count("\n", 0, fence.start()) + 1
        out.append(Block(language, file, source, after[3] if after is not None and is_output else None, line))
    return out


def printed(block: Block, namespace: ModuleType, page: Path) -> str:
    """Run a block; what it prints."""
    if block.file is not None:
        Path(block.file).write_text(block.source, "utf-8")
        return ""
    if block.language == "python":
        out = StringIO()
        code = compile("\n" * block.line + block.source, str(page), "exec")
        with redirect_stdout(out):
            exec(code, namespace.__dict__)
        return out.getvalue()
    if not NEEDS_A_SHELL.search(block.source):
        return "".join(told(shlex.split(line), f"{page.name}, line {block.line}") for line in block.source.splitlines())
    return shelled(block.source, f"{page.name}, line {block.line}")


def shelled(source: str, where: str) -> str:
    """Run commands in a shell, each a process of its own."""
    commands = "".join(f'{name}() {{ "{sys.executable}" {how} "$@"; }}\n' for name, how in COMMANDS.items())
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    done = subprocess.run(
        ["bash", "-euc", commands + source],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": WIDTH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
    return done.stdout


def told(command: list[str], where: str) -> str:
    """Run a command in this process, as its own would, without the seconds in which that imports everything."""
    match command:
        case ["pgsr", *arguments]:
            module = "pgsr"
        case ["python", "-m", module, *arguments]:
            pass
        case _:
            raise AssertionError(f"{where} runs {command}, which is no command of this project")
    out, errors, code = StringIO(), StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setattr(sys, "argv", [module, *arguments])
        patch.setenv("COLUMNS", WIDTH)
        try:
            runpy.run_module(module, run_name="__main__")
        except SystemExit as end:
            code = end.code
    assert not code, f"{where}: {out.getvalue()}{errors.getvalue()}"
    return out.getvalue()


COMMANDS = {"pgsr": "-m pgsr", "python": ""}
"""What the commands of shell blocks call: this interpreter on this checkout."""

WIDTH = "100"
"""Columns of the terminal in which they run."""

NEEDS_A_SHELL = re.compile(r"[|<>;&$*?`#\\]")
"""What only a shell understands; a block without it runs in the process of the test."""


LONG = (
    *("add_a_method", "add_an_experiment", "compare", "intervals", "nation", "open_models", "release"),
    *("start", "your_csv", "split_view", "choose_a_mechanism", "plan", "reproduce", "bounds", "release_options"),
    *("solvers", "privacy", "m_c", "methods"),
)
"""Pages that take more than a second."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.stem in LONG else ()) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch):
    """All blocks of Python share one namespace, and all blocks one empty folder.

    Classes of the page go to other processes by value, as those of a reader's script or notebook do.
    """
    monkeypatch.chdir(tmp_path)
    namespace = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, namespace.__name__, namespace)
    cloudpickle.register_pickle_by_value(namespace)
    try:
        for block in blocks(page.read_text("utf-8")):
            found = printed(block, namespace, page)
            if block.shown is not None:
                assert found.split() == block.shown.split(), f"{page.name}, line {block.line} prints\n{found}"
    finally:
        cloudpickle.unregister_pickle_by_value(namespace)


@pytest.mark.slow
def test_commands_are_told_as_a_shell_would():
    """The process of the test prints what a shell prints, and sees a command that fails."""
    source = "pgsr release --example\n"
    assert told(shlex.split(source), "a page") == shelled(source, "a page") != ""
    for command, said in ("pgsr check absent", "absent"), ("pgsr nothing", "nothing"), ("ls", "no command"):
        with pytest.raises(AssertionError, match=said):
            told(shlex.split(command), "a page")


def test_pages_have_blocks():
    """The pattern finds the blocks that there are: as many fences are opened as closed, and derivations have Python."""
    for page in PAGES:
        text = page.read_text("utf-8")
        assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(FENCE.findall(text)), page.name
        if page.stem not in TABLES:
            assert any(block.language == "python" for block in blocks(text)), page.name


@pytest.mark.parametrize("page", LINKED, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_links_lead_somewhere(page):
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name} links to {target}"
        assert there.is_relative_to(ROOT), f"{page.name} links out of the repository: {target}"
        if anchor:
            assert anchor in anchors(there.read_text("utf-8")), f"{page.name} links to {target}"


def test_every_figure_is_kept_in_the_repository_and_shown():
    """So that pages show them where they are read without a build, on a code host too; and they stay small."""
    kept = set(FIGURES.rglob("*.*"))
    told = subprocess.run(["git", "ls-files", "docs/figures"], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode == 0:
        assert kept == {ROOT / line for line in told.stdout.splitlines()}
    texts = {page: FENCE.sub("", page.read_text("utf-8")) for page in LINKED}
    shown = {(page.parent / name).resolve() for page, text in texts.items() for name in PICTURE.findall(text)}
    assert shown == kept
    assert all(text.count("![") == len(PICTURE.findall(text)) for text in texts.values()), "a picture without words"
    assert sum(path.stat().st_size for path in kept) < 2e6


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_files_and_names_exist(page):
    """Files are named from the root of the repository, with a test after two colons; modules and names with dots."""
    text = page.read_text("utf-8")
    for code in CODE.findall(FENCE.sub("", text)):
        if FILE.fullmatch(code):
            path, _, test = code.partition("::")
            assert (ROOT / path).is_file(), f"{page.name} names {code}"
            assert not test or f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{page.name} names {code}"
        elif DOTTED.fullmatch(code):
            assert resolves(code), f"{page.name} names {code}"


def resolves(dotted: str) -> bool:
    """Say whether a dotted name is a module, or an attribute of one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for name in parts[n:]:
            if not hasattr(value, name) and name not in getattr(value, "__dataclass_fields__", {}):
                return False
            value = getattr(value, name, None)
        return True
    return False


def test_what_does_not_exist_is_found():
    assert not resolves("pgsr.engines.nearest_tree.nowhere")
    assert not resolves("pgsr.no_room.x")
    assert resolves("pgsr.engines.nearest_tree.nearest_integers")
    assert resolves("pgsr.problems.problem.Problem.m_h")
    assert anchors("# A *title*, two\n") == {"a-title-two"}
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\n2\n```\n"
    assert [(block.shown, block.line) for block in blocks(page)] == [("1\n", 1), (None, 9)]


def test_the_picture_of_the_rooms_shows_every_room(monkeypatch):
    """After a change of rooms: python docs/tools/rooms.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    rooms = importlib.import_module("rooms")
    drawn = set(re.findall(r"<text[^>]*>([^<]+)</text>", (FIGURES / "rooms.svg").read_text("utf-8")))
    direct = rooms.imports()
    assert direct.keys() <= drawn
    assert {word for word in drawn if " " not in word} == direct.keys(), "a room that is no more"
    row = rooms.rows(direct)
    assert all(row[room] > row[other] for room, below in direct.items() for other in below)
    assert {"errors", "checks"}.isdisjoint(direct)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_a_notebook_imports_is_there(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = [line for line in source.splitlines() if not line.startswith(("%", "!"))]
    imports = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.ImportFrom)]
    names = [(node.module, alias.name) for node in imports for alias in node.names]
    assert any(module.startswith("pgsr") for module, _ in names)
    for module, name in names:
        assert module is not None
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")  # a module of a package
