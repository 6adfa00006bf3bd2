"""The solvers of this machine: which are there, what they solve, and what a missing package or licence means."""

import re
import subprocess
import sys
from pathlib import Path

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale
from model_problems import random_problem, states_problem
from scipy import sparse

from pgsr import Hierarchy, PgsrError, Problem, Status, View
from pgsr.comparison import compare
from pgsr.datasets import census_like
from pgsr.models import CpSat, Cvxpy, Flow, Gurobi, MathOpt, Scip, Scipy
from pgsr.models.adapter import SolverModel
from pgsr.models.availability import capabilities, solvers
from pgsr.models.catalogue import SOLVERS
from pgsr.models.cvxpy_ import SOLVERS as OF_CVXPY
from pgsr.models.gurobi_ import BUNDLED_QUADRATIC_LIMIT
from pgsr.models.judge import SolverClaim
from pgsr.models.program import ProgramKind, SolverProgram
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
    result = Gurobi().solve(Problem.m_h(counties))
    assert result.status is Status.TOO_LARGE
    assert "2,000" in result.reason
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


def test_a_licence_file_that_is_none_is_a_sentence(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    result = Gurobi().solve(states_problem())
    assert result.status in (Status.UNLICENSED, Status.TOO_LARGE)
    assert "licence" in result.reason


@pytest.mark.parametrize(
    ("method", "package"),
    [
        (Cvxpy("CLARABEL"), "cvxpy"),
        (Gurobi(), "gurobipy"),
        (MathOpt(), "ortools"),
        (CpSat(), "ortools"),
        (Scip(), "pyscipopt"),
        (Flow(), "ortools"),
    ],
    ids=repr,
)
def test_a_missing_package_is_a_sentence(method, package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    result = method.solve(random_problem(rng_of(0)))
    assert result.status is Status.NOT_INSTALLED
    assert f"pip install {package}" in result.reason


def test_unknown_solver_names_list_the_known_ones():
    with pytest.raises(PgsrError, match="CLARABEL"):
        Cvxpy("CLARBEL")
    with pytest.raises(PgsrError, match="GSCIP"):
        MathOpt("CP_SAT")
    assert "CLARABEL" in OF_CVXPY


def test_every_solver_is_listed_with_its_state():
    rows = {repr(info.method): info for info in solvers()}
    assert {"Flow()", "Gurobi()", "CpSat()", "Scip()", "Cvxpy('CLARABEL')", "MathOpt('GSCIP')"} <= set(rows)
    assert all(info.installed or info.remedy.startswith("pip install") for info in rows.values())


def test_who_solves_what():
    noisy = Geometric(View.COUNTS, 1).measure(census_like("divisions", 4, 1_000), Seeded(0))
    problem = Problem.m_h(noisy)
    found = capabilities([problem, problem.relaxed()], [Flow(), Scipy(), Cvxpy(), Gurobi()])
    assert found == {
        "Flow()": {"M_H, root": "exact", "M_H^r, root": ""},
        "Scipy()": {"M_H, root": "window", "M_H^r, root": ""},
        "Cvxpy('CLARABEL')": {"M_H, root": "rounded", "M_H^r, root": "exact"},
        "Gurobi()": {"M_H, root": "window", "M_H^r, root": "exact"},
    }


SOLVE_WITH_EACH = """
import {first}, {second}, {third}
import highspy, numpy
import cvxpy
from ortools.math_opt.python import mathopt
x = cvxpy.Variable(); problem = cvxpy.Problem(cvxpy.Minimize((x - 3) ** 2)); problem.solve(solver="CLARABEL")
assert abs(x.value - 3) < 1e-4
problem.solve(solver="HIGHS"); assert abs(x.value - 3) < 1e-4
for solver in (mathopt.SolverType.GSCIP, mathopt.SolverType.HIGHS):
    model = mathopt.Model(); z = model.add_integer_variable(lb=0, ub=9); model.minimize(-z)
    model.add_linear_constraint(2 * z <= 7)
    assert abs(mathopt.solve(model, solver).objective_value() + 3) < 1e-6
highs = highspy.Highs(); highs.silent(); v = highs.addVariable(lb=1); highs.minimize(v)
assert highs.getObjectiveValue() == 1
print("ok")
"""


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("order", [("cvxpy", "highspy", "ortools"), ("ortools", "highspy", "cvxpy")], ids="-".join)
def test_solvers_share_one_process(order):
    """The package highspy and OR-tools each bring HiGHS; both must load and solve, whichever comes first."""
    first, second, third = (name if name != "ortools" else "ortools.linear_solver.pywraplp" for name in order)
    code = SOLVE_WITH_EACH.format(first=first, second=second, third=third)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n")


MIXED = [
    entry.method
    for entry in SOLVERS
    if isinstance(entry.method, SolverModel) and ProgramKind.MILP in entry.method.takes and entry.method != CpSat()
]
"""All that take integers beside real numbers; CP-SAT knows integers alone."""


@pytest.mark.few(4)
@pytest.mark.parametrize("method", MIXED, ids=repr)
def test_an_integer_beside_a_real_number_is_solved(method):
    """Minimise c x + d z, x + z >= b, z whole, against all z. Objectives are whole, as those of our integer programs.

    The first one's optimum is 9, and HiGHS 1.14 answered 15.
    """
    missing = method.unavailable()
    if missing is not None:
        pytest.skip(missing.reason)
    rng = rng_of(7)
    programs = [(2, 3, 4.5), *(rng.integers(1, (6, 12, 40)) * (2, 1, 0.5) for _ in range(scale(20, 200)))]
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


def test_a_licence_that_is_none_is_said_by_cvxpy_too(monkeypatch, tmp_path):
    broken = tmp_path / "gurobi.lic"
    broken.write_text("TOKENSERVER=127.0.0.1\nPORT=1\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(broken))
    problem = random_problem(rng_of(0), max_regions=5, n_sizes=3).relaxed()
    # In a process of its own: gurobipy keeps the licence that it found first.
    row = compare(problem, [Cvxpy("GUROBI")], progress=False).rows[0]
    assert row.status is Status.UNLICENSED, row.reason


def test_cvxpy_with_gurobi_and_weights_stays_below_its_limit():
    rng = rng_of(4)
    tree = random_tree(rng, max_regions=20)
    noisy = rng.integers(-9, 40, (tree.n_regions, 7))
    problem = naive.problem_of(tree, noisy, 99, rng.integers(1, 6, tree.n_regions)).relaxed()
    assert problem.n_unknowns <= BUNDLED_QUADRATIC_LIMIT
    assert Cvxpy("GUROBI").solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize("name", ["CUOPT", "CUCLARABEL"])
def test_solvers_for_graphics_processors_name_what_to_install(name):
    """Run where CVXPY finds none, as here."""
    if name in pytest.importorskip("cvxpy").installed_solvers():
        pytest.skip(f"{name} is installed")
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    result = Cvxpy(name).solve(Problem.of([[2, 4], [1, 2], [1, 1]], tree, groups=6, label="M_H").relaxed())
    assert result.status is Status.NOT_INSTALLED
    assert f"{name} is missing; pip install " in result.reason


def test_hipdlp_is_an_option_of_highs():
    noisy = Geometric(View.CUMULATIVE, 1).measure(census_like("states", max_size=4, groups=3_000), Seeded("hipdlp"))
    problem = Problem.m_c(noisy, norm=1).relaxed()
    first_order = Cvxpy("HIGHS", options={"solver": "hipdlp"}).solve(problem)
    assert first_order.status is Status.OPTIMAL, first_order.reason
    exact = Cvxpy("HIGHS").solve(problem).certificate.objective
    assert first_order.certificate.objective == pytest.approx(exact, rel=1e-5)
