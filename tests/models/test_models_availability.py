"""The solvers of this machine: which are there, what they solve, and what a missing package or licence means."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from instances import rng_of, scale
from model_problems import random_problem, states_problem
from scipy import sparse

import pgsr
from pgsr import Hierarchy, Problem, Status, View
from pgsr.comparison.side_by_side import compare
from pgsr.datasets import census_like
from pgsr.models import Copt, CpSat, Cvxpy, Flow, Gurobi, MathOpt, QpSolvers, Scip, Scipy, Xpress, optional, watch
from pgsr.models.adapter import SolverModel
from pgsr.models.availability import solvers, way
from pgsr.models.catalogue import SOLVERS
from pgsr.models.cvxpy_program import was_interrupted
from pgsr.models.gurobi_ import BUNDLED_QUADRATIC_LIMIT
from pgsr.models.judge import SolverClaim
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.qpsolvers_ import SOLVERS as QP_SOLVERS
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


def test_gurobi_beyond_its_bundled_licence(monkeypatch, tmp_path):
    monkeypatch.delenv("GRB_LICENSE_FILE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    problem = states_problem()
    assert problem.n_unknowns > BUNDLED_QUADRATIC_LIMIT
    assert Gurobi().solve(problem).status is Status.OPTIMAL, "bends of a cell's cost are no squares"
    assert Gurobi().solve(problem.relaxed()).status is Status.OPTIMAL, "grids of bends"
    counties = Geometric(View.COUNTS, 1).measure(census_like("counties", max_size=5), Seeded("licence"))
    result = pgsr.solve(Problem.m_h(counties), "gurobi")
    assert result.status is Status.TOO_LARGE
    assert "2,000" in result.reason
    assert "who takes it here: pgsr, " in result.reason
    assert "GRB_LICENSE_FILE" in result.reason


def test_the_page_has_licences_and_sizes_of_all_solvers(monkeypatch, tmp_path):
    """The table of the page says what the list of solvers says where no licence file is."""
    for name in ("GRB_LICENSE_FILE", "MOSEKLM_LICENSE_FILE", "COPT_LICENSE_DIR", "XPAUTH_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    page = (Path(__file__).parents[2] / "docs" / "model" / "solvers.md").read_text("utf-8")
    lines = page.split("| names | licence | largest problem |")[1].split("\n\n")[0].splitlines()[2:]
    told = {}
    for line in lines:
        names, licence, largest = (part.strip() for part in line.strip("|").split("|"))
        told |= {name.replace('"', "'"): (licence, largest) for name in re.findall(r"`([^`]+)`", names)}
    assert told == {repr(info.method): (info.licence, info.limit) for info in solvers()}
    assert all(info.installed or info.remedy.startswith("pip install") for info in solvers())


def test_a_licence_file_that_is_none_is_a_sentence(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    result = pgsr.solve(states_problem(), "gurobi")
    assert result.status in (Status.UNLICENSED, Status.TOO_LARGE)
    assert "licence" in result.reason
    assert "who takes it here: pgsr, " in result.reason


PACKAGES = [
    (Cvxpy("CLARABEL"), "cvxpy"),
    (Gurobi(), "gurobipy"),
    (MathOpt(), "ortools"),
    (CpSat(), "ortools"),
    (Scip(), "pyscipopt"),
    (Flow(), "ortools"),
    (Copt(), "coptpy"),
    (Xpress(), "xpress"),
    *((QpSolvers(name), "qpsolvers") for name in QP_SOLVERS),
]


@pytest.mark.parametrize(("method", "package"), PACKAGES, ids=repr)
def test_a_missing_package_is_a_sentence(method, package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    problem = random_problem(rng_of(0))
    result = method.solve(problem.relaxed() if isinstance(method, QpSolvers) else problem)
    assert result.status is Status.NOT_INSTALLED
    assert re.search(f"pip install .*{package}", result.reason)


WITHIN = [(Cvxpy("OSQP"), "osqp"), (Cvxpy("HIGHS"), "highspy"), (QpSolvers("proxqp"), "proxsuite")]
"""Solvers with the package that another one imports for them, and does not find."""


@pytest.mark.parametrize(("method", "package"), [*PACKAGES, *WITHIN], ids=repr)
def test_what_a_package_raises_is_its_sentence(method, package, monkeypatch):
    """A package that is there and cannot be imported is not called missing, and nobody else suffers from it."""
    problem, right, told = random_problem(rng_of(0)), optional.import_module, KeyboardInterrupt("stop")
    problem = problem.relaxed() if isinstance(method, QpSolvers) else problem
    if (method, package) in WITHIN:
        monkeypatch.setattr(pytest.importorskip("cvxpy.reductions.solvers.defines"), "INSTALLED_SOLVERS", [])
        monkeypatch.setattr(pytest.importorskip("qpsolvers"), "available_solvers", [])

    def broken(module: str) -> object:
        if module.partition(".")[0] == package:
            raise told
        return right(module)

    monkeypatch.setattr(optional, "import_module", broken)
    for told in (ImportError("libx.so: no such file"), OSError("libx.so"), RuntimeError("NumPy 3"), NameError()):
        result = method.solve(problem)
        assert result.status is Status.NOT_INSTALLED
        sentence = str(told) or "NameError"
        assert f"is there and cannot be imported: {sentence}; install it anew, pip install" in result.reason
        assert "missing" not in result.reason
    if isinstance(method, Scip):
        assert result.reason in [row.reason for row in pgsr.solvers(problem).rows]
    told = ImportError("initialization failed")  # so OR-tools says
    told.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        method.solve(problem)


ADAPTERS = [*{type(entry.method): entry.method for entry in SOLVERS if isinstance(entry.method, SolverModel)}.values()]


@pytest.mark.parametrize("own", [False, True], ids=["", "caught"])
@pytest.mark.parametrize("method", ADAPTERS, ids=repr)
def test_ctrl_c_ends_a_solve(method, own, monkeypatch):
    """Ctrl-C while a solver works is no status, also where the solver set a handler that forgets it."""
    problem, stopped = random_problem(rng_of(0), max_regions=5, n_sizes=3).relaxed(), threading.Event()
    problem = problem if method.supports(problem) is None else random_problem(rng_of(0), max_regions=5, n_sizes=3)

    def hard(*_: object) -> None:
        if own:
            ctypes.pythonapi.PyOS_setsig(signal.SIGINT, ctypes.c_void_p(int(signal.SIG_IGN)))
        watch.stoppable(stopped.set)
        threading.Timer(0.12, os.kill, (os.getpid(), signal.SIGINT)).start()
        stopped.wait(9)

    monkeypatch.setattr(type(method), "run", hard)
    monkeypatch.setattr(type(method), "unavailable", lambda _: None)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        method.solve(problem)
    assert time.monotonic() - start < 2
    assert stopped.is_set(), "it was asked to stop"


def test_solvers_that_caught_ctrl_c_say_so_to_cvxpy():
    of = SimpleNamespace
    for caught in (of(info=of(status="interrupted")), {"info": {"status": "interrupted"}}, {"model": of(Status=11)}):
        assert was_interrupted(caught)
    for done in (of(info=of(status="solved")), {"info": {"status": "solved"}}, {"model": of(Status=2)}, None, {}):
        assert not was_interrupted(done)


def test_who_solves_what():
    noisy = Geometric(View.COUNTS, 1).measure(census_like("divisions", 4, 1_000), Seeded(0))
    problem = Problem.m_h(noisy)
    known = {
        Flow(): ["exact", ""],
        Scipy(): ["window", ""],
        Cvxpy(): ["rounded", "exact"],
        Gurobi(): ["window", "exact"],
    }
    assert {method: [way(method, p) for p in (problem, problem.relaxed())] for method in known} == known


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("order", ["Direct('HIGHS'), MathOpt('HIGHS')", "MathOpt('HIGHS'), Direct('HIGHS')"])
def test_solvers_share_one_process(order):
    """The package highspy and OR-tools each bring HiGHS; both must load and solve, whichever comes first."""
    code = (
        "from pgsr import Hierarchy, Problem\nfrom pgsr.models import Direct, MathOpt\n"
        "tree = Hierarchy.from_parents(['US', 'GA', 'MI'], [-1, 0, 0])\n"
        "problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10, norm=1)\n"
        f"for method in ({order}):\n    print(method.solve(problem).status.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "OPTIMAL\n" * 2), done.stderr


MIXED = [
    entry.method
    for entry in SOLVERS
    if isinstance(entry.method, SolverModel) and ProgramKind.MILP in entry.method.takes and entry.method != CpSat()
]
"""All that take integers beside real numbers; CP-SAT knows integers alone."""


@pytest.mark.parametrize("method", MIXED, ids=repr)
def test_an_integer_beside_a_real_number_is_solved(method):
    """Minimise c x + d z, x + z >= b, z whole, against all z. Objectives are whole, as those of our integer programs.

    The first one's optimum is 9, and HiGHS 1.14 answered 15.
    """
    missing = method.unavailable()
    if missing is not None:
        pytest.skip(missing.reason)
    rng = rng_of(7)
    programs = [(2, 3, 4.5), *(rng.integers(1, (6, 12, 40)) * (2, 1, 0.5) for _ in range(scale(3, 200)))]
    for c, d, b in programs:
        solved = method.run(mixed_program(c, d, b), None).answer
        z, x = np.asarray(solved.values, float)
        assert solved.claim is SolverClaim.OPTIMAL
        assert x + z >= b - 1e-6
        assert d * z + c * x == pytest.approx(min(d * k + c * max(0.0, b - k) for k in range(11) if b - k <= 10))


def mixed_program(c: float, d: float, b: float) -> SolverProgram:
    ends = np.zeros(2), np.full(2, 10.0)
    return SolverProgram(
        quadratic=np.zeros(2),
        linear=np.array([d, c]),
        matrix=sparse.csr_array((0, 2)),
        right=np.zeros(0),
        order=sparse.csr_array(np.array([[-1.0, -1.0]])),
        order_right=np.array([-b]),
        lower=ends[0],
        upper=ends[1],
        integer=np.array([True, False]),
        reach=ends,
    )


@pytest.mark.slow
def test_a_licence_that_is_none_is_said_by_cvxpy_too(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    problem = random_problem(rng_of(0), max_regions=5, n_sizes=3).relaxed()
    # In a process of its own: gurobipy keeps the licence that it found first.
    row = compare(problem, [Cvxpy("GUROBI")], progress=False).rows[0]
    assert row.status is Status.UNLICENSED, row.reason


@pytest.mark.parametrize("name", ["CUOPT", "CUCLARABEL"])
def test_solvers_for_graphics_processors_name_what_to_install(name):
    """Run where CVXPY finds none, as here."""
    if name in pytest.importorskip("cvxpy").installed_solvers():
        pytest.skip(f"{name} is installed")
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    result = Cvxpy(name).solve(Problem.of([[2, 4], [1, 2], [1, 1]], tree, groups=6, label="M_H").relaxed())
    assert result.status is Status.NOT_INSTALLED
    assert f"{name} is missing; pip install " in result.reason
