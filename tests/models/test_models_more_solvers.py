"""The solvers that few machines have: through qpsolvers, COPT, Xpress, MOSEK. What is not installed is skipped."""

import subprocess
import sys

import numpy as np
import pytest
from instances import rng_of
from model_problems import noisy_steps, random_problem, states_problem

from pgsr import Problem, Status
from pgsr.datasets import census_like
from pgsr.experiments.benchmarks import agreement
from pgsr.models import Copt, Cvxpy, QpSolvers, Xpress
from pgsr.models.availability import solvers
from pgsr.models.qpsolvers_ import LARGEST_DENSE, PACKAGES, SOLVERS

COMMERCIAL = [Copt(), Xpress()]


@pytest.fixture(autouse=True)
def _without_licences(monkeypatch, tmp_path):
    for name in ("COPT_LICENSE_DIR", "XPAUTH_PATH", "MOSEKLM_LICENSE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def need(method):
    missing = method.unavailable()
    if missing is not None:
        pytest.skip(missing.reason)
    return method


def test_linear_programs_are_refused():
    method = need(QpSolvers("proxqp"))
    assert method.solve(states_problem()).status is Status.RELAXED
    absolute = Problem.m_c(noisy_steps(census_like("divisions", 4, 1_000)), norm=1).relaxed()
    assert method.solve(absolute).status is Status.UNSUPPORTED


@pytest.mark.parametrize("name", [name for name, known in SOLVERS.items() if known.dense])
def test_dense_solvers_say_how_large_they_go(name):
    problem = states_problem(max_size=60).relaxed()
    assert problem.n_unknowns > LARGEST_DENSE
    result = need(QpSolvers(name)).solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "dense" in result.reason
    assert f"{LARGEST_DENSE:,}" in result.reason


@pytest.mark.parametrize("name", [name for name, known in SOLVERS.items() if known.strict])
def test_unknowns_without_weight_are_refused_in_a_sentence(name):
    problem = random_problem(rng_of(1))
    weights = np.ones(problem.hierarchy.n_regions, int)
    weights[0] = 0
    unweighted = Problem.of(
        problem.target, problem.hierarchy, groups=problem.groups, weights=weights, integer=False, label="M_H^r"
    )
    result = QpSolvers(name).solve(unweighted)
    assert result.status is Status.UNSUPPORTED
    assert "weight 0" in result.reason


@pytest.mark.parametrize("method", COMMERCIAL, ids=repr)
def test_commercial_solvers_solve_small_problems_of_every_kind(method):
    problem = random_problem(rng_of(3), max_regions=9, n_sizes=5)
    steps = Problem.m_c(noisy_steps(census_like("divisions", 2, 1_000)), norm=1)
    for stated in (problem, problem.relaxed(), steps, steps.relaxed()):
        assert need(method).solve(stated).status is Status.OPTIMAL, stated


@pytest.mark.parametrize("method", COMMERCIAL, ids=repr)
def test_commercial_solvers_beyond_their_licence_say_so_before_they_start(method):
    problem = states_problem(max_size=40)
    result = need(method).solve(problem)
    assert result.status is Status.TOO_LARGE
    assert "licence" in result.reason
    assert "or use another method" in result.reason


def test_a_problem_without_rows_needs_no_duals():
    """Mean consistency of one region has no condition at all; Xpress refuses to list duals of no rows."""
    problem = random_problem(rng_of(0), max_regions=1, n_sizes=3)
    alone = Problem.of(problem.target, problem.hierarchy, totals=None, integer=False, label="nearest")
    for method in COMMERCIAL:
        if method.unavailable() is None:
            assert method.solve(alone).status is Status.OPTIMAL


def test_copt_is_right_where_version_8_is_wrong():
    """Three leaves below a root without weight: COPT 8.0.7 claims 123 where 65.5 is optimal."""
    problem = agreement.random_problem("M_c^r", rng_of(1, 2, *b"M_c^r"))
    assert problem.w[0] == 0
    result = need(Copt()).solve(problem)
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.objective == pytest.approx(65.5454545, rel=1e-6)


AGREES = """
from pgsr.algorithms import Isotonic, MeanConsistency, TreeProjection
from pgsr.experiments.benchmarks.agreement import agreement
from pgsr.models import Copt, Cvxpy, MathOpt
methods = [Cvxpy("CLARABEL"), MathOpt("GSCIP"), TreeProjection(), Isotonic(), MeanConsistency(), Copt()]
found = agreement(3, methods=methods, seed=1, progress=False)
pairs = {name: pair for (method, name), pair in found.items() if method == "Copt()"}
assert len(pairs) >= 20, sorted(pairs)
wrong = {name: pair.failures for name, pair in pairs.items() if pair.agreed < 3}
assert not wrong, wrong
print("agreed")
"""


@pytest.mark.slow
def test_copt_agrees_with_the_others_on_every_problem():
    """In its own process, see `pgsr.models.catalogue.SOLVERS`."""
    need(Copt())
    done = subprocess.run([sys.executable, "-c", AGREES], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("agreed\n"), done.stderr


def test_a_version_of_copt_that_is_wrong_is_refused(monkeypatch):
    copt = pytest.importorskip("coptpy")
    monkeypatch.setattr(copt.COPT, "VERSION_MAJOR", 8)
    monkeypatch.setattr(copt.COPT, "VERSION_MINOR", 0)
    result = Copt().solve(random_problem(rng_of(0)))
    assert result.status is Status.NOT_INSTALLED
    assert "coptpy<8" in result.reason


def test_mosek_without_a_licence_says_so():
    method = need(Cvxpy("MOSEK"))
    result = method.solve(random_problem(rng_of(0)).relaxed())
    assert result.status is Status.UNLICENSED
    assert "MOSEKLM_LICENSE_FILE" in result.reason
    row = next(info for info in solvers() if repr(info.method) == repr(method))
    assert row.licence == "commercial, none found"


def test_a_solver_that_qpsolvers_does_not_find_is_named_by_its_package(monkeypatch):
    qpsolvers = pytest.importorskip("qpsolvers")
    monkeypatch.setattr(qpsolvers, "available_solvers", [])
    problem = random_problem(rng_of(0)).relaxed()
    for name in SOLVERS:
        result = QpSolvers(name).solve(problem)
        assert result.status is Status.NOT_INSTALLED
        assert f"pip install {PACKAGES.get(name, name)}" in result.reason
