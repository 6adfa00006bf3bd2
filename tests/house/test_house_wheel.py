"""The wheel, in a new environment outside the repository: it takes no name but pgsr, and all of pgsr is in it."""

import zipfile

import pytest
from wheels import PROJECT, checked, python, wheel

pytestmark = pytest.mark.slow

__all__ = ["python", "wheel"]


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
import pgsr, pgsr.experiments.registry, pgsr.experiments.engine.worker as worker
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
assert pgsr.__file__.startswith(sys.prefix), pgsr.__file__
assert worker.Worker().reusable
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
