"""The folders models/ and experiments/ are pgsr.models and pgsr.experiments; no file has two names in one process."""

import ast
import subprocess
import sys

import pytest
from parsed import ROOT, trees

EVERY_FILE_TWICE = """
import os, sys
from importlib import import_module
from pathlib import Path
first, second = sys.argv[1:]
names = []
for folder in ("models", "experiments"):
    for path in sorted(Path(folder).rglob("*.py")):
        names.append(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
names = [name for name in names if not name.endswith("__main__")]
modules = [(import_module(first + name), import_module(second + name)) for name in names]
assert all(one is other for one, other in modules), [one for one, other in modules if one is not other]
assert all(one.__name__ == one.__spec__.name == "pgsr." + name for (one, _), name in zip(modules, names))
ours = tuple(os.path.join(os.getcwd(), folder, "") for folder in ("pgsr", "models", "experiments"))
files = {}
for module in list(sys.modules.values()):
    if (getattr(module, "__file__", None) or "").startswith(ours):
        files.setdefault(os.path.realpath(module.__file__), set()).add(id(module))
assert all(len(ids) == 1 for ids in files.values()), [file for file, ids in files.items() if len(ids) > 1]
print(len(names))
"""


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("", "pgsr."), ("pgsr.", "")])
def test_both_names_of_a_file_are_one_module(first, second):
    done = run("-c", EVERY_FILE_TWICE, first, second)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60


def test_pickles_and_errors_carry_the_name_that_works_everywhere():
    code = "import pickle\nfrom models import Cvxpy\nprint(pickle.dumps(Cvxpy('CLARABEL')))\n" + "\n".join(
        f"try:\n    import {name}\nexcept ModuleNotFoundError as error:\n    print(error)"
        for name in ("models.nothing", "pgsr.models.nothing")
    )
    pickled, *errors = run("-c", code).stdout.splitlines()
    assert "pgsr.models.cvxpy_" in pickled
    assert errors == ["No module named 'pgsr.models.nothing'"] * 2


@pytest.mark.slow
def test_somebody_elses_models_are_left_alone(tmp_path):
    """Importing pgsr.models takes no name at the top: a package `models` of the user's own stays theirs."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("mine = True\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pgsr.models, models, pgsr.experiments.registry\n"
    done = run("-c", code + "print(models.mine, sorted(n for n in sys.modules if n.startswith('models')))")
    assert done.stdout.strip() == "True ['models']", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "experiments"])
def test_commands_run_by_their_short_names(name):
    done = run("-m", name, *(["--help"] if name == "experiments" else []))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 200


def test_no_name_of_a_class_stands_for_two_things():
    """Who meets a class in a traceback, in a docstring or in a search need not ask which of two classes is meant."""
    named: dict[str, list[str]] = {}
    for file, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(file)
    twice = {name: files for name, files in named.items() if len(files) > 1}
    shipped_alone = {"Refused": ["experiments/lib/traps/verify_trap.py", "experiments/lib/verify.py"]}
    assert len(named) > 500
    assert twice == shipped_alone, "give one of them a name that says which it is"
