"""Solvers are found through entry points, so that other packages add some."""

import re
import tomllib
from pathlib import Path

import pytest

from pgsr.models import availability
from pgsr.models.__main__ import main
from pgsr.models.availability import GROUP, solvers
from pgsr.models.cvxpy_ import SOLVERS as CVXPY_SOLVERS

ROOT = Path(__file__).parents[2]

MODULE = """
from pgsr.algorithms import TreeProjection
from pgsr.models.availability import solver_info

def own():
    return [solver_info(TreeProjection(), "not-on-this-machine", "free", "memory")]

def wrong():
    return ["TreeProjection"]

def broken():
    raise OSError("no library")
"""


def install(folder: Path, name: str, module: str, points: dict[str, str]) -> None:
    """Write what pip leaves of a small package: its module and its metadata."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{module}.py").write_text(MODULE)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {module}:{value}" for key, value in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


def test_pyproject_declares_every_solver_function():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    functions = {"copt", "cvxpy", "gurobi", "ortools", "qpsolvers", "scip", "scipy", "xpress"}
    assert declared == {name: f"{availability.__name__}:{name}" for name in functions}
    listed = {repr(info.method) for name in functions for info in getattr(availability, name)()}
    assert {repr(info.method) for info in solvers()} >= listed
    assert len(listed) > 15


def test_the_package_of_every_solver_of_cvxpy_is_the_one_that_its_refusal_names():
    for info in availability.cvxpy():
        told = CVXPY_SOLVERS[info.method.name].package  # may end in a condition on the version
        assert re.split("[<>!]", told.strip("'"))[0] == info.package, info.method


def test_another_package_adds_a_solver(tmp_path, monkeypatch, capsys):
    before = solvers()
    install(tmp_path, "another", "another_solver", {"own": "own"})
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [repr(info.method) for info in solvers()] == [*(repr(info.method) for info in before), "TreeProjection()"]
    assert solvers()[-1].remedy == "pip install not-on-this-machine"
    main()
    assert "not-on-this-machine" in capsys.readouterr().out


def test_a_package_that_cannot_be_read_is_named_and_hides_no_other(tmp_path, monkeypatch):
    before = solvers()
    install(tmp_path, "faulty", "faulty_solver", {"a": "broken", "b": "wrong", "c": "absent"})
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.warns(UserWarning, match="package faulty are left out") as caught:
        assert len(solvers()) == len(before)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 3
    assert "OSError: no library" in messages[0]
    assert "something else than SolverInfo" in messages[1]
    assert "AttributeError" in messages[2]


def test_an_installation_that_declares_nothing_is_told(monkeypatch):
    monkeypatch.setattr(availability, "entry_points", lambda group: ())
    with pytest.raises(availability.PgsrError, match="pip install --editable"):
        solvers()
