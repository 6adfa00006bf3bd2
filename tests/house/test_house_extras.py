"""What the package alone brings is enough for `import pgsr` and `pgsr.reconcile`; the rest names its extra."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from parsed import ROOT, core
from test_house_stages import brought_by

from pgsr.errors import MissingPackageError
from pgsr.machine.extras import extra, extra_of_command

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIGHT = {"numpy", "scipy", "numba", "narwhals"}
"""What pip brings on Linux, and llvmlite with Numba."""

GUARDED = ("tables", "release", "synthesis", "commands", "cli.py")
"""Rooms and files that are imported inside `extra("release")` as a whole."""

IN_A_CHILD = {("machine/isolation.py", "cloudpickle"), ("machine/isolation.py", "psutil")}
"""The imports of a process that starts only where its parent could import them."""

ELSEWHERE = {("machine/memory.py", "psutil"), ("data/columns.py", "duckdb")} | {
    (f"synthesis/{file}.py", "torch")
    for file in ("queries/torch_runs", "queries/hpd", "queries/mixture", "queries/tables")
}
"""Psutil, which pip brings on systems where it is imported; the package of a relation or a tensor that is at hand."""

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if path is None and top not in ALLOWED and top not in sys.stdlib_module_names and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
ALLOWED = {allowed}
sys.meta_path.insert(0, Hidden())
"""
"""Hides all packages but those allowed, as if they were not installed."""


def alone(code: str, allowed: set[str] = frozenset(), *arguments: str) -> subprocess.CompletedProcess[str]:
    names = sorted(LIGHT | {"llvmlite", "pgsr"} | allowed)
    command = [sys.executable, "-c", HIDDEN.replace("{allowed}", repr(set(names))) + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_light_dependencies_are_those_of_the_project():
    plain = {requirement for requirement in PROJECT["dependencies"] if "sys_platform" not in requirement}
    assert {re.match(r"[a-z]+", requirement)[0] for requirement in plain} == LIGHT
    assert set(PROJECT["dependencies"]) - plain == {"psutil>=6; sys_platform != 'linux'"}


@pytest.mark.slow
def test_importing_and_solving_need_the_light_dependencies():
    rooms = ("algorithms", "estimators", "models", "datasets", "bounds", "nation", "intervals")
    code = f"""
import pgsr, {", ".join(f"pgsr.{room}" for room in rooms)}
tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
problem = pgsr.Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
print(pgsr.algorithms.TreeProjection().solve(problem).status.name)
"""
    done = alone(code)
    assert done.stdout.strip() == "OPTIMAL", done.stderr


RECONCILED = """
import pgsr
from pgsr.errors import MissingPackageError
noisy = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [9, 7, -1], "v": [1.0, 2.0, 2.0]}
done = pgsr.reconcile(KIND(noisy), ["nation", "state"], "n", variance="v")
print([int(n) for n in done.table["reconciled"]], done.certificate.optimal, type(done.table).__name__)
print([level.sums_off for level in done.levels], list(map(float, done.table["lower"]))[0] < 8)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "setup", "allowed"),
    [
        ("dict", "import numpy as np", set()),
        ("DataFrame", "import polars", {"polars"}),
    ],
)
def test_reconcile_needs_the_light_dependencies_and_the_package_of_the_table(kind, setup, allowed):
    package = setup.split()[1]
    pytest.importorskip(package, reason=f"{package} is not installed")
    made = {"numpy": "lambda noisy: noisy | {'n': np.array(noisy['n'])}"}.get(package, f"{package}.DataFrame")
    done = alone(f"{setup}\nKIND = {made}\n{RECONCILED}", allowed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[8, 8, 0] True {kind}", "[1, 0] True"]


@pytest.mark.slow
def test_what_an_extra_brings_is_named_where_it_is_missing():
    code = """
import pgsr, numpy as np
from pgsr.errors import MissingPackageError
tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
truth = pgsr.CountOfCounts(tree, [[0, 9, 4], [0, 8, 3]])
def tried(what):
    try:
        what()
    except MissingPackageError as error:
        print(error)
done = pgsr.reconcile({"region": ["GA", "MI"], "n": [1, 2]}, "region", "n")
import importlib
tried(lambda: pgsr.noise.Geometric(pgsr.View.COUNTS, 1).measure(truth, pgsr.privacy.Seeded("s")))
tried(lambda: done.diagnostics)
tried(truth.plot)
for room in ("tables", "release.ledger", "release", "synthesis"):
    tried(lambda: importlib.import_module(f"pgsr.{room}"))
"""
    done = alone(code)
    assert done.returncode == 0, done.stderr
    said = re.findall(r'([a-z]+) is missing; pip install "\.\[([a-z]+)\]" in the folder of pgsr\n', done.stdout)
    assert said[:3] == [("cryptography", "release"), ("pandas", "release"), ("matplotlib", "plots")]
    assert [extra for _, extra in said[3:]] == ["release"] * 4


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), [("pgsr", "release"), ("pgsr.experiments", "experiments")])
def test_a_command_without_its_packages_is_a_sentence(module, name):
    done = alone(f"import runpy, sys; sys.argv[1:] = ['--help']; runpy.run_module({module!r}, run_name='__main__')")
    assert done.returncode == 2
    assert re.fullmatch(
        rf'error: [a-z]+ is missing; pip install "\.\[{name}\]" in the folder of pgsr\n', done.stderr
    ), done.stderr


def test_other_errors_pass():
    with pytest.raises(ImportError, match="cannot import name"), extra("plots"):
        from json import no_such_name  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ModuleNotFoundError, match=r"pgsr\.no_such_room"), extra("plots"):
        import pgsr.no_such_room  # noqa: F401  # pyright: ignore[reportMissingImports]
    with pytest.raises(MissingPackageError, match="inner"), extra("plots"):
        raise MissingPackageError("inner")
    with pytest.raises(ValueError, match="wrong"), extra_of_command("plots"):
        raise ValueError("wrong")


def test_every_import_of_the_core_is_light_or_names_the_extra_that_brings_it():
    """By the source: imports that no test reaches count, too."""
    brought = {name: packages_of(name) for name in PROJECT["optional-dependencies"]}
    brought["widgets"] |= {"IPython"}  # ipywidgets needs it
    bare, wrong = [], []
    for path, tree in core().items():
        file = path.removeprefix("pgsr/")
        for package, name in imports(tree, None):
            if package in LIGHT | {"pgsr"} or package in sys.stdlib_module_names:
                continue
            if (file, package) in IN_A_CHILD | ELSEWHERE:
                continue
            if name is None and not file.startswith(GUARDED):
                bare.append(f"{file} imports {package}")
            elif name is not None and package not in brought[name]:
                wrong.append(f"{file} says that {name} brings {package}")
            elif name is None and package not in brought["release"]:
                wrong.append(f"{file} lies in what the extra release brings, and imports {package}")
    assert not bare, "put these into `with extra(...)`"
    assert not wrong


def imports(node: ast.AST, name: str | None) -> Iterator[tuple[str, str | None]]:
    """The top names of all imports that run, each with the extra inside whose block it stands."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.With):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("extra", "extra_of_command"):
                name = ast.literal_eval(call.args[0])
    if isinstance(node, ast.Import):
        yield from ((alias.name.partition(".")[0], name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module.partition(".")[0], name
    for child in ast.iter_child_nodes(node):
        yield from imports(child, name)


def packages_of(name: str) -> set[str]:
    """The packages of an extra and of those that it names, as they are imported where that differs from pip's name."""
    return {package.replace("-", "_") for package in brought_by(name)}
