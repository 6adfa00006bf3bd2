"""What imports bring, a command that answers, and no circles. test_house_extras.py hides what is not installed."""

import os
import subprocess
import sys

import pytest
from parsed import ROOT


def run(*command: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False, **options)


BROUGHT = """
import sys
before = set(sys.modules)
{code}
new = set(sys.modules) - before
others = {{name.partition(".")[0] for name in new}} - set(sys.stdlib_module_names)
others = {{name for name in others if not name.startswith("_")}} - {{"pgsr", "cython_runtime"}}
rooms = {{name for name in new if name.startswith("pgsr.") and hasattr(sys.modules[name], "__path__")}}
print(*sorted(others | rooms))
"""
"""Prints which packages, and which rooms of pgsr, some code imports: names with an underscore are parts of packages."""

LIGHT = {"numpy", "scipy"} | {
    f"pgsr.{room}"
    for room in (
        *("certificates", "data", "engines", "engines.nearest_tree", "figures", "machine", "methods"),
        *("noise", "privacy", "privacy.accounting", "privacy.laws", "problems", "problems.conditions"),
    )
}
"""What `import pgsr` brings: half a second. A name more here is time that every command and every process pays."""


@pytest.mark.slow
def test_import_brings_these_packages_and_no_part_of_scipy():
    done = run("-c", BROUGHT.format(code="import pgsr\nassert 'scipy.sparse' not in sys.modules"))
    assert set(done.stdout.split()) == LIGHT, done.stderr


@pytest.mark.slow
def test_help_brings_these_packages_besides():
    code = """
import contextlib, io
from pgsr.cli import app
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
    app(["--help"])
assert "validate" in said.getvalue()
assert not {"scipy.stats", "pgsr.privacy.laws.inversion_kernel"} & set(sys.modules)
"""
    done = run("-c", BROUGHT.format(code=code))
    shown = {"annotated_doc", "markdown_it", "mdurl", "pygments", "rich", "shellingham", "typer"}
    rooms = {"pgsr.commands", "pgsr.intervals"}
    # rich looks for attrs, and does without it.
    assert set(done.stdout.split()) - {"attr", "attrs"} == LIGHT | shown | rooms, done.stderr


@pytest.mark.slow
def test_models_bring_no_solver():
    heavy = ("numba", "cvxpy", "gurobipy", "ortools", "highspy", "pandas", "matplotlib", "pyarrow")
    done = run("-c", f"import sys, pgsr.models; print([name for name in {heavy} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_an_error_at_the_command_line_is_a_sentence(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PGSR_DATA"}
    asked = ("-m", "pgsr.experiments", "compare", "--out", str(tmp_path), "--data", "taxi")
    done = run(*asked, env=environment)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "PGSR_DATA" in done.stderr


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions and for type checkers count: nothing is hidden by them.

    Experiments are left out: the digest of the code of an experiment names, for type checkers, the experiment.
    """
    import grimp

    graph = grimp.build_graph("pgsr", cache_dir=None)
    ours = {module for module in graph.modules if not module.startswith("pgsr.experiments")}
    assert "pgsr.models.adapter" in ours
    left = {module: set(graph.find_modules_directly_imported_by(module)) for module in ours}
    assert len(left) > 100
    while left:
        free = [module for module, imported in left.items() if not imported & left.keys()]
        assert free, f"these import each other, or something that does: {sorted(left)}"
        for module in free:
            del left[module]
