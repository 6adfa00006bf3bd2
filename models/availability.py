"""Installed? Licensed? How large? Which problems? Answered without starting a solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from models import cpsat_, flow_, gurobi_, scip_
from models.adapter import Route, SolverModel
from models.cpsat_ import CpSat
from models.cvxpy_ import SOLVERS as CVXPY_SOLVERS
from models.cvxpy_ import Cvxpy
from models.flow_ import Flow
from models.gurobi_ import Gurobi
from models.mathopt_ import SOLVERS as MATHOPT_SOLVERS
from models.mathopt_ import MathOpt
from models.program import Kind
from models.scip_ import Scip
from models.scipy_ import Scipy
from pgsr.algorithms import CumulativeProjection, EntityTotalsProjection, RegionTotalsProjection
from pgsr.method import Method
from pgsr.problem import Problem

ROUNDING = (CumulativeProjection, RegionTotalsProjection, EntityTotalsProjection)
"""Algorithms of pgsr that answer an integer problem by its rounded relaxation."""


@dataclass(frozen=True)
class SolverInfo:
    """One solver of models/ on this machine.

    Attributes:
        method: the value itself, e.g. `Cvxpy("CLARABEL")`.
        solves: what it does with integer squares, with relaxations and with absolute values.
        package: what to install.
        version: the installed version, "" if it is missing.
        licence: its state.
        limit: largest problem.
        remedy: what to do to use it, "" if nothing.
    """

    method: Method
    solves: str
    package: str
    version: str
    licence: str
    limit: str
    remedy: str

    @property
    def installed(self) -> bool:
        return bool(self.version)


def solvers() -> list[SolverInfo]:
    """Every solver that models/ knows, installed or not."""
    packages = {"SCIPY": "scipy", "GLOP": "ortools", "PDLP": "ortools", "HIGHS": "highspy", "GUROBI": "gurobipy"}
    licences = {"HIGHS": "MIT", "PIQP": "BSD", "SCS": "MIT", "SCIPY": "BSD", "GUROBI": "commercial"}
    return [
        _info(Flow(), "ortools", "Apache 2.0", f"{flow_.LARGEST:,} unknowns"),
        *(_info(MathOpt(name), "ortools", "Apache 2.0", "memory") for name in MATHOPT_SOLVERS),
        _info(CpSat(), "ortools", "Apache 2.0", f"{cpsat_.LARGEST:,} unknowns, steps included"),
        _info(Scipy(), "scipy", "BSD", "memory"),
        _info(Scip(), "pyscipopt", "Apache 2.0", f"{scip_.LARGEST:,} unknowns"),
        _gurobi(),
        *(
            _info(Cvxpy(name), packages.get(name, name.lower()), licences.get(name, "Apache 2.0"), "memory", "cvxpy")
            for name in CVXPY_SOLVERS
        ),
    ]


def capabilities(problems: Sequence[Problem], methods: Sequence[Method]) -> dict[str, dict[str, str]]:
    """Who solves what: for every method and every problem's label "exact", "steps", "rounded" or "".

    "exact": an optimum of the problem as stated. "steps": the same by a sequence of linear programs. "rounded": the
    relaxation, then every cell rounded to the nearest integer. "": not supported; `supports` says why.
    """
    return {repr(method): {_name(problem): _how(method, problem) for problem in problems} for method in methods}


def _how(method: Method, problem: Problem) -> str:
    if method.supports(problem) is not None:
        return ""
    if isinstance(method, SolverModel):
        if method.route(problem) is Route.STEPS and problem.entities is not None and Kind.MILP not in method.takes:
            return "rounded"  # no network, so vertices of the linear programs may be fractional
        return {Route.DIRECT: "exact", Route.STEPS: "steps", Route.RELAXED: "rounded", None: ""}[method.route(problem)]
    return "rounded" if problem.integer and isinstance(method, ROUNDING) else "exact"


def _name(problem: Problem) -> str:
    totals = "" if problem.totals is None or not problem.consistent else f", {problem.totals}"
    return f"{problem.label}{totals}"


def _info(method: Method, package: str, licence: str, limit: str, through: str = "") -> SolverInfo:
    missing = [name for name in filter(None, (through, package)) if not _version(name)]
    requirement = {"highspy": "'highspy<1.15'"}
    remedy = "pip install " + " ".join(requirement.get(name, name) for name in missing) if missing else ""
    found = "" if missing else _version(package)
    if method == Cvxpy("GUROBI"):
        limit, remedy = _gurobi().limit, remedy or _gurobi().remedy
    return SolverInfo(method, _solves(method), package, found, licence, limit, remedy)


def _solves(method: Method) -> str:
    if not isinstance(method, SolverModel):
        return "M_H, naive: integers"
    takes = method.takes
    integer = "integers" if Kind.MIQP in takes else "integers by steps" if Kind.MILP in takes else ""
    steps = "integers by steps" if not integer and Kind.QP not in takes else ""
    relaxed = "relaxations" if Kind.QP in takes else "relaxations of L1" if Kind.LP in takes else ""
    return ", ".join(filter(None, (integer or steps, relaxed)))


def _gurobi() -> SolverInfo:
    info = _info(Gurobi(), "gurobipy", "", "")
    own = gurobi_.license_file()
    if own is not None:
        licence, limit, remedy = f"commercial, file {own.name}", "that of the licence", info.remedy
    else:
        licence, remedy = "commercial, bundled with the package", info.remedy or gurobi_.REMEDY
        limit = f"{gurobi_.BUNDLED_QUADRATIC_LIMIT} unknowns; {gurobi_.BUNDLED_LIMIT:,} if linear"
    return SolverInfo(info.method, info.solves, info.package, info.version, licence, limit, remedy)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
