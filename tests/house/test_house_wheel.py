"""The wheel, in a new environment outside the repository; README's blocks run in it, too, in tests/journeys.

The new environment finds the libraries of this one, which takes a second where installing them takes a minute; but pgsr
is there from the wheel alone, and every test asserts it.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from parsed import ROOT

pytestmark = pytest.mark.slow

WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = WHOLE["project"]

QUICK = {"MPLBACKEND": "agg", "NUMBA_DISABLE_JIT": "1"}
"""No screen, and loops that are interpreted: in a new place they would all be compiled anew."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    checked([sys.executable, "-m", "pip", "wheel", str(ROOT), *options])
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of the new environment."""
    folder = tmp_path_factory.mktemp("elsewhere") / "environment"
    checked([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    interpreter = folder / "bin" / "python"
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet"]  # compiled when it is imported
    checked([sys.executable, "-m", "pip", "--python", str(interpreter), "install", *options, str(wheel)])
    own = Path(checked([str(interpreter), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    # A folder named in a .pth file joins the path, but .pth files inside it, as that of an editable pgsr, do not count.
    (own / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def checked(command: list[str], **options) -> str:
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**outside, **QUICK}, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_takes_no_name_but_pgsr(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"pgsr", f"group_size_release-{PROJECT['version']}.dist-info"}
    files = ("models/adapter.py", "experiments/registry.py", "experiments/engine/template.txt", "py.typed")
    files += ("release/THREATS.md", "release/configuration/configuration.schema.json")
    assert {f"pgsr/{file}" for file in files} <= {*names}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]


CODE = """
import runpy, sys
from importlib.resources import files
import pgsr, pgsr.experiments.registry
from pgsr.machine.isolation import run_isolated
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
assert pgsr.__file__.startswith(sys.prefix), pgsr.__file__
assert run_isolated(int).value == 0
assert pgsr.experiments.registry.find("K8").id == "K8"
assert "pgsr" in files("pgsr.release").joinpath("THREATS.md").read_text()
try:
    import models
except ModuleNotFoundError:
    print(pgsr.__version__)
runpy.run_module("pgsr.models", run_name="__main__", alter_sys=True)
sys.modules["cvxpy"] = None
tree = pgsr.Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
noisy = Geometric(pgsr.View.COUNTS, 1).measure(pgsr.CountOfCounts(tree, [[0, 2], [1, 1]]), Seeded(1))
print(pgsr.models.Cvxpy("CLARABEL").solve(pgsr.Problem.m_h(noisy).relaxed()))
sys.argv = ["experiments", "run", "K1", "--profile", "smoke", "--out", "."]
runpy.run_module("pgsr.experiments", run_name="__main__", alter_sys=True)
"""


def test_the_rest_is_there_too(python, tmp_path):
    version, listed = checked([str(python), "-c", CODE], cwd=tmp_path).split("\n", 1)
    assert version == PROJECT["version"]
    assert "Flow()" in listed
    assert "pip install cvxpy" in listed, "what to install without a solver"
    assert "done" in listed, "an experiment runs"
    assert "[" in checked([str(python.with_name("pgsr")), "release", "--example"], cwd=tmp_path)
    extras = re.findall(r'pip install "\.\[(.+)\]"', (ROOT / "README.md").read_text())[0].split(",")
    assert {*extras, "build"} == {*WHOLE["tool"]["pgsr"]["stages"]["compare"]["extras"]}
